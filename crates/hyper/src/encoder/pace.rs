//! When the VAE is trained: every few updates (paper), or more rarely once its loss has stopped falling.
//!
//! Training is most of what a trained encoder costs. With `encoder_interval_growth` above 1 the interval grows by that
//! factor whenever [`WINDOW`] steps have not lowered the loss, and falls back when the loss rises because the
//! hyper-states have moved on.

use serde::{Deserialize, Serialize};

use crate::settings::HyperSettings;

/// Training steps whose losses are averaged before they are compared.
const WINDOW: u32 = 16;

/// A mean loss below this share of the best one is falling.
const FALLING: f32 = 0.95;

/// A mean loss above this multiple of the best one has risen.
const RISEN: f32 = 1.5;

/// The interval grows to at most this multiple of `encoder_interval`.
const LARGEST: u64 = 32;

/// The schedule of training steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pace {
    interval: u64,
    /// Policy updates after which the next step is due.
    next: u64,
    /// Losses of the current window: how many, and their sum.
    window: (u32, f32),
    /// Lowest mean of a window since the loss last rose.
    best: f32,
}

impl Pace {
    /// Begins with a step every `encoder_interval` updates.
    pub fn new(settings: &HyperSettings) -> Self {
        Self {
            interval: settings.encoder_interval,
            next: settings.encoder_interval,
            window: (0, 0.0),
            best: f32::INFINITY,
        }
    }

    /// Whether a step is due before policy update `update`; if so, the next one is set.
    pub fn is_due(&mut self, update: u64) -> bool {
        let due = update + 1 >= self.next;
        if due {
            self.next = (update + 1).saturating_add(self.interval);
        }
        due
    }

    /// Learns the loss of a training step.
    pub fn learn(&mut self, loss: f32, settings: &HyperSettings) {
        let (steps, sum) = (self.window.0 + 1, self.window.1 + loss);
        self.window = (steps, sum);
        if steps < WINDOW {
            return;
        }
        let mean = sum / steps as f32;
        self.window = (0, 0.0);
        if mean > RISEN * self.best {
            self.interval = settings.encoder_interval;
            self.best = mean;
        } else if mean >= FALLING * self.best {
            let grown = (self.interval as f64 * f64::from(settings.encoder_interval_growth)).ceil() as u64;
            self.interval = grown.min(settings.encoder_interval.saturating_mul(LARGEST));
        }
        self.best = self.best.min(mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(encoder_interval_growth: f32) -> HyperSettings {
        HyperSettings {
            encoder_interval_growth,
            ..HyperSettings::paper()
        }
    }

    /// The updates before which a step was made, for a loss that depends on the number of the step.
    fn steps(settings: &HyperSettings, updates: u64, loss: impl Fn(usize) -> f32) -> Vec<u64> {
        let mut pace = Pace::new(settings);
        let mut steps = Vec::new();
        for update in 0..updates {
            if pace.is_due(update) {
                pace.learn(loss(steps.len()), settings);
                steps.push(update);
            }
        }
        steps
    }

    #[test]
    fn the_paper_trains_every_tenth_update_whatever_the_loss() {
        let expected: Vec<u64> = (9..5000).step_by(10).collect();
        assert_eq!(steps(&settings(1.0), 5000, |_| 1.0), expected);
        assert_eq!(steps(&settings(1.0), 5000, |step| (step % 50) as f32), expected);
    }

    #[test]
    fn the_interval_grows_only_while_the_loss_does_not_fall() {
        let falling = steps(&settings(2.0), 3000, |step| 0.99_f32.powi(step as i32));
        assert_eq!(falling.len(), 300);
        // 16 steps set the mark, then 16 each at 10, 20, 40, .. updates.
        let level = steps(&settings(2.0), 3000, |_| 1.0);
        let gaps: Vec<u64> = level.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!((gaps[30], gaps[32], gaps[48], gaps[64]), (10, 20, 40, 80));
    }

    #[test]
    fn the_interval_is_bounded_and_falls_back_when_the_loss_rises() {
        let steps = steps(&settings(4.0), 200_000, |step| if step < 400 { 1.0 } else { 2.0 });
        let gaps: Vec<u64> = steps.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps.iter().max(), Some(&320));
        assert_eq!((gaps[399], gaps[418]), (320, 10));
    }
}
