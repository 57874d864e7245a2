//! Three numbers: points, directions, and light.

use std::ops::{Add, Mul, Sub};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vector(pub [f32; 3]);

impl Vector {
    #[inline]
    pub fn dot(self, other: Self) -> f32 {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        a * x + b * y + c * z
    }

    pub fn cross(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Vector([b * z - c * y, c * x - a * z, a * y - b * x])
    }

    #[inline]
    pub fn length(self) -> f32 {
        self.dot(self).sqrt()
    }

    #[inline]
    pub fn unit(self) -> Self {
        self * (1.0 / self.length())
    }

    /// Number by number.
    #[inline]
    pub fn times(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Vector([a * x, b * y, c * z])
    }

    /// This where `share` is 0, the other where it is 1, and between them in between.
    #[inline]
    pub fn mixed(self, other: Self, share: f32) -> Self {
        self + (other - self) * share
    }

    pub fn is_finite(self) -> bool {
        self.0.iter().all(|x| x.is_finite())
    }
}

impl Add for Vector {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Vector([a + x, b + y, c + z])
    }
}

impl Sub for Vector {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Vector([a - x, b - y, c - z])
    }
}

impl Mul<f32> for Vector {
    type Output = Self;
    #[inline]
    fn mul(self, factor: f32) -> Self {
        Vector(self.0.map(|x| x * factor))
    }
}
