//! The Atari tasks are ale-py's games: the same bytes, rewards and ends, with lives and scores as this program counts
//! them.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has ale-py; without it there is nothing to play, and the
//! tests are ignored.

#[path = "common/bridge.rs"]
mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use common::Rows;
use epgt_envs::{Rows as Seen, TaskSpec, VecEnv, find};
use epgt_rng::Pcg64;
use epgt_testing::needs;

fn game(id: &str, options: &[(&str, &str)]) -> TaskSpec {
    find(id).unwrap().with(options.iter().copied()).unwrap()
}

/// What the Python script beside this file says.
fn ale(arguments: &[&str], said: &str) -> Vec<String> {
    let mut python = Command::new(std::env::var_os("EPGT_PYTHON").unwrap())
        .arg("tests/atari_steps.py")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(String::from)
        .collect()
}

/// Zlib's checksum.
fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u64, 0u64);
    for &byte in bytes {
        a = (a + u64::from(byte)) % 65521;
        b = (b + a) % 65521;
    }
    (b << 16 | a) as u32
}

fn checksum(rows: Seen<'_>) -> String {
    match rows {
        Seen::Bytes(bytes) => adler32(bytes).to_string(),
        Seen::Numbers(_) => panic!("games are seen as pixels"),
    }
}

/// A trajectory of random actions.
#[derive(Default)]
struct Played {
    /// The actions, one line per step.
    said: String,
    /// What was seen, earned and ended, one line for the reset and for each step.
    lines: Vec<String>,
    /// Lives lost, as far as learning is told.
    lost: usize,
    /// Returns and lengths of the games that ended, and what the rewards and steps between their ends come to.
    games: Vec<(f64, u32)>,
    summed: Vec<(f64, u32)>,
    highest: f32,
}

fn play(task: &TaskSpec, seed: u64, steps: usize) -> Played {
    let n = 2;
    let mut envs = VecEnv::new(task, n, seed).unwrap();
    let mut rows = Rows::of(&envs);
    let (mut rng, mut played) = (Pcg64::from_seed(11), Played::default());
    let mut running = vec![(0.0, 0); n];
    envs.reset(&mut rows.observations).unwrap();
    played.lines.push(checksum(rows.observations.all()));
    for _ in 0..steps {
        let mut actions = vec![0.0; n];
        let space = envs.action_space().clone();
        actions.chunks_exact_mut(1).for_each(|row| space.sample(&mut rng, row));
        rows.step(&mut envs, &actions).unwrap();
        let mut over = vec![false; n];
        for (game, &reward) in running.iter_mut().zip(&rows.rewards) {
            game.0 += f64::from(reward);
            game.1 += 1;
        }
        for game in envs.finished() {
            over[game.env] = true;
            assert!(game.counted && (rows.terminated[game.env] || rows.truncated[game.env]));
            played.games.push((game.episode_return, game.length));
            played.summed.push(std::mem::take(&mut running[game.env]));
        }
        let lost: Vec<bool> = (0..n).map(|i| rows.terminated[i] && !over[i]).collect();
        played.lost += lost.iter().filter(|lost| **lost).count();
        played.highest = rows.rewards.iter().copied().fold(played.highest, f32::max);
        let mut words = vec![checksum(rows.observations.all())];
        words.extend(rows.rewards.iter().map(f32::to_string));
        words.extend(lost.iter().chain(&over).map(|&end| u8::from(end).to_string()));
        let ended = (0..n).filter(|&i| over[i]);
        words.extend(ended.map(|i| checksum(envs.final_observation(i))));
        played.lines.push(words.join(" "));
        let said: Vec<String> = actions.iter().map(f32::to_string).collect();
        played.said += &format!("{}\n", said.join(" "));
    }
    played
}

#[needs(ale_py)]
#[test]
fn a_game_goes_byte_for_byte_as_in_ale_py() {
    for (id, rom, sticky) in [
        ("BreakoutNoFrameskip-v4", "breakout", "0"),
        ("ALE/Pong-v5", "pong", "0.25"),
    ] {
        let task = game(id, &[]);
        let played = play(&task, 5, 300);
        let theirs = ale(&["play", rom, "5", "2", sticky], &played.said);
        for (step, (ours, theirs)) in played.lines.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "{id}, step {step}");
        }
        assert_eq!(played.lines.len(), theirs.len());
        assert_eq!(played.games, played.summed, "{id}");
        if rom == "breakout" {
            assert!(
                played.lost >= 4 * played.games.len() && !played.games.is_empty(),
                "{id}"
            );
        }
    }
}

