//! What the measurements say, as a table with footnotes or as JSON.

use epgt_report::text_table::TextTable;
use epgt_train::Config;
use epgt_train::usage::cpu_model;
use serde::Serialize;

use super::Cost;
use super::peer::{self, Peer};
use super::split::{self, Split};

/// The fastest measurement of one variant at one number of environments.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    variant: &'static str,
    n_envs: usize,
    steps: u64,
    cpu_seconds: f64,
    steps_per_cpu_second: f64,
    /// Speed as a multiple of the simulator's at the same number of environments; likewise the next two.
    of_simulator: Option<f64>,
    of_fixed: Option<f64>,
    of_peer: Option<f64>,
    peak_memory_mb: f64,
    first_update_ms: Option<f64>,
    /// What of it the hyper-agent takes, where it is timed.
    hyper: Option<Split>,
}

impl Row {
    /// A row of one measurement.
    pub fn new(variant: &'static str, n_envs: usize, cost: Cost, first_update_ms: Option<f64>) -> Self {
        // A clock that did not move is taken for one that moved by its smallest unit.
        let cpu_seconds = cost.cpu_seconds.max(1e-6);
        Self {
            variant,
            n_envs,
            steps: cost.steps,
            cpu_seconds,
            steps_per_cpu_second: cost.steps as f64 / cpu_seconds,
            of_simulator: None,
            of_fixed: None,
            of_peer: None,
            peak_memory_mb: cost.peak_memory_mb,
            first_update_ms,
            hyper: cost.split,
        }
    }

    /// The faster of two measurements of the same, with the shorter of the times to the first update.
    pub fn fastest(self, other: Self) -> Self {
        let first_update_ms = self
            .first_update_ms
            .zip(other.first_update_ms)
            .map(|(one, another)| one.min(another));
        let faster = match self.steps_per_cpu_second >= other.steps_per_cpu_second {
            true => self,
            false => other,
        };
        Self {
            first_update_ms,
            ..faster
        }
    }
}

/// All rows, and what one must know to read them.
#[derive(Serialize)]
pub struct Report {
    version: &'static str,
    task: String,
    algo: String,
    n_steps: usize,
    steps: u64,
    peer_steps: Option<u64>,
    peer_versions: Option<String>,
    repeat: usize,
    cpu: String,
    cores: usize,
    rows: Vec<Row>,
}

impl Report {
    /// Sets the rows in relation to each other.
    pub fn new(mut rows: Vec<Row>, config: &Config, peer: Option<&Peer>, repeat: usize) -> Self {
        let speeds: Vec<_> = rows
            .iter()
            .map(|row| (row.variant, row.n_envs, row.steps_per_cpu_second))
            .collect();
        for row in &mut rows {
            let of = |variant: &str| {
                let reference = speeds.iter().find(|speed| speed.0 == variant && speed.1 == row.n_envs);
                reference.map(|speed| row.steps_per_cpu_second / speed.2)
            };
            (row.of_simulator, row.of_fixed, row.of_peer) = (of("simulator"), of("fixed"), of(peer::NAME));
        }
        Self {
            version: env!("CARGO_PKG_VERSION"),
            task: config.run.task.clone(),
            algo: config.run.algo.name().to_string(),
            n_steps: config.method.n_steps(),
            steps: config.run.steps,
            peer_steps: peer.map(|peer| peer.steps),
            peer_versions: peer.map(|peer| peer.versions.clone()),
            repeat,
            cpu: cpu_model(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            rows,
        }
    }

    /// One JSON object.
    pub fn json(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|error| error.to_string())
    }

