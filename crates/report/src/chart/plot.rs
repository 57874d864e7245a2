//! Charts with two axes: curves with bands, steps of what was held, and threads of single runs.

use super::drawing::{Anchor, Drawing, LINE, Mark, Paint, broken};
use super::face::width;
use super::figure::Look;
use super::palette::dash;
use super::scale::{Scale, between, labels, number};

/// Points with words under the mouse, per curve.
const HINTS: usize = 16;

/// One curve of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name, for the mouse.
    pub name: String,
    /// Its colour and its pattern.
    pub index: usize,
    /// Whether a value holds until the next point, so that the curve is made of steps.
    pub held: bool,
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
    /// What another panel is about: grey, behind everything.
    Context(
        /// Its points.
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
            held: false,
            kind: Kind::Line { points, band },
        }
    }

    /// A thin line among many.
    pub fn thread(index: usize, points: Vec<[f64; 2]>) -> Self {
        Self {
            name: String::new(),
            index,
            held: false,
            kind: Kind::Thread(points),
        }
    }

    /// The same curve in steps: each value holds until the next.
    pub fn in_steps(self) -> Self {
        Self { held: true, ..self }
    }

    /// The curve without its band.
    pub(super) fn bare(self) -> Self {
        let Self {
            name,
            index,
            held,
            kind,
        } = self;
        let kind = match kind {
            Kind::Line { points, .. } => Kind::Line {
                points,
                band: Vec::new(),
            },
            kind => kind,
        };
        Self {
            name,
            index,
            held,
            kind,
        }
    }

    /// The curve as the background of another's panel.
    pub(super) fn behind(&self) -> Self {
        let points = self.points();
        let every = points.len().div_ceil(50).max(1);
        let kept = points.iter().enumerate().filter(|(index, _)| index % every == 0);
        Self {
            kind: Kind::Context(kept.map(|(_, point)| *point).collect()),
            ..self.clone()
        }
    }

    pub(super) fn points(&self) -> &[[f64; 2]] {
        match &self.kind {
            Kind::Line { points, .. } | Kind::Thread(points) | Kind::Context(points) => points,
        }
    }

    /// The lower and the upper end of everything that is drawn.
    pub(super) fn corners(&self) -> Vec<[f64; 2]> {
        let mut corners = self.points().to_vec();
        if let Kind::Line { band, .. } = &self.kind {
            corners.extend(band.iter().flat_map(|[x, low, high]| [[*x, *low], [*x, *high]]));
        }
        corners
    }
}

/// A chart: what it shows, before it is laid out.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Above it; may be empty.
    pub title: String,
    /// The method that it is about, whose line stands before the title.
    pub about: Option<usize>,
    /// Below the horizontal axis.
    pub x_label: String,
    /// Above the vertical axis; may be empty.
    pub y_label: String,
    /// Whether the vertical axis is logarithmic.
    pub log: bool,
    /// From back to front.
    pub series: Vec<Series>,
    /// Points that the axes hold besides what is drawn, so that several charts have the same.
    pub holds: Vec<[f64; 2]>,
    /// Its height without titles, as a share of its width.
    pub aspect: f64,
}

impl Plot {
    /// An empty chart of the usual shape.
    ///
    /// ```
    /// let plot = epgt_report::chart::Plot::new("Return", "environment steps", "return");
    /// assert!(plot.series.is_empty());
    /// ```
    pub fn new(title: impl Into<String>, x_label: &str, y_label: &str) -> Self {
        Self {
            title: title.into(),
            about: None,
            x_label: x_label.to_string(),
            y_label: y_label.to_string(),
            log: false,
            series: Vec::new(),
            holds: Vec::new(),
            aspect: 0.58,
        }
    }

    /// Lines that the words above the chart take.
    pub(super) fn lines_above(&self, look: Look) -> usize {
        let count = |text: &str, width: f64| match text.is_empty() {
            true => 0,
            false => broken(text, look.em, width).len(),
        };
        count(&self.title, look.width - self.indent(look)) + count(&self.y_label, look.width)
    }

    /// The horizontal axis's label, in lines.
    fn label_below(&self, look: Look) -> Vec<String> {
        match self.x_label.is_empty() {
            true => Vec::new(),
            false => broken(&self.x_label, look.em, look.width),
        }
    }

