//! The hyper-agent's side of networks on another processor: only the features of the hyper-state come back.

use epgt_nn::RemoteState;

use crate::HyperAgent;
use crate::encoder::Encoder;

impl HyperAgent {
    /// Whether it can read the hyper-state where the networks are. If not, weights and gradients must be fetched before
    /// every choice: a trained encoder learns from all of them.
    pub fn reads_remote_state(&self) -> bool {
        self.mind.encoder().is_none_or(Encoder::reads_remote_state)
    }

    /// Writes the projections, the encoder and the older gradients to the processor that the networks are on.
    pub fn send(&self, remote: &mut dyn RemoteState) {
        if let Some(encoder) = self.mind.encoder() {
            encoder.send(remote);
        }
    }

    /// Reads the older gradients from the processor that the networks are on, for a checkpoint.
    pub fn fetch(&mut self, remote: &dyn RemoteState) {
        if let Some(encoder) = self.mind.encoder_mut() {
            encoder.fetch(remote);
        }
    }
}
