//! Is there a signal at all? Whether the choice of a hyper-action shows in the improvement that follows it.
//!
//! The F statistic of a one-way analysis of variance over hyper-actions is about 1 when the choice explains nothing
//! (docs/method.md found just that for the paper's setting), and larger when it does. The correlation tells, for each
//! hyperparameter, whether larger values were followed by more improvement.

use serde::{Deserialize, Serialize};

use crate::space::HyperSpace;

/// Running sums of improvement by hyper-action.
///
/// ```
/// use epgt_hyper::{Axis, Grid, HyperSpace, Signal};
/// let axis = Axis::new("learning_rate", 1.0, &Grid::Paper(3), true)?;
/// let space = HyperSpace::new(vec![axis], 10)?;
/// let mut signal = Signal::new(&space);
/// for (action, improvement) in [(0, 1.0), (0, 2.0), (2, 5.0), (2, 6.0)] {
///     signal.record(&space, action, improvement);
/// }
/// assert_eq!(signal.f_statistic(), Some(32.0));
/// assert!(signal.correlation(0).unwrap() > 0.9);
/// # Ok::<(), epgt_hyper::HyperError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// By joint hyper-action: how often, sum of improvements.
    groups: Vec<(f64, f64)>,
    count: f64,
    sum: f64,
    squares: f64,
    /// By hyperparameter: sums of the position x, x^2 and x * improvement.
    axes: Vec<(f64, f64, f64)>,
}

impl Signal {
    /// Nothing seen yet.
    pub fn new(space: &HyperSpace) -> Self {
        Self {
            groups: vec![(0.0, 0.0); space.len()],
            count: 0.0,
            sum: 0.0,
            squares: 0.0,
            axes: vec![(0.0, 0.0, 0.0); space.axes().len()],
        }
    }

    /// One decision and the improvement that followed it.
    pub fn record(&mut self, space: &HyperSpace, action: usize, improvement: f32) {
        let y = f64::from(improvement);
        let group = &mut self.groups[action];
        *group = (group.0 + 1.0, group.1 + y);
        self.count += 1.0;
        self.sum += y;
        self.squares += y * y;
        for (axis, sums) in self.axes.iter_mut().enumerate() {
            let x = space.index(action, axis) as f64;
            *sums = (sums.0 + x, sums.1 + x * x, sums.2 + x * y);
        }
    }

    /// Variance between hyper-actions over variance within them; `None` until both can be told.
    pub fn f_statistic(&self) -> Option<f64> {
        let tried = self.groups.iter().filter(|group| group.0 > 0.0);
        let n_groups = tried.clone().count() as f64;
        if n_groups < 2.0 || self.count <= n_groups {
            return None;
        }
        let of_groups: f64 = tried.map(|(n, sum)| sum * sum / n).sum();
        let between = of_groups - self.sum * self.sum / self.count;
        let within = self.squares - of_groups;
        (within > 0.0).then(|| (between / (n_groups - 1.0)) / (within / (self.count - n_groups)))
    }

    /// Correlation of a hyperparameter's position on its grid with the improvement; `None` while either is constant.
    pub fn correlation(&self, axis: usize) -> Option<f64> {
        let (x, xx, xy) = self.axes[axis];
        let covariance = xy - x * self.sum / self.count;
        let variances = (xx - x * x / self.count) * (self.squares - self.sum * self.sum / self.count);
        (variances > 0.0).then(|| covariance / variances.sqrt())
    }
}
