//! The schedulers without a context, `bandit`, `lrrl` and `ultho`, on problems whose answer is known.

use epgt_hyper::*;
use epgt_nn::Parameters;
use epgt_rng::Pcg64;
use proptest::prelude::*;

fn axis(name: &str, count: usize) -> Axis {
    let values = (0..count).map(|i| i as f64).collect();
    Axis::new(name, 1.0, &Grid::List(values), false).unwrap()
}

fn every_update() -> HyperSettings {
    HyperSettings {
        hold: Hold::Updates(1),
        transform: Transform::Raw,
        moves: Moves::Uniform,
        epsilon_zero_at: 0.2,
        ..HyperSettings::default()
    }
}

/// Lets a scheduler choose `updates` times; `pays` says what the positions of a choice earn at an update.
fn play(
    scheduler: &dyn Scheduler,
    settings: HyperSettings,
    axes: Vec<Axis>,
    updates: u64,
    seed: u64,
    mut pays: impl FnMut(u64, &[f64]) -> f32,
) -> Vec<Decision> {
    let mut networks = Parameters::new();
    networks.add("weight", 2, 2);
    let space = HyperSpace::new(axes, 1000).unwrap();
    let plan = Plan::of_updates(updates);
    let mut agent = HyperAgent::new(scheduler, settings, space, networks.shapes(), plan, seed).unwrap();
    let mut decisions = Vec::new();
    for update in 0..updates {
        let moment = Moment {
            update,
            progress: update as f64 / (updates - 1) as f64,
            weights: networks.values(),
            gradients: networks.gradients(),
        };
        let values = agent.choose(&moment).to_vec();
        let earned = pays(update, &values);
        agent.reward(earned);
        decisions.extend(agent.take_decisions());
    }
    decisions
}

/// What is lost against the best of five arms that earn 0, 0.25, 0.5, 0.75 and 1 with noise, in the first half of 2,000
/// choices and in the second.
fn regret(scheduler: &dyn Scheduler, seed: u64) -> (f64, f64) {
    let mut noise = Pcg64::from_seed(seed + 100);
    // Arms that stay the same need not be forgotten.
    let settings = HyperSettings {
        lrrl_decay: 1.0,
        ..every_update()
    };
    let decisions = play(
        scheduler,
        settings,
        vec![axis("learning_rate", 5)],
        2000,
        seed,
        |_, values| (values[0] / 4.0 + 0.3 * noise.standard_normal()) as f32,
    );
    let lost = |half: &[Decision]| half.iter().map(|decision| 1.0 - decision.values[0] / 4.0).sum();
    (lost(&decisions[..1000]), lost(&decisions[1000..]))
}

#[test]
fn on_arms_that_stay_the_same_the_regret_grows_ever_slower_and_far_below_that_of_chance() {
    let schedulers: [&dyn Scheduler; 3] = [&EpsilonBandit, &LrrlBandit, &UlthoBandit];
    for scheduler in schedulers {
        let (mut first, mut second) = (0.0, 0.0);
        for seed in 0..8 {
            let (early, late) = regret(scheduler, seed);
            // Chance loses 0.5 a time: 1,000 in all.
            assert!(early + late < 350.0, "{scheduler:?} loses {early} + {late}");
            (first, second) = (first + early, second + late);
        }
        // The share of its choices that lrrl spreads evenly, a tenth, costs it as much at the end as at the start.
        let even = if scheduler.about().name == "lrrl" {
            8.0 * 50.0
        } else {
            0.0
        };
        assert!(
            second - even < 0.7 * (first - even),
            "{scheduler:?} loses {first}, then {second}"
        );
    }
}

#[test]
fn lrrl_follows_when_another_arm_becomes_the_best() {
    for seed in 0..5 {
        let mut noise = Pcg64::from_seed(seed);
        let best = |update: u64| if update < 1000 { 0.0 } else { 4.0 };
        let decisions = play(
            &LrrlBandit,
            every_update(),
            vec![axis("learning_rate", 5)],
            2000,
            seed,
            |update, values| {
                let pays = if values[0] == best(update) { 1.0 } else { 0.0 };
                (pays + 0.1 * noise.standard_normal()) as f32
            },
        );
        for (from, right) in [(700, 0.0), (1700, 4.0)] {
            let late = &decisions[from..from + 300];
            let share = late.iter().filter(|decision| decision.values[0] == right).count() as f64 / 300.0;
            assert!(share > 0.7, "seed {seed}: {share} right after update {from}");
        }
    }
}

#[track_caller]
fn assert_close(ours: &[f32], expected: &[f64]) {
    assert_eq!(ours.len(), expected.len());
    for (a, b) in ours.iter().zip(expected) {
        assert!((f64::from(*a) - b).abs() < 1e-6, "{ours:?} is not {expected:?}");
    }
}

