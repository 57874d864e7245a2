//! An agent's networks on a GPU: the implementation of [`epgt_nn::Remote`].

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use cudarc::driver::CudaSlice;
use epgt_nn::{
    AdamStep, Buffer, KfacPart, Projections, Remote, RemoteKfac, RemoteOptimiser, RemoteState, RmsPropStep, TanhLayer,
};

use crate::curvature::Curvature;
use crate::device::told;
use crate::encoder::Encoder;
use crate::network::ImageNet;
use crate::optim::{self, Norm};
use crate::projector::Projector;
use crate::{Device, GpuError, NetShape};

/// The image network with its optimiser's state, on the first GPU of the machine.
///
/// ```
/// use epgt_cuda::{Gpu, NetShape};
/// use epgt_nn::{Buffer, Remote};
/// // Without a GPU there is one sentence.
/// match Gpu::open(NetShape::paper(6), false) {
///     Ok(mut gpu) => {
///         gpu.write(Buffer::Weights, &vec![0.0; 866_439]);
///         gpu.forward(&vec![0; 2 * 4 * 84 * 84], 2);
///         let mut logits = [1.0; 12];
///         gpu.read_outputs(0, &mut logits);
///         assert_eq!((logits, gpu.fault()), ([0.0; 12], None));
///     }
///     Err(error) => assert!(error.to_string().contains("--device cpu"), "{error}"),
/// }
/// ```
pub struct Gpu {
    device: Device,
    net: ImageNet,
    image_size: usize,
    /// The images of the last forward pass, and the rollout's.
    passing: CudaSlice<u8>,
    kept: CudaSlice<u8>,
    /// How many images the last forward pass had.
    passed: usize,
    /// 0, 1, 2, ...
    rows: Vec<u32>,
    moments: [CudaSlice<f32>; 2],
    curvature: Option<Curvature>,
    norm: RefCell<Norm>,
    projector: RefCell<Option<Projector>>,
    encoder: RefCell<Option<Encoder>>,
    fault: RefCell<Option<GpuError>>,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu")
            .field("name", &self.device.name())
            .finish_non_exhaustive()
    }
}

impl Gpu {
    /// The network on the first GPU of the machine, its weights zeros, or one sentence about what is missing. With
    /// `tf32`, matrix products may round their factors to TF32 (10 bits of mantissa), which is faster.
    pub fn open(shape: NetShape, tf32: bool) -> Result<Self, GpuError> {
        shape.check()?;
        let device = Device::find()?;
        device.allow_tf32(tf32)?;
        let net = ImageNet::new(&device, shape.clone())?;
        let zeros = || device.stream.alloc_zeros(shape.parameters()).map_err(told);
        Ok(Self {
            moments: [zeros()?, zeros()?],
            curvature: None,
            norm: RefCell::new(Norm::new(&device)?),
            passing: device.stream.alloc_zeros(0).map_err(told)?,
            kept: device.stream.alloc_zeros(0).map_err(told)?,
            image_size: shape.image_size(),
            passed: 0,
            rows: Vec::new(),
            projector: RefCell::new(None),
            encoder: RefCell::new(None),
            fault: RefCell::new(None),
            net,
            device,
        })
    }

    /// Waits until all that was asked for is done.
    pub fn wait(&self) {
        self.attempt(|| self.device.wait());
    }

    /// Does something unless something has failed before; remembers its failure.
    fn attempt(&self, what: impl FnOnce() -> Result<(), GpuError>) {
        if self.fault.borrow().is_none() {
            self.note(what());
        }
    }

    /// [`attempt`](Self::attempt) for what changes something.
    fn attempt_mut(&mut self, what: impl FnOnce(&mut Self) -> Result<(), GpuError>) {
        if self.fault.borrow().is_none() {
            let done = what(self);
            self.note(done);
        }
    }

    fn note(&self, done: Result<(), GpuError>) {
        if let Err(error) = done {
            *self.fault.borrow_mut() = Some(GpuError::Failed(Box::new(error)));
        }
    }

    /// Copies a buffer to the host.
    fn download(&self, from: &CudaSlice<f32>, out: &mut [f32]) -> Result<(), GpuError> {
        assert_eq!(from.len(), out.len(), "one number for each of the buffer");
        self.device.stream.memcpy_dtoh(from, out).map_err(told)?;
        self.device.wait()
    }
}

/// Copies numbers to a buffer.
fn upload(device: &Device, values: &[f32], into: &mut CudaSlice<f32>) -> Result<(), GpuError> {
    assert_eq!(into.len(), values.len(), "one number for each of the buffer");
    device.stream.memcpy_htod(values, into).map_err(told)
}

