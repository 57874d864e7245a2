//! `epgt setup`: gets a simulator that cannot be built in, and offers to where a task needs one.
//!
//! MuJoCo's library and the models of its tasks come from the packages `mujoco-core` and `gymnasium`, which pip
//! downloads. Only what is needed is unpacked, beside its place in the user's cache, and moved there when it is
//! complete. Atari is played by ale-py, in a virtual environment of its own there.

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use epgt_envs::atari::{ALE_VERSION, PACKAGES, environment};
use epgt_envs::mujoco::{GYMNASIUM_VERSION, Library, MUJOCO_VERSION, cache_directory};
use epgt_envs::{EnvError, TaskSpec};

use crate::Done;
use crate::args::{SetupArgs, Simulator};
use crate::{output, venv};

/// Takes MuJoCo's library, the models and the licences out of the wheels in the first directory into the second.
const UNPACK: &str = r#"
import glob, os, sys, zipfile
wheels, target = sys.argv[1:]
os.makedirs(os.path.join(target, "assets"))
for wheel in glob.glob(os.path.join(wheels, "*.whl")):
    package = os.path.basename(wheel).split("-")[0]
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            folder, base = os.path.split(name)
            if folder == "mujoco" and base.startswith("libmujoco"):
                path = base
            elif folder == "gymnasium/envs/mujoco/assets" and base.endswith(".xml"):
                path = os.path.join("assets", base)
            elif base == "LICENSE" and ".dist-info" in folder:
                path = "LICENSE." + package
            else:
                continue
            with open(os.path.join(target, path), "wb") as file:
                file.write(archive.read(name))
"#;

/// What they take on the disk, in megabytes.
const MUJOCO_MB: u32 = 10;
const ATARI_MB: u32 = 113;

/// Gets what the user named.
pub fn run(args: &SetupArgs) -> Result<Done, String> {
    match args.simulator {
        Simulator::Mujoco => mujoco(),
        Simulator::Atari => atari(),
    }
}

fn mujoco() -> Result<Done, String> {
    let directory = place("MuJoCo", cache_directory())?;
    if library_in(&directory).is_some_and(|library| Library::load(&library).is_ok()) {
        output::print(&format!(
            "MuJoCo {MUJOCO_VERSION} is already in {}\n",
            directory.display()
        ))?;
        return Ok(Done::Completely);
    }
    install(&directory)?;
    output::print(&format!("MuJoCo {MUJOCO_VERSION} is in {}\n", directory.display()))?;
    Ok(Done::Completely)
}

fn atari() -> Result<Done, String> {
    let directory = place("ale-py", environment())?;
    let already = venv::is_complete(&directory, &PACKAGES);
    if !already {
        install_ale(&directory)?;
    }
    let already = if already { "already " } else { "" };
    output::print(&format!(
        "ale-py {ALE_VERSION} is {already}in {}\n",
        directory.display()
    ))?;
    Ok(Done::Completely)
}

/// Makes the virtual environment in which Atari is played.
fn install_ale(directory: &Path) -> Result<(), String> {
    output::note(&format!("Downloading ale-py {ALE_VERSION} with its games ..."));
    venv::make(&python_name(), directory, &PACKAGES).map_err(|reason| {
        format!(
            "ale-py could not be installed into {}: {reason}; repair that, or name a Python that has it with --python or EPGT_PYTHON",
            directory.display()
        )
    })
}

/// Makes sure that a task's simulator is there: offers to get a missing one at a terminal, gets it unasked with `yes`,
/// and otherwise says how.
pub fn ensure(task: &TaskSpec, yes: bool) -> Result<(), String> {
    let sentence = match task.make() {
        Ok(_) => return Ok(()),
        Err(EnvError::MissingSimulator(sentence)) => sentence,
        Err(error) => return Err(error.to_string()),
    };
    let (what, directory) = match task.is_atari() {
        true => (format!("ale-py {ALE_VERSION}"), place("ale-py", environment())?),
        false => (format!("MuJoCo {MUJOCO_VERSION}"), place("MuJoCo", cache_directory())?),
    };
    let megabytes = if task.is_atari() { ATARI_MB } else { MUJOCO_MB };
    if !yes && !agreed(&task.id, &what, megabytes, &directory) {
        return Err(sentence);
    }
    match task.is_atari() {
        true => install_ale(&directory)?,
        false => install(&directory)?,
    }
    task.make().map(drop).map_err(|error| error.to_string())
}

