//! What goes wrong in a worker of the bridge to Gymnasium is told in one sentence, and leaves nothing behind.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has Gymnasium; without it there is nothing to bridge to,
//! and the tests are ignored.

#[path = "common/bridge.rs"]
mod common;

use std::time::{Duration, Instant};

use common::{Rows, own, task};
use epgt_envs::VecEnv;
use epgt_testing::needs;

/// What an environment that misbehaves in its fifth step comes to; two of them are stepped.
fn failure(fault: &str) -> String {
    // Long enough for Python to start on a busy machine.
    let timeout = if fault == "hang" { "4" } else { "60" };
    let task = own("DoNothing", &[("fault", fault), ("bridge_timeout", timeout)]);
    let mut envs = VecEnv::new(&task, 2, 0).unwrap();
    let mut rows = Rows::of(&envs);
    envs.reset(&mut rows.observations).unwrap();
    let stopped = (1..=5).find_map(|step| rows.step(&mut envs, &[0.0; 2]).err().map(|error| (step, error)));
    let (step, error) = stopped.unwrap_or_else(|| panic!("{fault} went unnoticed"));
    assert_eq!(step, 5, "{fault}");
    error.to_string()
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
        let text = failure(fault);
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        assert!(first.contains(name) && first.contains(sentence), "{fault}: {text}");
        assert!(
            rest.contains(below) && rest.is_empty() == below.is_empty(),
            "{fault}: {text}"
        );
    }
}

#[needs(python)]
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
        let task = own("Choosing", &[("seen", seen)]);
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

#[needs(python)]
#[test]
fn what_the_environment_prints_disturbs_nothing() {
    let task = own("DoNothing", &[("fault", "print"), ("at", "2")]);
    let mut envs = VecEnv::new(&task, 1, 0).unwrap();
    let mut rows = Rows::of(&envs);
    envs.reset(&mut rows.observations).unwrap();
    for _ in 0..25 {
        rows.step(&mut envs, &[1.0]).unwrap();
        assert_eq!(rows.rewards, [1.0]);
    }
}

#[needs(python)]
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
        (
            "gym:tests.bridge_envs:DoNothin",
            &[],
            "the module tests.bridge_envs has no 'DoNothin', and no environment of that id is registered; did you mean 'DoNothing'?",
        ),
        (
            "gym:tests.bridge_envs:Zzzzzz",
            &[],
            "has no 'Zzzzzz', and no environment of that id is registered; it has DoNothing, Choosing, Everything",
        ),
        (
            "gym:tests.bridge_envs:sys",
            &[],
            "sys of the module tests.bridge_envs is <module 'sys' (built-in)> of type module, and not a class or a function",
        ),
        (
            "gym:tests.bridge_envs:Fickle",
            &[],
            "the environment has other spaces than when it was made before",
        ),
        (
            "gym:tests.bridge_envs:DoNothing",
            &[("fault", "birth")],
            "was killed by signal 9",
        ),
    ] {
        let refused = task(id, options);
        let refused = refused.and_then(|task| VecEnv::new(&task, 1, 0).map(|_| ()));
        let text = refused.unwrap_err().to_string();
        let first = text.lines().next().unwrap();
        assert!(first.contains(id) && first.contains(sentence), "{text}");
    }
}

