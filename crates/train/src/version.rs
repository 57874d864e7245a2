//! Which program this is: its version, the commit it was built from, and what was built in.

use std::sync::LazyLock;

/// The version of the program, such as `0.2.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that the program was built from: git's short hash, with `-modified` where the code that trains (this
/// crate and those that it uses) differed from it. `None` if it was built outside of the project's git checkout.
pub fn commit() -> Option<&'static str> {
    option_env!("EPGT_BUILD_COMMIT")
}

/// The optional features that were built in.
pub fn features() -> &'static [&'static str] {
    if cfg!(feature = "cuda") { &["cuda"] } else { &[] }
}

/// All of it in one line.
///
/// ```
/// let text = epgt_train::version::description();   // 0.2.0 (7db1e0f, cuda)
/// assert!(text.starts_with(epgt_train::version::VERSION));
/// ```
pub fn description() -> &'static str {
    static DESCRIPTION: LazyLock<String> = LazyLock::new(|| describe(commit(), features()));
    &DESCRIPTION
}

fn describe(commit: Option<&str>, features: &[&str]) -> String {
    let built: Vec<&str> = commit.into_iter().chain(features.iter().copied()).collect();
    if built.is_empty() {
        VERSION.to_owned()
    } else {
        format!("{VERSION} ({})", built.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        assert_eq!(
            describe(Some("7db1e0f"), &["cuda"]),
            format!("{VERSION} (7db1e0f, cuda)")
        );
        assert_eq!(describe(None, &["cuda"]), format!("{VERSION} (cuda)"));
        assert_eq!(describe(None, &[]), VERSION);
    }
}
