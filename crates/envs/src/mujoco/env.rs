//! What all MuJoCo tasks share: a simulation, how an episode begins, and how a step goes.
//!
//! A task is a [`Definition`]: a model and four small functions. A step sets the controls, moves the simulation on by a
//! few of its own steps, and lets the definition write the observation and judge what happened.

use super::library::{Array, Data, Model};
use super::locate::{Installation, installation};
use super::model_file::{check_model, model_path, no_body};
use super::picture::{self, View};
use super::terms::Terms;
use crate::env::{decode_state, encode_state};
use crate::space::{not_a_number, wrong_size};
use crate::{Env, EnvError, Options, Picture, Space, Step, TaskSpec};
use epgt_rng::Pcg64;

/// A task, besides what its model says.
pub(super) struct Definition {
    pub id: &'static str,
    /// The file of its model.
    pub model: &'static str,
    /// Numbers of a position, degrees of freedom, controls and bodies that its model has.
    pub sizes: [usize; 4],
    /// Whether a user's model may have more or less of them.
    pub extensible: bool,
    /// Marked places that are read.
    pub sites: usize,
    /// The numbers that can be changed, and the names of the options that do.
    pub terms: Terms,
    pub options: &'static [&'static str],
    /// Whether external forces are read, which a step of the simulation leaves out.
    pub forces: fn(&Terms) -> bool,
    /// The bodies that the functions below ask for by their place in this list.
    pub bodies: &'static [&'static str],
    pub reset: Reset,
    /// A number that is compared before and after a step, such as how far the body has come.
    pub measure: fn(&State<'_>) -> f64,
    /// Appends the numbers of the observation.
    pub observe: fn(&State<'_>, &mut Vec<f64>),
    /// The reward, and whether the episode is over.
    pub judge: fn(&Moment<'_>) -> (f64, bool),
    pub view: View,
}

impl Definition {
    /// The task, of which nothing else is told yet; its copies run on the MuJoCo of this machine.
    pub fn task(&'static self) -> TaskSpec {
        TaskSpec::of(self.id, self.terms.declare(self.model, self.options), move |options| {
            Ok(Box::new(MujocoEnv::build(self, options, &installation()?)?))
        })
    }

    /// A task that is described like another one.
    pub fn version_of(&'static self, other: &TaskSpec) -> TaskSpec {
        let TaskSpec { id, options, build, .. } = self.task();
        TaskSpec {
            id,
            options,
            build,
            ..other.clone()
        }
    }
}

/// How an episode begins: from the model's start and rest, with noise on positions and then on velocities.
pub(super) enum Reset {
    /// Both uniform within the scale.
    Uniform,
    /// Positions uniform within the scale, velocities normal with it as deviation.
    Normal,
    /// Changes position and velocity by itself.
    Own(fn(&mut [f64], &mut [f64], &mut Pcg64)),
}

/// The simulation, as a definition sees it.
pub(super) struct State<'a> {
    pub data: &'a Data,
    pub terms: &'a Terms,
    bodies: &'a [usize],
}

impl State<'_> {
    /// Where the body with this place in the definition's list is.
    pub fn body(&self, place: usize) -> [f64; 3] {
        self.data.body(self.bodies[place])
    }

    pub fn get(&self, array: Array) -> &[f64] {
        self.data.get(array)
    }

    /// The positions that are observed: without the first `ground` of them, where the options say so.
    pub fn positions(&self, ground: usize) -> &[f64] {
        let first = if self.terms.exclude_positions { ground } else { 0 };
        &self.get(Array::Qpos)[first..]
    }
}

/// What is judged: the simulation after a step, and how it got there.
pub(super) struct Moment<'a> {
    pub state: State<'a>,
    pub action: &'a [f32],
    /// The measure before and after the step.
    pub before: f64,
    pub after: f64,
    /// Seconds that the step took in the simulation.
    pub seconds: f64,
}

