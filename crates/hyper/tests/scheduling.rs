//! The hyper-agents as their user sees them: contexts in, values out, credit where it is due.

use epgt_hyper::*;
use epgt_nn::Parameters;
use epgt_rng::Pcg64;
use proptest::prelude::*;
use std::sync::Arc;

fn space(count: usize) -> HyperSpace {
    let values = (0..count).map(|i| i as f64).collect();
    let axis = Axis::new("learning_rate", 1.0, &Grid::List(values), false).unwrap();
    HyperSpace::new(vec![axis], 1000).unwrap()
}

/// Networks in one of a few recognisable situations, with a little noise.
struct Situations {
    networks: Parameters,
    patterns: Vec<Vec<f32>>,
    rng: Pcg64,
}

impl Situations {
    fn new(count: usize) -> Self {
        let mut rng = Pcg64::from_seed(11);
        let mut networks = Parameters::new();
        networks.add("policy.weight", 8, 4);
        networks.add("value.weight", 8, 4);
        let mut pattern = || (0..networks.len()).map(|_| rng.standard_normal() as f32).collect();
        let patterns = (0..count).map(|_| pattern()).collect();
        Self {
            networks,
            patterns,
            rng,
        }
    }

    fn enter(&mut self) -> usize {
        let situation = self.rng.below(self.patterns.len() as u64) as usize;
        let values = self.networks.values_mut().iter_mut().zip(&self.patterns[situation]);
        for (value, &pattern) in values {
            *value = pattern + 0.05 * self.rng.standard_normal() as f32;
        }
        situation
    }
}

/// In situation k only hyper-action k pays. Returns the share of right choices in the last tenth of the run.
fn share_of_right_choices(scheduler: &dyn Scheduler, settings: HyperSettings, seed: u64) -> f64 {
    let (n, updates) = (3, 3000);
    let mut situations = Situations::new(n);
    let mut agent = HyperAgent::new(
        scheduler,
        settings,
        space(n),
        situations.networks.shapes(),
        Plan::of_updates(updates),
        seed,
    )
    .unwrap();
    let mut right = 0;
    for update in 0..updates {
        let situation = situations.enter();
        let progress = update as f64 / (updates - 1) as f64;
        let moment = Moment {
            update,
            progress,
            weights: situations.networks.values(),
            gradients: situations.networks.gradients(),
        };
        let chosen = agent.choose(&moment)[0] as usize;
        let noise = 0.2 * situations.rng.standard_normal() as f32;
        agent.reward(if chosen == situation { 1.0 } else { 0.0 } + noise);
        if update >= updates * 9 / 10 {
            right += usize::from(chosen == situation);
        }
    }
    right as f64 / (updates / 10) as f64
}

fn every_update() -> HyperSettings {
    HyperSettings {
        update_phase: 1,
        write_interval: 1,
        ..HyperSettings::paper()
    }
}

#[test]
fn epgt_finds_the_action_that_suits_the_situation_and_random_and_bandit_cannot() {
    let random_key = HyperSettings {
        encoder: EncoderKind::Random,
        ..every_update()
    };
    for seed in 0..3 {
        let epgt = share_of_right_choices(&Epgt, random_key.clone(), seed);
        let random = share_of_right_choices(&Random, every_update(), seed);
        let bandit = share_of_right_choices(&EpsilonBandit, every_update(), seed);
        assert!(epgt > 0.85, "epgt {epgt}");
        assert!(random < 0.5, "random {random}");
        assert!(bandit < 0.5, "bandit {bandit}");
    }
}

#[test]
fn epgt_with_the_trained_encoder_finds_it_too() {
    let epgt = share_of_right_choices(&Epgt, every_update(), 0);
    assert!(epgt > 0.8, "{epgt}");
}

#[test]
fn dqn_finds_it_too_given_enough_updates() {
    let dqn = share_of_right_choices(&DeepQ, every_update(), 0);
    assert!(dqn > 0.6, "{dqn}");
}

#[test]
fn the_clock_cannot_tell_situations_apart() {
    let clock = HyperSettings {
        encoder: EncoderKind::Clock,
        ..every_update()
    };
    let share = share_of_right_choices(&Epgt, clock, 0);
    assert!(share < 0.5, "{share}");
}

