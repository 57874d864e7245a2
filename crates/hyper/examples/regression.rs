//! The hyper-agent inside of somebody else's training loop, with nothing of reinforcement learning in it:
//! `cargo run --release -p epgt-hyper --example regression`.
//!
//! A network of one hidden layer, written out below, learns the sine by stochastic gradient descent. Before every step
//! the hyper-agent is shown the weights and the last gradients and chooses the learning rate; every 20 steps it is told
//! how much the error has fallen.

use std::error::Error;

use epgt_hyper::{
    Axis, EncoderKind, Epgt, Fixed, Grid, Hold, HyperAgent, HyperSettings, HyperSpace, Moment, Plan, Scheduler,
    TensorShape, Transform,
};
use epgt_rng::Pcg64;

const HIDDEN: usize = 16;
const WEIGHTS: usize = 3 * HIDDEN + 1;
const STEPS: u64 = 6000;

/// y = b + sum v tanh(w x + c), with the weights w, c, v and b one after another.
fn predict(weights: &[f32], x: f32) -> f32 {
    let unit = |i: usize| weights[2 * HIDDEN + i] * (weights[i] * x + weights[HIDDEN + i]).tanh();
    weights[3 * HIDDEN] + (0..HIDDEN).map(unit).sum::<f32>()
}

/// Adds the gradient of (predict(x) - y)^2.
fn add_gradient(weights: &[f32], x: f32, y: f32, gradients: &mut [f32]) {
    let error = 2.0 * (predict(weights, x) - y);
    for i in 0..HIDDEN {
        let out = (weights[i] * x + weights[HIDDEN + i]).tanh();
        let inner = error * weights[2 * HIDDEN + i] * (1.0 - out * out);
        gradients[i] += inner * x;
        gradients[HIDDEN + i] += inner;
        gradients[2 * HIDDEN + i] += error * out;
    }
    gradients[3 * HIDDEN] += error;
}

fn error(weights: &[f32]) -> f32 {
    let xs = (0..64).map(|i| i as f32 / 10.0 - 3.2);
    xs.map(|x| (predict(weights, x) - x.sin()).powi(2)).sum::<f32>() / 64.0
}

/// Trains with a scheduler; returns the error in the end.
fn train(scheduler: &dyn Scheduler, seed: u64) -> Result<f32, Box<dyn Error>> {
    let mut rng = Pcg64::from_seed(seed);
    let mut weights: Vec<f32> = (0..WEIGHTS).map(|_| 0.5 * rng.standard_normal() as f32).collect();
    let mut gradients = vec![0.0; WEIGHTS];

    let rates = Axis::new("learning_rate", 1e-3, &Grid::parse("log:1e-3..1e-1:5")?, true)?;
    let settings = HyperSettings {
        hold: Hold::Updates(20),
        encoder: EncoderKind::Random,
        transform: Transform::Raw,
        epsilon_zero_at: 0.5,
        ..HyperSettings::default()
    };
    let shapes = TensorShape::in_a_row([("w", HIDDEN, 1), ("c", 1, HIDDEN), ("v", 1, HIDDEN), ("b", 1, 1)]);
    let space = HyperSpace::new(vec![rates], 100)?;
    let mut agent = HyperAgent::new(scheduler, settings, space, &shapes, Plan::of_updates(STEPS), seed)?;

    let mut before = error(&weights);
    for update in 0..STEPS {
        let moment = Moment {
            update,
            progress: update as f64 / (STEPS - 1) as f64,
            weights: &weights,
            gradients: &gradients,
        };
        let rate = agent.choose(&moment)[0] as f32;
        gradients.fill(0.0);
        for _ in 0..8 {
            let x = 6.4 * rng.next_f64() as f32 - 3.2;
            add_gradient(&weights, x, x.sin(), &mut gradients);
        }
        for (weight, gradient) in weights.iter_mut().zip(&gradients) {
            *weight -= rate * gradient / 8.0;
        }
        if (update + 1) % 20 == 0 {
            let now = error(&weights);
            agent.reward((before / now).ln());
            before = now;
        }
    }
    Ok(error(&weights))
}

fn main() -> Result<(), Box<dyn Error>> {
    for seed in 0..3 {
        let (fixed, scheduled) = (train(&Fixed, seed)?, train(&Epgt, seed)?);
        println!("seed {seed}: squared error {fixed:.4} with the default rate, {scheduled:.4} scheduled");
        assert!(scheduled < fixed);
    }
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
