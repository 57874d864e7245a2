//! The features of the hyper-state, made where weights and gradients are.

use cudarc::driver::{CudaSlice, LaunchConfig, PushKernelArg};
use epgt_nn::Projections;

use crate::device::told;
use crate::{Device, GpuError};

/// Threads of a block of the kernel.
const THREADS: u32 = 128;

/// Projections, the gradients that are kept for them, and room for the features.
pub(crate) struct Projector {
    /// Where every row begins, how long it is, and where its matrix begins.
    rows: CudaSlice<i32>,
    count: usize,
    dim: usize,
    /// Numbers of the matrices of one source.
    per_source: usize,
    matrices: CudaSlice<f32>,
    features: CudaSlice<f32>,
    /// Gradients before the last, latest first.
    pub older: Vec<CudaSlice<f32>>,
}

impl Projector {
    pub fn new(device: &Device, projections: Projections<'_>) -> Result<Self, GpuError> {
        let Projections {
            tensors,
            sources,
            dim,
            matrices,
        } = projections;
        let (mut rows, mut offset, mut matrix) = (Vec::new(), 0, 0);
        for &(height, width) in tensors {
            for _ in 0..height {
                rows.extend([offset as i32, width as i32, matrix as i32]);
                offset += width;
            }
            matrix += dim * width;
        }
        let count = rows.len() / 3;
        assert_eq!(
            matrices.len(),
            matrix * sources,
            "a matrix for every tensor of every source"
        );
        let zeros = |count: usize| device.stream.alloc_zeros(count).map_err(told);
        Ok(Self {
            rows: device.stream.clone_htod(&rows).map_err(told)?,
            count,
            dim,
            per_source: matrix,
            matrices: device.stream.clone_htod(matrices).map_err(told)?,
            features: zeros(count * dim * sources)?,
            older: (2..sources).map(|_| zeros(offset)).collect::<Result<_, _>>()?,
        })
    }

    /// Writes the features of the weights and the gradients.
    pub fn project(
        &mut self,
        device: &Device,
        weights: &CudaSlice<f32>,
        gradient: &CudaSlice<f32>,
        out: &mut [f32],
    ) -> Result<(), GpuError> {
        let size = self.count * self.dim;
        assert!(self.features.len() <= out.len(), "room for every feature");
        let sources = [weights, gradient].into_iter().chain(&self.older);
        let launch = LaunchConfig {
            grid_dim: (self.count as u32, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        for (n, source) in sources.take(self.features.len() / size).enumerate() {
            let matrices = self.matrices.slice(n * self.per_source..(n + 1) * self.per_source);
            let mut features = self.features.slice_mut(n * size..(n + 1) * size);
            let dim = self.dim as i32;
            let mut call = device.stream.launch_builder(&device.kernels.project);
            call.arg(source)
                .arg(&self.rows)
                .arg(&matrices)
                .arg(&mut features)
                .arg(&dim);
            // SAFETY: rows lie within the source, matrices within this source's, and there are `dim` features for every
            // row.
            unsafe { call.launch(launch) }.map_err(told)?;
        }
        device.stream.memcpy_dtoh(&self.features, out).map_err(told)?;
        device.wait()
    }

    /// The last gradient becomes the one before.
    pub fn age(&mut self, device: &Device, gradient: &CudaSlice<f32>) -> Result<(), GpuError> {
        self.older.rotate_right(1);
        match self.older.first_mut() {
            Some(first) => device.stream.memcpy_dtod(gradient, first).map_err(told),
            None => Ok(()),
        }
    }
}
