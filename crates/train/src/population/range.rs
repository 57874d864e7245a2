//! What a population may set a tuned hyperparameter to.

use epgt_rng::Pcg64;

/// The range of a tuned hyperparameter: from the smallest to the largest value of its grid.
///
/// ```
/// use epgt_train::population::Range;
/// let batch = Range { values: vec![64.0, 128.0, 512.0], logarithmic: false, whole: true };
/// assert_eq!(batch.valid(128.0 * 1.2), 154.0);
/// assert_eq!(batch.valid(512.0 * 1.2), 512.0);
/// assert_eq!(batch.to_unit(288.0), 0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The grid, ascending: what a value is drawn from.
    pub values: Vec<f64>,
    /// Whether distances are those of the logarithms, as for rates.
    pub logarithmic: bool,
    /// Whether only whole numbers are valid.
    pub whole: bool,
}

impl Range {
    /// The nearest valid value.
    pub fn valid(&self, value: f64) -> f64 {
        let (low, high) = self.bounds();
        let value = value.clamp(low, high);
        if self.whole { value.round() } else { value }
    }

    /// A value of the grid, each equally likely.
    pub fn draw(&self, rng: &mut Pcg64) -> f64 {
        self.values[rng.below(self.values.len() as u64) as usize]
    }

    /// Where a value lies in the range: 0 at its low end, 1 at its high end.
    pub fn to_unit(&self, value: f64) -> f64 {
        let (low, high) = self.bounds();
        match (high > low, self.is_logarithmic()) {
            (false, _) => 0.0,
            (true, true) => (value.ln() - low.ln()) / (high.ln() - low.ln()),
            (true, false) => (value - low) / (high - low),
        }
    }

    /// The valid value nearest to a place in the range.
    pub fn from_unit(&self, place: f64) -> f64 {
        let (low, high) = self.bounds();
        self.valid(match self.is_logarithmic() {
            true => (low.ln() + place * (high.ln() - low.ln())).exp(),
            false => low + place * (high - low),
        })
    }

    fn bounds(&self) -> (f64, f64) {
        (self.values[0], self.values[self.values.len() - 1])
    }

    fn is_logarithmic(&self) -> bool {
        self.logarithmic && self.values[0] > 0.0
    }
}
