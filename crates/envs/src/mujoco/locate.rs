//! Where MuJoCo's library and the models of the tasks are found.
//!
//! Looked for, in this order:
//! 1. the directory that `EPGT_MUJOCO` names, with the models in `EPGT_MUJOCO_MODELS` or in its own `assets`;
//! 2. the user's cache, which `epgt setup mujoco` fills: `$XDG_CACHE_HOME/epgt/mujoco-4.0.0`, or below `~/.cache`;
//! 3. the packages `mujoco` and `gymnasium` of the Python that `EPGT_PYTHON` names, or of `python3`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use super::library::Library;
use crate::EnvError;
use crate::cache::{self, variable};

/// The version of MuJoCo that the tasks run on, as its package is named.
pub const MUJOCO_VERSION: &str = "4.0.0";
/// The version of Gymnasium whose models and definitions the tasks follow.
pub const GYMNASIUM_VERSION: &str = "1.4.0";

/// What the tasks need: the library, and the directory of their models.
#[derive(Clone)]
pub struct Installation {
    /// MuJoCo.
    pub library: Arc<Library>,
    /// Holds `half_cheetah.xml` and the others.
    pub models: PathBuf,
}

static FOUND: Mutex<Option<Installation>> = Mutex::new(None);

/// The installation on this machine; looked for once, then remembered.
///
/// ```
/// match epgt_envs::mujoco::installation() {
///     Ok(found) => println!("MuJoCo is {}", found.library.path().display()),
///     Err(error) => println!("{error}"),
/// }
/// ```
pub fn installation() -> Result<Installation, EnvError> {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(installation) = &*found {
        return Ok(installation.clone());
    }
    let place = locate(variable)?;
    let installation = Installation {
        library: Library::load(&place.library)?,
        models: place.models,
    };
    *found = Some(installation.clone());
    Ok(installation)
}

/// The directory that `epgt setup mujoco` fills; `None` where the user has no home.
pub fn cache_directory() -> Option<PathBuf> {
    cached(&variable)
}

fn cached(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    Some(cache::directory(variable)?.join(format!("mujoco-{MUJOCO_VERSION}")))
}

#[derive(Debug, PartialEq)]
struct Place {
    library: PathBuf,
    models: PathBuf,
}

/// Looks for library and models in the order above; the environment's variables are asked through `variable`.
fn locate(variable: impl Fn(&str) -> Option<OsString>) -> Result<Place, EnvError> {
    let named = variable("EPGT_MUJOCO").map(PathBuf::from);
    let cached = cached(&variable);
    // Starting Python takes a moment, so it is asked last, and once.
    let mut packages = None;
    let mut ask = |index: usize| -> Option<PathBuf> {
        packages.get_or_insert_with(|| packages_of(&variable("EPGT_PYTHON").unwrap_or("python3".into())))[index].clone()
    };
    let library = match &named {
        Some(directory) => library_in(directory).ok_or_else(|| {
            EnvError::Simulator(format!(
                "EPGT_MUJOCO is {}, which holds no MuJoCo library (libmujoco.so.{MUJOCO_VERSION}); \
                 correct it, or unset it and run `epgt setup mujoco`",
                directory.display()
            ))
        })?,
        None => cached
            .as_deref()
            .and_then(library_in)
            .or_else(|| library_in(&ask(0)?))
            .ok_or_else(|| missing("MuJoCo"))?,
    };
    let models = match variable("EPGT_MUJOCO_MODELS").map(PathBuf::from) {
        Some(directory) if has_models(&directory) => directory,
        Some(directory) => {
            return Err(EnvError::Simulator(format!(
                "EPGT_MUJOCO_MODELS is {}, which holds no half_cheetah.xml; name the directory of Gymnasium's MuJoCo models",
                directory.display()
            )));
        }
        None => [named, cached]
            .into_iter()
            .flatten()
            .map(|directory| directory.join("assets"))
            .find(|directory| has_models(directory))
            .or_else(|| Some(ask(1)?.join("envs/mujoco/assets")).filter(|directory| has_models(directory)))
            .ok_or_else(|| missing("the models of the MuJoCo tasks"))?,
    };
    Ok(Place { library, models })
}

fn missing(what: &str) -> EnvError {
    EnvError::MissingSimulator(format!(
        "this task needs {what}, which is not on this machine; get it with `epgt setup mujoco`"
    ))
}

fn has_models(directory: &Path) -> bool {
    directory.join("half_cheetah.xml").is_file()
}

/// MuJoCo's shared library in a directory: the one of the known version, or else any, which will be refused by its
/// name.
fn library_in(directory: &Path) -> Option<PathBuf> {
    let exact = directory.join(format!("libmujoco.so.{MUJOCO_VERSION}"));
    if exact.is_file() {
        return Some(exact);
    }
    let mut others: Vec<PathBuf> = std::fs::read_dir(directory)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libmujoco") && (name.contains(".so") || name.ends_with(".dylib"))
        })
        .collect();
    others.sort();
    others.pop()
}

/// Where a Python keeps its packages `mujoco` and `gymnasium`; they are found, not imported.
fn packages_of(python: &OsString) -> [Option<PathBuf>; 2] {
    const SCRIPT: &str = "import importlib.util as u\n\
        for name in ('mujoco', 'gymnasium'):\n    \
        spec = u.find_spec(name)\n    \
        print(spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else '')";
    let answer = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = match answer {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        _ => return [None, None],
    };
    let mut lines = text
        .lines()
        .map(|line| Some(PathBuf::from(line)).filter(|path| path.is_absolute()));
    [lines.next().flatten(), lines.next().flatten()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(variables: &[(&str, &str)]) -> String {
        let find = |name: &str| {
            let value = variables.iter().find(|variable| variable.0 == name);
            value.map(|variable| OsString::from(variable.1))
        };
        locate(find).expect_err("nothing is there").to_string()
    }

    #[test]
    fn a_missing_library_is_told_with_how_to_get_it() {
        let text = located(&[("HOME", "/nowhere"), ("EPGT_PYTHON", "no-such-python")]);
        assert_eq!(
            text,
            "this task needs MuJoCo, which is not on this machine; get it with `epgt setup mujoco`"
        );
    }

    #[test]
    fn a_directory_without_the_library_is_named() {
        let text = located(&[("EPGT_MUJOCO", "/nowhere/at/all")]);
        assert!(
            text.starts_with("EPGT_MUJOCO is /nowhere/at/all, which holds no MuJoCo library"),
            "{text}"
        );
    }

    #[test]
    fn the_cache_is_where_the_user_keeps_caches() {
        let variable = |name: &str| (name == "HOME").then(|| OsString::from("/home/me"));
        assert_eq!(cached(&variable), Some("/home/me/.cache/epgt/mujoco-4.0.0".into()));
        let variable = |name: &str| (name == "XDG_CACHE_HOME").then(|| OsString::from("/cache"));
        assert_eq!(cached(&variable), Some("/cache/epgt/mujoco-4.0.0".into()));
    }
}
