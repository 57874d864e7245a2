//! Solids to pixels: one ray through each pixel, met with each solid by its equation.
//!
//! A ray is tried only against solids whose outline may hold its pixel. Where neighbouring pixels show different
//! surfaces, nine rays take the place of one, so that edges are smooth. The light comes from the sky, from the ground,
//! and from one lamp, whose shadows on a plane are drawn once per picture into a map of that plane and blurred. All is
//! computed in the light's own measure, of which a colour is the square root.

use std::ops::Range;

use epgt_envs::{Camera, Color, Form, Scene3d};

use crate::Image;
use crate::intersect::Body;
use crate::vector::Vector;

/// Rays per side of a pixel on an edge.
const FINE: usize = 3;
/// Squares per side of a map of shadows.
const MAP: usize = 192;

/// Where the lamp is: to the left, behind the eye of one who looks along y, and high.
const LAMP: Vector = Vector([-0.6, -0.3, 0.7416]);
const LAMP_LIGHT: f32 = 0.72;
/// What a surface gets from above and from below.
const SKY_LIGHT: Vector = Vector([0.40, 0.42, 0.46]);
const GROUND_LIGHT: Vector = Vector([0.17, 0.16, 0.15]);
/// How much of the lamp a shadow takes, and how much of the sky what stands close above.
const LAMP_SHADE: f32 = 0.8;
const SKY_SHADE: f32 = 0.6;
/// How far the edges of both are blurred, for an eye that is one away.
const LAMP_BLUR: f32 = 0.007;
const SKY_BLUR: f32 = 0.022;

/// The sky from the horizon up, and what is below it where there is no ground; in light.
const HORIZON: Vector = Vector([0.88, 0.91, 0.94]);
const ZENITH: Vector = Vector([0.30, 0.46, 0.70]);
const NADIR: Vector = Vector([0.62, 0.65, 0.70]);

/// Draws a scene in space into an image of this size. Solids that are not finite are left out.
///
/// ```
/// use epgt_envs::{Camera, Form, Scene3d, Solid};
/// let camera = Camera { position: [0.0, -4.0, 0.0], target: [0.0; 3], field_of_view: 45.0 };
/// let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// let ball = Solid { form: Form::Sphere { radius: 0.5 }, center: [0.0; 3], axes, color: [200, 0, 0] };
/// let image = epgt_render::draw_3d(&Scene3d { camera, solids: vec![ball] }, 80, 60);
/// let [red, green, blue] = image.pixel(40, 30);
/// assert!(red > 100 && green < 60 && blue < 60);
/// ```
pub fn draw_3d(scene: &Scene3d, width: usize, height: usize) -> Image {
    let view = View::new(scene, width, height);
    let mut surfaces = vec![Surface::NONE; width * height];
    view.find(&mut surfaces);
    let mut image = Image::new(width, height, [0; 3]);
    for y in 0..height {
        for (x, pixel) in image.row_mut(y).iter_mut().enumerate() {
            let i = y * width + x;
            let shown = surfaces[i].id;
            let differs = |is_there: bool, other: usize| is_there && surfaces[other].id != shown;
            let is_edge = differs(x > 0, i.wrapping_sub(1))
                || differs(x + 1 < width, i + 1)
                || differs(y > 0, i.wrapping_sub(width))
                || differs(y + 1 < height, i + width);
            let light = match is_edge {
                true => view.fine_light(x, y),
                false => view.light([x as f32 + 0.5, y as f32 + 0.5], &surfaces[i]),
            };
            *pixel = color(light);
        }
    }
    image
}

fn light_of(color: Color) -> Vector {
    Vector(color.map(|x| (f32::from(x) / 255.0).powi(2)))
}

fn color(light: Vector) -> Color {
    light.0.map(|x| (x.clamp(0.0, 1.0).sqrt() * 255.0 + 0.5) as u8)
}

/// What a ray meets first.
#[derive(Clone, Copy)]
struct Surface {
    distance: f32,
    normal: Vector,
    /// Which face of which solid; 0 is none.
    id: u32,
}

impl Surface {
    const NONE: Self = Surface {
        distance: f32::INFINITY,
        normal: Vector([0.0; 3]),
        id: 0,
    };
}

