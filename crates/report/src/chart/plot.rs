//! Charts with two axes: curves with bands, and scattered values.

use super::drawing::{Anchor, Drawing, Mark, Paint, fitting, fitting_apart, text_width};
use super::scale::{Scale, between, number};

/// Points with words under the mouse, per curve.
const HINTS: usize = 24;

/// One curve of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend; an unnamed one is not listed.
    pub name: String,
    /// Its colour.
    pub index: usize,
    /// Its pattern; the same number as the colour unless it is changed.
    pub dash: usize,
    /// What is drawn.
    pub kind: Kind,
}

/// What a series looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A line, with the interval around it as (x, low, high) where there is one.
    Line {
        /// The line's points.
        points: Vec<[f64; 2]>,
        /// The band around it.
        band: Vec<[f64; 3]>,
    },
    /// One of many: thin, pale, without a name.
    Thread(
        /// Its points.
        Vec<[f64; 2]>,
    ),
    /// Dots alone.
    Dots(
        /// Their places.
        Vec<[f64; 2]>,
    ),
}

impl Series {
    /// A line without a band.
    pub fn line(name: impl Into<String>, index: usize, points: Vec<[f64; 2]>) -> Self {
        Self::banded(name, index, points, Vec::new())
    }

    /// A line with the interval around it.
    pub fn banded(name: impl Into<String>, index: usize, points: Vec<[f64; 2]>, band: Vec<[f64; 3]>) -> Self {
        Self {
            name: name.into(),
            index,
            dash: index,
            kind: Kind::Line { points, band },
        }
    }

    /// A thin line among many.
    pub fn thread(index: usize, points: Vec<[f64; 2]>) -> Self {
        Self {
            name: String::new(),
            index,
            dash: 0,
            kind: Kind::Thread(points),
        }
    }

    fn points(&self) -> &[[f64; 2]] {
        match &self.kind {
            Kind::Line { points, .. } | Kind::Thread(points) | Kind::Dots(points) => points,
        }
    }
}

/// A chart: what it shows, before it is laid out.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Above it.
    pub title: String,
    /// Below the horizontal axis.
    pub x_label: String,
    /// Beside the vertical axis.
    pub y_label: String,
    /// Whether the vertical axis is logarithmic.
    pub log: bool,
    /// From back to front.
    pub series: Vec<Series>,
    /// In pixels.
    pub width: f64,
    /// Of the chart without its legend, in pixels.
    pub height: f64,
    /// Whether names are listed below it.
    pub legend: bool,
}

impl Plot {
    /// An empty chart of the usual size.
    ///
    /// ```
    /// let plot = epgt_report::chart::Plot::new("Return", "environment steps", "return");
    /// assert!(plot.series.is_empty());
    /// ```
    pub fn new(title: impl Into<String>, x_label: &str, y_label: &str) -> Self {
        Self {
            title: title.into(),
            x_label: x_label.to_string(),
            y_label: y_label.to_string(),
            log: false,
            series: Vec::new(),
            width: 480.0,
            height: 310.0,
            legend: true,
        }
    }

    /// Lays the chart out.
    ///
    /// ```
    /// use epgt_report::chart::{Mark, Plot, Series};
    /// let mut plot = Plot::new("Return", "steps", "return");
    /// plot.series.push(Series::line("a", 0, vec![[0.0, 0.0], [1.0, f64::NAN], [2.0, 1.0]]));
    /// assert!(plot.draw().marks.iter().any(|mark| matches!(mark, Mark::Text { text, .. } if text == "a")));
    /// ```
    pub fn draw(&self) -> Drawing {
        let mut drawing = Drawing {
            width: self.width,
            height: self.height,
            title: self.title.clone(),
            marks: Vec::new(),
        };
        let frame = self.axes(&mut drawing);
        // Many bands on top of each other must not become fog.
        let opacity = (0.5 / self.series.len().max(1) as f64).clamp(0.06, 0.18);
        for series in &self.series {
            if let Kind::Line { band, .. } = &series.kind {
                paint_band(&mut drawing, &frame, series.index, band, opacity);
            }
        }
        for series in &self.series {
            self.paint(&mut drawing, &frame, series);
        }
        for series in &self.series {
            self.hints(&mut drawing, &frame, series);
        }
        if self.legend {
            self.legend(&mut drawing);
        }
        drawing
    }

