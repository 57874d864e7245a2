//! Videos of policies: what is written, and what is said where none can be.

mod common;

use common::{Place, files};

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
    refused(&["--video", "out.mp4"], &["out.mp4 is not a GIF", ".gif"]);
    refused(&["--video", "gif"], &["--video gif is not a GIF"]);
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