impl Moment<'_> {
    /// How fast the measure changed.
    pub fn speed(&self) -> f64 {
        (self.after - self.before) / self.seconds
    }

    pub fn get(&self, array: Array) -> &[f64] {
        self.state.get(array)
    }

    pub fn terms(&self) -> &Terms {
        self.state.terms
    }

    /// The bonus for a healthy state, and whether the episode is over, as version 5 has them.
    pub fn health(&self, healthy: bool) -> (f64, bool) {
        let terms = self.state.terms;
        let bonus = if healthy { terms.healthy } else { 0.0 };
        (bonus, !healthy && terms.terminate)
    }

    /// The same as version 4 has them: where an unhealthy state ends the episode, its last step is paid too.
    pub fn health_v4(&self, healthy: bool) -> (f64, bool) {
        let (_, over) = self.health(healthy);
        (self.health(healthy || over).0, over)
    }
}

/// One copy of a MuJoCo task.
///
/// ```
/// use epgt_envs::{Env, mujoco::MujocoEnv};
/// if let Ok(mut env) = MujocoEnv::open("HalfCheetah-v5") {
///     let mut observation = [0.0; 17];
///     env.reset(Some(0), &mut observation)?;
///     env.step(&[1.0; 6], &mut observation)?;
///     assert_eq!(env.observation()[0] as f32, observation[0]);
/// }
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct MujocoEnv {
    definition: &'static Definition,
    terms: Terms,
    /// Whether external forces are computed after a step.
    forces: bool,
    observation_space: Space,
    action_space: Space,
    data: Data,
    bodies: Vec<usize>,
    rng: Pcg64,
    /// The measure after the last step. It may come from numbers that a step leaves one simulation step behind the
    /// state, so it belongs to what is saved.
    measured: f64,
    observation: Vec<f64>,
}

impl MujocoEnv {
    /// One copy of the task with this id, on the MuJoCo of this machine.
    pub fn open(id: &str) -> Result<Self, EnvError> {
        super::definition(id)?;
        Self::open_task(&crate::find(id)?)
    }

    /// One copy of a task with its options.
    pub fn open_task(task: &TaskSpec) -> Result<Self, EnvError> {
        Self::open_with(task, &installation()?)
    }

    /// The same on a certain installation.
    pub fn open_with(task: &TaskSpec, installation: &Installation) -> Result<Self, EnvError> {
        Self::build(super::definition(&task.id)?, &task.options, installation)
    }

    pub(super) fn build(
        definition: &'static Definition,
        options: &Options,
        installation: &Installation,
    ) -> Result<Self, EnvError> {
        let file = options.text("xml_file").unwrap_or(definition.model);
        let model = Model::load(&installation.library, &model_path(file, &installation.models))?;
        check_model(definition, file, &model)?;
        let named = |name: &&str| model.body(name).ok_or_else(|| no_body(file, name, definition.id));
        let mut bodies = definition.bodies.iter().map(named).collect::<Result<Vec<_>, _>>()?;
        if let Some(main) = options.text("main_body") {
            let number = main.parse().ok().filter(|&number: &usize| number < model.sizes().nbody);
            let found = number.or_else(|| model.body(main));
            bodies.push(found.ok_or_else(|| no_body(file, main, definition.id))?);
        }
        let terms = definition.terms.with(options);
        let mut env = MujocoEnv {
            definition,
            forces: (definition.forces)(&terms),
            terms,
            observation_space: Space::Discrete(0),
            action_space: Space::Box {
                low: model.controls().iter().map(|range| range[0] as f32).collect(),
                high: model.controls().iter().map(|range| range[1] as f32).collect(),
            },
            bodies,
            data: Data::new(&model)?,
            rng: Pcg64::from_seed(0),
            measured: 0.0,
            observation: Vec::new(),
        };
        // How much is observed depends on options and model; none of it has bounds.
        let mut row = Vec::new();
        (definition.observe)(&env.state(), &mut row);
        env.observation_space = Space::Box {
            low: vec![f32::NEG_INFINITY; row.len()],
            high: vec![f32::INFINITY; row.len()],
        };
        env.observation = row;
        Ok(env)
    }

