//! An environment of a simulation whose inner state cannot be copied: it is saved as what led to it.
//!
//! Box2D keeps contacts, warm-starting impulses and a tree of boxes that no interface shows. But it is deterministic:
//! the generator's state before the episode and the actions since lead to the same state again, bit for bit.

use crate::env::{decode_state, encode_state};
use crate::space::wrong_size;
use crate::{Env, EnvError, Scene, Space, Step};
use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

/// One episode of a simulated task. A step is `drive`, `simulate`, `judge`, in this order: apart, so that what the
/// engine itself costs can be measured.
///
/// ```
/// use epgt_envs::box2d::{LunarLander, Simulation};
/// let mut rng = epgt_rng::Pcg64::from_seed(0);
/// let mut observation = [0.0; 8];
/// let mut lander = LunarLander::<true>::begin(&Default::default(), &mut rng, &mut observation);
/// lander.drive(&[1.0, 0.0], &mut rng)?;
/// lander.simulate();
/// assert!(!lander.judge(&mut observation).terminated);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub trait Simulation: Send + Sized {
    /// What can be chosen about the world.
    type Conditions: Clone + Default + Send;

    /// Builds the world of a new episode and writes its first observation.
    fn begin(conditions: &Self::Conditions, rng: &mut Pcg64, observation: &mut [f32]) -> Self;

    /// Applies an action; one that is refused changes nothing.
    fn drive(&mut self, action: &[f32], rng: &mut Pcg64) -> Result<(), EnvError>;

    /// Lets the engine do one step, and cast the rays that are observed.
    fn simulate(&mut self);

    /// What the step led to; writes the observation.
    fn judge(&mut self, observation: &mut [f32]) -> Step;

    /// What is seen now.
    fn scene(&self) -> Scene;
}

/// What led to the present state.
#[derive(PartialEq, Serialize, Deserialize)]
struct History {
    /// The generator before the episode began; `None` before the first one.
    start: Option<Pcg64>,
    /// The rows of the episode's actions so far.
    actions: Vec<f32>,
    /// The generator now.
    rng: Pcg64,
}

/// The environment of a simulation.
///
/// ```
/// let mut env = epgt_envs::make("BipedalWalker-v3")?;
/// let mut observation = [0.0; 24];
/// env.reset(Some(1), &mut observation)?;
/// env.step(&[0.5, -0.5, 0.0, 1.0], &mut observation)?;
/// let saved = env.save();
/// let next = env.step(&[1.0; 4], &mut observation)?;
/// env.restore(&saved)?;
/// assert_eq!(env.step(&[1.0; 4], &mut observation)?, next);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct Replayed<S: Simulation> {
    conditions: S::Conditions,
    observation_space: Space,
    action_space: Space,
    history: History,
    simulation: Option<S>,
}

impl<S: Simulation> Replayed<S> {
    /// An environment with these spaces, whose first episode has not begun.
    pub(crate) fn new(conditions: S::Conditions, observation_space: Space, action_space: Space) -> Self {
        Replayed {
            conditions,
            observation_space,
            action_space,
            history: History {
                start: None,
                actions: Vec::new(),
                rng: Pcg64::from_seed(0),
            },
            simulation: None,
        }
    }

    fn begin(&mut self, observation: &mut [f32]) {
        self.history.start = Some(self.history.rng.clone());
        self.history.actions.clear();
        self.simulation = Some(S::begin(&self.conditions, &mut self.history.rng, observation));
    }

    /// An environment that has done all that was saved; `None` when that does not lead to the saved generator.
    fn play_again(&self, saved: &History) -> Option<Self> {
        let mut copy = Self::new(
            self.conditions.clone(),
            self.observation_space.clone(),
            self.action_space.clone(),
        );
        match &saved.start {
            Some(start) => {
                let mut observation = vec![0.0; self.observation_space.size()];
                let actions = saved.actions.chunks_exact(self.action_space.size());
                copy.history.rng = start.clone();
                copy.begin(&mut observation);
                for action in actions {
                    copy.step(action, &mut observation).ok()?;
                }
            }
            None => copy.history.rng = saved.rng.clone(),
        }
        (copy.history == *saved).then_some(copy)
    }
}

impl<S: Simulation> Env for Replayed<S> {
    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        if let Some(seed) = seed {
            self.history.rng = Pcg64::from_seed(seed);
        }
        self.begin(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let simulation = self
            .simulation
            .as_mut()
            .expect("an episode is begun before it is stepped");
        let size = self.action_space.size();
        if action.len() != size {
            return Err(wrong_size(action.len(), size));
        }
        simulation.drive(action, &mut self.history.rng)?;
        self.history.actions.extend_from_slice(action);
        simulation.simulate();
        Ok(simulation.judge(observation))
    }

    fn scene(&self) -> Option<Scene> {
        self.simulation.as_ref().map(S::scene)
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&self.history)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        let saved: History = decode_state(state)?;
        *self = self.play_again(&saved).ok_or_else(|| {
            EnvError::InvalidState(
                "the saved episode cannot be played again; resume with the task and version it was saved from".into(),
            )
        })?;
        Ok(())
    }
}
