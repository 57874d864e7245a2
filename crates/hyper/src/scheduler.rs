//! What is true of a scheduler by its name: where it works, and what it asks of the hyper-space.

use crate::settings::{ActionValues, Scheduler};
use crate::space::HyperSpace;

impl Scheduler {
    /// Whether the method's update changes the hyperparameters from inside, by a rule of its own; the hyper-agent then only keeps
    /// and logs them, and the grids give no more than bounds.
    ///
    /// ```
    /// use epgt_hyper::Scheduler;
    /// assert!(Scheduler::Hoof.is_rule() && !Scheduler::Epgt.is_rule());
    /// ```
    pub fn is_rule(self) -> bool {
        matches!(self, Self::Hoof | Self::MetaGradient)
    }

    /// What has a value of its own: as asked, except that `lrrl` knows joint arms only, and `ultho` the values of each
    /// hyperparameter.
    ///
    /// ```
    /// use epgt_hyper::{ActionValues, Scheduler};
    /// assert_eq!(Scheduler::Ultho.action_values(ActionValues::Joint), ActionValues::Factored);
    /// assert_eq!(Scheduler::Bandit.action_values(ActionValues::Joint), ActionValues::Joint);
    /// ```
    pub fn action_values(self, asked: ActionValues) -> ActionValues {
        match self {
            Self::Lrrl => ActionValues::Joint,
            Self::Ultho => ActionValues::Factored,
            _ => asked,
        }
    }

    /// Numbers of options that are valued apart: one group of |A|, or one per hyperparameter; `ultho` values the hyperparameters
    /// themselves too, in a last group.
    ///
    /// ```
    /// use epgt_hyper::{ActionValues, Axis, Grid, HyperSpace, Scheduler};
    /// let axis = |name| Axis::new(name, 1.0, &Grid::Paper(3), true);
    /// let space = HyperSpace::new(vec![axis("learning_rate")?, axis("ent_coef")?], 100)?;
    /// assert_eq!(Scheduler::Bandit.groups(ActionValues::Joint, &space), [9]);
    /// assert_eq!(Scheduler::Ultho.groups(ActionValues::Joint, &space), [3, 3, 2]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn groups(self, asked: ActionValues, space: &HyperSpace) -> Vec<usize> {
        match self.action_values(asked) {
            ActionValues::Joint => vec![space.len()],
            ActionValues::Factored => {
                let clusters = (self == Self::Ultho).then_some(space.axes().len());
                let sizes = space.axes().iter().map(|axis| axis.values.len());
                sizes.chain(clusters).collect()
            }
        }
    }

    /// Refuses a hyper-space that the scheduler is not made for, in one sentence.
    ///
    /// ```
    /// use epgt_hyper::{Axis, Grid, HyperSpace, Scheduler};
    /// let clip = Axis::new("clip_range", 0.2, &Grid::Paper(3), true)?;
    /// let space = HyperSpace::new(vec![clip], 100)?;
    /// assert!(Scheduler::Lrrl.check(&space).unwrap_err().contains("learning_rate alone"));
    /// # Ok::<(), String>(())
    /// ```
    pub fn check(self, space: &HyperSpace) -> Result<(), String> {
        let other = space.axes().iter().find(|axis| axis.name != "learning_rate");
        match (self, other) {
            (Self::Lrrl, Some(axis)) => Err(format!(
                "the scheduler lrrl schedules learning_rate alone, not {}; tune learning_rate only, or take ultho or bandit",
                axis.name
            )),
            _ => Ok(()),
        }
    }
}
