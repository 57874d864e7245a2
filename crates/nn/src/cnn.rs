//! A network that looks at pixels: convolutions, then dense layers.

use epgt_rng::Pcg64;

use crate::kernel::Window;
use crate::linear::grow;
use crate::{Activation, Conv, Mlp, Parameters};

/// One convolution of a [`Cnn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    /// Channels that it makes.
    pub outputs: usize,
    /// Side of its square window in pixels.
    pub kernel: usize,
    /// Pixels from one position of the window to the next.
    pub stride: usize,
}

/// Convolutions called `<name>.conv.0`, `<name>.conv.1`, ... and dense layers called `<name>.dense.0`, ..., all with
/// one activation.
///
/// Images come as bytes, channels first, and count as their 255th part from the first layer on. Everything behind it
/// has the channels last; the first dense layer's inputs are ordered by row, pixel and channel.
///
/// ```
/// use epgt_nn::{Activation, Cnn, ConvShape, Parameters};
///
/// let mut params = Parameters::new();
/// let mut rng = epgt_rng::Pcg64::from_seed(0);
/// let convs = [ConvShape { outputs: 4, kernel: 3, stride: 2 }];
/// let mut net = Cnn::new(&mut params, "trunk", [2, 9, 9], &convs, &[16], Activation::Relu, 1.4, &mut rng);
/// let features = net.forward(&params, &[7; 3 * 2 * 9 * 9], 3).to_vec();
/// assert_eq!(features.len(), 3 * 16);
/// net.backward(&mut params, &features);
/// assert_eq!(params.gradient_tensors().nth(2).unwrap().name, "trunk.dense.0.weight");
/// ```
#[derive(Clone, Debug)]
pub struct Cnn {
    convs: Vec<Conv>,
    dense: Mlp,
    /// The images of the last forward pass.
    pixels: Vec<u8>,
    /// The gradient on its way back, and where the next layer's goes.
    flow: Vec<f32>,
    next_flow: Vec<f32>,
}

impl Cnn {
    /// Layers for images of `[channels, height, width]`, with orthogonal weights times `gain` and zero biases.
    ///
    /// # Panics
    /// If there is no convolution or no dense layer, a size is 0, or a window does not fit into what it looks at
    /// ([`Cnn::positions`]).
    #[allow(clippy::too_many_arguments)] // each is said once, where the network is made
    pub fn new(
        params: &mut Parameters,
        name: &str,
        image: [usize; 3],
        convs: &[ConvShape],
        dense: &[usize],
        activation: Activation,
        gain: f32,
        rng: &mut Pcg64,
    ) -> Self {
        let convs = Self::convolutions(params, name, image, convs, activation);
        for conv in &convs {
            conv.orthogonal(params, gain, rng);
        }
        let (name, sizes) = dense_layers(name, &convs, dense);
        let dense = Mlp::new(params, &name, &sizes, activation, activation, gain, gain, rng);
        Self::of(convs, dense)
    }

    /// [`new`](Self::new) with weights uniform in +-1/sqrt(inputs), where inputs are the numbers of a patch.
    ///
    /// # Panics
    /// As it does.
    pub fn uniform(
        params: &mut Parameters,
        name: &str,
        image: [usize; 3],
        convs: &[ConvShape],
        dense: &[usize],
        activation: Activation,
        rng: &mut Pcg64,
    ) -> Self {
        let convs = Self::convolutions(params, name, image, convs, activation);
        for conv in &convs {
            let bound = 1.0 / (conv.window().patch() as f32).sqrt();
            for w in params.value_mut(conv.weight()) {
                *w = bound * (2.0 * rng.next_f32() - 1.0);
            }
        }
        let (name, sizes) = dense_layers(name, &convs, dense);
        let dense = Mlp::uniform(params, &name, &sizes, activation, activation, rng);
        Self::of(convs, dense)
    }

    fn of(convs: Vec<Conv>, dense: Mlp) -> Self {
        Self {
            convs,
            dense,
            pixels: Vec::new(),
            flow: Vec::new(),
            next_flow: Vec::new(),
        }
    }

