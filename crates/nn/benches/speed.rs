//! How long the shapes of this project take: `cargo bench -p epgt-nn --bench speed`.
//!
//! Each line is the best mean of 200 rounds of a millisecond: what is slower than the best is the machine's other work.

use std::hint::black_box;
use std::time::{Duration, Instant};

use epgt_nn::{Activation, Adam, Mlp, Parameters, RmsProp, clip_gradient_norm};
use epgt_rng::Pcg64;

/// Calls between two looks at the clock, which takes about 0.05 us itself.
const CALLS: u32 = 5;

/// Policy and value networks over one set of parameters, as the policy-gradient methods use them.
struct ActorCritic {
    params: Parameters,
    nets: [Mlp; 2],
    input: Vec<f32>,
    gradient: Vec<f32>,
}

impl ActorCritic {
    fn new(observation: usize, hidden: usize, action: usize, batch: usize) -> Self {
        let mut rng = Pcg64::from_seed(1);
        let mut params = Parameters::new();
        let nets = [("policy", action), ("value", 1)].map(|(name, outputs)| {
            let sizes = [observation, hidden, hidden, outputs];
            let (tanh, linear) = (Activation::Tanh, Activation::Identity);
            Mlp::new(&mut params, name, &sizes, tanh, linear, 1.4, 1.0, &mut rng)
        });
        let input = normals(&mut rng, batch * observation);
        let gradient = normals(&mut rng, batch * action);
        Self {
            params,
            nets,
            input,
            gradient,
        }
    }

    fn act(&mut self, batch: usize) {
        for net in &mut self.nets {
            black_box(net.forward(&self.params, &self.input, batch));
        }
    }

    fn update(&mut self, batch: usize, rms: &mut RmsProp) {
        for net in &mut self.nets {
            let outputs = net.forward(&self.params, &self.input, batch).len();
            net.backward(&mut self.params, &self.gradient[..outputs]);
        }
        clip_gradient_norm(self.params.gradients_mut(), 0.5);
        let (values, gradients) = self.params.split_mut();
        rms.step(values, gradients, 1e-7);
    }
}

fn main() {
    println!("{:<52} {:>10}", "", "us");
    for (sizes, batches) in [((17, 64, 6), [1, 16, 5, 80]), ((2, 32, 1), [1, 16, 5, 80])] {
        let (observation, hidden, action) = sizes;
        let net = format!("2 x {observation}-{hidden}-{hidden}-{action}/1");
        for batch in &batches[..2] {
            let mut agent = ActorCritic::new(observation, hidden, action, *batch);
            report(&format!("{net} forward, batch {batch}"), || agent.act(*batch));
        }
        for batch in &batches[2..] {
            let mut agent = ActorCritic::new(observation, hidden, action, *batch);
            let mut rms = RmsProp::new(agent.params.len(), 0.99, 1e-5);
            report(&format!("{net} update (RMSprop), batch {batch}"), || {
                agent.update(*batch, &mut rms)
            });
        }
    }
    for batch in [64, 256] {
        let mut agent = ActorCritic::new(17, 64, 6, batch);
        let mut rms = RmsProp::new(agent.params.len(), 0.99, 1e-5);
        report(&format!("2 x 17-64-64-6/1 update (RMSprop), batch {batch}"), || {
            agent.update(batch, &mut rms)
        });
    }
    autoencoder();
}

/// The hyper-state's autoencoder, with a batch of 8 hyper-states.
fn autoencoder() {
    const STATE: usize = 1640;
    const KEY: usize = 32;
    let mut rng = Pcg64::from_seed(1);
    let mut params = Parameters::new();
    let (tanh, sigmoid) = (Activation::Tanh, Activation::Sigmoid);
    let sizes = [STATE, STATE / 4, 2 * KEY];
    let mut encoder = Mlp::new(&mut params, "encoder", &sizes, tanh, tanh, 1.4, 1.0, &mut rng);
    let sizes = [KEY, STATE / 4, STATE];
    let mut decoder = Mlp::new(&mut params, "decoder", &sizes, tanh, sigmoid, 1.4, 1.0, &mut rng);
    let mut adam = Adam::new(params.len(), 0.9, 0.999, 1e-8);
    let states = normals(&mut rng, 8 * STATE);
    let keys = normals(&mut rng, 8 * KEY);
    let code_gradient = normals(&mut rng, 8 * 2 * KEY);
    report("1640-410-64 forward, batch 1", || {
        black_box(encoder.forward(&params, &states[..STATE], 1));
    });
    report("1640-410-64 forward, batch 8", || {
        black_box(encoder.forward(&params, &states, 8));
    });
    report("1640-410-64 backward to weights, batch 8", || {
        encoder.backward(&mut params, &code_gradient)
    });
    report("1640-410-64 backward to input, batch 8", || {
        black_box(encoder.backward_to_input(&mut params, &code_gradient));
    });
    report("32-410-1640 forward, batch 8", || {
        black_box(decoder.forward(&params, &keys, 8));
    });
    report("32-410-1640 backward to input, batch 8", || {
        black_box(decoder.backward_to_input(&mut params, &states));
    });
    report(&format!("Adam, {} parameters", params.len()), || {
        let (values, gradients) = params.split_mut();
        adam.step(values, gradients, 1e-7);
    });
    report("all of it: one training step, batch 8", || {
        encoder.forward(&params, &states, 8);
        decoder.forward(&params, &keys, 8);
        decoder.backward_to_input(&mut params, &states);
        encoder.backward_to_input(&mut params, &code_gradient);
        let (values, gradients) = params.split_mut();
        adam.step(values, gradients, 1e-7);
    });
}

fn normals(rng: &mut Pcg64, len: usize) -> Vec<f32> {
    (0..len).map(|_| rng.standard_normal() as f32).collect()
}

/// Prints the microseconds of one call.
fn report(what: &str, mut call: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let (start, mut calls) = (Instant::now(), 0_u32);
        while start.elapsed() < Duration::from_millis(1) {
            for _ in 0..CALLS {
                call();
            }
            calls += CALLS;
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
    }
    println!("{what:<52} {best:>10.2}");
}
