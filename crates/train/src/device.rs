//! Which processor the networks are on: this one, or a GPU.

use std::fmt;

use epgt_envs::RowShape;
use epgt_nn::Remote;
use epgt_pg::{ActorCritic, Method, PgError};

use crate::trainer::{TrainError, Trainer};
use crate::{Config, Device, SetupError};

/// Why a run's networks cannot be on the processor that was asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DeviceError {
    /// The run is not one for it; the reason.
    Unfit(&'static str),
    /// The program was built without it.
    NotBuilt,
    /// It lacks something for the method.
    Method(PgError),
    /// The GPU cannot be used.
    #[cfg(feature = "cuda")]
    Gpu(epgt_cuda::GpuError),
    /// It failed while the method was sent to it; what it says.
    Fault(String),
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit(reason) => write!(f, "device = cuda cannot be used: {reason}; use --device cpu"),
            Self::NotBuilt => {
                f.write_str("this program was built without CUDA; build it with --features cuda, or use --device cpu")
            }
            Self::Method(error) => write!(f, "{error}"),
            #[cfg(feature = "cuda")]
            Self::Gpu(error) => write!(f, "{error}"),
            Self::Fault(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for DeviceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Method(error) => Some(error),
            #[cfg(feature = "cuda")]
            Self::Gpu(error) => Some(error),
            _ => None,
        }
    }
}

/// The processor that a run's networks are moved to; `None` for this one. `method` is sent to it first, so that a
/// processor which lacks something for the method is not used.
pub(crate) fn open(
    config: &Config,
    observation: RowShape,
    policy: &ActorCritic,
    method: &mut dyn Method,
) -> Result<Option<Box<dyn Remote>>, DeviceError> {
    let image = match observation {
        RowShape::Image(sides) => Some(sides),
        RowShape::Numbers(_) => None,
    };
    let open = |sides, method: &mut dyn Method| -> Result<Box<dyn Remote>, DeviceError> {
        let mut remote = gpu::open(config, sides, policy)?;
        method.send(&mut *remote).map_err(DeviceError::Method)?;
        match remote.fault() {
            Some(sentence) => Err(DeviceError::Fault(sentence)),
            None => Ok(remote),
        }
    };
    match (config.run.device, unfit(config, image), image) {
        (Device::Cpu, ..) | (Device::Auto, Some(_), _) => Ok(None),
        (Device::Cuda, Some(reason), _) => Err(DeviceError::Unfit(reason)),
        (Device::Auto, None, Some(sides)) => Ok(open(sides, method).ok()),
        (Device::Cuda, None, Some(sides)) => open(sides, method).map(Some),
        (_, None, None) => Ok(None),
    }
}

/// Why a run's networks stay here, if they must.
fn unfit(config: &Config, image: Option<[usize; 3]>) -> Option<&'static str> {
    if image.is_none() {
        Some("only policies that look at images are large enough for a GPU to pay")
    } else if config.scheduler.is_rule() {
        Some("hoof and meta-gradient look into the update itself, on the CPU")
    } else if config.scheduler.population().is_some() {
        Some("the members of a population train side by side on the CPU's cores")
    } else if config.policy.image_hidden.len() != 1 {
        Some("the GPU's network has exactly one dense layer (policy.image_hidden)")
    } else {
        None
    }
}

#[cfg(feature = "cuda")]
mod gpu {
    use epgt_cuda::{ConvShape, Gpu, NetShape};

    use super::*;

    pub fn open(config: &Config, image: [usize; 3], policy: &ActorCritic) -> Result<Box<dyn Remote>, DeviceError> {
        let convs = config.policy.convs();
        let shape = NetShape {
            image,
            convs: convs
                .iter()
                .map(|conv| ConvShape {
                    outputs: conv.outputs,
                    kernel: conv.kernel,
                    stride: conv.stride,
                })
                .collect(),
            dense: config.policy.image_hidden[0],
            heads: vec![policy.distribution.outputs(), 1],
            rest: policy.log_std().len(),
        };
        let gpu = Gpu::open(shape, config.run.tf32).map_err(DeviceError::Gpu)?;
        Ok(Box::new(gpu))
    }
}

#[cfg(not(feature = "cuda"))]
mod gpu {
    use super::*;

    pub fn open(_: &Config, _: [usize; 3], _: &ActorCritic) -> Result<Box<dyn Remote>, DeviceError> {
        Err(DeviceError::NotBuilt)
    }
}

impl Trainer {
    /// The name of the other processor that the networks are on, if they are on one.
    pub fn device(&self) -> Option<String> {
        self.policy.remote().map(Remote::name)
    }

    /// Moves the networks, and the state of the method and the hyper-agent, to another processor, or says what that
    /// processor lacks.
    pub fn move_to(&mut self, remote: Box<dyn Remote>) -> Result<(), SetupError> {
        self.policy.move_to(remote);
        self.send()
    }

    /// Reads everything that another processor keeps: before a checkpoint or a policy file is made.
    pub fn fetch(&mut self) -> Result<(), TrainError> {
        self.policy.fetch();
        if let Some(remote) = self.policy.remote_mut() {
            self.method.fetch(remote);
            if let Some(state) = remote.state() {
                self.hyper.fetch(state);
            }
        }
        self.check_device()
    }

    /// Writes everything that another processor keeps to it, but for the weights.
    pub(crate) fn send(&mut self) -> Result<(), SetupError> {
        if let Some(remote) = self.policy.remote_mut() {
            self.method.send(remote)?;
            if let Some(state) = remote.state_mut() {
                self.hyper.send(state);
            }
        }
        Ok(())
    }

    /// Whether the hyper-agent reads its state where the networks are. If not, the networks are fetched before every
    /// choice.
    pub(crate) fn reads_remote_state(&self) -> bool {
        let has_state = |remote: &dyn Remote| remote.state().is_some();
        self.hyper.reads_remote_state() && self.policy.remote().is_some_and(has_state)
    }

    pub(crate) fn check_device(&self) -> Result<(), TrainError> {
        match self.policy.remote().and_then(Remote::fault) {
            Some(sentence) => Err(TrainError::Device(sentence)),
            None => Ok(()),
        }
    }
}
