//! Forward and backward passes of the image network on the GPU.

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, LaunchConfig, PushKernelArg};

use crate::device::{Product, over, told};
use crate::shape::{Tensors, Window};
use crate::{Device, NetShape};

/// Blocks of rows whose columns are summed side by side.
pub(crate) const ROW_BLOCKS: usize = 256;

/// The network: weights and gradients as one flat array each, and buffers for the largest batch seen.
pub(crate) struct ImageNet {
    shape: NetShape,
    windows: Vec<Window>,
    pub(crate) tensors: Vec<Tensors>,
    pub(crate) weights: CudaSlice<f32>,
    pub(crate) gradient: CudaSlice<f32>,
    pub(crate) batch: usize,
    room: Room,
}

/// Buffers of a pass; they grow to the largest batch and are never given back.
struct Room {
    batch: usize,
    /// Which images are looked at.
    rows: CudaSlice<u32>,
    /// Of each convolution: its patches, later their gradients; its outputs; and their gradients.
    patches: Vec<CudaSlice<f32>>,
    outputs: Vec<CudaSlice<f32>>,
    deltas: Vec<CudaSlice<f32>>,
    dense: CudaSlice<f32>,
    dense_delta: CudaSlice<f32>,
    heads: Vec<CudaSlice<f32>>,
    head_deltas: Vec<CudaSlice<f32>>,
    /// Sums of columns by blocks of rows.
    partial: CudaSlice<f32>,
}

impl Room {
    fn new(device: &Device, shape: &NetShape, batch: usize) -> Result<Self, String> {
        let floats = |count: usize| device.stream.alloc_zeros::<f32>(count).map_err(told);
        let windows = shape.windows();
        let made: Vec<usize> = windows
            .iter()
            .zip(&shape.convs)
            .map(|(window, conv)| batch * window.positions() * conv.outputs)
            .collect();
        let widest = shape.convs.iter().map(|conv| conv.outputs).chain([shape.dense]).max();
        Ok(Self {
            batch,
            rows: device.stream.alloc_zeros(batch).map_err(told)?,
            patches: windows
                .iter()
                .map(|window| floats(batch * window.positions() * window.patch()))
                .collect::<Result<_, _>>()?,
            outputs: made.iter().map(|&count| floats(count)).collect::<Result<_, _>>()?,
            deltas: made.iter().map(|&count| floats(count)).collect::<Result<_, _>>()?,
            dense: floats(batch * shape.dense)?,
            dense_delta: floats(batch * shape.dense)?,
            heads: heads(shape, batch, floats)?,
            head_deltas: heads(shape, batch, floats)?,
            partial: floats(ROW_BLOCKS * widest.unwrap_or(1).max(shape.heads.iter().copied().max().unwrap_or(1)))?,
        })
    }
}

fn heads(
    shape: &NetShape,
    batch: usize,
    floats: impl Fn(usize) -> Result<CudaSlice<f32>, String>,
) -> Result<Vec<CudaSlice<f32>>, String> {
    shape.heads.iter().map(|&outputs| floats(batch * outputs)).collect()
}

impl ImageNet {
    /// A network whose weights are zeros.
    pub fn new(device: &Device, shape: NetShape) -> Result<Self, String> {
        shape.check()?;
        let zeros = || device.stream.alloc_zeros(shape.parameters()).map_err(told);
        Ok(Self {
            windows: shape.windows(),
            tensors: shape.tensors(),
            weights: zeros()?,
            gradient: zeros()?,
            batch: 0,
            room: Room::new(device, &shape, 1)?,
            shape,
        })
    }

    /// Runs the network on some of the images that were brought up.
    ///
    /// # Panics
    /// If a row names an image that is not there.
    pub fn forward(&mut self, device: &Device, images: &CudaSlice<u8>, rows: &[u32]) -> Result<(), String> {
        let there = images.len() / self.shape.image_size();
        assert!(rows.iter().all(|&row| (row as usize) < there), "every row is an image");
        let batch = rows.len();
        if batch > self.room.batch {
            self.room = Room::new(device, &self.shape, batch)?;
        }
        self.batch = batch;
        let room = &mut self.room;
        let mut places = room.rows.slice_mut(..batch);
        device.stream.memcpy_htod(rows, &mut places).map_err(told)?;
        for i in 0..self.windows.len() {
            let (window, tensors) = (self.windows[i], &self.tensors[i]);
            match i {
                0 => look_at_bytes(device, images, &room.rows, window, batch, &mut room.patches[0])?,
                _ => look_at_numbers(device, &room.outputs[i - 1], window, batch, &mut room.patches[i])?,
            }
            let rows = batch * window.positions();
            let layer = layer(&self.weights, tensors);
            affine(device, layer, rows, true, &room.patches[i], &mut room.outputs[i])?;
        }
        let (last, dense) = (self.windows.len() - 1, self.windows.len());
        let of_dense = layer(&self.weights, &self.tensors[dense]);
        affine(device, of_dense, batch, true, &room.outputs[last], &mut room.dense)?;
        for (i, head) in room.heads.iter_mut().enumerate() {
            let layer = layer(&self.weights, &self.tensors[dense + 1 + i]);
            affine(device, layer, batch, false, &room.dense, head)?;
        }
        Ok(())
    }

