//! What many runs say together.
//!
//! [`statistics`] condenses the scores of several seeds into the numbers that a claim rests on (the paper's mean,
//! median and Cohen's d, and beside them the interquartile mean and bootstrap intervals); [`aggregate`] does so over
//! several tasks; [`curve`] over training. [`signal`] says how much returns tell of the choices before them, by the
//! [`f_distribution`]. [`text_table`] lays numbers out for a terminal, a spreadsheet or a page,
//! [`numbers`] writes them as people do, [`text`] escapes words for each of them, [`chart`] draws, [`tsne`] maps what
//! has too many dimensions to be drawn, and [`page`] puts all of it into one file with one [`style`].
//!
//! ```
//! use epgt_report::statistics::{RESAMPLES, bootstrap_interval, mean};
//! use epgt_report::text_table::TextTable;
//! let scores = [282.0, 271.5, 290.0];
//! let interval = bootstrap_interval(&scores, RESAMPLES, 0);
//! let mut table = TextTable::new(&["task", "mean", "95% interval"]);
//! table.row(&["BipedalWalker-v3", &format!("{:.1}", mean(&scores)), &format!("{interval:.1}")]);
//! assert_eq!(table.plain(), "\
//! task               mean    95% interval
//! ----------------  -----  --------------
//! BipedalWalker-v3  281.2  [271.5, 290.0]
//! ");
//! ```

pub mod aggregate;
pub mod chart;
pub mod curve;
pub mod f_distribution;
pub mod numbers;
pub mod page;
pub mod signal;
pub mod statistics;
pub mod style;
pub mod text;
pub mod text_table;
pub mod tsne;
