//! Small networks that push gradients back, and the optimisers that use them.
//!
//! This crate knows nothing of reinforcement learning. A network is `forward` and `backward`, nothing else: a loss is
//! a function outside of it that turns outputs into output gradients. All weights of one agent lie in one
//! [`Parameters`], so an optimiser is one pass over one slice, and whoever wants to look at the weights and their last
//! gradients (the hyper-state, checkpoints, NaN checks) sees named tensors without a copy.
//!
//! ```
//! use epgt_nn::{Activation, Adam, Mlp, Parameters};
//! use epgt_rng::Pcg64;
//!
//! let mut params = Parameters::new();
//! let mut rng = Pcg64::from_seed(1);
//! let mut net = Mlp::new(&mut params, "net", &[2, 32, 1], Activation::Tanh, Activation::Identity, 1.0, 0.1, &mut rng);
//! let mut adam = Adam::new(params.len(), 0.9, 0.999, 1e-8);
//! for _ in 0..200 {
//!     // Squared error against the target 1.
//!     let error = net.forward(&params, &[0.5, -0.3], 1)[0] - 1.0;
//!     net.backward(&mut params, &[2.0 * error]);
//!     let (values, gradients) = params.split_mut();
//!     adam.step(values, gradients, 1e-2);
//! }
//! assert!((net.forward(&params, &[0.5, -0.3], 1)[0] - 1.0).abs() < 1e-3);
//! ```

mod cnn;
mod conv;
mod eigen;
mod factored;
mod init;
pub mod kernel;
mod kfac;
mod linear;
mod mlp;
mod optim;
mod params;
mod remote;

pub use cnn::{Cnn, ConvShape};
pub use conv::Conv;
pub use factored::FactoredAdam;
pub use init::orthogonal;
pub use kernel::dot;
pub use kfac::{Kfac, KfacError, KfacStep};
pub use linear::{Activation, Linear};
pub use mlp::Mlp;
pub use optim::{Adam, Rates, RmsProp, Sgd, clip_gradient_norm};
pub use params::{Parameters, Tensor, TensorId, TensorShape};
pub use remote::{
    AdamStep, Buffer, FactorPart, KfacPart, Optimiser, Projections, Remote, RemoteKfac, RemoteOptimiser, RemoteState,
    RmsPropStep, TanhLayer,
};
