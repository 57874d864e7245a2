//! The layers that policy and value share, where they share any: dense ones on numbers, or convolutions and dense ones
//! on pixels.

use epgt_envs::Rows;
use epgt_nn::{Cnn, Kfac, Linear, Mlp, Parameters};

/// Shared layers.
#[derive(Clone)]
pub(crate) struct Trunk {
    network: Network,
    /// Gradient of the features: what both networks ask of them, summed.
    gradient: Vec<f32>,
}

/// What an observation goes through.
#[derive(Clone)]
pub(crate) enum Network {
    Numbers(Mlp),
    Pixels(Cnn),
}

impl Trunk {
    pub fn new(network: Network) -> Self {
        Self {
            network,
            gradient: Vec::new(),
        }
    }

    /// The features of a batch of observations.
    pub fn forward(&mut self, params: &Parameters, observations: Rows<'_>, batch: usize) -> &[f32] {
        match &mut self.network {
            Network::Numbers(network) => network.forward(params, observations.numbers(), batch),
            Network::Pixels(network) => network.forward(params, observations.bytes(), batch),
        }
    }

    /// Pushes the gradients of both networks' outputs back through them and the shared layers.
    pub fn backward(&mut self, params: &mut Parameters, policy: (&mut Mlp, &[f32]), value: (&mut Mlp, &[f32])) {
        self.gradient.clear();
        self.gradient
            .extend_from_slice(policy.0.backward_to_input(params, policy.1));
        let by_value = value.0.backward_to_input(params, value.1);
        self.gradient.iter_mut().zip(by_value).for_each(|(sum, x)| *sum += x);
        match &mut self.network {
            Network::Numbers(network) => network.backward(params, &self.gradient),
            Network::Pixels(network) => network.backward(params, &self.gradient),
        }
    }

    /// Its dense layers.
    pub fn dense(&self) -> &[Linear] {
        match &self.network {
            Network::Numbers(network) => network.layers(),
            Network::Pixels(network) => network.dense().layers(),
        }
    }

    /// Adds its convolutions to K-FAC; its dense layers come behind them.
    pub fn add_convs(&self, kfac: &mut Kfac) {
        if let Network::Pixels(network) = &self.network {
            for conv in network.convs() {
                kfac.add_conv(conv);
            }
        }
    }

    /// Shows K-FAC, to which this trunk was added first, the last passes of all its layers; returns how many there are.
    pub fn show_to(&self, kfac: &mut Kfac) -> usize {
        match &self.network {
            Network::Numbers(network) => {
                for (i, layer) in network.layers().iter().enumerate() {
                    kfac.observe_rows(i, layer.input(), layer.delta(), layer.batch());
                }
                network.layers().len()
            }
            Network::Pixels(network) => kfac.observe_cnn(0, network),
        }
    }
}
