//! One run that is followed: what is seen of it at a glance, and all of its curves while somebody looks at it.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use epgt_report::chart::dash;
use epgt_report::chart::palette::SERIES;
use epgt_settings::{one_line, shortened};
use epgt_train::record::{Live, Part, STEPS, State, Tail};
use serde_json::{Map, Value, json};

use crate::series::{Cursor, Series};

/// Points of a curve in the overview, and in the detail, are at most twice these.
const GLANCE_BUCKETS: usize = 64;
const DETAIL_BUCKETS: usize = 500;

/// Bytes of a table that are read before others have their turn.
const PIECE: u64 = 1 << 24;

/// Seconds of training over which the rate is taken.
const RATE_OVER: f64 = 20.0;

/// Characters of a sentence about a file, which may quote anything.
const LONGEST: usize = 400;

/// Choices over which a trend is taken, about.
const TREND: f64 = 50.0;

/// Pairs of update and steps by which decisions find their place.
const CLOCK: usize = 4096;

/// A run.
pub struct Followed {
    /// By which the page knows it; no other run ever has the same.
    pub id: u32,
    /// Its name among those that are followed.
    pub name: String,
    /// Which of the followed directories it lies below.
    pub origin: usize,
    /// When it last changed, in the watcher's count.
    pub version: u64,
    /// The method's number and name, and the task's name, as reports have them.
    pub method: (usize, String, String),
    /// There while somebody looks at the run.
    pub detail: Option<Detail>,
    pub live: Live,
    /// Why something of it cannot be read.
    problem: Option<String>,
    metrics: Tail,
    columns: Columns,
    /// Steps and seconds of the last row, and of rows before it.
    now: (f64, f64),
    earlier: [(f64, f64); 2],
    score: Series,
    evaluated: Series,
    best: Option<f64>,
}

/// Where the columns of the overview are in a row.
#[derive(Default)]
struct Columns {
    steps: Option<usize>,
    seconds: Option<usize>,
    score: Option<usize>,
    evaluated: Option<usize>,
    best: Option<usize>,
}

/// What a look at a run found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Something is new.
    pub changed: bool,
    /// Its settings, its result or its state are.
    pub head: bool,
    /// There is more to read.
    pub more: bool,
}

impl Followed {
    /// A run of which nothing is known yet.
    pub fn new(id: u32, directory: &Path, name: String, origin: usize) -> Self {
        let live = Live::new(directory);
        Self {
            id,
            name,
            origin,
            version: 0,
            method: (0, String::new(), String::new()),
            detail: None,
            metrics: live.metrics(),
            live,
            problem: None,
            columns: Columns::default(),
            now: (0.0, 0.0),
            earlier: [(0.0, 0.0); 2],
            score: Series::new(GLANCE_BUCKETS),
            evaluated: Series::new(GLANCE_BUCKETS),
            best: None,
        }
    }

    /// Reads what has come; `detailed` where somebody looks at it.
    pub fn look(&mut self, detailed: bool) -> Found {
        let mut found = Found::default();
        let mut problem = None;
        match self.live.look() {
            Ok(changed) => found.head = changed,
            Err(error) => {
                found.head = true;
                problem = Some(error.to_string());
            }
        }
        // A run that has just begun has no table yet.
        match self.read_metrics() {
            Ok((changed, more)) => (found.changed, found.more) = (changed, more),
            Err(sentence) if problem.is_none() && self.live.state() != State::Training => problem = Some(sentence),
            Err(_) => {}
        }
        let problem = problem.map(|sentence| shortened(&one_line(&sentence), LONGEST));
        // What could not be read is said until it can be.
        if found.head || problem.is_some() {
            found.changed |= found.head || problem != self.problem;
            self.problem = problem;
        }
        if !detailed {
            self.detail = None;
        } else {
            let detail = self.detail.get_or_insert_with(|| Detail::new(&self.live));
            let (changed, more) = detail.read();
            found.changed |= changed;
            found.more |= more;
        }
        found
    }