/// Where rays begin, and which way they go: in the world, or as a solid sees it.
#[derive(Clone, Copy)]
struct Eye {
    position: Vector,
    forward: Vector,
    /// One pixel to the right, and one down.
    right: Vector,
    down: Vector,
    middle: [f32; 2],
}

impl Eye {
    fn new(camera: &Camera, width: usize, height: usize) -> Self {
        let position = Vector(camera.position);
        let forward = (Vector(camera.target) - position).unit();
        let right = forward.cross(Vector([0.0, 0.0, 1.0])).unit();
        let pixel = 2.0 * (camera.field_of_view.to_radians() / 2.0).tan() / height as f32;
        Self {
            position,
            forward,
            right: right * pixel,
            down: forward.cross(right) * pixel,
            middle: [width as f32 / 2.0, height as f32 / 2.0],
        }
    }

    /// The direction of the ray through a place of the image.
    #[inline]
    fn ray(&self, [x, y]: [f32; 2]) -> Vector {
        self.forward + self.right * (x - self.middle[0]) + self.down * (y - self.middle[1])
    }

    /// The same eye in a solid's own frame.
    fn seen_by(&self, body: &Body) -> Self {
        Self {
            position: body.local(self.position),
            forward: body.turned(self.forward),
            right: body.turned(self.right),
            down: body.turned(self.down),
            middle: self.middle,
        }
    }

    /// The columns and rows of the image that may show a ball.
    fn outline(&self, center: Vector, radius: f32, width: usize, height: usize) -> [Range<usize>; 2] {
        let relative = center - self.position;
        let depth = relative.dot(self.forward);
        if depth <= radius * 1.001 {
            return match depth < -radius {
                true => [0..0, 0..0],
                false => [0..width, 0..height],
            };
        }
        let range = |axis: Vector, middle: f32, length: usize| {
            let pixel = axis.length();
            let place = relative.dot(axis) / pixel;
            // The sides of a box around the ball, at its nearer or its farther end.
            let at = |place: f32, outward: f32| {
                let ends = [place / (depth - radius), place / (depth + radius)];
                middle + outward * (outward * ends[0]).max(outward * ends[1]) / pixel
            };
            let limit = |place: f32| place.clamp(0.0, length as f32) as usize;
            limit(at(place - radius, -1.0).floor() - 1.0)..limit(at(place + radius, 1.0).ceil() + 1.0)
        };
        [
            range(self.right, self.middle[0], width),
            range(self.down, self.middle[1], height),
        ]
    }
}

/// A solid as the eye sees it.
struct Seen {
    body: Body,
    /// In the solid's own frame.
    eye: Eye,
    columns: Range<usize>,
    rows: Range<usize>,
    light: Vector,
}

/// A plane with what is drawn on it.
struct Ground {
    body: Body,
    /// In the plane's own frame.
    eye: Eye,
    tile: f32,
    /// The light of its squares.
    light: [Vector; 2],
    /// How the lamp falls onto it.
    facing: f32,
    lamp: Option<Shadows>,
    sky: Option<Shadows>,
}

struct View {
    eye: Eye,
    width: usize,
    height: usize,
    solids: Vec<Seen>,
    grounds: Vec<Ground>,
    /// The square of the distance at which the air hides half of what is there.
    haze: f32,
}

