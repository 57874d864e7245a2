//! A task whose simulator is missing says how to get it, and getting it works, or fails in one sentence.

mod common;

use common::{Ended, Place};
use epgt_testing::needs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A Python that has no packages, and whose pip "downloads" what the real one has installed.
const PYTHON: &str = r#"#!/usr/bin/env bash
case "$2" in *find_spec*) exit 1 ;; esac
if [ "$1 $2" = "-m pip" ]; then
    while [ "$1" != --dest ]; do shift; done
    exec "$REAL_PYTHON" - "$2" <<'END'
import glob, importlib.util, os, sys, zipfile
def home(name):
    return importlib.util.find_spec(name).submodule_search_locations[0]
def pack(wheel, folder, files):
    with zipfile.ZipFile(os.path.join(sys.argv[1], wheel), "w") as archive:
        archive.writestr("x.dist-info/LICENSE", "terms")
        archive.writestr(folder + "/not_needed.py", "")
        for file in files:
            archive.write(file, folder + "/" + os.path.basename(file))
os.makedirs(sys.argv[1])
pack("mujoco_core-4.0.0-any.whl", "mujoco", glob.glob(home("mujoco") + "/libmujoco*"))
assets = "/envs/mujoco/assets"
pack("gymnasium-1.4.0-any.whl", "gymnasium" + assets, glob.glob(home("gymnasium") + assets + "/*.xml"))
END
fi
exec "$REAL_PYTHON" "$@"
"#;

/// The program in a place whose cache is empty, with this Python.
fn command(place: &Place, python: &str, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command
        .env("XDG_CACHE_HOME", place.path("cache"))
        .env("EPGT_PYTHON", python)
        .env_remove("EPGT_MUJOCO")
        .env_remove("EPGT_MUJOCO_MODELS");
    command
}

fn run(mut command: Command) -> Ended {
    Ended::of(command.output().expect("the program starts"))
}

#[test]
fn a_task_without_its_simulator_says_how_to_get_it() {
    let place = Place::new();
    let ended = run(command(
        &place,
        "no-python",
        &["train", "HalfCheetah-v5", "--out", "run"],
    ));
    ended.is_refused_with(&["this task needs MuJoCo", "get it with `epgt setup mujoco`"]);
    assert!(!place.path("run").exists());
    let listed = run(command(&place, "no-python", &["tasks", "HalfCheetah-v5"]));
    assert_eq!(listed.code, Some(0), "{listed:?}");
}

#[test]
fn a_python_that_does_not_work_is_told() {
    let place = Place::new();
    for (python, part) in [
        ("no-python", "no-python does not run"),
        ("false", "cannot download MuJoCo with pip"),
    ] {
        let ended = run(command(&place, python, &["setup", "mujoco"]));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(part), "{ended:?}");
    }
    let left = std::fs::read_dir(place.path("cache/epgt")).expect("the cache").count();
    assert_eq!(left, 0, "what was begun is removed");
}

#[needs(python)]
#[test]
fn a_simulator_that_was_set_up_is_used() {
    let real = std::env::var("EPGT_PYTHON").expect("EPGT_PYTHON names a Python");
    let place = Place::new();
    let python = place.write("python", PYTHON);
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).expect("an executable");
    let python = python.to_str().expect("a plain name");
    let run = |python: &str, arguments: &[&str]| {
        let mut command = command(&place, python, arguments);
        command.env("REAL_PYTHON", &real);
        run(command)
    };
    let trained = run(
        python,
        &[
            "train",
            "Hopper-v5",
            "--yes",
            "--steps",
            "4096",
            "--quiet",
            "--out",
            "hopper",
        ],
    );
    assert_eq!(trained.code, Some(0), "{trained:?}");
    let cache = std::fs::read_dir(place.path("cache/epgt")).expect("the cache");
    let names: Vec<_> = cache.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["mujoco-4.0.0"]);
    assert!(!place.path("cache/epgt/mujoco-4.0.0/not_needed.py").exists());
    let again = run("no-python", &["setup", "mujoco"]);
    assert!(again.stdout.starts_with("MuJoCo 4.0.0 is already in "), "{again:?}");
    // A file that was cut short does not load, and is replaced as a whole.
    let library = place.path("cache/epgt/mujoco-4.0.0/libmujoco.so.4.0.0");
    std::fs::write(&library, "cut").expect("a file");
    run("no-python", &["train", "Hopper-v5", "--out", "broken"]).is_refused_with(&["cannot load", "epgt setup mujoco"]);
    let repaired = run(python, &["setup", "mujoco"]);
    assert!(repaired.stdout.starts_with("MuJoCo 4.0.0 is in "), "{repaired:?}");
    let resumed = run("no-python", &["eval", "hopper", "--episodes", "1"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}
