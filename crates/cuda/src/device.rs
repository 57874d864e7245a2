//! A GPU: its context, its stream, cuBLAS, and the compiled kernels.

use std::sync::Arc;

use cudarc::cublas::{CudaBlas, Gemm, GemmConfig, sys as blas};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DevicePtr, DevicePtrMut, LaunchConfig};
use cudarc::nvrtc::{self, CompileOptions};

use crate::GpuError;

/// Threads of a block, and the most blocks of a launch; loops stride over the rest.
const THREADS: u32 = 256;
const BLOCKS: u32 = 132 * 16;

/// An NVIDIA GPU, ready to be used.
pub struct Device {
    name: String,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) blas: CudaBlas,
    pub(crate) kernels: Kernels,
}

/// The functions of `kernels.cu`.
pub(crate) struct Kernels {
    pub patches_of_bytes: CudaFunction,
    pub patches_of_any_bytes: CudaFunction,
    pub patches_of_numbers: CudaFunction,
    pub gradient_of_patches: CudaFunction,
    pub add_bias: CudaFunction,
    pub rectifier_slope: CudaFunction,
    pub column_sums: CudaFunction,
    pub sum_of_products: CudaFunction,
    pub norm_of_sums: CudaFunction,
    pub clip: CudaFunction,
    pub adam: CudaFunction,
    pub rms_prop: CudaFunction,
    pub project: CudaFunction,
    pub border: CudaFunction,
    pub join: CudaFunction,
    pub go: CudaFunction,
    pub divide: CudaFunction,
    pub blend: CudaFunction,
    pub widen: CudaFunction,
    pub narrow: CudaFunction,
    pub tanh_all: CudaFunction,
}

impl Device {
    /// The first GPU of the machine, or one sentence about what is missing.
    pub fn find() -> Result<Self, GpuError> {
        // SAFETY: asking whether a library can be opened runs no more of it than its initialisers.
        let (driver, compiler, products) = unsafe {
            (
                cudarc::driver::sys::is_culib_present(),
                nvrtc::sys::is_culib_present(),
                blas::is_culib_present(),
            )
        };
        if !driver {
            return Err(GpuError::NoDriver);
        }
        for (present, library) in [(compiler, "nvrtc"), (products, "cublas")] {
            if !present {
                return Err(GpuError::NoLibrary(library));
            }
        }
        Self::open().map_err(|error| GpuError::Unusable(Box::new(error)))
    }

    fn open() -> Result<Self, GpuError> {
        let context = CudaContext::new(0).map_err(told)?;
        // SAFETY: all work of this context goes through the one stream below, in the order in which it was asked for.
        // Keeping track of what reads and writes which array cost up to 7% of a training step on 256 images.
        unsafe { context.disable_event_tracking() };
        let name = context.name().map_err(told)?;
        let (major, minor) = context.compute_capability().map_err(told)?;
        let stream = context.new_stream().map_err(told)?;
        let options = CompileOptions {
            options: vec![format!("--gpu-architecture=compute_{major}{minor}")],
            ..Default::default()
        };
        let compiled = nvrtc::compile_ptx_with_opts(include_str!("kernels.cu"), options).map_err(told)?;
        let module = context.load_module(compiled).map_err(told)?;
        let function = |name: &str| module.load_function(name).map_err(told);
        Ok(Self {
            name,
            blas: CudaBlas::new(stream.clone()).map_err(told)?,
            stream,
            kernels: Kernels {
                patches_of_bytes: function("patches_of_bytes")?,
                patches_of_any_bytes: function("patches_of_any_bytes")?,
                patches_of_numbers: function("patches_of_numbers")?,
                gradient_of_patches: function("gradient_of_patches")?,
                add_bias: function("add_bias")?,
                rectifier_slope: function("rectifier_slope")?,
                column_sums: function("column_sums")?,
                sum_of_products: function("sum_of_products")?,
                norm_of_sums: function("norm_of_sums")?,
                clip: function("clip")?,
                adam: function("adam")?,
                rms_prop: function("rms_prop")?,
                project: function("project")?,
                border: function("border")?,
                join: function("join")?,
                go: function("go")?,
                divide: function("divide")?,
                blend: function("blend")?,
                widen: function("widen")?,
                narrow: function("narrow")?,
                tanh_all: function("tanh_all")?,
            },
        })
    }

    /// What the GPU calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lets matrix products round their factors to TF32 (10 bits of mantissa), which is several times as fast; off at
    /// first.
    pub fn allow_tf32(&self, allow: bool) -> Result<(), GpuError> {
        let mode = match allow {
            true => blas::cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH,
            false => blas::cublasMath_t::CUBLAS_DEFAULT_MATH,
        };
        // SAFETY: the handle is cuBLAS's own and lives as long as `self`.
        unsafe { blas::cublasSetMathMode(*self.blas.handle(), mode) }
            .result()
            .map_err(told)
    }

    /// Waits until all that was asked for is done.
    pub fn wait(&self) -> Result<(), GpuError> {
        self.stream.synchronize().map_err(told)
    }