impl View {
    fn new(scene: &Scene3d, width: usize, height: usize) -> Self {
        let eye = Eye::new(&scene.camera, width, height);
        let bodies: Vec<Body> = scene.solids.iter().filter_map(Body::new).collect();
        let is_plane = |body: &&Body| matches!(body.form(), Form::Plane { .. });
        let standing: Vec<Body> = bodies.iter().filter(|body| !is_plane(body)).copied().collect();
        let reach = (Vector(scene.camera.target) - eye.position).length();
        let grounds = bodies.iter().filter(is_plane).filter_map(|body| {
            let Form::Plane { tile, .. } = body.form() else {
                return None;
            };
            let light = light_of(body.color);
            Some(Ground {
                eye: eye.seen_by(body),
                tile,
                light: [light, light * 0.76],
                facing: body.turned(LAMP).0[2].max(0.0),
                lamp: Shadows::new(body, &standing, body.turned(LAMP), LAMP_BLUR * reach),
                sky: Shadows::new(body, &standing, Vector([0.0, 0.0, 1.0]), SKY_BLUR * reach),
                body: *body,
            })
        });
        let grounds = grounds.collect();
        let seen = |body: &Body| {
            let (ends, radius) = body.spine();
            let [one, other] = ends.map(|end| eye.outline(end, radius, width, height));
            let both = |i: usize| one[i].start.min(other[i].start)..one[i].end.max(other[i].end);
            Seen {
                eye: eye.seen_by(body),
                columns: both(0),
                rows: both(1),
                light: light_of(body.color),
                body: *body,
            }
        };
        Self {
            solids: standing.iter().map(seen).collect(),
            grounds,
            haze: (8.0 * reach).powi(2),
            eye,
            width,
            height,
        }
    }

    /// What the middle of each pixel shows.
    fn find(&self, surfaces: &mut [Surface]) {
        let middle = |x: usize, y: usize| [x as f32 + 0.5, y as f32 + 0.5];
        for (number, solid) in self.solids.iter().enumerate() {
            for y in solid.rows.clone() {
                let row = &mut surfaces[y * self.width..][..self.width];
                for x in solid.columns.clone() {
                    solid.meet(number, middle(x, y), &mut row[x]);
                }
            }
        }
        for (number, ground) in self.grounds.iter().enumerate() {
            for y in 0..self.height {
                for (x, surface) in surfaces[y * self.width..][..self.width].iter_mut().enumerate() {
                    ground.meet(self.solids.len() + number, middle(x, y), surface);
                }
            }
        }
    }

    /// The mean of several rays through a pixel.
    fn fine_light(&self, x: usize, y: usize) -> Vector {
        let mut sum = Vector([0.0; 3]);
        for k in 0..FINE * FINE {
            let place = |pixel: usize, k: usize| pixel as f32 + (k as f32 + 0.5) / FINE as f32;
            let place = [place(x, k % FINE), place(y, k / FINE)];
            let mut surface = Surface::NONE;
            for (number, solid) in self.solids.iter().enumerate() {
                if solid.columns.contains(&x) && solid.rows.contains(&y) {
                    solid.meet(number, place, &mut surface);
                }
            }
            for (number, ground) in self.grounds.iter().enumerate() {
                ground.meet(self.solids.len() + number, place, &mut surface);
            }
            sum = sum + self.light(place, &surface);
        }
        sum * (1.0 / (FINE * FINE) as f32)
    }

    /// The light that comes from a surface to a place of the image.
    fn light(&self, place: [f32; 2], surface: &Surface) -> Vector {
        let direction = self.eye.ray(place);
        if surface.id == 0 {
            return sky(direction);
        }
        let number = (surface.id / Seen::FACES) as usize;
        match self.solids.get(number) {
            Some(solid) => lit(solid.light, direction, surface.normal),
            None => {
                let ground = &self.grounds[number - self.solids.len()];
                let near = ground.light(place);
                let far = surface.distance * surface.distance * direction.dot(direction);
                near.mixed(HORIZON, far / (far + self.haze))
            }
        }
    }
}

impl Seen {
    /// Numbers that the faces of a solid may take.
    const FACES: u32 = 8;

    #[inline]
    fn meet(&self, number: usize, place: [f32; 2], surface: &mut Surface) {
        if let Some(hit) = self.body.meet(self.eye.position, self.eye.ray(place))
            && hit.distance < surface.distance
        {
            *surface = Surface {
                distance: hit.distance,
                normal: hit.normal,
                id: number as u32 * Self::FACES + u32::from(hit.face) + 1,
            };
        }
    }
}

/// The light of a surface of this colour, seen along a direction.
fn lit(color: Vector, direction: Vector, normal: Vector) -> Vector {
    let around = GROUND_LIGHT.mixed(SKY_LIGHT, 0.5 + 0.5 * normal.0[2]);
    let facing = normal.dot(LAMP).max(0.0);
    // Blinn's highlight, to the 32nd power.
    let half = (LAMP - direction.unit()).unit();
    let shine = (0..5).fold(normal.dot(half).max(0.0), |x, _| x * x);
    let gloss = Vector([1.0; 3]) * (0.12 * shine * facing.min(1.0));
    color.times(around + Vector([1.0, 0.97, 0.92]) * (LAMP_LIGHT * facing)) + gloss
}

