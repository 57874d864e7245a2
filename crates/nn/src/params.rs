//! All weights of one agent in one contiguous slice, all their gradients in another.
//!
//! Optimisers, gradient clipping, checkpoints and the hyper-state all walk over everything there is; one flat buffer
//! makes each of them a single pass, and named tensors are views into it.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::kernel;

/// Where one tensor lies in a [`Parameters`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorShape {
    /// What the tensor is called, for example `policy.0.weight`.
    pub name: String,
    /// Number of rows; a bias has one.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Index of its first number in the flat slices.
    pub offset: usize,
}

impl TensorShape {
    /// Shapes of tensors that lie one after another, each given by its name, rows and columns.
    ///
    /// ```
    /// let shapes = epgt_nn::TensorShape::in_a_row([("weight", 4, 3), ("bias", 1, 4)]);
    /// assert_eq!(shapes[1].offset, 12);
    /// ```
    pub fn in_a_row<'a>(tensors: impl IntoIterator<Item = (&'a str, usize, usize)>) -> Vec<Self> {
        let mut offset = 0;
        let place = |(name, rows, cols): (&str, usize, usize)| {
            let name = name.to_string();
            let shape = Self {
                name,
                rows,
                cols,
                offset,
            };
            offset += rows * cols;
            shape
        };
        tensors.into_iter().map(place).collect()
    }

    /// Which of the flat numbers are its own.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.rows * self.cols
    }
}

/// Names one tensor of the [`Parameters`] that gave it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorId(usize);

impl TensorId {
    /// Its number among the tensors, in the order in which they were added.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// A view of one named row-major matrix: a weight, or its gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tensor<'a> {
    /// What the tensor is called.
    pub name: &'a str,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// The `rows * cols` numbers, row after row.
    pub data: &'a [f32],
}

/// The weights of one agent and the last gradients of them, as named two-dimensional tensors.
///
/// ```
/// use epgt_nn::Parameters;
///
/// let mut params = Parameters::new();
/// let weight = params.add("policy.0.weight", 2, 3);
/// params.value_mut(weight)[4] = 1.5;
/// assert_eq!(params.values(), [0.0, 0.0, 0.0, 0.0, 1.5, 0.0]);
/// assert_eq!(params.tensors().next().unwrap().name, "policy.0.weight");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct Parameters {
    shapes: Vec<TensorShape>,
    values: Vec<f32>,
    gradients: Vec<f32>,
    #[serde(skip)]
    edition: Edition,
}

/// Which weights these are: no two states of any weights in the program have the same, unless one is a copy of the
/// other. It is not part of what parameters are equal by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edition(u64);

impl Edition {
    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Whether these are the weights of that edition. Those of nothing are never so.
    pub fn is(self, other: Self) -> bool {
        self.0 == other.0 && self.0 != 0
    }
}

impl PartialEq for Edition {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Parameters as they were read, before it is known whether the tensors lie one behind the other in the numbers.
#[derive(Deserialize)]
struct Saved {
    shapes: Vec<TensorShape>,
    values: Vec<f32>,
    gradients: Vec<f32>,
}

impl TryFrom<Saved> for Parameters {
    type Error = &'static str;

    fn try_from(saved: Saved) -> Result<Self, Self::Error> {
        let Saved {
            shapes,
            values,
            gradients,
        } = saved;
        let end = shapes.iter().try_fold(0usize, |offset, shape| {
            let size = shape.rows.checked_mul(shape.cols)?;
            (shape.offset == offset).then(|| offset.checked_add(size)).flatten()
        });
        match end == Some(values.len()) && gradients.len() == values.len() {
            true => Ok(Self {
                shapes,
                values,
                gradients,
                edition: Edition::next(),
            }),
            false => Err("the tensors do not fit their numbers"),
        }
    }
}

impl Parameters {
    /// An empty set, to which layers add their tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor of zeros with zero gradient.
    pub fn add(&mut self, name: &str, rows: usize, cols: usize) -> TensorId {
        let offset = self.values.len();
        self.edition = Edition::next();
        self.shapes.push(TensorShape {
            name: name.to_owned(),
            rows,
            cols,
            offset,
        });
        self.values.resize(offset + rows * cols, 0.0);
        self.gradients.resize(offset + rows * cols, 0.0);
        TensorId(self.shapes.len() - 1)
    }

    /// How many numbers there are in all tensors together.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no tensor has been added.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Every weight, tensor after tensor.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Every weight, to be changed.
    pub fn values_mut(&mut self) -> &mut [f32] {
        self.edition = Edition::next();
        &mut self.values
    }

    /// Every gradient, in the order of [`values`](Self::values).
    pub fn gradients(&self) -> &[f32] {
        &self.gradients
    }

    /// Every gradient, to be changed (clipped, preconditioned).
    pub fn gradients_mut(&mut self) -> &mut [f32] {
        &mut self.gradients
    }

    /// The weights to be changed beside the gradients to change them by: what an optimiser needs.
    pub fn split_mut(&mut self) -> (&mut [f32], &[f32]) {
        self.edition = Edition::next();
        (&mut self.values, &self.gradients)
    }

    /// One tensor's weights.
    pub fn value(&self, id: TensorId) -> &[f32] {
        &self.values[self.shapes[id.0].range()]
    }

    /// One tensor's weights, to be changed.
    pub fn value_mut(&mut self, id: TensorId) -> &mut [f32] {
        self.edition = Edition::next();
        &mut self.values[self.shapes[id.0].range()]
    }

    /// One tensor's gradient.
    pub fn gradient(&self, id: TensorId) -> &[f32] {
        &self.gradients[self.shapes[id.0].range()]
    }

    /// One tensor's gradient, to be changed.
    pub fn gradient_mut(&mut self, id: TensorId) -> &mut [f32] {
        &mut self.gradients[self.shapes[id.0].range()]
    }

    /// Which weights these are; another after each chance to change one.
    pub(crate) fn edition(&self) -> Edition {
        self.edition
    }

    /// One tensor's name, size and place.
    pub fn shape(&self, id: TensorId) -> &TensorShape {
        &self.shapes[id.0]
    }

    /// Names, sizes and places of the tensors, in the order in which they were added.
    pub fn shapes(&self) -> &[TensorShape] {
        &self.shapes
    }

    /// The weights as named tensors.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> {
        views(&self.shapes, &self.values)
    }

    /// The gradients as named tensors.
    pub fn gradient_tensors(&self) -> impl Iterator<Item = Tensor<'_>> {
        views(&self.shapes, &self.gradients)
    }

    /// The first tensor that holds a NaN or an infinity, by name.
    pub fn first_not_finite_value(&self) -> Option<&str> {
        first_not_finite(&self.shapes, &self.values)
    }

    /// The first tensor whose gradient holds a NaN or an infinity, by name.
    pub fn first_not_finite_gradient(&self) -> Option<&str> {
        first_not_finite(&self.shapes, &self.gradients)
    }
}

fn views<'a>(shapes: &'a [TensorShape], data: &'a [f32]) -> impl Iterator<Item = Tensor<'a>> {
    shapes.iter().map(|shape| Tensor {
        name: &shape.name,
        rows: shape.rows,
        cols: shape.cols,
        data: &data[shape.range()],
    })
}

fn first_not_finite<'a>(shapes: &'a [TensorShape], data: &[f32]) -> Option<&'a str> {
    // One fast pass over everything, since nearly always all is well; the name is looked for only if it is not.
    if kernel::all_finite(data) {
        return None;
    }
    let bad = shapes.iter().find(|shape| !kernel::all_finite(&data[shape.range()]));
    bad.map(|shape| shape.name.as_str())
}
