//! What each part of the hyper-agent costs: `cargo bench -p epgt-train --bench hyper_speed`.
//!
//! Shapes are those of policy and value networks on MountainCarContinuous (2 inputs, 32-32, 1 action) and HalfCheetah
//! (17 inputs, 64-64, 6 actions), and of the network on 4x84x84 pixels with 6 actions, with the paper's settings. Each
//! line is CPU time, the best mean of several rounds of at least 10 ms: what is slower than the best is caches and
//! memory shared with the machine's other work.

use std::hint::black_box;

use epgt_envs::{RowShape, Space};
use epgt_hyper::{Encoder, EpisodicMemory, HyperSettings, Moment, Projection, Seen, Writing};
use epgt_nn::Parameters;
use epgt_pg::{ActorCritic, PolicySettings};
use epgt_rng::Pcg64;
use epgt_train::usage::thread_cpu_seconds;

fn main() {
    let settings = HyperSettings::paper();
    println!("{:<52} {:>10}", "", "us");
    for (inputs, hidden, actions) in [(2, 32, 1), (17, 64, 6)] {
        let net = format!("2 x {inputs}-{hidden}-{hidden}-{actions}/1");
        encoder(&settings, &net, vectors(inputs, hidden, actions));
    }
    let pixels = ActorCritic::new(
        &PolicySettings::default(),
        RowShape::Image([4, 84, 84]),
        &Space::Discrete(6),
        &mut Pcg64::from_seed(1),
    );
    encoder(&settings, "pixels", pixels.params);
    for tuples in [1_000, 10_000] {
        memory(&settings, tuples);
    }
}

/// A policy and a value network on vectors.
fn vectors(inputs: usize, hidden: usize, actions: usize) -> Parameters {
    let mut networks = Parameters::new();
    for (name, outputs) in [("policy", actions), ("value", 1)] {
        let sizes = [inputs, hidden, hidden, outputs];
        for (i, pair) in sizes.windows(2).enumerate() {
            networks.add(&format!("{name}.{i}.weight"), pair[1], pair[0]);
            networks.add(&format!("{name}.{i}.bias"), 1, pair[1]);
        }
    }
    networks.add("policy.log_std", 1, actions);
    networks
}

/// Hyper-state, key, snapshot and training step for these networks.
fn encoder(settings: &HyperSettings, net: &str, mut networks: Parameters) {
    let mut rng = Pcg64::from_seed(1);
    let moments = if networks.len() > 100_000 { 10 } else { 200 };
    let mut encoder = Encoder::new(settings, networks.shapes(), 0);
    for update in 0..moments {
        for w in networks.values_mut() {
            *w += 0.05 * rng.standard_normal() as f32;
        }
        for g in networks.gradients_mut() {
            *g = 1e-3 * rng.standard_normal() as f32;
        }
        let context = context(update, &networks);
        encoder.key(&context);
        encoder.remember(&context, true);
        encoder.age(&context);
    }
    let mut matrices = Parameters::new();
    let projection = Projection::new(
        networks.shapes(),
        settings.order,
        settings.state_dim,
        &mut matrices,
        &mut rng,
    );
    let mut features = vec![0.0; projection.features()];
    let sources = [networks.values(), networks.gradients(), networks.gradients()];
    report(&format!("{net}: project to {} features", features.len()), || {
        projection.project(&matrices, sources.into_iter(), black_box(&mut features));
    });
    let context = context(moments, &networks);
    report(&format!("{net}: key (project and encode)"), || {
        black_box(encoder.key(&context));
    });
    report(&format!("{net}: remember"), || encoder.remember(&context, true));
    report(&format!("{net}: age"), || encoder.age(&context));
    report(&format!("{net}: training step of the VAE"), || encoder.train());
}

fn context(update: u64, parameters: &Parameters) -> Seen<'_> {
    Moment {
        update,
        progress: 0.5,
        weights: parameters.values(),
        gradients: parameters.gradients(),
    }
    .into()
}

/// Reading and writing a memory of this many tuples.
fn memory(settings: &HyperSettings, tuples: usize) {
    let mut rng = Pcg64::from_seed(1);
    let mut key = vec![0.0; settings.key_dim];
    let mut q = [0.0; 5];
    let mut memory = EpisodicMemory::new(tuples, key.len(), q.len());
    let mut refresh = |key: &mut [f32]| key.fill_with(|| rng.standard_normal() as f32);
    for i in 0..tuples {
        refresh(&mut key);
        memory.write(&key, i % 5, i as f32, i as u64, &Writing::default());
    }
    refresh(&mut key);
    report(&format!("read {tuples} tuples, 5 actions"), || {
        memory.read(black_box(&key), settings.neighbours, &mut q);
    });
    report(&format!("write into {tuples} tuples"), || {
        key[0] += 1e-3;
        memory.write(&key, 0, 0.0, 0, &Writing::default());
    });
}

/// Prints the microseconds of one call.
fn report(what: &str, mut call: impl FnMut()) {
    let mut best = f64::INFINITY;
    // A call of milliseconds is its own round, and few of them are enough.
    let begun = thread_cpu_seconds();
    call();
    let slow = thread_cpu_seconds() - begun > 1e-3;
    for _ in 0..if slow { 8 } else { 30 } {
        let (start, mut calls) = (thread_cpu_seconds(), 0);
        while thread_cpu_seconds() - start < 0.01 {
            let few = if slow { 1 } else { 4 };
            (0..few).for_each(|_| call());
            calls += few;
        }
        best = best.min((thread_cpu_seconds() - start) * 1e6 / f64::from(calls));
    }
    println!("{what:<52} {best:>10.2}");
}
