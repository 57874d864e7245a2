//! A figure: one or several panels about one thing, with its title and the key to its methods. On a page the panels flow
//! with the window's width; as a file of its own they are put onto one sheet.

use super::drawing::{Drawing, LINE, Paint, broken};
use super::face::width;
use super::plot::{Plot, Series, swatch};
use super::rows::Rows;
use super::scatter::Scatter;

/// How large something is drawn: all lengths but the width are measured by the size of its words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// From left to right.
    pub width: f64,
    /// The size of words.
    pub em: f64,
}

/// More methods than these get a panel each: their bands would cover each other.
const MOST_IN_ONE: usize = 5;

/// A panel alone, and one of several, on a page.
const ALONE: Look = Look { width: 460.0, em: 12.0 };
const AMONG: Look = Look { width: 300.0, em: 11.5 };

/// The least width of a panel on a sheet, in sizes of its words.
const NARROWEST: f64 = 14.0;

/// One part of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// A chart with two axes.
    Plot(Plot),
    /// A row per method.
    Rows(Rows),
    /// A map.
    Map(Scatter),
}

impl Panel {
    fn lines_above(&self, look: Look) -> usize {
        match self {
            Self::Plot(plot) => plot.lines_above(look),
            Self::Rows(_) => 0,
            Self::Map(map) => map.lines_above(look),
        }
    }

    fn draw_below(&self, look: Look, lines: usize) -> Drawing {
        match self {
            Self::Plot(plot) => plot.draw_below(look, lines),
            Self::Rows(rows) => rows.draw(look),
            Self::Map(map) => map.draw_below(look, lines),
        }
    }
}

/// The names and numbers of the methods of some curves.
fn methods<'a>(series: impl IntoIterator<Item = &'a Series>) -> Vec<(String, usize)> {
    let mut methods: Vec<(String, usize)> = Vec::new();
    for one in series.into_iter().filter(|one| !one.name.is_empty()) {
        let method = (one.name.clone(), one.index);
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    methods
}

/// How large a figure's sheet is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    /// Its width and the size of its words.
    pub look: Look,
    /// Whether the title is on it; in a paper that is the caption's job.
    pub titled: bool,
}

impl Sheet {
    /// One column of a paper of two: 3.3 inches, in points.
    pub const COLUMN: Self = Self {
        look: Look { width: 237.6, em: 7.0 },
        titled: false,
    };
    /// The whole width of a paper's page: 6.8 inches, in points.
    pub const PAGE: Self = Self {
        look: Look { width: 489.6, em: 7.5 },
        titled: false,
    };
    /// For a screen, in pixels.
    pub const SCREEN: Self = Self {
        look: Look { width: 860.0, em: 12.0 },
        titled: true,
    };
    /// The same for a figure of one panel.
    pub const SMALL: Self = Self {
        look: Look { width: 480.0, em: 12.0 },
        titled: true,
    };
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// How to read it; may be empty.
    pub note: String,
    /// Its parts.
    pub panels: Vec<Panel>,
    /// The methods, by name and number, where panels do not name them.
    pub key: Vec<(String, usize)>,
}

impl Figure {
    /// A figure of one panel whose methods are named within it.
    ///
    /// ```
    /// use epgt_report::chart::{Figure, Panel, Rows};
    /// let rows = Rows { label: "return".to_string(), rows: Vec::new() };
    /// assert_eq!(Figure::of("Scores", vec![Panel::Rows(rows)]).panels.len(), 1);
    /// ```
    pub fn of(title: impl Into<String>, panels: Vec<Panel>) -> Self {
        Self {
            title: title.into(),
            note: String::new(),
            panels,
            key: Vec::new(),
        }
    }