    fn read_metrics(&mut self) -> Result<(bool, bool), String> {
        let Self {
            metrics,
            columns,
            now,
            earlier,
            score,
            evaluated,
            best,
            ..
        } = self;
        let mut changed = false;
        let mut take = |part: Part<'_>| {
            changed = true;
            match part {
                Part::Header(names) => {
                    *columns = Columns::of(&names);
                    (*now, *earlier, *best) = ((0.0, 0.0), [(0.0, 0.0); 2], None);
                    score.clear();
                    evaluated.clear();
                }
                Part::Row(fields) => {
                    let number = |place: Option<usize>| number(fields, place);
                    let (Some(steps), seconds) = (number(columns.steps), number(columns.seconds)) else {
                        return;
                    };
                    *now = (steps, seconds.unwrap_or(now.1));
                    if now.1 - earlier[1].1 > RATE_OVER {
                        *earlier = [earlier[1], *now];
                    }
                    number(columns.score).inspect(|&value| score.push(steps, value));
                    number(columns.evaluated).inspect(|&value| evaluated.push(steps, value));
                    *best = number(columns.best).or(*best);
                }
            }
        };
        let more = metrics.read(PIECE, &mut take).map_err(|error| error.to_string())?;
        Ok((changed, more))
    }

    /// Steps per second, lately.
    fn rate(&self) -> Option<f64> {
        let before = self.earlier[0];
        let (steps, seconds) = (self.now.0 - before.0, self.now.1 - before.1);
        (seconds > 0.0 && steps > 0.0).then(|| steps / seconds)
    }

    /// What the overview shows of it.
    pub fn glance(&self, cursors: &mut [Cursor; 2]) -> Value {
        let state = self.live.state();
        let record = self.live.record();
        let result = record.and_then(|record| record.result.as_ref());
        let steps = result.map_or(self.now.0, |result| result.steps as f64);
        let total = self.live.steps_asked();
        let rate = self.rate();
        let left = match (state, total, rate) {
            (State::Training, Some(total), Some(rate)) => Some((total - steps).max(0.0) / rate),
            _ => None,
        };
        let text = |value: Option<&String>| value.map(|text| shortened(&one_line(text), LONGEST));
        let failure = record.and_then(|record| record.failure.as_ref());
        json!({
            "id": self.id,
            "name": self.name,
            "task": self.method.2,
            "method": self.method.0,
            "colour": self.method.0 % SERIES.len(),
            "dash": dash(self.method.0),
            "label": self.method.1,
            "algo": text(record.map(|record| &record.algo)),
            "scheduler": text(record.map(|record| &record.scheduler)),
            "seed": text(record.map(|record| &record.seed)),
            "state": match state {
                State::Training => "training",
                State::Finished => "finished",
                State::Failed => "failed",
                State::Stopped => "stopped",
            },
            "steps": steps,
            "total": total,
            "seconds": result.map_or(self.now.1, |result| result.wall_seconds),
            "rate": rate,
            "left": left,
            "score": self.score.last(),
            "best": result.map_or(self.best, |result| result.best_evaluation),
            "problem": self.problem.clone().or_else(|| text(failure)),
            "curve": self.score.since(&mut cursors[0]),
            "evaluated": self.evaluated.since(&mut cursors[1]),
        })
    }

    /// What is told of it besides when it is looked at in detail.
    pub fn about(&self) -> Value {
        let record = self.live.record();
        let written = self.live.policy().map(|(_, written)| written);
        let since_1970 = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        json!({
            "id": self.id,
            "directory": self.live.directory().display().to_string(),
            "config": record.map(|record| record.config_text.as_str()),
            "fixed": record.and_then(|record| record.known_scheduler()).is_some_and(|scheduler| scheduler.is_fixed()),
            "policy": written.map(since_1970),
        })
    }
}

impl Columns {
    fn of(names: &[String]) -> Self {
        let place = |wanted: &str| names.iter().position(|name| name == wanted);
        Self {
            steps: place(STEPS),
            seconds: place("time/time_elapsed"),
            score: place("rollout/ep_rew_mean"),
            evaluated: place("eval/mean_reward"),
            best: place("eval/best_mean_reward"),
        }
    }
}

