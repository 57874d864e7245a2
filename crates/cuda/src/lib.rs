//! The image network on an NVIDIA GPU.
//!
//! Pixels go up once per rollout, as bytes; weights, gradients and the optimiser's state stay on the GPU; only outputs
//! come back. The program builds without a CUDA toolkit: driver, compiler (NVRTC) and cuBLAS are loaded when a
//! [`Device`] is asked for, and their absence is one sentence.
//!
//! The network is that of `epgt_nn::Cnn` with heads, tensor by tensor in the same order, so that weights can be moved
//! between the two as one flat array.
//!
//! ```
//! match epgt_cuda::Device::find() {
//!     Ok(device) => println!("{}", device.name()),
//!     Err(error) => println!("{error}"),
//! }
//! ```

mod curvature;
mod device;
mod encoder;
mod error;
mod gpu;
mod network;
mod optim;
mod passes;
mod projector;
mod shape;

pub use device::Device;
pub use error::GpuError;
pub use gpu::Gpu;
pub use shape::{ConvShape, NetShape};
