//! The numbers of a run that methods are compared by: one list for reports, comparisons and experiments.

use epgt_settings::choice;
use epgt_train::RunResult;

choice! {
    /// The number of a run that methods are compared by, under the name that an experiment's file has for it.
    pub enum Measure {
        /// Mean raw return of the last hundred training episodes.
        Final = "return_last_100",
        /// Best mean raw return of an evaluation.
        Evaluation = "best_evaluation",
        /// Mean raw return of the best policy over `final_episodes` episodes after the end.
        Checkpoint = "best_checkpoint",
        /// Mean over training of the return of the last hundred episodes.
        Area = "auc",
        /// The last hundred training episodes between random play (0) and a human (1).
        Human = "human_normalised",
    }
}

impl Measure {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 5] = [Self::Final, Self::Human, Self::Checkpoint, Self::Evaluation, Self::Area];

    /// This number of a finished run, whose learning curve has this area.
    pub fn of(self, result: &RunResult, area: impl FnOnce() -> Option<f64>) -> Option<f64> {
        match self {
            Self::Final => result.return_last_100,
            Self::Evaluation => result.best_evaluation,
            Self::Checkpoint => result.best_checkpoint,
            Self::Area => area(),
            Self::Human => result.human_normalised,
        }
    }

    /// What it is, above a table or beside an axis.
    pub fn title(self) -> &'static str {
        match self {
            Self::Final => "return of the last 100 training episodes",
            Self::Checkpoint => "return of the best checkpoint, played once training was over",
            Self::Evaluation => "best evaluation during training",
            Self::Area => "area under the learning curve (mean return over training)",
            Self::Human => "human-normalised score of the last 100 training episodes (0: random play, 1: a human)",
        }
    }

    /// The same, where the finished runs have had so many episodes.
    ///
    /// ```
    /// use epgt_experiments::Measure;
    /// assert_eq!(Measure::Final.title_for([4, 4000].into_iter()), "return of the last 4 to 100 training episodes");
    /// ```
    pub fn title_for(self, episodes: impl Iterator<Item = u64>) -> String {
        match self.is_of_last_episodes() {
            true => self
                .title()
                .replace("the last 100 training episodes", &last_episodes(episodes)),
            false => self.title().to_string(),
        }
    }

    /// What it is in a sentence, where the finished runs have had so many episodes.
    pub fn definition(self, episodes: impl Iterator<Item = u64>) -> String {
        match self {
            Self::Final => format!("the mean return of {}", last_episodes(episodes)),
            Self::Evaluation => "the best mean return of an evaluation".to_string(),
            Self::Checkpoint => "the mean return of the best policy, played once training was over".to_string(),
            Self::Area => "the mean over training of the return of the last 100 episodes at most".to_string(),
            Self::Human => format!(
                "the mean return of {}, 0 at random play's score and 1 at a human's (Mnih et al. 2015)",
                last_episodes(episodes)
            ),
        }
    }

    /// Whether it is made of the last hundred training episodes, of which a short run has fewer.
    pub fn is_of_last_episodes(self) -> bool {
        matches!(self, Self::Final | Self::Human)
    }

    /// Its part of a file's name.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::Checkpoint => "checkpoint",
            Self::Evaluation => "evaluation",
            Self::Area => "area",
            Self::Human => "human-normalised",
        }
    }
}

/// The episodes that a score of the last hundred is made of, where runs have had so many: some may not have had a
/// hundred.
pub(crate) fn last_episodes(episodes: impl Iterator<Item = u64>) -> String {
    let counted: Vec<u64> = episodes.map(|episodes| episodes.min(100)).collect();
    match (counted.iter().min(), counted.iter().max()) {
        (Some(1), Some(1)) => "the only training episode".to_string(),
        (Some(least), Some(most)) if least < most => format!("the last {least} to {most} training episodes"),
        (Some(all), _) => format!("the last {all} training episodes"),
        _ => "the last 100 training episodes".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_of_the_last_hundred_episodes_says_how_many_there_were() {
        let of = |episodes: &[u64]| Measure::Final.title_for(episodes.iter().copied());
        assert_eq!(of(&[100, 2000]), "return of the last 100 training episodes");
        assert_eq!(of(&[4, 4]), "return of the last 4 training episodes");
        assert_eq!(of(&[4, 4000]), "return of the last 4 to 100 training episodes");
        assert_eq!(of(&[1]), "return of the only training episode");
    }
}
