//! What others build on the library: a crate outside of the workspace, and the hyper-agent alone.

use std::path::Path;
use std::process::Command;

/// The output of cargo, which must succeed.
fn cargo(arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root)
        // Where the workspace was built, much of it need not be built again.
        .env("CARGO_TARGET_DIR", target())
        .output()
        .expect("cargo runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The folder that this test was built in.
fn target() -> std::path::PathBuf {
    let test = std::env::current_exe().expect("a test knows its file");
    test.ancestors().nth(3).expect("target/debug/deps").to_path_buf()
}

#[test]
fn a_crate_outside_adds_an_environment_a_method_a_scheduler_and_a_hyper_reward_and_trains_with_each() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let manifest = "crates/epgt/tests/outside/Cargo.toml";
    // The same versions of others' crates as here.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(here.join("../../Cargo.lock"), here.join("tests/outside/Cargo.lock")).expect("a lock file");
    let runs = place.path().display().to_string();
    let told = cargo(&["run", "--quiet", "--offline", "--manifest-path", manifest, "--", &runs]);
    for part in [
        "environment: ",
        "method: ",
        "scheduler: ",
        "hyper-reward: ",
        "resumed: ",
        "population: ",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn the_hyper_agent_needs_neither_environments_nor_policy_gradients() {
    let tree = cargo(&[
        "tree",
        "--offline",
        "-p",
        "epgt-hyper",
        "--edges",
        "normal,build,dev",
        "--prefix",
        "none",
    ]);
    let own: Vec<&str> = tree.lines().filter(|line| line.starts_with("epgt")).collect();
    for unwanted in ["epgt-envs", "epgt-pg", "epgt-train"] {
        assert!(own.iter().all(|line| !line.starts_with(unwanted)), "{own:?}");
    }
    assert!(own.iter().any(|line| line.starts_with("epgt-nn")), "{own:?}");
}

#[test]
fn without_features_nothing_needs_a_c_compiler_or_python() {
    let tree = cargo(&[
        "tree",
        "--offline",
        "-p",
        "epgt",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ]);
    for unwanted in [
        "cc ",
        "cmake ",
        "wrapped2d ",
        "bindgen ",
        "pkg-config ",
        "pyo3",
        "epgt-cuda",
    ] {
        assert!(
            tree.lines().all(|line| !line.starts_with(unwanted)),
            "{unwanted} in {tree}"
        );
    }
}
