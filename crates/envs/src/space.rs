//! What observations and actions look like.

use crate::{EnvError, registry::Entry};
use epgt_rng::Pcg64;

/// The set that a task's observations or actions come from.
///
/// ```
/// use epgt_envs::Space;
/// let torque = Space::Box { low: vec![-2.0], high: vec![2.0] };
/// assert!(torque.contains(&[0.5]) && !torque.contains(&[2.5]));
/// assert!(Space::Discrete(3).contains(&[2.0]) && !Space::Discrete(3).contains(&[3.0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Space {
    /// One of the whole numbers below this one.
    Discrete(usize),
    /// Several choices at once, each one of the whole numbers below its own.
    MultiDiscrete(Vec<usize>),
    /// A row of numbers, each between its bounds, which may be infinite.
    Box {
        /// The smallest value of each number.
        low: Vec<f32>,
        /// The largest value of each number.
        high: Vec<f32>,
    },
    /// An image of bytes, channel after channel, each row by row.
    Image {
        /// Colours, or frames that follow each other.
        channels: usize,
        /// Rows of pixels.
        height: usize,
        /// Pixels of a row.
        width: usize,
    },
}

impl Space {
    /// The box whose bounds a task's table gives.
    pub(crate) fn from_table(table: &[Entry]) -> Self {
        Space::Box {
            low: table.iter().map(|entry| entry.low).collect(),
            high: table.iter().map(|entry| entry.high).collect(),
        }
    }

    /// The box of rows of whole numbers below these.
    pub(crate) fn up_to(counts: &[usize]) -> Self {
        Space::Box {
            low: vec![0.0; counts.len()],
            high: counts.iter().map(|n| n.saturating_sub(1) as f32).collect(),
        }
    }

    /// How many numbers one row holds: 1 for a discrete space, 1 per choice where there are several, one per pixel and
    /// channel for an image.
    pub fn size(&self) -> usize {
        match self {
            Space::Discrete(_) => 1,
            Space::MultiDiscrete(counts) => counts.len(),
            Space::Box { low, .. } => low.len(),
            Space::Image {
                channels,
                height,
                width,
            } => channels * height * width,
        }
    }

    /// Draws a row: uniform between finite bounds, normal without bounds, exponential from a single bound.
    ///
    /// ```
    /// use epgt_envs::Space;
    /// let mut row = [0.0];
    /// Space::Discrete(4).sample(&mut epgt_rng::Pcg64::from_seed(0), &mut row);
    /// assert!(Space::Discrete(4).contains(&row));
    /// ```
    pub fn sample(&self, rng: &mut Pcg64, row: &mut [f32]) {
        assert_eq!(row.len(), self.size(), "a row has one number per entry of the space");
        match self {
            Space::Discrete(n) => row[0] = rng.below(*n as u64) as f32,
            Space::MultiDiscrete(counts) => {
                for (value, &n) in row.iter_mut().zip(counts) {
                    *value = rng.below(n as u64) as f32;
                }
            }
            Space::Box { low, high } => {
                for ((value, &low), &high) in row.iter_mut().zip(low).zip(high) {
                    let tail = |rng: &mut Pcg64| -(-rng.next_f64()).ln_1p();
                    let drawn = match (low.is_finite(), high.is_finite()) {
                        (true, true) => rng.uniform(low.into(), high.into()),
                        (true, false) => f64::from(low) + tail(rng),
                        (false, true) => f64::from(high) - tail(rng),
                        (false, false) => rng.standard_normal(),
                    };
                    *value = (drawn as f32).clamp(low, high);
                }
            }
            Space::Image { .. } => row.fill_with(|| rng.below(256) as f32),
        }
    }

