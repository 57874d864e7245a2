//! Classic control: five small problems of physics, step for step as in Gymnasium 1.4.
//!
//! Which numbers are single and which double precision, and in what order they are added, follows Gymnasium under
//! NumPy 2. On one machine, with one C library for both, observations and rewards are equal bit for bit; only the
//! first observation of an Acrobot episode, where NumPy takes single-precision sines, may differ by one unit in the
//! last place.

pub mod acrobot;
pub mod cartpole;
mod hill;
pub mod mountain_car;
pub mod mountain_car_continuous;
pub mod pendulum;

pub use acrobot::Acrobot;
pub use cartpole::CartPole;
pub use mountain_car::MountainCar;
pub use mountain_car_continuous::MountainCarContinuous;
pub use pendulum::Pendulum;

use std::hint::black_box;

use crate::TaskSpec;

/// The entries of the registry.
pub(crate) fn tasks() -> Vec<TaskSpec> {
    vec![
        acrobot::task(),
        cartpole::task(),
        mountain_car::task(),
        mountain_car_continuous::task(),
        pendulum::task(),
    ]
}

/// x^2 by the C library's `pow`, which is what Python's `x**2` calls.
///
/// Once in a thousand times it differs from x * x in the last bit, which a chaotic task amplifies. The exponent is
/// hidden from the compiler, which would turn the call into a product.
fn square(x: f64) -> f64 {
    x.powf(black_box(2.0))
}

/// The same in single precision.
fn square_f32(x: f32) -> f32 {
    x.powf(black_box(2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_pythons_where_a_product_is_not() {
        let x = -1.0111464072794583;
        assert_eq!(square(x), 1.022417056954156);
        assert_ne!(square(x), x * x);
        let x = -0.16654673f32;
        assert_eq!(square_f32(x), 0.027737813);
        assert_ne!(square_f32(x), x * x);
    }
}