/// Asks at the terminal; elsewhere the answer is no.
fn agreed(id: &str, what: &str, megabytes: u32, directory: &Path) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return false;
    }
    output::note(&format!(
        "{id} needs {what}, which is not on this machine. Get it now ({megabytes} MB, into {})? [y/N]",
        directory.display()
    ));
    let mut answer = String::new();
    let heard = std::io::stdin().lock().read_line(&mut answer).is_ok();
    heard && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Where something goes, if the user has a place for it.
fn place(what: &str, directory: Option<PathBuf>) -> Result<PathBuf, String> {
    directory.ok_or_else(|| {
        format!("there is no place to put {what}: set HOME, or XDG_CACHE_HOME to a directory for caches")
    })
}

fn library_in(directory: &Path) -> Option<PathBuf> {
    let names = [
        format!("libmujoco.so.{MUJOCO_VERSION}"),
        format!("libmujoco.{MUJOCO_VERSION}.dylib"),
    ];
    names
        .iter()
        .map(|name| directory.join(name))
        .find(|path| path.is_file())
}

/// A directory that goes away when the work is done or has failed.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Downloads, unpacks, tries the library out, and moves everything to its place at once.
fn install(directory: &Path) -> Result<(), String> {
    let cannot = |path: &Path, error: &std::io::Error| {
        format!("cannot put MuJoCo into {}: {}", path.display(), output::reason(error))
    };
    let scratch = Scratch(directory.with_file_name(format!("mujoco.partial-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).map_err(|error| cannot(&scratch.0, &error))?;
    let (wheels, unpacked) = (scratch.0.join("wheels"), scratch.0.join("new"));
    output::note(&format!("Downloading MuJoCo {MUJOCO_VERSION} and its models ..."));
    let packages = [
        format!("mujoco-core=={MUJOCO_VERSION}"),
        format!("gymnasium=={GYMNASIUM_VERSION}"),
    ];
    // The library is the same for every Python, so the wheel is that of one version, whichever runs pip.
    let mut download: Vec<OsString> = "-m pip download --quiet --disable-pip-version-check --no-deps \
        --only-binary=:all: --python-version=3.11 --dest"
        .split_whitespace()
        .map(OsString::from)
        .collect();
    download.push(wheels.clone().into());
    download.extend(packages.map(OsString::from));
    python(&download, "download MuJoCo with pip")?;
    let unpack = ["-c".into(), UNPACK.into(), wheels.into(), unpacked.clone().into()];
    python(&unpack, "unpack MuJoCo")?;
    let library = library_in(&unpacked).ok_or("the package mujoco-core holds no library for this machine")?;
    Library::load(&library).map_err(|error| error.to_string())?;
    if directory.exists() {
        // What is there does not work, or it would not have been asked for.
        std::fs::rename(directory, scratch.0.join("old")).map_err(|error| cannot(directory, &error))?;
    }
    std::fs::rename(&unpacked, directory).map_err(|error| cannot(directory, &error))
}

/// The Python that downloads and installs.
fn python_name() -> OsString {
    let name = std::env::var_os("EPGT_PYTHON").filter(|name| !name.is_empty());
    name.unwrap_or("python3".into())
}

/// Runs the user's Python; a failure is told with the last thing it said.
fn python(arguments: &[OsString], what: &str) -> Result<(), String> {
    let name = python_name();
    let output = Command::new(&name)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            format!(
                "cannot {what}, because {} does not run ({}); install Python 3 with pip, or name it in EPGT_PYTHON",
                name.display(),
                output::reason(&error)
            )
        })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    Err(format!("cannot {what}: {}", last.unwrap_or("it failed without a word")))
}
