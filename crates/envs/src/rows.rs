//! Rows of observations, which are numbers or bytes: a pixel stays one byte from the environment to the network.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Space;

/// What one row of observations holds.
///
/// ```
/// use epgt_envs::RowShape;
/// assert_eq!(RowShape::Image([4, 84, 84]).size(), 4 * 84 * 84);
/// assert_eq!(RowShape::from(3), RowShape::Numbers(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowShape {
    /// So many numbers.
    Numbers(usize),
    /// Bytes: channels, height and width.
    Image([usize; 3]),
}

impl RowShape {
    /// How many numbers or bytes a row holds.
    pub fn size(self) -> usize {
        match self {
            Self::Numbers(size) => size,
            Self::Image(sides) => sides.iter().product(),
        }
    }

    /// How many numbers of a row can be normalised: none of an image.
    pub fn numbers(self) -> usize {
        match self {
            Self::Numbers(size) => size,
            Self::Image(_) => 0,
        }
    }
}

impl From<usize> for RowShape {
    fn from(size: usize) -> Self {
        Self::Numbers(size)
    }
}

impl From<&Space> for RowShape {
    fn from(space: &Space) -> Self {
        match *space {
            Space::Image {
                channels,
                height,
                width,
            } => Self::Image([channels, height, width]),
            _ => Self::Numbers(space.size()),
        }
    }
}

/// Rows to look at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rows<'a> {
    /// Of numbers.
    Numbers(&'a [f32]),
    /// Of pixels.
    Bytes(&'a [u8]),
}

/// Rows to write.
#[derive(Debug)]
pub enum RowsMut<'a> {
    /// Of numbers.
    Numbers(&'a mut [f32]),
    /// Of pixels.
    Bytes(&'a mut [u8]),
}

/// Rows that are kept.
///
/// ```
/// use epgt_envs::{Observations, RowShape, Rows};
/// let mut kept = Observations::new(RowShape::Image([1, 2, 2]), 3);
/// kept.part_mut(4..8).copy_from(Rows::Bytes(&[1, 2, 3, 4]));
/// kept.copy_within(4..8, 0);
/// assert_eq!(kept.part(0..4), Rows::Bytes(&[1, 2, 3, 4]));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Observations {
    /// Of numbers.
    Numbers(Vec<f32>),
    /// Of pixels.
    Bytes(Vec<u8>),
}

impl<'a> Rows<'a> {
    /// How many numbers or bytes there are in all rows.
    pub fn len(self) -> usize {
        match self {
            Self::Numbers(rows) => rows.len(),
            Self::Bytes(rows) => rows.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The numbers.
    ///
    /// # Panics
    /// If they are bytes.
    pub fn numbers(self) -> &'a [f32] {
        match self {
            Self::Numbers(rows) => rows,
            Self::Bytes(_) => panic!("numbers are wanted where there are pixels"),
        }
    }

    /// The bytes.
    ///
    /// # Panics
    /// If they are numbers.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(rows) => rows,
            Self::Numbers(_) => panic!("pixels are wanted where there are numbers"),
        }
    }
}

impl<'a> RowsMut<'a> {
    /// How many numbers or bytes there are in all rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(rows) => rows.len(),
            Self::Bytes(rows) => rows.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of them.
    #[inline]
    pub fn part(&mut self, range: Range<usize>) -> RowsMut<'_> {
        match self {
            Self::Numbers(rows) => RowsMut::Numbers(&mut rows[range]),
            Self::Bytes(rows) => RowsMut::Bytes(&mut rows[range]),
        }
    }

    /// To look at.
    #[inline]
    pub fn view(&self) -> Rows<'_> {
        match self {
            Self::Numbers(rows) => Rows::Numbers(rows),
            Self::Bytes(rows) => Rows::Bytes(rows),
        }
    }

    /// Overwrites them.
    ///
    /// # Panics
    /// If the others are not of the same kind and length.
    pub fn copy_from(&mut self, other: Rows<'_>) {
        match self {
            Self::Numbers(rows) => rows.copy_from_slice(other.numbers()),
            Self::Bytes(rows) => rows.copy_from_slice(other.bytes()),
        }
    }
}

impl Observations {
    /// Zeros: so many rows of a shape.
    pub fn new(shape: RowShape, rows: usize) -> Self {
        match shape {
            RowShape::Numbers(size) => Self::Numbers(vec![0.0; rows * size]),
            RowShape::Image(_) => Self::Bytes(vec![0; rows * shape.size()]),
        }
    }

    /// How many numbers or bytes there are in all rows.
    pub fn len(&self) -> usize {
        self.all().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows.
    #[inline]
    pub fn all(&self) -> Rows<'_> {
        match self {
            Self::Numbers(rows) => Rows::Numbers(rows),
            Self::Bytes(rows) => Rows::Bytes(rows),
        }
    }

