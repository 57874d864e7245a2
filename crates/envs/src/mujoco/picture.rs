//! A simulation as solids in space, and from where a task is looked at.

use super::library::{Array, Data, Geom};
use crate::{Camera, Color, Form, Scene3d, Solid};

/// From where a task is looked at. A camera keeps its distance to what it follows.
pub(super) struct View {
    /// The middle of the picture, relative to what is followed along each axis.
    pub target: [f64; 3],
    /// Along which axes the first body is followed.
    pub follow: [bool; 3],
    /// How far away the camera is.
    pub distance: f64,
    /// Where it stands around the target, in degrees: 0 looks along y, 90 against x.
    pub turn: f64,
    /// How high it stands above the target, in degrees.
    pub height: f64,
    /// The side of a square on the ground.
    pub tile: f32,
}

impl View {
    /// Beside a body that moves along x.
    pub const BESIDE: View = View {
        target: [0.0, 0.0, 0.75],
        follow: [true, false, false],
        distance: 2.9,
        turn: 18.0,
        height: 12.0,
        tile: 0.5,
    };
}

/// The angle that a picture's height spans: MuJoCo's, where a camera says nothing else.
const FIELD_OF_VIEW: f32 = 45.0;
/// The ground of locomotion, whose own colour is its texture's.
const GROUND: Color = [226, 230, 234];
/// White shapes of a material are those whose colour comes from a texture, which is this one in all models.
const UNPAINTED: Color = [204, 153, 102];
/// A plane with longer sides has no end that anybody sees.
const ENDLESS: f64 = 5.0;

/// MuJoCo's numbers of the kinds of shapes.
mod kind {
    pub const PLANE: i32 = 0;
    pub const SPHERE: i32 = 2;
    pub const CAPSULE: i32 = 3;
    pub const ELLIPSOID: i32 = 4;
    pub const CYLINDER: i32 = 5;
    pub const BOX: i32 = 6;
}

/// What a simulation looks like.
pub(super) fn draw(data: &Data, view: &View) -> Scene3d {
    let body = data.body(1);
    let target: [f64; 3] = std::array::from_fn(|i| view.target[i] + if view.follow[i] { body[i] } else { 0.0 });
    let ((turn_sin, turn_cos), (height_sin, height_cos)) =
        (view.turn.to_radians().sin_cos(), view.height.to_radians().sin_cos());
    let away = [turn_sin * height_cos, -turn_cos * height_cos, height_sin];
    let position = std::array::from_fn(|i| (target[i] + view.distance * away[i]) as f32);
    let (places, turns) = (data.get(Array::GeomXpos), data.get(Array::GeomXmat));
    let placed = places.chunks_exact(3).zip(turns.chunks_exact(9));
    let solids = data.model().geoms().iter().zip(placed);
    Scene3d {
        camera: Camera {
            position,
            target: target.map(|x| x as f32),
            field_of_view: FIELD_OF_VIEW,
        },
        solids: solids
            .filter(|(geom, _)| geom.rgba[3] > 0.0)
            .filter_map(|(geom, (place, turn))| {
                Some(Solid {
                    form: form(geom, view.tile)?,
                    center: [0, 1, 2].map(|i| place[i] as f32),
                    // A direction of its own frame is a column of the matrix.
                    axes: [0, 1, 2].map(|column| [0, 1, 2].map(|row| turn[3 * row + column] as f32)),
                    color: color(geom),
                })
            })
            .collect(),
    }
}

/// The form of a shape; `None` of kinds that are not drawn, such as meshes.
fn form(geom: &Geom, tile: f32) -> Option<Form> {
    let [a, b, c] = geom.size.map(|size| size as f32);
    let endless = |half: f64| match half == 0.0 || half > ENDLESS {
        true => f32::INFINITY,
        false => half as f32,
    };
    Some(match geom.kind {
        kind::PLANE => Form::Plane {
            half: [endless(geom.size[0]), endless(geom.size[1])],
            tile,
        },
        kind::SPHERE => Form::Sphere { radius: a },
        kind::CAPSULE => Form::Capsule {
            radius: a,
            half_length: b,
        },
        kind::ELLIPSOID => Form::Ellipsoid { radii: [a, b, c] },
        kind::CYLINDER => Form::Cylinder {
            radius: a,
            half_length: b,
        },
        kind::BOX => Form::Box { half: [a, b, c] },
        _ => return None,
    })
}

fn color(geom: &Geom) -> Color {
    let [red, green, blue, _] = geom.rgba;
    let own = [red, green, blue].map(|x| (x.clamp(0.0, 1.0) * 255.0) as u8);
    match geom.kind == kind::PLANE {
        true => GROUND,
        false if own == [255; 3] && geom.material.is_some() => UNPAINTED,
        false => own,
    }
}
