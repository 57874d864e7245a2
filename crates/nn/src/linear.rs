//! A dense layer with its activation: the only layer that the vector tasks and the hyper-state encoder need.

use serde::{Deserialize, Serialize};

use crate::kernel;
use crate::params::Edition;
use crate::{FactoredAdam, Parameters, TensorId};

/// What a layer applies to each of its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// y = x.
    Identity,
    /// y = tanh(x).
    Tanh,
    /// y = max(x, 0).
    Relu,
    /// y = x, or exp(x) - 1 where x is negative.
    Elu,
    /// y = x, or x / 100 where x is negative.
    LeakyRelu,
    /// y = 1 / (1 + exp(-x)).
    Sigmoid,
}

/// y = activation(x W^T + b), with W `[outputs, inputs]` in the tensor `<name>.weight` and b in `<name>.bias`.
///
/// The layer keeps what its last pass saw: inputs, outputs and the gradient of the pre-activations. Backward needs
/// them, and so do the Kronecker factors of K-FAC, which are the second moments of [`input`](Self::input) and
/// [`delta`](Self::delta).
///
/// ```
/// use epgt_nn::{Activation, Linear, Parameters};
///
/// let mut params = Parameters::new();
/// let mut layer = Linear::new(&mut params, "head", 2, 1, Activation::Relu);
/// params.value_mut(layer.weight()).copy_from_slice(&[1.0, -1.0]);
/// assert_eq!(layer.forward(&params, &[3.0, 1.0, 1.0, 3.0], 2), [2.0, 0.0]);
/// layer.backward(&mut params, &[1.0, 1.0]);
/// assert_eq!(params.gradient(layer.weight()), [3.0, 1.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Linear {
    weight: TensorId,
    bias: TensorId,
    inputs: usize,
    outputs: usize,
    activation: Activation,
    batch: usize,
    input: Vec<f32>,
    output: Vec<f32>,
    delta: Vec<f32>,
    transposed: Transposed,
    /// Scratch for the transpose of the weight's gradient.
    transposed_gradient: Vec<f32>,
}

/// The transpose of a weight, which is made again only once the weights have changed: an agent acts many times with
/// the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transposed {
    numbers: Vec<f32>,
    of: Edition,
}

impl Transposed {
    /// The transpose of a tensor, always the same one, that has `rows` rows.
    pub fn of(&mut self, params: &Parameters, tensor: TensorId, rows: usize) -> &[f32] {
        let weight = params.value(tensor);
        if !self.of.is(params.edition()) {
            kernel::transpose(weight, rows, grow(&mut self.numbers, weight.len()));
            self.of = params.edition();
        }
        &self.numbers[..weight.len()]
    }
}

impl Linear {
    /// Adds the layer's two tensors, filled with zeros.
    ///
    /// # Panics
    /// If there are no inputs or no outputs.
    pub fn new(params: &mut Parameters, name: &str, inputs: usize, outputs: usize, activation: Activation) -> Self {
        assert!(inputs > 0 && outputs > 0, "a layer has inputs and outputs");
        Self {
            weight: params.add(&format!("{name}.weight"), outputs, inputs),
            bias: params.add(&format!("{name}.bias"), 1, outputs),
            inputs,
            outputs,
            activation,
            batch: 0,
            input: Vec::new(),
            output: Vec::new(),
            delta: Vec::new(),
            transposed: Transposed::default(),
            transposed_gradient: Vec::new(),
        }
    }

