//! `epgt watch`: a page that follows runs while they train; `--watch` of other commands starts it beside them.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use epgt_watch::Watch;

use crate::Done;
use crate::args::WatchArgs;
use crate::train::use_python;
use crate::{output, parallel};

/// Where runs are that nobody has named a place for.
const USUAL: &str = "runs";

/// Seconds that the page of a run which has ended waits for somebody to look at it.
const GRACE: u64 = 30;

/// How far the watcher stands back behind training: it needs a hundredth of a processor, and that soon.
const NICE: i32 = 5;

/// Serves the page until Ctrl-C, or until nobody needs it.
pub fn run(args: &WatchArgs) -> Result<Done, String> {
    use_python(args.python.as_deref());
    epgt_train::usage::give_way(NICE);
    let directories = match args.directories.is_empty() {
        true => vec![PathBuf::from(USUAL)],
        false => args.directories.clone(),
    };
    for directory in &args.directories {
        std::fs::read_dir(directory)
            .map_err(|error| format!("cannot read {}: {}", directory.display(), output::reason(&error)))?;
    }
    let watch = Watch::open(&directories, args.port).map_err(|error| format!("--port: {error}"))?;
    let stop = parallel::stop_on_ctrl_c()?;
    let address = watch.address();
    output::print(&format!("{address}\n"))?;
    if std::io::stdout().is_terminal() {
        let names: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
        output::note(&format!("Follows the runs below {}. Ctrl-C ends it.", names.join(", ")));
        if !args.no_open {
            browse(&address);
        }
    }
    watch.run(&stop, args.idle.map(Duration::from_secs));
    Ok(Done::Completely)
}

/// Starts the page of runs that are about to be made, as a process of its own: neither Ctrl-C nor the end of this one
/// ends it, but that nobody trains or looks any more. `program` is the file by which the program is started.
pub fn beside(program: &Path, directory: &Path, python: Option<&Path>) {
    let mut arguments: Vec<OsString> = vec!["watch".into(), "--idle".into(), GRACE.to_string().into()];
    arguments.extend(python.into_iter().flat_map(|python| ["--python".into(), python.into()]));
    arguments.extend(["--".into(), directory.into()]);
    let mut command = Command::new(program);
    command.args(arguments).process_group(0).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut line = String::new();
    let mut why = String::new();
    match child {
        Ok(mut child) => {
            // It prints its address at once, or why there is none.
            let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
            if !matches!(read, Some(Ok(1..))) {
                let _ = child.stderr.take().map(|mut err| err.read_to_string(&mut why));
            }
        }
        Err(error) => why = output::reason(&error),
    }
    let address = line.trim();
    if address.is_empty() {
        // A page that cannot be shown keeps nobody from training.
        output::note(&format!(
            "There is no page to watch: {}",
            why.trim().trim_start_matches("epgt: ")
        ));
        return;
    }
    output::note(&format!("Watch at {address}"));
    if std::io::stderr().is_terminal() {
        browse(address);
    }
}

/// Opens an address in the user's browser, where there is a desktop to show it; says nothing if that fails, since the
/// address was printed.
fn browse(address: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    let opener = match std::env::consts::OS {
        "macos" => "open",
        _ if has_desktop => "xdg-open",
        _ => return,
    };
    let mut command = Command::new(opener);
    command.arg(address).process_group(0);
    let _ = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