    /// Room for the method's line before the title.
    fn indent(&self, look: Look) -> f64 {
        self.about.map_or(0.0, |_| 2.6 * look.em)
    }

    /// Lays the chart out.
    ///
    /// ```
    /// use epgt_report::chart::{Look, Mark, Plot, Series};
    /// let mut plot = Plot::new("Return", "steps", "return");
    /// plot.series.push(Series::line("a", 0, vec![[0.0, 0.0], [1.0, f64::NAN], [2.0, 1.0]]));
    /// let drawing = plot.draw(Look { width: 300.0, em: 12.0 });
    /// assert!(drawing.marks.iter().any(|mark| matches!(mark, Mark::Text { text, .. } if text == "Return")));
    /// ```
    pub fn draw(&self, look: Look) -> Drawing {
        self.draw_below(look, self.lines_above(look))
    }

    /// Lays the chart out below so many lines of words.
    pub(super) fn draw_below(&self, look: Look, lines: usize) -> Drawing {
        let em = look.em;
        let mut drawing = Drawing {
            width: look.width,
            title: self.title.clone(),
            ..Drawing::default()
        };
        let top = lines as f64 * LINE * em + 0.6 * em;
        let bottom = top + (self.aspect * look.width).clamp(6.0 * em, 24.0 * em);
        let label = self.label_below(look);
        drawing.height = bottom + (1.8 + LINE * label.len() as f64) * em;
        self.words_above(&mut drawing, look);
        let frame = self.axes(&mut drawing, look, top, bottom);
        // Many bands on top of each other must not become fog.
        let bands = self
            .series
            .iter()
            .filter(|series| matches!(&series.kind, Kind::Line { band, .. } if !band.is_empty()));
        let opacity = (0.5 / bands.count().max(1) as f64).clamp(0.1, 0.2);
        for series in &self.series {
            if let Kind::Line { band, .. } = &series.kind {
                paint_band(&mut drawing, &frame, series, band, opacity);
            }
        }
        let threads = self
            .series
            .iter()
            .filter(|series| matches!(series.kind, Kind::Thread(_)));
        let pale = (2.5 / threads.count().max(1) as f64).clamp(0.25, 0.55);
        // Where there is one line, no pattern is needed to know it, and it would hide where a step ends.
        let lines = self
            .series
            .iter()
            .filter(|series| matches!(series.kind, Kind::Line { .. }));
        let alone = lines.count() == 1;
        for series in &self.series {
            paint(&mut drawing, &frame, series, em, pale, alone);
        }
        for series in &self.series {
            hints(&mut drawing, &frame, series);
        }
        drawing
    }

    fn words_above(&self, drawing: &mut Drawing, look: Look) {
        let em = look.em;
        let mut y = em;
        if !self.title.is_empty() {
            if let Some(index) = self.about {
                drawing.marks.push(swatch([0.0, y - 0.35 * em], index, em));
            }
            let indent = self.indent(look);
            let lines = drawing.lines([indent, y], &self.title, Paint::Ink, em, look.width - indent);
            y += lines as f64 * LINE * em;
        }
        if !self.y_label.is_empty() {
            drawing.lines([0.0, y], &self.y_label, Paint::Muted, em, look.width);
        }
    }

