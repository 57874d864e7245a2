//! What goes wrong in a worker of the bridge to Gymnasium is told in one sentence, and leaves nothing behind.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has Gymnasium; without it there is nothing to bridge to, and the tests
//! say so.

#[path = "common/bridge.rs"]
mod common;

use std::time::{Duration, Instant};

use common::{Rows, own, task};
use epgt_envs::VecEnv;

/// What an environment that misbehaves in its fifth step comes to; two of them are stepped.
fn failure(fault: &str) -> Option<String> {
    // Long enough for Python to start on a busy machine.
    let timeout = if fault == "hang" { "4" } else { "60" };
    let task = own("DoNothing", &[("fault", fault), ("bridge_timeout", timeout)])?;
    let mut envs = VecEnv::new(&task, 2, 0).unwrap();
    let mut rows = Rows::of(&envs);
    envs.reset(&mut rows.observations).unwrap();
    let stopped = (1..=5).find_map(|step| rows.step(&mut envs, &[0.0; 2]).err().map(|error| (step, error)));
    let (step, error) = stopped.unwrap_or_else(|| panic!("{fault} went unnoticed"));
    assert_eq!(step, 5, "{fault}");
    Some(error.to_string())
}

#[test]
fn failures_are_told_in_one_sentence_with_what_python_said() {
    let name = "gym:tests.bridge_envs:DoNothing";
    for (fault, sentence, below) in [
        (
            "raise",
            ": environment 0 raised ValueError in step 5: the motor is on fire",
            "Traceback (most recent call last)",
        ),
        ("quit", ": environment 0 raised SystemExit in step 5: 4", "sys.exit(4)"),
        (
            "shape",
            ": environment 0 returned an observation of shape (5,), but its space says (4,) (in step 5)",
            "",
        ),
        (
            "die",
            " was killed by signal 9, which is also what happens when memory runs out",
            "",
        ),
        ("exit", " ended by itself with status 3", "goodbye from the environment"),
        (
            "hang",
            " did not answer within 4 seconds; if that can be right, raise bridge_timeout",
            "",
        ),
        (
            "nan",
            ": environment 0 returned entry 1 of an observation as NaN in step 5; correct the environment",
            "",
        ),
        (
            "reward",
            ": environment 0 returned a reward inf in step 5; correct the environment",
            "",
        ),
    ] {
        let Some(text) = failure(fault) else { return };
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        assert!(first.contains(name) && first.contains(sentence), "{fault}: {text}");
        assert!(
            rest.contains(below) && rest.is_empty() == below.is_empty(),
            "{fault}: {text}"
        );
    }
}

#[test]
fn only_a_choice_of_the_space_is_one() {
    for (seen, choice) in [
        ("2", true),
        ("2.0", true),
        ("3", false),
        ("-1", false),
        ("1.5", false),
        ("NaN", false),
    ] {
        let Some(task) = own("Choosing", &[("seen", seen)]) else {
            return;
        };
        let mut envs = VecEnv::new(&task, 1, 0).unwrap();
        let mut rows = Rows::of(&envs);
        envs.reset(&mut rows.observations).unwrap();
        assert_eq!(rows.numbers(), [1.0, 0.0, 0.0]);
        let told = rows.step(&mut envs, &[0.0]).err().map(|error| error.to_string());
        match &told {
            None => assert_eq!((choice, rows.numbers()), (true, &[0.0, 0.0, 1.0][..]), "{seen}"),
            Some(told) => assert!(!choice && told.contains("which is outside its space"), "{seen}: {told}"),
        }
    }
}

#[test]
fn what_the_environment_prints_disturbs_nothing() {
    let Some(task) = own("DoNothing", &[("fault", "print"), ("at", "2")]) else {
        return;
    };
    let mut envs = VecEnv::new(&task, 1, 0).unwrap();
    let mut rows = Rows::of(&envs);
    envs.reset(&mut rows.observations).unwrap();
    for _ in 0..25 {
        rows.step(&mut envs, &[1.0]).unwrap();
        assert_eq!(rows.rewards, [1.0]);
    }
}

#[test]
fn what_cannot_be_made_is_refused_in_one_sentence() {
    for (id, options, sentence) in [
        ("gym:NoSuch-v0", &[][..], "NameNotFound"),
        (
            "gym:CartPole-v1",
            &[("gravity", "3")][..],
            "unexpected keyword argument 'gravity'",
        ),
        (
            "gym:CartPole-v1",
            &[("import", "no_such_module")],
            "No module named 'no_such_module'",
        ),
        (
            "gym:tests.bridge_envs:Picture",
            &[("beside", "true")],
            "an image beside other observations cannot be used",
        ),
        ("gym:tests.bridge_envs:NoSuch", &[], "NoSuch"),
        (
            "gym:tests.bridge_envs:DoNothing",
            &[("fault", "birth")],
            "was killed by signal 9",
        ),
    ] {
        let Some(refused) = task(id, options) else { return };
        let text = refused.unwrap_err().to_string();
        let first = text.lines().next().unwrap();
        assert!(first.contains(id) && first.contains(sentence), "{text}");
    }
}

/// Whether a process is there, other than as an ended one that nobody has asked about.
fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|text| !text.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z'))
}

/// Workers among the children of this process.
fn workers() -> Vec<u32> {
    let own = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let of_ours = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut after = stat.rsplit(')').next().unwrap_or("").split_whitespace();
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        after.nth(1) == Some(&own) && command.contains("\0-u\0-\0")
    };
    processes.filter(of_ours).collect()
}

#[test]
fn workers_end_with_their_environments() {
    let Some(task) = own("DoNothing", &[("length", "77")]) else {
        return;
    };
    let before = workers();
    let envs = VecEnv::new(&task, 2, 0).unwrap();
    let pid = envs.worker().expect("it has a worker");
    assert!(alive(pid) && !before.contains(&pid) && workers().contains(&pid));
    let begun = Instant::now();
    drop(envs);
    assert!(!alive(pid) && begun.elapsed() < Duration::from_secs(2));
}
