//! Tells the crate which commit it is built from, in the variable `EPGT_BUILD_COMMIT`, if it is built in the project's
//! own git checkout.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where this file is in the repository: elsewhere, the repository around it is somebody else's.
const THIS_FILE: &str = "crates/train/build.rs";

/// Crates that this one does not use: a change there leaves training as it is, and need not build this one again.
const ABOVE: [&str; 6] = ["cli", "epgt", "experiments", "python", "render", "report"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(commit) = commit() {
        println!("cargo::rustc-env=EPGT_BUILD_COMMIT={commit}");
    }
}

/// The commit's short hash, with "-modified" where the code that trains differs from it.
fn commit() -> Option<String> {
    if git(&["ls-files", "--full-name", "--error-unmatch", "build.rs"])? != THIS_FILE {
        return None;
    }
    // git's files that say which commit is checked out, which are elsewhere in a linked work tree.
    let branch = git(&["rev-parse", "--symbolic-full-name", "HEAD"])?;
    for name in ["HEAD", "packed-refs", "reftable", &branch] {
        let path = PathBuf::from(git(&["rev-parse", "--git-path", name])?);
        if path.exists() {
            watch(&path);
        } else if name == branch {
            // It is packed, and a file of its own will appear with the next commit. A path that is not there would be
            // built anew each time.
            path.ancestors().find(|folder| folder.exists()).map(watch);
        }
    }
    let sources = sources()?;
    sources.iter().for_each(|path| watch(path));
    let mut status = vec![
        "--no-optional-locks",
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
    ];
    status.extend(sources.iter().filter_map(|path| path.to_str()));
    let modified = if git(&status)?.is_empty() { "" } else { "-modified" };
    Some(format!("{}{modified}", git(&["rev-parse", "--short", "HEAD"])?))
}

/// The code of this crate and of those that it uses: a change there builds this crate again anyway.
fn sources() -> Option<Vec<PathBuf>> {
    let mut paths = vec![PathBuf::from("../../Cargo.toml"), PathBuf::from("../../Cargo.lock")];
    for entry in std::fs::read_dir("..").ok()?.flatten() {
        if !ABOVE.iter().any(|name| entry.file_name() == *name) {
            paths.extend([entry.path().join("Cargo.toml"), entry.path().join("src")]);
        }
    }
    paths.retain(|path| path.exists());
    Some(paths)
}

/// Runs the build script again when this changes.
fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

/// What git prints in this crate's directory; nothing where it fails or is not there.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
