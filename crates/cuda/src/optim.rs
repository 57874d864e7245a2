//! Optimisers whose state stays on the GPU. The gradient's norm is clipped there too, and never read back.

use cudarc::driver::{CudaSlice, LaunchConfig, PushKernelArg};

use crate::device::{over, told};
use crate::{Device, ImageNet};

/// Blocks that add up squares.
const BLOCKS: usize = 256;

/// The norm of a gradient, found on the GPU.
struct Norm {
    partial: CudaSlice<f32>,
    norm: CudaSlice<f32>,
}

impl Norm {
    fn new(device: &Device) -> Result<Self, String> {
        Ok(Self {
            partial: device.stream.alloc_zeros(BLOCKS).map_err(told)?,
            norm: device.stream.alloc_zeros(1).map_err(told)?,
        })
    }

    fn measure(&mut self, device: &Device, numbers: &CudaSlice<f32>) -> Result<(), String> {
        let (count, blocks) = (numbers.len() as i64, BLOCKS as i32);
        let launch = LaunchConfig {
            grid_dim: (BLOCKS as u32, 1, 1),
            ..over(BLOCKS)
        };
        let mut call = device.stream.launch_builder(&device.kernels.sum_of_squares);
        call.arg(numbers).arg(&mut self.partial).arg(&count);
        // SAFETY: the kernel reads `count` numbers and writes one sum per block.
        unsafe { call.launch(launch) }.map_err(told)?;
        let one = LaunchConfig {
            grid_dim: (1, 1, 1),
            block_dim: (1, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut call = device.stream.launch_builder(&device.kernels.norm_of_sums);
        call.arg(&self.partial).arg(&mut self.norm).arg(&blocks);
        // SAFETY: the kernel reads one sum per block and writes one number.
        unsafe { call.launch(one) }.map_err(told)?;
        Ok(())
    }
}

/// Adam (Kingma and Ba, 2015), as `epgt_nn::Adam` has it.
pub struct Adam {
    /// Decay of the mean.
    pub beta1: f32,
    /// Decay of the mean square.
    pub beta2: f32,
    /// Added to the root.
    pub epsilon: f32,
    steps: i32,
    mean: CudaSlice<f32>,
    square: CudaSlice<f32>,
    norm: Norm,
}

impl Adam {
    /// Adam for a network.
    pub fn new(device: &Device, net: &ImageNet) -> Result<Self, String> {
        let zeros = || device.stream.alloc_zeros(net.weights.len()).map_err(told);
        Ok(Self {
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-5,
            steps: 0,
            mean: zeros()?,
            square: zeros()?,
            norm: Norm::new(device)?,
        })
    }

    /// Moves the weights; a gradient of a norm above `most` is shrunk to it (0: never).
    pub fn step(&mut self, device: &Device, net: &mut ImageNet, rate: f32, most: f32) -> Result<(), String> {
        self.norm.measure(device, &net.gradient)?;
        self.steps += 1;
        let correct = |beta: f32| 1.0 - beta.powi(self.steps);
        let (correct1, correct2) = (correct(self.beta1), correct(self.beta2));
        let count = net.weights.len();
        let long = count as i64;
        let mut call = device.stream.launch_builder(&device.kernels.adam);
        call.arg(&mut net.weights)
            .arg(&net.gradient)
            .arg(&mut self.mean)
            .arg(&mut self.square);
        call.arg(&self.norm.norm)
            .arg(&most)
            .arg(&rate)
            .arg(&self.beta1)
            .arg(&self.beta2);
        call.arg(&self.epsilon).arg(&correct1).arg(&correct2).arg(&long);
        // SAFETY: all four arrays have `count` numbers.
        unsafe { call.launch(over(count)) }.map_err(told)?;
        Ok(())
    }
}

/// RMSprop without momentum, as `epgt_nn::RmsProp` has it.
pub struct RmsProp {
    /// Decay of the mean square.
    pub decay: f32,
    /// Added to the root.
    pub epsilon: f32,
    square: CudaSlice<f32>,
    norm: Norm,
}

impl RmsProp {
    /// RMSprop for a network.
    pub fn new(device: &Device, net: &ImageNet) -> Result<Self, String> {
        Ok(Self {
            decay: 0.99,
            epsilon: 1e-5,
            square: device.stream.alloc_zeros(net.weights.len()).map_err(told)?,
            norm: Norm::new(device)?,
        })
    }

    /// Moves the weights; a gradient of a norm above `most` is shrunk to it (0: never).
    pub fn step(&mut self, device: &Device, net: &mut ImageNet, rate: f32, most: f32) -> Result<(), String> {
        self.norm.measure(device, &net.gradient)?;
        let count = net.weights.len();
        let long = count as i64;
        let mut call = device.stream.launch_builder(&device.kernels.rms_prop);
        call.arg(&mut net.weights).arg(&net.gradient).arg(&mut self.square);
        call.arg(&self.norm.norm)
            .arg(&most)
            .arg(&rate)
            .arg(&self.decay)
            .arg(&self.epsilon)
            .arg(&long);
        // SAFETY: all three arrays have `count` numbers.
        unsafe { call.launch(over(count)) }.map_err(told)?;
        Ok(())
    }
}