/// A number of a row; `None` where the field is empty or says none.
fn number(fields: &[&str], place: Option<usize>) -> Option<f64> {
    fields
        .get(place?)?
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// All curves of a run.
pub struct Detail {
    /// Rises where the run begins anew.
    pub epoch: u64,
    metrics: Tail,
    decisions: Tail,
    /// By the names of the columns of `metrics.csv`.
    curves: Vec<(String, Series)>,
    /// What was chosen, over environment steps.
    chosen: Vec<Chosen>,
    update_place: Option<usize>,
    columns: (Option<usize>, Option<usize>),
    clock: Clock,
    /// Decisions whose place is not known yet: the update and the values.
    pending: VecDeque<(f64, Vec<f64>)>,
}

impl Detail {
    fn new(live: &Live) -> Self {
        Self {
            epoch: 0,
            metrics: live.metrics(),
            decisions: live.decisions(),
            curves: Vec::new(),
            chosen: Vec::new(),
            update_place: None,
            columns: (None, None),
            clock: Clock::default(),
            pending: VecDeque::new(),
        }
    }

    /// Reads what has come; whether something has, and whether there is more. What cannot be read is said elsewhere.
    fn read(&mut self) -> (bool, bool) {
        // A run writes its metrics first: of decisions that are there, the metrics are there too.
        let (decided, more_decisions) = match self.pending.is_empty() {
            true => self.read_decisions(),
            false => (false, true),
        };
        let (measured, more_metrics) = self.read_metrics();
        while let Some((update, _)) = self.pending.front() {
            let known = self.clock.steps(*update);
            let Some(steps) = known.or_else(|| self.clock.end().filter(|_| !more_metrics)) else {
                break;
            };
            if let Some((_, values)) = self.pending.pop_front() {
                let chosen = self.chosen.iter_mut().zip(values);
                chosen.for_each(|(chosen, value)| chosen.push(steps, value));
            }
        }
        (decided || measured, more_decisions || more_metrics)
    }

    fn read_metrics(&mut self) -> (bool, bool) {
        let Self {
            epoch,
            metrics,
            curves,
            columns,
            clock,
            ..
        } = self;
        let mut changed = false;
        let mut take = |part: Part<'_>| {
            changed = true;
            match part {
                Part::Header(names) => {
                    *epoch += 1;
                    let place = |wanted: &str| names.iter().position(|name| name == wanted);
                    *columns = (place(STEPS), place("train/n_updates"));
                    *clock = Clock::default();
                    *curves = names
                        .into_iter()
                        .map(|name| (name, Series::new(DETAIL_BUCKETS)))
                        .collect();
                }
                Part::Row(fields) => {
                    let Some(steps) = number(fields, columns.0) else { return };
                    number(fields, columns.1).inspect(|&update| clock.push(update, steps));
                    for (place, (_, series)) in curves.iter_mut().enumerate() {
                        number(fields, Some(place)).inspect(|&value| series.push(steps, value));
                    }
                }
            }
        };
        let more = metrics.read(PIECE, &mut take).unwrap_or(false);
        (changed, more)
    }

    fn read_decisions(&mut self) -> (bool, bool) {
        let Self {
            epoch,
            decisions,
            chosen,
            update_place,
            pending,
            ..
        } = self;
        let mut changed = false;
        let mut take = |part: Part<'_>| {
            changed = true;
            match part {
                Part::Header(names) => {
                    *epoch += 1;
                    let place = |wanted: &str| names.iter().position(|name| name == wanted);
                    *update_place = place("update");
                    let first = place("choice").map_or(names.len(), |place| place + 1);
                    let places = first..place("q").unwrap_or(first).max(first);
                    *chosen = places.map(|place| Chosen::new(&names[place], place)).collect();
                    pending.clear();
                }
                Part::Row(fields) => {
                    let value = |chosen: &Chosen| number(fields, Some(chosen.place)).unwrap_or(f64::NAN);
                    if let Some(update) = number(fields, *update_place) {
                        pending.push_back((update, chosen.iter().map(value).collect()));
                    }
                }
            }
        };
        let more = decisions.read(PIECE, &mut take).unwrap_or(false);
        (changed, more)
    }

    /// What a reader lacks, by the names of the curves; `cursors` are those of the same epoch.
    pub fn since(&self, cursors: &mut Vec<Cursor>) -> Map<String, Value> {
        let chosen = self.chosen.iter().flat_map(|chosen| {
            let Chosen {
                name, values, trend, ..
            } = chosen;
            [(format!("chosen/{name}"), values), (format!("trend/{name}"), trend)]
        });
        let all = self.curves.iter().map(|(name, series)| (name.clone(), series));
        let all: Vec<_> = all.chain(chosen).collect();
        cursors.resize(all.len(), Cursor::default());
        all.into_iter()
            .zip(cursors)
            .filter_map(|((name, series), cursor)| Some((name, series.since(cursor)?)))
            .collect()
    }
}