    /// Curves of several methods over the same axes: together in one panel where they are few, and else each in its own
    /// panel before all others in grey. `plot` has the labels; what is drawn behind a method's curve goes with it.
    ///
    /// ```
    /// use epgt_report::chart::{Figure, Plot, Series};
    /// let curves = |count| (0..count).map(|i| Series::line(format!("m{i}"), i, vec![[0.0, 0.0], [1.0, i as f64]]));
    /// let figure = |count| Figure::curves("Return", Plot::new("", "steps", "return"), curves(count).collect());
    /// assert_eq!((figure(3).panels.len(), figure(3).key.len()), (1, 3));
    /// assert_eq!((figure(9).panels.len(), figure(9).key.len()), (9, 0));
    /// ```
    pub fn curves(title: impl Into<String>, plot: Plot, series: Vec<Series>) -> Self {
        let methods = methods(&series);
        if methods.len() <= MOST_IN_ONE {
            return Self::overlaid(title, plot, series);
        }
        let panels = methods.iter().map(|(name, index)| {
            let others = series.iter().filter(|one| one.index != *index && !one.name.is_empty());
            let own = series.iter().filter(|one| one.index == *index).cloned();
            Panel::Plot(Plot {
                title: name.clone(),
                about: Some(*index),
                y_label: String::new(),
                series: others.map(Series::behind).chain(own).collect(),
                ..plot.clone()
            })
        });
        let y_label = plot.y_label.clone();
        let mut figure = Self::of(title, panels.collect());
        figure.note = match y_label.is_empty() {
            true => "Grey: the other methods.".to_string(),
            false => format!("{y_label}; grey: the other methods."),
        };
        figure.share_axes();
        figure
    }

    /// Curves of all methods in one panel; where they are many, without their bands.
    ///
    /// ```
    /// use epgt_report::chart::{Figure, Plot, Series};
    /// let curves = (0..9).map(|i| Series::line(format!("m{i}"), i, vec![[0.0, 0.0], [1.0, i as f64]]));
    /// let figure = Figure::overlaid("Return", Plot::new("", "steps", "return"), curves.collect());
    /// assert_eq!((figure.panels.len(), figure.key.len()), (1, 9));
    /// ```
    pub fn overlaid(title: impl Into<String>, plot: Plot, series: Vec<Series>) -> Self {
        Self::side_by_side(title, vec![Plot { series, ..plot }])
    }

    /// Charts of the same methods, such as one per task, each with its own axes; where the methods are many, without
    /// their bands.
    ///
    /// ```
    /// use epgt_report::chart::{Figure, Plot, Series};
    /// let mut plot = Plot::new("CartPole-v1", "steps", "");
    /// plot.series.push(Series::line("ppo", 0, vec![[0.0, 0.0], [1.0, 2.0]]));
    /// let figure = Figure::side_by_side("Return", vec![plot.clone(), plot]);
    /// assert_eq!((figure.panels.len(), figure.key.len()), (2, 1));
    /// ```
    pub fn side_by_side(title: impl Into<String>, mut plots: Vec<Plot>) -> Self {
        let mut key = methods(plots.iter().flat_map(|plot| &plot.series));
        key.sort_by_key(|(_, index)| *index);
        if key.len() > MOST_IN_ONE {
            for plot in &mut plots {
                plot.series = std::mem::take(&mut plot.series).into_iter().map(Series::bare).collect();
            }
        }
        Self {
            key,
            ..Self::of(title, plots.into_iter().map(Panel::Plot).collect())
        }
    }

