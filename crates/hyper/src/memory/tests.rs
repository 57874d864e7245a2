//! The memory against the paper's equations, worked by hand, and its invariants.

use super::*;
use proptest::prelude::*;

fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-5 * (1.0 + b.abs())
}

/// Three tuples on a line at 0, 3 and 4 with values 10, 20, 40, all of action 0. Written with beta so small that the
/// writes leave the earlier values alone.
fn on_a_line() -> EpisodicMemory {
    let mut memory = EpisodicMemory::new(10, 1, 2);
    let how = Writing {
        rate: 0.0,
        ..Writing::default()
    };
    for (key, value) in [(0.0, 10.0), (3.0, 20.0), (4.0, 40.0)] {
        memory.write(&[key], 0, value, key as u64, &how);
    }
    memory
}

#[test]
fn reading_is_the_papers_equation_worked_by_hand() {
    let mut memory = on_a_line();
    let mut q = [0.0; 2];
    // Distances from 1 are 1, 2 and 3; the two nearest weigh 1/1.001 and 1/2.001.
    memory.read(&[1.0], 2, &mut q);
    let expected = (10.0 / 1.001 + 20.0 / 2.001) / (1.0 / 1.001 + 1.0 / 2.001);
    assert!(close(q[0], expected), "{} is not {expected}", q[0]);
    memory.read(&[1.0], 3, &mut q);
    let expected = (10.0 / 1.001 + 20.0 / 2.001 + 40.0 / 3.001) / (1.0 / 1.001 + 1.0 / 2.001 + 1.0 / 3.001);
    assert!(close(q[0], expected), "{} is not {expected}", q[0]);
}

#[test]
fn an_untried_action_gets_the_estimate_of_any_action() {
    let mut memory = on_a_line();
    let mut q = [0.0; 2];
    memory.read(&[1.0], 3, &mut q);
    assert_eq!(q[1], q[0]);
}

#[test]
fn writing_moves_each_neighbour_towards_the_return_by_its_share() {
    let mut memory = on_a_line();
    let how = Writing {
        neighbours: 2,
        ..Writing::default()
    };
    memory.write(&[1.0], 0, 100.0, 9, &how);
    let values: Vec<f32> = memory.tuples().map(|tuple| tuple.2).collect();
    let (a, b) = (1.0 / 1.001, 1.0 / 2.001);
    assert!(close(values[0], 10.0 + 0.5 * 90.0 * a / (a + b)));
    assert!(close(values[1], 20.0 + 0.5 * 80.0 * b / (a + b)));
    assert_eq!(values[2], 40.0);
    assert_eq!(values[3], 100.0, "the new moment is added with its own return");
}

#[test]
fn an_exact_key_is_updated_and_not_added_again() {
    let mut memory = EpisodicMemory::new(10, 2, 1);
    memory.write(&[1.0, 2.0], 0, 4.0, 0, &Writing::default());
    memory.write(&[1.0, 2.0], 0, 8.0, 1, &Writing::default());
    let tuples: Vec<_> = memory.tuples().collect();
    assert_eq!(tuples, [(vec![1.0, 2.0], 0, 6.0, 0)]);
}

#[test]
fn the_max_rule_keeps_the_best_return_of_a_key() {
    let how = Writing {
        rule: WriteRule::Max,
        ..Writing::default()
    };
    let mut memory = EpisodicMemory::new(10, 1, 1);
    for value in [4.0, 8.0, 2.0] {
        memory.write(&[1.0], 0, value, 0, &how);
    }
    memory.write(&[1.5], 0, 3.0, 0, &how);
    let values: Vec<f32> = memory.tuples().map(|tuple| tuple.2).collect();
    assert_eq!(values, [8.0, 3.0]);
}

#[test]
fn the_earliest_added_tuple_leaves_first() {
    let mut memory = EpisodicMemory::new(3, 1, 1);
    for update in 0..5 {
        memory.write(&[update as f32], 0, 0.0, update, &Writing::default());
    }
    let mut origins: Vec<u64> = memory.tuples().map(|tuple| tuple.3).collect();
    origins.sort();
    assert_eq!(origins, [2, 3, 4]);
}

proptest! {
    #[test]
    fn weights_sum_to_one_and_values_move_by_at_most_beta(
        writes in prop::collection::vec((prop::collection::vec(-1.0f32..1.0, 4), 0usize..3, -100.0f32..100.0), 1..120),
        capacity in 1usize..50,
    ) {
        let mut memory = EpisodicMemory::new(capacity, 4, 3);
        let how = Writing::default();
        for (update, (key, action, value)) in writes.iter().enumerate() {
            let before: Vec<_> = memory.tuples().collect();
            memory.write(key, *action, *value, update as u64, &how);
            prop_assert!(memory.len() <= capacity);
            for (old, new) in before.iter().zip(memory.tuples()) {
                if old.3 == new.3 {
                    let moved = new.2 - old.2;
                    let gap = value - old.2;
                    prop_assert!(old.1 == *action || moved == 0.0);
                    prop_assert!(moved * gap >= 0.0 && moved.abs() <= how.rate * gap.abs() * 1.0001 + 1e-5);
                }
            }
            let mut q = [0.0; 3];
            memory.read(key, 3, &mut q);
            for action in 0..3 {
                let total: f32 = memory.neighbours(action).iter().map(|n| n.weight).sum();
                prop_assert!((total - 1.0).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn the_scan_finds_the_same_neighbours_as_sorting_everything(
        keys in prop::collection::vec((prop::collection::vec(-1.0f32..1.0, 3), 0usize..2), 1..90),
        query in prop::collection::vec(-1.0f32..1.0, 3),
    ) {
        let mut memory = EpisodicMemory::new(1000, 3, 2);
        for (update, (key, action)) in keys.iter().enumerate() {
            memory.insert(key, *action, update as f32, update as u64);
        }
        let mut q = [0.0; 2];
        memory.read(&query, 3, &mut q);
        for action in 0..2 {
            let mut expected: Vec<(f32, u64)> = keys.iter().enumerate()
                .filter(|(_, (_, a))| *a == action)
                .map(|(update, (key, _))| {
                    let squared: f32 = key.iter().zip(&query).map(|(a, b)| (a - b) * (a - b)).sum();
                    (squared.sqrt(), update as u64)
                })
                .collect();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            if expected.is_empty() {
                continue;
            }
            let found = memory.neighbours(action);
            prop_assert_eq!(found.len(), expected.len().min(3));
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!((found.distance - expected.0).abs() < 1e-5);
            }
        }
    }
}