/// The values of a hyperparameter that were chosen.
struct Chosen {
    name: String,
    /// Its column.
    place: usize,
    values: Series,
    /// The mean of the last ones, which shows where they go although they change all the time.
    trend: Series,
    /// That mean, of logarithms where no value was 0 or less.
    mean: f64,
    log: bool,
    count: f64,
}

impl Chosen {
    fn new(name: &str, place: usize) -> Self {
        Self {
            name: name.to_string(),
            place,
            values: Series::new(DETAIL_BUCKETS),
            trend: Series::new(DETAIL_BUCKETS),
            mean: 0.0,
            log: true,
            count: 0.0,
        }
    }

    fn push(&mut self, steps: f64, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.values.push(steps, value);
        if self.log && value <= 0.0 {
            self.log = false;
            self.mean = if self.count > 0.0 { self.mean.exp() } else { 0.0 };
        }
        let next = if self.log { value.ln() } else { value };
        self.count += 1.0;
        self.mean += (next - self.mean) / self.count.min(TREND);
        self.trend
            .push(steps, if self.log { self.mean.exp() } else { self.mean });
    }
}

/// At how many environment steps an update was made.
#[derive(Default)]
struct Clock {
    pairs: Vec<(f64, f64)>,
    /// Rows for each pair that is kept.
    stride: u64,
    rows: u64,
    last: Option<(f64, f64)>,
}

impl Clock {
    fn push(&mut self, update: f64, steps: f64) {
        self.last = Some((update, steps));
        if self.rows.is_multiple_of(self.stride.max(1)) {
            self.pairs.push((update, steps));
        }
        self.rows += 1;
        if self.pairs.len() > CLOCK {
            let mut place = 0;
            self.pairs.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride = 2 * self.stride.max(1);
        }
    }

    /// The steps of the last row.
    fn end(&self) -> Option<f64> {
        self.last.map(|(_, steps)| steps)
    }

    /// The steps at an update; `None` where the rows do not reach it yet.
    fn steps(&self, update: f64) -> Option<f64> {
        let end = self.last.filter(|last| update <= last.0)?;
        let after = self.pairs.partition_point(|pair| pair.0 < update);
        let before = match after {
            0 => (0.0, 0.0),
            place => self.pairs[place - 1],
        };
        let after = self.pairs.get(after).copied().unwrap_or(end);
        let share = (update - before.0) / (after.0 - before.0).max(1.0);
        Some(before.1 + share.clamp(0.0, 1.0) * (after.1 - before.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_between_the_values_also_where_one_is_zero() {
        let mut chosen = Chosen::new("x", 0);
        (0..1000).for_each(|i| chosen.push(f64::from(i), if i % 2 == 0 { 1e-4 } else { 1e-2 }));
        assert!((chosen.trend.last().unwrap() / 1e-3).ln().abs() < 0.1);
        (0..1000).for_each(|i| chosen.push(1000.0 + f64::from(i), if i % 2 == 0 { 0.0 } else { 1.0 }));
        assert!((chosen.trend.last().unwrap() - 0.5).abs() < 0.02);
    }

    #[test]
    fn an_update_lies_between_the_rows_around_it() {
        let mut clock = Clock::default();
        assert_eq!(clock.steps(3.0), None);
        (1..=50_000).for_each(|row| clock.push(f64::from(row) * 10.0, f64::from(row) * 80.0));
        assert!(clock.pairs.len() <= CLOCK);
        for update in [0.0, 5.0, 10.0, 12_345.0, 499_999.0, 500_000.0] {
            let steps = clock.steps(update).unwrap();
            assert!((steps - 8.0 * update).abs() < 1e-6, "{update}: {steps}");
        }
        assert_eq!(clock.steps(500_001.0), None);
    }
}
