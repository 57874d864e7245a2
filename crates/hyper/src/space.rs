//! The hyper-space: which hyperparameters are scheduled, and which values each may take (paper, A.2).
//!
//! A hyper-action picks one value on every axis; |A| is the product of the axes' sizes.

use epgt_settings::quoted;

use crate::error::{GridError, HyperError, MOST_VALUES};

/// How the values of one hyperparameter are laid out.
#[derive(Clone, Debug, PartialEq)]
pub enum Grid {
    /// The paper's rule for rates, Eq. 5: the default divided and multiplied by 2, 3, ..., (B-1)/2.
    Paper(usize),
    /// B values evenly spaced in the logarithm, from the default divided by a factor to the default times it.
    Around {
        /// How far the outermost values are from the default.
        factor: f64,
        /// B.
        count: usize,
    },
    /// B values evenly spaced in the logarithm; the nearest one gives way to the default.
    Log {
        /// Smallest value.
        low: f64,
        /// Largest value.
        high: f64,
        /// B.
        count: usize,
    },
    /// B values evenly spaced.
    Uniform {
        /// Smallest value.
        low: f64,
        /// Largest value.
        high: f64,
        /// B.
        count: usize,
    },
    /// These values.
    List(Vec<f64>),
}

impl Grid {
    /// Reads a grid: `paper:15`, `around:8:7`, `log:1e-4..5e-3:7`, `uniform:0.9..0.99:4`, or values such as
    /// `0:0.01:0.02`.
    ///
    /// ```
    /// use epgt_hyper::Grid;
    /// assert_eq!(Grid::parse("0:0.01:0.02")?, Grid::List(vec![0.0, 0.01, 0.02]));
    /// assert_eq!(Grid::parse("log:1e-4..5e-3:7")?, Grid::Log { low: 1e-4, high: 5e-3, count: 7 });
    /// # Ok::<(), epgt_hyper::HyperError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, GridError> {
        let text = text.trim();
        let shown = quoted(text);
        let number = |part: &str| {
            let value = part.trim().parse::<f64>();
            value.map_err(|_| GridError::NotANumber {
                part: quoted(part).to_string(),
                text: shown.to_string(),
            })
        };
        let count = |part: &str| match part.trim().parse::<usize>() {
            Ok(count) if count <= MOST_VALUES => Ok(count),
            Ok(_) => Err(GridError::AsksForTooMany(shown.to_string())),
            Err(_) => Err(GridError::NotACount(shown.to_string())),
        };
        let range = |rest: &str| {
            let (bounds, b) = rest
                .rsplit_once(':')
                .ok_or_else(|| GridError::WantsRange(shown.to_string()))?;
            let (low, high) = bounds
                .split_once("..")
                .ok_or_else(|| GridError::WantsRange(shown.to_string()))?;
            Ok::<_, GridError>((number(low)?, number(high)?, count(b)?))
        };
        if let Some(rest) = text.strip_prefix("paper:") {
            Ok(Self::Paper(count(rest)?))
        } else if let Some(rest) = text.strip_prefix("around:") {
            let (factor, b) = rest
                .split_once(':')
                .ok_or_else(|| GridError::WantsFactor(shown.to_string()))?;
            Ok(Self::Around {
                factor: number(factor)?,
                count: count(b)?,
            })
        } else if let Some(rest) = text.strip_prefix("log:") {
            let (low, high, count) = range(rest)?;
            Ok(Self::Log { low, high, count })
        } else if let Some(rest) = text.strip_prefix("uniform:") {
            let (low, high, count) = range(rest)?;
            Ok(Self::Uniform { low, high, count })
        } else {
            let values = text.split(':').map(number).collect::<Result<Vec<_>, _>>()?;
            match values.len() <= MOST_VALUES {
                true => Ok(Self::List(values)),
                false => Err(GridError::ListsTooMany(shown.to_string())),
            }
        }
    }

    /// The grid's values in ascending order, or why there are none.
    fn values(&self, default: f64, rate: bool) -> Result<Vec<f64>, GridError> {
        let in_order = |low: f64, high: f64, count: usize| {
            if !(low.is_finite() && high.is_finite()) {
                return Err(GridError::Endless(low, high));
            }
            if low > high {
                return Err(GridError::Reversed(low, high));
            }
            if low == high || count < 2 {
                return Err(GridError::TooFew(count, low, high));
            }
            Ok(())
        };
        let spaced = |low: f64, high: f64, count: usize| {
            let step = (high - low) / (count - 1) as f64;
            let mut values: Vec<f64> = (0..count).map(|i| low + step * i as f64).collect();
            values[count - 1] = high;
            values
        };
        let must_be_odd = |count: usize| match count % 2 {
            1 => Ok(()),
            _ => Err(GridError::Even(count)),
        };
        match self {
            Self::Paper(count) => {
                must_be_odd(*count)?;
                if *count < 3 {
                    return Err(GridError::NothingToChoose(*count));
                }
                // For B = 3 the formula's factors end at (B-1)/2 = 1 and it names the default alone, while the paper
                // counts three values there (|A| = 3^4 = 81): the nearest factor, 2, is used.
                let largest = ((count - 1) / 2).max(2);
                let below = (2..=largest).rev().map(|factor| default / factor as f64);
                let above = (2..=largest).map(|factor| default * factor as f64);
                Ok(below.chain([default]).chain(above).collect())
            }
            Self::Around { factor, count } => {
                must_be_odd(*count)?;
                if *count < 3 || !(*factor > 1.0 && factor.is_finite()) || default <= 0.0 {
                    return Err(GridError::NothingAround {
                        count: *count,
                        default,
                        factor: *factor,
                    });
                }
                let half = (count / 2) as f64;
                let power = |i: usize| default * factor.powf((i as f64 - half) / half);
                Ok((0..*count).map(power).collect())
            }
            Self::Log { low, high, count } => {
                if rate {
                    must_be_odd(*count)?;
                }
                in_order(*low, *high, *count)?;
                if *low <= 0.0 {
                    return Err(GridError::LogOfZero(*low));
                }
                if !(*low..=*high).contains(&default) {
                    return Err(GridError::DefaultOutside {
                        default,
                        low: *low,
                        high: *high,
                    });
                }
                let mut values: Vec<f64> = spaced(low.ln(), high.ln(), *count).into_iter().map(f64::exp).collect();
                values[0] = *low;
                values[count - 1] = *high;
                let nearest = nearest_index(&values, default, f64::ln);
                values[nearest] = default;
                Ok(values)
            }
            Self::Uniform { low, high, count } => {
                if rate {
                    must_be_odd(*count)?;
                }
                in_order(*low, *high, *count)?;
                Ok(spaced(*low, *high, *count))
            }
            Self::List(values) => {
                let mut values = values.clone();
                values.sort_by(f64::total_cmp);
                if values.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(GridError::Twice);
                }
                Ok(values)
            }
        }
    }
}

