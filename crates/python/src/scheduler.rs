//! The hyper-agent for anybody's training loop.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use epgt_envs::{decode_state, encode_state};
use epgt_experiments::parallel::lock;
use epgt_hyper::{
    Axis, Decision, Grid, HyperAgent, HyperError, HyperSettings, HyperSpace, Moment, Plan, Reading, SavedAgent,
    Scheduler, TensorShape, schedulers,
};
use epgt_nn::{Projections, RemoteState, TanhLayer};
use epgt_train::UnknownName;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Class, OrRaised, Raised, guarded};

/// Decisions that are kept for whoever wants to look at them.
const MOST_DECISIONS: usize = 10_000;

/// Chooses hyperparameters. Its Python side is `python/epgt/_scheduler.py`.
#[pyclass(module = "epgt._epgt", frozen)]
pub struct NativeScheduler(Mutex<Scheduling>);

struct Scheduling {
    scheduler: Arc<dyn Scheduler>,
    settings: HyperSettings,
    space: HyperSpace,
    plan: Plan,
    seed: u64,
    /// Updates that values were chosen for.
    updates: u64,
    /// There once the shapes of the tensors are known.
    at_work: Option<AtWork>,
    decisions: VecDeque<Decision>,
}

struct AtWork {
    agent: HyperAgent,
    /// Name, rows and columns of each tensor.
    shapes: Vec<(String, usize, usize)>,
    /// Numbers of all tensors together.
    size: usize,
    /// There where Python computes the hyper-state, because the tensors are on another processor.
    elsewhere: Option<Elsewhere>,
}

/// The hyper-state of tensors that are on another processor: Python projects them there (`python/epgt/_projection.py`)
/// and gives what comes out.
#[derive(Debug, Default)]
struct Elsewhere {
    tensors: Vec<(usize, usize)>,
    sources: usize,
    dim: usize,
    matrices: Vec<f32>,
    /// The encoder's layers: weight and bias.
    layers: Vec<(Vec<f32>, Vec<f32>)>,
    older: Vec<Vec<f32>>,
    features: Vec<f32>,
    norms: (f32, f32),
    /// Whether the last gradient is to become the first of the older ones.
    ages: Cell<bool>,
}

impl RemoteState for Elsewhere {
    fn set(&mut self, projections: Projections<'_>, encoder: &[TanhLayer<'_>], older: &[Vec<f32>]) {
        self.tensors = projections.tensors.to_vec();
        (self.sources, self.dim) = (projections.sources, projections.dim);
        self.matrices = projections.matrices.to_vec();
        let copy = |layer: &TanhLayer<'_>| (layer.weight.to_vec(), layer.bias.to_vec());
        self.layers = encoder.iter().map(copy).collect();
        self.older = older.to_vec();
        let rows: usize = self.tensors.iter().map(|(rows, _)| rows).sum();
        self.features = vec![0.0; rows * self.dim * self.sources];
    }

    fn project(&self, features: &mut [f32]) {
        features.copy_from_slice(&self.features);
    }

    fn encode(&self, features: &[f32], out: &mut [f32]) {
        let mut values = features.to_vec();
        for (weight, bias) in &self.layers {
            let rows = weight.chunks_exact(values.len()).zip(bias);
            values = rows
                .map(|(row, bias)| (epgt_nn::kernel::dot(row, &values) + bias).tanh())
                .collect();
        }
        out.copy_from_slice(&values[..out.len()]);
    }

    fn age(&self) {
        self.ages.set(true);
    }

    fn norms(&self) -> (f32, f32) {
        self.norms
    }

    fn read_older(&self, number: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.older[number]);
    }
}

/// Rows and columns of every tensor, sources, numbers that a row becomes, all matrices, and the older gradients.
type Described<'py> = (
    Vec<(usize, usize)>,
    usize,
    usize,
    Bound<'py, PyArray1<f32>>,
    Vec<Bound<'py, PyArray1<f32>>>,
);

/// What a state dictionary holds.
type Saved<'a> = (u64, Vec<(String, usize, usize)>, SavedAgent<'a>);

impl Raised for HyperError {
    fn raised(self) -> PyErr {
        Class::Config.says(self)
    }
}

#[pymethods]
impl NativeScheduler {
    /// Schedules hyperparameters, each with its name, its value at the start and its grid as text.
    #[new]
    fn new(
        tune: Vec<(String, f64, String)>,
        method: String,
        seed: u64,
        updates: u64,
        settings: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let known = schedulers();
        let names: Vec<&str> = known.iter().map(|scheduler| scheduler.about().name).collect();
        let found = known.iter().find(|scheduler| scheduler.about().name == method);
        let scheduler = found.ok_or_else(|| {
            let unknown = UnknownName::choice(&method, &names, &[]);
            Class::Config.says(format!("method = {method} cannot be used: {unknown}"))
        })?;
        let mut chosen = HyperSettings::default();
        for (key, value) in &settings {
            let assigned = epgt_settings::Settings::assign(&mut chosen, key, value);
            assigned.map_err(|error| Class::Config.says(error))?;
        }
        chosen.validate().or_raised()?;
        let axis = |(name, start, grid): &(String, f64, String)| {
            let grid = Grid::parse(grid).map_err(HyperError::from)?;
            Axis::new(name, *start, &grid, false)
        };
        let axes = tune.iter().map(axis).collect::<Result<Vec<_>, _>>().or_raised()?;
        let space = HyperSpace::new(axes, chosen.max_actions).or_raised()?;
        scheduler.check(&space).or_raised()?;
        Ok(Self(Mutex::new(Scheduling {
            scheduler: scheduler.clone(),
            settings: chosen,
            space,
            plan: Plan::of_updates(updates),
            seed,
            updates: 0,
            at_work: None,
            decisions: VecDeque::new(),
        })))
    }

