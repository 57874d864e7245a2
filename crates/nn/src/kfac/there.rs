//! K-FAC where the networks are: its matrices are there, and what is decided by a few numbers is decided here.

use super::{Kfac, KfacError, KfacStep};
use crate::{CurvaturePart, Kept, Remote};

const PARTS: [CurvaturePart; 3] = [CurvaturePart::Moment, CurvaturePart::Values, CurvaturePart::Vectors];

impl Kfac {
    /// [`observe`](Self::observe) for networks elsewhere, whose layers are those that were added: pushes the gradients of *sampled*
    /// outputs back, and lets the factors follow.
    pub fn observe_there(&mut self, remote: &mut dyn Remote, heads: &[&[f32]], rest: &[f32]) {
        let mut new = 1.0;
        for block in &mut self.blocks {
            new = block.begin(self.decay);
        }
        remote.backward_observed(heads, rest, new);
    }

    /// [`step`](Self::step) for networks elsewhere.
    pub fn step_there(&mut self, remote: &mut dyn Remote) -> Result<KfacStep, KfacError> {
        if self.age.is_none_or(|age| age >= self.inverse_interval) {
            if !remote.decompose() {
                return Err(KfacError::Factors(self.blocks[0].weight));
            }
            self.age = Some(0);
        }
        let of_rest = self.known.first().map_or(1.0, |known| known.fisher);
        let slope = remote.precondition(self.damping, of_rest);
        let step = self.within_region(slope)?;
        remote.advance(self.momentum, (1.0 - self.momentum) * step.scale);
        self.age = self.age.map(|age| age + 1);
        Ok(step)
    }

    /// Takes its matrices over from where the networks are.
    pub fn fetch(&mut self, remote: &dyn Remote) {
        remote.read(Kept::Velocity, &mut self.velocity);
        self.each(|what, numbers| remote.read(what, numbers));
    }

    /// Gives its matrices to where the networks are.
    pub fn send(&mut self, remote: &mut dyn Remote) {
        remote.write(Kept::Velocity, &self.velocity);
        self.each(|what, numbers| remote.write(what, numbers));
    }

    fn each(&mut self, mut see: impl FnMut(Kept, &mut [f32])) {
        for (layer, block) in self.blocks.iter_mut().enumerate() {
            for (of_inputs, factor) in [(true, &mut block.input), (false, &mut block.output)] {
                for (part, numbers) in PARTS.into_iter().zip(factor.parts_mut()) {
                    let what = Kept::Curvature { layer, of_inputs, part };
                    see(what, numbers);
                }
            }
        }
    }
}
