//! `epgt experiment signal`: how much the returns of one run say of what was chosen, measured over all seeds.

use epgt_experiments::{report, signal};

use super::open;
use crate::args::ReportArgs;
use crate::{Done, output};

/// Prints the table.
pub fn run(args: &ReportArgs) -> Result<Done, String> {
    let (plan, out) = open(&args.place)?;
    let found = report::merged(&plan, &out, &args.merge).map_err(output::told)?;
    let signals = signal::measure(&plan, &found, &mut |sentence| {
        output::note(&format!("left out: {sentence}"));
    });
    if signals.is_empty() {
        return Err(format!(
            "no method of {} has finished runs in {} that drew their values at random",
            plan.title(),
            out.display()
        ));
    }
    let text =
        "Effect over noise, summed over one run: 3 would be sure. By chance: what runs without any effect have.\n\n";
    output::print(&(output::filled(text) + &output::table(&signal::table(&plan, &signals))))?;
    Ok(Done::Completely)
}
