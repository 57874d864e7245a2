//! K-FAC's matrices on the GPU, as `epgt_nn::Kfac` has them: the second moments of every layer's inputs and of the
//! gradients of its outputs, their eigen-decompositions (cuSOLVER, in double precision), and the natural gradient.

use cudarc::cusolver::{DnHandle, sys as solver};
use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, DevicePtrMut, PushKernelArg};
use epgt_nn::{FactorPart, KfacPart};

use crate::device::{over, told};
use crate::network::ImageNet;
use crate::optim::{BLOCKS, sum_products};
use crate::passes::{ROW_BLOCKS, sum_columns};
use crate::{Device, GpuError};

/// A running second moment and its last eigen-decomposition.
struct Factor {
    size: usize,
    moment: CudaSlice<f32>,
    values: CudaSlice<f32>,
    /// One eigenvector per row.
    vectors: CudaSlice<f32>,
}

/// Both factors of every layer, the last step, and room for the next.
pub(crate) struct Curvature {
    /// Of the inputs with a 1 appended, and of the outputs.
    layers: Vec<[Factor; 2]>,
    /// The last step: layer after layer `[outputs, inputs + 1]`, then the weights that no layer has.
    velocity: CudaSlice<f32>,
    /// The natural gradient, laid out in the same way.
    direction: CudaSlice<f32>,
    product: CudaSlice<f32>,
    quotient: CudaSlice<f32>,
    /// Sums of columns.
    sums: CudaSlice<f32>,
    /// Sums of products, by layer and block.
    dots: CudaSlice<f32>,
    solving: Solving,
}

/// cuSOLVER, and what it works in.
struct Solving {
    handle: DnHandle,
    matrix: CudaSlice<f64>,
    values: CudaSlice<f64>,
    work: CudaSlice<f64>,
    info: CudaSlice<i32>,
}

impl Factor {
    fn new(device: &Device, size: usize) -> Result<Self, GpuError> {
        let zeros = |count: usize| device.stream.alloc_zeros(count).map_err(told);
        Ok(Self {
            size,
            moment: zeros(size * size)?,
            values: zeros(size)?,
            vectors: zeros(size * size)?,
        })
    }
}

impl Curvature {
    pub fn new(device: &Device, net: &ImageNet) -> Result<Self, GpuError> {
        // SAFETY: asking whether a library can be opened runs no more of it than its initialisers.
        if !unsafe { solver::is_culib_present() } {
            return Err(GpuError::NoSolver);
        }
        let layers = net
            .tensors
            .iter()
            .map(|layer| {
                Ok([
                    Factor::new(device, layer.inputs + 1)?,
                    Factor::new(device, layer.outputs)?,
                ])
            })
            .collect::<Result<Vec<_>, GpuError>>()?;
        let sizes = || layers.iter().map(|[input, output]| input.size * output.size);
        let (all, most) = (net.weights.len(), sizes().max().unwrap_or(1));
        let largest = layers.iter().flatten().map(|factor| factor.size).max().unwrap_or(1);
        let floats = |count: usize| device.stream.alloc_zeros::<f32>(count).map_err(told);
        Ok(Self {
            velocity: floats(all)?,
            direction: floats(all)?,
            product: floats(most)?,
            quotient: floats(most)?,
            sums: floats((ROW_BLOCKS + 1) * largest)?,
            dots: floats((layers.len() + 1) * BLOCKS)?,
            solving: Solving::new(device, largest)?,
            layers,
        })
    }

    /// moments = (1 - new) moments + new times those of `rows` rows of a layer's inputs and gradients, of a batch of
    /// `examples`.
    pub fn see(
        &mut self,
        device: &Device,
        layer: usize,
        (inputs, deltas, rows): (&CudaSlice<f32>, &CudaSlice<f32>, usize),
        examples: usize,
        new: f32,
    ) -> Result<(), GpuError> {
        let [input, output] = &mut self.layers[layer];
        let (keep, n) = (1.0 - new, input.size);
        let scale = new / examples as f32;
        device.follow((&mut input.moment, n), (inputs, rows, n - 1), keep, scale)?;
        let blocks = rows.div_ceil(64).clamp(1, ROW_BLOCKS);
        let (mut partial, mut sums) = self.sums.split_at_mut(ROW_BLOCKS * (n - 1));
        sum_columns(device, &inputs.as_view(), rows, n - 1, blocks, &mut partial)?;
        sum_columns(device, &partial.as_view(), blocks, n - 1, 1, &mut sums)?;
        let (sums, count, size) = (sums.as_view(), rows as f32, n as i32);
        let mut call = device.stream.launch_builder(&device.kernels.border);
        call.arg(&mut input.moment)
            .arg(&sums)
            .arg(&keep)
            .arg(&scale)
            .arg(&count)
            .arg(&size);
        // SAFETY: the moment is `[n, n]` and there is a sum for every other column.
        unsafe { call.launch(over(n)) }.map_err(told)?;
        let m = output.size;
        device.follow((&mut output.moment, m), (deltas, rows, m), keep, new / rows as f32)
    }

