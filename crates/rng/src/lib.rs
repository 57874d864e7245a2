//! Seeded, serialisable randomness, equal to NumPy's default generator.
//!
//! Every random number of a run comes from a [`Pcg64`]. It draws the same numbers as
//! `numpy.random.default_rng(seed)`, bit for bit, so that a task reset with a seed starts where Gymnasium's
//! does, and so that what a run drew can be checked from Python. A generator is a plain value: it can be
//! cloned, compared and saved with a checkpoint, and goes on exactly where it was.
//!
//! ```
//! use epgt_rng::Pcg64;
//! let mut rng = Pcg64::from_seed(42);
//! // >>> numpy.random.default_rng(42).random()
//! assert_eq!(rng.next_f64(), 0.7739560485559633);
//! ```

mod pcg64;
mod seed;
mod ziggurat;

pub use pcg64::Pcg64;
