use super::*;
use crate::{A2c, PolicySettings, Rule, RuleSettings};
use epgt_envs::Space;

const ACTIONS: [f32; 6] = [-1.0, 0.2, 1.0, 0.5, -0.4, 1.5];
const REWARDS: [f32; 6] = [0.0, 1.0, 5.0, 2.0, -1.0, 0.5];

/// A policy that is a line through the observation with a deviation of 1, at zero.
fn linear_gaussian() -> ActorCritic {
    let settings = PolicySettings {
        hidden: Vec::new(),
        ..Default::default()
    };
    let line = Space::Box {
        low: vec![-1.0],
        high: vec![1.0],
    };
    let mut agent = ActorCritic::new(&settings, 1, &line, &mut Pcg64::from_seed(0));
    agent.params.values_mut().fill(0.0);
    agent
}

/// Two steps of three environments that see 1, 2, 3 and then 3, 2, 1.
fn rollout() -> Rollout {
    let mut rollout = Rollout::new(2, 3, 1, 1);
    rollout.observations.numbers_mut()[..6].copy_from_slice(&[1.0, 2.0, 3.0, 3.0, 2.0, 1.0]);
    rollout.actions.copy_from_slice(&ACTIONS);
    rollout.raw_rewards.copy_from_slice(&REWARDS);
    rollout.rewards.copy_from_slice(&REWARDS);
    rollout
}

fn tuned(name: &str, low: f64, high: f64) -> Tuned {
    let index = A2cSettings::default().index(name).unwrap();
    Tuned { index, low, high }
}

fn with_hoof(settings: HoofSettings, tuned: &[Tuned], agent: &ActorCritic) -> A2c {
    let a2c = A2cSettings::default();
    let rule = Rule::new(&RuleSettings::Hoof(settings), &a2c, tuned, 4).unwrap();
    let mut a2c = A2c::new(a2c, agent);
    a2c.rule = Some(rule);
    a2c
}

fn hoof(a2c: &A2c) -> &Hoof {
    match &a2c.rule {
        Some(Rule::Hoof(hoof)) => hoof,
        _ => panic!("the rule is HOOF"),
    }
}

/// By hand and in double precision: the mean KL divergence of N(0, 1) from N(w x + b, exp(s)) over the six rows, and
/// the weighted importance sampling estimate of the three environments' sums of rewards.
fn by_hand(w: f64, b: f64, s: f64) -> (f64, f64) {
    let (mut kl, mut log_weights) = (0.0, [0.0; 3]);
    for (i, x) in [1.0, 2.0, 3.0, 3.0, 2.0, 1.0].into_iter().enumerate() {
        let (mean, action) = (w * x + b, f64::from(ACTIONS[i]));
        kl += s + (1.0 + mean * mean) / (2.0 * (2.0 * s).exp()) - 0.5;
        let z = (action - mean) / s.exp();
        log_weights[i % 3] += -0.5 * z * z - s + 0.5 * action * action;
    }
    let weights = log_weights.map(f64::exp);
    let earned = [2.0, 0.0, 5.5];
    let sum: f64 = weights.iter().zip(earned).map(|(w, r)| w * r).sum();
    (kl / 6.0, sum / weights.iter().sum::<f64>())
}

