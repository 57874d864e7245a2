//! Policies as safetensors files: the networks, the normalisation they were trained with, and what they are for.
//!
//! The tensors have the names of the training parameters (`policy.0.weight`, ...) beside `normalizer.observation_mean`,
//! `normalizer.observation_variance` and `normalizer.return_variance`, all little-endian, so that any safetensors
//! reader can load them. One metadata entry, `epgt`, is a JSON object with the task, its options and the networks'
//! settings. The bytes depend on nothing else, so equal policies have equal hashes. The entry also carries the policy's
//! *digest*, the SHA-256 of the file that it would be without it, which is checked wherever a policy is read: a file
//! that was cut or altered is refused. Files of earlier versions have none.
//!
//! Policies on images have `trunk.conv.0.weight`, ...: a row per output channel, ordered by channel, row and pixel of
//! the window in the first convolution and by row, pixel and channel in the others; `trunk.dense.0.weight` is ordered
//! by row, pixel and channel of what the last convolution puts out. Bytes are divided by 255 first.
//!
//! Format 2 knew no images. Format 1 knew neither shared layers (tensors `trunk.0.weight`, ...), nor other widths of
//! the value network, nor squashing; such files are read as what they are, without any of these.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use epgt_envs::{EnvError, Normalizer, RowShape, Space, TaskSpec};
use epgt_pg::{ActionUnit, ActorCritic, PgError, PolicySettings};
use epgt_rng::Pcg64;
use epgt_settings::{SettingError, Settings, number};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::Registry;
use crate::artifact::{ArtifactError, reason, sha256_hex};

/// A policy with all that is needed to act.
pub struct Policy {
    /// The task it was trained for, with its options.
    pub task: TaskSpec,
    /// The networks.
    pub networks: ActorCritic,
    /// The frozen normalisation.
    pub normalizer: Normalizer,
    /// The networks' settings.
    pub settings: PolicySettings,
    /// Variance of the discounted return that rewards were scaled by.
    pub return_variance: f64,
    /// The digest that the file carries; files of earlier versions have none.
    pub digest: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Description {
    format: u32,
    task: String,
    /// The task's options that are not the defaults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    env: Vec<(String, String)>,
    hidden: Vec<usize>,
    activation: String,
    normalize_observations: bool,
    #[serde(default)]
    value_hidden: Option<Vec<usize>>,
    #[serde(default)]
    shared: bool,
    /// Whether an action is `middle + half * tanh(output)` of the task's bounds.
    #[serde(default)]
    squash: bool,
    /// The unit of continuous actions, where it is not the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action_unit: Option<String>,
    /// The layers of a network on images; `hidden`, `value_hidden`, `shared` and `activation` mean nothing then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<ImageLayers>,
    /// SHA-256 of the file without this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

/// A policy as the bytes of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedPolicy {
    /// The digest that the file carries.
    pub digest: String,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// Convolutions and the dense layers behind them.
#[derive(Serialize, Deserialize)]
struct ImageLayers {
    conv_channels: Vec<usize>,
    conv_kernels: Vec<usize>,
    conv_strides: Vec<usize>,
    image_hidden: Vec<usize>,
}

/// Why the bytes of a file are not a policy, or a policy cannot be made into bytes. The text goes on from a file's name
/// and a colon.
///
/// ```
/// use epgt_train::policy_file::{PolicyProblem, digest};
/// let problem = digest(b"not a policy").unwrap_err();
/// assert!(matches!(problem, PolicyProblem::Damaged(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PolicyProblem {
    /// It is not a whole safetensors file, for this reason.
    Damaged(String),
    /// It is a safetensors file of another program.
    NoDescription,
    /// Its content is not what its digest was made of.
    Altered,
    /// It has a format of a later version.
    Format(u32),
    /// One of its settings is unknown.
    Setting(SettingError),
    /// Its settings are of no networks for its task.
    Networks(PgError),
    /// It describes more weights than it has room for.
    MoreThanItHolds {
        /// How many weights it describes.
        weights: f64,
    },
    /// It lacks a tensor.
    NoTensor(String),
    /// A tensor has another shape than its networks have.
    OtherShape(String),
    /// A policy's tensors cannot be laid out, for this reason.
    Layout(String),
    /// A policy cannot be described, for this reason.
    Description(String),
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(reason) => write!(f, "it is damaged ({reason})"),
            Self::NoDescription => f.write_str("it lacks the description that this program writes"),
            Self::Altered => {
                f.write_str("it was altered after it was written: its digest does not match; use another copy of it")
            }
            Self::Format(format) => write!(f, "it has format {format}, and this version reads up to {FORMAT}"),
            Self::Setting(error) => write!(f, "{error}"),
            Self::Networks(error) => write!(f, "{error}"),
            Self::MoreThanItHolds { weights } => write!(
                f,
                "it describes networks of {} weights, more than it holds",
                number(*weights)
            ),
            Self::NoTensor(name) => write!(f, "it lacks the tensor {name}"),
            Self::OtherShape(name) => write!(f, "its tensor {name} has another shape"),
            Self::Layout(reason) => write!(f, "cannot lay out the policy's tensors: {reason}"),
            Self::Description(reason) => write!(f, "cannot describe the policy: {reason}"),
        }
    }
}

