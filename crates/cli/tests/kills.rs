//! Kills at random moments, over all methods and schedulers: a run that is resumed ends as one that was never killed,
//! or starts over cleanly, and nothing of the user's is ever touched. `EPGT_KILLS` says how many kills there are.

mod common;

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::{Place, files};
use epgt_rng::Pcg64;

/// Kills where nothing else is said.
const USUAL_KILLS: usize = 40;

/// A kind of run, each about a second long in a test, with more checkpoints than a user would ask for.
const KINDS: [&str; 20] = [
    "--algo a2c --scheduler epgt --steps 60000",
    "--algo a2c --scheduler epgt --preset paper --steps 3000",
    "--algo a2c --scheduler fixed --steps 60000",
    "--algo a2c --scheduler random --steps 60000",
    "--algo a2c --scheduler bandit --steps 60000",
    "--algo a2c --scheduler dqn --steps 20000",
    "--algo a2c --scheduler lrrl --steps 60000",
    "--algo a2c --scheduler ultho --tune learning_rate=paper:3,ent_coef=0:0.01 --steps 60000",
    "--algo a2c --scheduler hoof --set hoof.rate_candidates=10 --steps 10000",
    "--algo a2c --scheduler meta-gradient --steps 30000",
    "--algo ppo --scheduler epgt --tune learning_rate=paper:3,clip_range=0.1:0.2,n_steps=32:64 --steps 20000",
    "--algo ppo --scheduler dqn --steps 10000",
    "--algo ppo --scheduler fixed --set final_episodes=20 --set best_by=training --steps 20000",
    "--algo acktr --scheduler epgt --tune kl_clip=0.001:0.002 --steps 15000",
    "--algo acktr --scheduler bandit --steps 15000",
    "--algo a2c --scheduler pbt --set population.ready=2000 --steps 15000",
    "--algo ppo --scheduler pb2 --set population.ready=2000 --set population.size=3 --steps 6000",
    "--algo acktr --scheduler grid --tune kl_clip=0.001:0.002 --steps 5000",
    "--algo a2c --scheduler random-search --set population.runs=3 --steps 10000",
    "--algo a2c --scheduler fixed --seeds 3 --steps 10000",
];

/// Starts a run, or goes on with it where it has begun.
fn start_or_resume(place: &Place, name: &str, kind: &str) -> Child {
    let mut all = vec!["train", "--quiet", "--threads", "1"];
    match place.path(name).join("epgt.json").exists() {
        true => all.extend(["--resume", name]),
        false => {
            all.extend(["CartPole-v1", "--set", "checkpoint_interval=500", "--out", name]);
            all.extend(kind.split(' '));
        }
    }
    let mut command = place.command(&all);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// The policies that a directory holds in the end.
fn policies(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let all = files(directory).into_iter();
    all.filter(|(name, _)| name.ends_with(".safetensors") || name.ends_with("decisions.csv"))
        .collect()
}

/// What a user keeps beside a run and, once it has begun, inside of it.
fn leave_notes(place: &Place, name: &str) {
    let directory = place.path(name);
    if directory.join("epgt.json").exists() {
        for notes in ["notes.txt", "members/notes.txt"] {
            let path = directory.join(notes);
            if path.parent().is_some_and(Path::exists) {
                std::fs::write(path, "the user's").expect("a note can be left");
            }
        }
    }
}

/// Kills a run of this kind again and again until it has ended; returns the kills.
fn kill_until_it_ends(place: &Place, turn: usize, kind: &str, expected: &[(String, Vec<u8>)], seconds: f64) -> usize {
    let mut rng = Pcg64::for_purpose(turn as u64, "kills", 0);
    let name = format!("run-{turn}");
    let mut kills = 0;
    loop {
        let mut child = start_or_resume(place, &name, kind);
        // Half of the kills come in the first moments, where directories are made and read.
        let wait = match rng.below(2) {
            0 => 0.05 * rng.next_f64(),
            _ => seconds * rng.next_f64(),
        };
        let began = Instant::now();
        while began.elapsed().as_secs_f64() < wait && child.try_wait().expect("a child").is_none() {
            std::thread::sleep(Duration::from_micros(500));
        }
        let ended_by_itself = child.try_wait().expect("a child").is_some();
        let _ = child.kill();
        let output = child.wait_with_output().expect("the program ends");
        leave_notes(place, &name);
        if ended_by_itself {
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{kind}, turn {turn}, after {kills} kills: {told}"
            );
            break;
        }
        kills += 1;
    }
    let directory = place.path(&name);
    let found = policies(&directory);
    let names = |all: &[(String, Vec<u8>)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found), names(expected), "{kind}, turn {turn}");
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        assert!(
            found == expected,
            "{kind}, turn {turn}: {name} differs after {kills} kills"
        );
    }
    for notes in ["notes.txt", "members/notes.txt"].map(|notes| directory.join(notes)) {
        if let Ok(text) = std::fs::read_to_string(&notes) {
            assert_eq!(text, "the user's", "{}", notes.display());
        }
    }
    std::fs::remove_dir_all(directory).expect("a run can be removed");
    kills
}

#[test]
fn a_run_killed_at_any_moment_ends_as_one_that_was_not_and_touches_nothing_of_the_users() {
    let asked = std::env::var("EPGT_KILLS").ok().and_then(|count| count.parse().ok());
    let wanted: usize = asked.unwrap_or(USUAL_KILLS);
    let place = Place::new();
    let theirs = place.write("thesis.tex", "years of work");
    std::fs::create_dir(place.path("members")).expect("a directory");
    place.write("members/metrics.csv", "the user's own");

    let whole: Vec<_> = KINDS.iter().map(|_| Mutex::new(None)).collect();
    let state = Mutex::new((0, 0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let turn = {
                        let mut state = state.lock().expect("no thread has failed");
                        if state.1 >= wanted {
                            break;
                        }
                        state.0 += 1;
                        state.0 - 1
                    };
                    let kind = KINDS[turn % KINDS.len()];
                    let (expected, seconds) = {
                        let mut whole = whole[turn % KINDS.len()].lock().expect("no thread has failed");
                        whole
                            .get_or_insert_with(|| {
                                let name = format!("whole-{}", turn % KINDS.len());
                                let began = Instant::now();
                                let output = start_or_resume(&place, &name, kind).wait_with_output();
                                let output = output.expect("the program ends");
                                let told = String::from_utf8_lossy(&output.stderr);
                                assert!(output.status.success(), "{kind}: {told}");
                                (policies(&place.path(&name)), began.elapsed().as_secs_f64())
                            })
                            .clone()
                    };
                    let kills = kill_until_it_ends(&place, turn, kind, &expected, seconds);
                    state.lock().expect("no thread has failed").1 += kills;
                }
            });
        }
    });
    let (runs, kills) = *state.lock().expect("no thread has failed");
    println!("{kills} kills of {runs} runs");
    assert_eq!(std::fs::read_to_string(theirs).expect("a file"), "years of work");
    let table = std::fs::read_to_string(place.path("members/metrics.csv"));
    assert_eq!(table.expect("a file"), "the user's own");
}
