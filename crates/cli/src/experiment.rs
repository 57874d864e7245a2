//! placeholder

use crate::Done;
use crate::args::ExperimentArgs;

/// placeholder
pub fn run(_args: &ExperimentArgs) -> Result<Done, String> {
    Ok(Done::Completely)
}