fn nearest_index(values: &[f64], target: f64, scale: impl Fn(f64) -> f64) -> usize {
    let distance = |value: f64| (scale(value) - scale(target)).abs();
    (0..values.len())
        .min_by(|&a, &b| distance(values[a]).total_cmp(&distance(values[b])))
        .unwrap_or(0)
}

/// One scheduled hyperparameter and the values it may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The hyperparameter's name.
    pub name: String,
    /// What it is when nothing schedules it.
    pub default: f64,
    /// The values, ascending.
    pub values: Vec<f64>,
}

impl Axis {
    /// Lays out an axis; `rate` marks a learning-rate-like hyperparameter, whose B must be odd.
    ///
    /// ```
    /// use epgt_hyper::{Axis, Grid};
    /// let axis = Axis::new("learning_rate", 7e-4, &Grid::Paper(15), true)?;
    /// assert!((axis.values[0] - 1e-4).abs() < 1e-12);
    /// assert!((axis.values.last().unwrap() - 4.9e-3).abs() < 1e-12);
    /// assert!(Axis::new("learning_rate", 7e-4, &Grid::Paper(4), true).is_err());
    /// # Ok::<(), epgt_hyper::HyperError>(())
    /// ```
    pub fn new(name: &str, default: f64, grid: &Grid, rate: bool) -> Result<Self, HyperError> {
        let refused = |reason| HyperError::Axis {
            name: name.to_string(),
            reason,
        };
        let values = grid.values(default, rate).map_err(refused)?;
        if let Some(bad) = values.iter().find(|value| !value.is_finite()) {
            return Err(refused(GridError::Unusable(*bad)));
        }
        // A range so narrow that floating point cannot tell its numbers apart. Multiples of a default of 0 are all 0.
        let is_multiples = matches!(grid, Grid::Paper(_));
        if !is_multiples && values.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(refused(GridError::Alike));
        }
        Ok(Self {
            name: name.to_string(),
            default,
            values,
        })
    }

    fn default_index(&self) -> usize {
        nearest_index(&self.values, self.default, |value| value)
    }
}

