//! Pictures of foreign environments: what Gymnasium renders, what a game's screen shows, and nothing where nobody asks.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has Gymnasium; without it the tests are ignored.

#[path = "common/bridge.rs"]
mod common;

use std::process::Command;

use common::{own, task};
use epgt_envs::{Color, Env, Picture, TaskSpec};
use epgt_testing::needs;

/// One copy of a task, begun with this seed.
fn begun(task: &TaskSpec, seed: u64, film: bool) -> Box<dyn Env> {
    let mut env = task.make().unwrap();
    if film {
        env.film();
    }
    env.reset(Some(seed), &mut vec![0.0; env.observation_space().size()])
        .unwrap();
    env
}

fn shown(env: &mut dyn Env) -> (usize, Vec<Color>) {
    match env.picture().unwrap() {
        Some(Picture::Pixels { width, pixels }) => (width, pixels),
        other => panic!("{other:?}"),
    }
}

/// Zlib's checksum of the pixels.
fn adler32((_, pixels): &(usize, Vec<Color>)) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for &byte in pixels.as_flattened() {
        a = (a + u32::from(byte)) % 65521;
        b = (b + a) % 65521;
    }
    b << 16 | a
}

#[needs(python)]
#[test]
fn a_filmed_environment_shows_what_gymnasium_renders_up_to_the_last_moment() {
    let script = "import gymnasium, zlib\nenv = gymnasium.make('CartPole-v1', render_mode='rgb_array')\nenv.reset(seed=7)\nover = False\n\
                  while True:\n  print(zlib.adler32(env.render().tobytes()))\n  if over: break\n  over = env.step(1)[2]";
    let python = std::env::var_os("EPGT_PYTHON").unwrap();
    let theirs = Command::new(python).args(["-c", script]).output().unwrap();
    let theirs = String::from_utf8(theirs.stdout).unwrap();

    let cart = task("gym:CartPole-v1", &[]).unwrap();
    let (mut env, mut blind) = (begun(&cart, 7, true), begun(&cart, 7, false));
    assert_eq!(env.steps_per_second(), 50.0);
    let mut ours = format!("{}\n", adler32(&shown(&mut *env)));
    let (mut seen, mut same) = ([0.0; 4], [0.0; 4]);
    loop {
        let step = env.step(&[1.0], &mut seen).unwrap();
        ours += &format!("{}\n", adler32(&shown(&mut *env)));
        // Nothing but the picture is different.
        assert_eq!(step, blind.step(&[1.0], &mut same).unwrap());
        assert_eq!(seen, same);
        assert_eq!(blind.picture(), Ok(None));
        if step.terminated {
            break;
        }
    }
    assert!(ours.lines().count() > 5);
    assert_eq!(ours, theirs);
    // The next episode shows its own beginning.
    env.reset(None, &mut seen).unwrap();
    assert_ne!(
        ours.lines().last(),
        Some(adler32(&shown(&mut *env)).to_string().as_str())
    );
    assert_eq!(shown(&mut *env).0, 600);
}

#[needs(python)]
#[test]
fn an_environment_that_renders_nothing_has_no_picture() {
    // Neither the word `render_mode` nor pictures; then pictures of several at a time.
    assert_eq!(begun(&own("DoNothing", &[]), 0, true).picture(), Ok(None));
    let mut several = begun(&own("cart_poles", &[("rendered", "true")]), 0, true);
    assert_eq!(shown(&mut *several).0, 600);
    let refused = begun(&own("Painter", &[("painted", "[1, 2]")]), 0, true).picture();
    let sentence = refused.unwrap_err().to_string();
    assert!(
        sentence
            .contains("returned [1, 2] of type list from render, but an array of height x width x 3 bytes is needed"),
        "{sentence}"
    );
    let raised = begun(&own("Painter", &[("painted", "null")]), 0, true).picture();
    let sentence = raised.unwrap_err().to_string();
    assert!(
        sentence.contains("raised RuntimeError when it was rendered: no canvas"),
        "{sentence}"
    );
}

#[needs(ale_py)]
#[test]
fn a_filmed_game_shows_the_consoles_screen_and_goes_as_one_that_is_not() {
    let game = task("ALE/Breakout-v5", &[("max_num_frames_per_episode", "240")]).unwrap();
    let (mut env, mut blind) = (begun(&game, 3, true), begun(&game, 3, false));
    assert_eq!(env.steps_per_second(), 15.0);
    let (mut seen, mut same) = (vec![0; 4 * 84 * 84], vec![0; 4 * 84 * 84]);
    let first = shown(&mut *env);
    assert_eq!((first.0, first.1.len()), (160, 160 * 210));
    assert!(first.1.iter().any(|[red, _, blue]| red > blue), "bricks are red");
    let (mut screens, mut steps) = (vec![first], 0);
    loop {
        let action = [(steps % 4) as f32];
        let (step, other) = (env.step(&action, &mut []), blind.step(&action, &mut []));
        assert_eq!(step, other);
        env.image(&mut seen);
        blind.image(&mut same);
        assert!(seen == same);
        screens.push(shown(&mut *env));
        steps += 1;
        // A game that is cut is over for the worker, which has begun the next; its last screen is still there.
        if step.unwrap().truncated {
            break;
        }
    }
    assert_eq!(steps, 60);
    // The screen is that of the game: its brightness is that of the newest frame that a policy sees.
    let grey =
        |[red, green, blue]: &Color| 0.299 * f64::from(*red) + 0.587 * f64::from(*green) + 0.114 * f64::from(*blue);
    let (_, last) = screens.last().unwrap();
    let bright = last.iter().map(grey).sum::<f64>() / last.len() as f64;
    let newest = &seen[3 * 84 * 84..];
    let known = newest.iter().map(|&x| f64::from(x)).sum::<f64>() / newest.len() as f64;
    assert!((bright - known).abs() < 1.0, "{bright} and {known}");
    screens.dedup();
    assert!(screens.len() > 20);
}
