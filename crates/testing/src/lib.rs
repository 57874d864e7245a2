//! Marks tests that need more than Rust: where it is missing they are reported as ignored, with the reason, instead of
//! as passed.
//!
//! ```text
//! use epgt_testing::needs;
//!
//! #[needs(python)]
//! #[test]
//! fn python_adds() {}
//! ```
//!
//! What is there is looked for when a test is compiled; it is compiled again when one of the variables changes that are
//! asked. What is ignored can be run all the same: `cargo test -- --include-ignored`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use proc_macro::TokenStream;

/// The variables that decide; a change of one compiles the tests again.
const VARIABLES: [&str; 5] = [
    "EPGT_PYTHON",
    "PYTHONPATH",
    "EPGT_MUJOCO",
    "XDG_CACHE_HOME",
    "EPGT_BROWSER",
];

/// Ignores a test where something is missing that it needs; stands above `#[test]`.
///
/// | `#[needs(...)]` | is there if |
/// | --- | --- |
/// | `python` | `EPGT_PYTHON` names a Python, which then has what `tools/requirements.txt` lists |
/// | `ale_py` | that Python has ale-py |
/// | `stable_baselines3` | that Python has Stable-Baselines3, ale-py and OpenCV |
/// | `mujoco` | `EPGT_MUJOCO` names MuJoCo, or `epgt setup mujoco` has put it into the user's cache, or that Python or `python3` has it |
/// | `gpu` | there is an NVIDIA GPU |
/// | `browser` | `EPGT_BROWSER` names one, and not `none`, or there is one of the names that Chromium has |
#[proc_macro_attribute]
pub fn needs(what: TokenStream, test: TokenStream) -> TokenStream {
    let missing = match what.to_string().as_str() {
        "python" => python()
            .is_none()
            .then_some("Python: EPGT_PYTHON names none; tools/test has one"),
        "ale_py" => (!has(python(), "ale_py")).then_some("a Python with ale-py, named by EPGT_PYTHON"),
        "stable_baselines3" => (!has(python(), "stable_baselines3, ale_py, cv2"))
            .then_some("a Python with Stable-Baselines3, ale-py and OpenCV, named by EPGT_PYTHON"),
        "mujoco" => (!has_mujoco()).then_some("MuJoCo: get it with `epgt setup mujoco`"),
        "gpu" => (!has_gpu()).then_some("an NVIDIA GPU"),
        "browser" => (!has_browser()).then_some("a browser: chromium, or one that EPGT_BROWSER names"),
        other => return error(&format!("nothing is known of '{other}'")),
    };
    if !test.to_string().contains("test]") {
        return error("#[needs] stands above #[test]");
    }
    let ignore = missing.map(|what| format!("#[ignore = {:?}]", format!("needs {what}")));
    let watched = VARIABLES.map(|name| format!("option_env!({name:?})")).join(", ");
    let mut output: TokenStream = format!("const _: [Option<&str>; {}] = [{watched}];", VARIABLES.len())
        .parse()
        .expect("a constant");
    output.extend(ignore.unwrap_or_default().parse::<TokenStream>());
    output.extend(test);
    output
}

fn error(text: &str) -> TokenStream {
    format!("compile_error!({text:?});").parse().expect("a macro")
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn python() -> Option<String> {
    variable("EPGT_PYTHON")
}

/// Whether a Python has these modules.
fn has(python: Option<String>, modules: &str) -> bool {
    let Some(python) = python else { return false };
    let mut command = Command::new(python);
    command
        .args(["-c", &format!("import {modules}")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn has_mujoco() -> bool {
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
    variable("EPGT_MUJOCO").is_some()
        || cache.is_some_and(|cache| cache.join("epgt/mujoco-4.0.0").is_dir())
        || has(python().or_else(|| Some("python3".into())), "mujoco, gymnasium")
}

/// Linux shows the GPU as a device; below Windows it is another one.
fn has_gpu() -> bool {
    ["/dev/nvidiactl", "/dev/dxg"]
        .iter()
        .any(|device| std::path::Path::new(device).exists())
}

fn has_browser() -> bool {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&variable("PATH").unwrap_or_default()).collect();
    match variable("EPGT_BROWSER") {
        Some(name) => name != "none",
        None => folders
            .iter()
            .any(|folder| names.iter().any(|name| folder.join(name).is_file())),
    }
}
