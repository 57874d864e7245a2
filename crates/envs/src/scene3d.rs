//! What an environment looks like in space: a few solids and an eye, for anyone who can draw them.

use crate::Color;

/// The form of a solid in its own frame, whose origin is its middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// A flat ground with squares of two shades, seen from its own z.
    Plane {
        /// Half its sides; infinite ones for ground without an end.
        half: [f32; 2],
        /// The side of a square.
        tile: f32,
    },
    /// A ball.
    Sphere {
        /// Its radius.
        radius: f32,
    },
    /// A cylinder along its own z with a half ball at each end.
    Capsule {
        /// The radius of all three.
        radius: f32,
        /// Half the length of the cylinder.
        half_length: f32,
    },
    /// A ball that is stretched along its own axes.
    Ellipsoid {
        /// Half its diameter along each.
        radii: [f32; 3],
    },
    /// A cylinder along its own z with flat ends.
    Cylinder {
        /// Its radius.
        radius: f32,
        /// Half its length.
        half_length: f32,
    },
    /// A box along its own axes.
    Box {
        /// Half its sides.
        half: [f32; 3],
    },
}

/// A form at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solid {
    /// What it is.
    pub form: Form,
    /// Where its middle is.
    pub center: [f32; 3],
    /// The directions of its own x, y and z: unit vectors at right angles.
    pub axes: [[f32; 3]; 3],
    /// Its colour.
    pub color: Color,
}

/// The eye: z is up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it is.
    pub position: [f32; 3],
    /// What it looks at: the middle of the picture. It must not be right above or below.
    pub target: [f32; 3],
    /// The angle that the picture's height spans, in degrees.
    pub field_of_view: f32,
}

/// What an environment shows now in space. Light and sky are the drawer's.
///
/// ```
/// use epgt_envs::{Camera, Form, Scene3d, Solid};
/// let camera = Camera { position: [0.0, -4.0, 1.0], target: [0.0; 3], field_of_view: 45.0 };
/// let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// let ball = Solid { form: Form::Sphere { radius: 0.5 }, center: [0.0; 3], axes, color: [200, 0, 0] };
/// let scene = Scene3d { camera, solids: vec![ball] };
/// assert_eq!(scene.solids.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scene3d {
    /// From where it is seen.
    pub camera: Camera,
    /// What is seen.
    pub solids: Vec<Solid>,
}