    /// The table and its footnotes.
    pub fn text(&self) -> String {
        let with_peer = self.peer_steps.is_some();
        let mut header = vec!["variant", "N", "steps/CPU-s", "x raw", "x fixed"];
        if with_peer {
            header.push("x peer");
        }
        header.extend(["peak MB", "first update ms"]);
        let mut table = TextTable::new(&header);
        for row in &self.rows {
            let mut fields = vec![row.variant.to_string(), row.n_envs.to_string()];
            fields.push(format!("{:.0}", row.steps_per_cpu_second));
            fields.extend([times(row.of_simulator), times(row.of_fixed)]);
            if with_peer {
                fields.push(times(row.of_peer));
            }
            fields.push(format!("{:.1}", row.peak_memory_mb));
            fields.push(row.first_update_ms.map_or("-".to_string(), |ms| format!("{ms:.1}")));
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            table.row(&fields);
        }
        let (task, algo, t) = (&self.task, &self.algo, self.n_steps);
        let mut text = format!("{task}, {algo}, T = {t}\n\n{}\n", table.plain());
        let splits = self.rows.iter();
        let splits = splits.filter_map(|row| row.hyper.as_ref().map(|split| (row.variant, row.n_envs, split)));
        let splits = split::table(splits);
        if !splits.is_empty() {
            text.push_str(&format!("{splits}\n"));
        }
        for note in self.notes() {
            text.push_str(&format!("- {note}\n"));
        }
        text
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            format!("Machine: {} x {}; epgt {}.", self.cores, self.cpu, self.version),
            format!(
                "Each measurement: {} steps in a process of its own, without evaluation; the fastest of {}.",
                self.steps, self.repeat
            ),
            "Training: CPU time (user and system) of the whole process, with start-up and the checkpoint at the end.".to_string(),
            "simulator: random actions drawn beforehand; stepping alone, without start-up.".to_string(),
            "fixed by rate: with constant learning rates; what it makes more than 'fixed' is the cost of measuring steps by \
             divergence."
                .to_string(),
            "Hyper-agent: its share of the training loop by the wall clock, as CPU time per policy update; schedulers without a \
             context are not timed."
                .to_string(),
            "First update: wall clock from start to end of a process that makes one rollout and one update, checkpoint \
             included; so at most that."
                .to_string(),
        ];
        if let (Some(steps), Some(versions)) = (self.peer_steps, &self.peer_versions) {
            notes.push(format!(
                "{}: {versions}; {steps} steps with the settings of 'fixed', one thread. In its favour, CPU time is of \
                 model.learn alone, without imports, set-up and the first update.",
                peer::NAME
            ));
        }
        notes
    }
}

/// A ratio with three digits that count, or as many as it has before the point.
pub fn times(ratio: Option<f64>) -> String {
    let Some(ratio) = ratio else { return "-".to_string() };
    let decimals = (2.0 - ratio.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{ratio:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_train::Assignment;

    fn row(variant: &'static str, cpu_seconds: f64, first_update_ms: Option<f64>) -> Row {
        let cost = Cost {
            steps: 1000,
            cpu_seconds,
            peak_memory_mb: 5.0,
            wall_seconds: 0.0,
            hyper_seconds: None,
            split: None,
        };
        Row::new(variant, 1, cost, first_update_ms)
    }

    #[test]
    fn of_repeated_measurements_the_fastest_is_kept() {
        let fastest = row("fixed", 0.5, Some(3.0)).fastest(row("fixed", 0.25, Some(4.0)));
        assert_eq!(
            (fastest.steps_per_cpu_second, fastest.first_update_ms),
            (4000.0, Some(3.0))
        );
    }

    #[test]
    fn speeds_are_set_in_relation_to_the_rows_of_the_same_number_of_environments() {
        let config = Config::build(&[Assignment::new("task", "CartPole-v1")]).unwrap();
        let mut elsewhere = row("fixed", 0.001, None);
        elsewhere.n_envs = 16;
        let rows = vec![
            row("simulator", 0.1, None),
            elsewhere,
            row("fixed", 0.2, Some(2.0)),
            row("epgt", 0.4, None),
        ];
        let report = Report::new(rows, &config, None, 1);
        assert_eq!(
            (report.rows[3].of_simulator, report.rows[3].of_fixed),
            (Some(0.25), Some(0.5))
        );
        assert_eq!((report.rows[1].of_simulator, report.rows[3].of_peer), (None, None));
        let text = report.text();
        assert!(text.contains("epgt        1         2500  0.250    0.500"), "{text}");
        assert!(!text.contains("peer"));
    }
}