    /// Begins for tensors of these names, rows and columns.
    fn begin(&self, shapes: Vec<(String, usize, usize)>) -> PyResult<()> {
        let mut scheduling = lock(&self.0);
        scheduling.at_work = Some(scheduling.work_on(shapes).or_raised()?);
        Ok(())
    }

    /// Whether weights and gradients are looked at for the next choice; where not, they need not be given.
    fn looks(&self) -> bool {
        lock(&self.0).at_work.as_ref().is_none_or(|work| work.agent.looks())
    }

    /// The same of weights alone.
    fn looks_at_weights(&self) -> bool {
        let scheduling = lock(&self.0);
        scheduling
            .at_work
            .as_ref()
            .is_none_or(|work| work.agent.looks_at_weights())
    }

    /// How to compute the hyper-state where the tensors are, for [`choose_projected`](Self::choose_projected); `None`
    /// where weights and gradients themselves are wanted.
    fn projections<'py>(&self, py: Python<'py>) -> Option<Described<'py>> {
        let mut scheduling = lock(&self.0);
        let work = scheduling
            .at_work
            .as_mut()
            .filter(|work| work.agent.reads_remote_state())?;
        let mut elsewhere = Elsewhere::default();
        work.agent.send(&mut elsewhere);
        if elsewhere.tensors.is_empty() {
            return None;
        }
        let older = elsewhere.older.iter().map(|older| PyArray1::from_slice(py, older));
        let described = (
            elsewhere.tensors.clone(),
            elsewhere.sources,
            elsewhere.dim,
            PyArray1::from_slice(py, &elsewhere.matrices),
            older.collect(),
        );
        work.elsewhere = Some(elsewhere);
        Some(described)
    }

    /// The values of the next update, of a hyper-state that was computed where the tensors are, with the norms of weights
    /// and gradients; `None` where the choice looks at nothing. Also returns whether the last gradients become the first
    /// of the older ones.
    fn choose_projected(
        &self,
        py: Python<'_>,
        features: Option<PyReadonlyArray1<'_, f32>>,
        norms: (f32, f32),
        progress: f64,
    ) -> PyResult<(Vec<f64>, bool)> {
        let features = features.as_ref().map(|array| array.as_slice()).transpose()?;
        guarded(py, || {
            let mut scheduling = lock(&self.0);
            let update = scheduling.updates;
            let not_begun = || Class::Input.says("the scheduler has not begun to compute elsewhere");
            let work = scheduling.at_work.as_mut().ok_or_else(not_begun)?;
            let elsewhere = work.elsewhere.as_mut().ok_or_else(not_begun)?;
            if let Some(features) = features {
                refuse_unusable("features", features, elsewhere.features.len())?;
                elsewhere.features.copy_from_slice(features);
            }
            elsewhere.norms = norms;
            elsewhere.ages.set(false);
            let moment = Moment {
                update,
                progress,
                weights: &[],
                gradients: &[],
            };
            let values = work.agent.choose_remote(&moment, elsewhere).to_vec();
            let ages = elsewhere.ages.get();
            scheduling.updates += 1;
            Ok((values, ages))
        })?
    }

    /// Takes the older gradients from where the tensors are, before a state is saved.
    fn keep_older(&self, older: Vec<PyReadonlyArray1<'_, f32>>) -> PyResult<()> {
        let mut scheduling = lock(&self.0);
        let Some(work) = scheduling.at_work.as_mut() else {
            return Ok(());
        };
        if let Some(elsewhere) = work.elsewhere.as_mut() {
            if older.len() != elsewhere.older.len() {
                return Err(Class::Input.says("other older gradients are given than there are"));
            }
            for (into, from) in elsewhere.older.iter_mut().zip(&older) {
                refuse_unusable("gradients", from.as_slice()?, into.len())?;
                into.copy_from_slice(from.as_slice()?);
            }
            work.agent.fetch(elsewhere);
        }
        Ok(())
    }

    /// The values of the next update, in the order in which they are scheduled.
    fn choose(
        &self,
        py: Python<'_>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        gradients: Option<PyReadonlyArray1<'_, f32>>,
        progress: f64,
    ) -> PyResult<Vec<f64>> {
        let weights = weights.as_ref().map_or(Ok(&[][..]), |array| array.as_slice())?;
        let gradients = gradients.as_ref().map_or(Ok(&[][..]), |array| array.as_slice())?;
        guarded(py, || {
            let mut scheduling = lock(&self.0);
            let update = scheduling.updates;
            let work = scheduling
                .at_work
                .as_mut()
                .ok_or_else(|| Class::Input.says("the scheduler has not begun"))?;
            if work.agent.looks_at_weights() {
                refuse_unusable("weights", weights, work.size)?;
            }
            if work.agent.looks() {
                refuse_unusable("gradients", gradients, work.size)?;
            }
            let moment = Moment {
                update,
                progress,
                weights,
                gradients,
            };
            let values = work.agent.choose(&moment).to_vec();
            if let Some(problem) = work.agent.not_finite() {
                return Err(Class::Training.says(problem));
            }
            scheduling.updates += 1;
            Ok(values)
        })?
    }

    /// How good what was chosen has turned out, the more the better.
    fn reward(&self, py: Python<'_>, outcome: f32) -> PyResult<()> {
        guarded(py, || {
            let mut scheduling = lock(&self.0);
            let Scheduling { at_work, decisions, .. } = &mut *scheduling;
            if let Some(work) = at_work {
                work.agent.reward(outcome);
                decisions.extend(work.agent.take_decisions());
                let most = decisions.len().saturating_sub(MOST_DECISIONS);
                decisions.drain(..most);
            }
        })
    }

    /// The decisions whose outcome is known, the latest last, as columns.
    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let scheduling = lock(&self.0);
        let decisions = &scheduling.decisions;
        let columns = PyDict::new(py);
        let numbers = |of: &dyn Fn(&Decision) -> f64| -> Vec<f64> { decisions.iter().map(of).collect() };
        columns.set_item("update", numbers(&|decision| decision.update as f64))?;
        columns.set_item("epsilon", numbers(&|decision| decision.epsilon.into()))?;
        for (i, axis) in scheduling.space.axes().iter().enumerate() {
            columns.set_item(&axis.name, numbers(&|decision| decision.values[i]))?;
        }
        columns.set_item("outcome", numbers(&|decision| decision.outcome.into()))?;
        columns.set_item("hyper_return", numbers(&|decision| decision.hyper_return.into()))?;
        let choices: Vec<&str> = decisions.iter().map(|decision| decision.choice.name()).collect();
        columns.set_item("choice", choices)?;
        Ok(columns)
    }

    /// Everything that decides what is chosen next; empty before the first choice.
    fn save(&self) -> Vec<u8> {
        let scheduling = lock(&self.0);
        scheduling.at_work.as_ref().map_or_else(Vec::new, |work| {
            encode_state(&(scheduling.updates, &work.shapes, work.agent.save()))
        })
    }

    /// Takes back what [`save`](Self::save) gave, for a scheduler that was made alike.
    fn restore(&self, py: Python<'_>, state: Vec<u8>) -> PyResult<()> {
        let alien = || Class::Input.says("the state is not one of a scheduler that was made like this one");
        guarded(py, || {
            let mut scheduling = lock(&self.0);
            let (mut updates, mut at_work) = (0, None);
            if !state.is_empty() {
                let (saved, shapes, agent): Saved<'static> = decode_state(&state).map_err(|_| alien())?;
                let mut work = scheduling.work_on(shapes).or_raised()?;
                work.agent.restore(agent, Reading::First).map_err(|_| alien())?;
                (updates, at_work) = (saved, Some(work));
            }
            scheduling.decisions.clear();
            scheduling.updates = updates;
            scheduling.at_work = at_work;
            Ok(())
        })?
    }
}

