//! What can be wrong with an experiment and with its runs. Each is told in one sentence for the user.

use std::fmt;
use std::path::{Path, PathBuf};

use epgt_report::chart::png::PngError;
use epgt_settings::{UnknownName, shortened, unknown};
use epgt_train::ConfigError;
use epgt_train::artifact::ArtifactError;
use epgt_train::record::RecordError;

use crate::measure::Measure;

/// Characters of a sentence about a damaged run: what it quotes may be of any length.
const LONGEST_SENTENCE: usize = 400;

/// Why an experiment's file, or what is asked of it, cannot be used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// The steps of all runs are to be multiplied by something that is no factor.
    Scale(f64),
    /// A name that is none of those that are known.
    Unknown(UnknownName),
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// Something is wrong in a file.
    File {
        /// The file.
        path: PathBuf,
        /// What.
        problem: Box<PlanError>,
    },
    /// It is not TOML.
    Toml {
        /// The line, counted from 1.
        line: usize,
        /// What TOML's parser says.
        message: String,
    },
    /// A key's value is not of the kind that it wants.
    Value {
        /// The key.
        key: String,
        /// Its value.
        text: String,
        /// What it wants.
        wants: String,
    },
    /// A key that should have sections.
    NoSections(&'static str),
    /// There is none of a section that is needed.
    NothingToRun(&'static str),
    /// `settings` is not one section.
    SettingsNoSection,
    /// A setting that is set elsewhere.
    Reserved(&'static str),
    /// A task without its id.
    TaskWithoutId,
    /// A method without a name.
    MethodWithoutName,
    /// No seed.
    NoSeeds,
    /// More seeds than there are numbers after the first.
    NoRoomForSeeds {
        /// The first seed.
        first: u64,
        /// How many.
        seeds: u64,
    },
    /// A name of which no directory can be made.
    NoLetter {
        /// What it is the name of.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name with a sign that a filter could not say.
    CommaOrQuote {
        /// What it is the name of.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two names that would share a directory.
    Alike {
        /// What they are the names of.
        what: &'static str,
        /// The two.
        names: [String; 2],
    },
    /// A configuration cannot be used.
    Config(Box<ConfigError>),
    /// Something is wrong in `[settings]`.
    Settings(Box<PlanError>),
    /// Something is wrong in a task's section.
    Task {
        /// The task.
        task: String,
        /// What.
        problem: Box<PlanError>,
    },
    /// Something is wrong in a method's section.
    Method {
        /// The method.
        method: String,
        /// What.
        problem: Box<PlanError>,
    },
    /// A method cannot be run on a task.
    Run {
        /// The method.
        method: String,
        /// The task.
        task: String,
        /// Why.
        problem: Box<PlanError>,
    },
    /// A configuration cannot be used with its steps scaled.
    Scaled {
        /// The factor.
        scale: f64,
        /// Why.
        problem: Box<PlanError>,
    },
    /// Runs that would end without the score that they are compared by.
    NoScore {
        /// The score.
        measure: Measure,
        /// What it needs.
        needs: &'static str,
    },
    /// A part of a filter that says nothing.
    FilterPart(String),
    /// A part of a filter about something else than tasks, methods and seeds.
    FilterKey(String),
    /// A filter's seed that is no number.
    FilterSeed(String),
    /// A filter's seed that the experiment does not have.
    FilterSeeds {
        /// What the filter says.
        text: String,
        /// The first seed of the experiment.
        lowest: u64,
        /// The last one.
        highest: u64,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scale(scale) => write!(
                f,
                "--scale {scale} cannot be used: it multiplies the steps, so use a number above 0, such as 0.1"
            ),
            Self::Unknown(error) => error.fmt(f),
            Self::Unreadable { path, problem } => write!(f, "cannot read {}: {problem}", path.display()),
            Self::File { path, problem } => write!(f, "{}: {problem}", path.display()),
            Self::Toml { line, message } => write!(f, "line {line} is not valid TOML: {message}"),
            Self::Value { key, text, wants } => write!(f, "{key} = {text} cannot be used: {wants}"),
            Self::NoSections(key) => write!(f, "{key} should be a list of sections, [[{key}]]"),
            Self::NothingToRun(key) => write!(f, "nothing to run: add a [[{key}]]"),
            Self::SettingsNoSection => f.write_str("settings should be a section, [settings]"),
            Self::Reserved(key) => {
                let instead = match *key {
                    "seed" => "seeds and first_seed at the top of the file",
                    _ => "a [[task]]",
                };
                write!(f, "{key} cannot be set here; use {instead}")
            }
            Self::TaskWithoutId => f.write_str("a [[task]] needs its id, task = \"CartPole-v1\""),
            Self::MethodWithoutName => f.write_str("a [[method]] needs a name, name = \"fixed\""),
            Self::NoSeeds => f.write_str("seeds = 0 leaves nothing to run; use 1 or more"),
            Self::NoRoomForSeeds { first, seeds } => {
                write!(f, "first_seed = {first} leaves no room for {seeds} seeds")
            }
            Self::NoLetter { what, name } => write!(f, "{what} '{name}' needs a name with a letter or digit"),
            Self::CommaOrQuote { what, name } => {
                write!(f, "{what} '{name}' cannot have a comma or quote in its name")
            }
            Self::Alike { what, names: [a, b] } => {
                write!(f, "{what}s '{a}' and '{b}' cannot be told apart; rename one")
            }
            Self::Config(error) => error.fmt(f),
            Self::Settings(problem) => write!(f, "[settings]: {problem}"),
            Self::Task { task, problem } => write!(f, "task '{task}': {problem}"),
            Self::Method { method, problem } => write!(f, "method '{method}': {problem}"),
            Self::Run { method, task, problem } => write!(f, "method '{method}' on {task}: {problem}"),
            Self::Scaled { scale, problem } => write!(f, "with --scale {scale}, {problem}"),
            Self::NoScore { measure, needs } => write!(f, "score = \"{}\" needs {needs}", measure.name()),
            Self::FilterPart(part) => write!(
                f,
                "'{part}' in --only should be task=NAME, method=NAME, seed=S or seed=FIRST-LAST"
            ),
            Self::FilterKey(key) => {
                let problem = unknown("filter", key, &["task", "method", "seed"]);
                write!(f, "{problem} (in --only)")
            }
            Self::FilterSeed(text) => write!(
                f,
                "seed={text} in --only should be a whole number, or a range such as 0-4"
            ),
            Self::FilterSeeds { text, lowest, highest } => write!(
                f,
                "seed={text} in --only is not among the experiment's seeds, {lowest} to {highest}"
            ),
        }
    }
}

impl std::error::Error for PlanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unknown(error) => Some(error),
            Self::Config(error) => Some(&**error),
            Self::Settings(problem)
            | Self::File { problem, .. }
            | Self::Task { problem, .. }
            | Self::Method { problem, .. }
            | Self::Run { problem, .. }
            | Self::Scaled { problem, .. } => Some(&**problem),
            _ => None,
        }
    }
}

