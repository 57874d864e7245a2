//! The user's cache, into which the program puts simulators.

use std::ffi::OsString;
use std::path::PathBuf;

/// The program's directory in the user's cache, `$XDG_CACHE_HOME/epgt` or `~/.cache/epgt`; `None` where the user has no
/// home. The environment's variables are asked through `variable`.
pub(crate) fn directory(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let base = match variable("XDG_CACHE_HOME") {
        Some(directory) => PathBuf::from(directory),
        None => PathBuf::from(variable("HOME")?).join(".cache"),
    };
    Some(base.join("epgt"))
}

/// A variable of the environment, where it is set and not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
