//! Policy files and run directories with flipped, cut and spliced bytes, edited headers and missing parts: each is
//! played, resumed, explained, reported or compared, or refused in a sentence.

mod fuzz_common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use epgt_train::{Config, Training, artifact};
use fuzz_common::{Case, ODD, QUICK, copy, fuzz, make_run, place};

/// Numbers that a header may claim.
const CLAIMS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "3.5",
    "null",
    "\"x\"",
    "[]",
    "4294967296",
    "1099511627776",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e300",
    "true",
    "{}",
];

/// The runs that are spoilt.
const RUNS: &[&str] = &["epgt", "ppo", "acktr", "images", "hoof", "pbt", "grid"];

fn make_runs(directory: &Path) {
    let train = |name: &str, task: &str, more: &[&str]| {
        make_run(
            directory,
            &[&["train", task, "--out", name, "--steps", "400"], QUICK, more].concat(),
        );
    };
    train(
        "epgt",
        "CartPole-v1",
        &["--set", "hyper.hold=2", "--policy", "hidden=8"],
    );
    train(
        "ppo",
        "Pendulum-v1",
        &[
            "--algo",
            "ppo",
            "--policy",
            "hidden=8,4",
            "--policy",
            "squash=true",
            "--preset",
            "paper",
        ],
    );
    train(
        "acktr",
        "MountainCar-v0",
        &[
            "--algo",
            "acktr",
            "--policy",
            "hidden=8",
            "--policy",
            "shared=true",
            "--scheduler",
            "dqn",
        ],
    );
    let small = [
        "--policy",
        "conv_channels=2,2,2",
        "--policy",
        "image_hidden=4",
        "--scheduler",
        "bandit",
    ];
    train("images", "PixelCatch-v0", &small);
    train(
        "hoof",
        "CartPole-v1",
        &["--scheduler", "hoof", "--env-arg", "sutton_barto_reward=true"],
    );
    let exchange = [
        "--set",
        "population.ready=100",
        "--policy",
        "hidden=8",
        "--set",
        "population.size=2",
    ];
    train("pbt", "CartPole-v1", &[&["--scheduler", "pbt"], &exchange[..]].concat());
    train(
        "grid",
        "CartPole-v1",
        &[
            "--scheduler",
            "grid",
            "--tune",
            "gamma=0.9:0.99",
            "--policy",
            "hidden=8",
        ],
    );
}

/// Makes the same runs again, each stopped half way.
fn make_halves(directory: &Path) {
    for name in RUNS {
        let text = fs::read_to_string(directory.join(name).join("config.toml")).expect("a configuration");
        let config = Config::build(&Config::read_toml(&text).expect("TOML")).expect("a valid configuration");
        let mut half = Training::create(config, &directory.join(format!("{name}-half")), false).expect("a run");
        // A rollout has 16 steps and the run 400; a run that is asked to stop makes one more.
        for _ in 0..12 {
            half.train(&AtomicBool::new(true), &mut ()).expect("a part of a run");
        }
    }
}

/// All files below a directory, in one order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("a readable directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

/// Spoils the bytes of a file in one of many ways.
fn spoil(case: &mut Case, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let length = bytes.len().max(1);
    match case.below(9) {
        0 | 1 => {
            for _ in 0..1 + case.below(4) {
                let (at, bit) = (case.below(length), case.below(8));
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
        }
        2 => bytes.truncate(case.below(length)),
        3 => {
            let (from, to) = (case.below(length), case.below(other.len().max(1)));
            bytes.truncate(from);
            bytes.extend_from_slice(&other[to.min(other.len())..]);
        }
        4 => {
            let (from, to) = (case.below(length), case.below(length));
            bytes.drain(from.min(to)..from.max(to));
        }
        5 => {
            let (from, to) = (case.below(length), case.below(length));
            let again = bytes[from.min(to)..from.max(to)].to_vec();
            bytes.extend(again);
        }
        6 => {
            let at = case.below(length);
            let odd = case.pick(ODD).as_bytes().to_vec();
            bytes.splice(at..at, odd);
        }
        7 => bytes = (0..case.below(200)).map(|_| case.below(256) as u8).collect(),
        _ => bytes = edit(case, &bytes),
    }
    bytes
}

/// Puts another number in the place of one in a text, or a line in the place of another.
fn edit(case: &mut Case, bytes: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return bytes.to_vec();
    };
    if case.chance(0.3) {
        let mut lines: Vec<&str> = text.lines().collect();
        if lines.len() > 1 {
            let (a, b) = (case.below(lines.len()), case.below(lines.len()));
            match case.below(3) {
                0 => lines.swap(a, b),
                1 => lines[a] = lines[b],
                _ => {
                    lines.remove(a);
                }
            }
        }
        return (lines.join("\n") + "\n").into_bytes();
    }
    let starts: Vec<usize> = (0..text.len())
        .filter(|&i| text.as_bytes()[i].is_ascii_digit() && (i == 0 || !text.as_bytes()[i - 1].is_ascii_digit()))
        .collect();
    if starts.is_empty() {
        return bytes.to_vec();
    }
    let at = case.pick(&starts);
    let end = text[at..]
        .find(|character: char| !character.is_ascii_digit())
        .map_or(text.len(), |n| at + n);
    let claim = if case.chance(0.5) {
        case.pick(CLAIMS)
    } else {
        case.pick(ODD)
    };
    format!("{}{claim}{}", &text[..at], &text[end..]).into_bytes()
}