impl Scheduling {
    /// A fresh hyper-agent for tensors of these shapes.
    fn work_on(&self, shapes: Vec<(String, usize, usize)>) -> Result<AtWork, HyperError> {
        let tensors = TensorShape::in_a_row(shapes.iter().map(|(name, rows, cols)| (name.as_str(), *rows, *cols)));
        let agent = HyperAgent::new(
            &*self.scheduler,
            self.settings.clone(),
            self.space.clone(),
            &tensors,
            self.plan,
            self.seed,
        )?;
        let size = shapes.iter().map(|(_, rows, cols)| rows * cols).sum();
        Ok(AtWork {
            agent,
            shapes,
            size,
            elsewhere: None,
        })
    }
}

/// Refuses numbers that are not those of the tensors that the scheduler began with, or are not finite.
fn refuse_unusable(name: &str, numbers: &[f32], wanted: usize) -> PyResult<()> {
    if numbers.len() != wanted {
        let given = numbers.len();
        let sentence =
            format!("{given} {name} are given, but the first choice was for {wanted}; make another scheduler");
        return Err(Class::Input.says(sentence));
    }
    // In blocks without a way out, which vectorise: it is asked of every weight there is.
    let all_finite = |block: &[f32]| block.iter().fold(true, |so_far, x| so_far & x.is_finite());
    if numbers.chunks(1024).all(all_finite) {
        return Ok(());
    }
    match numbers.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(place) => Err(Class::Input.says(format!(
            "number {place} of the {name} is {}, but finite numbers are wanted",
            numbers[place]
        ))),
    }
}
