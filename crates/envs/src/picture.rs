//! What an environment shows, in whichever of the forms it has it.

use crate::{Color, Scene};

/// What an environment looks like now: something to be drawn, or pixels that somebody has drawn already.
///
/// ```
/// use epgt_envs::{Picture, make};
/// let mut env = make("CartPole-v1")?;
/// env.reset(Some(0), &mut [0.0; 4])?;
/// assert!(matches!(env.picture()?, Some(Picture::Flat(_))));
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// Flat shapes.
    Flat(Scene),
    /// A picture that the environment has drawn by itself.
    Pixels {
        /// Pixels in a row.
        width: usize,
        /// Rows from top to bottom.
        pixels: Vec<Color>,
    },
}
