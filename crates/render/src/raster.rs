//! Shapes to pixels.
//!
//! Every pixel is the mean of 3 x 3 samples, which smooths edges and leaves no seams between shapes that touch. The
//! samples of one row of pixels, three lines of them, are painted from back to front and averaged before the next row
//! begins, so that they stay in the processor's cache. All shapes come down to spans: where a horizontal line enters
//! and leaves them.

use std::ops::Range;

use epgt_envs::{Color, Scene, Shape};

use crate::Image;

/// Samples per pixel in each direction.
const FINE: usize = 3;

/// Outside the seen part of the world, where the image has another shape than the scene.
const BARS: Color = [0, 0, 0];

/// The size of the largest image of the scene's own shape within these bounds; at least one pixel.
///
/// ```
/// let scene = epgt_envs::Scene::new([0.0, 0.0], [3.0, 2.0]);
/// assert_eq!(epgt_render::fitting_size(&scene, 600, 600), (600, 400));
/// assert_eq!(epgt_render::fitting_size(&scene, 600, 200), (300, 200));
/// ```
pub fn fitting_size(scene: &Scene, width: usize, height: usize) -> (usize, usize) {
    let [across, up] = extent(scene);
    let scale = (width as f32 / across).min(height as f32 / up);
    let pixels = |length: f32, most: usize| ((length * scale).round() as usize).clamp(1, most.max(1));
    (pixels(across, width), pixels(up, height))
}

/// Draws a scene into an image of this size. The scene keeps its shape and is centred; what remains is black.
///
/// A line is at least one pixel thick, so that none is lost. Shapes that are not finite are left out.
///
/// ```
/// use epgt_envs::Scene;
/// let mut scene = Scene::new([0.0, 0.0], [10.0, 10.0]);
/// scene.polygon(&[[0.0, 0.0], [5.0, 0.0], [5.0, 10.0], [0.0, 10.0]], [0, 0, 255]);
/// let image = epgt_render::draw(&scene, 20, 20);
/// assert_eq!(image.pixel(3, 3), [0, 0, 255]);
/// assert_eq!(image.pixel(16, 3), [255, 255, 255]);
/// ```
pub fn draw(scene: &Scene, width: usize, height: usize) -> Image {
    let mut image = Image::new(width, height, BARS);
    let view = View::new(scene, width, height);
    let shapes: Vec<Fine> = scene.shapes.iter().flat_map(|shape| view.fine(shape)).collect();
    let mut samples = vec![scene.background; FINE * FINE * width];
    let mut crossings = Vec::new();
    let first = (view.seen_y.start / FINE as f32).floor() as usize;
    let last = ((view.seen_y.end / FINE as f32).ceil() as usize).min(height);
    for y in first..last {
        let mut empty = true;
        for (k, line) in samples.chunks_exact_mut(FINE * width).enumerate() {
            let at = (y * FINE + k) as f32 + 0.5;
            line.fill(BARS);
            if !view.seen_y.contains(&at) {
                empty = false;
                continue;
            }
            let seen = covered(view.seen_x.start, view.seen_x.end, line.len());
            empty &= seen.len() == line.len();
            let line = &mut line[..seen.end];
            line[seen.start..].fill(scene.background);
            for shape in shapes.iter().filter(|shape| shape.low <= at && at <= shape.high) {
                empty = false;
                shape.spans(at, &mut crossings, |from, to| {
                    let span = covered(from, to, line.len());
                    let start = span.start.max(seen.start);
                    if start < span.end {
                        line[start..span.end].fill(shape.color);
                    }
                });
            }
        }
        match empty {
            true => image.row_mut(y).fill(scene.background),
            false => average(&samples, image.row_mut(y)),
        }
    }
    image
}

/// The samples of a line that lie between two places.
fn covered(from: f32, to: f32, length: usize) -> Range<usize> {
    let index = |place: f32| (place - 0.5).ceil().clamp(0.0, length as f32) as usize;
    index(from)..index(to).max(index(from))
}

/// Each pixel is the mean of its samples.
fn average(samples: &[Color], row: &mut [Color]) {
    const COUNT: u32 = (FINE * FINE) as u32;
    let width = FINE * row.len();
    for (x, pixel) in row.iter_mut().enumerate() {
        let mut sum = [COUNT / 2; 3];
        for line in samples.chunks_exact(width) {
            for sample in &line[FINE * x..][..FINE] {
                (0..3).for_each(|channel| sum[channel] += u32::from(sample[channel]));
            }
        }
        *pixel = sum.map(|sum| (sum / COUNT) as u8);
    }
}

