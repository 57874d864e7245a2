//! A convolution with its activation, as a matrix product of patches: the layer of networks that look at pixels.

use epgt_rng::Pcg64;

use crate::kernel::{self, Pixel, Window, gather_patches, scatter_patches};
use crate::linear::{Transposed, grow, scale_by_slope};
use crate::{Activation, Parameters, TensorId, orthogonal};

/// Numbers of patches that are made at a time, 512 KiB: they are used while they lie in the second-level cache.
const BLOCK: usize = 128 * 1024;

/// y = activation(patches W^T + b), with W `[outputs, numbers of a patch]` in the tensor `<name>.weight` and b in
/// `<name>.bias`.
///
/// A row of W is ordered like a patch of its [`Window`]: by channel, row and pixel where the channels of the input come
/// first (PyTorch's order), by row, pixel and channel where they come last. Outputs always have the channels last, so
/// no pass moves a number only to reorder it.
///
/// Patches are made block by block and never kept, so a batch takes no more memory than its images. That is why
/// [`backward`](Self::backward) is given the images again.
///
/// ```
/// use epgt_nn::{Activation, Conv, Parameters, kernel::Window};
///
/// let mut params = Parameters::new();
/// let window = Window { planes: 1, height: 3, width: 3, depth: 1, kernel: 2, stride: 1 };
/// let mut layer = Conv::new(&mut params, "edges", window, 1, Activation::Relu);
/// params.value_mut(layer.weight()).copy_from_slice(&[1.0, -1.0, 0.0, 0.0]);
/// let image: [u8; 9] = [255, 0, 0, 0, 255, 0, 0, 0, 0];
/// assert_eq!(layer.forward(&params, &image, 1), [1.0, 0.0, 0.0, 1.0]);
/// layer.backward(&mut params, &image, &[1.0; 4]);
/// assert_eq!(params.gradient(layer.bias()), [2.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Conv {
    weight: TensorId,
    bias: TensorId,
    window: Window,
    outputs: usize,
    activation: Activation,
    batch: usize,
    output: Vec<f32>,
    delta: Vec<f32>,
    /// One block of patches, or of their gradients.
    patches: Vec<f32>,
    transposed: Transposed,
}

impl Conv {
    /// Adds the layer's two tensors, filled with zeros.
    ///
    /// # Panics
    /// If there are no outputs, or the window is empty or does not fit into the image.
    pub fn new(params: &mut Parameters, name: &str, window: Window, outputs: usize, activation: Activation) -> Self {
        assert!(outputs > 0 && window.patch() > 0, "a layer has inputs and outputs");
        assert!(
            window.stride > 0 && window.kernel <= window.height.min(window.width),
            "the window moves and fits into the image"
        );
        Self {
            weight: params.add(&format!("{name}.weight"), outputs, window.patch()),
            bias: params.add(&format!("{name}.bias"), 1, outputs),
            window,
            outputs,
            activation,
            batch: 0,
            output: Vec::new(),
            delta: Vec::new(),
            patches: Vec::new(),
            transposed: Transposed::default(),
        }
    }

    /// Fills the weight with an orthogonal matrix times `gain`.
    pub fn orthogonal(&self, params: &mut Parameters, gain: f32, rng: &mut Pcg64) {
        orthogonal(
            self.outputs,
            self.window.patch(),
            gain,
            rng,
            params.value_mut(self.weight),
        );
    }

    /// Outputs `[batch, positions down, positions across, outputs]`. Buffers grow to the largest batch seen, then no
    /// memory is asked for.
    ///
    /// # Panics
    /// If `images` is not `batch` images.
    pub fn forward<P: Pixel>(&mut self, params: &Parameters, images: &[P], batch: usize) -> &[f32] {
        assert_eq!(images.len(), batch * self.window.image(), "batch images");
        self.batch = batch;
        let bias = params.value(self.bias);
        let transposed = self.transposed.of(params, self.weight, self.outputs);
        let (count, rows) = block(self.window, batch);
        let output = grow(&mut self.output, batch * rows * self.outputs);
        let blocks = output.chunks_mut(count * rows * self.outputs);
        for (images, output) in images.chunks(count * self.window.image()).zip(blocks) {
            let patches = grow(&mut self.patches, output.len() / self.outputs * self.window.patch());
            gather_patches(self.window, images, patches);
            kernel::affine_transposed(patches, transposed, bias, self.activation, output);
        }
        output
    }