    /// Gives all charts the same axes.
    pub fn share_axes(&mut self) {
        let plots = self.panels.iter().filter_map(|panel| match panel {
            Panel::Plot(plot) => Some(plot),
            _ => None,
        });
        let corners: Vec<[f64; 2]> = plots
            .flat_map(|plot| plot.series.iter().flat_map(Series::corners))
            .filter(|point| point.iter().all(|x| x.is_finite()))
            .collect();
        let log = self
            .panels
            .iter()
            .any(|panel| matches!(panel, Panel::Plot(plot) if plot.log));
        let within = corners.iter().filter(|point| !log || point[1] > 0.0);
        let ends = |axis: usize| {
            let values = within.clone().map(|point| point[axis]);
            (
                values.clone().fold(f64::INFINITY, f64::min),
                values.fold(f64::NEG_INFINITY, f64::max),
            )
        };
        let ((left, right), (low, high)) = (ends(0), ends(1));
        for panel in &mut self.panels {
            if let Panel::Plot(plot) = panel
                && left <= right
            {
                plot.holds = vec![[left, low], [right, high]];
            }
        }
    }

    /// The panels as a page shows them.
    ///
    /// ```
    /// use epgt_report::chart::{Figure, Panel, Plot};
    /// let figure = Figure::of("Return", vec![Panel::Plot(Plot::new("a", "steps", ""))]);
    /// assert!(figure.on_page()[0].width > 300.0);
    /// ```
    pub fn on_page(&self) -> Vec<Drawing> {
        // Four stand two by two, each with nearly the room of one alone.
        let large = [1, 4].contains(&self.panels.len());
        self.drawn(&self.panels, if large { ALONE } else { AMONG })
    }

    /// Some panels at one size, their charts at one height.
    fn drawn(&self, panels: &[Panel], look: Look) -> Vec<Drawing> {
        let lines = panels.iter().map(|panel| panel.lines_above(look)).max().unwrap_or(0);
        let draw = |panel: &Panel| {
            let drawing = panel.draw_below(look, lines);
            let title = match drawing.title.is_empty() {
                true => self.title.clone(),
                false => format!("{}: {}", self.title, drawing.title),
            };
            Drawing { title, ..drawing }
        };
        panels.iter().map(draw).collect()
    }

    /// The sheet for a screen that suits the figure.
    ///
    /// ```
    /// use epgt_report::chart::{Figure, Panel, Plot, Sheet};
    /// let figure = Figure::of("Return", vec![Panel::Plot(Plot::new("a", "steps", ""))]);
    /// assert_eq!(figure.for_screen(), figure.on_sheet(Sheet::SMALL));
    /// ```
    pub fn for_screen(&self) -> Drawing {
        self.on_sheet(if self.panels.len() == 1 {
            Sheet::SMALL
        } else {
            Sheet::SCREEN
        })
    }

    /// The whole figure on one sheet: the panels in rows, the key below them.
    ///
    /// ```
    /// use epgt_report::chart::{Figure, Panel, Plot, Sheet};
    /// let figure = Figure::of("Return", vec![Panel::Plot(Plot::new("a", "steps", "")); 6]);
    /// assert_eq!(figure.on_sheet(Sheet::COLUMN).width, 237.6);
    /// ```
    pub fn on_sheet(&self, sheet: Sheet) -> Drawing {
        let Look { width, em } = sheet.look;
        let mut whole = Drawing {
            width,
            title: self.title.clone(),
            ..Drawing::default()
        };
        let margin = 0.4 * em;
        let inside = width - 2.0 * margin;
        let mut y = margin;
        if sheet.titled {
            let size = 1.2 * em;
            y += size;
            y += (whole.lines([margin, y], &self.title, Paint::Ink, size, inside) - 1) as f64 * size * LINE;
            y += 0.5 * em;
        }
        if !self.note.is_empty() {
            y += em;
            y += (whole.lines([margin, y], &self.note, Paint::Muted, em, inside) - 1) as f64 * em * LINE;
            y += 0.6 * em;
        }
        let gap = 1.4 * em;
        let (columns, panel) = self.columns(inside, gap, sheet);
        for row in self.panels.chunks(columns) {
            let drawings = self.drawn(row, Look { width: panel, em });
            let height = drawings.iter().map(|drawing| drawing.height).fold(0.0, f64::max);
            for (column, drawing) in drawings.into_iter().enumerate() {
                whole.put(drawing, [margin + column as f64 * (panel + gap), y]);
            }
            y += height + 0.7 * em;
        }
        y = self.draw_key(&mut whole, margin, inside, y, em);
        whole.height = y + margin;
        whole
    }

