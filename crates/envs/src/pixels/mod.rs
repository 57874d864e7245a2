//! The program's own small tasks whose observations are images: a check of image policies that takes seconds and needs
//! no game.

pub mod catch;

pub use catch::Catch;

use crate::TaskSpec;

/// The entries of the registry.
pub(crate) fn tasks() -> Vec<TaskSpec> {
    vec![catch::task()]
}