#[test]
fn factored_values_find_the_best_value_of_each_hyperparameter() {
    let axis = |name: &str| Axis::new(name, 1.0, &Grid::parse("0:1:2:3").unwrap(), false).unwrap();
    let space = HyperSpace::new(vec![axis("a"), axis("b"), axis("c")], 100).unwrap();
    let settings = HyperSettings {
        action_values: ActionValues::Factored,
        encoder: EncoderKind::Random,
        ..every_update()
    };
    let networks = Situations::new(1).networks;
    let mut agent = HyperAgent::new(&Epgt, settings, space, networks.shapes(), Plan::of_updates(2000), 1).unwrap();
    let mut noise = Pcg64::from_seed(2);
    for update in 0..2000 {
        let moment = Moment {
            update,
            progress: update as f64 / 1999.0,
            weights: networks.values(),
            gradients: networks.gradients(),
        };
        let values = agent.choose(&moment).to_vec();
        let distance: f64 = values.iter().zip([3.0, 0.0, 2.0]).map(|(a, b)| (a - b).abs()).sum();
        agent.reward((-distance + 0.3 * noise.standard_normal()) as f32);
    }
    assert_eq!(agent.values(), [3.0, 0.0, 2.0]);
    assert!(agent.insight().f_statistic.unwrap() > 10.0);
    assert!(agent.insight().correlations[0].unwrap() > 0.1);
    assert!(agent.insight().correlations.iter().all(Option::is_some));
}

/// Plays a run and returns each update's value and all decisions.
fn play(settings: HyperSettings, scheduler: &dyn Scheduler, updates: u64) -> (Vec<f64>, Vec<Decision>) {
    let mut situations = Situations::new(2);
    let mut agent = HyperAgent::new(
        scheduler,
        settings,
        space(9),
        situations.networks.shapes(),
        Plan::of_updates(updates),
        3,
    )
    .unwrap();
    agent.reward(0.0);
    let (mut values, mut decisions) = (Vec::new(), Vec::new());
    for update in 0..updates {
        situations.enter();
        let progress = update as f64 / (updates - 1) as f64;
        let moment = Moment {
            update,
            progress,
            weights: situations.networks.values(),
            gradients: situations.networks.gradients(),
        };
        values.push(agent.choose(&moment)[0]);
        agent.reward(update as f32);
        decisions.extend(agent.take_decisions());
    }
    (values, decisions)
}

#[test]
fn a_hyper_action_is_held_for_as_many_updates_as_asked() {
    let settings = HyperSettings {
        hold: Hold::Updates(20),
        moves: Moves::Uniform,
        ..HyperSettings::default()
    };
    let (values, decisions) = play(settings, &Random, 400);
    assert!(values.chunks(20).all(|held| held.iter().all(|value| *value == held[0])));
    assert_eq!(decisions.len(), 20);
    assert_eq!(decisions[1].update, 20);
    // Outcomes 20..40 average to 29.5, those before to 9.5.
    assert_eq!((decisions[1].outcome, decisions[1].hyper_return), (29.5, 20.0));
}

#[test]
fn a_hyper_action_can_be_held_for_a_whole_phase() {
    let settings = HyperSettings {
        hold: Hold::Phase,
        update_phase: 8,
        ..HyperSettings::default()
    };
    let (values, decisions) = play(settings, &Random, 80);
    assert!(values.chunks(8).all(|held| held.iter().all(|value| *value == held[0])));
    assert_eq!(decisions.len(), 10);
}

#[test]
fn the_return_after_an_update_phase_is_credited_to_every_decision_in_it() {
    let (_, decisions) = play(HyperSettings::paper(), &Epgt, 100);
    assert_eq!(decisions.len(), 100);
    for decision in &decisions {
        // The phase of updates 0..10 is scored by the rollout collected after update 9, whose outcome is 9 here.
        let last_update = decision.update / 10 * 10 + 9;
        assert_eq!(decision.hyper_return, last_update as f32);
    }
    let written: Vec<u64> = decisions.iter().filter(|d| d.written).map(|d| d.update).collect();
    assert_eq!(written, [9, 19, 29, 39, 49, 59, 69, 79, 89, 99]);
    assert_eq!(decisions[99].memory, 5, "N_mem = updates / (2 * write interval)");
}

#[test]
fn local_moves_never_jump() {
    let settings = HyperSettings {
        hold: Hold::Updates(1),
        ..HyperSettings::default()
    };
    let schedulers: [&dyn Scheduler; 3] = [&Epgt, &Random, &EpsilonBandit];
    for scheduler in schedulers {
        let (values, _) = play(settings.clone(), scheduler, 300);
        assert!(values.windows(2).all(|pair| (pair[0] - pair[1]).abs() <= 1.0));
        assert!(values.iter().any(|value| *value > 2.0), "{scheduler:?} stays at home");
    }
}