    /// Reads the outputs of a head for the last batch, `[batch, outputs]`.
    ///
    /// # Panics
    /// If `out` has another size.
    pub fn read(&self, device: &Device, head: usize, out: &mut [f32]) -> Result<(), String> {
        let count = self.batch * self.shape.heads[head];
        assert_eq!(out.len(), count, "a number for every output");
        let outputs = self.room.heads[head].slice(..count);
        device.stream.memcpy_dtoh(&outputs, out).map_err(told)?;
        device.wait()
    }

    /// Overwrites the gradient of all weights, given the gradients of every head's outputs for the last batch, and that of the
    /// weights which no layer has.
    ///
    /// # Panics
    /// If a gradient does not fit the last forward pass.
    pub fn backward(&mut self, device: &Device, output_gradients: &[&[f32]], rest: &[f32]) -> Result<(), String> {
        self.backward_shown(device, output_gradients, rest, &mut |_, _, _, _| Ok(()))
    }

    /// Makes the patches of the last batch again, for another backward pass: each takes them for its own.
    pub fn look_back(&mut self, device: &Device) -> Result<(), String> {
        let room = &mut self.room;
        for i in 1..self.windows.len() {
            look_at_numbers(
                device,
                &room.outputs[i - 1],
                self.windows[i],
                self.batch,
                &mut room.patches[i],
            )?;
        }
        Ok(())
    }

    /// [`backward`](Self::backward), showing the rows of every layer's inputs and of the gradients of its outputs before rectifying,
    /// with their number.
    pub fn backward_shown(
        &mut self,
        device: &Device,
        output_gradients: &[&[f32]],
        rest: &[f32],
        show: &mut dyn FnMut(usize, &CudaSlice<f32>, &CudaSlice<f32>, usize) -> Result<(), String>,
    ) -> Result<(), String> {
        assert_eq!(rest.len(), self.shape.rest, "a gradient for every other weight");
        if !rest.is_empty() {
            let first = self.gradient.len() - rest.len();
            let mut place = self.gradient.slice_mut(first..);
            device.stream.memcpy_htod(rest, &mut place).map_err(told)?;
        }
        let (batch, room) = (self.batch, &mut self.room);
        let dense = self.windows.len();
        assert_eq!(output_gradients.len(), room.heads.len(), "a gradient for every head");
        for (i, gradient) in output_gradients.iter().enumerate() {
            let tensors = &self.tensors[dense + 1 + i];
            assert_eq!(gradient.len(), batch * tensors.outputs, "a gradient for every output");
            let mut delta = room.head_deltas[i].slice_mut(..gradient.len());
            device.stream.memcpy_htod(*gradient, &mut delta).map_err(told)?;
            let (delta, sizes) = (&room.head_deltas[i], sizes(tensors, batch));
            weight_gradient(
                device,
                sizes,
                delta,
                &room.dense,
                &mut room.partial,
                &mut self.gradient,
                tensors,
            )?;
            show(dense + 1 + i, &room.dense, delta, batch)?;
            let weight = self.weights.slice(tensors.weight.clone());
            device.delta_times_weight(sizes, delta, &weight, i > 0, &mut room.dense_delta)?;
        }
        rectify(device, &room.dense, batch * self.shape.dense, &mut room.dense_delta)?;

        let (last, tensors) = (dense - 1, &self.tensors[dense]);
        let of_dense = sizes(tensors, batch);
        let (partial, gradient) = (&mut room.partial, &mut self.gradient);
        weight_gradient(
            device,
            of_dense,
            &room.dense_delta,
            &room.outputs[last],
            partial,
            gradient,
            tensors,
        )?;
        show(dense, &room.outputs[last], &room.dense_delta, batch)?;
        let weight = self.weights.slice(tensors.weight.clone());
        device.delta_times_weight(of_dense, &room.dense_delta, &weight, false, &mut room.deltas[last])?;
        rectify(
            device,
            &room.outputs[last],
            batch * tensors.inputs,
            &mut room.deltas[last],
        )?;

        for i in (0..dense).rev() {
            let (window, tensors) = (self.windows[i], &self.tensors[i]);
            let of_conv = sizes(tensors, batch * window.positions());
            let (partial, gradient) = (&mut room.partial, &mut self.gradient);
            weight_gradient(
                device,
                of_conv,
                &room.deltas[i],
                &room.patches[i],
                partial,
                gradient,
                tensors,
            )?;
            show(i, &room.patches[i], &room.deltas[i], of_conv.rows)?;
            if i == 0 {
                break;
            }
            // The patches are not needed any more: their gradients take their place.
            let weight = self.weights.slice(tensors.weight.clone());
            device.delta_times_weight(of_conv, &room.deltas[i], &weight, false, &mut room.patches[i])?;
            let before = &mut room.deltas[i - 1];
            gradient_of_patches(device, &room.patches[i], &room.outputs[i - 1], window, batch, before)?;
        }
        Ok(())
    }
}

