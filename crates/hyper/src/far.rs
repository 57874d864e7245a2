//! Looking at networks that are on another processor: only the features of the hyper-state come over.

use epgt_nn::Remote;

use crate::HyperAgent;
use crate::encoder::Encoder;

impl HyperAgent {
    /// Whether it can look at networks where they are. If not, they must be brought here before every choice: a trained encoder
    /// learns from whole weights and gradients.
    pub fn looks_from_afar(&self) -> bool {
        self.mind.encoder().is_none_or(Encoder::looks_from_afar)
    }

    /// Gives what it looks through to the processor that the networks are on.
    pub fn send(&self, remote: &mut dyn Remote) {
        if let Some(encoder) = self.mind.encoder() {
            encoder.send(remote);
        }
    }

    /// Takes over what it keeps there, for a checkpoint.
    pub fn fetch(&mut self, remote: &dyn Remote) {
        if let Some(encoder) = self.mind.encoder_mut() {
            encoder.fetch(remote);
        }
    }
}