/// Room for `bytes` bytes that keeps what was there.
fn grow(device: &Device, room: &mut CudaSlice<u8>, bytes: usize) -> Result<(), GpuError> {
    if bytes > room.len() {
        let mut wider = device.stream.alloc_zeros(bytes.max(2 * room.len())).map_err(told)?;
        if !room.is_empty() {
            let mut start = wider.slice_mut(..room.len());
            device.stream.memcpy_dtod(room, &mut start).map_err(told)?;
        }
        *room = wider;
    }
    Ok(())
}

impl Remote for Gpu {
    fn name(&self) -> String {
        self.device.name().to_string()
    }

    fn fault(&self) -> Option<String> {
        self.fault.borrow().as_ref().map(GpuError::to_string)
    }

    fn forward(&mut self, images: &[u8], batch: usize) {
        assert_eq!(images.len(), batch * self.image_size, "so many images");
        self.attempt_mut(|gpu| {
            grow(&gpu.device, &mut gpu.passing, images.len())?;
            let mut place = gpu.passing.slice_mut(..images.len());
            gpu.device.stream.memcpy_htod(images, &mut place).map_err(told)?;
            gpu.passed = batch;
            gpu.rows.extend(gpu.rows.len() as u32..batch as u32);
            gpu.net.forward(&gpu.device, &gpu.passing, &gpu.rows[..batch])
        });
    }

    fn keep(&mut self, first: usize) {
        self.attempt_mut(|gpu| {
            let (first, bytes) = (first * gpu.image_size, gpu.passed * gpu.image_size);
            grow(&gpu.device, &mut gpu.kept, first + bytes)?;
            let from = gpu.passing.slice(..bytes);
            let mut place = gpu.kept.slice_mut(first..first + bytes);
            gpu.device.stream.memcpy_dtod(&from, &mut place).map_err(told)
        });
    }

    fn forward_cached(&mut self, rows: &[u32]) {
        self.attempt_mut(|gpu| gpu.net.forward(&gpu.device, &gpu.kept, rows));
    }

    fn read_outputs(&self, head: usize, out: &mut [f32]) {
        out.fill(0.0);
        self.attempt(|| self.net.read(&self.device, head, out));
    }

    fn backward(&mut self, heads: &[&[f32]], rest: &[f32]) {
        self.attempt_mut(|gpu| gpu.net.backward(&gpu.device, heads, rest));
    }

    fn clip(&mut self, max_norm: f32) -> f32 {
        let mut norm = 0.0;
        self.attempt_mut(|gpu| {
            let measure = gpu.norm.get_mut();
            norm = measure.clip(&gpu.device, &mut gpu.net.gradient, max_norm)?;
            Ok(())
        });
        norm
    }

    fn read(&self, buffer: Buffer, out: &mut [f32]) {
        let from = match buffer {
            Buffer::Weights => &self.net.weights,
            Buffer::Gradient => &self.net.gradient,
        };
        self.attempt(|| self.download(from, out));
    }

    fn write(&mut self, buffer: Buffer, values: &[f32]) {
        self.attempt_mut(|gpu| {
            let into = match buffer {
                Buffer::Weights => &mut gpu.net.weights,
                Buffer::Gradient => &mut gpu.net.gradient,
            };
            upload(&gpu.device, values, into)
        });
    }

    fn optimiser(&mut self) -> &mut dyn RemoteOptimiser {
        self
    }

    fn kfac(&mut self) -> Option<&mut dyn RemoteKfac> {
        if self.curvature.is_none() && self.fault.get_mut().is_none() {
            match Curvature::new(&self.device, &self.net) {
                Ok(curvature) => self.curvature = Some(curvature),
                Err(error) => *self.fault.get_mut() = Some(error),
            }
        }
        Some(self)
    }

    fn state(&self) -> Option<&dyn RemoteState> {
        Some(self)
    }

    fn state_mut(&mut self) -> Option<&mut dyn RemoteState> {
        Some(self)
    }
}

impl RemoteOptimiser for Gpu {
    fn adam(&mut self, step: AdamStep, part: Range<usize>) {
        self.attempt_mut(|gpu| optim::adam(&gpu.device, &mut gpu.net, &mut gpu.moments, step, part));
    }

    fn rms_prop(&mut self, step: RmsPropStep, part: Range<usize>) {
        self.attempt_mut(|gpu| optim::rms_prop(&gpu.device, &mut gpu.net, &mut gpu.moments[0], step, part));
    }