    /// Outputs `[batch, outputs]` for inputs `[batch, inputs]`. Buffers grow to the largest batch seen, then no memory
    /// is asked for.
    ///
    /// # Panics
    /// If `input` is not `batch` rows.
    pub fn forward(&mut self, params: &Parameters, input: &[f32], batch: usize) -> &[f32] {
        assert_eq!(input.len(), batch * self.inputs, "input must be batch by inputs");
        self.batch = batch;
        grow(&mut self.input, batch * self.inputs).copy_from_slice(input);
        let output = grow(&mut self.output, batch * self.outputs);
        let (weight, bias) = (params.value(self.weight), params.value(self.bias));
        // Inner products need the weight as it lies, but a sum across each vector at the end; linear combinations need
        // the weight transposed first, and no such sum. Measured (us, AVX-512), inner products / combinations / gemm:
        //   2 -> 32, batch 1: 0.09 / 0.11 / 0.12, batch 5: 0.26 / 0.12 / 0.33, batch 80: 3.7 / 0.8 / 2.3
        //  17 -> 64, batch 1: 0.15 / 0.33 / 0.20, batch 5: 0.58 / 0.45 / 0.64, batch 80: 8.9 / 3.0 / 3.7
        //  64 -> 64, batch 1: 0.16 / 0.73 / 0.22, batch 5: 0.71 / 1.04 / 1.71, batch 80: 10.9 / 7.6 / 8.5
        //  64 ->  6, batch 1: 0.05 / 0.39 / 0.06, batch 5: 0.10 / 0.58 / 0.11, batch 80: 1.1 / 4.0 / 2.5
        // 410 -> 64, batch 1: 1.0 / 5.6 / 1.2, batch 8: 4.3 / 8.3 / 11.2, batch 80: 42.8 / 41.6 / 45.1
        let transposing_pays = self.outputs >= 16 && batch >= 2 && 5 * batch >= self.inputs;
        if transposing_pays {
            let transposed = self.transposed.of(params, self.weight, self.outputs);
            kernel::affine_transposed(input, transposed, bias, self.activation, output);
        } else {
            kernel::affine(input, weight, bias, self.activation, output);
        }
        output
    }

    /// Turns the gradient of the last outputs into [`delta`](Self::delta), and overwrites the gradients of weight and
    /// bias: dW = delta^T x, db = sum of delta over the batch.
    ///
    /// # Panics
    /// If `output_gradient` does not fit the last forward pass.
    pub fn backward(&mut self, params: &mut Parameters, output_gradient: &[f32]) {
        self.find_delta(output_gradient);
        let delta = &self.delta[..self.batch * self.outputs];
        let input = &self.input[..self.batch * self.inputs];
        let gradient = params.gradient_mut(self.weight);
        // A row of 2 or 17 inputs leaves most of a vector of 16 empty. Then the transposed gradient, with rows as long
        // as the outputs, costs fewer operations, and for larger batches that pays for transposing it. Measured (us,
        // AVX-512), as it lies / transposed / gemm:
        //   2 -> 32, batch 5: 0.14 / 0.06 / 0.34, batch 80: 1.3 / 0.2 / 1.4
        //  17 -> 64, batch 5: 0.43 / 0.32 / 0.60, batch 80: 4.2 / 1.7 / 3.5
        //  64 -> 64, batch 5: 0.48 / 1.27 / 0.67, batch 80: 5.7 / 6.3 / 6.2
        let along_inputs = self.inputs.div_ceil(16) * self.outputs;
        let along_outputs = self.outputs.div_ceil(16) * self.inputs;
        if self.batch * along_inputs.saturating_sub(along_outputs) > gradient.len() / 4 {
            let transposed = grow(&mut self.transposed_gradient, gradient.len());
            kernel::combine(input, (1, self.inputs), delta, self.outputs, transposed);
            kernel::transpose(transposed, self.inputs, gradient);
        } else {
            kernel::combine(delta, (1, self.outputs), input, self.inputs, gradient);
        }
        kernel::column_sums(delta, params.gradient_mut(self.bias));
    }

    /// [`backward`](Self::backward), a step of weight and bias, and the gradient of the inputs in one pass over the
    /// weight, whose gradient is not stored: for wide layers and small batches, where moving the weights costs more
    /// than the arithmetic.
    ///
    /// # Panics
    /// If the slices do not fit the last forward pass.
    pub fn descend(
        &mut self,
        params: &mut Parameters,
        output_gradient: &[f32],
        adam: &mut FactoredAdam,
        input_gradient: &mut [f32],
    ) {
        self.find_delta(output_gradient);
        kernel::column_sums(self.delta(), params.gradient_mut(self.bias));
        adam.step_tensor(params, self.bias);
        adam.step_weight(params, self.weight, self.delta(), self.input(), input_gradient);
    }

