//! A stack of dense layers: policy, value function, encoder and decoder are all this.

use epgt_rng::Pcg64;

use crate::linear::grow;
use crate::{Activation, FactoredAdam, Linear, Parameters, orthogonal};

/// A multi-layer perceptron whose layers are called `<name>.0`, `<name>.1`, and so on.
///
/// ```
/// use epgt_nn::{Activation, Mlp, Parameters};
/// use epgt_rng::Pcg64;
///
/// let mut params = Parameters::new();
/// let mut rng = Pcg64::from_seed(0);
/// let gain = 2.0_f32.sqrt();
/// let mut value = Mlp::new(&mut params, "value", &[3, 64, 1], Activation::Tanh, Activation::Identity, gain, 1.0, &mut rng);
/// let outputs = value.forward(&params, &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 2).to_vec();
/// value.backward(&mut params, &outputs);
/// assert_eq!(params.gradient_tensors().nth(3).unwrap().name, "value.1.bias");
/// ```
#[derive(Clone, Debug)]
pub struct Mlp {
    layers: Vec<Linear>,
    /// The gradient on its way back, and where the next layer's goes.
    flow: Vec<f32>,
    next_flow: Vec<f32>,
}

impl Mlp {
    /// Layers between consecutive `sizes`, with orthogonal weights times a gain and zero biases.
    ///
    /// # Panics
    /// If there are fewer than two sizes, or one is 0.
    #[allow(clippy::too_many_arguments)] // each is said once, where the network is made
    pub fn new(
        params: &mut Parameters,
        name: &str,
        sizes: &[usize],
        hidden: Activation,
        output: Activation,
        hidden_gain: f32,
        output_gain: f32,
        rng: &mut Pcg64,
    ) -> Self {
        let last = sizes.len().saturating_sub(2);
        Self::with_weights(params, name, sizes, hidden, output, |i, rows, cols, weight| {
            let gain = if i == last { output_gain } else { hidden_gain };
            orthogonal(rows, cols, gain, rng, weight);
        })
    }

    /// Layers between consecutive `sizes`, with weights uniform in +-1/sqrt(inputs) and zero biases: the cheap start
    /// for wide layers, where orthogonalising would take longer than a short training run.
    ///
    /// ```
    /// use epgt_nn::{Activation, Mlp, Parameters};
    ///
    /// let mut params = Parameters::new();
    /// let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// Mlp::uniform(&mut params, "encoder", &[100, 2], Activation::Tanh, Activation::Tanh, &mut rng);
    /// assert!(params.values().iter().all(|w| w.abs() <= 0.1));
    /// ```
    ///
    /// # Panics
    /// If there are fewer than two sizes, or one is 0.
    pub fn uniform(
        params: &mut Parameters,
        name: &str,
        sizes: &[usize],
        hidden: Activation,
        output: Activation,
        rng: &mut Pcg64,
    ) -> Self {
        Self::with_weights(params, name, sizes, hidden, output, |_, _, cols, weight| {
            let bound = 1.0 / (cols as f32).sqrt();
            for w in weight {
                *w = bound * (2.0 * rng.next_f32() - 1.0);
            }
        })
    }

    /// `fill` gets the layer's number, its rows, columns and weights.
    fn with_weights(
        params: &mut Parameters,
        name: &str,
        sizes: &[usize],
        hidden: Activation,
        output: Activation,
        mut fill: impl FnMut(usize, usize, usize, &mut [f32]),
    ) -> Self {
        assert!(sizes.len() >= 2, "a network has an input and an output size");
        let last = sizes.len() - 2;
        let layers = (0..=last)
            .map(|i| {
                let activation = if i == last { output } else { hidden };
                let layer = Linear::new(params, &format!("{name}.{i}"), sizes[i], sizes[i + 1], activation);
                fill(i, sizes[i + 1], sizes[i], params.value_mut(layer.weight()));
                layer
            })
            .collect();
        Self {
            layers,
            flow: Vec::new(),
            next_flow: Vec::new(),
        }
    }

