//! The interface of an environment: spaces, reset, step, and an exact copy of its state.

use crate::{EnvError, Picture, Scene, Space};
use serde::{Serialize, de::DeserializeOwned};

/// What one step returned, besides the observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The reward of the step.
    pub reward: f64,
    /// The task ended: the value of what follows is 0.
    pub terminated: bool,
    /// The episode was cut, usually by a time limit: what would have followed still has value.
    pub truncated: bool,
}

/// One copy of a task, with Gymnasium's meaning of `reset` and `step`.
///
/// The crate's documentation shows a whole [environment of one's own](crate#an-environment-of-your-own).
///
/// ```
/// use epgt_envs::{Env, classic::Pendulum};
/// let mut env = Pendulum::new();
/// let mut observation = [0.0; 3];
/// env.reset(Some(0), &mut observation)?;
/// let saved = env.save();
/// let first = env.step(&[1.5], &mut observation)?;
/// env.restore(&saved)?;
/// assert_eq!(env.step(&[1.5], &mut observation)?, first);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub trait Env: Send {
    /// What observations look like.
    fn observation_space(&self) -> &Space;

    /// What actions look like.
    fn action_space(&self) -> &Space;

    /// Begins an episode and writes its first observation.
    ///
    /// With a seed the environment's generator starts afresh; without one it goes on. An environment that has never
    /// been given a seed behaves as if it had been given 0, so that nothing depends on chance. All that is random comes
    /// from one generator that the environment owns, best [`epgt_rng::Pcg64`], which is NumPy's and can be saved.
    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError>;

    /// Acts once and writes the next observation. The episode must have begun and not ended.
    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError>;

    /// Writes the present observation as bytes, where observations are images ([`Space::Image`]); other tasks need no
    /// such function.
    ///
    /// [`reset`](Env::reset) and [`step`](Env::step) of such a task write its pixels as numbers from 0 to 255, or
    /// nothing where they are given an empty row: then this function is asked instead, and no pixel ever becomes a
    /// number.
    fn image(&self, _pixels: &mut [u8]) {}

    /// What the environment looks like now, in flat shapes; `None` where it has no such picture.
    fn scene(&self) -> Option<Scene> {
        None
    }

    /// Is called before the first reset of an environment that will be asked for its [`picture`](Env::picture), and of
    /// no other: one that has to prepare something for that does it when it is reset.
    fn film(&mut self) {}

    /// What the environment looks like now; `None` where it shows nothing. One that draws flat shapes only implements
    /// [`scene`](Env::scene) instead.
    fn picture(&mut self) -> Result<Option<Picture>, EnvError> {
        Ok(self.scene().map(Picture::Flat))
    }

    /// How many steps a second of watching shows: Gymnasium's `render_fps` of the task.
    fn steps_per_second(&self) -> f64 {
        50.0
    }

    /// Everything that decides what happens next, generator included.
    fn save(&self) -> Vec<u8>;

    /// Takes back what [`Env::save`] gave; from there on both go the same way.
    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError>;
}

/// The bytes of a state, for [`Env::save`]: any plain data that serde can write, such as a tuple of numbers and a
/// generator.
///
/// ```
/// use epgt_envs::{decode_state, encode_state};
/// let bytes = encode_state(&(epgt_rng::Pcg64::from_seed(3), [0.5, -0.5]));
/// let (mut rng, position): (epgt_rng::Pcg64, [f64; 2]) = decode_state(&bytes)?;
/// assert_eq!(position, [0.5, -0.5]);
/// assert_eq!(rng.next_u64(), epgt_rng::Pcg64::from_seed(3).next_u64());
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
///
/// # Panics
/// If the state's own serialisation fails, or it holds a sequence whose length is not known beforehand.
pub fn encode_state<T: Serialize>(state: &T) -> Vec<u8> {
    postcard::to_stdvec(state).expect("plain numbers can always be written")
}

/// The state of these bytes, for [`Env::restore`]; they must hold nothing else, and are not trusted otherwise.
pub fn decode_state<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, EnvError> {
    match postcard::take_from_bytes(bytes) {
        Ok((state, [])) => Ok(state),
        _ => Err(EnvError::InvalidState(
            "the saved state does not belong to this task; resume with the task it was saved from".into(),
        )),
    }
}
