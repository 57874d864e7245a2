//! Random foreign environments, good and bad, driven through the real program: each ends as it must, in one sentence,
//! and leaves nothing.
//!
//! A case is decided by one number: the kind of environment, what it is like (`fuzz_foreign.py`), and the command.
//! EPGT_CASES says how many there are (1000), EPGT_FIRST_CASE the number of the first (0). EPGT_PYTHON names a Python
//! interpreter that has Gymnasium; without it the test is ignored. To start Python and import Gymnasium would take most
//! of the time, so nearly all workers are forks of one that has (`fork_server.py`); one case in a hundred starts Python
//! itself.

mod common;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::Place;
use epgt_rng::Pcg64;
use epgt_testing::needs;

/// When an environment fails, at the latest.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fails {
    /// It is a good one.
    Never,
    /// When it is made.
    Made,
    /// When it is reset or stepped for the first time or later.
    Played,
    /// Not in a way that is known beforehand.
    Perhaps,
}
use Fails::{Made, Never, Perhaps, Played};

/// Every kind that `fuzz_foreign.py` knows, by its factory there.
const KINDS: &[(&str, &str, Fails)] = &[
    ("Foreign", "plain", Never),
    ("Foreign", "image", Never),
    ("Foreign", "large", Never),
    ("Foreign", "unbounded", Never),
    ("Foreign", "hollow", Never),
    ("Foreign", "odd_names", Never),
    ("Foreign", "endless", Never),
    ("Foreign", "short", Never),
    ("Foreign", "typed", Never),
    ("Foreign", "loud", Never),
    ("Foreign", "helper", Never),
    ("Foreign", "lists", Never),
    ("Foreign", "reads", Never),
    ("Foreign", "threads", Never),
    ("Foreign", "closing", Never),
    ("Foreign", "limited", Never),
    ("Foreign", "unseeded", Never),
    ("vector", "vector", Never),
    ("vector", "vector_sync", Never),
    ("Foreign", "big", Perhaps),
    ("Foreign", "deep", Perhaps),
    ("Foreign", "keys", Perhaps),
    ("Foreign", "forks", Perhaps),
    ("Foreign", "make_raises", Made),
    ("Foreign", "no_space", Made),
    ("Foreign", "no_action", Made),
    ("Foreign", "other_space", Made),
    ("Foreign", "picture_beside", Made),
    ("Foreign", "huge", Made),
    ("Foreign", "huge_action", Made),
    ("Foreign", "nothing_seen", Made),
    ("Foreign", "nothing_done", Made),
    ("Foreign", "nonsense_spec", Made),
    ("vector", "vector_refused", Made),
    ("broken", "factory", Made),
    ("CONSTANT", "constant", Made),
    ("Froeign", "misspelt", Made),
    ("Unregistered-v0", "unregistered", Made),
    ("Class", "no_such_option", Made),
    ("Foreign", "other_each_time", Perhaps),
    ("Foreign", "describes", Perhaps),
    ("Foreign", "reset_raises", Played),
    ("Foreign", "reset_shape", Played),
    ("Foreign", "raises", Played),
    ("Foreign", "exits", Played),
    ("Foreign", "exits_with_text", Played),
    ("Foreign", "dies", Played),
    ("Foreign", "hangs", Played),
    ("Foreign", "counts", Played),
    ("Foreign", "reward", Played),
    ("Foreign", "ends", Played),
    ("Foreign", "shape", Played),
    ("Foreign", "outside", Played),
    ("Foreign", "missing", Played),
    ("Foreign", "picture", Played),
    ("vector", "vector_wrong", Played),
    ("Foreign", "speaks", Perhaps),
    ("Foreign", "closes", Perhaps),
];

/// The longest that a case may take; the longest waits are for a worker that hangs or does not close.
const LIMIT: Duration = Duration::from_secs(60);
/// Steps of each environment in a rollout, and rollouts.
const ROLLOUT: u64 = 8;
const ROLLOUTS: u64 = 3;

/// A Python that forks workers.
struct Server {
    process: Child,
    /// It ends when this is closed.
    _held: ChildStdin,
    place: Place,
}