#[needs(ale_py)]
#[test]
fn the_same_seed_is_the_same_game_and_another_is_another() {
    let task = game("ALE/MsPacman-v5", &[]);
    let once = play(&task, 7, 60);
    assert_eq!(once.lines, play(&task, 7, 60).lines);
    assert_ne!(once.lines, play(&task, 8, 60).lines);
}

#[needs(ale_py)]
#[test]
fn a_lost_life_ends_what_is_learned_from_but_not_the_game_and_scores_are_whole() {
    let task = game("QbertNoFrameskip-v4", &[]);
    let played = play(&task, 1, 400);
    assert!(!played.games.is_empty() && played.games == played.summed);
    assert!(
        played.lost >= 3 * played.games.len(),
        "three lives are lost before the last"
    );
    assert!(played.highest >= 25.0, "a cube is worth 25 points");

    let whole = game("QbertNoFrameskip-v4", &[("episodic_life", "false")]);
    let whole = play(&whole, 1, 400);
    assert_eq!((whole.lost, &whole.games), (0, &played.games));
    let seen = |played: &Played| -> Vec<String> {
        let first = |line: &String| line.split(' ').next().unwrap().to_string();
        played.lines.iter().map(first).collect()
    };
    assert_eq!(seen(&whole), seen(&played), "the game itself is the same");
}

#[needs(ale_py)]
#[test]
fn a_game_is_cut_at_its_limit_of_frames() {
    let task = game("PongNoFrameskip-v4", &[("max_num_frames_per_episode", "402")]);
    let played = play(&task, 3, 210);
    assert!(played.games.len() == 4 && played.games.iter().all(|game| game.1 == 101));
}

#[needs(ale_py)]
#[test]
fn one_environment_plays_the_whole_game() {
    let task = game("BreakoutNoFrameskip-v4", &[]);
    let mut env = task.make().unwrap();
    let mut pixels = vec![0; 4 * 84 * 84];
    env.reset(Some(5), &mut []).unwrap();
    let (mut steps, mut earned) = (0, 0.0);
    loop {
        // Doing nothing: the ball comes because FIRE is pressed after each lost life.
        let step = env.step(&[0.0], &mut []).unwrap();
        (steps, earned) = (steps + 1, earned + step.reward);
        assert!(steps < 1000, "the game waits for FIRE");
        if step.terminated {
            break;
        }
    }
    assert!(steps > 60, "five balls take longer than {steps} steps");
    assert!(earned < 20.0);
    env.image(&mut pixels);
    assert!(pixels.iter().any(|&pixel| pixel > 0));
}

#[needs(ale_py)]
#[test]
fn every_game_has_ale_pys_name_and_those_of_the_paper_and_the_odd_ones_its_actions() {
    let loaded = "alien beam_rider breakout demon_attack lost_luggage ms_pacman pong qbert riverraid seaquest skiing space_invaders";
    let arguments: Vec<&str> = ["games"].into_iter().chain(loaded.split(' ')).collect();
    let theirs = ale(&arguments, "");
    let with_actions = theirs.iter().filter(|line| line.contains(' ')).count();
    assert_eq!(with_actions, loaded.split(' ').count());
    assert_eq!(theirs.len(), epgt_envs::atari::names().count());
    for (line, name) in theirs.iter().zip(epgt_envs::atari::names()) {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[0], name);
        let task = find(&format!("ALE/{name}-v5")).unwrap();
        let all = task.with([("full_action_space", "true")]).unwrap();
        let every = find("ALE/Adventure-v5").unwrap().action;
        for (task, indices) in [task, all].into_iter().zip(&words[1..]) {
            let names: Vec<&str> = task.action.iter().map(|entry| &*entry.name).collect();
            let indices = indices.split(',').map(|index| index.parse::<usize>().unwrap());
            assert_eq!(
                names,
                indices.map(|index| &*every[index].name).collect::<Vec<_>>(),
                "{name}"
            );
        }
    }
}