    /// Title, grid, ticks and labels; returns where the chart itself is.
    fn axes(&self, drawing: &mut Drawing) -> Frame {
        let all = || self.series.iter().flat_map(|series| series.points());
        let bands = self.series.iter().filter_map(|series| match &series.kind {
            Kind::Line { band, .. } => Some(band.iter().flat_map(|[_, low, high]| [*low, *high])),
            _ => None,
        });
        let ys = all().map(|point| point[1]).chain(bands.flatten());
        let rows = (self.height / 60.0) as usize;
        let y = Scale::around(ys, self.log, rows);
        let x = Scale::around(all().map(|point| point[0]), false, (self.width / 110.0) as usize);
        let labels: Vec<String> = y.ticks().into_iter().map(number).collect();
        let widest = labels.iter().map(|label| text_width(label, 12.0)).fold(0.0, f64::max);
        let frame = Frame {
            left: widest + if self.y_label.is_empty() { 14.0 } else { 34.0 },
            right: self.width - 16.0,
            top: 34.0,
            bottom: self.height - 44.0,
            x,
            y,
        };
        drawing.text(
            [12.0, 18.0],
            fitting(&self.title, 14.0, self.width - 24.0),
            Paint::Ink,
            14.0,
            Anchor::Start,
        );
        for (tick, label) in frame.y.ticks().into_iter().zip(labels) {
            let height = frame.y(tick);
            drawing.line(vec![[frame.left, height], [frame.right, height]], Paint::Grid, 1.0);
            drawing.text([frame.left - 7.0, height + 4.0], label, Paint::Muted, 12.0, Anchor::End);
        }
        for tick in frame.x.ticks() {
            let place = frame.x(tick);
            drawing.line(
                vec![[place, frame.bottom], [place, frame.bottom + 4.0]],
                Paint::Muted,
                1.0,
            );
            drawing.text(
                [place, frame.bottom + 17.0],
                number(tick),
                Paint::Muted,
                12.0,
                Anchor::Middle,
            );
        }
        drawing.line(
            vec![[frame.left, frame.bottom], [frame.right, frame.bottom]],
            Paint::Muted,
            1.0,
        );
        let middle = (frame.left + frame.right) / 2.0;
        drawing.text(
            [middle, self.height - 8.0],
            &self.x_label,
            Paint::Muted,
            12.0,
            Anchor::Middle,
        );
        if !self.y_label.is_empty() {
            drawing.marks.push(Mark::Text {
                at: [14.0, (frame.top + frame.bottom) / 2.0],
                text: self.y_label.clone(),
                paint: Paint::Muted,
                size: 12.0,
                anchor: Anchor::Middle,
                upwards: true,
            });
        }
        frame
    }

    fn paint(&self, drawing: &mut Drawing, frame: &Frame, series: &Series) {
        let placed: Vec<[f64; 2]> = series.points().iter().map(|point| frame.place(*point)).collect();
        let paint = Paint::Series(series.index);
        match &series.kind {
            Kind::Line { .. } => drawing.marks.push(Mark::Line {
                points: placed,
                paint,
                width: 2.2,
                dash: series.dash,
                opacity: 1.0,
            }),
            Kind::Thread(_) => drawing.marks.push(Mark::Line {
                points: placed,
                paint,
                width: 0.8,
                dash: 0,
                opacity: 0.45,
            }),
            Kind::Dots(_) => drawing
                .marks
                .extend(placed.into_iter().map(|at| Mark::Dot { at, radius: 2.5, paint })),
        }
    }