    /// Grid, ticks and labels; returns where the chart itself is.
    fn axes(&self, drawing: &mut Drawing, look: Look, top: f64, bottom: f64) -> Frame {
        let em = look.em;
        let all: Vec<[f64; 2]> = self
            .series
            .iter()
            .flat_map(Series::corners)
            .chain(self.holds.iter().copied())
            .collect();
        let rows = ((bottom - top) / (2.6 * em)).clamp(2.0, 6.0) as usize;
        let y = Scale::around(all.iter().map(|point| point[1]), self.log, rows);
        let beside = labels(&y.ticks());
        let widest = beside.iter().map(|label| width(label, em)).fold(0.0, f64::max);
        let left = widest + 0.6 * em;
        let mut frame = Frame {
            left,
            right: look.width - 0.5 * em,
            top,
            bottom,
            x: Scale::over(all.iter().map(|point| point[0]), 8),
            y,
        };
        // As many ticks as have room; the last one's words end within the drawing.
        for count in (1..=8).rev() {
            frame.x = Scale::over(all.iter().map(|point| point[0]), count);
            let ticks = frame.x.ticks();
            let below = labels(&ticks);
            let widest = below.iter().map(|label| width(label, em)).fold(0.0, f64::max);
            frame.right = look.width - 0.3 * em;
            for (&tick, label) in ticks.iter().zip(&below) {
                let room = look.width - left - width(label, em) / 2.0;
                frame.right = frame.right.min(left + room / frame.x.place(tick).max(0.1));
            }
            let apart = match ticks.as_slice() {
                [first, second, ..] => frame.x(*second) - frame.x(*first),
                _ => f64::INFINITY,
            };
            if apart >= widest + em {
                break;
            }
        }
        let thin = em / 12.0;
        for (tick, label) in frame.y.ticks().into_iter().zip(beside) {
            let height = frame.y(tick);
            drawing.line(vec![[frame.left, height], [frame.right, height]], Paint::Grid, thin);
            drawing.text(
                [frame.left - 0.5 * em, height + 0.35 * em],
                label,
                Paint::Muted,
                em,
                Anchor::End,
            );
        }
        let ticks = frame.x.ticks();
        for (&tick, label) in ticks.iter().zip(labels(&ticks)) {
            let place = frame.x(tick);
            drawing.line(vec![[place, bottom], [place, bottom + 0.35 * em]], Paint::Muted, thin);
            drawing.text([place, bottom + 1.45 * em], label, Paint::Muted, em, Anchor::Middle);
        }
        drawing.line(vec![[frame.left, bottom], [frame.right, bottom]], Paint::Muted, thin);
        for (index, line) in self.label_below(look).iter().enumerate() {
            let y = bottom + (2.75 + LINE * index as f64) * em;
            drawing.text([look.width, y], line, Paint::Muted, em, Anchor::End);
        }
        frame
    }
}

/// The line of a method, as it stands before its name.
pub(super) fn swatch(at: [f64; 2], index: usize, em: f64) -> Mark {
    Mark::Line {
        points: vec![at, [at[0] + 2.1 * em, at[1]]],
        paint: Paint::Series(index),
        width: 0.2 * em,
        dash: dash(index),
        opacity: 1.0,
    }
}

/// A curve; one that is held goes on at its height until its next point, and one of many is pale.
fn paint(drawing: &mut Drawing, frame: &Frame, series: &Series, em: f64, pale: f64, alone: bool) {
    let placed: Vec<[f64; 2]> = series.points().iter().map(|point| frame.place(*point)).collect();
    let points = if series.held { stairs(&placed) } else { placed };
    let (paint, width, dash, opacity): (_, _, &'static [f64], _) = match &series.kind {
        Kind::Line { .. } if series.held && alone => (Paint::Series(series.index), 0.17, &[], 1.0),
        Kind::Line { .. } => (Paint::Series(series.index), 0.17, dash(series.index), 1.0),
        Kind::Thread(_) => (Paint::Series(series.index), 0.08, &[], pale),
        Kind::Context(_) => (Paint::Muted, 0.07, &[], 0.35),
    };
    drawing.marks.push(Mark::Line {
        points,
        paint,
        width: width * em,
        dash,
        opacity,
    });
}

/// Straight lines as steps: along, then up or down.
fn stairs(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut steps = Vec::with_capacity(2 * points.len());
    for (index, point) in points.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).map(|at| points[at]) {
            steps.push([point[0], before[1]]);
        }
        steps.push(*point);
    }
    steps
}

