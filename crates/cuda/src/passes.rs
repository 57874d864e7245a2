//! What the network's passes are made of: one function for each kernel that is launched.

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, LaunchConfig, PushKernelArg};

use crate::device::{Product, over, told};
use crate::shape::{Tensors, Window};
use crate::{Device, GpuError};

/// Blocks of rows whose columns are summed side by side.
pub(crate) const ROW_BLOCKS: usize = 256;

/// A layer's weight and bias.
pub(crate) struct Layer<'a> {
    pub weight: CudaView<'a, f32>,
    pub bias: CudaView<'a, f32>,
    pub inputs: usize,
    pub outputs: usize,
}

pub(crate) fn layer<'a>(weights: &'a CudaSlice<f32>, tensors: &Tensors) -> Layer<'a> {
    Layer {
        weight: weights.slice(tensors.weight.clone()),
        bias: weights.slice(tensors.bias.clone()),
        inputs: tensors.inputs,
        outputs: tensors.outputs,
    }
}

pub(crate) fn sizes(tensors: &Tensors, rows: usize) -> Product {
    Product {
        rows,
        inputs: tensors.inputs,
        outputs: tensors.outputs,
    }
}

/// out = a W^T + b, rectified or not.
pub(crate) fn affine(
    device: &Device,
    layer: Layer<'_>,
    rows: usize,
    rectify: bool,
    a: &CudaSlice<f32>,
    out: &mut CudaSlice<f32>,
) -> Result<(), GpuError> {
    let sizes = Product {
        rows,
        inputs: layer.inputs,
        outputs: layer.outputs,
    };
    device.rows_times_weight(sizes, a, &layer.weight, out)?;
    let (width, flag, count) = (layer.outputs as i32, i32::from(rectify), (rows * layer.outputs) as i64);
    let mut call = device.stream.launch_builder(&device.kernels.add_bias);
    call.arg(out).arg(&layer.bias).arg(&width).arg(&flag).arg(&count);
    // SAFETY: `out` has `count` numbers and the bias `width`.
    unsafe { call.launch(over(count as usize)) }.map_err(told)?;
    Ok(())
}

/// The patches of the images at `rows`.
pub(crate) fn look_at_bytes(
    device: &Device,
    images: &CudaSlice<u8>,
    rows: &CudaSlice<u32>,
    window: Window,
    batch: usize,
    patches: &mut CudaSlice<f32>,
) -> Result<(), GpuError> {
    let numbers = batch * window.positions() * window.patch();
    let by_four = [window.kernel, window.stride, window.width]
        .iter()
        .all(|size| size % 4 == 0);
    let (kernel, count) = match by_four {
        true => (&device.kernels.patches_of_bytes, (numbers / 4) as i64),
        false => (&device.kernels.patches_of_any_bytes, numbers as i64),
    };
    let mut call = device.stream.launch_builder(kernel);
    call.arg(images).arg(rows).arg(patches).arg(&window).arg(&count);
    // SAFETY: every row is an image (checked), the window fits it, and `patches` holds them all. Where pixels are read
    // by four, every row of every window begins at a multiple of four.
    unsafe { call.launch(over(count as usize)) }.map_err(told)?;
    Ok(())
}

/// The patches of what a convolution made.
pub(crate) fn look_at_numbers(
    device: &Device,
    outputs: &CudaSlice<f32>,
    window: Window,
    batch: usize,
    patches: &mut CudaSlice<f32>,
) -> Result<(), GpuError> {
    let fours = (batch * window.positions() * window.patch() / 4) as i64;
    let mut call = device.stream.launch_builder(&device.kernels.patches_of_numbers);
    call.arg(outputs).arg(patches).arg(&window).arg(&fours);
    // SAFETY: the window fits the outputs, whose depth is a multiple of four (checked), and `patches` holds them all.
    unsafe { call.launch(over(fours as usize)) }.map_err(told)?;
    Ok(())
}

/// From the gradients of patches to those of the convolution before.
pub(crate) fn gradient_of_patches(
    device: &Device,
    patches: &CudaSlice<f32>,
    outputs: &CudaSlice<f32>,
    window: Window,
    batch: usize,
    gradient: &mut CudaSlice<f32>,
) -> Result<(), GpuError> {
    let fours = batch as i64 * i64::from(window.height * window.width * window.depth) / 4;
    let mut call = device.stream.launch_builder(&device.kernels.gradient_of_patches);
    call.arg(patches).arg(outputs).arg(gradient).arg(&window).arg(&fours);
    // SAFETY: outputs and gradient have four numbers for each of `fours`; positions are kept within the window's.
    unsafe { call.launch(over(fours as usize)) }.map_err(told)?;
    Ok(())
}

/// The gradient is nothing where the rectifier was closed.
pub(crate) fn rectify(
    device: &Device,
    outputs: &CudaSlice<f32>,
    count: usize,
    gradient: &mut CudaSlice<f32>,
) -> Result<(), GpuError> {
    let long = count as i64;
    let mut call = device.stream.launch_builder(&device.kernels.rectifier_slope);
    call.arg(outputs).arg(gradient).arg(&long);
    // SAFETY: both have at least `count` numbers.
    unsafe { call.launch(over(count)) }.map_err(told)?;
    Ok(())
}

/// Overwrites the gradients of a layer's weight and bias.
pub(crate) fn weight_gradient(
    device: &Device,
    sizes: Product,
    delta: &CudaSlice<f32>,
    inputs: &CudaSlice<f32>,
    partial: &mut CudaSlice<f32>,
    gradient: &mut CudaSlice<f32>,
    tensors: &Tensors,
) -> Result<(), GpuError> {
    let mut of_weight = gradient.slice_mut(tensors.weight.clone());
    device.delta_times_rows(sizes, delta, inputs, &mut of_weight)?;
    let blocks = sizes.rows.div_ceil(64).clamp(1, ROW_BLOCKS);
    sum_columns(
        device,
        &delta.as_view(),
        sizes.rows,
        sizes.outputs,
        blocks,
        &mut partial.as_view_mut(),
    )?;
    let mut of_bias = gradient.slice_mut(tensors.bias.clone());
    sum_columns(device, &partial.as_view(), blocks, sizes.outputs, 1, &mut of_bias)
}

/// Sums of the columns of `[rows, width]`, by blocks of rows.
pub(crate) fn sum_columns(
    device: &Device,
    matrix: &CudaView<'_, f32>,
    rows: usize,
    width: usize,
    blocks: usize,
    out: &mut CudaViewMut<'_, f32>,
) -> Result<(), GpuError> {
    let (columns, long) = (width as i32, rows as i64);
    let launch = LaunchConfig {
        grid_dim: (blocks as u32, width.div_ceil(32) as u32, 1),
        block_dim: (32, 8, 1),
        shared_mem_bytes: 0,
    };
    let mut call = device.stream.launch_builder(&device.kernels.column_sums);
    call.arg(matrix).arg(out).arg(&columns).arg(&long);
    // SAFETY: the matrix has `rows` rows of `width` numbers, and `out` a row for every block.
    unsafe { call.launch(launch) }.map_err(told)?;
    Ok(())
}
