//! The generator equals NumPy's, bit for bit. The record is made by `record_numpy.py`.

use epgt_rng::Pcg64;
use serde_json::Value;

fn record() -> Value {
    serde_json::from_str(include_str!("data/numpy.json")).expect("the record is JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("the record holds whole numbers")
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("the record holds lists")
}

fn check(name: &str, mut draw: impl FnMut(&mut Pcg64) -> u64) {
    for case in list(&record()["seeds"]) {
        let seed = number(&case["seed"]);
        let mut rng = Pcg64::from_seed(seed);
        for (i, expected) in list(&case[name]).iter().enumerate() {
            assert_eq!(draw(&mut rng), number(expected), "{name}, seed {seed}, draw {i}");
        }
    }
}

#[test]
fn raw_bits_equal_numpys() {
    check("u64", Pcg64::next_u64);
}

#[test]
fn half_words_are_buffered_as_in_numpy() {
    check("u32", |rng| rng.next_u32().into());
}

#[test]
fn unit_numbers_equal_numpys() {
    check("f64", |rng| rng.next_f64().to_bits());
    check("f32", |rng| rng.next_f32().to_bits().into());
}

#[test]
fn uniform_numbers_equal_numpys() {
    check("uniform", |rng| rng.uniform(-0.6, -0.4).to_bits());
}

#[test]
fn normal_numbers_equal_numpys() {
    check("normal", |rng| rng.standard_normal().to_bits());
}

#[test]
fn a_million_normals_equal_numpys_with_edges_and_tail() {
    for case in list(&record()["seeds"]) {
        let seed = number(&case["seed"]);
        let mut rng = Pcg64::from_seed(seed);
        let mut tail = 0;
        let mut sum = 0u64;
        for i in 0..1_000_000 {
            let x = rng.standard_normal();
            tail += u32::from(x.abs() > 3.654_152_885_361_009);
            sum = sum.wrapping_add(x.to_bits().wrapping_mul(2 * i + 1));
        }
        assert!(tail > 150, "the tail was drawn {tail} times");
        assert_eq!(sum, number(&case["million_normals"]), "seed {seed}");
    }
}

#[test]
fn bounded_integers_equal_numpys_on_both_sides_of_32_bits() {
    for case in list(&record()["seeds"]) {
        let seed = number(&case["seed"]);
        for (bound, expected) in list(&case["bounds"]).iter().zip(list(&case["below"])) {
            let mut rng = Pcg64::from_seed(seed);
            for expected in list(expected) {
                assert_eq!(rng.below(number(bound)), number(expected), "seed {seed}, below {bound}");
            }
        }
    }
}

#[test]
fn mixed_draws_share_one_stream_as_in_numpy() {
    for case in list(&record()["seeds"]) {
        let mut rng = Pcg64::from_seed(number(&case["seed"]));
        for row in list(&case["mixed"]) {
            assert_eq!(rng.below(7), number(&row[0]));
            assert_eq!(rng.next_f64().to_bits(), number(&row[1]));
            assert_eq!(rng.standard_normal().to_bits(), number(&row[2]));
            assert_eq!(rng.below(1 << 40), number(&row[3]));
        }
    }
}

#[test]
fn a_purpose_is_a_spawn_key_of_numpys_seed_sequence() {
    for case in list(&record()["purposes"]) {
        let purpose = case["purpose"].as_str().expect("a text");
        let mut rng = Pcg64::for_purpose(number(&case["seed"]), purpose, number(&case["index"]));
        for expected in list(&case["u64"]) {
            assert_eq!(rng.next_u64(), number(expected), "{purpose}");
        }
    }
}

#[test]
fn a_saved_generator_goes_on_where_it_was() {
    let mut rng = Pcg64::from_seed(5);
    rng.next_u32();
    let saved = serde_json::to_string(&rng).expect("a generator can be saved");
    let mut loaded: Pcg64 = serde_json::from_str(&saved).expect("and loaded");
    assert_eq!(loaded, rng);
    assert_eq!(loaded.next_u32(), rng.next_u32());
    assert_eq!(loaded.standard_normal(), rng.standard_normal());
}

#[test]
fn every_order_of_three_is_shuffled_equally_often() {
    let mut rng = Pcg64::from_seed(11);
    let mut counts = [0; 9];
    for _ in 0..60_000 {
        let mut items = [0u32, 1, 2];
        rng.shuffle(&mut items);
        counts[(items[0] * 3 + items[1]) as usize] += 1;
    }
    for order in [1, 2, 3, 5, 6, 7] {
        assert!((9_600..10_400).contains(&counts[order]), "{counts:?}");
    }
    assert_eq!(counts[0] + counts[4] + counts[8], 0);
}
