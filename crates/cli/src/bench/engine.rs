//! What the physics engines alone cost on a trajectory that an environment has walked: the floor for any environment on
//! them.

use epgt_envs::box2d::{BipedalWalker, LunarLander, Simulation};
use epgt_envs::mujoco::MujocoEnv;
use epgt_envs::{Env, EnvError, TaskSpec};
use epgt_rng::Pcg64;
use epgt_train::usage::thread_cpu_seconds;

use super::simulators::{Pass, SEED};

/// The random actions of a pass, and after which of them an episode ended.
pub struct Trajectory {
    pub actions: Vec<f32>,
    pub ends: Vec<bool>,
}

impl Trajectory {
    fn steps(&self) -> impl Iterator<Item = (&[f32], bool)> {
        let width = self.actions.len() / self.ends.len();
        self.actions.chunks_exact(width).zip(self.ends.iter().copied())
    }
}

/// The engine's calls of these steps without anything around them; `None` for a task without an engine.
pub fn pass(task: &TaskSpec, trajectory: &Trajectory) -> Result<Option<Pass>, EnvError> {
    Ok(Some(match &*task.id {
        "BipedalWalker-v3" => box2d::<BipedalWalker<false>>(task, trajectory)?,
        "BipedalWalkerHardcore-v3" => box2d::<BipedalWalker<true>>(task, trajectory)?,
        "LunarLander-v3" => box2d::<LunarLander<false>>(task, trajectory)?,
        "LunarLanderContinuous-v3" | "LunarLanderContinuous-v2" => box2d::<LunarLander<true>>(task, trajectory)?,
        id => match MujocoEnv::open(id) {
            Ok(env) => mujoco(env, trajectory)?,
            Err(EnvError::UnknownTask(_)) => return Ok(None),
            Err(error) => return Err(error),
        },
    }))
}

fn box2d<S: Simulation>(task: &TaskSpec, trajectory: &Trajectory) -> Result<Pass, EnvError> {
    let mut observation = vec![0.0; task.observation.len()];
    let mut rng = Pcg64::from_seed(SEED);
    let mut begin = |rng: &mut Pcg64| S::begin(&S::Conditions::default(), rng, &mut observation);
    let mut simulation = begin(&mut rng);
    let mut pass = Pass::default();
    let begun = thread_cpu_seconds();
    for (action, ended) in trajectory.steps() {
        simulation.drive(action, &mut rng)?;
        simulation.simulate();
        if ended {
            pass.time_reset(|| simulation = begin(&mut rng));
        }
    }
    Ok(pass.finish(trajectory.ends.len(), begun))
}

fn mujoco(mut env: MujocoEnv, trajectory: &Trajectory) -> Result<Pass, EnvError> {
    let mut observation = vec![0.0; env.observation_space().size()];
    env.reset(Some(SEED), &mut observation)?;
    let mut pass = Pass::default();
    let begun = thread_cpu_seconds();
    for (action, ended) in trajectory.steps() {
        env.simulate(action);
        if ended {
            pass.time_reset(|| env.reset(None, &mut observation))?;
        }
    }
    Ok(pass.finish(trajectory.ends.len(), begun))
}