    /// All rows, to write.
    #[inline]
    pub fn all_mut(&mut self) -> RowsMut<'_> {
        match self {
            Self::Numbers(rows) => RowsMut::Numbers(rows),
            Self::Bytes(rows) => RowsMut::Bytes(rows),
        }
    }

    /// Some of the numbers or bytes.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> Rows<'_> {
        match self {
            Self::Numbers(rows) => Rows::Numbers(&rows[range]),
            Self::Bytes(rows) => Rows::Bytes(&rows[range]),
        }
    }

    /// Some of the numbers or bytes, to write.
    #[inline]
    pub fn part_mut(&mut self, range: Range<usize>) -> RowsMut<'_> {
        match self {
            Self::Numbers(rows) => RowsMut::Numbers(&mut rows[range]),
            Self::Bytes(rows) => RowsMut::Bytes(&mut rows[range]),
        }
    }

    /// The numbers, to write.
    ///
    /// # Panics
    /// If they are bytes.
    pub fn numbers_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Numbers(rows) => rows,
            Self::Bytes(_) => panic!("numbers are wanted where there are pixels"),
        }
    }

    /// Copies a part to where it then begins at `to`.
    pub fn copy_within(&mut self, from: Range<usize>, to: usize) {
        match self {
            Self::Numbers(rows) => rows.copy_within(from, to),
            Self::Bytes(rows) => rows.copy_within(from, to),
        }
    }

    /// Makes them as many numbers or bytes, with zeros at the end or without what is there.
    pub fn resize(&mut self, len: usize) {
        match self {
            Self::Numbers(rows) => rows.resize(len, 0.0),
            Self::Bytes(rows) => rows.resize(len, 0),
        }
    }

    /// Whether the others are of the same kind and as many.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.len() == other.len()
    }

    /// Adds others at the end.
    ///
    /// # Panics
    /// If they are not of the same kind.
    pub fn append(&mut self, other: &Self) {
        match self {
            Self::Numbers(rows) => rows.extend_from_slice(other.all().numbers()),
            Self::Bytes(rows) => rows.extend_from_slice(other.all().bytes()),
        }
    }

    /// Takes what begins at `at` out of them.
    pub fn split_off(&mut self, at: usize) -> Self {
        match self {
            Self::Numbers(rows) => Self::Numbers(rows.split_off(at)),
            Self::Bytes(rows) => Self::Bytes(rows.split_off(at)),
        }
    }

    /// Becomes rows of others, in this order, each of `width` numbers or bytes. No memory is asked for where there is
    /// enough.
    ///
    /// ```
    /// use epgt_envs::{Observations, Rows};
    /// let mut picked = Observations::default();
    /// picked.gather(Rows::Bytes(&[1, 2, 3, 4, 5, 6]), 2, &[2, 0]);
    /// assert_eq!(picked.all(), Rows::Bytes(&[5, 6, 1, 2]));
    /// ```
    ///
    /// # Panics
    /// If the others have no such row.
    pub fn gather(&mut self, others: Rows<'_>, width: usize, order: &[u32]) {
        fn gather<T: Copy>(from: &[T], width: usize, order: &[u32], to: &mut Vec<T>) {
            to.clear();
            for &row in order {
                to.extend_from_slice(&from[row as usize * width..][..width]);
            }
        }
        match (self, others) {
            (Self::Numbers(rows), Rows::Numbers(from)) => gather(from, width, order, rows),
            (Self::Bytes(rows), Rows::Bytes(from)) => gather(from, width, order, rows),
            (own, others) => {
                *own = match others {
                    Rows::Numbers(_) => Self::Numbers(Vec::new()),
                    Rows::Bytes(_) => Self::Bytes(Vec::new()),
                };
                own.gather(others, width, order);
            }
        }
    }
}

/// No numbers.
impl Default for Observations {
    fn default() -> Self {
        Self::Numbers(Vec::new())
    }
}

macro_rules! from_slices {
    ($number:ty, $variant:ident) => {
        impl<'a> From<&'a [$number]> for Rows<'a> {
            fn from(rows: &'a [$number]) -> Self {
                Rows::$variant(rows)
            }
        }
        impl<'a> From<&'a Vec<$number>> for Rows<'a> {
            fn from(rows: &'a Vec<$number>) -> Self {
                Rows::$variant(rows)
            }
        }
        impl<'a, const N: usize> From<&'a [$number; N]> for Rows<'a> {
            fn from(rows: &'a [$number; N]) -> Self {
                Rows::$variant(rows)
            }
        }
        impl<'a> From<&'a mut [$number]> for RowsMut<'a> {
            fn from(rows: &'a mut [$number]) -> Self {
                RowsMut::$variant(rows)
            }
        }
        impl<'a> From<&'a mut Vec<$number>> for RowsMut<'a> {
            fn from(rows: &'a mut Vec<$number>) -> Self {
                RowsMut::$variant(rows)
            }
        }
        impl<'a, const N: usize> From<&'a mut [$number; N]> for RowsMut<'a> {
            fn from(rows: &'a mut [$number; N]) -> Self {
                RowsMut::$variant(rows)
            }
        }
    };
}

from_slices!(f32, Numbers);
from_slices!(u8, Bytes);

/// A copy.
impl From<Rows<'_>> for Observations {
    fn from(rows: Rows<'_>) -> Self {
        match rows {
            Rows::Numbers(rows) => Self::Numbers(rows.to_vec()),
            Rows::Bytes(rows) => Self::Bytes(rows.to_vec()),
        }
    }
}

impl<'a> From<&'a Observations> for Rows<'a> {
    fn from(rows: &'a Observations) -> Self {
        rows.all()
    }
}

impl<'a> From<&'a mut Observations> for RowsMut<'a> {
    fn from(rows: &'a mut Observations) -> Self {
        rows.all_mut()
    }
}