    fn read_moment(&self, moment: usize, out: &mut [f32]) {
        self.attempt(|| self.download(&self.moments[moment], out));
    }

    fn write_moment(&mut self, moment: usize, values: &[f32]) {
        self.attempt_mut(|gpu| upload(&gpu.device, values, &mut gpu.moments[moment]));
    }
}

/// [`Remote::kfac`] has made the matrices, or a fault says why it could not.
impl RemoteKfac for Gpu {
    fn backward_observed(&mut self, heads: &[&[f32]], rest: &[f32], new: f32) {
        self.attempt_mut(|gpu| {
            let Self {
                device, net, curvature, ..
            } = gpu;
            let curvature = curvature.as_mut().ok_or(GpuError::NoCurvature)?;
            let examples = net.batch;
            net.backward_shown(device, heads, rest, &mut |layer, inputs, deltas, rows| {
                curvature.see(device, layer, (inputs, deltas, rows), examples, new)
            })?;
            net.restore_patches(device)
        });
    }

    fn decompose(&mut self) -> bool {
        let mut done = true;
        self.attempt_mut(|gpu| {
            if let Some(curvature) = &mut gpu.curvature {
                done = curvature.decompose(&gpu.device)?;
            }
            Ok(())
        });
        done
    }

    fn precondition(&mut self, damping: f32, of_rest: f32) -> f32 {
        let mut slope = 0.0;
        self.attempt_mut(|gpu| {
            if let Some(curvature) = &mut gpu.curvature {
                slope = curvature.precondition(&gpu.device, &gpu.net, damping, of_rest)?;
            }
            Ok(())
        });
        slope
    }

    fn advance(&mut self, momentum: f32, share: f32) {
        self.attempt_mut(|gpu| match &mut gpu.curvature {
            Some(curvature) => curvature.advance(&gpu.device, &mut gpu.net, momentum, share),
            None => Ok(()),
        });
    }

    fn read_part(&self, part: KfacPart, out: &mut [f32]) {
        self.attempt(
            || match self.curvature.as_ref().and_then(|curvature| curvature.part(part)) {
                Some(from) => self.download(from, out),
                None => Ok(()),
            },
        );
    }

    fn write_part(&mut self, part: KfacPart, values: &[f32]) {
        self.attempt_mut(
            |gpu| match gpu.curvature.as_mut().and_then(|curvature| curvature.part_mut(part)) {
                Some(into) => upload(&gpu.device, values, into),
                None => Ok(()),
            },
        );
    }
}

impl RemoteState for Gpu {
    fn set(&mut self, projections: Projections<'_>, encoder: &[TanhLayer<'_>], older: &[Vec<f32>]) {
        self.attempt_mut(|gpu| {
            *gpu.encoder.get_mut() = Some(Encoder::new(&gpu.device, encoder)?);
            let mut projector = Projector::new(&gpu.device, projections)?;
            for (values, into) in older.iter().zip(&mut projector.older) {
                upload(&gpu.device, values, into)?;
            }
            *gpu.projector.get_mut() = Some(projector);
            Ok(())
        });
    }

    fn project(&self, features: &mut [f32]) {
        features.fill(0.0);
        self.attempt(|| match &mut *self.projector.borrow_mut() {
            Some(projector) => projector.project(&self.device, &self.net.weights, &self.net.gradient, features),
            None => Ok(()),
        });
    }

    fn encode(&self, features: &[f32], out: &mut [f32]) {
        out.fill(0.0);
        self.attempt(|| match &mut *self.encoder.borrow_mut() {
            Some(encoder) => encoder.encode(&self.device, features, out),
            None => Ok(()),
        });
    }

    fn age(&self) {
        self.attempt(|| match &mut *self.projector.borrow_mut() {
            Some(projector) => projector.age(&self.device, &self.net.gradient),
            None => Ok(()),
        });
    }

    fn norms(&self) -> (f32, f32) {
        let mut norms = (0.0, 0.0);
        self.attempt(|| {
            let mut norm = self.norm.borrow_mut();
            norms.0 = norm.of(&self.device, &self.net.weights)?;
            norms.1 = norm.of(&self.device, &self.net.gradient)?;
            Ok(())
        });
        norms
    }

    fn read_older(&self, number: usize, out: &mut [f32]) {
        self.attempt(
            || match self.projector.borrow().as_ref().and_then(|own| own.older.get(number)) {
                Some(from) => self.download(from, out),
                None => Ok(()),
            },
        );
    }
}
