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
        ..HyperSettings::default()
    }
}

/// Lets a scheduler choose `updates` times; `pays` says what the positions of a choice earn at an update.
fn play(
    scheduler: Scheduler,
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
    let mut agent = HyperAgent::new(scheduler, settings, space, networks.shapes(), plan, seed);
    let mut decisions = Vec::new();
    for update in 0..updates {
        let context = TrainingContext {
            update,
            progress: update as f64 / (updates - 1) as f64,
            parameters: &networks,
        };
        let values = agent.choose(&context).to_vec();
        let earned = pays(update, &values);
        agent.reward(&Outcome {
            discounted: earned,
            reward_rate: earned,
            episode: None,
        });
        decisions.extend(agent.take_decisions());
    }
    decisions
}

/// What is lost against the best of five arms that earn 0, 0.25, 0.5, 0.75 and 1 with noise, in the first half of 2,000 choices
/// and in the second.
fn regret(scheduler: Scheduler, seed: u64) -> (f64, f64) {
    let mut noise = Pcg64::from_seed(seed + 100);
    let decisions = play(
        scheduler,
        every_update(),
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
    for scheduler in [Scheduler::Bandit, Scheduler::Lrrl, Scheduler::Ultho] {
        for seed in 0..5 {
            let (first, second) = regret(scheduler, seed);
            eprintln!("{scheduler:?} {seed}: {first} then {second}");
            // Chance loses 0.5 a time: 500 in each half.
            assert!(first + second < 450.0, "{scheduler:?} loses {first} + {second}");
            assert!(second < 0.7 * first, "{scheduler:?} loses {first}, then {second}");
        }
    }
}