/// A layer's weight and bias.
pub(crate) struct Layer<'a> {
    pub weight: CudaView<'a, f32>,
    pub bias: CudaView<'a, f32>,
    pub inputs: usize,
    pub outputs: usize,
}

fn layer<'a>(weights: &'a CudaSlice<f32>, tensors: &Tensors) -> Layer<'a> {
    Layer {
        weight: weights.slice(tensors.weight.clone()),
        bias: weights.slice(tensors.bias.clone()),
        inputs: tensors.inputs,
        outputs: tensors.outputs,
    }
}

fn sizes(tensors: &Tensors, rows: usize) -> Product {
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
) -> Result<(), String> {
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
fn look_at_bytes(
    device: &Device,
    images: &CudaSlice<u8>,
    rows: &CudaSlice<u32>,
    window: Window,
    batch: usize,
    patches: &mut CudaSlice<f32>,
) -> Result<(), String> {
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
    // SAFETY: every row is an image (checked), the window fits it, and `patches` holds them all. Where pixels are read by four,
    // every row of every window begins at a multiple of four.
    unsafe { call.launch(over(count as usize)) }.map_err(told)?;
    Ok(())
}

/// The patches of what a convolution made.
fn look_at_numbers(
    device: &Device,
    outputs: &CudaSlice<f32>,
    window: Window,
    batch: usize,
    patches: &mut CudaSlice<f32>,
) -> Result<(), String> {
    let fours = (batch * window.positions() * window.patch() / 4) as i64;
    let mut call = device.stream.launch_builder(&device.kernels.patches_of_numbers);
    call.arg(outputs).arg(patches).arg(&window).arg(&fours);
    // SAFETY: the window fits the outputs, whose depth is a multiple of four (checked), and `patches` holds them all.
    unsafe { call.launch(over(fours as usize)) }.map_err(told)?;
    Ok(())
}

/// From the gradients of patches to those of the convolution before.
fn gradient_of_patches(
    device: &Device,
    patches: &CudaSlice<f32>,
    outputs: &CudaSlice<f32>,
    window: Window,
    batch: usize,
    gradient: &mut CudaSlice<f32>,
) -> Result<(), String> {
    let fours = batch as i64 * i64::from(window.height * window.width * window.depth) / 4;
    let mut call = device.stream.launch_builder(&device.kernels.gradient_of_patches);
    call.arg(patches).arg(outputs).arg(gradient).arg(&window).arg(&fours);
    // SAFETY: outputs and gradient have four numbers for each of `fours`; positions are kept within the window's.
    unsafe { call.launch(over(fours as usize)) }.map_err(told)?;
    Ok(())
}

/// The gradient is nothing where the rectifier was closed.
fn rectify(
    device: &Device,
    outputs: &CudaSlice<f32>,
    count: usize,
    gradient: &mut CudaSlice<f32>,
) -> Result<(), String> {
    let long = count as i64;
    let mut call = device.stream.launch_builder(&device.kernels.rectifier_slope);
    call.arg(outputs).arg(gradient).arg(&long);
    // SAFETY: both have at least `count` numbers.
    unsafe { call.launch(over(count)) }.map_err(told)?;
    Ok(())
}

/// Overwrites the gradients of a layer's weight and bias.
fn weight_gradient(
    device: &Device,
    sizes: Product,
    delta: &CudaSlice<f32>,
    inputs: &CudaSlice<f32>,
    partial: &mut CudaSlice<f32>,
    gradient: &mut CudaSlice<f32>,
    tensors: &Tensors,
) -> Result<(), String> {
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
) -> Result<(), String> {
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
