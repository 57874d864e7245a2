//! What can be wrong with a GPU, each as one sentence for the user.

use std::error::Error;
use std::fmt;

/// Why a GPU cannot be used, or what has failed there.
///
/// ```
/// use epgt_cuda::{GpuError, NetShape};
/// let mut shape = NetShape::paper(6);
/// shape.convs[0].outputs = 30;
/// assert_eq!(shape.check(), Err(GpuError::Channels { convolution: 0, outputs: 30 }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GpuError {
    /// The machine has no NVIDIA driver.
    NoDriver,
    /// A library of the CUDA runtime is missing.
    NoLibrary(&'static str),
    /// The library for eigen-decompositions is missing.
    NoSolver,
    /// The GPU cannot be used at all.
    Unusable(Box<GpuError>),
    /// The GPU failed while it was used.
    Failed(Box<GpuError>),
    /// What a library of CUDA says.
    Library(String),
    /// K-FAC's matrices were not made.
    NoCurvature,
    /// The network lacks a part.
    Incomplete,
    /// The kernels cannot work on so many channels.
    Channels {
        /// The convolution that makes them, counted from 0.
        convolution: usize,
        /// How many it makes.
        outputs: usize,
    },
    /// A window does not fit what it is moved over.
    Window {
        /// The convolution, counted from 0.
        convolution: usize,
        /// Side of its window in pixels.
        kernel: usize,
        /// Pixels from one position of the window to the next.
        stride: usize,
        /// Pixels that it is moved over, down.
        height: usize,
        /// Pixels that it is moved over, across.
        width: usize,
    },
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDriver => f.write_str("there is no NVIDIA driver (libcuda) on this machine; use --device cpu"),
            Self::NoLibrary(library) => write!(
                f,
                "there is an NVIDIA driver, but no lib{library} of CUDA 13; install the CUDA runtime, or use --device cpu"
            ),
            Self::NoSolver => {
                f.write_str("ACKTR on a GPU needs libcusolver of CUDA 13; install it, or use --device cpu")
            }
            Self::Unusable(error) => write!(f, "the GPU cannot be used: {error}; use --device cpu"),
            Self::Failed(error) => write!(f, "the GPU failed: {error}; resume the run, there or with --device cpu"),
            Self::Library(words) => f.write_str(words),
            Self::NoCurvature => f.write_str("K-FAC was not started"),
            Self::Incomplete => f.write_str("an image network needs pixels, a convolution, a dense layer and a head"),
            Self::Channels { convolution, outputs } => write!(
                f,
                "convolution {convolution} makes {outputs} channels; on a GPU that must be a multiple of four"
            ),
            Self::Window {
                convolution,
                kernel,
                stride,
                height,
                width,
            } => write!(
                f,
                "the window of convolution {convolution} ({kernel} pixels, every {stride}) does not fit {height} x {width} \
                 pixels"
            ),
        }
    }
}

impl Error for GpuError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unusable(error) | Self::Failed(error) => Some(&**error),
            _ => None,
        }
    }
}