fn sky(direction: Vector) -> Vector {
    let height = direction.0[2] / direction.length();
    match height > 0.0 {
        true => HORIZON.mixed(ZENITH, (1.5 * height).min(1.0)),
        false => HORIZON.mixed(NADIR, (-2.0 * height).min(1.0)),
    }
}

impl Ground {
    #[inline]
    fn meet(&self, number: usize, place: [f32; 2], surface: &mut Surface) {
        let hit = self.body.meet(self.eye.position, self.eye.ray(place));
        if let Some(hit) = hit.filter(|hit| hit.distance < surface.distance) {
            *surface = Surface {
                distance: hit.distance,
                normal: hit.normal,
                id: number as u32 * Seen::FACES + 1,
            };
        }
    }

    /// The light at the place of the plane that a place of the image shows, with the squares inside of a pixel averaged.
    fn light(&self, place: [f32; 2]) -> Vector {
        let ray = self.eye.ray(place);
        let met = |ray: Vector| {
            let distance = -self.eye.position.0[2] / ray.0[2];
            [0, 1].map(|i| self.eye.position.0[i] + distance * ray.0[i])
        };
        let at = met(ray);
        let beside = [self.eye.right, self.eye.down].map(|step| met(ray + step));
        // The mean of a wave of squares over a stretch of it, one axis after the other.
        let wave = |i: usize| {
            let wide = (beside[0][i] - at[i]).abs().max((beside[1][i] - at[i]).abs()) / self.tile;
            let wide = wide.clamp(1e-3, 1e3);
            let sum = |x: f32| {
                let turns = 0.5 * x;
                // What follows the point; the function `floor` is slow where the processor has none.
                let rest = turns - (turns as i32) as f32;
                ((if rest < 0.0 { rest + 1.0 } else { rest }) - 0.5).abs()
            };
            let place = at[i] / self.tile;
            2.0 * (sum(place - 0.5 * wide) - sum(place + 0.5 * wide)) / wide
        };
        let share = 0.5 - 0.5 * wave(0) * wave(1);
        let color = self.light[0].mixed(self.light[1], share);
        let dark = |shadows: &Option<Shadows>| shadows.as_ref().map_or(0.0, |shadows| shadows.at(at));
        let lamp = LAMP_LIGHT * self.facing * (1.0 - LAMP_SHADE * dark(&self.lamp));
        color.times(SKY_LIGHT * (1.0 - SKY_SHADE * dark(&self.sky)) + Vector([lamp; 3]))
    }
}

/// How much of a light is hidden at each place of a plane: a map of the part of it that has shadows.
struct Shadows {
    low: [f32; 2],
    /// The sides of a square of the map.
    side: [f32; 2],
    dark: Vec<f32>,
}

