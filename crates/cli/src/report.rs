//! `epgt report`: one page that shows what runs have come to, and its pictures and tables as files of their own.

use epgt_experiments::page::{Format, Paper, Request, write};

use crate::Done;
use crate::args::PageArgs;
use crate::output::{note, print, told};

/// The command.
pub fn run(args: &PageArgs) -> Result<Done, String> {
    let paper = args.figures.as_ref().map(|folder| Paper {
        folder: folder.clone(),
        formats: match args.format.is_empty() {
            true => vec![Format::Pdf],
            false => args.format.clone(),
        },
        width: args.width.unwrap_or_default(),
    });
    let request = Request {
        out: args.out.clone(),
        title: args.title.clone(),
        paper,
        ..Request::default()
    };
    let written = write(&args.runs, &request).map_err(told)?;
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
    if let Some(folder) = &args.figures {
        print(&format!(
            "{}: {}\n",
            folder.display(),
            counted(written.printed, "figure")
        ))?;
    }
    Ok(Done::Completely)
}
