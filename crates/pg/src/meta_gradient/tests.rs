use super::*;
use crate::a2c::clipped_gradient;
use crate::{A2c, PolicySettings, Rule, RuleSettings};
use epgt_envs::Space;
use epgt_rng::Pcg64;

fn agent() -> ActorCritic {
    let settings = PolicySettings {
        hidden: vec![8],
        ..Default::default()
    };
    let plane = Space::Box {
        low: vec![-1.0; 2],
        high: vec![1.0; 2],
    };
    let mut rng = Pcg64::from_seed(3);
    let mut agent = ActorCritic::new(&settings, 3, &plane, &mut rng);
    let noise = |x: &mut f32| *x += 0.3 * rng.standard_normal() as f32;
    agent.params.values_mut().iter_mut().for_each(noise);
    agent
}

/// A random rollout with ends of both kinds.
fn rollout(seed: u64) -> Rollout {
    let mut rollout = Rollout::new(6, 4, 3, 2);
    let mut rng = Pcg64::from_seed(seed);
    for numbers in [
        rollout.observations.numbers_mut(),
        &mut rollout.actions,
        &mut rollout.rewards,
        &mut rollout.values,
        &mut rollout.final_values,
    ] {
        numbers.iter_mut().for_each(|x| *x = rng.standard_normal() as f32);
    }
    (rollout.terminated[9], rollout.truncated[14]) = (true, true);
    rollout
}

fn settings(max_grad_norm: f64) -> A2cSettings {
    A2cSettings {
        learning_rate: 0.02,
        gamma: 0.9,
        gae_lambda: 0.8,
        max_grad_norm,
        ..Default::default()
    }
}

fn tuned(bounds: [(f64, f64); 3]) -> Vec<Tuned> {
    let pairs = MetaGradient::KNOWS.iter().zip(bounds);
    let index = |name: &str| A2cSettings::default().index(name).unwrap();
    let tuned = pairs.map(|(name, (low, high))| Tuned {
        index: index(name),
        low,
        high,
    });
    tuned.collect()
}

const WIDE: [(f64, f64); 3] = [(1e-6, 1.0), (0.1, 0.999), (0.1, 0.999)];

/// An A2C that has made three updates of its own, and then follows the rule.
fn warm(settings: A2cSettings, meta: MetaGradientSettings, bounds: [(f64, f64); 3]) -> (A2c, ActorCritic) {
    let (mut agent, mut a2c) = (agent(), A2c::new(settings, &agent()));
    for seed in 0..3 {
        a2c.update(&mut agent, &mut rollout(seed)).unwrap();
    }
    let rule = RuleSettings::MetaGradient(meta);
    a2c.rule = Some(Rule::new(&rule, &settings, &tuned(bounds), 0).unwrap());
    (a2c, agent)
}

fn meta(a2c: &mut A2c) -> &mut MetaGradient {
    match &mut a2c.rule {
        Some(Rule::MetaGradient(meta)) => meta,
        _ => panic!("the rule is the meta-gradient"),
    }
}

/// The objective of the next rollout at the weights that an update with these settings makes, RMSprop's divisor being
/// that of the gradient at `fixed`.
fn objective(a2c: &A2c, fixed: &A2cSettings, varied: &A2cSettings, start: &ActorCritic) -> f64 {
    let (mut agent, mut work) = (start.clone(), Workspace::default());
    clipped_gradient(fixed, &mut work, &mut agent, &mut rollout(10)).unwrap();
    let at_fixed = agent.params.gradients().to_vec();
    clipped_gradient(varied, &mut work, &mut agent, &mut rollout(10)).unwrap();
    let mut direction = vec![0.0; at_fixed.len()];
    a2c.optimiser
        .precondition(&at_fixed, agent.params.gradients(), &mut direction);
    for (weight, direction) in agent.params.values_mut().iter_mut().zip(direction) {
        *weight -= varied.learning_rate as f32 * direction;
    }
    let mut next = rollout(11);
    evaluate(&Loss::from(*fixed), &mut work, &mut agent, &mut next);
    let terms = work.log_probs.iter().zip(&next.advantages);
    let sum: f64 = terms.map(|(&log_prob, &a)| f64::from(log_prob) * f64::from(a)).sum();
    sum / next.advantages.len() as f64
}

