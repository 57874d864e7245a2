//! What the fuzzers share: cases that one number decides, and the program run with a limit on its time and memory.
//!
//! `EPGT_CASES` says how many cases each fuzzer tries (1,000), `EPGT_FIRST_CASE` with which number they begin (0). A
//! failing case prints how it is repeated alone. `tools/fuzz` runs all fuzzers.

#![allow(dead_code, reason = "each fuzzer uses some of it")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use epgt_rng::Pcg64;

/// Address space of the program in kilobytes: far more than any case needs, far less than what an unbounded size asks
/// for.
const MOST_KILOBYTES: u64 = 12_000_000;
/// After this the program hangs. Cases take milliseconds; the machine may be busy with other things.
const MOST_TIME: Duration = Duration::from_secs(60);
/// A sentence is shorter.
const LONGEST_SENTENCE: usize = 700;
/// Failing cases after which a fuzzer gives up.
const MOST_FAILURES: usize = 10;

/// One case: its number, the random choices that follow from it, and a directory of its own.
pub struct Case {
    pub number: u64,
    rng: Pcg64,
    place: tempfile::TempDir,
}

impl Case {
    fn new(number: u64) -> Self {
        Self {
            number,
            rng: Pcg64::for_purpose(number, "case", 0),
            place: place(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("a case's file can be written");
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.rng.below(n as u64) as usize
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.rng.next_f64() < probability
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Runs the program to its end in this case's directory, and checks how it ended.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Ended, String> {
        self.run_for(arguments, MOST_TIME)
    }

    /// The same, with an interrupt (Ctrl-C) after some time, if it has not ended by then.
    pub fn run_for<S: AsRef<OsStr>>(&self, arguments: &[S], time: Duration) -> Result<Ended, String> {
        let ended = run(self.place.path(), arguments, time);
        // A sentence that quotes a file's name has as many lines as the name.
        let lines = arguments
            .iter()
            .any(|text| text.as_ref().as_encoded_bytes().contains(&b'\n'));
        let complaint = ended.complaint(lines);
        match complaint {
            None => Ok(ended),
            Some(complaint) => {
                let shown: Vec<_> = arguments.iter().map(|text| shown(text.as_ref())).collect();
                Err(format!("{complaint}\n  epgt {}\n  {ended:?}", shown.join(" ")))
            }
        }
    }
}

/// An argument as a shell takes it, not too long.
fn shown(text: &OsStr) -> String {
    let text: String = text.to_string_lossy().chars().take(300).collect();
    format!("'{}'", text.replace('\'', "'\\''").escape_debug())
}

/// A temporary directory, in memory where the system has such a place: the program syncs what it writes.
pub fn place() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    let made = match shared.is_dir() {
        true => tempfile::tempdir_in(shared).or_else(|_| tempfile::tempdir()),
        false => tempfile::tempdir(),
    };
    made.expect("a temporary directory")
}

/// How the program ended and what it said.
#[derive(Debug)]
pub struct Ended {
    /// None where a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Whether it was interrupted before it had ended.
    pub interrupted: bool,
    hung: bool,
}

impl Ended {
    /// What is wrong with it, if anything is; `lines` allows what it says to have lines that it did not begin.
    fn complaint(&self, lines: bool) -> Option<String> {
        if self.hung {
            return Some("it hangs".to_string());
        }
        for word in [
            "panicked",
            "RUST_BACKTRACE",
            "memory allocation",
            "stack overflow",
            "AddressSanitizer",
        ] {
            if self.stderr.contains(word) {
                return Some(format!("it says '{word}'"));
            }
        }
        match self.code {
            Some(0..=2) => {}
            Some(130) if self.interrupted => {}
            other => return Some(format!("it ends with {other:?}")),
        }
        for text in [&self.stdout, &self.stderr] {
            if text.contains(|character: char| character.is_control() && !matches!(character, '\n' | '\t')) {
                return Some("it prints control characters".to_string());
            }
        }
        if self.code == Some(1) {
            let sentences: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("epgt: ")).collect();
            let [sentence] = sentences.as_slice() else {
                return Some(format!("it fails with {} sentences", sentences.len()));
            };
            if sentence.chars().count() > LONGEST_SENTENCE {
                return Some(format!("its sentence has {} characters", sentence.chars().count()));
            }
            // A signal may come when all is said.
            let mut told = self
                .stderr
                .lines()
                .filter(|line| !self.interrupted || *line != "stopping ...");
            if !lines && told.next_back() != Some(sentence) {
                return Some("its sentence is not the last thing it says".to_string());
            }
        }
        None
    }
}

