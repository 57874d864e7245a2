//! The wind of the lander's option `enable_wind`: never the same for long, and periodic in nothing that an episode
//! sees.

use epgt_rng::Pcg64;
use std::f64::consts::PI;

/// Wind that comes and goes: strength k is power_k tanh(sin(0.02 t_k) + sin(pi t_k / 100)), a force and a torque.
pub(super) struct Wind {
    powers: [f64; 2],
    times: [i64; 2],
}

impl Wind {
    /// From random times on.
    pub(super) fn draw(powers: [f64; 2], rng: &mut Pcg64) -> Self {
        let times = [0; 2].map(|_| rng.below(2 * 9999) as i64 - 9999);
        Wind { powers, times }
    }

    /// Force and torque of this moment; the next call is of the next.
    pub(super) fn blow(&mut self) -> [f64; 2] {
        std::array::from_fn(|k| {
            let time = self.times[k] as f64;
            self.times[k] += 1;
            ((0.02 * time).sin() + (PI * 0.01 * time).sin()).tanh() * self.powers[k]
        })
    }
}