impl Shadows {
    /// The shadows of these solids on a plane in a light from this direction, which the plane sees; their edges are
    /// blurred over about this length.
    fn new(plane: &Body, solids: &[Body], lamp: Vector, blur: f32) -> Option<Self> {
        if lamp.0[2] < 0.1 {
            return None;
        }
        let slope = [lamp.0[0] / lamp.0[2], lamp.0[1] / lamp.0[2]];
        // Where the shadow of each solid lies.
        let rectangle = |body: &Body| {
            let (ends, radius) = body.spine();
            let ends = ends.map(|end| plane.local(end));
            let sides = [0, 1].map(|i| {
                let place = |end: &Vector| end.0[i] - slope[i] * end.0[2];
                let stretched = radius * (1.0 + slope[i] * slope[i]).sqrt();
                let (a, b) = (place(&ends[0]), place(&ends[1]));
                (a.min(b) - stretched, a.max(b) + stretched)
            });
            let above = ends.iter().any(|end| end.0[2] + radius > 0.0);
            above.then_some(sides)
        };
        let cast: Vec<_> = solids
            .iter()
            .filter_map(|body| Some((body, rectangle(body)?)))
            .collect();
        let edge = |i: usize| {
            let low = cast.iter().map(|(_, sides)| sides[i].0).fold(f32::INFINITY, f32::min);
            let high = cast
                .iter()
                .map(|(_, sides)| sides[i].1)
                .fold(f32::NEG_INFINITY, f32::max);
            let margin = 3.0 * blur;
            (low - margin, (high - low + 2.0 * margin) / MAP as f32)
        };
        let edges = [edge(0), edge(1)];
        let (low, side) = (edges.map(|edge| edge.0), edges.map(|edge| edge.1));
        if !(low.iter().chain(&side).all(|x| x.is_finite()) && side.iter().all(|&side| side > 0.0)) {
            return None;
        }
        let mut map = Self {
            low,
            side,
            dark: vec![0.0; MAP * MAP],
        };
        for (body, sides) in cast {
            map.cast(plane, body, plane.turned_back(lamp), sides);
        }
        for (side, stride) in side.into_iter().zip([(1, MAP), (MAP, 1)]) {
            let reach = (blur / side).round().clamp(1.0, MAP as f32 / 8.0) as usize;
            map.blur(reach, stride);
            map.blur(reach, stride);
        }
        Some(map)
    }

    /// Draws the shadow of one solid. What is high above its shadow gives a light one.
    fn cast(&mut self, plane: &Body, body: &Body, lamp: Vector, sides: [(f32, f32); 2]) {
        let square = |i: usize, place: f32| ((place - self.low[i]) / self.side[i]).clamp(0.0, MAP as f32) as usize;
        let columns = square(0, sides[0].0)..square(0, sides[0].1 + self.side[0]);
        let rows = square(1, sides[1].0)..square(1, sides[1].1 + self.side[1]);
        // Rays begin so far below the plane that none begins inside of the solid.
        let back = 4.0 * body.radius() + 1.0;
        let lamp = body.turned(lamp);
        let softness = 1.0 / (self.side[0] * MAP as f32 * 0.4).powi(2);
        for y in rows {
            for x in columns.clone() {
                let middle = |i: usize, k: usize| self.low[i] + (k as f32 + 0.5) * self.side[i];
                let place = plane.place(Vector([middle(0, x), middle(1, y), 0.0]));
                let origin = body.local(place) - lamp * back;
                if let Some(hit) = body.meet(origin, lamp) {
                    let high = (hit.distance - back).max(0.0);
                    let dark = 1.0 / (1.0 + high * high * softness);
                    let square = &mut self.dark[y * MAP + x];
                    *square = square.max(dark);
                }
            }
        }
    }

    /// Makes every square the mean of those up to `reach` before and after it in its line; squares of a line are
    /// `stride.0` apart, and lines `stride.1`.
    fn blur(&mut self, reach: usize, stride: (usize, usize)) {
        let mut line = [0.0; MAP];
        for k in 0..MAP {
            let start = k * stride.1;
            (0..MAP).for_each(|i| line[i] = self.dark[start + i * stride.0]);
            let mut sum: f32 = line[..reach].iter().sum();
            for i in 0..MAP {
                sum += line.get(i + reach).unwrap_or(&0.0);
                self.dark[start + i * stride.0] = sum / (2 * reach + 1) as f32;
                sum -= i.checked_sub(reach).map_or(0.0, |i| line[i]);
            }
        }
    }

    /// Between the middles of four squares; none outside of the map.
    fn at(&self, place: [f32; 2]) -> f32 {
        let [x, y] = [0, 1].map(|i| (place[i] - self.low[i]) / self.side[i] - 0.5);
        let last = (MAP - 1) as f32;
        if !(x >= 0.0 && y >= 0.0 && x < last && y < last) {
            return 0.0;
        }
        let (i, j) = (x as usize, y as usize);
        let (u, v) = (x - i as f32, y - j as f32);
        let row = |j: usize| self.dark[j * MAP + i] * (1.0 - u) + self.dark[j * MAP + i + 1] * u;
        row(j) * (1.0 - v) + row(j + 1) * v
    }
}
