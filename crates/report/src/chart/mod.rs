//! Pictures of numbers: own small charts, drawn once and written as SVG, PDF or PNG.
//!
//! A [`Plot`], [`Rows`] or a [`Scatter`] says what is shown; a [`Figure`] has one or several of them as panels, which
//! become a [`Drawing`] each: a list of lines, areas, dots and words. [`svg`], [`pdf`] and [`png`] write that down.
//! Colours are names ([`Paint`]) until then, so that the same picture has a light and a dark face ([`palette`]).
//!
//! ```
//! use epgt_report::chart::{Figure, Plot, Series, Sheet, svg};
//! let curve = Series::line("ppo", 0, vec![[0.0, 1.0], [100.0, 3.0]]);
//! let figure = Figure::curves("Return", Plot::new("", "environment steps", "return"), vec![curve]);
//! let picture = svg::standalone(&figure.on_sheet(Sheet::SCREEN), false);
//! assert!(picture.starts_with("<svg") && picture.contains("environment steps"));
//! ```

mod drawing;
mod face;
mod figure;
pub mod palette;
pub mod pdf;
mod plot;
pub mod png;
mod rows;
mod scale;
mod scatter;
pub mod svg;

pub use drawing::{Anchor, Drawing, Mark, Paint, broken};
pub use face::width;
pub use figure::{Figure, Look, Panel, Sheet};
pub use palette::{dash, ramp};
pub use plot::{Kind, Plot, Series};
pub use rows::{Row, Rows};
pub use scale::{Scale, number};
pub use scatter::Scatter;