impl std::error::Error for PolicyProblem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Setting(error) => Some(error),
            Self::Networks(error) => Some(error),
            _ => None,
        }
    }
}

impl From<SettingError> for PolicyProblem {
    fn from(error: SettingError) -> Self {
        Self::Setting(error)
    }
}

impl From<PgError> for PolicyProblem {
    fn from(error: PgError) -> Self {
        Self::Networks(error)
    }
}

/// Why a policy file cannot be used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The file, or the checkpoint beside it, cannot be read.
    Artifact(ArtifactError),
    /// Its content is not what this program writes.
    NotAPolicy {
        /// The file.
        path: PathBuf,
        /// In what way.
        problem: Box<PolicyProblem>,
    },
    /// Its task cannot be made here.
    Task {
        /// The file.
        path: PathBuf,
        /// Why.
        error: EnvError,
    },
    /// The best policy of a run is not to be trusted.
    Best {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: BestProblem,
    },
    /// The checkpoint that names a run's best policy was written by another version of the program.
    OtherVersion(PathBuf),
}

/// What is wrong with the file of a run's best policy.
#[derive(Clone, Debug, PartialEq)]
pub enum BestProblem {
    /// It is missing.
    Missing,
    /// Its content is damaged.
    Content(Box<PolicyProblem>),
    /// It is another policy than the run has kept.
    Other,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Artifact(error) => write!(f, "{error}"),
            Self::NotAPolicy { path, problem } => {
                write!(f, "{} is not a policy of this program: {problem}", path.display())
            }
            Self::Task { path, error } => write!(f, "the policy {} cannot be played: {error}", path.display()),
            Self::Best { path, problem } => {
                write!(f, "{} ", path.display())?;
                match problem {
                    BestProblem::Missing => f.write_str("is missing")?,
                    BestProblem::Content(problem) => write!(f, "cannot be trusted: {problem}")?,
                    BestProblem::Other => f.write_str("is not the policy that the run has kept as its best")?,
                }
                f.write_str(
                    "; `epgt train --resume` with its directory restores it from the checkpoint, and --last plays the last \
                     policy instead",
                )
            }
            Self::OtherVersion(path) => write!(f, "{} was written by another version of this program", path.display()),
        }
    }
}

impl std::error::Error for PolicyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Artifact(error) => Some(error),
            Self::NotAPolicy { problem, .. } => Some(&**problem),
            Self::Task { error, .. } => Some(error),
            Self::Best {
                problem: BestProblem::Content(problem),
                ..
            } => Some(&**problem),
            Self::Best { .. } | Self::OtherVersion(_) => None,
        }
    }
}

impl From<ArtifactError> for PolicyError {
    fn from(error: ArtifactError) -> Self {
        Self::Artifact(error)
    }
}

/// What files are given whose actions are in units of the range.
const FORMAT: u32 = 4;
/// What files of networks on images are given, so that older programs read them.
const FORMAT_OF_IMAGES: u32 = 3;
/// The same where observations are numbers.
const FORMAT_OF_NUMBERS: u32 = 2;