    /// The convolutions, with weights of zeros.
    fn convolutions(
        params: &mut Parameters,
        name: &str,
        [planes, height, width]: [usize; 3],
        convs: &[ConvShape],
        activation: Activation,
    ) -> Vec<Conv> {
        let mut layers: Vec<Conv> = Vec::new();
        for (i, shape) in convs.iter().enumerate() {
            let (planes, (height, width), depth) = match layers.last() {
                None => (planes, (height, width), 1),
                Some(before) => (1, before.window().positions(), before.outputs()),
            };
            let window = Window {
                planes,
                height,
                width,
                depth,
                kernel: shape.kernel,
                stride: shape.stride,
            };
            let name = format!("{name}.conv.{i}");
            layers.push(Conv::new(params, &name, window, shape.outputs, activation));
        }
        layers
    }

    /// The positions down and across that are left of an image of this height and width after convolutions of these
    /// shapes; `None` where a window does not fit.
    ///
    /// ```
    /// use epgt_nn::{Cnn, ConvShape};
    /// let conv = ConvShape { outputs: 32, kernel: 8, stride: 4 };
    /// assert_eq!(Cnn::positions((84, 84), &[conv]), Some((20, 20)));
    /// assert_eq!(Cnn::positions((84, 84), &[conv; 3]), None);
    /// ```
    pub fn positions(size: (usize, usize), convs: &[ConvShape]) -> Option<(usize, usize)> {
        convs.iter().try_fold(size, |(height, width), shape| {
            let fits = shape.stride > 0 && shape.kernel > 0 && shape.kernel <= height.min(width);
            let along = |pixels: usize| (pixels - shape.kernel) / shape.stride + 1;
            fits.then(|| (along(height), along(width)))
        })
    }

    /// Features `[batch, last width]` of images `[batch, channels, height, width]`. Buffers grow to the largest batch
    /// seen, then no memory is asked for.
    ///
    /// # Panics
    /// If `images` is not `batch` images.
    pub fn forward(&mut self, params: &Parameters, images: &[u8], batch: usize) -> &[f32] {
        self.pixels.clear();
        self.pixels.extend_from_slice(images);
        let (first, rest) = self.convs.split_first_mut().expect("there is a convolution");
        let mut current = first.forward(params, images, batch);
        for layer in rest {
            current = layer.forward(params, current, batch);
        }
        self.dense.forward(params, current, batch)
    }

    /// The features of the last forward pass.
    pub fn output(&self) -> &[f32] {
        self.dense.output()
    }

    /// Overwrites the gradients of this network's tensors, given the gradient of the last features.
    ///
    /// # Panics
    /// If `output_gradient` does not fit the last forward pass.
    pub fn backward(&mut self, params: &mut Parameters, output_gradient: &[f32]) {
        // Both, since they change places: then no later pass asks for memory.
        let most = self.convs.iter().map(|layer| layer.output().len()).max();
        grow(&mut self.flow, most.unwrap_or(0));
        grow(&mut self.next_flow, most.unwrap_or(0));
        let mut gradient = self.dense.backward_to_input(params, output_gradient);
        for i in (1..self.convs.len()).rev() {
            let (before, layers) = self.convs.split_at_mut(i);
            let layer = &mut layers[0];
            layer.backward(params, before[i - 1].output(), gradient);
            let into = grow(&mut self.next_flow, before[i - 1].output().len());
            layer.input_gradient(params, into);
            std::mem::swap(&mut self.flow, &mut self.next_flow);
            gradient = &self.flow[..before[i - 1].output().len()];
        }
        self.convs[0].backward(params, &self.pixels, gradient);
    }

    /// The convolutions, from input to output.
    pub fn convs(&self) -> &[Conv] {
        &self.convs
    }

    /// The dense layers.
    pub fn dense(&self) -> &Mlp {
        &self.dense
    }

    /// The images of the last forward pass.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }
}

/// Name and sizes of the dense layers.
fn dense_layers(name: &str, convs: &[Conv], dense: &[usize]) -> (String, Vec<usize>) {
    let features = convs.last().expect("there is a convolution").output_size();
    (format!("{name}.dense"), [&[features], dense].concat())
}