    /// out `[rows, outputs]` = a `[rows, inputs]` times the transpose of weight `[outputs, inputs]`.
    pub(crate) fn rows_times_weight(
        &self,
        sizes: Product,
        a: &impl DevicePtr<f32>,
        weight: &impl DevicePtr<f32>,
        out: &mut impl DevicePtrMut<f32>,
    ) -> Result<(), GpuError> {
        let Product { rows, inputs, outputs } = sizes;
        // cuBLAS counts by columns: it sees every matrix transposed.
        let config = config(true, false, [outputs, rows, inputs], [inputs, inputs, outputs]);
        // SAFETY: the callers' buffers hold at least the matrices of `sizes`.
        unsafe { self.blas.gemm(config, weight, a, out) }.map_err(told)
    }

    /// out `[rows, inputs]` = delta `[rows, outputs]` times weight `[outputs, inputs]`, or that added to it.
    pub(crate) fn delta_times_weight(
        &self,
        sizes: Product,
        delta: &impl DevicePtr<f32>,
        weight: &impl DevicePtr<f32>,
        add: bool,
        out: &mut impl DevicePtrMut<f32>,
    ) -> Result<(), GpuError> {
        let Product { rows, inputs, outputs } = sizes;
        let mut config = config(false, false, [inputs, rows, outputs], [inputs, outputs, inputs]);
        config.beta = f32::from(u8::from(add));
        // SAFETY: the callers' buffers hold at least the matrices of `sizes`.
        unsafe { self.blas.gemm(config, weight, delta, out) }.map_err(told)
    }

    /// out `[outputs, inputs]` = the transpose of delta `[rows, outputs]` times a `[rows, inputs]`.
    pub(crate) fn delta_times_rows(
        &self,
        sizes: Product,
        delta: &impl DevicePtr<f32>,
        a: &impl DevicePtr<f32>,
        out: &mut impl DevicePtrMut<f32>,
    ) -> Result<(), GpuError> {
        let Product { rows, inputs, outputs } = sizes;
        let config = config(false, true, [inputs, outputs, rows], [inputs, outputs, inputs]);
        // SAFETY: the callers' buffers hold at least the matrices of `sizes`.
        unsafe { self.blas.gemm(config, a, delta, out) }.map_err(told)
    }

    /// moment `[width, width]`, stored with `stride` numbers from row to row, = keep moment + scale rows^T rows, where
    /// `rows` are `[count, width]`.
    pub(crate) fn follow(
        &self,
        (moment, stride): (&mut impl DevicePtrMut<f32>, usize),
        (rows, count, width): (&impl DevicePtr<f32>, usize, usize),
        keep: f32,
        scale: f32,
    ) -> Result<(), GpuError> {
        let mut config = config(false, true, [width, width, count], [width, width, stride]);
        (config.alpha, config.beta) = (scale, keep);
        // SAFETY: the callers' buffers hold at least these matrices.
        unsafe { self.blas.gemm(config, rows, rows, moment) }.map_err(told)
    }

    /// out `[m, n]` = q `[m, m]` (or its transpose) times a `[m, n]`.
    pub(crate) fn turn_rows(
        &self,
        (q, transposed): (&impl DevicePtr<f32>, bool),
        a: &impl DevicePtr<f32>,
        [m, n]: [usize; 2],
        out: &mut impl DevicePtrMut<f32>,
    ) -> Result<(), GpuError> {
        let config = config(false, transposed, [n, m, m], [n, m, n]);
        // SAFETY: the callers' buffers hold at least these matrices.
        unsafe { self.blas.gemm(config, a, q, out) }.map_err(told)
    }

    /// out `[m, n]` = a `[m, n]` times q `[n, n]` (or its transpose).
    pub(crate) fn turn_columns(
        &self,
        a: &impl DevicePtr<f32>,
        (q, transposed): (&impl DevicePtr<f32>, bool),
        [m, n]: [usize; 2],
        out: &mut impl DevicePtrMut<f32>,
    ) -> Result<(), GpuError> {
        let config = config(transposed, false, [n, m, n], [n, n, n]);
        // SAFETY: the callers' buffers hold at least these matrices.
        unsafe { self.blas.gemm(config, q, a, out) }.map_err(told)
    }
}

/// A layer's sizes in a matrix product.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub rows: usize,
    pub inputs: usize,
    pub outputs: usize,
}

fn config(transpose_a: bool, transpose_b: bool, [m, n, k]: [usize; 3], [lda, ldb, ldc]: [usize; 3]) -> GemmConfig<f32> {
    let operation = |transpose: bool| match transpose {
        true => blas::cublasOperation_t::CUBLAS_OP_T,
        false => blas::cublasOperation_t::CUBLAS_OP_N,
    };
    GemmConfig {
        transa: operation(transpose_a),
        transb: operation(transpose_b),
        m: m as i32,
        n: n as i32,
        k: k as i32,
        alpha: 1.0,
        lda: lda as i32,
        ldb: ldb as i32,
        beta: 0.0,
        ldc: ldc as i32,
    }
}

/// A launch that covers `count` items.
pub(crate) fn over(count: usize) -> LaunchConfig {
    let blocks = (count as u64).div_ceil(u64::from(THREADS)).clamp(1, u64::from(BLOCKS)) as u32;
    LaunchConfig {
        grid_dim: (blocks, 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// A foreign library's error as words.
pub(crate) fn told(error: impl std::fmt::Debug) -> GpuError {
    GpuError::Library(format!("{error:?}"))
}