/// Runs the program in a directory, interrupts it after `time`, and kills it when it does not end.
pub fn run<S: AsRef<OsStr>>(directory: &Path, arguments: &[S], time: Duration) -> Ended {
    let mut command = Command::new("bash");
    command
        .args(["-c", &format!("ulimit -v {MOST_KILOBYTES}; exec \"$0\" \"$@\"")])
        .arg(env!("CARGO_BIN_EXE_epgt"))
        .args(arguments)
        .current_dir(directory)
        // A case that means to get a simulator must not find the way to one.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("bash starts");
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let out = scope.spawn(|| read(out));
        let err = scope.spawn(|| read(err));
        let (code, interrupted, hung) = wait(&mut child, time);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap_or_else(|_| "\u{0}".to_string());
        Ended {
            code,
            stdout: text(out.join().expect("a reader")),
            stderr: text(err.join().expect("a reader")),
            interrupted,
            hung,
        }
    })
}

fn read(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// Its exit code, whether it was interrupted, and whether it had to be killed.
fn wait(child: &mut Child, time: Duration) -> (Option<i32>, bool, bool) {
    let started = Instant::now();
    let mut interrupted = false;
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            // An interrupt that comes before the program listens for it ends it as it ends any program; shells call
            // that 130.
            let by_interrupt = interrupted && status.signal() == Some(2);
            let code = status.code().or(by_interrupt.then_some(130));
            return (code, interrupted, false);
        }
        if started.elapsed() >= MOST_TIME {
            let _ = child.kill();
            let _ = child.wait();
            return (None, interrupted, true);
        }
        if !interrupted && started.elapsed() >= time {
            let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            interrupted = true;
        }
        std::thread::sleep(pause.min(time.saturating_sub(started.elapsed()).max(Duration::from_micros(500))));
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn from_environment(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} = {text} is not a number")),
        Err(_) => usual,
    }
}

/// Tries all cases, on all cores, and reports those that fail.
pub fn fuzz(name: &str, try_case: impl Fn(&mut Case) -> Result<(), String> + Sync) {
    let (first, cases) = (
        from_environment("EPGT_FIRST_CASE", 0),
        from_environment("EPGT_CASES", 1000),
    );
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + cases || failures.lock().expect("no thread panics").len() >= MOST_FAILURES {
                        break;
                    }
                    let ended = try_case(&mut Case::new(number));
                    if let Err(complaint) = ended {
                        let repeat =
                            format!("EPGT_FIRST_CASE={number} EPGT_CASES=1 cargo test -p epgt-cli --test {name}");
                        eprintln!("case {number}: {complaint}\n  repeat it with: {repeat}");
                        failures.lock().expect("no thread panics").push(number);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no thread panics");
    assert!(failures.is_empty(), "{} cases failed: {failures:?}", failures.len());
}

/// Values that somebody may write for anything.
pub const ODD: &[&str] = &[
    "",
    " ",
    "0",
    "-1",
    "1",
    "2",
    "0.5",
    "-0.0",
    "1e-3",
    "1e-300",
    "1e300",
    "1e400",
    "-1e300",
    "nan",
    "inf",
    "-inf",
    "1e18",
    "18446744073709551615",
    "99999999999999999999999",
    "true",
    "false",
    "auto",
    "phase",
    "abc",
    "[]",
    "[1,2]",
    "[[1]]",
    "{}",
    "\"",
    "'",
    "\\",
    "a=b",
    "=",
    ",",
    ":",
    "..",
    "../x",
    "/",
    "/dev/null",
    "\u{1b}[31mred",
    "a\nb",
    "\t",
    "\u{202e}abc",
    "\u{1d54f}",
    "%s%n",
    "-",
    "--",
    "--help",
    "0x10",
    "1_000",
    "١",
    "1e",
    "e1",
    ".5",
    "5.",
];

/// Settings under which any task trains in milliseconds.
pub const QUICK: &[&str] = &[
    "--quiet",
    "--n-envs",
    "2",
    "--set",
    "n_steps=8",
    "--set",
    "eval_episodes=1",
];

/// Copies a directory with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("a readable directory") {
        let path = entry.expect("an entry").path();
        let into = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &into),
            false => fs::copy(&path, into).map(|_| ()).expect("a file can be copied"),
        }
    }
}

/// Makes a run that the cases use; it must work.
pub fn make_run<S: AsRef<OsStr>>(directory: &Path, arguments: &[S]) {
    let ended = run(directory, arguments, MOST_TIME);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Arguments as the system takes them.
pub fn os(arguments: &[String]) -> Vec<OsString> {
    arguments.iter().map(OsString::from).collect()
}
