//! A scheduler that goes down the values of the only hyperparameter, one stair after another.

use epgt::hyper::{About, Choosing, HyperError, HyperSpace, Mind, Need, Purpose, SavedMind, Scheduler, Seen};
use epgt::rng::Pcg64;

#[derive(Debug)]
pub struct Stairs;

impl Scheduler for Stairs {
    fn about(&self) -> About {
        About {
            name: "stairs",
            help: "From the largest value down to the smallest.",
            choosing: Choosing::Own,
            ..About::BLANK
        }
    }

    fn mind(&self, _: &Purpose<'_>) -> Box<dyn Mind> {
        Box::new(Clock(0.0))
    }
}

#[derive(Debug)]
struct Clock(f64);

impl Mind for Clock {
    fn look(&mut self, seen: &Seen<'_>, _: Need, _: &mut [f32]) -> Option<Vec<f32>> {
        self.0 = seen.moment.progress;
        None
    }

    fn choose(&mut self, space: &HyperSpace, _: usize, _: &[f32], _: &mut Pcg64) -> usize {
        let stair = (self.0 * space.len() as f64) as usize;
        space.len() - 1 - stair.min(space.len() - 1)
    }

    fn save(&self) -> SavedMind<'_> {
        SavedMind::other(&self.0.to_le_bytes())
    }

    fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), HyperError> {
        let bytes = saved.into_other()?.try_into().map_err(|_| HyperError::OtherScheduler)?;
        self.0 = f64::from_le_bytes(bytes);
        Ok(())
    }
}
