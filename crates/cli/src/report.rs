//! `epgt report`: one page that shows what runs have come to, and its pictures and tables as files of their own.

use epgt_experiments::page::write;

use crate::Done;
use crate::args::PageArgs;
use crate::output::{note, print, told};

/// The command.
pub fn run(args: &PageArgs) -> Result<Done, String> {
    let written = write(&args.runs, args.out.as_deref(), args.title.as_deref(), &[]).map_err(told)?;
    written
        .left_out
        .iter()
        .for_each(|sentence| note(&format!("left out: {sentence}")));
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    print(&format!(
        "{}: {}, {}, {}; the files are in {}\n",
        written.page.display(),
        counted(written.runs, "run"),
        counted(written.pictures, "picture"),
        counted(written.tables, "table"),
        written.folder.display()
    ))?;
    Ok(Done::Completely)
}