    /// Decomposes all moments; false where that cannot be done.
    pub fn decompose(&mut self, device: &Device) -> Result<bool, GpuError> {
        for factor in self.layers.iter_mut().flatten() {
            if !self.solving.decompose(device, factor)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes the natural gradient U of the network's gradient V; returns V.U.
    pub fn precondition(
        &mut self,
        device: &Device,
        net: &ImageNet,
        damping: f32,
        of_rest: f32,
    ) -> Result<f32, GpuError> {
        let mut first = 0;
        for (i, ([input, output], tensors)) in self.layers.iter().zip(&net.tensors).enumerate() {
            let (m, n) = (output.size, input.size);
            let (count, long, width) = (m * n, (m * n) as i64, n as i32);
            let mut direction = self.direction.slice_mut(first..first + count);
            first += count;
            let (weight, bias) = (
                net.gradient.slice(tensors.weight.clone()),
                net.gradient.slice(tensors.bias.clone()),
            );
            let mut call = device.stream.launch_builder(&device.kernels.join);
            call.arg(&weight)
                .arg(&bias)
                .arg(&mut self.product)
                .arg(&width)
                .arg(&long);
            // SAFETY: weight and bias have `count` numbers together, and the product has room for them.
            unsafe { call.launch(over(count)) }.map_err(told)?;
            device.turn_rows((&output.vectors, false), &self.product, [m, n], &mut direction)?;
            device.turn_columns(&direction, (&input.vectors, true), [m, n], &mut self.product)?;
            let mut call = device.stream.launch_builder(&device.kernels.divide);
            call.arg(&self.product)
                .arg(&output.values)
                .arg(&input.values)
                .arg(&damping);
            call.arg(&mut self.quotient).arg(&width).arg(&long);
            // SAFETY: product and quotient have room for `[m, n]`, and there is a value for every row and every column.
            unsafe { call.launch(over(count)) }.map_err(told)?;
            let mut dots = self.dots.slice_mut(i * BLOCKS..(i + 1) * BLOCKS);
            sum_products(
                device,
                &self.product.as_view(),
                &self.quotient.as_view(),
                count,
                &mut dots,
            )?;
            device.turn_rows((&output.vectors, true), &self.quotient, [m, n], &mut self.product)?;
            device.turn_columns(&self.product, (&input.vectors, false), [m, n], &mut direction)?;
        }
        let rest = net.gradient.slice(first..);
        let mut direction = self.direction.slice_mut(first..);
        let mut dots = self.dots.slice_mut(self.layers.len() * BLOCKS..);
        let count = net.gradient.len() - first;
        if count > 0 {
            blend(device, &mut direction, &rest, 0.0, 1.0 / (of_rest + damping), count)?;
            sum_products(device, &rest, &direction.as_view(), count, &mut dots)?;
        }
        let dots = device.stream.clone_dtoh(&self.dots).map_err(told)?;
        device.wait()?;
        Ok(dots.iter().map(|&x| f64::from(x)).sum::<f64>() as f32)
    }

    /// velocity = momentum velocity + share U, and the weights go against it.
    pub fn advance(&mut self, device: &Device, net: &mut ImageNet, momentum: f32, share: f32) -> Result<(), GpuError> {
        let all = self.velocity.len();
        let direction = self.direction.as_view();
        blend(
            device,
            &mut self.velocity.as_view_mut(),
            &direction,
            momentum,
            share,
            all,
        )?;
        let mut first = 0;
        for ([input, output], tensors) in self.layers.iter().zip(&net.tensors) {
            let (count, width) = (input.size * output.size, input.size as i32);
            let long = count as i64;
            let step = self.velocity.slice(first..first + count);
            first += count;
            let both = tensors.weight.start..tensors.bias.end;
            let mut both = net.weights.slice_mut(both);
            let (mut weight, mut bias) = both.split_at_mut(tensors.weight.len());
            let mut call = device.stream.launch_builder(&device.kernels.go);
            call.arg(&mut weight).arg(&mut bias).arg(&step).arg(&width).arg(&long);
            // SAFETY: weight and bias have `count` numbers together, and so has the step.
            unsafe { call.launch(over(count)) }.map_err(told)?;
        }
        let count = all - first;
        if count > 0 {
            let step = self.velocity.slice(first..);
            let mut rest = net.weights.slice_mut(first..);
            blend(device, &mut rest, &step, 1.0, -1.0, count)?;
        }
        Ok(())
    }

    /// A part of the state; `None` for a layer that does not exist.
    pub fn part(&self, what: KfacPart) -> Option<&CudaSlice<f32>> {
        match what {
            KfacPart::Velocity => Some(&self.velocity),
            KfacPart::Factor { layer, of_inputs, part } => {
                let factor = &self.layers.get(layer)?[usize::from(!of_inputs)];
                Some(match part {
                    FactorPart::Moment => &factor.moment,
                    FactorPart::Values => &factor.values,
                    FactorPart::Vectors => &factor.vectors,
                })
            }
        }
    }

    /// A part of the state, to change it; `None` for a layer that does not exist.
    pub fn part_mut(&mut self, what: KfacPart) -> Option<&mut CudaSlice<f32>> {
        match what {
            KfacPart::Velocity => Some(&mut self.velocity),
            KfacPart::Factor { layer, of_inputs, part } => {
                let factor = &mut self.layers.get_mut(layer)?[usize::from(!of_inputs)];
                Some(match part {
                    FactorPart::Moment => &mut factor.moment,
                    FactorPart::Values => &mut factor.values,
                    FactorPart::Vectors => &mut factor.vectors,
                })
            }
        }
    }
}

/// out = a out + b in.
fn blend(
    device: &Device,
    out: &mut CudaViewMut<'_, f32>,
    from: &CudaView<'_, f32>,
    a: f32,
    b: f32,
    count: usize,
) -> Result<(), GpuError> {
    let long = count as i64;
    let mut call = device.stream.launch_builder(&device.kernels.blend);
    call.arg(out).arg(from).arg(&a).arg(&b).arg(&long);
    // SAFETY: both have at least `count` numbers.
    unsafe { call.launch(over(count)) }.map_err(told)?;
    Ok(())
}

impl Solving {
    fn new(device: &Device, largest: usize) -> Result<Self, GpuError> {
        let handle = DnHandle::new(device.stream.clone()).map_err(told)?;
        let mut matrix = device.stream.alloc_zeros(largest * largest).map_err(told)?;
        let mut values = device.stream.alloc_zeros(largest).map_err(told)?;
        let mut need = 0;
        let n = largest as i32;
        {
            let (matrix, _matrix) = matrix.device_ptr_mut(&device.stream);
            let (values, _values) = values.device_ptr_mut(&device.stream);
            // SAFETY: both arrays are on the GPU, and only their sizes are looked at.
            unsafe {
                solver::cusolverDnDsyevd_bufferSize(
                    handle.cu(),
                    solver::cusolverEigMode_t::CUSOLVER_EIG_MODE_VECTOR,
                    solver::cublasFillMode_t::CUBLAS_FILL_MODE_LOWER,
                    n,
                    matrix as *const f64,
                    n,
                    values as *const f64,
                    &mut need,
                )
            }
            .result()
            .map_err(told)?;
        }
        Ok(Self {
            handle,
            work: device.stream.alloc_zeros(need.max(1) as usize).map_err(told)?,
            info: device.stream.alloc_zeros(1).map_err(told)?,
            matrix,
            values,
        })
    }

    /// Decomposes a factor's moment; false where that cannot be done.
    fn decompose(&mut self, device: &Device, factor: &mut Factor) -> Result<bool, GpuError> {
        let size = factor.size;
        let (n, count) = (size as i32, (size * size) as i64);
        let mut call = device.stream.launch_builder(&device.kernels.widen);
        call.arg(&factor.moment).arg(&mut self.matrix).arg(&count);
        // SAFETY: both have at least `count` numbers.
        unsafe { call.launch(over(size * size)) }.map_err(told)?;
        let room = self.work.len() as i32;
        {
            let (matrix, _matrix) = self.matrix.device_ptr_mut(&device.stream);
            let (values, _values) = self.values.device_ptr_mut(&device.stream);
            let (work, _work) = self.work.device_ptr_mut(&device.stream);
            let (info, _info) = self.info.device_ptr_mut(&device.stream);
            // SAFETY: all arrays are on the GPU; the matrix is `[n, n]`, there are `n` values, and the work space is
            // that of the largest matrix.
            unsafe {
                solver::cusolverDnDsyevd(
                    self.handle.cu(),
                    solver::cusolverEigMode_t::CUSOLVER_EIG_MODE_VECTOR,
                    solver::cublasFillMode_t::CUBLAS_FILL_MODE_LOWER,
                    n,
                    matrix as *mut f64,
                    n,
                    values as *mut f64,
                    work as *mut f64,
                    room,
                    info as *mut i32,
                )
            }
            .result()
            .map_err(told)?;
        }
        narrow(device, &self.values, &mut factor.values, true, size)?;
        narrow(device, &self.matrix, &mut factor.vectors, false, size * size)?;
        let mut info = [0];
        device.stream.memcpy_dtoh(&self.info, &mut info).map_err(told)?;
        device.wait()?;
        Ok(info[0] == 0)
    }
}

/// Back from double precision.
fn narrow(
    device: &Device,
    from: &CudaSlice<f64>,
    out: &mut CudaSlice<f32>,
    positive: bool,
    count: usize,
) -> Result<(), GpuError> {
    let (flag, long) = (i32::from(positive), count as i64);
    let mut call = device.stream.launch_builder(&device.kernels.narrow);
    call.arg(from).arg(out).arg(&flag).arg(&long);
    // SAFETY: both have at least `count` numbers.
    unsafe { call.launch(over(count)) }.map_err(told)?;
    Ok(())
}