    /// Turns the gradient of the last outputs into [`delta`](Self::delta), and overwrites the gradients of weight and
    /// bias. `images` are those of the last forward pass.
    ///
    /// # Panics
    /// If the slices do not fit the last forward pass.
    pub fn backward<P: Pixel>(&mut self, params: &mut Parameters, images: &[P], output_gradient: &[f32]) {
        assert_eq!(
            images.len(),
            self.batch * self.window.image(),
            "the images of the last pass"
        );
        let len = self.output().len();
        assert_eq!(
            output_gradient.len(),
            len,
            "one gradient for each output of the last pass"
        );
        let delta = grow(&mut self.delta, len);
        scale_by_slope(self.activation, &self.output[..len], output_gradient, delta);
        let gradient = params.gradient_mut(self.weight);
        gradient.fill(0.0);
        let (count, rows) = block(self.window, self.batch);
        let blocks = delta.chunks(count * rows * self.outputs);
        for (images, delta) in images.chunks(count * self.window.image()).zip(blocks) {
            let patches = grow(&mut self.patches, delta.len() / self.outputs * self.window.patch());
            gather_patches(self.window, images, patches);
            kernel::add_combined(delta, (1, self.outputs), patches, self.window.patch(), gradient);
        }
        kernel::column_sums(delta, params.gradient_mut(self.bias));
    }

    /// After [`backward`](Self::backward): the gradient of the images' numbers, written to `out`.
    ///
    /// # Panics
    /// If `out` does not fit the last forward pass.
    pub fn input_gradient(&mut self, params: &Parameters, out: &mut [f32]) {
        assert_eq!(
            out.len(),
            self.batch * self.window.image(),
            "one gradient for each number"
        );
        let weight = params.value(self.weight);
        let (count, rows) = block(self.window, self.batch);
        let blocks = self.delta[..self.batch * rows * self.outputs].chunks(count * rows * self.outputs);
        for (out, delta) in out.chunks_mut(count * self.window.image()).zip(blocks) {
            let patches = grow(&mut self.patches, delta.len() / self.outputs * self.window.patch());
            kernel::combine(delta, (self.outputs, 1), weight, self.window.patch(), patches);
            scatter_patches(self.window, patches, out);
        }
    }

    /// Hands the patches of the last pass's images and the gradients of their pre-activations to `see`, block by block,
    /// with one row of each per image and position: what Kronecker factors are made of.
    ///
    /// # Panics
    /// If `images` are not those of the last passes.
    pub fn each_block<P: Pixel>(&self, images: &[P], patches: &mut Vec<f32>, mut see: impl FnMut(&[f32], &[f32])) {
        assert_eq!(
            images.len(),
            self.batch * self.window.image(),
            "the images of the last pass"
        );
        let (count, rows) = block(self.window, self.batch);
        let blocks = self.delta().chunks(count * rows * self.outputs);
        for (images, delta) in images.chunks(count * self.window.image()).zip(blocks) {
            let patches = grow(patches, delta.len() / self.outputs * self.window.patch());
            gather_patches(self.window, images, patches);
            see(patches, delta);
        }
    }

    /// The tensor of W.
    pub fn weight(&self) -> TensorId {
        self.weight
    }

    /// The tensor of b, `[1, outputs]`.
    pub fn bias(&self) -> TensorId {
        self.bias
    }

    /// How the patches are taken.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Channels of the output.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// How many images the last forward pass had.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Numbers of the output of one image.
    pub fn output_size(&self) -> usize {
        let (down, across) = self.window.positions();
        down * across * self.outputs
    }

    /// The outputs of the last forward pass, `[batch, positions down, positions across, outputs]`.
    pub fn output(&self) -> &[f32] {
        &self.output[..self.batch * self.output_size()]
    }

    /// The gradient of the pre-activations from the last backward pass, laid out like the outputs.
    ///
    /// # Panics
    /// If a forward pass with a larger batch came after it.
    pub fn delta(&self) -> &[f32] {
        &self.delta[..self.batch * self.output_size()]
    }
}

/// How many images have their patches made at a time, and how many patches an image has.
fn block(window: Window, batch: usize) -> (usize, usize) {
    let (down, across) = window.positions();
    let rows = down * across;
    ((BLOCK / (rows * window.patch())).clamp(1, batch.max(1)), rows)
}
