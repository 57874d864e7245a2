//! What of a run's time the hyper-agent takes, part by part.

use epgt_report::text_table::TextTable;
use epgt_train::HyperSeconds;
use serde::Serialize;

/// The hyper-agent's CPU time per policy update in microseconds, and its share of the run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Split {
    updates: u64,
    total_us: f64,
    projecting_us: f64,
    encoding_us: f64,
    reading_us: f64,
    writing_us: f64,
    training_us: f64,
    /// Of the training loop's time.
    share: f64,
}

impl Split {
    /// From wall-clock seconds of the parts and of the training loop, and the loop's CPU seconds. The parts were timed
    /// by the wall clock, which also counts the machine's other work; as a share of the loop's wall clock they are
    /// scaled to its CPU time.
    pub fn new(seconds: &HyperSeconds, wall_seconds: f64, cpu_seconds: f64) -> Option<Self> {
        if seconds.updates == 0 || wall_seconds <= 0.0 {
            return None;
        }
        let us = |part: f64| part / wall_seconds * cpu_seconds * 1e6 / seconds.updates as f64;
        Some(Self {
            updates: seconds.updates,
            total_us: us(seconds.total()),
            projecting_us: us(seconds.projecting),
            encoding_us: us(seconds.encoding),
            reading_us: us(seconds.reading),
            writing_us: us(seconds.writing),
            training_us: us(seconds.training),
            share: seconds.total() / wall_seconds,
        })
    }
}

/// A table with a line per variant and number of environments; empty if there is nothing to tell.
pub fn table<'a>(splits: impl Iterator<Item = (&'a str, usize, &'a Split)>) -> String {
    let header = [
        "hyper-agent",
        "N",
        "us/update",
        "projecting",
        "encoding",
        "reading",
        "writing",
        "training",
        "% of run",
    ];
    let mut table = TextTable::new(&header);
    let mut lines = 0;
    for (variant, n_envs, split) in splits {
        let mut fields = vec![variant.to_string(), n_envs.to_string()];
        let parts = [
            split.total_us,
            split.projecting_us,
            split.encoding_us,
            split.reading_us,
            split.writing_us,
            split.training_us,
        ];
        fields.extend(parts.map(|us| format!("{us:.2}")));
        fields.push(format!("{:.1}", 100.0 * split.share));
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        table.row(&fields);
        lines += 1;
    }
    match lines {
        0 => String::new(),
        _ => table.plain(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds() -> HyperSeconds {
        HyperSeconds {
            projecting: 0.25,
            encoding: 0.5,
            reading: 0.0,
            writing: 0.25,
            training: 1.0,
            updates: 1000,
        }
    }

    #[test]
    fn half_of_the_wall_clock_is_half_of_the_cpu_time() {
        let split = Split::new(&seconds(), 4.0, 1.0).unwrap();
        assert_eq!((split.share, split.total_us, split.training_us), (0.5, 500.0, 250.0));
        let text = table([("epgt", 16, &split)].into_iter());
        let line = text.lines().last().unwrap();
        let fields: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            fields,
            [
                "epgt", "16", "500.00", "62.50", "125.00", "0.00", "62.50", "250.00", "50.0"
            ]
        );
    }

    #[test]
    fn without_updates_there_is_nothing_to_tell() {
        let none = HyperSeconds::default();
        assert!(Split::new(&none, 4.0, 1.0).is_none());
        assert_eq!(table([].into_iter()), "");
    }
}
