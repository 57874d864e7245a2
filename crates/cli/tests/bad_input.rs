//! Whatever a user gets wrong, or a disk or another program spoils, is answered by one sentence that says what to do;
//! nothing that was there before is touched.

mod common;

use common::{Place, assert_same_files, files};

const SHORT: &[&str] = &["--steps", "4000"];

/// Tries to train with these arguments, and checks that no run is begun.
fn refused(arguments: &[&str], parts: &[&str]) {
    let place = Place::new();
    let mut all = vec!["train"];
    all.extend(arguments);
    if !arguments.contains(&"--out") {
        all.extend(["--out", "run"]);
    }
    place.run(&all).is_refused_with(parts);
    assert!(!place.path("run").exists(), "{arguments:?} left a directory behind");
}

#[test]
fn unknown_names_are_answered_with_the_nearest_known_one() {
    refused(&["CartPol"], &["unknown task 'CartPol'", "did you mean 'CartPole-v1'?"]);
    refused(&["CartPole-v1", "--algo", "ac2"], &["'ac2'", "did you mean 'a2c'?"]);
    refused(
        &["CartPole-v1", "--scheduler", "bandid"],
        &["'bandid'", "did you mean 'bandit'?"],
    );
    refused(
        &["CartPole-v1", "--preset", "papr"],
        &["'papr'", "did you mean 'paper'?"],
    );
    refused(
        &["CartPole-v1", "--tune", "learning_rat=paper:5"],
        &["'learning_rat'", "did you mean 'learning_rate'?"],
    );
    refused(
        &["CartPole-v1", "--set", "hyper.hol=3"],
        &["'hyper.hol'", "did you mean 'hyper.hold'?"],
    );
    refused(
        &["CartPole-v1", "--policy", "hiden=64"],
        &["'policy.hiden'", "did you mean 'policy.hidden'?"],
    );
    refused(
        &["CartPole-v1", "--set", "gama=0.9"],
        &["'gama'", "did you mean 'a2c.gamma'?"],
    );
    refused(
        &["CartPole-v1", "--algo", "ppo", "--tune", "clip_rang=0.1:0.2"],
        &["'clip_rang'", "did you mean 'clip_range'?"],
    );
    refused(
        &["CartPole-v1", "--algo", "ppo", "--set", "a2c.gamma=0.9"],
        &["'a2c.gamma' is a setting of a2c, but the method is ppo", "ppo.gamma"],
    );
    refused(
        &["LunarLander-v3", "--env-arg", "gravty=-3"],
        &["unknown option of LunarLander-v3 'gravty'", "did you mean 'gravity'?"],
    );
    let place = Place::new();
    place.write("settings.toml", "task = \"CartPole-v1\"\n[hyper]\nneighbors = 5\n");
    place
        .run(&["train", "--config", "settings.toml", "--out", "run"])
        .is_refused_with(&["'hyper.neighbors'", "did you mean 'hyper.neighbours'?"]);
    place
        .run(&["tasks", "Pendulum"])
        .is_refused_with(&["did you mean 'Pendulum-v1'?"]);
}

#[test]
fn impossible_options_of_a_task_are_answered_with_the_reason() {
    for (task, option, parts) in [
        (
            "LunarLander-v3",
            "gravity=5",
            "gravity = 5 cannot be used: a number between -12 and 0",
        ),
        (
            "LunarLander-v3",
            "gravity=low",
            "gravity = low cannot be used: a number is wanted",
        ),
        ("LunarLander-v3", "enable_wind=maybe", "true or false is wanted"),
        ("LunarLander-v3", "gravity", "--env-arg 'gravity' should be KEY=VALUE"),
        (
            "Hopper-v5",
            "frame_skip=0",
            "frame_skip = 0 cannot be used: 1 or more is wanted",
        ),
        (
            "Hopper-v5",
            "healthy_z_range=[2, 1]",
            "two numbers are wanted, the smaller first",
        ),
        ("Acrobot-v1", "g=9.8", "Acrobot-v1 takes no options"),
    ] {
        refused(&[task, "--env-arg", option], &[parts]);
    }
    let place = Place::new();
    place.write("settings.toml", "task = \"Pendulum-v1\"\n[env]\ngg = 5\n");
    place
        .run(&["train", "--config", "settings.toml", "--out", "run"])
        .is_refused_with(&["unknown option of Pendulum-v1 'gg'"]);
}

