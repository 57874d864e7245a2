//! An environment of one's own: `cargo run --release -p epgt --example environment`.
//!
//! A cart on a line is to be brought to the origin, with a push to either side or none.

use std::error::Error;
use std::sync::Arc;

use epgt::envs::{Env, EnvError, Space, Step, TaskSpec, check, decode_state, encode_state};
use epgt::rng::Pcg64;
use epgt::train::Registry;
use epgt::{Assignment, Config, Trainer};

struct Cart {
    observation: Space,
    action: Space,
    rng: Pcg64,
    place: f64,
    speed: f64,
}

impl Cart {
    fn new() -> Self {
        Self {
            observation: Space::Box {
                low: vec![-5.0, -5.0],
                high: vec![5.0, 5.0],
            },
            action: Space::Discrete(3),
            rng: Pcg64::from_seed(0),
            place: 0.0,
            speed: 0.0,
        }
    }

    fn observe(&self, observation: &mut [f32]) {
        observation.copy_from_slice(&[self.place as f32, self.speed as f32]);
    }
}

impl Env for Cart {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        if let Some(seed) = seed {
            self.rng = Pcg64::from_seed(seed);
        }
        (self.place, self.speed) = (2.0 * self.rng.next_f64() - 1.0, 0.0);
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        self.action.check_action(action)?;
        let push = f64::from(action[0]) - 1.0;
        self.speed = (0.9 * self.speed + 0.1 * push).clamp(-5.0, 5.0);
        self.place = (self.place + 0.2 * self.speed).clamp(-5.0, 5.0);
        self.observe(observation);
        Ok(Step {
            reward: -self.place.abs(),
            terminated: false,
            truncated: false,
        })
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(&self.rng, self.place, self.speed))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        (self.rng, self.place, self.speed) = decode_state(state)?;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    check(&mut Cart::new())?;
    let task = TaskSpec::new("Cart-v0", Cart::new)
        .with_summary("Bring a cart to the origin.")
        .with_max_episode_steps(100);
    let registry = Arc::new(Registry::new().with_task(task));
    let said = [("task", "Cart-v0"), ("steps", "100000")];
    let config = Config::build_in(&registry, &said.map(|(key, value)| Assignment::new(key, value)))?;
    let mut trainer = Trainer::new(&config)?;
    let mut first = None;
    while !trainer.is_finished() {
        trainer.iterate()?;
        first = first.or(trainer.counters.mean_return());
    }
    let (first, last) = (
        first.unwrap_or(f64::NAN),
        trainer.counters.mean_return().unwrap_or(f64::NAN),
    );
    println!("return of an episode: {first:.1} at first, {last:.1} in the end");
    assert!(last > first);
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
