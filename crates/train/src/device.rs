//! Which processor the networks are on: this one, or a GPU.

use epgt_envs::RowShape;
use epgt_nn::Remote;
use epgt_pg::ActorCritic;

use crate::trainer::{TrainError, Trainer};
use crate::{Config, Device};

/// The processor that a run's networks go to; `None` for this one.
pub(crate) fn open(
    config: &Config,
    observation: RowShape,
    policy: &ActorCritic,
) -> Result<Option<Box<dyn Remote>>, String> {
    let image = match observation {
        RowShape::Image(sides) => Some(sides),
        RowShape::Numbers(_) => None,
    };
    match (config.run.device, unfit(config, image), image) {
        (Device::Cpu, ..) | (Device::Auto, Some(_), _) => Ok(None),
        (Device::Cuda, Some(reason), _) => Err(format!("device = cuda cannot be used: {reason}; use --device cpu")),
        (Device::Auto, None, Some(sides)) => Ok(gpu::open(config, sides, policy).ok()),
        (Device::Cuda, None, Some(sides)) => gpu::open(config, sides, policy).map(Some),
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

    pub fn open(config: &Config, image: [usize; 3], policy: &ActorCritic) -> Result<Box<dyn Remote>, String> {
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
        let mut gpu = Gpu::open(shape, config.run.tf32)?;
        if config.method.name() == "acktr" {
            gpu.start_kfac()?;
        }
        Ok(Box::new(gpu))
    }
}

#[cfg(not(feature = "cuda"))]
mod gpu {
    use super::*;

    pub fn open(_: &Config, _: [usize; 3], _: &ActorCritic) -> Result<Box<dyn Remote>, String> {
        Err("this program was built without CUDA; build it with --features cuda, or use --device cpu".to_string())
    }
}

impl Trainer {
    /// What the processor of the networks calls itself, where it is not this one.
    pub fn device(&self) -> Option<String> {
        self.policy.remote().map(Remote::name)
    }

    /// Moves the networks to another processor, and with them all that it keeps.
    pub fn move_to(&mut self, remote: Box<dyn Remote>) {
        self.policy.move_to(remote);
        self.send();
    }

    /// Brings everything that is kept on another processor here: before a checkpoint or a policy file is made.
    pub fn fetch(&mut self) -> Result<(), TrainError> {
        self.policy.fetch();
        if let Some(remote) = self.policy.remote() {
            self.method.fetch(remote);
            self.hyper.fetch(remote);
        }
        self.check_device()
    }

    /// Gives everything that another processor keeps to it, but for the weights.
    pub(crate) fn send(&mut self) {
        if let Some(remote) = self.policy.remote_mut() {
            self.method.send(remote);
            self.hyper.send(remote);
        }
    }

    pub(crate) fn check_device(&self) -> Result<(), TrainError> {
        match self.policy.remote().and_then(Remote::fault) {
            Some(sentence) => Err(TrainError::Device(sentence)),
            None => Ok(()),
        }
    }
}