/// What an environment comes to that has `value` in this part of its second step; `None` where it goes on.
fn odd(part: &str, value: &str) -> String {
    // In a file, so that it is always the same task, which is described once.
    let file = std::env::temp_dir().join(format!(
        "epgt-odd-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::write(&file, "reward 1.0").unwrap();
    let task = own("Odd", &[("file", file.to_str().unwrap())]);
    std::fs::write(&file, format!("{part} {value}")).unwrap();
    let mut envs = VecEnv::new(&task, 2, 0).unwrap();
    let mut rows = Rows::of(&envs);
    let first = envs.reset(&mut rows.observations);
    let ended = first.and_then(|()| (0..3).try_for_each(|_| rows.step(&mut envs, &[0.0; 2])));
    std::fs::remove_file(&file).unwrap();
    ended.err().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn what_is_no_reward_and_no_end_is_refused_with_what_it_is() {
    let number = ", but one number is needed (in step 2)";
    let truth = ", but True or False is needed (in step 2)";
    let five = ", but 5 values are needed: observation, reward, terminated, truncated and info (in step 2)";
    for (part, value, sentence) in [
        ("reward", "'1'", format!("returned a reward '1' of type str{number}")),
        ("reward", "None", format!("returned a reward None of type NoneType{number}")),
        ("reward", "b'2'", format!("returned a reward b'2' of type bytes{number}")),
        ("reward", "np.array('3')", format!("of type ndarray{number}")),
        ("reward", "[1.0]", format!("returned a reward [1.0] of type list{number}")),
        ("reward", "np.zeros(2)", format!("returned a reward array([0., 0.]) of type ndarray{number}")),
        ("reward", "1j", format!("returned a reward 1j of type complex{number}")),
        ("reward", "10**400", format!("... of type int{number}")),
        (
            "reward",
            "1e39",
            "environment 0 returned a reward 1e39 in step 2, which is too large for 32 bits".to_string(),
        ),
        ("reward", "-float('inf')", "returned a reward -inf in step 2; correct".to_string()),
        ("terminated", "'no'", format!("returned terminated as 'no' of type str{truth}")),
        ("truncated", "None", format!("returned truncated as None of type NoneType{truth}")),
        ("truncated", "2", format!("returned truncated as 2 of type int{truth}")),
        ("terminated", "np.zeros(2, bool)", format!("of type ndarray{truth}")),
        ("terminated", "0.5", format!("returned terminated as 0.5 of type float{truth}")),
        (
            "observation",
            "np.array([0.0, 1e300])",
            "returned an observation with the number 1e+300, which is too large for 32 bits (in step 2)".to_string(),
        ),
        ("observation", "np.array([0.0, np.inf])", "returned entry 1 of an observation as inf in step 2".to_string()),
        (
            "last",
            "np.array([0.0, -1e300])",
            "environment 0 returned an observation with the number -1e+300, which is too large for 32 bits".to_string(),
        ),
        ("observation", "{'a': 1}", "returned an observation of shape (), but its space says (2,)".to_string()),
        ("step", "(np.zeros(2), 1.0, False, {})", format!("environment 0 returned 4 values from step{five}")),
        ("step", "None", format!("environment 0 returned None of type NoneType from step{five}")),
        (
            "reset",
            "np.zeros(2)",
            "returned array([0., 0.]) of type ndarray from reset, but 2 values are needed: observation and info (when it was reset)"
                .to_string(),
        ),
        // What can be read in one way only is taken.
        ("reward", "True", String::new()),
        ("reward", "np.float32(2)", String::new()),
        ("reward", "np.array([2])", String::new()),
        ("reward", "__import__('decimal').Decimal('0.5')", String::new()),
        ("terminated", "np.True_", String::new()),
        ("truncated", "np.array([True])", String::new()),
        ("truncated", "1", String::new()),
        ("observation", "[0, 1]", String::new()),
    ] {
        let text = odd(part, value);
        assert!(text.contains(&sentence) && text.is_empty() == sentence.is_empty(), "{part} {value}: {text}");
        assert!(text.lines().count() <= 1, "{text}");
    }
}

#[needs(python)]
#[test]
fn what_is_wrong_with_a_whole_vector_is_refused_with_what_it_is() {
    for (part, value, sentence) in [
        (
            "rewards",
            "np.zeros(3)",
            "the environment returned rewards of shape (3,) and type float64, but 2 numbers are needed (in step 1)",
        ),
        (
            "rewards",
            "['1', '2']",
            "returned rewards of shape (2,) and type <U1, but 2 numbers are needed",
        ),
        (
            "terminated",
            "[0.0, 1.0]",
            "returned terminated of shape (2,) and type float64, but 2 times True or False are needed",
        ),
        (
            "truncated",
            "[0, 2]",
            "returned truncated as array([0, 2]) of type ndarray, but True or False is needed",
        ),
        (
            "terminated",
            "[True, False]",
            "returned no final_obs in the info of a step in which an episode ended",
        ),
        (
            "observations",
            "np.zeros((3, 2))",
            "returned an observation of shape (3, 2), but its space says (2, 2)",
        ),
    ] {
        let options = [("part", part), ("value", &format!("{value:?}"))];
        let task = own("OddVector", &options);
        let mut envs = VecEnv::new(&task, 2, 0).unwrap();
        let mut rows = Rows::of(&envs);
        envs.reset(&mut rows.observations).unwrap();
        let text = rows.step(&mut envs, &[0.0; 2]).unwrap_err().to_string();
        assert!(
            text.contains(sentence) && text.lines().count() == 1,
            "{part} {value}: {text}"
        );
    }
}

/// Whether a terminal would do anything else than to show the text.
fn disturbs(text: &str) -> bool {
    text.chars()
        .any(|character| character.is_control() && character != '\n')
        || text.contains('\u{202e}')
}

#[test]
fn a_text_of_any_kind_arrives_clean_and_cut() {
    for (part, value, sentence) in [
        (
            "raise",
            "Text.ODD['surrogates']",
            "raised RuntimeError in step 2: a ?? b",
        ),
        ("raise", "Text.ODD['nul']", r"raised RuntimeError in step 2: a \u{0} b"),
        (
            "raise",
            "Text.ODD['escape']",
            r"raised RuntimeError in step 2: a \u{1b}[2J\u{1b}]0;title\u{7} b\u{9b}31m\u{202e}",
        ),
        (
            "raise",
            "Text.ODD['long']",
            "raised RuntimeError in step 2: a bbbbbbbbbb",
        ),
        (
            "raise",
            "Text.ODD['wide']",
            "raised RuntimeError in step 2: a \u{1f680}\u{1f680}",
        ),
        (
            "raise",
            "Untold()",
            "raised Untold in step 2: it has no text that can be shown",
        ),
        (
            "raise",
            "type('X' * 100_000, (Exception,), {})('a')",
            "raised XXXXXXXXXX",
        ),
        ("print", r"b'\x1b[2J\xff\x00 words'", "ended by itself with status 3"),
    ] {
        let text = odd(part, value);
        let (first, below) = text.split_once('\n').expect("something below the sentence");
        assert!(first.contains(sentence), "{value}: {text}");
        assert!(
            first.chars().count() < 2500 && below.len() < 80_000,
            "{value}: {} characters",
            text.len()
        );
        assert!(!disturbs(&text), "{value}: {text:?}");
        let words = match part {
            "print" => "What it printed last:\n\\u{1b}[2J\u{fffd}\\u{0} words",
            _ => "Traceback (most recent call last)",
        };
        assert!(below.starts_with(words), "{value}: {text}");
        assert!(
            part == "print" || below.contains("in step"),
            "{value}: the places are there: {text}"
        );
    }
}

#[needs(python)]
#[test]
fn sizes_are_bounded_before_anything_is_made_of_them() {
    let too_large = |what: &str, most: &str| format!("{what} is too large: at most {most} are taken");
    for (option, value, sentence) in [
        (
            "space",
            "spaces.Discrete(2**40)",
            too_large("a Discrete of 1099511627776 choices of an observation", "262144"),
        ),
        (
            "space",
            "spaces.MultiDiscrete([2**40, 2**62, 2**62])",
            too_large("choices of an observation", "262144"),
        ),
        (
            "space",
            "spaces.MultiBinary(2**40)",
            too_large("a MultiBinary of 1099511627776 numbers of an observation", "262144"),
        ),
        (
            "space",
            "spaces.MultiBinary([2**40, 2**40])",
            too_large("numbers of an observation", "262144"),
        ),
        (
            "space",
            "spaces.Box(0, 1, (600, 600))",
            too_large("a Box of 360000 numbers of an observation", "262144"),
        ),
        (
            "space",
            "spaces.Box(0, 255, (3000, 3000), np.uint8)",
            too_large("a Box of 9000000 bytes of an image", "4194304"),
        ),
        (
            "space",
            "spaces.Tuple([spaces.Discrete(2**17)] * 3)",
            too_large("a Tuple of 393216 numbers of an observation", "262144"),
        ),
        (
            "action",
            "spaces.Discrete(2**40)",
            too_large("a Discrete of 1099511627776 choices of an action", "65536"),
        ),
        (
            "action",
            "spaces.MultiBinary(2**40)",
            too_large("a MultiBinary of 1099511627776 numbers of an action", "65536"),
        ),
        (
            "action",
            "spaces.MultiDiscrete([2**40, 3])",
            too_large("choices of an action", "65536"),
        ),
        (
            "action",
            "spaces.Box(0, 1, (600, 600))",
            too_large("a Box of 360000 numbers of an action", "65536"),
        ),
        (
            "spec",
            "{'max_episode_steps': 'many'}",
            "its spec has max_episode_steps 'many' of type str, but a whole number from 1 on, or None, is needed"
                .to_string(),
        ),
        (
            "spec",
            "{'max_episode_steps': 0}",
            "its spec has max_episode_steps 0 of type int".to_string(),
        ),
        (
            "spec",
            "{'reward_threshold': [1]}",
            "its spec has reward_threshold [1] of type list".to_string(),
        ),
    ] {
        let refused = task("gym:tests.bridge_envs:Odd", &[(option, &format!("{value:?}"))]);
        let text = refused.unwrap_err().to_string();
        assert!(text.contains(&sentence) && text.lines().count() == 1, "{value}: {text}");
    }
    for (option, value, limit) in [
        (
            "spec",
            "{'max_episode_steps': 2**70, 'reward_threshold': float('nan')}",
            u32::MAX,
        ),
        ("spec", "{'max_episode_steps': np.int64(7)}", 7),
        // The largest action that is taken, and long names.
        (
            "space",
            "spaces.Dict({'k\\x1b' * 1000: spaces.MultiBinary(2**14)})",
            u32::MAX,
        ),
        ("action", "spaces.Discrete(2**16)", u32::MAX),
    ] {
        let task = own("Odd", &[(option, &format!("{value:?}"))]);
        assert_eq!(
            (task.max_episode_steps, task.reward_threshold),
            (limit, None),
            "{value}"
        );
        assert!(
            task.observation
                .iter()
                .all(|entry| !disturbs(&entry.name) && entry.name.len() < 1000)
        );
    }
}

#[test]
fn a_name_of_any_length_and_kind_gets_a_short_sentence() {
    for id in [
        "x".repeat(100_000_000),
        format!("gym:{}", "y:".repeat(1_000_000)),
        "gym:\u{1b}[2J".to_string(),
    ] {
        let begun = Instant::now();
        let text = epgt_envs::find(&id).unwrap_err().to_string();
        assert!(
            text.starts_with("unknown task '") && text.len() < 300 && !disturbs(&text),
            "{text}"
        );
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    assert!(epgt_envs::find(&format!("{}-v1", "CartPole".repeat(10))).is_err());
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

#[needs(python)]
#[test]
fn workers_end_with_their_environments() {
    let task = own("DoNothing", &[("length", "77")]);
    let before = workers();
    let envs = VecEnv::new(&task, 2, 0).unwrap();
    let pid = envs.worker().expect("it has a worker");
    assert!(alive(pid) && !before.contains(&pid) && workers().contains(&pid));
    let begun = Instant::now();
    drop(envs);
    assert!(!alive(pid) && begun.elapsed() < Duration::from_secs(2));
}