    /// What a curve is at some of its points, for the mouse.
    fn hints(&self, drawing: &mut Drawing, frame: &Frame, series: &Series) {
        let Kind::Line { points, band } = &series.kind else {
            return;
        };
        let every = points.len().div_ceil(HINTS).max(1);
        for (index, point) in points.iter().enumerate().skip(every / 2).step_by(every) {
            let at = frame.place(*point);
            if at.iter().all(|x| x.is_finite()) {
                let interval = band
                    .get(index)
                    .map_or(String::new(), |[_, low, high]| between(*low, *high));
                let text = format!(
                    "{}: {}{interval} at {}",
                    series.name,
                    number(point[1]),
                    number(point[0])
                );
                drawing.marks.push(Mark::Hint { at, text });
            }
        }
    }

    /// The names below the chart, in as many lines as they need.
    fn legend(&self, drawing: &mut Drawing) {
        let (mut x, mut y) = (16.0, self.height + 12.0);
        let named: Vec<&Series> = self.series.iter().filter(|series| !series.name.is_empty()).collect();
        let all: Vec<&str> = named.iter().map(|series| series.name.as_str()).collect();
        for (series, name) in named.iter().zip(fitting_apart(&all, 12.0, self.width - 80.0)) {
            let width = 34.0 + text_width(&name, 12.0) + 18.0;
            if x + width > self.width && x > 16.0 {
                (x, y) = (16.0, y + 18.0);
            }
            drawing.marks.push(Mark::Line {
                points: vec![[x, y - 4.0], [x + 28.0, y - 4.0]],
                paint: Paint::Series(series.index),
                width: 2.6,
                dash: series.dash,
                opacity: 1.0,
            });
            drawing.text([x + 34.0, y], name, Paint::Ink, 12.0, Anchor::Start);
            x += width;
        }
        if !named.is_empty() {
            drawing.height = y + 10.0;
        }
    }
}

fn paint_band(drawing: &mut Drawing, frame: &Frame, index: usize, band: &[[f64; 3]], opacity: f64) {
    let placed = |[x, low, high]: &[f64; 3]| (frame.place([*x, *low]), frame.place([*x, *high]));
    let whole = |(low, high): &([f64; 2], [f64; 2])| low.iter().chain(high).all(|x| x.is_finite());
    let corners: Vec<([f64; 2], [f64; 2])> = band.iter().map(placed).collect();
    for run in corners.split(|pair| !whole(pair)).filter(|run| run.len() > 1) {
        let points = run.iter().map(|pair| pair.0).chain(run.iter().rev().map(|pair| pair.1));
        drawing.marks.push(Mark::Area {
            points: points.collect(),
            paint: Paint::Series(index),
            opacity,
        });
    }
}

/// Where the chart is within the drawing.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        self.left + (self.right - self.left) * self.x.place(value)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * self.y.place(value)
    }

    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [self.x(x), self.y(y)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_without_anything_to_show_is_still_a_chart() {
        let mut plot = Plot::new("nothing", "x", "y");
        plot.series.push(Series::line("a", 0, vec![[0.0, f64::NAN]]));
        let drawing = plot.draw();
        assert!(drawing.height >= 310.0 && drawing.marks.len() > 5);
    }

    #[test]
    fn all_marks_lie_within_the_drawing() {
        let mut plot = Plot::new("t", "x", "y");
        let band = vec![[0.0, -50.0, 20.0], [9e5, 100.0, 3e6]];
        plot.series = vec![Series::banded("a", 0, vec![[0.0, -3.0], [9e5, 2e6]], band)];
        plot.series
            .extend((1..12).map(|i| Series::line(format!("a longer name {i}"), i, vec![[0.0, 0.0]])));
        let drawing = plot.draw();
        for mark in &drawing.marks {
            let points: Vec<[f64; 2]> = match mark {
                Mark::Line { points, .. } | Mark::Area { points, .. } => points.clone(),
                Mark::Dot { at, .. } | Mark::Hint { at, .. } | Mark::Text { at, .. } => vec![*at],
            };
            for [x, y] in points {
                assert!(
                    (0.0..=drawing.width).contains(&x) && (0.0..=drawing.height).contains(&y),
                    "{mark:?}"
                );
            }
        }
    }
}
