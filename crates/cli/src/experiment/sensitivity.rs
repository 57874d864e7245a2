//! `epgt experiment sensitivity`: how much is lost by not tuning, around each default that an experiment varies.

use epgt_experiments::{report, sensitivity};

use super::open;
use crate::args::ReportArgs;
use crate::{Done, output};

/// Prints the tables.
pub fn run(args: &ReportArgs) -> Result<Done, String> {
    let (plan, out) = open(&args.place)?;
    let found = report::merged(&plan, &out, &args.merge).map_err(output::told)?;
    let measured = sensitivity::measure(&plan, &found)?;
    let text = "Normalised scores: 0 and 1 are the 5th and 95th percentile of all settings that were tried on a task. What is picked \
                is picked on one half of the seeds and scored on the other.\n\n";
    output::print(
        &(output::filled(text)
            + &output::table(&sensitivity::table(&measured))
            + "\n"
            + &output::table(&sensitivity::worth_table(&measured))),
    )?;
    Ok(Done::Completely)
}
