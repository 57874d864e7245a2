//! Where a ray meets a solid: equations of the second degree, and slabs.

use epgt_envs::{Form, Solid};

use crate::vector::Vector;

/// Where a ray meets a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hit {
    /// How far from the ray's origin, in lengths of its direction.
    pub distance: f32,
    /// Which way the surface faces there.
    pub normal: Vector,
    /// Which of the solid's smooth faces it is.
    pub face: u8,
}

/// A solid, prepared for rays that all begin at one point or all have one direction.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    form: Form,
    center: Vector,
    axes: [Vector; 3],
    pub color: [u8; 3],
}

impl Body {
    /// `None` where the solid cannot be drawn: it is not finite, or flat.
    pub fn new(solid: &Solid) -> Option<Self> {
        let body = Self {
            form: solid.form,
            center: Vector(solid.center),
            axes: solid.axes.map(Vector),
            color: solid.color,
        };
        let placed = body.center.is_finite() && body.axes.iter().all(|axis| axis.is_finite());
        (placed && body.radius() > 0.0).then_some(body)
    }

    /// The radius of the smallest ball around the middle that holds it; 0 where its sizes make no sense, infinite for a
    /// plane.
    pub fn radius(&self) -> f32 {
        let longest = |sizes: &[f32]| match sizes.iter().all(|&size| size > 0.0 && size.is_finite()) {
            true => Vector([sizes[0], *sizes.get(1).unwrap_or(&0.0), *sizes.get(2).unwrap_or(&0.0)]).length(),
            false => 0.0,
        };
        match self.form {
            Form::Plane { half, tile } => match half[0] > 0.0 && half[1] > 0.0 && tile > 0.0 {
                true => f32::INFINITY,
                false => 0.0,
            },
            Form::Sphere { radius } => longest(&[radius]),
            Form::Capsule { radius, half_length } => match radius > 0.0 && half_length >= 0.0 {
                true => (radius + half_length).min(f32::MAX),
                false => 0.0,
            },
            Form::Ellipsoid { radii } => match longest(&radii) {
                0.0 => 0.0,
                _ => radii[0].max(radii[1]).max(radii[2]),
            },
            Form::Cylinder { radius, half_length } => longest(&[radius, half_length]),
            Form::Box { half } => longest(&half),
        }
    }

    pub fn form(&self) -> Form {
        self.form
    }

    /// The ends of the line that the body is round about, and how thick it is there: a ball is round about its middle.
    pub fn spine(&self) -> ([Vector; 2], f32) {
        match self.form {
            Form::Capsule { radius, half_length } => {
                let along = self.axes[2] * half_length;
                ([self.center - along, self.center + along], radius)
            }
            _ => ([self.center; 2], self.radius()),
        }
    }

    /// A point as the body sees it.
    #[inline]
    pub fn local(&self, point: Vector) -> Vector {
        self.turned(point - self.center)
    }

    /// A direction as the body sees it.
    #[inline]
    pub fn turned(&self, direction: Vector) -> Vector {
        Vector(self.axes.map(|axis| axis.dot(direction)))
    }

    /// A direction of the body's own, as the world sees it.
    #[inline]
    pub fn turned_back(&self, Vector([x, y, z]): Vector) -> Vector {
        self.axes[0] * x + self.axes[1] * y + self.axes[2] * z
    }

    /// Where the world has a point of the body's own frame.
    pub fn place(&self, point: Vector) -> Vector {
        self.center + self.turned_back(point)
    }

    /// Where a ray first meets it from outside; `origin` and `direction` are in the body's own frame.
    #[inline]
    pub fn meet(&self, origin: Vector, direction: Vector) -> Option<Hit> {
        let (distance, normal, face) = match self.form {
            Form::Plane { half, .. } => plane(origin, direction, half),
            Form::Sphere { radius } => ball(origin, direction, radius),
            Form::Capsule { radius, half_length } => capsule(origin, direction, radius, half_length),
            Form::Ellipsoid { radii } => ellipsoid(origin, direction, radii),
            Form::Cylinder { radius, half_length } => cylinder(origin, direction, radius, half_length),
            Form::Box { half } => slabs(origin, direction, half),
        }?;
        (distance > 0.0).then(|| Hit {
            distance,
            normal: self.turned_back(normal),
            face,
        })
    }
}