impl Server {
    fn start() -> Self {
        let place = Place::new();
        let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
        let mut command = Command::new(std::env::var_os("EPGT_PYTHON").unwrap());
        command.arg(format!("{tests}/fork_server.py"));
        command.args([place.path("socket"), place.path("python")]);
        let mut process = with_tests(&mut command).stdin(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !place.path("python").exists() {
            assert!(begun.elapsed() < LIMIT, "the server of Python processes does not start");
            assert_eq!(
                process.try_wait().unwrap(),
                None,
                "the server of Python processes has ended"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        Self {
            _held: process.stdin.take().unwrap(),
            process,
            place,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Has Python find the environments, and leave no compiled files beside them.
fn with_tests(command: &mut Command) -> &mut Command {
    let mut path = OsString::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"));
    if let Some(more) = std::env::var_os("PYTHONPATH") {
        path.push(":");
        path.push(more);
    }
    command
        .env("PYTHONPATH", path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("OPENBLAS_NUM_THREADS", "1")
}

/// One environment and what is done with it.
struct Case {
    number: u64,
    fails: Fails,
    arguments: Vec<String>,
    /// Whether environments are stepped, and not only described.
    plays: bool,
    /// What is done afterwards with a run that went well.
    then: &'static [&'static str],
}

impl Case {
    fn of(number: u64) -> Self {
        let mut rng = Pcg64::for_purpose(number, "foreign environments", 0);
        let mut below = |n: usize| rng.below(n as u64) as usize;
        let (factory, kind, fails) = KINDS[below(KINDS.len())];
        let mut arguments: Vec<String> = Vec::new();
        let trains = below(5) > 0;
        let (mut plays, mut then): (bool, &[&str]) = (trains, &[]);
        let task = format!("gym:fuzz_foreign:{factory}");
        let environments = 1 + below(3);
        if trains {
            let algo = ["a2c", "ppo", "acktr"][below(3)];
            let scheduler = ["fixed", "epgt", "random", "bandit"][below(4)];
            let steps = environments as u64 * ROLLOUT * ROLLOUTS;
            arguments.extend(["train", &task, "--quiet", "--out", "run", "--algo", algo].map(String::from));
            arguments.push(format!("--steps={steps}"));
            arguments.push(format!("--n-envs={environments}"));
            arguments.push(format!("--scheduler={scheduler}"));
            arguments.push(format!("--set={algo}.n_steps={ROLLOUT}"));
            arguments.push(format!("--seed={number}"));
            let is_judged = matches!(
                kind,
                "plain" | "image" | "short" | "typed" | "loud" | "helper" | "lists" | "endless"
            );
            // An episode that does not end is cut.
            arguments.push("--set=eval_max_steps=40".to_string());
            match is_judged && below(3) == 0 {
                true => arguments.push("--set=eval_episodes=1".to_string()),
                false => arguments.push("--set=eval_interval=0".to_string()),
            }
            then = match below(8) {
                0 if is_judged => &["eval", "run", "--episodes=1", "--max-steps=40"],
                1 => &["train", "--resume", "run", "--quiet"],
                _ => &[],
            };
        } else if below(3) == 0 {
            plays = true;
            arguments.extend(["bench", &task, "--simulator-only"].map(String::from));
            arguments.push(format!("--n-envs={environments}"));
            arguments.push(format!("--steps={}", environments as u64 * ROLLOUT * ROLLOUTS));
        } else {
            arguments.extend(["tasks", &task].map(String::from));
        }
        if plays {
            let small = [
                "hidden=8",
                "conv_channels=4",
                "conv_kernels=4",
                "conv_strides=2",
                "image_hidden=8",
            ];
            arguments.extend(small.map(|setting| format!("--set=policy.{setting}")));
        }
        let words = if arguments[0] == "bench" {
            "--set=env."
        } else {
            "--env-arg="
        };
        let mut option = |name: &str, value: &str| arguments.push(format!("{words}{name}={value}"));
        // Every copy fails there, and each takes as many steps as are in all rollouts.
        let at = 1 + below((ROLLOUT * ROLLOUTS) as usize);
        for (name, value) in [
            ("kind", kind.to_string()),
            ("number", number.to_string()),
            ("at", at.to_string()),
        ] {
            option(name, &value);
        }
        if kind == "no_such_option" {
            option("nonsense", "[1, 2]");
        }
        let timeout = if kind == "hangs" { "1" } else { "50" };
        option("bridge_timeout", timeout);
        Self {
            number,
            fails,
            arguments,
            plays,
            then,
        }
    }

    /// Does it all; the error says what is wrong with how the program ended.
    fn happens(&self, server: &Server) -> Result<(), String> {
        let place = Place::new();
        let expected = match (self.fails, self.plays) {
            (Never, _) | (Played, false) => Some(0),
            (Made, _) | (Played, true) => Some(1),
            (Perhaps, _) => None,
        };
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let ended = self.ends(server, &place, &arguments, expected)?;
        if ended == 0 && !self.then.is_empty() {
            self.ends(server, &place, self.then, expected)?;
        }
        Ok(())
    }

    /// Runs the program, which is to end with this status.
    fn ends(&self, server: &Server, place: &Place, arguments: &[&str], expected: Option<i32>) -> Result<i32, String> {
        let mut command = place.command(arguments);
        with_tests(&mut command);
        if !self.number.is_multiple_of(100) {
            command.env("EPGT_PYTHON", server.place.path("python"));
        }
        let [out, err] = ["stdout", "stderr"].map(|name| place.path(name));
        command
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap());
        let begun = Instant::now();
        let mut program = command.spawn().unwrap();
        let status = loop {
            match program.try_wait().unwrap() {
                Some(status) => break status,
                None if begun.elapsed() > LIMIT => {
                    let waiting = what_waits(place);
                    let _ = program.kill();
                    let _ = program.wait();
                    return Err(format!("it does not end; {waiting}"));
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let said = [fs::read(&out).unwrap(), fs::read(&err).unwrap()].concat();
        let said = String::from_utf8(said).map_err(|_| "it has written what is no UTF-8".to_string())?;
        let err = fs::read_to_string(&err).unwrap();
        let tell = |what: String| Err(format!("{what}: {}", said.chars().take(600).collect::<String>()));
        if said
            .chars()
            .any(|character| character.is_control() && !matches!(character, '\n' | '\t'))
        {
            return tell(format!(
                "control characters are written: {:?}",
                said.escape_debug().take(500).collect::<String>()
            ));
        }
        let code = match status.code() {
            Some(code @ (0 | 1)) if expected.is_none_or(|expected| expected == code) => code,
            _ => {
                return tell(format!(
                    "{arguments:?} ended with {status}, and {expected:?} was expected"
                ));
            }
        };
        let first = err.lines().next().unwrap_or_default();
        let sentence = first.starts_with("epgt: ") && first.len() < 10_000 && said.len() < 100_000;
        if code == 1 && !sentence {
            return tell("the failure is not told in a sentence".to_string());
        }
        if ["panicked", "RUST_BACKTRACE"].iter().any(|word| err.contains(word)) {
            return tell("a panic is told".to_string());
        }
        none_lives(place)?;
        Ok(code)
    }

    fn told(&self, what: &str) -> String {
        let quoted: Vec<String> = self.arguments.iter().map(|argument| format!("'{argument}'")).collect();
        format!(
            "case {}: {what}\n  epgt {}\n  again: EPGT_FIRST_CASE={} EPGT_CASES=1 cargo test -p epgt-cli --test fuzz_foreign\n",
            self.number,
            quoted.join(" "),
            self.number
        )
    }
}

/// The processes that were started in the place; a worker inherits the directory, and so does what it starts.
fn processes_of(place: &Place) -> impl Iterator<Item = PathBuf> {
    let directory = place.path("").canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    processes.filter(move |process| fs::read_link(process.join("cwd")).is_ok_and(|there| there == directory))
}

/// What each thread of these processes waits for in the kernel.
fn what_waits(place: &Place) -> String {
    let threads =
        processes_of(place).flat_map(|process| fs::read_dir(process.join("task")).into_iter().flatten().flatten());
    let told = threads.map(|thread| {
        let of = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        format!(
            "{} {} waits in {}",
            thread.path().display(),
            of("comm").trim(),
            of("wchan")
        )
    });
    told.collect::<Vec<_>>().join(", ")
}

/// No process that was started in the place is left.
fn none_lives(place: &Place) -> Result<(), String> {
    let begun = Instant::now();
    while let Some(process) = processes_of(place).next() {
        if begun.elapsed() > Duration::from_secs(5) {
            let command = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
            return Err(format!("{process:?} has outlived the program: {command:?}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

#[needs(python)]
#[test]
fn fuzz_foreign_environments_of_all_kinds_end_as_they_must() {
    let (first, count) = (variable("EPGT_FIRST_CASE", 0), variable("EPGT_CASES", 1000));
    let server = Server::start();
    let (next, failures) = (AtomicU64::new(first), Mutex::new(Vec::new()));
    // Some wait for a worker that hangs, so there are more than cores.
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while failures.lock().unwrap().len() < 10 {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + count {
                        break;
                    }
                    let case = Case::of(number);
                    if let Err(what) = case.happens(&server) {
                        let text = case.told(&what);
                        eprintln!("{text}");
                        failures.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    eprintln!(
        "{count} cases from {first} on took {:.1} seconds",
        begun.elapsed().as_secs_f64()
    );
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} cases failed; they are told above",
        failures.len()
    );
}

#[test]
fn every_kind_is_known_to_python_and_comes_up() {
    let source = include_str!("fuzz_foreign.py");
    for (factory, _, fails) in KINDS {
        let known = source.contains(&format!("class {factory}")) || source.contains(&format!("def {factory}("));
        assert!(known || *fails == Made, "{factory}");
    }
    let drawn: std::collections::BTreeSet<String> = (0..2000)
        .map(|number| {
            Case::of(number)
                .arguments
                .iter()
                .find_map(|word| word.split_once("kind=").map(|(_, kind)| kind.to_string()))
                .unwrap()
        })
        .collect();
    assert_eq!(drawn.len(), KINDS.len());
}