#[test]
fn meta_gradients_are_central_differences_of_the_next_rollouts_objective() {
    // Once with a gradient that is clipped hard and once with one that is not.
    for max_grad_norm in [0.1, 1e6] {
        let settings = settings(max_grad_norm);
        let (mut a2c, start) = warm(settings, MetaGradientSettings::default(), WIDE);
        let before = a2c.clone();
        let mut agent = start.clone();
        a2c.update(&mut agent, &mut rollout(10)).unwrap();
        a2c.update(&mut agent, &mut rollout(11)).unwrap();
        let found = meta(&mut a2c).gradients.clone();
        for (i, (tuned, step)) in tuned(WIDE).into_iter().zip([2e-3, 0.01, 0.01]).enumerate() {
            let at = |shift: f64| {
                let mut varied = settings;
                varied.set(tuned.index, settings.get(tuned.index) + shift);
                objective(&before, &settings, &varied, &start)
            };
            let difference = (at(step) - at(-step)) / (2.0 * step);
            let close = (found[i] - difference).abs() < 0.01 * difference.abs() + 1e-4;
            assert!(
                close,
                "{} at norm {max_grad_norm}: {} by the rule, {difference} by differences",
                MetaGradient::KNOWS[i],
                found[i]
            );
            assert!(difference.abs() > 1e-3, "there is something to see: {difference}");
        }
    }
}

#[test]
fn the_first_step_has_the_size_of_the_setting_and_goes_uphill() {
    let (mut a2c, mut agent) = warm(settings(0.5), MetaGradientSettings::default(), WIDE);
    a2c.update(&mut agent, &mut rollout(10)).unwrap();
    assert_eq!(
        a2c.settings,
        settings(0.5),
        "before there is a next rollout nothing is learned"
    );
    a2c.update(&mut agent, &mut rollout(11)).unwrap();
    let gradients = meta(&mut a2c).gradients.clone();
    let moved = |value: f64, from: f64, logit: bool| match logit {
        true => (value / (1.0 - value)).ln() - (from / (1.0 - from)).ln(),
        false => (value / from).ln(),
    };
    let now = a2c.settings;
    for (step, gradient) in [
        (moved(now.learning_rate, 0.02, false), gradients[0]),
        (moved(now.gamma, 0.9, true), gradients[1]),
        (moved(now.gae_lambda, 0.8, true), gradients[2]),
    ] {
        assert!((step - 0.01 * gradient.signum()).abs() < 1e-4, "{step} for {gradient}");
    }
}

#[test]
fn values_stay_within_their_bounds_whatever_the_step() {
    let bounds = [(0.01, 0.03), (0.85, 0.95), (0.0, 1.0)];
    let wild = MetaGradientSettings {
        rate: 5.0,
        ..Default::default()
    };
    let (mut a2c, mut agent) = warm(settings(0.5), wild, bounds);
    for seed in 20..60 {
        a2c.update(&mut agent, &mut rollout(seed)).unwrap();
        let now = a2c.settings;
        assert!((0.01..=0.03).contains(&now.learning_rate) && (0.85..=0.95).contains(&now.gamma));
        assert!((1e-4..=0.99999).contains(&now.gae_lambda), "{}", now.gae_lambda);
    }
}

#[test]
fn a_meta_gradient_that_is_not_a_number_changes_nothing() {
    let (mut a2c, mut agent) = warm(settings(0.5), MetaGradientSettings::default(), WIDE);
    a2c.update(&mut agent, &mut rollout(10)).unwrap();
    meta(&mut a2c).state.trace.fill(f32::NAN);
    a2c.update(&mut agent, &mut rollout(11)).unwrap();
    let now = a2c.settings;
    assert!((now.learning_rate - 0.02).abs() < 1e-8 && (now.gamma - 0.9).abs() < 1e-6);
    assert!(meta(&mut a2c).metrics().iter().all(|(_, gradient)| gradient.is_none()));
    a2c.update(&mut agent, &mut rollout(12)).unwrap();
    assert!(meta(&mut a2c).gradients.iter().all(|gradient| gradient.is_finite()));
}

#[test]
fn the_update_is_the_plain_one_with_the_values_that_were_learned() {
    let (mut a2c, mut agent) = warm(settings(0.5), MetaGradientSettings::default(), WIDE);
    for seed in 10..14 {
        let (mut plain, mut plain_agent) = (a2c.clone(), agent.clone());
        let stats = a2c.update(&mut agent, &mut rollout(seed)).unwrap();
        (plain.rule, plain.settings) = (None, a2c.settings);
        assert_eq!(plain.update(&mut plain_agent, &mut rollout(seed)).unwrap(), stats);
        assert_eq!(agent.params, plain_agent.params);
    }
}