/// Width and height of the seen part; one where they cannot be used.
fn extent(scene: &Scene) -> [f32; 2] {
    [0, 1].map(|axis| {
        let length = scene.high[axis] - scene.low[axis];
        if length.is_finite() && length > 0.0 {
            length
        } else {
            1.0
        }
    })
}

/// From the world to samples, whose y points down.
struct View {
    scale: f32,
    offset: [f32; 2],
    seen_x: Range<f32>,
    seen_y: Range<f32>,
}

impl View {
    fn new(scene: &Scene, width: usize, height: usize) -> Self {
        let [across, up] = extent(scene);
        let (width, height) = ((width * FINE) as f32, (height * FINE) as f32);
        let scale = (width / across).min(height / up);
        // A bar of less than a pixel only comes from rounding the size, and shows a little more of the world instead.
        let seen = |bar: f32, length: f32| match bar < FINE as f32 {
            true => 0.0..length,
            false => bar..length - bar,
        };
        let (left, top) = ((width - across * scale) / 2.0, (height - up * scale) / 2.0);
        Self {
            scale,
            offset: [left - scene.low[0] * scale, top + (scene.low[1] + up) * scale],
            seen_x: seen(left, width),
            seen_y: seen(top, height),
        }
    }

    fn place(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        [self.offset[0] + x * self.scale, self.offset[1] - y * self.scale]
    }

    /// The parts that a shape is painted with: a line is a polygon with a disc at each end.
    fn fine(&self, shape: &Shape) -> impl Iterator<Item = Fine> {
        let parts = match shape {
            Shape::Polygon { points, fill } => [
                Some(Fine::polygon(points.iter().map(|&p| self.place(p)).collect(), *fill)),
                None,
                None,
            ],
            Shape::Circle { center, radius, fill } => [
                Some(Fine::disc(self.place(*center), radius * self.scale, *fill)),
                None,
                None,
            ],
            Shape::Line { from, to, width, color } => {
                let radius = (width * self.scale).max(FINE as f32) / 2.0;
                let (from, to) = (self.place(*from), self.place(*to));
                let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
                let length = dx.hypot(dy).max(f32::MIN_POSITIVE);
                let (sx, sy) = (-dy / length * radius, dx / length * radius);
                let [[fx, fy], [tx, ty]] = [from, to];
                let corners = [
                    [fx + sx, fy + sy],
                    [tx + sx, ty + sy],
                    [tx - sx, ty - sy],
                    [fx - sx, fy - sy],
                ];
                let body = Fine::polygon(corners.to_vec(), *color);
                [
                    Some(body),
                    Some(Fine::disc(from, radius, *color)),
                    Some(Fine::disc(to, radius, *color)),
                ]
            }
        };
        parts.into_iter().flatten().filter(Fine::is_finite)
    }
}

/// A part of a shape in samples, with the lines that it spans.
struct Fine {
    low: f32,
    high: f32,
    color: Color,
    form: Form,
}

enum Form {
    Polygon(Vec<[f32; 2]>),
    Disc { center: [f32; 2], radius: f32 },
}

impl Fine {
    fn polygon(points: Vec<[f32; 2]>, color: Color) -> Self {
        Self {
            low: points.iter().map(|p| p[1]).fold(f32::INFINITY, f32::min),
            high: points.iter().map(|p| p[1]).fold(f32::NEG_INFINITY, f32::max),
            color,
            form: Form::Polygon(points),
        }
    }

    fn disc(center: [f32; 2], radius: f32, color: Color) -> Self {
        Self {
            low: center[1] - radius,
            high: center[1] + radius,
            color,
            form: Form::Disc { center, radius },
        }
    }

    fn is_finite(&self) -> bool {
        match &self.form {
            Form::Polygon(points) => points.iter().flatten().all(|x| x.is_finite()),
            Form::Disc { center, radius } => center.iter().chain([radius]).all(|x| x.is_finite()),
        }
    }

    /// Where the horizontal line at `y` runs through it; a polygon is filled by the even-odd rule.
    fn spans(&self, y: f32, crossings: &mut Vec<f32>, mut paint: impl FnMut(f32, f32)) {
        match &self.form {
            Form::Disc { center, radius } => {
                let half = (radius * radius - (y - center[1]).powi(2)).max(0.0).sqrt();
                paint(center[0] - half, center[0] + half);
            }
            Form::Polygon(points) => {
                crossings.clear();
                let mut from = points[points.len() - 1];
                for &to in points {
                    if (from[1] <= y) != (to[1] <= y) {
                        crossings.push(from[0] + (y - from[1]) / (to[1] - from[1]) * (to[0] - from[0]));
                    }
                    from = to;
                }
                crossings.sort_unstable_by(f32::total_cmp);
                crossings.chunks_exact(2).for_each(|pair| paint(pair[0], pair[1]));
            }
        }
    }
}
