//! Failures of all kinds at random moments of `epgt train gym:...`: each ends in one clear sentence, with a checkpoint
//! that is whole, and leaves no process and no shared memory behind.
//!
//! EPGT_PYTHON names a Python interpreter that has Gymnasium; without it the test is ignored. EPGT_DEATHS says how many
//! failures there are.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ended, Place};
use epgt_rng::Pcg64;
use epgt_testing::needs;
use epgt_train::{CHECKPOINT, artifact};

/// Every kind of failure, as `failing.py` knows it, and the sentence it comes to; COPY and STEP stand for numbers.
const KINDS: [(&str, &str); 18] = [
    ("make", "environment raised RuntimeError while it was made: no more"),
    ("reset", "environment COPY raised RuntimeError "),
    ("step", "environment COPY raised RuntimeError in step STEP: no more"),
    ("quit", "environment COPY raised SystemExit in step STEP: no more"),
    (
        "nothing",
        "environment COPY returned a reward None of type NoneType, but one number is needed (in step STEP)",
    ),
    (
        "shape",
        "environment COPY returned an observation of shape (3,), but its space says (2,) (in step STEP)",
    ),
    (
        "dtype",
        "environment COPY returned an observation of type <U3, but numbers are needed (in step STEP)",
    ),
    (
        "nan",
        "environment COPY returned entry 1 of an observation as NaN in step STEP; correct the environment",
    ),
    (
        "reward",
        "environment COPY returned a reward NaN in step STEP; correct the environment",
    ),
    ("exit", "ended by itself with status 3"),
    ("abort", "was killed by signal 6"),
    ("segfault", "was killed by signal 11"),
    ("sleep", "did not answer within 4 seconds; if that can be right, raise"),
    ("busy", "did not answer within 4 seconds; if that can be right, raise"),
    (
        WORKER_KILLED,
        "was killed by signal 9, which is also what happens when memory runs out",
    ),
    (PROGRAM_KILLED, ""),
    (PROGRAM_KILLED_BESIDE, ""),
    (PROGRAM_KILLED_BETWEEN, ""),
];
const WORKER_KILLED: &str = "worker killed";
/// At any moment from its start on.
const PROGRAM_KILLED: &str = "program killed";
/// While an environment does not answer.
const PROGRAM_KILLED_BESIDE: &str = "program killed beside a hanging worker";
/// In the moment in which the worker that describes the task has ended, but not what it has started.
const PROGRAM_KILLED_BETWEEN: &str = "program killed between workers";

const COPIES: u64 = 4;
/// Steps of each copy between two checkpoints, and in the whole run.
const ROLLOUT: u64 = 64;
const STEPS: u64 = 10 * ROLLOUT;

/// One failure.
struct Case {
    kind: &'static str,
    sentence: &'static str,
    copy: u64,
    at: u64,
    loud: bool,
    /// How long a killer waits.
    delay: Duration,
    resumed: bool,
}

impl Case {
    /// Kinds are dealt like cards, so that all have come before one comes again.
    fn deal(count: usize, rng: &mut Pcg64) -> Vec<Self> {
        let (mut deck, mut cases) = (Vec::new(), Vec::new());
        while cases.len() < count {
            if deck.is_empty() {
                deck.extend(KINDS);
            }
            let (kind, sentence) = deck.swap_remove(rng.below(deck.len() as u64) as usize);
            cases.push(Self {
                kind,
                sentence,
                copy: rng.below(COPIES),
                at: 1 + rng.below(5 * ROLLOUT),
                loud: rng.below(2) == 1,
                delay: Duration::from_micros(rng.below(600_000)),
                resumed: rng.below(3) == 0,
            });
        }
        cases
    }