/// What a curve is at some of its points, for the mouse.
fn hints(drawing: &mut Drawing, frame: &Frame, series: &Series) {
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

/// The interval around a curve, in steps where the curve has them.
fn paint_band(drawing: &mut Drawing, frame: &Frame, series: &Series, band: &[[f64; 3]], opacity: f64) {
    let placed = |[x, low, high]: &[f64; 3]| (frame.place([*x, *low]), frame.place([*x, *high]));
    let whole = |(low, high): &([f64; 2], [f64; 2])| low.iter().chain(high).all(|x| x.is_finite());
    let corners: Vec<([f64; 2], [f64; 2])> = band.iter().map(placed).collect();
    for run in corners.split(|pair| !whole(pair)).filter(|run| run.len() > 1) {
        let (mut points, mut above): (Vec<[f64; 2]>, Vec<[f64; 2]>) = run.iter().copied().unzip();
        if series.held {
            (points, above) = (stairs(&points), stairs(&above));
        }
        points.extend(above.into_iter().rev());
        drawing.marks.push(Mark::Area {
            points,
            paint: Paint::Series(series.index),
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

    const LOOK: Look = Look { width: 300.0, em: 12.0 };

    #[test]
    fn a_chart_without_anything_to_show_is_still_a_chart() {
        let mut plot = Plot::new("nothing", "x", "y");
        plot.series.push(Series::line("a", 0, vec![[0.0, f64::NAN]]));
        let drawing = plot.draw(LOOK);
        assert!(drawing.height >= 150.0 && drawing.marks.len() > 5);
    }

    #[test]
    fn what_is_held_is_drawn_in_steps() {
        assert_eq!(
            stairs(&[[0.0, 1.0], [2.0, 5.0], [3.0, 4.0]]),
            [[0.0, 1.0], [2.0, 1.0], [2.0, 5.0], [3.0, 5.0], [3.0, 4.0]]
        );
        let mut plot = Plot::new("t", "x", "y");
        plot.series
            .push(Series::thread(0, vec![[0.0, 1.0], [5.0, 2.0], [9.0, 2.0]]).in_steps());
        let diagonal = |mark: &Mark| match mark {
            Mark::Line { points, .. } => points.windows(2).any(|w| w[0][0] != w[1][0] && w[0][1] != w[1][1]),
            _ => false,
        };
        assert!(!plot.draw(LOOK).marks.iter().any(diagonal));
        plot.series[0].held = false;
        assert!(plot.draw(LOOK).marks.iter().any(diagonal));
        // So is the band around it.
        let band = |x: f64| [x, x, x + 2.0];
        let line = Series::banded("a", 1, vec![[0.0, 1.0], [5.0, 6.0]], vec![band(0.0), band(5.0)]);
        plot.series = vec![line.in_steps()];
        let areas = plot.draw(LOOK).marks.into_iter().filter_map(|mark| match mark {
            Mark::Area { points, .. } => Some(points),
            _ => None,
        });
        let areas: Vec<Vec<[f64; 2]>> = areas.collect();
        let slanted = |points: &Vec<[f64; 2]>| points.windows(2).any(|w| w[0][0] != w[1][0] && w[0][1] != w[1][1]);
        assert!(
            areas.len() == 1 && areas[0].len() == 6 && !slanted(&areas[0]),
            "{areas:?}"
        );
    }

    #[test]
    fn held_curves_of_several_methods_keep_the_patterns_of_their_key() {
        let held = |index: usize| Series::line(format!("m{index}"), index, vec![[0.0, 1.0], [5.0, 2.0]]).in_steps();
        let patterns = |series: Vec<Series>| {
            let mut plot = Plot::new("", "x", "y");
            plot.series = series;
            let lines = plot.draw(LOOK).marks.into_iter().filter_map(|mark| match mark {
                Mark::Line {
                    paint: Paint::Series(_),
                    dash,
                    ..
                } => Some(dash),
                _ => None,
            });
            lines.collect::<Vec<_>>()
        };
        assert_eq!(patterns(vec![held(1)]), [&[] as &[f64]]);
        assert_eq!(patterns(vec![held(1), held(2)]), [dash(1), dash(2)]);
    }

    #[test]
    fn a_band_is_drawn_only_where_the_interval_is_known() {
        let mut plot = Plot::new("t", "x", "y");
        let unknown = [f64::NAN, f64::NAN];
        let band = (0..6).map(|x| match x < 3 {
            true => [f64::from(x), unknown[0], unknown[1]],
            false => [f64::from(x), 0.0, 1.0],
        });
        plot.series = vec![Series::banded(
            "a",
            0,
            (0..6).map(|x| [f64::from(x), 0.5]).collect(),
            band.collect(),
        )];
        let areas: Vec<usize> = plot
            .draw(LOOK)
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Area { points, .. } => Some(points.len()),
                _ => None,
            })
            .collect();
        assert_eq!(areas, [6]);
    }
}