/// The file of these networks.
pub fn encode(
    task: &TaskSpec,
    settings: &PolicySettings,
    networks: &ActorCritic,
    normalizer: &Normalizer,
    normalize_observations: bool,
) -> Result<EncodedPolicy, PolicyProblem> {
    let image = task.image.map(|_| ImageLayers {
        conv_channels: settings.conv_channels.clone(),
        conv_kernels: settings.conv_kernels.clone(),
        conv_strides: settings.conv_strides.clone(),
        image_hidden: settings.image_hidden.clone(),
    });
    // Squashed actions lie within the bounds in either unit.
    let in_range = settings.action_unit == ActionUnit::Range && !settings.squash && networks.log_std.is_some();
    let mut description = Description {
        format: match (in_range, image.is_some()) {
            (true, _) => FORMAT,
            (false, true) => FORMAT_OF_IMAGES,
            (false, false) => FORMAT_OF_NUMBERS,
        },
        task: task.id.to_string(),
        env: task.options.changed(),
        hidden: settings.hidden.clone(),
        activation: settings.activation.name().to_string(),
        normalize_observations,
        value_hidden: settings.value_hidden.clone(),
        shared: settings.shared,
        squash: settings.squash,
        action_unit: in_range.then(|| settings.action_unit.name().to_string()),
        image,
        digest: None,
    };
    let f32_bytes = |data: &[f32]| data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let f64_bytes = |data: &[f64]| data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = networks
        .params
        .tensors()
        .map(|tensor| {
            (
                tensor.name.to_string(),
                Dtype::F32,
                vec![tensor.rows, tensor.cols],
                f32_bytes(tensor.data),
            )
        })
        .collect();
    let return_variance = [normalizer.return_variance()];
    for (name, data) in [
        ("observation_mean", normalizer.observation_mean()),
        ("observation_variance", normalizer.observation_variance()),
        ("return_variance", &return_variance),
    ] {
        let name = format!("normalizer.{name}");
        tensors.push((name, Dtype::F64, vec![data.len()], f64_bytes(data)));
    }
    let views = tensors
        .iter()
        .map(|(name, dtype, shape, data)| Ok((name.as_str(), TensorView::new(*dtype, shape.clone(), data)?)))
        .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()
        .map_err(|error| PolicyProblem::Layout(error.to_string()))?;
    let digest = sha256_hex(&laid_out(&views, &description)?);
    description.digest = Some(digest.clone());
    let bytes = laid_out(&views, &description)?;
    Ok(EncodedPolicy { digest, bytes })
}

