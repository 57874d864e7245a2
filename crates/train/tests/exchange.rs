//! The exchanges of a population, apart from anything that trains: who copies whom, with which values, and whether that
//! finds an optimum that moves.

use epgt_hyper::{Axis, Grid, HyperSpace};
use epgt_train::population::{
    Exchange, GaussianProcess, Kernel, PopulationKind, PopulationSettings, Range, grid, most_likely, random_search,
};

fn unit_range() -> Range {
    Range {
        values: (0..=20).map(|i| 0.05 + 0.95 * f64::from(i) / 20.0).collect(),
        logarithmic: false,
        whole: false,
    }
}

/// A task whose best value of each hyperparameter moves from 0.2 to 0.8: a member's score grows at every interval, the
/// more the nearer its values are to it.
struct MovingOptimum {
    hyperparameters: usize,
    intervals: u32,
    /// How near is near.
    width: f64,
}

impl MovingOptimum {
    /// The best member's final score, on average over some seeds.
    fn score(&self, scheduler: PopulationKind, settings: &PopulationSettings, seeds: u64) -> f64 {
        (0..seeds).map(|seed| self.best(scheduler, settings, seed)).sum::<f64>() / seeds as f64
    }

    fn best(&self, scheduler: PopulationKind, settings: &PopulationSettings, seed: u64) -> f64 {
        let ranges = vec![unit_range(); self.hyperparameters];
        let mut exchange = Exchange::new(scheduler, settings.clone(), ranges, seed);
        let mut scores = vec![0.0; settings.size];
        for interval in 0..self.intervals {
            let optimum = 0.2 + 0.6 * f64::from(interval) / f64::from(self.intervals);
            for (member, score) in scores.iter_mut().enumerate() {
                let values = exchange.values(member).iter();
                let distance: f64 = values.map(|value| (value - optimum).powi(2)).sum();
                *score += (-distance / self.width).exp();
            }
            let seen: Vec<Option<f64>> = scores.iter().copied().map(Some).collect();
            let old = scores.clone();
            for (member, made) in exchange.step(f64::from(interval), &seen).iter().enumerate() {
                if let Some(parent) = made.copied_from {
                    scores[member] = old[parent];
                }
            }
        }
        scores.into_iter().fold(f64::MIN, f64::max)
    }
}

/// Every value is drawn anew: members still copy each other, but what they try is random.
fn random(settings: &PopulationSettings) -> PopulationSettings {
    PopulationSettings {
        resample: 1.0,
        ..settings.clone()
    }
}

#[test]
fn pbt_follows_a_moving_optimum_better_than_random_values() {
    let task = MovingOptimum {
        hyperparameters: 3,
        intervals: 40,
        width: 0.02,
    };
    let settings = PopulationSettings {
        size: 8,
        ..Default::default()
    };
    let pbt = task.score(PopulationKind::Pbt, &settings, 200);
    let random = task.score(PopulationKind::Pbt, &random(&settings), 200);
    assert!(pbt > 1.2 * random, "pbt {pbt:.2}, random {random:.2}");
}

#[test]
fn pb2_follows_a_moving_optimum_better_than_pbt_and_random_values() {
    let task = MovingOptimum {
        hyperparameters: 2,
        intervals: 20,
        width: 0.05,
    };
    let settings = PopulationSettings::default();
    let pb2 = task.score(PopulationKind::Pb2, &settings, 6);
    let pbt = task.score(PopulationKind::Pbt, &settings, 200);
    let random = task.score(PopulationKind::Pbt, &random(&settings), 200);
    assert!(
        pb2 > 1.2 * pbt && pb2 > 1.2 * random,
        "pb2 {pb2:.2}, pbt {pbt:.2}, random {random:.2}"
    );
}

#[test]
fn the_worst_quarter_copies_one_of_the_best_and_nobody_else_changes() {
    let settings = PopulationSettings {
        size: 8,
        ..Default::default()
    };
    for scheduler in [PopulationKind::Pbt, PopulationKind::Pb2] {
        let mut exchange = Exchange::new(scheduler, settings.clone(), vec![unit_range(); 3], 5);
        for time in 0..6 {
            let scores = [3.0, 8.0, 1.0, 7.0, 5.0, 2.0, 6.0, 4.0].map(Some);
            let moves = exchange.step(f64::from(time), &scores);
            for (member, made) in moves.iter().enumerate() {
                match member {
                    2 | 5 => assert!(matches!(made.copied_from, Some(1 | 3)), "{made:?}"),
                    _ => assert!(made.copied_from.is_none() && made.before == made.after, "{made:?}"),
                }
                assert!(made.after.iter().all(|value| (0.05..=1.0).contains(value)), "{made:?}");
                assert_eq!(exchange.values(member), made.after);
            }
        }
    }
}