impl From<ConfigError> for PlanError {
    fn from(error: ConfigError) -> Self {
        Self::Config(Box::new(error))
    }
}

impl From<UnknownName> for PlanError {
    fn from(error: UnknownName) -> Self {
        Self::Unknown(error)
    }
}

/// Why runs cannot be made, compared or reported on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A directory holds a run that is not the experiment's.
    OtherSettings {
        /// The directory.
        directory: PathBuf,
        /// The line of the first setting that differs, in the directory.
        there: String,
        /// The line in its place, in the experiment.
        here: String,
    },
    /// A directory holds what cannot be read.
    Damaged {
        /// The directory.
        directory: PathBuf,
        /// What is wrong there.
        problem: String,
    },
    /// The same run is in two directories, with different policies at its end.
    DifferentEnds([PathBuf; 2]),
    /// There is nothing to report on.
    NoRun {
        /// Where runs were looked for.
        directories: Vec<PathBuf>,
        /// What is wrong with the first that could not be read.
        broken: Option<String>,
    },
    /// What is in the place of a page is somebody else's.
    ForeignPage(PathBuf),
    /// What is in the place of an experiment's tables is somebody else's.
    ForeignTable(PathBuf),
    /// Something cannot be done to a file or directory.
    System {
        /// What: `make`, `use` or `write`.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A run cannot be read.
    Record(RecordError),
    /// A file cannot be written.
    Artifact(ArtifactError),
    /// A picture cannot be made.
    Picture(PngError),
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherSettings { directory, there, here } => {
                let key = there.split(" = ").next();
                let hint = match key == Some("steps") {
                    true => "say --scale F where it was made with one, choose another --out, or remove that directory",
                    false => "choose another --out, or remove that directory",
                };
                let place = directory.display();
                write!(
                    f,
                    "{place} holds a run with other settings ({there} there, {here} here); {hint}"
                )
            }
            Self::Damaged { directory, problem } => write!(
                f,
                "{}; choose another --out, or remove {}",
                shortened(problem, LONGEST_SENTENCE),
                directory.display()
            ),
            Self::DifferentEnds([one, other]) => write!(
                f,
                "{} and {} hold the same run with different ends; leave one of them out",
                one.display(),
                other.display()
            ),
            Self::NoRun { directories, broken } => {
                let names: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
                write!(f, "there is no run to report on below {}", names.join(", "))?;
                match broken {
                    Some(sentence) => write!(f, ": {sentence}"),
                    None => Ok(()),
                }
            }
            Self::ForeignPage(path) => write!(
                f,
                "{} was not made by this program; choose another place with --out",
                path.display()
            ),
            Self::ForeignTable(path) => {
                write!(
                    f,
                    "{} was not made by this program; choose another --out",
                    path.display()
                )
            }
            Self::System { what, path, problem } => write!(f, "cannot {what} {}: {problem}", path.display()),
            Self::Record(error) => error.fmt(f),
            Self::Artifact(error) => error.fmt(f),
            Self::Picture(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExperimentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Record(error) => Some(error),
            Self::Artifact(error) => Some(error),
            Self::Picture(error) => Some(error),
            _ => None,
        }
    }
}

impl ExperimentError {
    /// Something that cannot be done to a file or directory.
    pub(crate) fn system(what: &'static str, path: &Path, problem: impl fmt::Display) -> Self {
        Self::System {
            what,
            path: path.to_path_buf(),
            problem: problem.to_string(),
        }
    }
}

impl From<RecordError> for ExperimentError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<ArtifactError> for ExperimentError {
    fn from(error: ArtifactError) -> Self {
        Self::Artifact(error)
    }
}

impl From<PngError> for ExperimentError {
    fn from(error: PngError) -> Self {
        Self::Picture(error)
    }
}
