//! The network that makes a memory key of the hyper-state's features. With a big policy it is the largest of all, and
//! only a few numbers come out of it.

use cudarc::driver::{CudaSlice, PushKernelArg};
use epgt_nn::TanhLayer;

use crate::device::{over, told};
use crate::passes::{Layer, affine};
use crate::{Device, GpuError};

/// Layers one after another, each with its outputs.
pub(crate) struct Encoder {
    features: CudaSlice<f32>,
    layers: Vec<Dense>,
}

struct Dense {
    weight: CudaSlice<f32>,
    bias: CudaSlice<f32>,
    outputs: CudaSlice<f32>,
}

impl Encoder {
    pub fn new(device: &Device, layers: &[TanhLayer<'_>]) -> Result<Self, GpuError> {
        let up = |numbers: &[f32]| device.stream.clone_htod(numbers).map_err(told);
        let zeros = |count: usize| device.stream.alloc_zeros(count).map_err(told);
        let inputs = layers.first().map_or(0, |first| first.weight.len() / first.bias.len());
        Ok(Self {
            features: zeros(inputs)?,
            layers: layers
                .iter()
                .map(|layer| {
                    Ok(Dense {
                        weight: up(layer.weight)?,
                        bias: up(layer.bias)?,
                        outputs: zeros(layer.bias.len())?,
                    })
                })
                .collect::<Result<_, GpuError>>()?,
        })
    }

    /// The first outputs for these features.
    pub fn encode(&mut self, device: &Device, features: &[f32], out: &mut [f32]) -> Result<(), GpuError> {
        device.stream.memcpy_htod(features, &mut self.features).map_err(told)?;
        let mut inputs = &self.features;
        for dense in &mut self.layers {
            let (width, long) = (dense.bias.len(), dense.bias.len() as i64);
            let layer = Layer {
                weight: dense.weight.as_view(),
                bias: dense.bias.as_view(),
                inputs: inputs.len(),
                outputs: width,
            };
            affine(device, layer, 1, false, inputs, &mut dense.outputs)?;
            let mut call = device.stream.launch_builder(&device.kernels.tanh_all);
            call.arg(&mut dense.outputs).arg(&long);
            // SAFETY: there are `long` outputs.
            unsafe { call.launch(over(width)) }.map_err(told)?;
            inputs = &dense.outputs;
        }
        let asked = inputs.slice(..out.len());
        device.stream.memcpy_dtoh(&asked, out).map_err(told)?;
        device.wait()
    }
}
