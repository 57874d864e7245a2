//! Where the time of an ACKTR update goes: `cargo bench -p epgt-pg --bench acktr_speed`.
//!
//! Networks of 17 inputs, two layers of 64 and 6 continuous actions, 16 environments of 20 steps. Each part is repeated
//! and the fastest of many rounds is printed, since other programs only ever make it slower. Steps have length 0, so
//! that the rollout fits the policy throughout.

use epgt_envs::Space;
use epgt_nn::Kfac;
use epgt_pg::{A2c, A2cSettings, Acktr, AcktrSettings, ActorCritic, PolicySettings, Rollout};
use epgt_rng::Pcg64;
use std::time::Instant;

const BATCH: usize = 320;

/// Microseconds of the fastest of 200 rounds of 10 calls.
fn fastest(mut call: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..10).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e5
    };
    (0..200).map(round).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = Pcg64::from_seed(0);
    let policy = PolicySettings {
        hidden: vec![64, 64],
        ..Default::default()
    };
    let space = Space::Box {
        low: vec![-1.0; 6],
        high: vec![1.0; 6],
    };
    let mut agent = ActorCritic::new(&policy, 17, &space, &mut rng);
    let mut rollout = Rollout::new(20, 16, 17, 6);
    for buffer in [
        rollout.observations.numbers_mut(),
        &mut rollout.actions,
        &mut rollout.rewards,
    ] {
        buffer.fill_with(|| rng.standard_normal() as f32);
    }
    let gradients: Vec<f32> = (0..BATCH * 6).map(|_| rng.standard_normal() as f32).collect();

    let observations = rollout.batch_observations().numbers().to_vec();
    let forward = fastest(|| agent.forward(&observations, BATCH));
    let backward = fastest(|| agent.backward(&gradients, &[0.1; 6], &gradients[..BATCH]));
    let mut kfac = Kfac::new();
    for layer in agent.layers() {
        kfac.add_linear(layer);
    }
    let observe = fastest(|| kfac.observe(agent.layers()));
    (kfac.step_size, kfac.inverse_interval) = (0.0, u32::MAX);
    kfac.step(&mut agent.params)?;
    let step = fastest(|| _ = kfac.step(&mut agent.params).unwrap());
    kfac.inverse_interval = 1;
    let decompositions = fastest(|| _ = kfac.step(&mut agent.params).unwrap()) - step;
    println!("forward {forward:.0} us, one backward {backward:.0} us, factors {observe:.0} us,");
    println!("eigen-decompositions {decompositions:.0} us once in ten updates, step {step:.0} us");

    let settings = AcktrSettings {
        learning_rate: 0.0,
        ..Default::default()
    };
    let mut acktr = Acktr::new(settings, &agent, Pcg64::from_seed(1));
    let update = fastest(|| _ = acktr.update(&mut agent, &mut rollout).unwrap());
    let settings = A2cSettings {
        learning_rate: 0.0,
        ..Default::default()
    };
    let mut a2c = A2c::new(settings, &agent);
    let plain = fastest(|| _ = a2c.update(&mut agent, &mut rollout).unwrap());
    println!("a whole update of ACKTR {update:.0} us, of A2C {plain:.0} us");
    Ok(())
}