    fn happens(&self) {
        let place = Place::new();
        place.write("failing.py", include_str!("failing.py"));
        let fault = match (self.kind, self.at % 2) {
            (WORKER_KILLED | PROGRAM_KILLED | PROGRAM_KILLED_BETWEEN, _) => "slow",
            (PROGRAM_KILLED_BESIDE, 0) => "sleep",
            (PROGRAM_KILLED_BESIDE, _) => "busy",
            (kind, _) => kind,
        };
        let noise = if self.loud { "loud" } else { "quiet" };
        place.write("fault", &format!("{fault} {} {} {noise}", self.copy + 1, self.at));
        // Long enough for Python to start on a busy machine.
        let hangs = matches!(self.kind, "sleep" | "busy");
        let steps = (COPIES * STEPS).to_string();
        let mut arguments = vec![
            "train",
            "gym:failing:Failing",
            "--quiet",
            "--out",
            "run",
            "--steps",
            &steps,
        ];
        arguments.extend(["--n-envs", "4", "--set", "ppo.n_steps=64", "--set", "eval_interval=0"]);
        arguments.extend(["--set", "checkpoint_interval=256", "--env-arg"]);
        arguments.push(if hangs { "bridge_timeout=4" } else { "bridge_timeout=60" });
        let mut command = place.command(&arguments);
        let mut program = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        match self.kind {
            PROGRAM_KILLED => {
                std::thread::sleep(3 * self.delay);
                program.kill().unwrap();
            }
            PROGRAM_KILLED_BESIDE => {
                wait_for_copy(&place, COPIES);
                std::thread::sleep(self.delay);
                program.kill().unwrap();
            }
            PROGRAM_KILLED_BETWEEN => {
                let stat = format!("/proc/{}/stat", wait_for_copy(&place, 1));
                while fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z ")) {}
                program.kill().unwrap();
            }
            WORKER_KILLED => {
                let worker = wait_for_copy(&place, COPIES);
                std::thread::sleep(self.delay);
                let killed = Command::new("kill").args(["-9", &worker]).status();
                assert!(killed.unwrap().success());
            }
            _ => {}
        }
        let ended = Ended::of(program.wait_with_output().unwrap());
        none_lives(&place);
        let checkpoint = place.path("run").join(CHECKPOINT);
        if !self.sentence.is_empty() {
            self.is_told(&ended, checkpoint.exists());
        }
        if checkpoint.exists() {
            artifact::open(&checkpoint).unwrap();
            if self.resumed {
                place.write("fault", "none 0 0 quiet");
                let resumed = place.run(&["train", "--resume", "run", "--quiet"]);
                assert_eq!(resumed.code, Some(0), "{resumed:?}");
                none_lives(&place);
            }
        }
    }

    /// One sentence, then what Python said, then what was printed.
    fn is_told(&self, ended: &Ended, has_checkpoint: bool) {
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        let (first, below) = ended.stderr.split_once('\n').unwrap();
        let sentence = self.sentence.replace("COPY", &self.copy.to_string());
        let sentence = sentence.replace("STEP", &self.at.to_string());
        assert!(first.starts_with("epgt: ") && first.contains(&sentence), "{ended:?}");
        let by_python = sentence.contains(" raised ");
        assert_eq!(
            below.contains("Traceback (most recent call last)"),
            by_python,
            "{ended:?}"
        );
        // A number that is not finite is noticed by the program, and only a worker that fails is asked what it printed.
        let failed = !matches!(self.kind, "nan" | "reward" | WORKER_KILLED);
        let words = "What it printed last:\nkkk";
        assert_eq!(below.contains(words), self.loud && failed, "{ended:?}");
        assert!(by_python || self.loud || below.is_empty(), "{ended:?}");
        if !matches!(self.kind, "make" | "reset" | WORKER_KILLED) {
            assert_eq!(has_checkpoint, self.at > ROLLOUT, "{ended:?}");
        }
        let end = match has_checkpoint {
            true => "; the last good checkpoint is in run",
            false => "; it happened before the first checkpoint",
        };
        assert!(first.ends_with(end) || self.kind == "make", "{ended:?}");
    }
}

/// The first worker that has made so many environments; the one that describes the task makes 1, and the one that
/// trains all.
fn wait_for_copy(place: &Place, copy: u64) -> String {
    let begun = Instant::now();
    loop {
        let pids = fs::read_to_string(place.path("pids")).unwrap_or_default();
        let found = pids.lines().find_map(|line| line.strip_suffix(&format!(" {copy}")));
        if let Some(pid) = found {
            return pid.to_string();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not come so far");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// No process that was started in the place, by whomever; the worker inherits the directory, and so does what it
/// starts.
fn none_lives(place: &Place) {
    let (directory, begun) = (place.path("").canonicalize().unwrap(), Instant::now());
    let lives = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut here = processes.map(|process| process.path()).filter(|process| {
            let there = fs::read_link(process.join("cwd"));
            there.is_ok_and(|there| there == directory)
        });
        here.find(|process| process.file_name().unwrap().as_encoded_bytes()[0].is_ascii_digit())
    };
    while let Some(process) = lives() {
        let command = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{process:?} has outlived the program: {command:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What lies in shared memory; directories there are other tests' places.
fn shared_memory() -> BTreeSet<std::ffi::OsString> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.map(|file| file.file_name()).collect()
}

/// No shared memory is left that was not there before. A browser that another test has started has some for a moment.
fn none_is_left(before: &BTreeSet<std::ffi::OsString>) {
    let begun = Instant::now();
    while !shared_memory().is_subset(before) {
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?} is left, and {before:?} was there",
            shared_memory()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[needs(python)]
#[test]
fn failures_of_all_kinds_at_any_moment_are_told_and_leave_nothing() {
    let count = std::env::var("EPGT_DEATHS").map_or(20, |text| text.parse().unwrap());
    let (before, mut tally) = (shared_memory(), BTreeMap::new());
    for (i, case) in Case::deal(count, &mut Pcg64::from_seed(1)).iter().enumerate() {
        eprintln!(
            "{i}: {}, copy {}, step {}, loud {}",
            case.kind, case.copy, case.at, case.loud
        );
        case.happens();
        none_is_left(&before);
        *tally.entry(case.kind).or_insert(0) += 1;
    }
    eprintln!("{tally:?}");
}
