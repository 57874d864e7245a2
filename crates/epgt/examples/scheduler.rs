//! A scheduler of one's own: `cargo run --release -p epgt --example scheduler`.
//!
//! It goes down the values of the only hyperparameter as training goes on, one stair after another.

use std::error::Error;
use std::sync::Arc;

use epgt::hyper::{About, Choosing, HyperError, HyperSpace, Mind, Need, Purpose, SavedMind, Scheduler, Seen};
use epgt::rng::Pcg64;
use epgt::train::Registry;
use epgt::{Assignment, Config, Trainer};

#[derive(Debug)]
struct Stairs;

impl Scheduler for Stairs {
    fn about(&self) -> About {
        About {
            name: "stairs",
            help: "From the largest value down to the smallest.",
            does: "takes the values in descending order, each for the same share of the training",
            choosing: Choosing::Own,
            sees: "nothing but the time",
            chose: "its turn has come",
            ..About::BLANK
        }
    }

    fn mind(&self, _: &Purpose<'_>) -> Box<dyn Mind> {
        Box::new(Clock { progress: 0.0 })
    }
}

#[derive(Debug)]
struct Clock {
    progress: f64,
}

impl Mind for Clock {
    fn look(&mut self, seen: &Seen<'_>, _: Need, _: &mut [f32]) -> Option<Vec<f32>> {
        self.progress = seen.moment.progress;
        None
    }

    fn choose(&mut self, space: &HyperSpace, _: usize, _: &[f32], _: &mut Pcg64) -> usize {
        let stairs = space.len();
        let stair = (self.progress * stairs as f64) as usize;
        stairs - 1 - stair.min(stairs - 1)
    }

    fn save(&self) -> SavedMind<'_> {
        SavedMind::other(&self.progress.to_le_bytes())
    }

    fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), HyperError> {
        let bytes = saved.into_other()?.try_into().map_err(|_| HyperError::OtherScheduler)?;
        self.progress = f64::from_le_bytes(bytes);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let registry = Arc::new(Registry::new().with_scheduler(Stairs));
    let said = [
        ("task", "CartPole-v1"),
        ("steps", "40000"),
        ("scheduler", "stairs"),
        ("tune.learning_rate", "[3e-4, 1e-3, 3e-3]"),
    ];
    let config = Config::build_in(&registry, &said.map(|(key, value)| Assignment::new(key, value)))?;
    let mut trainer = Trainer::new(&config)?;
    let mut rates = Vec::new();
    while !trainer.is_finished() {
        trainer.iterate()?;
        rates.extend(trainer.hyper.take_decisions().map(|decision| decision.values[0]));
    }
    rates.dedup();
    println!("learning rates in force, one after another: {rates:?}");
    assert_eq!(rates, [3e-3, 1e-3, 3e-4]);
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