/// The rate that HOOF takes, with the best by hand of the same hundred candidates, how many are beyond the limit by
/// hand, and the largest that is not.
fn taken_and_by_hand(upper_bound: f64, max_kl: f64, ent_coef: f64) -> (A2c, (f64, f64), u32, f64) {
    let (mut agent, mut rollout) = (linear_gaussian(), rollout());
    let settings = HoofSettings {
        upper_bound,
        max_kl,
        ..Default::default()
    };
    let mut a2c = with_hoof(settings, &[tuned("learning_rate", 0.0, 1.0)], &agent);
    a2c.settings.ent_coef = ent_coef;
    let (fresh, mut rng) = (a2c.optimiser.clone(), hoof(&a2c).rng.clone());
    a2c.update(&mut agent, &mut rollout).unwrap();

    let mut direction = vec![0.0; agent.params.len()];
    fresh.precondition(agent.params.gradients(), agent.params.gradients(), &mut direction);
    let of = |name: &str| {
        let shape = agent.params.shapes().iter().find(|shape| shape.name == name).unwrap();
        f64::from(direction[shape.offset])
    };
    let (w, b, s) = (of("policy.0.weight"), of("policy.0.bias"), of("policy.log_std"));
    let (mut best, mut rejected, mut largest) = ((f64::NEG_INFINITY, 0.0), 0, 0.0);
    for _ in 0..100 {
        let rate = rng.uniform(0.0, upper_bound);
        let (kl, estimate) = by_hand(-rate * w, -rate * b, -rate * s);
        if kl > max_kl {
            rejected += 1;
            continue;
        }
        largest = f64::max(largest, rate);
        if estimate > best.0 {
            best = (estimate, rate);
        }
    }
    (a2c, best, rejected, largest)
}

#[test]
fn the_best_of_known_candidates_is_taken_within_the_kl_limit() {
    let (a2c, best, rejected, largest) = taken_and_by_hand(0.02, 0.03, 0.01);
    assert!((10..=80).contains(&rejected), "the limit separates them: {rejected}");
    assert_eq!(a2c.settings.learning_rate, best.1);
    assert!(a2c.settings.learning_rate <= largest);
    assert_eq!(hoof(&a2c).rejected, Some(f64::from(rejected) / 100.0));
    assert!((hoof(&a2c).estimate.unwrap() - best.0).abs() < 1e-5);
    assert_eq!(hoof(&a2c).upper_bound, 0.02);
}

#[test]
fn the_best_of_known_candidates_is_not_just_the_largest() {
    // A strong entropy bonus widens the policy with every step, until the best environment is likely no more.
    let (a2c, best, rejected, largest) = taken_and_by_hand(0.3, 1e6, 5.0);
    assert_eq!((rejected, a2c.settings.learning_rate), (0, best.1));
    assert!(best.1 < 0.5 * largest, "{best:?}, {largest}");
    assert_eq!(hoof(&a2c).upper_bound, 0.3 * 1.25);
}

#[test]
fn the_update_is_the_plain_one_at_the_rate_that_was_chosen() {
    let (mut agent, mut rollout) = (linear_gaussian(), rollout());
    let mut plain_agent = agent.clone();
    let mut a2c = with_hoof(HoofSettings::default(), &[tuned("learning_rate", 0.0, 1.0)], &agent);
    let stats = a2c.update(&mut agent, &mut rollout).unwrap();
    let mut plain = A2c::new(a2c.settings, &plain_agent);
    assert_eq!(plain.update(&mut plain_agent, &mut rollout).unwrap(), stats);
    assert_eq!(agent.params, plain_agent.params);
    assert_eq!(a2c.optimiser, plain.optimiser);
}

#[test]
fn when_all_are_rejected_nothing_moves_and_the_bound_shrinks() {
    let (mut agent, mut rollout) = (linear_gaussian(), rollout());
    let settings = HoofSettings {
        max_kl: 1e-15,
        ..Default::default()
    };
    let before = agent.params.values().to_vec();
    let rates = [tuned("learning_rate", 0.0, 1.0), tuned("ent_coef", 0.0, 0.1)];
    let mut a2c = with_hoof(settings, &rates, &agent);
    a2c.update(&mut agent, &mut rollout).unwrap();
    assert_eq!(agent.params.values(), before);
    assert_eq!((a2c.settings.learning_rate, a2c.settings.ent_coef), (0.0, 0.01));
    assert_eq!((hoof(&a2c).rejected, hoof(&a2c).upper_bound), (Some(1.0), 0.01 * 0.8));
    assert!(agent.params.gradients().iter().any(|&g| g != 0.0));
}