#[test]
fn impossible_values_are_answered_with_the_reason() {
    let cases: [(&[&str], &str); 23] = [
        (
            &["--algo", "ppo", "--set", "batch_size=0"],
            "ppo.batch_size = 0 cannot be used",
        ),
        (&["--algo", "ppo", "--set", "target_kl=-1"], "ppo.target_kl = -1"),
        (
            &["--algo", "ppo", "--tune", "n_epochs=2.5:3"],
            "n_epochs = 2.5 cannot be used: a whole number",
        ),
        (&["--algo", "ppo", "--steps", "100"], "less than one rollout"),
        (
            &[
                "--algo",
                "ppo",
                "--tune",
                "learning_rate=paper:15,gae_lambda=uniform:0.9..0.99:10,clip_range=uniform:0.1..0.5:10",
            ],
            "hyper.max_actions",
        ),
        (&["--set", "a2c.learning_rate=-1e-3"], "learning_rate = -0.001"),
        (&["--set", "a2c.learning_rate=nan"], "learning_rate"),
        (
            &["--set", "gamma=nan"],
            "gamma = NaN cannot be used: a number from 0 to 1 is wanted",
        ),
        (&["--n-envs", "0"], "at least one environment"),
        (&["--n-envs=-3"], "n_envs = -3 cannot be used"),
        (&["--seeds", "0"], "--seeds 0"),
        (&["--seeds", "18446744073709551615"], "1000 or fewer"),
        (&["--tune", "learning_rate=paper:4"], "B = 4 is even"),
        (&["--tune", "gamma=0.9:1.5"], "gamma = 1.5"),
        (&["--steps", "10"], "less than one rollout"),
        (&["--steps", "many"], "steps = many cannot be used"),
        (&["--set", "eval_episodes=0"], "eval_episodes = 0"),
        (&["--set", "hyper.write_rate=2"], "hyper.write_rate = 2"),
        (&["--set", "hyper.hold=never"], "hyper.hold = never"),
        (&["--policy", "squash=true"], "policy.squash = true cannot be used"),
        (&["--policy", "hidden=64,0"], "policy.hidden = 0"),
        (
            &["--policy", "shared=true", "--policy", "hidden="],
            "without hidden layers",
        ),
        (&["--policy", "activation=gelu"], "did you mean 'elu'?"),
    ];
    for (arguments, part) in cases {
        refused(&[&["CartPole-v1"], arguments].concat(), &[part]);
    }
}

#[test]
fn what_is_scheduled_is_checked_as_what_is_fixed() {
    for (tune, part) in [
        (
            "n_steps=5:1000",
            "cannot schedule n_steps = 1000: steps = 4000 is less than one rollout",
        ),
        (
            "n_steps=5:1000000000",
            "cannot schedule n_steps = 1000000000: these settings need about",
        ),
        (
            "learning_rate=around:1e300:5",
            "cannot schedule learning_rate by around:1e300:5: learning_rate = 7e-304 cannot be used",
        ),
        (
            "learning_rate=0.1:1e300",
            "learning_rate = 1e300 cannot be used: a number of at most 1e38",
        ),
        (
            "learning_rate=log:5e-3..1e-4:7",
            "the range 0.005..0.0001 is reversed; write 0.0001..0.005",
        ),
        ("gamma=uniform:0.1..0.9:1000000000", "more than 100000 values"),
    ] {
        let settings = ["--set", "a2c.learning_rate=7e-4", "--n-envs", "8"];
        let arguments = [&["CartPole-v1", "--tune", tune], SHORT, &settings].concat();
        refused(&arguments, &[part]);
    }
}

