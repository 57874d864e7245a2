//! What a step of the Box2D tasks costs, and how much of that is the engine's own: `World::step` and the ray casts.
//!
//! The same seed and actions are played twice: through the environment with its time limit, and part by part with a
//! clock around the engine's part. Both are repeated in turn, and the fastest pass of each counts.
//!
//! `cargo run --release -p epgt-envs --example box2d_speed`

use epgt_envs::box2d::{BipedalWalker, LunarLander, Simulation};
use epgt_envs::{EnvError, Space};
use epgt_rng::Pcg64;
use std::time::{Duration, Instant};

const STEPS: u32 = 2_000;
const PASSES: usize = 40;

fn main() -> Result<(), EnvError> {
    measure::<BipedalWalker<false>>("BipedalWalker-v3")?;
    measure::<BipedalWalker<true>>("BipedalWalkerHardcore-v3")?;
    measure::<LunarLander<false>>("LunarLander-v3")?;
    measure::<LunarLander<true>>("LunarLanderContinuous-v3")
}

fn measure<S: Simulation>(id: &str) -> Result<(), EnvError> {
    let (mut step, mut engine, mut reset) = (Duration::MAX, Duration::MAX, Duration::MAX);
    for _ in 0..PASSES {
        let (steps, resets) = whole_steps(id)?;
        step = step.min(steps / STEPS);
        reset = reset.min(resets);
        engine = engine.min(engine_alone::<S>(id)? / STEPS);
    }
    println!(
        "{id}: {} ns per step, {} ns of them in the engine (x {:.3}), {} us per reset",
        step.as_nanos(),
        engine.as_nanos(),
        step.as_secs_f64() / engine.as_secs_f64(),
        reset.as_micros(),
    );
    Ok(())
}

/// The time of all steps through the environment, and the mean time of a reset.
fn whole_steps(id: &str) -> Result<(Duration, Duration), EnvError> {
    let mut env = epgt_envs::make(id)?;
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut actions = Actions::new(env.action_space().clone());
    let (mut steps, mut resets, mut episodes) = (Duration::ZERO, Duration::ZERO, 0);
    env.reset(Some(0), &mut observation)?;
    let mut done = 0;
    while done < STEPS {
        // One reading of the clock per stretch, so that it costs nothing.
        let stretch = actions.draw(32.min(STEPS - done));
        let mut ended = false;
        let begin = Instant::now();
        for action in stretch {
            let step = env.step(action, &mut observation)?;
            done += 1;
            ended = step.terminated || step.truncated;
            if ended {
                break;
            }
        }
        steps += begin.elapsed();
        if ended {
            let begin = Instant::now();
            env.reset(None, &mut observation)?;
            resets += begin.elapsed();
            episodes += 1;
        }
    }
    Ok((steps, resets / episodes.max(1)))
}

/// The time that the engine needed for the same trajectory.
fn engine_alone<S: Simulation>(id: &str) -> Result<Duration, EnvError> {
    let task = epgt_envs::find(id)?;
    let env = epgt_envs::make(id)?;
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut actions = Actions::new(env.action_space().clone());
    let mut rng = Pcg64::from_seed(0);
    let mut simulation = S::begin(&Default::default(), &mut rng, &mut observation);
    let (mut time, mut length, mut done) = (Duration::ZERO, 0, 0);
    while done < STEPS {
        let stretch = actions.draw(32.min(STEPS - done));
        for action in stretch {
            simulation.drive(action, &mut rng)?;
            let begin = Instant::now();
            simulation.simulate();
            time += begin.elapsed();
            done += 1;
            length += 1;
            if simulation.judge(&mut observation).terminated || length == task.max_episode_steps {
                simulation = S::begin(&Default::default(), &mut rng, &mut observation);
                length = 0;
                break;
            }
        }
    }
    Ok(time)
}

/// Random actions, drawn ahead so that drawing is not measured.
struct Actions {
    space: Space,
    rng: Pcg64,
    rows: Vec<f32>,
}

impl Actions {
    fn new(space: Space) -> Self {
        Actions {
            space,
            rng: Pcg64::from_seed(1),
            rows: Vec::new(),
        }
    }

    fn draw(&mut self, rows: u32) -> std::slice::ChunksExact<'_, f32> {
        let width = self.space.size();
        self.rows.resize(rows as usize * width, 0.0);
        for row in self.rows.chunks_exact_mut(width) {
            self.space.sample(&mut self.rng, row);
        }
        self.rows.chunks_exact(width)
    }
}
