//! A safe door to the `gemm` crate: strided views whose lengths are checked.

/// A matrix seen in a slice: the number at row `i` and column `j` is `data[i * row_stride + j * col_stride]`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Rows that follow each other without a gap.
    ///
    /// # Panics
    /// If `data` does not hold exactly `rows * cols` numbers.
    pub fn row_major(data: &'a [f32], rows: usize, cols: usize) -> Self {
        assert_eq!(
            data.len(),
            rows * cols,
            "a {rows} by {cols} matrix needs as many numbers"
        );
        Self {
            data,
            rows,
            cols,
            row_stride: cols,
            col_stride: 1,
        }
    }

    /// Any strides.
    ///
    /// # Panics
    /// If the last element lies outside of `data`.
    pub fn strided(data: &'a [f32], rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> Self {
        if rows > 0 && cols > 0 {
            let last = (rows - 1) * row_stride + (cols - 1) * col_stride;
            assert!(last < data.len(), "the matrix ends outside of its slice");
        }
        Self {
            data,
            rows,
            cols,
            row_stride,
            col_stride,
        }
    }

    /// The transposed view of the same numbers.
    pub fn transposed(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }
}

/// `out = keep * out + scale * lhs * rhs`, where `out` is row-major. With `keep = 0`, `out` is written without being
/// read.
///
/// ```
/// use epgt_nn::kernel::{Matrix, gemm};
///
/// let x = [1.0, 2.0, 3.0, 4.0];
/// let matrix = Matrix::row_major(&x, 2, 2);
/// let mut out = [f32::NAN; 4];
/// gemm(&mut out, 0.0, 1.0, matrix.transposed(), matrix);
/// assert_eq!(out, [10.0, 14.0, 14.0, 20.0]);
/// ```
///
/// # Panics
/// If the sizes do not fit each other.
pub fn gemm(out: &mut [f32], keep: f32, scale: f32, lhs: Matrix<'_>, rhs: Matrix<'_>) {
    assert_eq!(lhs.cols, rhs.rows, "the matrices must fit each other");
    assert_eq!(
        out.len(),
        lhs.rows * rhs.cols,
        "out must be rows of lhs by columns of rhs"
    );
    // SAFETY: `out` is an exclusive slice of exactly rows * cols contiguous numbers, and every element of both views
    // lies inside its slice by the constructors' checks.
    unsafe {
        gemm::gemm(
            lhs.rows,
            rhs.cols,
            lhs.cols,
            out.as_mut_ptr(),
            1,
            rhs.cols as isize,
            keep != 0.0,
            lhs.data.as_ptr(),
            lhs.col_stride as isize,
            lhs.row_stride as isize,
            rhs.data.as_ptr(),
            rhs.col_stride as isize,
            rhs.row_stride as isize,
            keep,
            scale,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