#[test]
fn a_setting_that_is_said_twice_is_refused_with_both() {
    for (arguments, parts) in [
        (
            &["--steps", "4000", "--set", "steps=5000"][..],
            ["steps is said twice", "by --steps 4000 and by --set steps=5000"],
        ),
        (
            &["--set", "gamma=0.9", "--set", "a2c.gamma=0.8"],
            [
                "a2c.gamma is said twice",
                "by --set gamma=0.9 and by --set a2c.gamma=0.8",
            ],
        ),
        (
            &["--tune", "gamma=0.9:0.99,gamma=0.8:0.9"],
            [
                "tune.gamma is said twice",
                "by --tune gamma=0.9:0.99 and by --tune gamma=0.8:0.9",
            ],
        ),
        (
            &["--policy", "hidden=64", "--set", "policy.hidden=32"],
            [
                "policy.hidden is said twice",
                "by --policy hidden=64 and by --set policy.hidden=32",
            ],
        ),
        (
            &["--set", "run.task=Pendulum-v1"],
            [
                "task is said twice",
                "by TASK CartPole-v1 and by --set run.task=Pendulum-v1",
            ],
        ),
    ] {
        refused(&[&["CartPole-v1"], arguments].concat(), &parts);
    }
    let place = Place::new();
    place.write(
        "twice.toml",
        "steps = 4000\n[run]\ntask = \"CartPole-v1\"\nsteps = 5000\n",
    );
    place
        .run(&["train", "--config", "twice.toml", "--out", "run"])
        .is_refused_with(&[
            "steps is said twice",
            "steps = 4000 in twice.toml",
            "steps = 5000 in twice.toml",
        ]);
    // The command line is laid upon the file, which is not twice.
    place.write(
        "once.toml",
        "[run]\ntask = \"CartPole-v1\"\nsteps = 5000\n[tune]\ngamma = \"0.9:0.99\"\n",
    );
    let once = ["train", "--config", "once.toml", "--print-config"];
    let ended = place.run(&[&once[..], &["--steps", "4000", "--tune", "gamma=0.8:0.9"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("\nsteps = 4000\n") && ended.stdout.contains("gamma = \"0.8:0.9\""));
}

#[test]
fn numbers_and_texts_of_any_size_are_answered_in_a_line() {
    refused(
        &["CartPole-v1", "--set", "hyper.write_rate=1e300"],
        &["write_rate = 1e300", "at most 3.4e38"],
    );
    refused(
        &["CartPole-v1", "--set", "learning_rate=1e300"],
        &["learning_rate = 1e300", "at most 1e38"],
    );
    refused(
        &["CartPole-v1", "--set", "steps=1e300"],
        &["steps = 1e300", "at most 9e15"],
    );
    refused(
        &["CartPole-v1", "--steps", "18446744073709551615"],
        &["more than the 10000000000000"],
    );
    refused(&["CartPole-v1", "--device", "gpu"], &["did you mean 'cuda'?"]);
    let long = "x".repeat(100_000);
    refused(&[&long], &["unknown task 'xxx", "at most 200 bytes"]);
    refused(&["CartPole-v1", "--set", &format!("{long}=1")], &["(100000 bytes)"]);
    refused(&["CartPole-v1", "--set", &format!("gamma={long}")], &["(100000 bytes)"]);
    refused(&["CartPole-v1", "--set", "gamma=\x1b[2J\r\n1"], &["gamma = "]);
    refused(&["--config", "/dev/zero"], &["longer than any file of settings"]);
    for (layers, part) in [("100000000", "GB"), (&"1,".repeat(200), "200 layers")] {
        refused(
            &[
                "CartPole-v1",
                "--algo",
                "acktr",
                "--policy",
                &format!("hidden={layers}"),
            ],
            &[part],
        );
    }
}

#[test]
fn malformed_text_is_answered_with_the_right_form() {
    refused(&["CartPole-v1", "--tune", "learning_rate"], &["NAME=VALUES"]);
    refused(
        &["CartPole-v1", "--tune", "learning_rate=fast"],
        &["'fast'", "not a number"],
    );
    refused(&["CartPole-v1", "--tune", "learning_rate=log:1e-4:7"], &["LOW..HIGH:B"]);
    refused(&["CartPole-v1", "--set", "hyper.hold"], &["KEY=VALUE"]);
    refused(&["CartPole-v1", "--policy", "shared"], &["--policy", "KEY=VALUE"]);
    refused(&[], &["which task?"]);
    let place = Place::new();
    place.write("broken.toml", "task = \"CartPole-v1\"\nsteps = \n");
    let broken = place.run(&["train", "--config", "broken.toml", "--out", "run"]);
    broken.is_refused_with(&["broken.toml", "line 2", "not valid TOML"]);
    let missing = place.run(&["train", "--config", "nothing.toml", "--out", "run"]);
    missing.is_refused_with(&["cannot read nothing.toml"]);
}

#[test]
fn a_flag_that_does_not_exist_is_the_command_lines_own_error() {
    let place = Place::new();
    let ended = place.run(&["train", "CartPole-v1", "--sceduler", "epgt"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("--scheduler"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn an_existing_run_is_not_replaced_unless_it_is_said() {
    let place = Place::new();
    let run = place.train("run", SHORT);
    let before = files(&run);
    let again = ["train", "CartPole-v1", "--steps", "4000", "--out", "run"];
    place
        .run(&again)
        .is_refused_with(&["run already holds a run", "--resume", "--force"]);
    assert_same_files(&before, &files(&run));
    // A mistake beside --force must not cost the run either.
    let mistaken = ["train", "CartPole-v1", "--steps", "1", "--out", "run", "--force"];
    place.run(&mistaken).is_refused_with(&["less than one rollout"]);
    assert_same_files(&before, &files(&run));
    assert_eq!(place.run(&[&again[..], &["--force", "--quiet"]].concat()).code, Some(0));
}

#[test]
fn what_cannot_be_a_run_is_not_resumed() {
    let place = Place::new();
    place
        .run(&["train", "--resume", "nowhere"])
        .is_refused_with(&["nowhere is not a run directory"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    place
        .run(&["train", "--resume", "empty"])
        .is_refused_with(&["empty is not a run directory"]);
    assert!(files(&place.path("empty")).is_empty());
    place.write("file", "text");
    place
        .run(&["train", "--resume", "file"])
        .is_refused_with(&["file is not a run directory"]);
    place
        .run(&["train", "CartPole-v1", "--out", "file"])
        .is_refused_with(&["file"]);
}

#[test]
fn a_damaged_checkpoint_is_refused_and_left_alone() {
    let place = Place::new();
    let run = place.train("run", SHORT);
    let checkpoint = run.join("checkpoint.bin");
    let good = std::fs::read(&checkpoint).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let mut newer = good.clone();
    newer[8] = 99;
    let cases: [(&[u8], &str); 6] = [
        (&good[..good.len() / 2], "truncated"),
        (&good[..4], "truncated"),
        (b"", "truncated"),
        (&flipped, "altered"),
        (
            b"a shopping list, long enough to be taken for something",
            "not a checkpoint",
        ),
        (&newer, "format 99"),
    ];
    for (content, part) in cases {
        std::fs::write(&checkpoint, content).unwrap();
        let before = files(&run);
        let ended = place.run(&["train", "--resume", "run"]);
        ended.is_refused_with(&["checkpoint.bin", part]);
        assert_same_files(&before, &files(&run));
    }
}

#[test]
fn an_edited_configuration_is_not_resumed() {
    let place = Place::new();
    let run = place.train("run", &[SHORT, &["--set", "a2c.gamma=0.99"]].concat());
    let config = std::fs::read_to_string(run.join("config.toml")).unwrap();
    std::fs::write(run.join("config.toml"), config.replace("gamma = 0.99", "gamma = 0.9")).unwrap();
    let before = files(&run);
    let ended = place.run(&["train", "--resume", "run"]);
    ended.is_refused_with(&["config.toml has changed since the checkpoint", "--config"]);
    assert_same_files(&before, &files(&run));
    std::fs::write(run.join("config.toml"), config.replace("gamma = 0.99", "gamma = ")).unwrap();
    place
        .run(&["train", "--resume", "run"])
        .is_refused_with(&["config.toml", "not valid TOML"]);
}

#[test]
fn a_missing_or_damaged_policy_is_not_played() {
    let place = Place::new();
    let run = place.train("run", SHORT);
    std::fs::create_dir(place.path("empty")).unwrap();
    place
        .run(&["eval", "empty"])
        .is_refused_with(&["empty holds no policy"]);
    place
        .run(&["eval", "nowhere"])
        .is_refused_with(&["nowhere holds no policy"]);
    place
        .run(&["eval", "run", "--episodes", "0"])
        .is_refused_with(&["--episodes 0"]);
    let good = std::fs::read(run.join("best.safetensors")).unwrap();
    let mut giant = good.clone();
    giant[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    for content in [&good[..good.len() / 2], &good[..3], b"not a policy at all", &giant, b""] {
        std::fs::write(run.join("best.safetensors"), content).unwrap();
        let ended = place.run(&["eval", "run"]);
        ended.is_refused_with(&["best.safetensors cannot be trusted: it is damaged", "--resume"]);
    }
}

#[test]
fn explain_names_what_it_cannot_read() {
    let place = Place::new();
    let run = place.train("run", &["--steps", "40000", "--n-envs", "8", "--set", "a2c.n_steps=5"]);
    place
        .run(&["explain", "nowhere"])
        .is_refused_with(&["nowhere is not a run directory"]);
    place
        .run(&["explain", "run", "--update", "1000"])
        .is_refused_with(&["update 1000 is beyond", "last one is 999"]);
    let decisions = run.join("decisions.csv");
    let good = std::fs::read_to_string(&decisions).unwrap();
    let line = good.lines().nth(1).unwrap().to_string();
    let mut fields: Vec<&str> = line.split(',').collect();
    fields[4] = "0.123";
    let off_the_grid = fields.join(",");
    let damages = [
        (good.replacen("random", "rndom", 1), "'rndom'"),
        (
            good.replacen("decision,update", "decision,updat", 1),
            "lacks the column 'update'",
        ),
        (good.replacen(&line, &format!("{line},1"), 1), "line 2"),
        (good.replacen("\n0,0,", "\n0,x,", 1), "'x'"),
        (
            good.replacen("\n0,0,", "\n0,-5,", 1),
            "no whole number in column 'update'",
        ),
        (good.replacen(',', ";", 5), "fields"),
        (String::new(), "no header"),
        (format!("{good}{line}\n"), "does not come after"),
        (good.replacen(&line, &off_the_grid, 1), "step = 0.123"),
    ];
    for (text, part) in damages {
        assert_ne!(text, good);
        std::fs::write(&decisions, text).unwrap();
        place.run(&["explain", "run"]).is_refused_with(&["decisions.csv", part]);
    }
    std::fs::write(&decisions, good).unwrap();
    std::fs::remove_file(run.join("metrics.csv")).unwrap();
    place.run(&["explain", "run"]).is_refused_with(&["metrics.csv"]);
}

#[test]
fn a_full_disk_ends_a_run_with_a_sentence_and_the_last_checkpoint_goes_on() {
    let place = Place::new();
    let arguments =
        "CartPole-v1 --steps 200000 --quiet --set defaults=task --set checkpoint_interval=10000 --set log_interval=200";
    let whole = place.bash(&format!("$EPGT train {arguments} --out whole"));
    assert_eq!(whole.code, Some(0), "{whole:?}");
    // No file may grow beyond 150 KB: the metrics of the first checkpoints fit, those of the whole run do not.
    let full = place.bash(&format!(
        "ulimit -f 150; trap '' XFSZ; exec $EPGT train {arguments} --out run"
    ));
    full.is_refused_with(&["cannot write run/", "file too large", "intact"]);
    let resumed = place.run(&["train", "--resume", "run", "--quiet"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    common::assert_same_run(&place.path("whole"), &place.path("run"));
}

#[test]
fn a_run_that_diverges_is_stopped_with_the_cause() {
    let place = Place::new();
    let train = ["train", "CartPole-v1", "--steps", "4000", "--quiet", "--out", "run"];
    let ended = place.run(
        &[
            &train[..],
            &["--set", "step_control=rate", "--set", "a2c.learning_rate=1e30"],
        ]
        .concat(),
    );
    ended.is_refused_with(&["stopped after", "not finite", "lower learning_rate"]);
}

#[test]
fn output_that_cannot_be_written_is_told_and_a_reader_that_leaves_is_no_fault() {
    let place = Place::new();
    place.train("run", SHORT);
    for command in [
        "tasks",
        "eval run --episodes 1",
        "explain run",
        "train CartPole-v1 --print-config",
    ] {
        let full = place.bash(&format!("$EPGT {command} > /dev/full"));
        full.is_refused_with(&["cannot write the output: no space left on device"]);
        let closed = place.bash(&format!("set -o pipefail; $EPGT {command} | true"));
        assert_eq!((closed.code, closed.stderr.as_str()), (Some(0), ""), "{command}");
    }
    let unheard = place.bash("$EPGT train CartPole-v1 --steps 4000 --out unheard 2> /dev/full");
    assert_eq!(unheard.code, Some(0), "{unheard:?}");
}
