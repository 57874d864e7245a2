//! placeholder

use crate::Done;
use crate::args::ExplainArgs;

/// placeholder
pub fn run(_args: &ExplainArgs) -> Result<Done, String> {
    Ok(Done::Completely)
}
