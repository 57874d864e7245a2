//! Videos of policies: what is written, and what is said where none can be.

mod common;

use std::os::unix::fs::PermissionsExt;

use common::{Ended, Place, files};
use epgt_testing::needs;

/// How many frames a GIF has: each begins with the block that says how long it is shown.
fn frames(gif: &[u8]) -> usize {
    gif.windows(4).filter(|bytes| *bytes == [0x21, 0xF9, 4, 4]).count()
}

#[test]
fn a_video_shows_the_first_episodes_and_says_how_large_it_is() {
    let place = Place::new();
    place.train("run", &["--steps", "4000"]);
    let ended = place.run(&["eval", "run", "--episodes", "3", "--video", "one.gif"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let one = std::fs::read(place.path("one.gif")).unwrap();
    assert_eq!(&one[..6], b"GIF89a");
    assert_eq!(&one[6..10], [600u16.to_le_bytes(), 400u16.to_le_bytes()].as_flattened());
    assert!(frames(&one) > 1);
    let line = format!(
        "one.gif: {} frames of 1 episode, {} kB",
        frames(&one),
        one.len().div_ceil(1000)
    );
    assert_eq!(ended.stdout.lines().last(), Some(line.as_str()));

    let arguments = ["eval", "run", "--episodes", "3", "--json", "--video", "three.gif"];
    let ended = place.run(&[&arguments[..], &["--video-episodes", "3"]].concat());
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    let three = std::fs::read(place.path("three.gif")).unwrap();
    assert!(frames(&three) > frames(&one));
    assert_eq!(report["video"]["frames"], frames(&three));
    assert_eq!(report["video"]["bytes"], three.len());
    assert_eq!(report["video"]["path"], "three.gif");
}

#[test]
fn the_same_policy_and_seed_give_the_same_video() {
    let place = Place::new();
    place.train("run", &["--steps", "4000"]);
    let film = |name: &str, seed: &str| {
        let ended = place.run(&["eval", "run", "--episodes", "1", "--seed", seed, "--video", name]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        std::fs::read(place.path(name)).unwrap()
    };
    let first = film("a.gif", "0");
    assert!(film("b.gif", "0") == first);
    assert!(film("c.gif", "1") != first);
}

#[test]
fn a_video_that_cannot_be_made_is_refused_and_leaves_nothing() {
    let place = Place::new();
    place.train("run", &["--steps", "4000"]);
    let before = files(&place.path("."));
    let refused = |arguments: &[&str], parts: &[&str]| {
        place
            .run(&[&["eval", "run"], arguments].concat())
            .is_refused_with(parts);
    };
    refused(
        &["--video", "out.png"],
        &["out.png is neither an MP4 nor a GIF", ".gif"],
    );
    refused(&["--video", ".."], &["is neither an MP4 nor a GIF"]);
    refused(&["--video", "nowhere/out.gif"], &["nowhere/out.gif cannot be written"]);
    refused(
        &["--video", "out.gif", "--video-episodes", "0"],
        &["--video-episodes 0"],
    );
    refused(&["--video", "out.gif", "--video-episodes", "101"], &["use 1 to 100"]);
    std::fs::create_dir(place.path("folder.gif")).unwrap();
    refused(&["--video", "folder.gif"], &["folder.gif cannot be written"]);
    common::assert_same_files(&before, &files(&place.path(".")));
}

/// A program that stands in for ffmpeg: what it does with its arguments, of which the last is the file, and with what
/// it is given.
fn stand_in(place: &Place, name: &str, script: &str) -> String {
    let path = place.write(name, &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Evaluates with this ffmpeg and nothing else on PATH than the system's own.
fn eval(place: &Place, ffmpeg: &str, arguments: &[&str]) -> Ended {
    let mut command = place.command(&[&["eval", "run", "--episodes", "2"], arguments].concat());
    command.env("EPGT_FFMPEG", ffmpeg);
    Ended::of(command.output().expect("the program starts"))
}

/// Says its arguments and counts what it is given.
const ENCODER: &str = "for last; do :; done\necho \"$*\" > said.txt\nwc -c > \"$last\"";

#[test]
fn an_mp4_is_what_ffmpeg_makes_of_raw_frames() {
    let place = Place::new();
    place.train("run", &["--steps", "400"]);
    let ffmpeg = stand_in(&place, "encoder", ENCODER);
    let ended = eval(&place, &ffmpeg, &["--json", "--video", "out.mp4"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let frames = report["video"]["frames"].as_u64().unwrap();
    let counted = std::fs::read_to_string(place.path("out.mp4")).unwrap();
    assert_eq!(report["video"]["bytes"], counted.len());
    // Each frame once, the last for a second, which are 50 frames.
    assert_eq!(counted.trim().parse(), Ok((frames + 49) * 600 * 400 * 3));
    let said = std::fs::read_to_string(place.path("said.txt")).unwrap();
    for part in ["-video_size 600x400 -framerate 50.0", "-i pipe:0", "-pix_fmt yuv420p"] {
        assert!(said.contains(part), "{said}");
    }
    // Without an ending it is what can be made.
    let ended = eval(&place, &ffmpeg, &["--video", "two", "--video-episodes", "2"]);
    assert!(ended.stdout.contains("\ntwo.mp4: "), "{ended:?}");
    let mut command = place.command(&["eval", "run", "--episodes", "1", "--video", "three"]);
    let ended = Ended::of(
        command
            .env_remove("EPGT_FFMPEG")
            .env("PATH", "/nowhere")
            .output()
            .unwrap(),
    );
    assert!(ended.stdout.contains("\nthree.gif: "), "{ended:?}");
}

#[test]
fn an_ffmpeg_that_fails_costs_the_video_and_nothing_else() {
    let place = Place::new();
    place.train("run", &["--steps", "400"]);
    std::fs::write(place.path("out.mp4"), "an older video").unwrap();
    let early = stand_in(&place, "early", "echo noise >&2\necho Unknown encoder >&2\nexit 3");
    let late = stand_in(&place, "late", "cat > /dev/null\necho No space left >&2\nexit 1");
    let mute = stand_in(&place, "mute", "cat > /dev/null");
    let before = files(&place.path("."));
    for (ffmpeg, why) in [
        (&early, "(Unknown encoder)"),
        (&late, "(No space left)"),
        (&mute, "(exit status: 0)"),
    ] {
        let ended = eval(&place, ffmpeg, &["--video", "out.mp4"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stdout.starts_with("CartPole-v1: return "), "{ended:?}");
        let sentence = format!("epgt: ffmpeg could not make out.mp4 {why}; write a GIF with --video out.gif\n");
        assert_eq!(ended.stderr, sentence);
    }
    let broken = place.write("broken", "not a program").display().to_string();
    let ended = eval(&place, &broken, &["--video", "out.mp4"]);
    assert!(ended.stderr.contains("does not run"), "{ended:?}");
    std::fs::remove_file(place.path("broken")).unwrap();
    // What is not there is told before anything is played.
    eval(&place, "./none", &["--video", "out.mp4"]).is_refused_with(&["EPGT_FFMPEG is ./none"]);
    let mut command = place.command(&["eval", "run", "--video", "out.mp4"]);
    let ended = Ended::of(
        command
            .env_remove("EPGT_FFMPEG")
            .env("PATH", "/nowhere")
            .output()
            .unwrap(),
    );
    ended.is_refused_with(&["out.mp4 needs ffmpeg", "EPGT_FFMPEG", "--video out.gif"]);
    common::assert_same_files(&before, &files(&place.path(".")));
}

#[needs(python)]
#[test]
fn a_bridged_task_is_filmed() {
    let place = Place::new();
    let run = place.train("run", &["gym:CartPole-v1", "--algo", "a2c", "--steps", "256"]);
    let ended = place.run(&["eval", "run", "--episodes", "1", "--json", "--video", "out.gif"]);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    assert_eq!(
        report["video"]["frames"],
        report["mean_length"].as_f64().unwrap() as u64 + 1
    );
    let gif = std::fs::read(run.with_file_name("out.gif")).unwrap();
    assert_eq!(&gif[6..10], [600u16.to_le_bytes(), 400u16.to_le_bytes()].as_flattened());
}

#[needs(ale_py)]
#[test]
fn a_game_is_filmed_from_the_consoles_screen() {
    let place = Place::new();
    let settings = "ALE/Pong-v5 --steps 64 --env-arg max_num_frames_per_episode=80 --set ppo.n_steps=16 --set ppo.batch_size=16 \
        --set ppo.n_epochs=1 --set policy.conv_channels=4,4 --set policy.conv_kernels=8,4 --set policy.conv_strides=4,2 \
        --set policy.image_hidden=16 --set eval_interval=0 --set n_envs=2 --set final_episodes=1";
    place.train("run", &settings.split_whitespace().collect::<Vec<_>>());
    let ended = place.run(&["eval", "run", "--episodes", "1", "--video", "out.gif"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("\nout.gif: 21 frames of 1 episode, "),
        "{ended:?}"
    );
    let gif = std::fs::read(place.path("out.gif")).unwrap();
    assert_eq!(&gif[6..10], [320u16.to_le_bytes(), 420u16.to_le_bytes()].as_flattened());
}
