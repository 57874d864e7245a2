//! Pictures of numbers: own small charts, drawn once and written as SVG or PNG.
//!
//! A [`Plot`] says what is shown; [`Plot::draw`] turns it into a [`Drawing`], a list of lines, areas, dots and words;
//! [`svg`] and [`png`] write that down. Colours are names ([`Paint`]) until then, so that the same picture has a light
//! and a dark face.
//!
//! ```
//! use epgt_report::chart::{Plot, Series, svg};
//! let mut plot = Plot::new("Return", "environment steps", "return");
//! plot.series.push(Series::line("ppo", 0, vec![[0.0, 1.0], [100.0, 3.0]]));
//! let picture = svg::standalone(&plot.draw());
//! assert!(picture.starts_with("<svg") && picture.contains("environment steps"));
//! ```

mod drawing;
mod font;
mod plot;
pub mod png;
mod rows;
mod scale;
mod scatter;
pub mod svg;

pub use drawing::{Anchor, Drawing, Mark, Paint, dash, fitting, fitting_apart, ramp, text_width};
pub use plot::{Kind, Plot, Series};
pub use rows::{Row, rows};
pub use scale::{Scale, number};
pub use scatter::scatter;
