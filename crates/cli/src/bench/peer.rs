//! Stable-Baselines3 as a peer: its A2C or PPO with our settings, in a virtual environment that is made at the first
//! use.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use epgt_train::Config;
use serde::Deserialize;
use serde_json::json;

use super::Cost;
use crate::{output, venv};

/// How the peer is called.
pub const NAME: &str = "sb3";

/// What is installed, so that numbers can be compared between machines and months.
const PACKAGES: [&str; 10] = [
    "stable-baselines3==2.9.2",
    "gymnasium==1.4.0",
    "torch==2.15.0",
    "mujoco==4.0.0",
    "imageio==2.38.1",
    "packaging==26.3",
    "box2d==2.3.10",
    "pygame-ce==2.5.8",
    "ale-py==0.12.1",
    "opencv-python-headless==5.0.0.93",
];

/// Trains the peer and prints what it cost.
const SCRIPT: &str = include_str!("../bench_sb3.py");

/// Names an interpreter that has the packages already.
const INTERPRETER: &str = "EPGT_PYTHON";

/// An interpreter that can train the peer.
pub struct Peer {
    /// Environment steps of a measurement.
    pub steps: u64,
    /// Its versions, in words.
    pub versions: String,
    python: PathBuf,
}

#[derive(Deserialize)]
struct Versions {
    versions: String,
}

impl Peer {
    /// The peer of this name, installed where it is not yet.
    pub fn find(name: &str, steps: u64) -> Result<Self, String> {
        if name != NAME {
            return Err(epgt_settings::unknown("peer", name, &[NAME]));
        }
        let python = interpreter()?;
        let mut command = Command::new(&python);
        command.args(["-c", SCRIPT, "versions"]);
        let failure = format!("{} cannot run Stable-Baselines3", python.display());
        let Versions { versions } = super::answer(&mut command, &failure)?;
        Ok(Self {
            steps,
            versions,
            python,
        })
    }

    /// Trains with the settings of a configuration for so many steps after a first rollout and update, which are not
    /// counted.
    pub fn measure(&self, config: &Config, steps: u64) -> Result<Cost, String> {
        let (run, policy) = (&config.run, &config.policy);
        let mut settings = json!({
            "algo": run.algo.name(),
            "task": run.task,
            "steps": steps,
            "n_envs": run.n_envs,
            "seed": run.seed,
            "normalize_observations": run.normalize_observations,
            "normalize_rewards": run.normalize_rewards,
            "hidden": policy.hidden,
            "activation": policy.activation.name(),
        });
        let task = config.task().map_err(output::told)?;
        settings["log_std_init"] = json!(policy.initial_log_std(task.action.len()));
        settings["options"] = json!(task.options.changed());
        if task.image.is_some() {
            settings["atari"] = json!(task.is_atari());
            settings["sign_rewards"] = json!(run.sign_rewards);
            settings["convolutions"] = json!([policy.conv_channels, policy.conv_kernels, policy.conv_strides]);
            settings["image_hidden"] = json!(policy.image_hidden);
            settings["device"] = json!(run.device.name());
        }
        // Numbers, words and truth values are written in TOML as in JSON.
        for entry in config.method.entries() {
            settings[entry.key] = serde_json::from_str(&entry.value).unwrap_or_default();
        }
        let mut command = Command::new(&self.python);
        command.args(["-c", SCRIPT, "train", &settings.to_string()]);
        super::answer(&mut command, "measuring Stable-Baselines3 failed")
    }
}

/// The Python that the variable names, or the peer's own, which is installed where it is not yet.
pub fn interpreter() -> Result<PathBuf, String> {
    match std::env::var_os(INTERPRETER).filter(|path| !path.is_empty()) {
        Some(path) => Ok(PathBuf::from(path)),
        None => installed(&cache_directory()?.join("epgt").join("sb3-venv")),
    }
}

/// Where programs may keep what they can get again.
fn cache_directory() -> Result<PathBuf, String> {
    let named = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    named("XDG_CACHE_HOME")
        .or_else(|| named("HOME").map(|home| home.join(".cache")))
        .ok_or_else(|| {
            format!(
                "there is no place to install the peer: set HOME, or set {INTERPRETER} to a Python that has \
                 stable-baselines3"
            )
        })
}

/// The interpreter of the virtual environment, which is made if it is missing, unfinished or of other versions.
fn installed(directory: &Path) -> Result<PathBuf, String> {
    if venv::is_complete(directory, &PACKAGES) {
        return Ok(venv::interpreter(directory));
    }
    output::note(&format!(
        "Installing {} into {} once; this can take minutes and some gigabytes.",
        PACKAGES.join(", "),
        directory.display()
    ));
    let failure = |reason: &str| {
        format!(
            "Stable-Baselines3 could not be installed into {}: {reason}; repair that, or set {INTERPRETER} to a Python \
             that has it",
            directory.display()
        )
    };
    venv::make(OsStr::new("python3"), directory, &PACKAGES).map_err(|reason| failure(&reason))?;
    Ok(venv::interpreter(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_peer_is_refused_with_the_nearest_name() {
        let refusal = Peer::find("sb4", 1).err().unwrap();
        assert_eq!(refusal, "unknown peer 'sb4'; did you mean 'sb3'?");
    }
}