    /// Moves the numbers of an action that lie outside a box to its bounds. NaN has no place and is an error; the
    /// choice of a discrete space stays as it is.
    ///
    /// ```
    /// use epgt_envs::Space;
    /// let torque = Space::Box { low: vec![-2.0], high: vec![2.0] };
    /// let mut action = [3.5];
    /// torque.clip(&mut action)?;
    /// assert_eq!(action, [2.0]);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn clip(&self, action: &mut [f32]) -> Result<(), EnvError> {
        if let Space::Box { low, high } = self {
            for (k, value) in action.iter_mut().enumerate() {
                if value.is_nan() {
                    return Err(not_a_number(k));
                }
                *value = value.max(low[k]).min(high[k]);
            }
        }
        Ok(())
    }

    /// Refuses an action that cannot be carried out: one of another size, one that is no choice of a discrete space, or
    /// NaN. Numbers outside a box are no error, because they can be clipped.
    ///
    /// Call it at the start of [`Env::step`](crate::Env::step); its errors are those that [`check`](crate::check) asks
    /// for.
    ///
    /// ```
    /// use epgt_envs::Space;
    /// assert!(Space::Discrete(2).check_action(&[1.0]).is_ok());
    /// let error = Space::Discrete(2).check_action(&[2.0]).unwrap_err();
    /// assert_eq!(error.to_string(), "the action is 2, but this task takes the whole numbers 0 to 1");
    /// ```
    pub fn check_action(&self, action: &[f32]) -> Result<(), EnvError> {
        if action.len() != self.size() {
            return Err(wrong_size(action.len(), self.size()));
        }
        match self {
            Space::Discrete(n) => choice(action, *n).map(drop),
            Space::MultiDiscrete(counts) => {
                let mut each = counts.iter().zip(action.chunks_exact(1));
                each.try_for_each(|(&n, number)| choice(number, n).map(drop))
            }
            Space::Box { .. } | Space::Image { .. } => match action.iter().position(|x| x.is_nan()) {
                Some(k) => Err(not_a_number(k)),
                None => Ok(()),
            },
        }
    }

    /// Whether a row lies in the space. NaN lies in none.
    pub fn contains(&self, row: &[f32]) -> bool {
        match self {
            Space::Discrete(n) => row.len() == 1 && choice(row, *n).is_ok(),
            Space::MultiDiscrete(counts) => {
                let within = |(k, &n): (usize, &usize)| choice(&row[k..=k], n).is_ok();
                row.len() == counts.len() && counts.iter().enumerate().all(within)
            }
            Space::Box { low, high } => {
                row.len() == low.len()
                    && row
                        .iter()
                        .zip(low)
                        .zip(high)
                        .all(|((x, low), high)| low <= x && x <= high)
            }
            Space::Image { .. } => row.len() == self.size() && row.iter().all(|&x| f32::from(x as u8) == x),
        }
    }
}

/// The choice that a row of a discrete space of `n` choices stands for.
#[inline]
pub(crate) fn choice(row: &[f32], n: usize) -> Result<usize, EnvError> {
    if row.len() != 1 {
        return Err(wrong_size(row.len(), 1));
    }
    let index = row[0] as usize;
    if index < n && index as f32 == row[0] {
        Ok(index)
    } else {
        Err(not_a_choice(row[0], n))
    }
}

#[cold]
fn not_a_choice(value: f32, n: usize) -> EnvError {
    EnvError::InvalidAction(format!(
        "the action is {value}, but this task takes the whole numbers 0 to {}",
        n.saturating_sub(1)
    ))
}

/// The single number of a one-dimensional box action; NaN is refused.
#[inline]
pub(crate) fn number(row: &[f32]) -> Result<f32, EnvError> {
    if row.len() != 1 {
        return Err(wrong_size(row.len(), 1));
    }
    if row[0].is_nan() {
        Err(not_a_number(0))
    } else {
        Ok(row[0])
    }
}

/// An action that has not as many numbers as the space asks for.
#[cold]
pub(crate) fn wrong_size(given: usize, wanted: usize) -> EnvError {
    let numbers = if given == 1 { "number" } else { "numbers" };
    EnvError::InvalidAction(format!(
        "the action has {given} {numbers}, but this task takes {wanted}"
    ))
}

#[cold]
pub(crate) fn not_a_number(entry: usize) -> EnvError {
    EnvError::InvalidAction(format!(
        "entry {entry} of the action is NaN; the policy has probably diverged, so try a smaller learning rate"
    ))
}