    /// The gradient of the pre-activations from that of the outputs.
    fn find_delta(&mut self, output_gradient: &[f32]) {
        assert_eq!(
            output_gradient.len(),
            self.batch * self.outputs,
            "one gradient for each output of the last pass"
        );
        let delta = grow(&mut self.delta, self.batch * self.outputs);
        let output = &self.output[..self.batch * self.outputs];
        scale_by_slope(self.activation, output, output_gradient, delta);
    }

    /// After [`backward`](Self::backward): the gradient of the inputs, delta W, written to `out [batch, inputs]`.
    ///
    /// # Panics
    /// If `out` does not fit the last forward pass.
    pub fn input_gradient(&self, params: &Parameters, out: &mut [f32]) {
        assert_eq!(
            out.len(),
            self.batch * self.inputs,
            "one gradient for each input of the last pass"
        );
        kernel::combine(
            self.delta(),
            (self.outputs, 1),
            params.value(self.weight),
            self.inputs,
            out,
        );
    }

    /// The tensor of W, `[outputs, inputs]`.
    pub fn weight(&self) -> TensorId {
        self.weight
    }

    /// The tensor of b, `[1, outputs]`.
    pub fn bias(&self) -> TensorId {
        self.bias
    }

    /// How many numbers a row of input has.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many numbers a row of output has.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// How many rows the last forward pass had.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// The inputs of the last forward pass, `[batch, inputs]`.
    pub fn input(&self) -> &[f32] {
        &self.input[..self.batch * self.inputs]
    }

    /// The outputs of the last forward pass, `[batch, outputs]`.
    pub fn output(&self) -> &[f32] {
        &self.output[..self.batch * self.outputs]
    }

    /// The same, to change them: only the slope of an activation that is not the identity is read from them again.
    pub fn output_mut(&mut self) -> &mut [f32] {
        &mut self.output[..self.batch * self.outputs]
    }

    /// The gradient of the pre-activations from the last backward pass, `[batch, outputs]`.
    ///
    /// # Panics
    /// If a forward pass with a larger batch came after it.
    pub fn delta(&self) -> &[f32] {
        &self.delta[..self.batch * self.outputs]
    }
}

/// The chain rule through an activation: `delta = output_gradient * slope`, in terms of the activation's output.
pub(crate) fn scale_by_slope(activation: Activation, output: &[f32], output_gradient: &[f32], delta: &mut [f32]) {
    match activation {
        Activation::Identity => delta.copy_from_slice(output_gradient),
        Activation::Tanh => kernel::scale_by_tanh_slope(output, output_gradient, delta),
        Activation::Relu => kernel::scale_by_relu_slope(output, output_gradient, delta),
        Activation::Elu => kernel::scale_by_elu_slope(output, output_gradient, delta),
        Activation::LeakyRelu => kernel::scale_by_leaky_relu_slope(output, output_gradient, delta),
        Activation::Sigmoid => kernel::scale_by_sigmoid_slope(output, output_gradient, delta),
    }
}

/// The first `len` numbers of a buffer that never shrinks.
pub(crate) fn grow(buffer: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
    &mut buffer[..len]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_transpose_follows_every_way_to_change_the_weights() {
        let mut params = Parameters::new();
        let mut layer = Linear::new(&mut params, "layer", 2, 16, Activation::Identity);
        let weight = layer.weight();
        let mut first = |params: &Parameters| layer.forward(params, &[1.0, 0.0, 0.0, 1.0], 2)[0];
        assert_eq!(first(&params), 0.0);
        params.value_mut(weight)[0] = 1.0;
        assert_eq!(first(&params), 1.0);
        params.values_mut()[0] = 2.0;
        assert_eq!(first(&params), 2.0);
        params.split_mut().0[0] = 3.0;
        assert_eq!(first(&params), 3.0);
        let mut copy = params.clone();
        copy.values_mut()[0] = 4.0;
        assert_eq!([first(&copy), first(&params), first(&copy)], [4.0, 3.0, 4.0]);
        let read: Parameters = serde_json::from_str(&serde_json::to_string(&copy).unwrap()).unwrap();
        assert_eq!((first(&params), first(&read)), (3.0, 4.0));
        assert_eq!(copy, read, "the edition is not what parameters are equal by");
    }
}
