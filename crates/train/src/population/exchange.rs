//! Who copies whom, and with which values it goes on: the decisions of `pbt` and `pb2`, apart from anything that
//! trains.
//!
//! At every exchange the members are ranked by score. The worst quarter, at least one, each copy a random one of the
//! best as many and go on with other values: `pbt` (Jaderberg et al., 2017) multiplies each value by 0.8 or 1.2 or
//! draws it anew, `pb2` asks a Gaussian process ([`pb2`](super::pb2)).

use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use super::pb2::{self, Observation};
use super::range::Range;
use super::settings::{PopulationKind, PopulationSettings};
use crate::SetupError;

/// What an exchange does to a member.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// Whose state it takes over; `None` where it goes on as it was.
    pub copied_from: Option<usize>,
    /// The values that were in force.
    pub before: Vec<f64>,
    /// The values that are from now on.
    pub after: Vec<f64>,
}

/// The members' values and what is known about them.
///
/// ```
/// use epgt_train::population::{Exchange, PopulationKind, PopulationSettings, Range};
/// let range = Range { values: vec![0.1, 0.2, 0.4], logarithmic: true, whole: false };
/// let mut exchange = Exchange::new(PopulationKind::Pbt, PopulationSettings::default(), vec![range], 0);
/// let moves = exchange.step(50_000.0, &[Some(1.0), Some(4.0), None, Some(3.0)]);
/// assert_eq!(moves[2].copied_from, Some(1));
/// assert_eq!(exchange.values(2), moves[2].after);
/// ```
#[derive(Clone, Debug)]
pub struct Exchange {
    is_bandit: bool,
    settings: PopulationSettings,
    ranges: Vec<Range>,
    state: ExchangeState,
}

/// What a checkpoint must hold of an exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeState {
    /// Draws whom to copy.
    parents: Pcg64,
    /// Draws values.
    draws: Pcg64,
    values: Vec<Vec<f64>>,
    /// Time and scores of the last exchange.
    time: f64,
    scores: Vec<Option<f64>>,
    observations: Vec<Observation>,
}

impl Exchange {
    /// A population whose first values are drawn from the grids. `kind` is `pbt` or `pb2`.
    pub fn new(kind: PopulationKind, settings: PopulationSettings, ranges: Vec<Range>, seed: u64) -> Self {
        let mut draws = Pcg64::for_purpose(seed, "population values", 0);
        let values = (0..settings.size)
            .map(|_| ranges.iter().map(|range| range.draw(&mut draws)).collect())
            .collect();
        Self {
            is_bandit: kind == PopulationKind::Pb2,
            state: ExchangeState {
                parents: Pcg64::for_purpose(seed, "population parents", 0),
                draws,
                values,
                time: 0.0,
                scores: vec![None; settings.size],
                observations: Vec::new(),
            },
            settings,
            ranges,
        }
    }

    /// The values of a member.
    pub fn values(&self, member: usize) -> &[f64] {
        &self.state.values[member]
    }

    /// One exchange at a time, given every member's score, the higher the better; `None` is the worst. Returns what
    /// becomes of each member.
    ///
    /// # Panics
    /// If there is not one score for every member.
    pub fn step(&mut self, time: f64, scores: &[Option<f64>]) -> Vec<Move> {
        assert_eq!(scores.len(), self.state.values.len(), "one score for every member");
        self.observe(scores);
        self.state.time = time;
        self.state.scores.clear();
        self.state.scores.extend(scores);

        let ranked = ranked(scores);
        let count = ((scores.len() as f64 * self.settings.quantile) as usize).max(1);
        let best: Vec<usize> = ranked[..count]
            .iter()
            .copied()
            .filter(|&i| scores[i].is_some())
            .collect();
        let worst = &ranked[ranked.len() - count..];
        let stay = |values: &Vec<f64>| Move {
            copied_from: None,
            before: values.clone(),
            after: values.clone(),
        };
        let mut moves: Vec<Move> = self.state.values.iter().map(stay).collect();
        if best.is_empty() {
            return moves;
        }
        let mut pending: Vec<Vec<f64>> = (0..scores.len())
            .filter(|member| !worst.contains(member))
            .map(|member| self.state.values[member].clone())
            .collect();
        for &member in worst {
            let parent = best[self.state.parents.below(best.len() as u64) as usize];
            let after = match self.is_bandit {
                false => self.perturbed(parent),
                true => self.proposed(scores[parent].unwrap_or(0.0), &pending),
            };
            pending.push(after.clone());
            moves[member].copied_from = Some(parent);
            moves[member].after = after;
            self.state.scores[member] = scores[parent];
        }
        for (values, made) in self.state.values.iter_mut().zip(&moves) {
            values.clone_from(&made.after);
        }
        moves
    }

    /// What a checkpoint must hold.
    pub fn state(&self) -> &ExchangeState {
        &self.state
    }

    /// Goes on from a checkpoint of a population with the same settings.
    pub fn restore(&mut self, state: ExchangeState) -> Result<(), SetupError> {
        if state.values.len() != self.state.values.len() || state.values[0].len() != self.ranges.len() {
            return Err(SetupError::OtherPopulation);
        }
        self.state = state;
        Ok(())
    }

    /// Keeps by how much each score has changed since the last exchange.
    fn observe(&mut self, scores: &[Option<f64>]) {
        if !self.is_bandit {
            return;
        }
        let state = &mut self.state;
        for ((values, before), now) in state.values.iter().zip(&state.scores).zip(scores) {
            if let (&Some(before), &Some(now)) = (before, now) {
                state.observations.push(Observation {
                    time: state.time,
                    score: before,
                    values: values.clone(),
                    change: now - before,
                });
            }
        }
        let excess = state.observations.len().saturating_sub(pb2::WINDOW);
        state.observations.drain(..excess);
    }

    /// The values of a member, each multiplied or drawn anew.
    fn perturbed(&mut self, parent: usize) -> Vec<f64> {
        let (settings, rng) = (&self.settings, &mut self.state.draws);
        let values = self.ranges.iter().zip(&self.state.values[parent]);
        values
            .map(|(range, &value)| {
                if rng.next_f64() < settings.resample {
                    return range.draw(rng);
                }
                let factor = match rng.below(2) {
                    0 => settings.perturb_down,
                    _ => settings.perturb_up,
                };
                range.valid(value * factor)
            })
            .collect()
    }

    /// The values that the Gaussian process proposes; drawn from the whole range while it has seen nothing.
    fn proposed(&mut self, score: f64, pending: &[Vec<f64>]) -> Vec<f64> {
        let state = &mut self.state;
        let proposal = match state.observations.is_empty() {
            true => None,
            false => pb2::propose(&state.observations, &self.ranges, (state.time, score), pending),
        };
        let rng = &mut state.draws;
        let anywhere = |range: &Range| range.from_unit(rng.next_f64());
        proposal.unwrap_or_else(|| self.ranges.iter().map(anywhere).collect())
    }
}

/// The members from best to worst; of equals the first stands first, and those without a score last.
pub(super) fn ranked(scores: &[Option<f64>]) -> Vec<usize> {
    let mut members: Vec<usize> = (0..scores.len()).collect();
    let height = |member: usize| scores[member].unwrap_or(f64::NEG_INFINITY);
    members.sort_by(|&a, &b| height(b).total_cmp(&height(a)));
    members
}