/// A policy file whose header is edited, with the right length in front of it or a wrong one.
fn edit_header(case: &mut Case, bytes: &[u8]) -> Vec<u8> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Vec::new();
    };
    let (header, data) = rest.split_at((u64::from_le_bytes(*length) as usize).min(rest.len()));
    let mut header = header.to_vec();
    for _ in 0..1 + case.below(2) {
        header = edit(case, &header);
    }
    let length = match case.chance(0.1) {
        true => case.pick(&[0, 1, 100, u64::from(u32::MAX), u64::MAX, 1 << 40]),
        false => header.len() as u64,
    };
    [&length.to_le_bytes(), &header[..], data].concat()
}

/// Changes some bits of what a checkpoint holds and seals it again, as one who means harm would, and goes on from it.
fn resume_forged(case: &mut Case) -> Result<(), String> {
    let checkpoint = case.path("run/checkpoint.bin");
    let mut payload = artifact::open(&checkpoint).expect("a whole checkpoint");
    // It begins with the configuration, which is compared with the file's.
    let config = fs::read(case.path("run/config.toml")).expect("a configuration").len();
    for _ in 0..1 + case.below(3) {
        let (at, bit) = (case.below(payload.len() - config), case.below(8));
        payload[config + at] ^= 1 << bit;
    }
    fs::write(&checkpoint, artifact::seal(payload)).expect("a file can be written");
    case.run(&["train", "--resume", "run", "--quiet"]).map(|_| ())
}

#[test]
fn every_spoilt_file_is_read_for_what_it_is_or_refused_in_a_sentence() {
    let fixtures = place();
    make_runs(fixtures.path());
    make_halves(fixtures.path());
    fuzz("fuzz_files", |case| {
        let name = format!("{}{}", case.pick(RUNS), case.pick(&["", "-half"]));
        copy(&fixtures.path().join(name), &case.path("run"));
        if case.chance(0.2) {
            return resume_forged(case);
        }
        let all = files(&case.path("run"));
        for _ in 0..1 + case.below(2) {
            // Policies are what others hand around, so every third file is one.
            let policies: Vec<&PathBuf> = all
                .iter()
                .filter(|path| path.extension().is_some_and(|end| end == "safetensors"))
                .collect();
            let path = match case.chance(0.35) {
                true => case.pick(&policies),
                false => &all[case.below(all.len())],
            };
            let Ok(bytes) = fs::read(path) else { continue };
            let other = fs::read(&all[case.below(all.len())]).unwrap_or_default();
            match case.below(20) {
                0 => fs::remove_file(path).expect("a file can be removed"),
                1 => {
                    fs::remove_file(path).expect("a file can be removed");
                    fs::create_dir(path).expect("a directory can be made");
                }
                2..=9 if policies.contains(&path) => {
                    fs::write(path, edit_header(case, &bytes)).expect("a file can be written")
                }
                _ => fs::write(path, spoil(case, &bytes, &other)).expect("a file can be written"),
            }
        }
        let best = "run/best.safetensors";
        let lines: &[&[&str]] = &[
            &["eval", "run", "--episodes", "1"],
            &["eval", best, "--episodes", "1", "--json"],
            &["eval", "run", "--last", "--episodes", "1"],
            &["train", "--resume", "run", "--quiet"],
            &["explain", "run"],
            &["explain", "run", "--update", "3"],
            &["report", "run"],
            &["compare", "run", "run"],
        ];
        let weights = [0, 0, 1, 1, 2, 3, 3, 3, 4, 4, 5, 6, 7];
        let line = lines[case.pick(&weights)];
        case.run(line).map(|_| ())
    });
}