/// Distance, normal in the body's own frame, and face.
type Met = Option<(f32, Vector, u8)>;

fn plane(origin: Vector, direction: Vector, half: [f32; 2]) -> Met {
    let distance = -origin.0[2] / direction.0[2];
    let point = origin + direction * distance;
    let inside = point.0[0].abs() <= half[0] && point.0[1].abs() <= half[1];
    (origin.0[2] > 0.0 && inside).then_some((distance, Vector([0.0, 0.0, 1.0]), 0))
}

/// The smaller root of a t^2 + 2 b t + c = 0.
#[inline]
fn nearer_root(a: f32, b: f32, c: f32) -> Option<f32> {
    let discriminant = b * b - a * c;
    (discriminant >= 0.0).then(|| (-b - discriminant.sqrt()) / a)
}

#[inline]
fn ball(origin: Vector, direction: Vector, radius: f32) -> Met {
    let c = origin.dot(origin) - radius * radius;
    let distance = nearer_root(direction.dot(direction), origin.dot(direction), c)?;
    Some((distance, (origin + direction * distance) * (1.0 / radius), 0))
}

/// A ball in a frame that is shrunk to it.
fn ellipsoid(origin: Vector, direction: Vector, radii: [f32; 3]) -> Met {
    let inverse = Vector(radii.map(|radius| 1.0 / radius));
    let (distance, normal, face) = ball(origin.times(inverse), direction.times(inverse), 1.0)?;
    Some((distance, normal.times(inverse).unit(), face))
}

/// Where a ray meets the mantle of an endless cylinder along z.
#[inline]
fn mantle(origin: Vector, direction: Vector, radius: f32) -> Option<f32> {
    let ([x, y, _], [u, v, _]) = (origin.0, direction.0);
    nearer_root(u * u + v * v, x * u + y * v, x * x + y * y - radius * radius)
}

#[inline]
fn capsule(origin: Vector, direction: Vector, radius: f32, half_length: f32) -> Met {
    // A ray along z runs beside the mantle or inside of it, and meets an end in any case.
    let side = mantle(origin, direction, radius).filter(|distance| distance.is_finite());
    if let Some(distance) = side {
        let [x, y, z] = (origin + direction * distance).0;
        if z.abs() <= half_length {
            return Some((distance, Vector([x / radius, y / radius, 0.0]), 0));
        }
    }
    let end = |height: f32| {
        let met = ball(origin - Vector([0.0, 0.0, height]), direction, radius)?;
        // The half of the ball that looks out of the cylinder.
        (met.1.0[2] * height.signum() >= 0.0).then_some(met)
    };
    match (end(half_length), end(-half_length)) {
        (Some(one), Some(other)) if other.0 < one.0 => Some(other),
        (one, other) => one.or(other),
    }
}

fn cylinder(origin: Vector, direction: Vector, radius: f32, half_length: f32) -> Met {
    let side = mantle(origin, direction, radius).filter(|distance| distance.is_finite());
    if let Some(distance) = side {
        let [x, y, z] = (origin + direction * distance).0;
        if z.abs() <= half_length {
            return Some((distance, Vector([x / radius, y / radius, 0.0]), 0));
        }
    }
    // The end that faces the ray.
    let up = -direction.0[2].signum();
    let distance = (up * half_length - origin.0[2]) / direction.0[2];
    let [x, y, _] = (origin + direction * distance).0;
    (x * x + y * y <= radius * radius).then_some((distance, Vector([0.0, 0.0, up]), if up > 0.0 { 1 } else { 2 }))
}