#[test]
fn a_copied_value_is_multiplied_or_drawn_anew_and_stays_valid() {
    let batch = Range {
        values: vec![128.0, 256.0, 512.0],
        logarithmic: false,
        whole: true,
    };
    let mut exchange = Exchange::new(PopulationKind::Pbt, PopulationSettings::default(), vec![batch], 1);
    let (mut drawn, mut multiplied) = (0, 0);
    for time in 0..400 {
        let moves = exchange.step(f64::from(time), &[4.0, 3.0, 2.0, 1.0].map(Some));
        let (parent, value) = (moves[0].before[0], moves[3].after[0]);
        let products = [(parent * 0.8).round().max(128.0), (parent * 1.2).round().min(512.0)];
        match products.contains(&value) {
            true => multiplied += 1,
            false => {
                assert!([128.0, 256.0, 512.0].contains(&value), "{value}");
                drawn += 1;
            }
        }
    }
    // A quarter is drawn; some draws look like products.
    assert!((60..=110).contains(&drawn) && multiplied > 250, "{drawn} {multiplied}");
}

#[test]
fn members_without_a_score_are_the_worst_and_nobody_copies_them() {
    let mut exchange = Exchange::new(
        PopulationKind::Pbt,
        PopulationSettings::default(),
        vec![unit_range()],
        0,
    );
    let moves = exchange.step(1.0, &[None, Some(-5.0), Some(-7.0), Some(-6.0)]);
    assert_eq!(moves[0].copied_from, Some(1));
    let moves = exchange.step(2.0, &[None; 4]);
    assert!(moves.iter().all(|made| made.copied_from.is_none()));
}

#[test]
fn an_exchange_goes_on_from_its_state_as_if_nothing_had_happened() {
    for scheduler in [PopulationKind::Pbt, PopulationKind::Pb2] {
        let make = || Exchange::new(scheduler, PopulationSettings::default(), vec![unit_range(); 2], 3);
        let scores = |time: u32| [1, 2, 3, 4].map(|member| Some(f64::from(time * member % 7)));
        let mut whole = make();
        let mut parted = make();
        for time in 0..8 {
            let expected = whole.step(f64::from(time), &scores(time));
            let mut next = make();
            next.restore(parted.state().clone()).unwrap();
            parted = next;
            assert_eq!(parted.step(f64::from(time), &scores(time)), expected);
        }
    }
}

#[test]
fn the_process_agrees_with_scikit_learn() {
    let text = include_str!("data/gp.json");
    let cases: serde_json::Value = serde_json::from_str(text).unwrap();
    for case in cases.as_array().unwrap() {
        let numbers = |key: &str| -> Vec<f64> {
            case[key]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_f64().unwrap())
                .collect()
        };
        let parameters = numbers("kernel");
        let kernel = Kernel {
            variance: parameters[0],
            lengthscale: parameters[1],
            epsilon: parameters[2],
            noise: parameters[3],
        };
        let width = case["width"].as_u64().unwrap() as usize;
        let process = GaussianProcess::new(kernel, width, numbers("rows"), &numbers("y")).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{a} and {b}");
        close(process.log_likelihood(), case["log_likelihood"].as_f64().unwrap());
        let queries = numbers("queries");
        let expected = numbers("mean").into_iter().zip(numbers("variance"));
        for (query, (mean, variance)) in queries.chunks_exact(width).zip(expected) {
            let found = process.posterior(query);
            close(found.0, mean);
            close(found.1, variance);
        }
    }
}

#[test]
fn the_most_likely_kernel_is_more_likely_than_its_neighbours() {
    let cases: serde_json::Value = serde_json::from_str(include_str!("data/gp.json")).unwrap();
    let rows: Vec<f64> = cases[2]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap())
        .collect();
    // A smooth function of the first coordinate after time, with a little noise.
    let y: Vec<f64> = rows
        .chunks_exact(6)
        .map(|row| (5.0 * row[1]).sin() + 0.1 * (77.0 * row[2]).sin())
        .collect();
    let likelihood = |kernel: Kernel| {
        let process = GaussianProcess::new(kernel, 6, rows.clone(), &y).unwrap();
        process.log_likelihood()
    };
    let best = most_likely(6, &rows, &y);
    for factor in [0.8, 1.25] {
        for neighbour in [
            Kernel {
                variance: best.variance * factor,
                ..best
            },
            Kernel {
                lengthscale: best.lengthscale * factor,
                ..best
            },
        ] {
            assert!(likelihood(neighbour) < likelihood(best), "{neighbour:?} and {best:?}");
        }
    }
}

#[test]
fn a_grid_has_every_point_once_and_random_search_some_of_them() {
    let axis = |name: &str, grid: &str| Axis::new(name, 0.2, &Grid::parse(grid).unwrap(), false).unwrap();
    let axes = vec![
        axis("clip_range", "0.1:0.2:0.3"),
        axis("gae_lambda", "0.9:0.95"),
        axis("ent_coef", "0:0.01"),
    ];
    let space = HyperSpace::new(axes, 100).unwrap();
    let points = grid(&space);
    assert_eq!(points.len(), 12);
    for a in [0.1, 0.2, 0.3] {
        for b in [0.9, 0.95] {
            for c in [0.0, 0.01] {
                let count = points.iter().filter(|point| **point == [a, b, c]).count();
                assert_eq!(count, 1, "{a} {b} {c}");
            }
        }
    }
    let some = random_search(&space, 5, 1);
    assert!(some.iter().all(|point| points.contains(point)));
    assert!((1..5).all(|i| !some[..i].contains(&some[i])));
    assert_ne!(some, random_search(&space, 5, 2));
}
