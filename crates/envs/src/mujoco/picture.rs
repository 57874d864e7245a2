//! A simulation as flat shapes: its geometry projected onto a plane, from the side or from above.

use super::library::{Array, Data, Geom};
use crate::{Color, Scene};

/// From where a task is looked at.
pub(super) struct View {
    /// The two world axes of the picture, to the right and up.
    axes: [usize; 2],
    /// The middle of the picture, relative to what is followed.
    center: [f32; 2],
    /// Half its width and height.
    half: [f32; 2],
    /// Which axes of the picture follow the first body.
    follow: [bool; 2],
}

impl View {
    /// From the side, x to the right and z up, moving along with the first body.
    pub const fn side(height: f32, half: [f32; 2]) -> Self {
        View {
            axes: [0, 2],
            center: [0.0, height],
            half,
            follow: [true, false],
        }
    }

    /// From above, x to the right and y up.
    pub const fn top(center: [f32; 2], half: [f32; 2], follow: bool) -> Self {
        View {
            axes: [0, 1],
            center,
            half,
            follow: [follow; 2],
        }
    }

    /// The axis that the picture leaves out, and whether larger values are nearer to the eye.
    fn depth(&self) -> (usize, f64) {
        match self.axes {
            [0, 1] => (2, 1.0),
            _ => (1, -1.0),
        }
    }
}

const GROUND: Color = [222, 226, 230];
const MARK: Color = [173, 181, 189];
/// White shapes are those whose colour comes from a texture, which is this one in all models.
const UNPAINTED: Color = [204, 153, 102];

/// MuJoCo's numbers of the kinds of shapes.
mod kind {
    pub const PLANE: i32 = 0;
    pub const CAPSULE: i32 = 3;
    pub const CYLINDER: i32 = 5;
    pub const BOX: i32 = 6;
}

/// What a simulation looks like.
pub(super) fn draw(data: &Data, view: &View) -> Scene {
    let followed = data.body(1);
    let middle: [f32; 2] = std::array::from_fn(|i| {
        let moved = if view.follow[i] {
            followed[view.axes[i]] as f32
        } else {
            0.0
        };
        view.center[i] + moved
    });
    let mut scene = Scene::new(
        [middle[0] - view.half[0], middle[1] - view.half[1]],
        [middle[0] + view.half[0], middle[1] + view.half[1]],
    );
    let geoms = data.model().geoms();
    for (i, _) in geoms.iter().enumerate().filter(|(_, geom)| geom.kind == kind::PLANE) {
        ground(&mut scene, view, data.get(Array::GeomXpos)[3 * i + 2] as f32);
    }
    let (depth, sign) = view.depth();
    let mut order: Vec<usize> = (0..geoms.len())
        .filter(|&i| geoms[i].kind != kind::PLANE && geoms[i].rgba[3] > 0.0)
        .collect();
    let nearness = |i: &usize| sign * data.get(Array::GeomXpos)[3 * i + depth];
    order.sort_by(|a, b| nearness(a).total_cmp(&nearness(b)));
    for i in order {
        let position = &data.get(Array::GeomXpos)[3 * i..][..3];
        let matrix = &data.get(Array::GeomXmat)[9 * i..][..9];
        shape(&mut scene, view, &geoms[i], position, matrix);
    }
    scene
}

/// The floor, with a mark at every unit of length, so that movement can be seen.
fn ground(scene: &mut Scene, view: &View, height: f32) {
    let (low, high) = (scene.low, scene.high);
    let top = if view.axes == [0, 1] { high[1] } else { height };
    scene.polygon(&[low, [low[0], top], [high[0], top], [high[0], low[1]]], GROUND);
    let width = 0.01 * (high[0] - low[0]);
    for x in (low[0].ceil() as i64..=high[0].floor() as i64).map(|x| x as f32) {
        scene.line([x, top], [x, low[1]], width, MARK);
    }
}

/// One shape; a direction of its own frame is a column of the matrix.
fn shape(scene: &mut Scene, view: &View, geom: &Geom, position: &[f64], matrix: &[f64]) {
    let [a, b] = view.axes;
    let at = [position[a] as f32, position[b] as f32];
    let column = |i: usize, length: f64| [(matrix[3 * a + i] * length) as f32, (matrix[3 * b + i] * length) as f32];
    let [red, green, blue, _] = geom.rgba;
    let color = match [red, green, blue].map(|x| (x.clamp(0.0, 1.0) * 255.0) as u8) {
        [255, 255, 255] => UNPAINTED,
        color => color,
    };
    let radius = geom.size[0] as f32;
    let plus = |p: [f32; 2], q: [f32; 2]| [p[0] + q[0], p[1] + q[1]];
    let minus = |p: [f32; 2], q: [f32; 2]| [p[0] - q[0], p[1] - q[1]];
    let axis = column(2, geom.size[1]);
    let length = axis[0].hypot(axis[1]);
    match geom.kind {
        kind::CAPSULE if length > 1e-6 => scene.line(minus(at, axis), plus(at, axis), 2.0 * radius, color),
        kind::CYLINDER if length > radius => {
            let side = [-axis[1] / length * radius, axis[0] / length * radius];
            let (from, to) = (minus(at, axis), plus(at, axis));
            scene.polygon(
                &[minus(from, side), minus(to, side), plus(to, side), plus(from, side)],
                color,
            );
        }
        kind::BOX => {
            // Three faces of a box cover its picture, whatever its orientation; the hidden ones lie behind them.
            let sides = [0, 1, 2].map(|i| column(i, geom.size[i]));
            for (i, j, k) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
                for center in [minus(at, sides[k]), plus(at, sides[k])] {
                    let (p, q) = (plus(sides[i], sides[j]), minus(sides[i], sides[j]));
                    scene.polygon(
                        &[plus(center, p), plus(center, q), minus(center, p), minus(center, q)],
                        color,
                    );
                }
            }
        }
        _ => scene.circle(at, radius, color),
    }
}