fn slabs(origin: Vector, direction: Vector, half: [f32; 3]) -> Met {
    let (mut enter, mut leave, mut axis) = (f32::NEG_INFINITY, f32::INFINITY, 0);
    for (i, half) in half.into_iter().enumerate() {
        let (o, d) = (origin.0[i], direction.0[i]);
        if d == 0.0 {
            // It runs along these two sides: between them, or past them.
            if o.abs() > half {
                return None;
            }
            continue;
        }
        let near = (-half * d.signum() - o) / d;
        let far = (half * d.signum() - o) / d;
        if near > enter {
            (enter, axis) = (near, i);
        }
        leave = leave.min(far);
    }
    let mut normal = [0.0; 3];
    normal[axis] = -direction.0[axis].signum();
    let face = 2 * axis as u8 + u8::from(normal[axis] > 0.0);
    (enter <= leave && enter.is_finite()).then_some((enter, Vector(normal), face))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPRIGHT: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    /// Where a ray meets a form in its own frame: the distance and the normal.
    fn met(form: Form, origin: [f32; 3], direction: [f32; 3]) -> Option<(f32, [f32; 3])> {
        let body = Body::new(&Solid {
            form,
            center: [0.0; 3],
            axes: UPRIGHT,
            color: [0; 3],
        })
        .expect("a solid");
        let hit = body.meet(Vector(origin), Vector(direction))?;
        Some((hit.distance, hit.normal.0))
    }

    #[track_caller]
    fn assert_met(found: Option<(f32, [f32; 3])>, distance: f32, normal: [f32; 3]) {
        let (at, facing) = found.expect("a hit");
        assert!((at - distance).abs() < 1e-5, "{at} instead of {distance}");
        let off = (Vector(facing) - Vector(normal)).length();
        assert!(off < 1e-5, "{facing:?} instead of {normal:?}");
    }

    #[test]
    fn a_ray_meets_a_ball_where_pythagoras_says() {
        let ball = Form::Sphere { radius: 5.0 };
        assert_met(met(ball, [-10.0, 0.0, 3.0], [1.0, 0.0, 0.0]), 6.0, [-0.8, 0.0, 0.6]);
        // Twice the direction, half the distance.
        assert_met(met(ball, [-10.0, 0.0, 3.0], [2.0, 0.0, 0.0]), 3.0, [-0.8, 0.0, 0.6]);
        assert_eq!(met(ball, [-10.0, 0.0, 5.01], [1.0, 0.0, 0.0]), None);
        assert_eq!(met(ball, [10.0, 0.0, 0.0], [1.0, 0.0, 0.0]), None, "behind the ray");
    }

    #[test]
    fn a_capsule_is_a_cylinder_with_half_a_ball_at_each_end() {
        let capsule = Form::Capsule {
            radius: 1.0,
            half_length: 2.0,
        };
        assert_met(met(capsule, [-5.0, 0.0, 1.9], [1.0, 0.0, 0.0]), 4.0, [-1.0, 0.0, 0.0]);
        assert_met(met(capsule, [-5.0, 0.0, 2.6], [1.0, 0.0, 0.0]), 4.2, [-0.8, 0.0, 0.6]);
        assert_met(met(capsule, [-5.0, 0.0, -2.6], [1.0, 0.0, 0.0]), 4.2, [-0.8, 0.0, -0.6]);
        assert_met(met(capsule, [0.0, 0.0, 9.0], [0.0, 0.0, -1.0]), 6.0, [0.0, 0.0, 1.0]);
        assert_met(met(capsule, [0.6, 0.0, -9.0], [0.0, 0.0, 1.0]), 6.2, [0.6, 0.0, -0.8]);
        assert_eq!(met(capsule, [-5.0, 0.0, 3.01], [1.0, 0.0, 0.0]), None);
        assert_eq!(met(capsule, [1.01, 0.0, 9.0], [0.0, 0.0, -1.0]), None);
    }

    #[test]
    fn a_cylinder_has_flat_ends() {
        let cylinder = Form::Cylinder {
            radius: 1.0,
            half_length: 2.0,
        };
        assert_met(met(cylinder, [0.0, -5.0, 1.9], [0.0, 1.0, 0.0]), 4.0, [0.0, -1.0, 0.0]);
        assert_met(met(cylinder, [0.9, 0.0, 9.0], [0.0, 0.0, -1.0]), 7.0, [0.0, 0.0, 1.0]);
        assert_met(met(cylinder, [0.9, 0.0, -9.0], [0.0, 0.0, 1.0]), 7.0, [0.0, 0.0, -1.0]);
        // From above at 45 degrees, onto the upper end.
        assert_met(met(cylinder, [-3.5, 0.0, 5.0], [1.0, 0.0, -1.0]), 3.0, [0.0, 0.0, 1.0]);
        assert_eq!(met(cylinder, [0.0, -5.0, 2.01], [0.0, 1.0, 0.0]), None);
        assert_eq!(met(cylinder, [0.8, 0.8, 9.0], [0.0, 0.0, -1.0]), None);
    }

    #[test]
    fn a_box_is_met_at_the_face_that_is_nearest() {
        let cuboid = Form::Box { half: [1.0, 2.0, 3.0] };
        assert_met(met(cuboid, [-5.0, 1.9, 2.9], [1.0, 0.0, 0.0]), 4.0, [-1.0, 0.0, 0.0]);
        assert_met(met(cuboid, [0.5, 9.0, 0.0], [0.0, -1.0, 0.0]), 7.0, [0.0, 1.0, 0.0]);
        assert_met(met(cuboid, [-3.0, 0.0, 4.0], [1.0, 0.0, -0.25]), 4.0, [0.0, 0.0, 1.0]);
        assert_eq!(met(cuboid, [-5.0, 2.1, 0.0], [1.0, 0.0, 0.0]), None);
        assert_eq!(
            met(cuboid, [-5.0, 0.0, 6.0], [1.0, 0.0, -0.2]),
            None,
            "past the upper edge"
        );
    }

    #[test]
    fn an_ellipsoid_is_a_stretched_ball() {
        let egg = Form::Ellipsoid { radii: [2.0, 1.0, 1.0] };
        assert_met(met(egg, [-5.0, 0.0, 0.0], [1.0, 0.0, 0.0]), 3.0, [-1.0, 0.0, 0.0]);
        assert_met(met(egg, [0.0, 0.0, 5.0], [0.0, 0.0, -1.0]), 4.0, [0.0, 0.0, 1.0]);
        // At x = 1.2 it is 0.8 thick, and its normal is (x / 4, z), brought to one.
        let normal = Vector([0.3, 0.0, 0.8]).unit().0;
        assert_met(met(egg, [1.2, 0.0, 5.0], [0.0, 0.0, -1.0]), 4.2, normal);
    }

    #[test]
    fn a_plane_is_met_from_above_and_inside_its_sides() {
        let table = Form::Plane {
            half: [1.0, 2.0],
            tile: 1.0,
        };
        assert_met(met(table, [0.0, 0.0, 3.0], [0.0, 0.5, -1.0]), 3.0, [0.0, 0.0, 1.0]);
        assert_eq!(met(table, [0.0, 0.0, 3.0], [0.5, 0.0, -1.0]), None);
        assert_eq!(met(table, [0.0, 0.0, -3.0], [0.0, 0.0, 1.0]), None);
        assert_eq!(met(table, [0.0, 0.0, 3.0], [1.0, 0.0, 0.0]), None);
    }

    #[test]
    fn a_turned_solid_is_met_where_it_lies() {
        // Its own z lies along the world's x.
        let lying = Body::new(&Solid {
            form: Form::Capsule {
                radius: 1.0,
                half_length: 2.0,
            },
            center: [10.0, 0.0, 4.0],
            axes: [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
            color: [0; 3],
        })
        .expect("a solid");
        let (origin, direction) = (Vector([0.0, 0.0, 4.0]), Vector([1.0, 0.0, 0.0]));
        let hit = lying.meet(lying.local(origin), lying.turned(direction)).expect("a hit");
        assert_eq!((hit.distance, hit.normal.0), (7.0, [-1.0, 0.0, 0.0]));
        let (origin, direction) = (Vector([11.9, 0.0, 9.0]), Vector([0.0, 0.0, -1.0]));
        let hit = lying.meet(lying.local(origin), lying.turned(direction)).expect("a hit");
        assert!((hit.distance - 4.0).abs() < 1e-5 && (hit.normal.0[2] - 1.0).abs() < 1e-5);
    }

    #[test]
    fn solids_without_a_body_are_none() {
        for form in [
            Form::Sphere { radius: 0.0 },
            Form::Sphere { radius: f32::NAN },
            Form::Box { half: [1.0, 0.0, 1.0] },
            Form::Ellipsoid {
                radii: [1.0, -1.0, 1.0],
            },
            Form::Capsule {
                radius: -1.0,
                half_length: 1.0,
            },
            Form::Cylinder {
                radius: 1.0,
                half_length: f32::INFINITY,
            },
            Form::Plane {
                half: [0.0, 1.0],
                tile: 1.0,
            },
        ] {
            let solid = Solid {
                form,
                center: [0.0; 3],
                axes: UPRIGHT,
                color: [0; 3],
            };
            assert!(Body::new(&solid).is_none(), "{form:?}");
        }
    }
}