/// All scheduled hyperparameters. A joint hyper-action is a number below [`HyperSpace::len`], the last axis varying
/// fastest.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct HyperSpace {
    axes: Vec<Axis>,
}

impl HyperSpace {
    /// Joins the axes, unless |A| exceeds `limit`.
    ///
    /// ```
    /// use epgt_hyper::{Axis, Grid, HyperSpace};
    /// let rate = Axis::new("learning_rate", 3e-4, &Grid::Paper(3), true)?;
    /// let clip = Axis::new("clip_range", 0.2, &Grid::parse("0.1:0.2:0.3")?, false)?;
    /// let space = HyperSpace::new(vec![rate, clip], 1000)?;
    /// assert_eq!(space.len(), 9);
    /// assert_eq!(space.values(0).collect::<Vec<_>>(), [1.5e-4, 0.1]);
    /// # Ok::<(), epgt_hyper::HyperError>(())
    /// ```
    pub fn new(axes: Vec<Axis>, limit: usize) -> Result<Self, HyperError> {
        if let Some(axis) = axes.iter().find(|axis| axis.values.is_empty()) {
            return Err(HyperError::EmptyAxis(axis.name.clone()));
        }
        let size = axes
            .iter()
            .try_fold(1usize, |size, axis| size.checked_mul(axis.values.len()));
        match size {
            Some(size) if size <= limit => Ok(Self { axes }),
            size => Err(HyperError::TooManyActions { size, limit }),
        }
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// |A|, the number of joint hyper-actions (1 when nothing is scheduled).
    #[expect(clippy::len_without_is_empty, reason = "a product of sizes is never 0")]
    pub fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// The position of a joint hyper-action on one axis.
    pub fn index(&self, action: usize, axis: usize) -> usize {
        let stride: usize = self.axes[axis + 1..].iter().map(|axis| axis.values.len()).product();
        action / stride % self.axes[axis].values.len()
    }

    /// The joint hyper-action at these positions.
    pub fn action(&self, indices: impl IntoIterator<Item = usize>) -> usize {
        self.axes
            .iter()
            .zip(indices)
            .fold(0, |action, (axis, index)| action * axis.values.len() + index)
    }

    /// The hyperparameter values of a joint hyper-action, in the order of the axes.
    pub fn values(&self, action: usize) -> impl Iterator<Item = f64> + '_ {
        (0..self.axes.len()).map(move |axis| self.axes[axis].values[self.index(action, axis)])
    }

    /// The joint hyper-action closest to the defaults: where training starts.
    pub fn default_action(&self) -> usize {
        self.action(self.axes.iter().map(Axis::default_index))
    }

