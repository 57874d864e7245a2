//! What an environment looks like: a few flat shapes in its own coordinates, for anyone who can draw them.

/// Red, green, blue.
pub type Color = [u8; 3];

/// A flat shape in world coordinates (x to the right, y up).
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A filled polygon.
    Polygon {
        /// Its corners.
        points: Vec<[f32; 2]>,
        /// Its colour.
        fill: Color,
    },
    /// A filled disc.
    Circle {
        /// Its centre.
        center: [f32; 2],
        /// Its radius.
        radius: f32,
        /// Its colour.
        fill: Color,
    },
    /// A line with round ends.
    Line {
        /// Where it begins.
        from: [f32; 2],
        /// Where it ends.
        to: [f32; 2],
        /// How thick it is.
        width: f32,
        /// Its colour.
        color: Color,
    },
}

/// What an environment shows now: shapes from back to front, and the part of the world that is seen.
///
/// ```
/// use epgt_envs::{Scene, Shape};
/// let mut scene = Scene::new([-1.0, -1.0], [1.0, 1.0]);
/// scene.circle([0.0, 0.0], 0.5, [200, 0, 0]);
/// assert_eq!(scene.shapes.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The corner of the seen part with the smallest coordinates.
    pub low: [f32; 2],
    /// The corner with the largest.
    pub high: [f32; 2],
    /// What is seen where no shape is.
    pub background: Color,
    /// From back to front.
    pub shapes: Vec<Shape>,
}

impl Scene {
    /// An empty white scene of this part of the world.
    pub fn new(low: [f32; 2], high: [f32; 2]) -> Self {
        Self {
            low,
            high,
            background: [255, 255, 255],
            shapes: Vec::new(),
        }
    }

    /// Adds a filled polygon.
    pub fn polygon(&mut self, points: &[[f32; 2]], fill: Color) {
        self.shapes.push(Shape::Polygon {
            points: points.to_vec(),
            fill,
        });
    }

    /// Adds a filled disc.
    pub fn circle(&mut self, center: [f32; 2], radius: f32, fill: Color) {
        self.shapes.push(Shape::Circle { center, radius, fill });
    }

    /// Adds a line.
    pub fn line(&mut self, from: [f32; 2], to: [f32; 2], width: f32, color: Color) {
        self.shapes.push(Shape::Line { from, to, width, color });
    }

    /// Adds a rectangle with the corners `low` and `high` around its own origin, which lies at `at` and is turned by
    /// `angle` (counter-clockwise).
    ///
    /// ```
    /// use epgt_envs::{Scene, Shape};
    /// let mut scene = Scene::new([-1.0, -1.0], [1.0, 1.0]);
    /// scene.rectangle([0.5, 0.0], 0.0, [0.0, -0.1], [0.4, 0.1], [0, 0, 0]);
    /// let Shape::Polygon { points, .. } = &scene.shapes[0] else { panic!() };
    /// assert_eq!(points[2], [0.9, 0.1]);
    /// ```
    pub fn rectangle(&mut self, at: [f32; 2], angle: f32, low: [f32; 2], high: [f32; 2], fill: Color) {
        let corners = [low, [low[0], high[1]], high, [high[0], low[1]]];
        self.polygon(&corners.map(|corner| turned(at, angle, corner)), fill);
    }
}

/// Where a point lies that is seen from `at` in a frame turned by `angle`.
fn turned(at: [f32; 2], angle: f32, [x, y]: [f32; 2]) -> [f32; 2] {
    let (sin, cos) = angle.sin_cos();
    [at[0] + x * cos - y * sin, at[1] + x * sin + y * cos]
}
