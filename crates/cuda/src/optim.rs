//! Clipping and the optimisers' steps, where weights, gradient and running means are.

use std::ops::Range;

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, LaunchConfig, PushKernelArg};
use epgt_nn::{AdamStep, RmsPropStep};

use crate::device::{over, told};
use crate::network::ImageNet;
use crate::{Device, GpuError};

/// Blocks that add up products.
pub(crate) const BLOCKS: usize = 256;

/// The norm of an array, found on the GPU.
pub(crate) struct Norm {
    partial: CudaSlice<f32>,
    norm: CudaSlice<f32>,
}

impl Norm {
    pub fn new(device: &Device) -> Result<Self, GpuError> {
        Ok(Self {
            partial: device.stream.alloc_zeros(BLOCKS).map_err(told)?,
            norm: device.stream.alloc_zeros(1).map_err(told)?,
        })
    }

    /// The norm of these numbers.
    pub fn of(&mut self, device: &Device, numbers: &CudaSlice<f32>) -> Result<f32, GpuError> {
        self.measure(device, numbers)?;
        self.read(device)
    }

    /// Scales the numbers to a norm of at most `most`; returns the norm before.
    pub fn clip(&mut self, device: &Device, numbers: &mut CudaSlice<f32>, most: f32) -> Result<f32, GpuError> {
        self.measure(device, numbers)?;
        let (count, long) = (numbers.len(), numbers.len() as i64);
        let mut call = device.stream.launch_builder(&device.kernels.clip);
        call.arg(numbers).arg(&self.norm).arg(&most).arg(&long);
        // SAFETY: there are `count` numbers, and one norm.
        unsafe { call.launch(over(count)) }.map_err(told)?;
        self.read(device)
    }

    fn measure(&mut self, device: &Device, numbers: &CudaSlice<f32>) -> Result<(), GpuError> {
        let blocks = BLOCKS as i32;
        let all = numbers.as_view();
        sum_products(device, &all, &all, numbers.len(), &mut self.partial.as_view_mut())?;
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

    fn read(&self, device: &Device) -> Result<f32, GpuError> {
        let mut norm = [0.0];
        device.stream.memcpy_dtoh(&self.norm, &mut norm).map_err(told)?;
        device.wait()?;
        Ok(norm[0])
    }
}

/// Sums of the products of two arrays, by blocks.
pub(crate) fn sum_products(
    device: &Device,
    a: &CudaView<'_, f32>,
    b: &CudaView<'_, f32>,
    count: usize,
    partial: &mut CudaViewMut<'_, f32>,
) -> Result<(), GpuError> {
    let long = count as i64;
    let launch = LaunchConfig {
        grid_dim: (BLOCKS as u32, 1, 1),
        ..over(BLOCKS)
    };
    let mut call = device.stream.launch_builder(&device.kernels.sum_of_products);
    call.arg(a).arg(b).arg(partial).arg(&long);
    // SAFETY: the kernel reads `count` numbers of both and writes one sum per block.
    unsafe { call.launch(launch) }.map_err(told)?;
    Ok(())
}

/// A step of Adam with a part of the weights, as `epgt_nn::Adam` has it.
pub(crate) fn adam(
    device: &Device,
    net: &mut ImageNet,
    [mean, square]: &mut [CudaSlice<f32>; 2],
    step: AdamStep,
    part: Range<usize>,
) -> Result<(), GpuError> {
    let (count, long) = (part.len(), part.len() as i64);
    let (mut weights, gradient) = (net.weights.slice_mut(part.clone()), net.gradient.slice(part.clone()));
    let (mut mean, mut square) = (mean.slice_mut(part.clone()), square.slice_mut(part));
    let mut call = device.stream.launch_builder(&device.kernels.adam);
    call.arg(&mut weights).arg(&gradient).arg(&mut mean).arg(&mut square);
    call.arg(&step.step_size)
        .arg(&step.root_scale)
        .arg(&step.beta1)
        .arg(&step.beta2)
        .arg(&step.epsilon)
        .arg(&long);
    // SAFETY: all four arrays have `count` numbers.
    unsafe { call.launch(over(count)) }.map_err(told)?;
    Ok(())
}

/// A step of RMSprop with a part of the weights, as `epgt_nn::RmsProp` has it.
pub(crate) fn rms_prop(
    device: &Device,
    net: &mut ImageNet,
    square: &mut CudaSlice<f32>,
    step: RmsPropStep,
    part: Range<usize>,
) -> Result<(), GpuError> {
    let (count, long) = (part.len(), part.len() as i64);
    let (mut weights, gradient) = (net.weights.slice_mut(part.clone()), net.gradient.slice(part.clone()));
    let mut square = square.slice_mut(part);
    let mut call = device.stream.launch_builder(&device.kernels.rms_prop);
    call.arg(&mut weights).arg(&gradient).arg(&mut square);
    call.arg(&step.learning_rate)
        .arg(&step.decay)
        .arg(&step.epsilon)
        .arg(&long);
    // SAFETY: all three arrays have `count` numbers.
    unsafe { call.launch(over(count)) }.map_err(told)?;
    Ok(())
}