    /// Whether two joint hyper-actions differ by at most one step on every axis.
    pub fn adjacent(&self, a: usize, b: usize) -> bool {
        (0..self.axes.len()).all(|axis| self.index(a, axis).abs_diff(self.index(b, axis)) <= 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_rule_multiplies_and_divides_the_default_by_whole_numbers() {
        let axis = Axis::new("learning_rate", 6.0, &Grid::Paper(7), true).unwrap();
        assert_eq!(axis.values, [2.0, 3.0, 6.0, 12.0, 18.0]);
        let three = Axis::new("learning_rate", 6.0, &Grid::Paper(3), true).unwrap();
        assert_eq!(three.values, [3.0, 6.0, 12.0]);
    }

    #[test]
    fn a_log_range_can_express_the_papers_quoted_one_and_holds_the_default() {
        let grid = Grid::parse("log:4e-5..1e-2:15").unwrap();
        let axis = Axis::new("learning_rate", 7e-4, &grid, true).unwrap();
        assert_eq!(axis.values.len(), 15);
        assert_eq!((axis.values[0], axis.values[14]), (4e-5, 1e-2));
        assert!(axis.values.contains(&7e-4));
        assert!(axis.values.is_sorted());
    }

    #[test]
    fn a_grid_around_the_default_has_it_in_the_middle() {
        let axis = Axis::new("learning_rate", 2.0, &Grid::parse("around:9:5").unwrap(), true).unwrap();
        let expected = [2.0 / 9.0, 2.0 / 3.0, 2.0, 6.0, 18.0];
        assert!(axis.values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(axis.values[2], 2.0);
    }

    #[test]
    fn impossible_grids_are_refused_with_a_reason() {
        let refuse = |text: &str, default: f64| {
            Grid::parse(text)
                .map_err(HyperError::from)
                .and_then(|grid| Axis::new("learning_rate", default, &grid, true))
                .unwrap_err()
                .to_string()
        };
        assert!(refuse("log:1e-4..5e-3:6", 7e-4).contains("even"));
        assert!(refuse("around:8:4", 7e-4).contains("even"));
        assert!(refuse("around:1:5", 7e-4).contains("factor"));
        assert!(refuse("log:1e-3..5e-3:7", 7e-4).contains("outside"));
        assert!(refuse("log:0..5e-3:7", 7e-4).contains("above 0"));
        assert!(refuse("log:5e-3..1e-4:7", 7e-4).contains("the range 0.005..0.0001 is reversed; write 0.0001..0.005"));
        assert!(refuse("uniform:2..1:3", 1.5).contains("reversed"));
        assert!(refuse("uniform:1..1:3", 1.0).contains("cannot span 1..1"));
        assert!(refuse("uniform:1..inf:3", 1.5).contains("two numbers"));
        assert!(refuse("uniform:1..1.0000000000000002:5", 1.0).contains("the same number"));
        assert!(refuse("uniform:0..1:1000000001", 0.5).contains("more than 100000 values"));
        assert!(refuse("around:1e400:5", 7e-4).contains("factor of inf"));
        assert!(refuse("0.1:0.1", 0.1).contains("twice"));
        assert!(refuse("fast", 0.1).contains("not a number"));
        assert!(refuse("paper:x", 0.1).contains("whole number"));
        assert!(refuse("nan:0.1", 0.1).contains("usable"));
    }

    #[test]
    fn joint_actions_and_positions_convert_both_ways() {
        let axis = |name: &str, values: &[f64]| Axis {
            name: name.into(),
            default: values[0],
            values: values.to_vec(),
        };
        let space = HyperSpace {
            axes: vec![
                axis("a", &[1.0, 2.0]),
                axis("b", &[1.0, 2.0, 3.0]),
                axis("c", &[5.0, 6.0]),
            ],
        };
        for action in 0..space.len() {
            let indices: Vec<usize> = (0..3).map(|axis| space.index(action, axis)).collect();
            assert_eq!(space.action(indices), action);
        }
        assert!(space.adjacent(0, space.action([1, 1, 1])));
        assert!(!space.adjacent(0, space.action([0, 2, 0])));
        assert!(HyperSpace::new(space.axes.clone(), 11).is_err());
    }
}
