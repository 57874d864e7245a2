//! Forward and backward passes of the image network on the GPU.

use cudarc::driver::CudaSlice;

use crate::device::told;
use crate::passes::{
    ROW_BLOCKS, affine, gradient_of_patches, layer, look_at_bytes, look_at_numbers, rectify, sizes, weight_gradient,
};
use crate::shape::{Tensors, Window};
use crate::{Device, GpuError, NetShape};

/// Is shown a layer by its number: the rows of its inputs and of the gradients of its outputs before rectifying, and
/// how many.
pub(crate) type Show<'a> = dyn FnMut(usize, &CudaSlice<f32>, &CudaSlice<f32>, usize) -> Result<(), GpuError> + 'a;

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
    /// Which images are looked at, and the same numbers here: those of acting never change and are brought up once.
    rows: CudaSlice<u32>,
    known_rows: Vec<u32>,
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
    fn new(device: &Device, shape: &NetShape, batch: usize) -> Result<Self, GpuError> {
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
            known_rows: Vec::with_capacity(batch),
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
    floats: impl Fn(usize) -> Result<CudaSlice<f32>, GpuError>,
) -> Result<Vec<CudaSlice<f32>>, GpuError> {
    shape.heads.iter().map(|&outputs| floats(batch * outputs)).collect()
}

impl ImageNet {
    /// A network whose weights are zeros.
    pub fn new(device: &Device, shape: NetShape) -> Result<Self, GpuError> {
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
    /// If a row is not the number of an image.
    pub fn forward(&mut self, device: &Device, images: &CudaSlice<u8>, rows: &[u32]) -> Result<(), GpuError> {
        let count = images.len() / self.shape.image_size();
        assert!(rows.iter().all(|&row| (row as usize) < count), "every row is an image");
        let batch = rows.len();
        if batch > self.room.batch {
            self.room = Room::new(device, &self.shape, batch)?;
        }
        self.batch = batch;
        let room = &mut self.room;
        if room.known_rows != rows {
            let mut places = room.rows.slice_mut(..batch);
            device.stream.memcpy_htod(rows, &mut places).map_err(told)?;
            room.known_rows.clear();
            room.known_rows.extend_from_slice(rows);
        }
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
    pub fn read(&self, device: &Device, head: usize, out: &mut [f32]) -> Result<(), GpuError> {
        let count = self.batch * self.shape.heads[head];
        assert_eq!(out.len(), count, "a number for every output");
        let outputs = self.room.heads[head].slice(..count);
        device.stream.memcpy_dtoh(&outputs, out).map_err(told)?;
        device.wait()
    }

    /// Overwrites the gradient of all weights, given the gradients of every head's outputs for the last batch, and that
    /// of the weights which no layer has.
    ///
    /// # Panics
    /// If a gradient does not fit the last forward pass.
    pub fn backward(&mut self, device: &Device, output_gradients: &[&[f32]], rest: &[f32]) -> Result<(), GpuError> {
        self.backward_shown(device, output_gradients, rest, &mut |_, _, _, _| Ok(()))
    }

    /// Makes the patches of the last batch again, for another backward pass: a backward pass overwrites them.
    pub fn restore_patches(&mut self, device: &Device) -> Result<(), GpuError> {
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

    /// [`backward`](Self::backward), showing every layer before its rows are used for something else.
    pub fn backward_shown(
        &mut self,
        device: &Device,
        output_gradients: &[&[f32]],
        rest: &[f32],
        show: &mut Show<'_>,
    ) -> Result<(), GpuError> {
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