    /// Outputs `[batch, last size]` for inputs `[batch, first size]`. Buffers grow to the largest batch seen, then no
    /// memory is asked for.
    ///
    /// # Panics
    /// If `input` is not `batch` rows.
    pub fn forward(&mut self, params: &Parameters, input: &[f32], batch: usize) -> &[f32] {
        let mut current = input;
        for layer in &mut self.layers {
            current = layer.forward(params, current, batch);
        }
        self.output()
    }

    /// The outputs of the last forward pass.
    pub fn output(&self) -> &[f32] {
        self.layers[self.layers.len() - 1].output()
    }

    /// The same, for whoever makes something else of them; the next backward pass must be given the gradient of the
    /// outputs as they were.
    pub fn output_mut(&mut self) -> &mut [f32] {
        let last = self.layers.len() - 1;
        self.layers[last].output_mut()
    }

    /// Overwrites the gradients of this network's tensors, given the gradient of the last outputs.
    ///
    /// # Panics
    /// If `output_gradient` does not fit the last forward pass.
    pub fn backward(&mut self, params: &mut Parameters, output_gradient: &[f32]) {
        let last = self.layers.len() - 1;
        self.layers[last].backward(params, output_gradient);
        for i in (0..last).rev() {
            let next = &self.layers[i + 1];
            let flow = grow(&mut self.flow, next.batch() * next.inputs());
            next.input_gradient(params, flow);
            self.layers[i].backward(params, flow);
        }
    }

    /// [`backward`](Self::backward), and the gradient of the inputs `[batch, first size]`.
    ///
    /// # Panics
    /// If `output_gradient` does not fit the last forward pass.
    pub fn backward_to_input(&mut self, params: &mut Parameters, output_gradient: &[f32]) -> &[f32] {
        self.backward(params, output_gradient);
        let first = &self.layers[0];
        let flow = grow(&mut self.flow, first.batch() * first.inputs());
        first.input_gradient(params, flow);
        flow
    }

    /// Steps every weight and bias against its gradient, given the gradient of the last outputs, in one pass over the
    /// weights ([`Linear::descend`]). Returns the gradient of the inputs `[batch, first size]`.
    ///
    /// ```
    /// use epgt_nn::{Activation, FactoredAdam, Mlp, Parameters};
    ///
    /// let mut params = Parameters::new();
    /// let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// let mut net = Mlp::uniform(&mut params, "net", &[2, 32, 1], Activation::Tanh, Activation::Identity, &mut rng);
    /// let mut adam = FactoredAdam::new(params.shapes(), 0.9, 0.999, 1e-8);
    /// for _ in 0..200 {
    ///     // Squared error against the target 1.
    ///     let error = net.forward(&params, &[0.5, -0.3], 1)[0] - 1.0;
    ///     adam.begin_step(1e-2);
    ///     net.descend(&mut params, &[2.0 * error], &mut adam);
    /// }
    /// assert!((net.forward(&params, &[0.5, -0.3], 1)[0] - 1.0).abs() < 1e-2);
    /// ```
    ///
    /// # Panics
    /// If `output_gradient` does not fit the last forward pass.
    pub fn descend(&mut self, params: &mut Parameters, output_gradient: &[f32], adam: &mut FactoredAdam) -> &[f32] {
        let last = self.layers.len() - 1;
        for (i, layer) in self.layers.iter_mut().enumerate().rev() {
            let gradient = match i == last {
                true => output_gradient,
                false => &self.flow[..layer.batch() * layer.outputs()],
            };
            let into = grow(&mut self.next_flow, layer.batch() * layer.inputs());
            layer.descend(params, gradient, adam, into);
            std::mem::swap(&mut self.flow, &mut self.next_flow);
        }
        &self.flow[..self.layers[0].batch() * self.layers[0].inputs()]
    }

    /// The layers, from input to output.
    pub fn layers(&self) -> &[Linear] {
        &self.layers
    }
}