    /// Panels beside each other and the width of one: rows as even as can be.
    fn columns(&self, inside: f64, gap: f64, sheet: Sheet) -> (usize, f64) {
        let count = self.panels.len().max(1);
        let narrowest = NARROWEST * sheet.look.em;
        let most = (((inside + gap) / (narrowest + gap)) as usize).clamp(1, count);
        let columns = count.div_ceil(count.div_ceil(most));
        let panel = (inside + gap) / columns as f64 - gap;
        (columns, panel)
    }

    /// The methods' lines and names, in as many lines as they take; returns where they end.
    fn draw_key(&self, whole: &mut Drawing, margin: f64, inside: f64, top: f64, em: f64) -> f64 {
        if self.key.is_empty() {
            return top;
        }
        let (mut x, mut y) = (0.0, top + em);
        for (name, index) in &self.key {
            let indent = 2.6 * em;
            let lines = broken(name, em, inside - indent);
            let widest = lines.iter().map(|line| width(line, em)).fold(0.0, f64::max);
            // Names that are not measured by this font must not touch the next.
            let needed = indent + 1.06 * widest + 1.6 * em;
            if x > 0.0 && x + needed - 1.6 * em > inside {
                (x, y) = (0.0, y + LINE * em);
            }
            whole.marks.push(swatch([margin + x, y - 0.35 * em], *index, em));
            let count = whole.lines([margin + x + indent, y], name, Paint::Ink, em, inside - indent);
            match count > 1 {
                true => (x, y) = (0.0, y + count as f64 * LINE * em),
                false => x += needed,
            }
        }
        match x > 0.0 {
            true => y + 0.4 * em,
            false => y - 0.9 * em,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawing::{Anchor, Mark};
    use super::*;

    /// The box of a text: left, top, right, bottom.
    fn boxes(drawing: &Drawing) -> Vec<([f64; 4], String)> {
        let of = |mark: &Mark| match mark {
            Mark::Text {
                at: [x, y],
                text,
                size,
                anchor,
                ..
            } => {
                let wide = width(text, *size);
                let left = match anchor {
                    Anchor::Start => *x,
                    Anchor::Middle => x - wide / 2.0,
                    Anchor::End => x - wide,
                };
                Some(([left, y - 0.75 * size, left + wide, y + 0.2 * size], text.clone()))
            }
            _ => None,
        };
        drawing.marks.iter().filter_map(of).collect()
    }

    fn figures() -> Vec<Figure> {
        let name = |i: usize| match i % 3 {
            0 => format!("learning_rate=0.000{i} hyper.encoder=random projection preset=paper"),
            1 => format!("m{i}"),
            _ => "averyveryveryverylongnamewithoutanyplacetobreakitandstillcomplete".to_string() + &i.to_string(),
        };
        let line = |i: usize| {
            let points = (0..40).map(|x| [f64::from(x) * 31_337.0, (i as f64 + 0.3) * f64::from(x) - 100.0]);
            let band = (0..40).map(|x| {
                [
                    f64::from(x) * 31_337.0,
                    f64::from(x) - 120.0,
                    (i as f64 + 0.5) * f64::from(x),
                ]
            });
            Series::banded(name(i), i, points.collect(), band.collect())
        };
        let plot = || Plot::new("", "environment steps", "mean return of the last 100 episodes");
        let row = |i: usize| super::super::Row {
            name: name(i),
            index: i,
            values: vec![1.0, 1e6 * i as f64],
            mean: 5e5 * i as f64,
            interval: crate::statistics::Interval::UNKNOWN,
        };
        let rows = |names: bool| Rows {
            label: "return of the last 100 training episodes".to_string(),
            rows: (0..5)
                .map(|i| match names {
                    true => row(i),
                    false => super::super::Row {
                        name: format!("m{i}"),
                        ..row(i)
                    },
                })
                .collect(),
        };
        let map = Scatter {
            title: name(0),
            label: "stored value".to_string(),
            points: (0..20).map(|i| [f64::from(i).sin(), f64::from(i)]).collect(),
            values: (0..20).map(f64::from).collect(),
        };
        vec![
            Figure::curves("One", plot(), vec![line(0)]),
            Figure::curves("Four", plot(), (0..4).map(line).collect()),
            Figure::curves("Twelve", plot(), (0..12).map(line).collect()),
            Figure::overlaid("Together", plot(), (0..9).map(line).collect()),
            Figure::of("Scores", vec![Panel::Rows(rows(true))]),
            Figure::of("Scores", vec![Panel::Rows(rows(false))]),
            Figure::of("Maps", vec![Panel::Map(map.clone()), Panel::Map(map)]),
        ]
    }

    fn assert_apart(drawing: &Drawing, what: &str) {
        let all = boxes(drawing);
        assert!(!all.is_empty());
        for (index, (one, text)) in all.iter().enumerate() {
            let [left, top, right, bottom] = *one;
            assert!(
                left >= -0.01 && top >= -0.01 && right <= drawing.width + 0.01 && bottom <= drawing.height + 0.01,
                "{what}: '{text}' at {one:?} leaves {} x {}",
                drawing.width,
                drawing.height
            );
            for (other, words) in &all[..index] {
                let apart = left >= other[2] || other[0] >= right || top >= other[3] || other[1] >= bottom;
                assert!(apart, "{what}: '{text}' {one:?} and '{words}' {other:?} overlap");
            }
        }
    }

    #[test]
    fn no_words_are_cut_and_none_overlap_at_any_width() {
        for figure in figures() {
            for sheet in [Sheet::COLUMN, Sheet::PAGE, Sheet::SCREEN, Sheet::SMALL] {
                let whole = figure.on_sheet(sheet);
                assert_apart(&whole, &format!("{} on {sheet:?}", figure.title));
                for mark in &whole.marks {
                    if let Mark::Line { points, .. } | Mark::Area { points, .. } = mark {
                        let inside = |[x, y]: &[f64; 2]| {
                            (-0.01..=whole.width + 0.01).contains(x) && (-0.01..=whole.height + 0.01).contains(y)
                        };
                        assert!(points.iter().all(inside), "{mark:?}");
                    }
                }
            }
            for drawing in figure.on_page() {
                assert_apart(&drawing, &format!("{} on a page", figure.title));
            }
            // Every name is there as a whole, in however many lines.
            let whole = figure.on_sheet(Sheet::COLUMN);
            let letters: String = boxes(&whole)
                .into_iter()
                .map(|(_, text)| text.replace(' ', ""))
                .collect();
            let names = figure.key.iter().map(|(name, _)| name.clone());
            let titles = figure.panels.iter().filter_map(|panel| match panel {
                Panel::Plot(plot) => Some(plot.title.clone()),
                Panel::Map(map) => Some(map.title.clone()),
                Panel::Rows(_) => None,
            });
            for name in names.chain(titles) {
                assert!(letters.contains(&name.replace(' ', "")), "{name} in {letters}");
            }
        }
    }

    #[test]
    fn panels_of_one_figure_have_the_same_axes() {
        let figure = &figures()[2];
        let ticks: Vec<Vec<String>> = figure
            .on_page()
            .iter()
            .map(|panel| {
                let words = boxes(panel).into_iter().map(|(_, text)| text);
                words
                    .filter(|text| text.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
                    .collect()
            })
            .collect();
        assert!(ticks.len() == 12 && ticks[0].len() > 4);
        assert!(ticks.iter().all(|panel| *panel == ticks[0]), "{ticks:?}");
    }
}