#[test]
fn epsilon_falls_to_exactly_zero_at_the_last_update() {
    for settings in [
        HyperSettings::paper(),
        HyperSettings {
            hold: Hold::Updates(1),
            ..HyperSettings::default()
        },
    ] {
        let (_, decisions) = play(settings, &Epgt, 200);
        assert_eq!(decisions[0].epsilon, 1.0);
        assert_eq!(decisions[0].choice, Choice::Random);
        assert!(decisions.windows(2).all(|pair| pair[0].epsilon >= pair[1].epsilon));
        assert_eq!(decisions[199].epsilon, 0.0);
        assert_eq!(decisions[199].choice, Choice::Greedy);
    }
}

#[test]
fn fixed_keeps_the_value_it_was_given() {
    for (fixed_at, expected) in [(FixedAt::Default, 1.0), (FixedAt::Min, 0.0), (FixedAt::Max, 8.0)] {
        let settings = HyperSettings {
            fixed_at,
            ..HyperSettings::default()
        };
        let (values, _) = play(settings, &Fixed, 200);
        assert!(values.iter().all(|value| *value == expected));
    }
}

fn any_settings() -> impl Strategy<Value = (Arc<dyn Scheduler>, HyperSettings)> {
    (
        prop::sample::select(schedulers().to_vec()),
        prop::sample::select(vec![EncoderKind::Vae, EncoderKind::Random, EncoderKind::Clock]),
        prop::sample::select(vec![Hold::Updates(1), Hold::Updates(7), Hold::Phase]),
        prop::sample::select(vec![Transform::Raw, Transform::Improvement, Transform::Detrended]),
        prop::sample::select(vec![ActionValues::Joint, ActionValues::Factored]),
        0usize..4,
    )
        .prop_map(|(scheduler, encoder, hold, transform, action_values, order)| {
            let base = HyperSettings {
                encoder,
                hold,
                transform,
                action_values,
                order,
                ..HyperSettings::paper()
            };
            (
                scheduler,
                HyperSettings {
                    dqn_batch: 4,
                    key_dim: 4,
                    state_dim: 2,
                    ..base
                },
            )
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn an_agent_restored_from_a_checkpoint_goes_on_as_if_nothing_had_happened((scheduler, settings) in any_settings(), cut in 1u64..60) {
        let updates = 60;
        let mut situations = Situations::new(2);
        let make = |situations: &Situations| {
            HyperAgent::new(&*scheduler, settings.clone(), space(5), situations.networks.shapes(), Plan::of_updates(updates), 9).unwrap()
        };
        let (mut agent, mut twin) = (make(&situations), make(&situations));
        for update in 0..updates {
            if update == cut {
                // The twin is born again from what a checkpoint of the first holds.
                twin = make(&situations);
                twin.restore(agent.save(), Reading::Weighted).unwrap();
            }
            let situation = situations.enter();
            let moment = Moment { update, progress: update as f64 / 59.0, weights: situations.networks.values(), gradients: situations.networks.gradients() };
            let values = agent.choose(&moment).to_vec();
            prop_assert_eq!(&values, twin.choose(&moment));
            let outcome = (values[0] as f32 - situation as f32).abs();
            agent.reward(outcome);
            twin.reward(outcome);
            let ours: Vec<String> = agent.take_decisions().map(|d| format!("{d:?}")).collect();
            let theirs: Vec<String> = twin.take_decisions().map(|d| format!("{d:?}")).collect();
            prop_assert_eq!(ours, theirs);
        }
    }
}

#[test]
fn what_can_only_change_with_a_rollout_is_decided_once_per_rollout() {
    let mut networks = Parameters::new();
    networks.add("weight", 2, 3);
    let plan = Plan {
        total_updates: 60,
        updates_per_rollout: 6,
        decides_once_per_rollout: true,
    };
    let settings = HyperSettings {
        hold: Hold::Updates(1),
        ..Default::default()
    };
    let mut agent = HyperAgent::new(&Random, settings, space(9), networks.shapes(), plan, 3).unwrap();
    let mut update = 0;
    for rollout in 0..10 {
        agent.reward(rollout as f32);
        let mut values = Vec::new();
        for _ in 0..6 {
            let progress = update as f64 / 59.0;
            values.push(
                agent
                    .choose(&Moment {
                        update,
                        progress,
                        weights: networks.values(),
                        gradients: networks.gradients(),
                    })
                    .to_vec(),
            );
            update += 1;
        }
        assert!(values.iter().all(|value| *value == values[0]));
        assert_eq!(agent.insight().decisions, rollout + 1);
    }
    let credited: Vec<f32> = agent.take_decisions().map(|decision| decision.outcome).collect();
    assert_eq!(credited, (1..10).map(|rollout| rollout as f32).collect::<Vec<_>>());
}