#[test]
fn the_bound_shrinks_above_eighty_percent_and_grows_at_none() {
    let agent = linear_gaussian();
    let a2c = with_hoof(HoofSettings::default(), &[tuned("learning_rate", 0.0, 1.0)], &agent);
    let after = |rejected| {
        let mut hoof = hoof(&a2c).clone();
        hoof.adjust(rejected, 100);
        hoof.upper_bound
    };
    assert_eq!(
        [0, 1, 80, 81, 100].map(after),
        [0.01 * 1.25, 0.01, 0.01, 0.01 * 0.8, 0.01 * 0.8]
    );
    let mut hoof = hoof(&a2c).clone();
    (0..1000).for_each(|_| hoof.adjust(0, 100));
    assert_eq!(hoof.upper_bound, BOUNDS.1);
    (0..1000).for_each(|_| hoof.adjust(100, 100));
    assert_eq!(hoof.upper_bound, BOUNDS.0);
}

#[test]
fn each_loss_candidate_steps_along_its_own_gradient() {
    let (mut agent, mut rollout) = (linear_gaussian(), rollout());
    let names = [
        tuned("learning_rate", 0.0, 1.0),
        tuned("gamma", 0.5, 0.9),
        tuned("gae_lambda", 0.2, 0.4),
        tuned("ent_coef", 0.1, 0.9),
    ];
    let start = agent.clone();
    let mut a2c = with_hoof(HoofSettings::default(), &names, &agent);
    a2c.update(&mut agent, &mut rollout).unwrap();
    let chosen = a2c.settings;
    assert!((0.5..0.9).contains(&chosen.gamma) && (0.2..0.4).contains(&chosen.gae_lambda));
    assert!((0.1..0.9).contains(&chosen.ent_coef) && chosen.learning_rate > 0.0);
    let (mut again, mut plain) = (start.clone(), A2c::new(chosen, &start));
    plain.update(&mut again, &mut rollout).unwrap();
    assert_eq!(agent.params, again.params);
}

#[test]
fn a_bootstrapped_return_is_the_discounted_one_with_the_value_at_the_cut() {
    let (agent, mut rollout) = (linear_gaussian(), rollout());
    rollout.values[6..].copy_from_slice(&[10.0, 20.0, 30.0]);
    rollout.terminated[1] = true;
    let settings = HoofSettings {
        bootstrap: true,
        ..Default::default()
    };
    let a2c = with_hoof(settings, &[tuned("learning_rate", 0.0, 1.0)], &agent);
    let mut hoof = hoof(&a2c).clone();
    hoof.earn(&mut rollout);
    let expected = [0.99 * (2.0 + 9.9), 1.0, 5.0 + 0.99 * (0.5 + 29.7)];
    assert!(hoof.earned.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4));
}

#[test]
fn what_is_not_a_number_is_rejected_and_never_reaches_the_weights() {
    let (mut agent, mut rollout) = (linear_gaussian(), rollout());
    let before = agent.params.values().to_vec();
    // The raw reward alone: the gradient is fine and no candidate can be scored.
    rollout.raw_rewards[2] = f32::NAN;
    let mut a2c = with_hoof(HoofSettings::default(), &[tuned("learning_rate", 0.0, 1.0)], &agent);
    a2c.update(&mut agent, &mut rollout).unwrap();
    assert_eq!(agent.params.values(), before);
    assert_eq!((a2c.settings.learning_rate, hoof(&a2c).rejected), (0.0, Some(1.0)));
    rollout.rewards[2] = f32::NAN;
    assert!(a2c.update(&mut agent, &mut rollout).is_err());
    assert_eq!(agent.params.values(), before);
}

#[test]
fn weights_that_would_overflow_are_still_weighed() {
    assert_eq!(weighted_importance(&[2000.0, 0.0], &[3.0, 7.0]), 3.0);
    assert_eq!(weighted_importance(&[-2000.0, -2000.0], &[3.0, 7.0]), 5.0);
}