#[test]
fn the_first_updates_of_lrrl_are_those_of_exp3_by_hand() {
    let settings = HyperSettings {
        lrrl_step: 0.5,
        lrrl_decay: 0.75,
        lrrl_exploration: 0.25,
        lrrl_window: 2,
        ..HyperSettings::default()
    };
    let mut lrrl = Lrrl::new(2, &settings);
    let mut p = [0.0; 2];
    let mut update = |lrrl: &mut Lrrl, arm: usize, outcome: f32| {
        lrrl.read(&mut p);
        lrrl.take(arm, p[arm], outcome);
        lrrl.close(outcome);
        lrrl.read(&mut p);
        p
    };
    // The first outcome has nothing to be compared with.
    assert_eq!(update(&mut lrrl, 0, 1.0), [0.5, 0.5]);
    // f = 3 - 1, scaled to 1; w(1) = 0.5 * 1 / 0.5 = 1.
    let p1 = 0.75 / (1.0 + (-1.0f64).exp()) + 0.125;
    assert_close(&update(&mut lrrl, 1, 3.0), &[1.0 - p1, p1]);
    // f = 1 - (1 + 3) / 2, scaled to -1/2; w(1) fades to 0.75.
    let w0 = 0.5 * -0.5 / (1.0 - p1);
    let p1 = 0.75 / (1.0 + (w0 - 0.75).exp()) + 0.125;
    assert_close(&update(&mut lrrl, 0, 1.0), &[1.0 - p1, p1]);
}

#[test]
fn the_first_bounds_of_ultho_are_those_of_ucb_by_hand() {
    let settings = HyperSettings {
        ultho_exploration: 2.0,
        ultho_window: 2,
        ..HyperSettings::default()
    };
    let mut ultho = Ultho::new(&[2, 3], &settings);
    let mut bounds = [0.0; 7];
    ultho.read(&mut bounds);
    assert!(bounds.iter().all(|&bound| bound == f32::INFINITY));
    for (cluster, arm, earned) in [(0, 0, 1.0), (1, 2, 2.0), (0, 1, 3.0), (0, 0, 5.0), (0, 0, 4.0)] {
        ultho.take(cluster, arm, earned);
    }
    ultho.read(&mut bounds);
    let bonus = |range: f64, times: f64, picks: f64| 2.0 * range * (times.ln() / picks).sqrt();
    // Arm 0 has forgotten its 1; its cluster was picked 4 times.
    assert_close(&bounds[..2], &[4.5 + bonus(2.0, 4.0, 3.0), 3.0 + bonus(2.0, 4.0, 1.0)]);
    // An only return has no range, and one pick of one time no doubt.
    assert_eq!(bounds[2..5], [f32::INFINITY, f32::INFINITY, 2.0]);
    // The clusters' last two returns: 5 and 4, and 2.
    assert_close(&bounds[5..], &[4.5 + bonus(3.0, 5.0, 4.0), 2.0 + bonus(3.0, 5.0, 1.0)]);
}

#[test]
fn ultho_tries_each_hyperparameter_first_and_moves_one_at_a_time() {
    let axes = || vec![axis("learning_rate", 3), axis("clip_range", 2), axis("gae_lambda", 4)];
    for seed in 0..5 {
        let decisions = play(&UlthoBandit, every_update(), axes(), 60, seed, |update, values| {
            (update as f64 + values[1]) as f32
        });
        let clusters = |decision: &Decision| decision.q[9..].to_vec();
        // Bounds are infinite for what was not tried: one hyperparameter fewer each time.
        for (tried, decision) in decisions[..4].iter().enumerate() {
            let untried = clusters(decision).iter().filter(|bound| bound.is_infinite()).count();
            assert_eq!(untried, 3 - tried.min(3));
        }
        for pair in decisions.windows(2) {
            let changed = pair[0]
                .values
                .iter()
                .zip(&pair[1].values)
                .filter(|(a, b)| a != b)
                .count();
            assert!(changed <= 1, "{:?} then {:?}", pair[0].values, pair[1].values);
        }
        assert!(
            decisions
                .iter()
                .all(|decision| decision.choice == Choice::Own && decision.epsilon == 0.0)
        );
    }
}

fn any_outcome() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -10.0f32..10.0,
        2 => any::<f32>(),
        1 => prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::MAX, f32::MIN, 0.0, f32::MIN_POSITIVE]),
    ]
}

proptest! {
    #[test]
    fn probabilities_are_positive_and_sum_to_one_whatever_is_earned(
        arms in 1usize..9, outcomes in prop::collection::vec((0usize..8, any_outcome()), 0..200), never_forgets in any::<bool>(),
    ) {
        let lrrl_decay = if never_forgets { 1.0 } else { 0.9 };
        let settings = HyperSettings { lrrl_decay, lrrl_step: 1.0, ..HyperSettings::default() };
        let mut lrrl = Lrrl::new(arms, &settings);
        let mut p = vec![0.0; arms];
        for (arm, outcome) in outcomes {
            lrrl.read(&mut p);
            prop_assert!(p.iter().all(|&p| p > 0.0), "{p:?}");
            prop_assert!((p.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{p:?}");
            lrrl.take(arm % arms, p[arm % arms], outcome);
            lrrl.close(outcome);
        }
    }

    #[test]
    fn confidence_bounds_are_numbers_whatever_is_earned(
        outcomes in prop::collection::vec((0usize..2, 0usize..2, any_outcome()), 0..100),
    ) {
        let mut ultho = Ultho::new(&[2, 2], &HyperSettings::default());
        let mut bounds = [0.0; 6];
        for (cluster, arm, outcome) in outcomes {
            ultho.take(cluster, arm, outcome);
            ultho.read(&mut bounds);
            prop_assert!(bounds.iter().all(|bound| !bound.is_nan()), "{bounds:?}");
        }
    }
}