    /// The last observation in double precision, as Gymnasium returns it.
    pub fn observation(&self) -> &[f64] {
        &self.observation
    }

    /// The simulation.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The engine's part of a step, and nothing else: so that what it costs can be measured.
    pub fn simulate(&mut self, action: &[f32]) {
        let controls = self.data.get_mut(Array::Ctrl);
        controls
            .iter_mut()
            .zip(action)
            .for_each(|(control, &x)| *control = x.into());
        self.data.step(self.terms.frame_skip);
        if self.forces {
            self.data.compute_forces();
        }
    }

    /// Seconds that a step takes in the simulation.
    fn seconds(&self) -> f64 {
        self.data.model().timestep() * self.terms.frame_skip as f64
    }

    fn state(&self) -> State<'_> {
        State {
            data: &self.data,
            terms: &self.terms,
            bodies: &self.bodies,
        }
    }

    /// Fills in the observation, here and in the row of single precision.
    fn observe(&mut self, row: &mut [f32]) {
        let state = State {
            data: &self.data,
            terms: &self.terms,
            bodies: &self.bodies,
        };
        self.observation.clear();
        (self.definition.observe)(&state, &mut self.observation);
        assert_eq!(
            row.len(),
            self.observation.len(),
            "a row has one number per entry of the space"
        );
        row.iter_mut()
            .zip(&self.observation)
            .for_each(|(out, &x)| *out = x as f32);
    }
}

impl Env for MujocoEnv {
    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        if let Some(seed) = seed {
            self.rng = Pcg64::from_seed(seed);
        }
        self.data.reset();
        let (rng, scale) = (&mut self.rng, self.terms.noise);
        let mut qpos = self.data.get(Array::Qpos).to_vec();
        let mut qvel = vec![0.0; self.data.get(Array::Qvel).len()];
        match self.definition.reset {
            Reset::Uniform => {
                qpos.iter_mut().for_each(|x| *x += rng.uniform(-scale, scale));
                qvel.iter_mut().for_each(|x| *x += rng.uniform(-scale, scale));
            }
            Reset::Normal => {
                qpos.iter_mut().for_each(|x| *x += rng.uniform(-scale, scale));
                qvel.iter_mut().for_each(|x| *x += scale * rng.standard_normal());
            }
            Reset::Own(reset) => reset(&mut qpos, &mut qvel, rng),
        }
        self.data.get_mut(Array::Qpos).copy_from_slice(&qpos);
        self.data.get_mut(Array::Qvel).copy_from_slice(&qvel);
        self.data.forward();
        self.measured = (self.definition.measure)(&self.state());
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let controls = self.data.get(Array::Ctrl).len();
        if action.len() != controls {
            return Err(wrong_size(action.len(), controls));
        }
        if let Some(entry) = action.iter().position(|x| x.is_nan()) {
            return Err(not_a_number(entry));
        }
        self.simulate(action);
        let after = (self.definition.measure)(&self.state());
        let (reward, terminated) = (self.definition.judge)(&Moment {
            state: self.state(),
            action,
            before: self.measured,
            after,
            seconds: self.seconds(),
        });
        self.measured = after;
        self.observe(observation);
        Ok(Step {
            reward,
            terminated,
            truncated: false,
        })
    }

    fn picture(&mut self) -> Result<Option<Picture>, EnvError> {
        Ok(Some(Picture::Solid(picture::draw(&self.data, &self.definition.view))))
    }

    fn steps_per_second(&self) -> f64 {
        (1.0 / self.seconds()).round()
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(&self.rng, self.measured, self.data.save()))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        let (rng, measured, simulation): (Pcg64, f64, Vec<f64>) = decode_state(state)?;
        if !self.data.restore(&simulation) {
            return Err(EnvError::InvalidState(
                "the saved state does not belong to this task; resume with the task it was saved from".into(),
            ));
        }
        (self.rng, self.measured) = (rng, measured);
        Ok(())
    }
}