/// The bytes of a file with these tensors and this description.
fn laid_out(views: &[(&str, TensorView<'_>)], description: &Description) -> Result<Vec<u8>, PolicyProblem> {
    let text = serde_json::to_string(description).map_err(|error| PolicyProblem::Description(error.to_string()))?;
    // A single entry: the order of several in a hash map would change the bytes from run to run.
    let metadata = HashMap::from([("epgt".to_string(), text)]);
    safetensors::serialize(views.iter().map(|(name, view)| (*name, view)), Some(metadata))
        .map_err(|error| PolicyProblem::Layout(error.to_string()))
}

/// The digest that a file carries, if its content is what the digest was made of; `None` for files of versions that had
/// none.
///
/// ```
/// let problem = epgt_train::policy_file::digest(b"not a policy").unwrap_err();
/// assert!(problem.to_string().contains("damaged"));
/// ```
pub fn digest(bytes: &[u8]) -> Result<Option<String>, PolicyProblem> {
    let (file, mut description) = parts(bytes)?;
    let Some(digest) = description.digest.take() else {
        return Ok(None);
    };
    let tensors = file.tensors();
    let views: Vec<(&str, TensorView<'_>)> = tensors
        .iter()
        .map(|(name, view)| (name.as_str(), view.clone()))
        .collect();
    match sha256_hex(&laid_out(&views, &description)?) == digest {
        true => Ok(Some(digest)),
        false => Err(PolicyProblem::Altered),
    }
}

/// The tensors and the description of a file.
fn parts(bytes: &[u8]) -> Result<(SafeTensors<'_>, Description), PolicyProblem> {
    let damaged = |error: safetensors::SafeTensorError| PolicyProblem::Damaged(error.to_string());
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let description = metadata.metadata().as_ref().and_then(|entries| entries.get("epgt"));
    let description = description
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or(PolicyProblem::NoDescription)?;
    Ok((file, description))
}

/// The most bytes of a policy file; the networks of a longer one would not have been trained.
const MOST_BYTES: u64 = 8_000_000_000;

/// Reads a policy file of one of the program's own tasks.
pub fn read(path: &Path) -> Result<Policy, PolicyError> {
    read_in(path, &Registry::builtin())
}

/// Reads a policy file of any task that the registry holds.
pub fn read_in(path: &Path, registry: &Registry) -> Result<Policy, PolicyError> {
    let unreadable = |reason: String| {
        let path = path.into();
        ArtifactError::Unreadable { path, reason }
    };
    let about = std::fs::metadata(path).map_err(|error| unreadable(reason(&error)))?;
    if !about.is_file() {
        return Err(unreadable("it is not a file".to_string()).into());
    }
    if about.len() > MOST_BYTES {
        let reason = format!("its {} bytes are more than any policy has", about.len());
        return Err(unreadable(reason).into());
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(reason(&error)))?;
    let path = path.to_path_buf();
    decode(&bytes, registry).map_err(|refusal| match refusal {
        Refusal::NotAPolicy(problem) => PolicyError::NotAPolicy {
            path,
            problem: Box::new(problem),
        },
        Refusal::Task(error) => PolicyError::Task { path, error },
    })
}

/// Why bytes cannot be used.
#[derive(Debug)]
enum Refusal {
    /// They are not what this program writes.
    NotAPolicy(PolicyProblem),
    /// Their task cannot be made here.
    Task(EnvError),
}

impl<E: Into<PolicyProblem>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::NotAPolicy(error.into())
    }
}

fn decode(bytes: &[u8], registry: &Registry) -> Result<Policy, Refusal> {
    let (file, description) = parts(bytes)?;
    if description.format > FORMAT {
        return Err(PolicyProblem::Format(description.format).into());
    }
    let digest = digest(bytes)?;
    let task = registry
        .task(&description.task)
        .and_then(|task| task.with(description.env))
        .map_err(Refusal::Task)?;
    let env = task.make().map_err(Refusal::Task)?;
    let mut settings = PolicySettings {
        hidden: description.hidden,
        value_hidden: description.value_hidden,
        shared: description.shared,
        squash: description.squash,
        ..PolicySettings::default()
    };
    if let Some(image) = description.image {
        settings.conv_channels = image.conv_channels;
        settings.conv_kernels = image.conv_kernels;
        settings.conv_strides = image.conv_strides;
        settings.image_hidden = image.image_hidden;
    }
    settings.assign("activation", &description.activation)?;
    if let Some(unit) = description.action_unit {
        settings.assign("action_unit", &unit)?;
    }
    settings.validate()?;
    settings.validate_for(&task)?;
    let shape = RowShape::from(env.observation_space());
    let actions: &Space = env.action_space();
    // What the header describes is made only where the file is long enough to hold it.
    let weights = settings.size(shape, actions.size()).weights;
    if weights > (bytes.len() / size_of::<f32>()) as f64 {
        return Err(PolicyProblem::MoreThanItHolds { weights }.into());
    }
    let mut networks = ActorCritic::new(&settings, shape, actions, &mut Pcg64::from_seed(0));
    let shapes = networks.params.shapes().to_vec();
    for shape in &shapes {
        let tensor = file
            .tensor(&shape.name)
            .map_err(|_| PolicyProblem::NoTensor(shape.name.clone()))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != [shape.rows, shape.cols] {
            return Err(PolicyProblem::OtherShape(shape.name.clone()).into());
        }
        let into = &mut networks.params.values_mut()[shape.offset..][..shape.rows * shape.cols];
        let (numbers, _) = tensor.data().as_chunks::<4>();
        into.iter_mut()
            .zip(numbers)
            .for_each(|(x, bytes)| *x = f32::from_le_bytes(*bytes));
    }
    let statistics = |name: &str, numbers: usize| -> Result<Vec<f64>, PolicyProblem> {
        let tensor = file
            .tensor(name)
            .map_err(|_| PolicyProblem::NoTensor(name.to_string()))?;
        if tensor.dtype() != Dtype::F64 || tensor.shape() != [numbers] {
            return Err(PolicyProblem::OtherShape(name.to_string()));
        }
        let (numbers, _) = tensor.data().as_chunks::<8>();
        Ok(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    };
    let mean = statistics("normalizer.observation_mean", shape.numbers())?;
    let variance = statistics("normalizer.observation_variance", shape.numbers())?;
    let return_variance = statistics("normalizer.return_variance", 1)?;
    let normalizer = Normalizer::frozen(description.normalize_observations, &mean, &variance);
    Ok(Policy {
        task,
        networks,
        normalizer,
        settings,
        return_variance: return_variance[0],
        digest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_pg::HiddenActivation;

    fn pendulum() -> TaskSpec {
        epgt_envs::find("Pendulum-v1").unwrap().with([("g", "1.5")]).unwrap()
    }

    fn small() -> PolicySettings {
        PolicySettings {
            hidden: vec![8],
            ..PolicySettings::default()
        }
    }

    fn trained(settings: &PolicySettings) -> (ActorCritic, Normalizer) {
        let env = pendulum().make().unwrap();
        let mut networks = ActorCritic::new(settings, 3, env.action_space(), &mut Pcg64::from_seed(7));
        networks
            .params
            .values_mut()
            .iter_mut()
            .for_each(|x| *x = 3.0 * *x + 0.1);
        let mut normalizer = Normalizer::new(3, 2, true, true, 0.99);
        normalizer.observe(&mut [1.0, 2.0, 3.0, 4.0, -5.0, 6.0]);
        (networks, normalizer)
    }

    /// The action and the value of one observation.
    fn answer(networks: &mut ActorCritic, normalizer: &Normalizer) -> [f32; 2] {
        let (mut row, mut action, mut value) = ([0.3, -0.2, 4.0], [0.0], [0.0]);
        normalizer.apply(&mut row);
        networks.act_greedy(&row, 1, &mut action);
        networks.values_of(&row, 1, &mut value);
        [action[0], value[0]]
    }

    #[test]
    fn a_policy_of_any_shape_read_back_acts_the_same() {
        let mut answers = Vec::new();
        use ActionUnit::{Range, Task};
        for (value_hidden, shared, squash, action_unit, activation) in [
            (None, false, false, Task, HiddenActivation::Tanh),
            (None, false, false, Range, HiddenActivation::Tanh),
            (None, false, true, Task, HiddenActivation::Tanh),
            (Some(vec![5, 4]), false, false, Task, HiddenActivation::Elu),
            (Some(vec![]), false, true, Task, HiddenActivation::Relu),
            (None, true, false, Task, HiddenActivation::LeakyRelu),
            (None, true, true, Task, HiddenActivation::Elu),
        ] {
            let settings = PolicySettings {
                value_hidden,
                shared,
                squash,
                action_unit,
                activation,
                ..small()
            };
            let (mut networks, normalizer) = trained(&settings);
            let bytes = encode(&pendulum(), &settings, &networks, &normalizer, true).unwrap();
            let mut policy = decode(&bytes.bytes, &Registry::new()).unwrap();
            assert_eq!(policy.digest.as_ref(), Some(&bytes.digest));
            assert_eq!(policy.settings, settings);
            assert_eq!(policy.return_variance, normalizer.return_variance());
            assert_eq!(policy.task.label(), "Pendulum-v1 (g = 1.5)");
            let expected = answer(&mut networks, &normalizer);
            assert_eq!(answer(&mut policy.networks, &policy.normalizer), expected);
            let again = encode(&pendulum(), &settings, &policy.networks, &normalizer, true).unwrap();
            assert_eq!(again, bytes);
            assert!(!answers.contains(&expected), "every shape gives another answer");
            answers.push(expected);
        }
    }

    #[test]
    fn a_file_of_format_1_is_read_as_it_was_meant() {
        // Trained by the version before format 2; the numbers are NumPy's for the file's tensors.
        let mut policy = decode(
            include_bytes!("../tests/data/policy_format_1.safetensors"),
            &Registry::new(),
        )
        .unwrap();
        let [action, value] = answer(&mut policy.networks, &policy.normalizer);
        assert!((action + 0.002_064_07).abs() < 1e-6, "{action}");
        assert!((value + 0.588_354_8).abs() < 1e-6, "{value}");
    }

    #[test]
    fn damaged_and_foreign_files_are_refused_by_reason() {
        let (networks, normalizer) = trained(&small());
        let encode = |task: &TaskSpec, settings| encode(task, &settings, &networks, &normalizer, true).unwrap().bytes;
        let reason = |bytes: &[u8]| match decode(bytes, &Registry::new()).err() {
            Some(Refusal::NotAPolicy(problem)) => problem.to_string(),
            other => panic!("{other:?}"),
        };
        let bytes = encode(&pendulum(), small());
        assert!(reason(&bytes[..bytes.len() / 2]).contains("damaged"));
        assert!(reason(b"not a policy").contains("damaged"));
        assert!(reason(&encode(&epgt_envs::find("CartPole-v1").unwrap(), small())).contains("another shape"));
        let foreign = safetensors::serialize(Vec::<(&str, TensorView<'_>)>::new(), None).unwrap();
        assert!(reason(&foreign).contains("lacks the description"));
        let shared = PolicySettings {
            shared: true,
            ..small()
        };
        assert!(reason(&encode(&pendulum(), shared)).contains("lacks the tensor trunk.0.weight"));
        let squash = PolicySettings {
            squash: true,
            ..small()
        };
        assert!(reason(&encode(&epgt_envs::find("CartPole-v1").unwrap(), squash)).contains("finite bounds"));
        // Sizes that only the header claims are never made.
        for hidden in [vec![1 << 32, 32], vec![usize::MAX; 3]] {
            let claimed = PolicySettings { hidden, ..small() };
            let error = reason(&encode(&pendulum(), claimed));
            assert!(error.contains("more than it holds"), "{error}");
        }
        let deep = PolicySettings {
            hidden: vec![1; 100_000],
            ..small()
        };
        assert!(reason(&encode(&pendulum(), deep)).contains("100000 layers"));
        let image = |change: fn(&mut PolicySettings)| {
            let mut settings = small();
            change(&mut settings);
            reason(&encode(&epgt_envs::find("PixelCatch-v0").unwrap(), settings))
        };
        assert!(image(|settings| settings.conv_channels = vec![1 << 40, 64, 32]).contains("more than it holds"));
        assert!(image(|settings| settings.image_hidden = vec![1 << 40]).contains("more than it holds"));
        assert!(image(|settings| settings.conv_kernels = vec![usize::MAX, 4, 3]).contains("not all windows fit"));
        let text = r#""format\":2"#.as_bytes();
        let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
        let mut newer = bytes.clone();
        newer[at + text.len() - 1] = b'5';
        assert_eq!(reason(&newer), "it has format 5, and this version reads up to 4");
    }

    #[test]
    fn a_policy_on_images_read_back_acts_the_same() {
        let task = epgt_envs::find("PixelCatch-v0").unwrap();
        let settings = PolicySettings {
            conv_channels: vec![4, 6],
            conv_kernels: vec![8, 4],
            conv_strides: vec![4, 2],
            image_hidden: vec![9, 7],
            ..PolicySettings::default()
        };
        let actions = Space::Discrete(3);
        let mut networks = ActorCritic::new(&settings, task.observed(), &actions, &mut Pcg64::from_seed(7));
        networks.params.values_mut().iter_mut().for_each(|x| *x += 0.1);
        let bytes = encode(
            &task,
            &settings,
            &networks,
            &Normalizer::new(0, 1, true, true, 0.99),
            true,
        )
        .unwrap();
        let mut policy = decode(&bytes.bytes, &Registry::new()).unwrap();
        let image: Vec<u8> = (0..task.observed().size()).map(|i| (i % 256) as u8).collect();
        let (mut expected, mut value) = ([0.0], [0.0]);
        networks.values_of(&image, 1, &mut expected);
        policy.networks.values_of(&image, 1, &mut value);
        assert_eq!(value, expected);
        assert_ne!(value, [0.0]);
    }
}
