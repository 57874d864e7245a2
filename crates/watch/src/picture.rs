//! The present policy of a run at play, as pictures that come at the pace of the task.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use epgt_render::png;
use epgt_train::usage::give_way;
use epgt_train::{FilmPlan, Shot, film, policy_file};
use hyper::StatusCode;
use serde_json::{Value, json};

use crate::request::{Answer, Outlet, Request, flowing};
use crate::server::refusal;
use crate::watcher::{Shared, lock};

/// The picture fits into so many pixels.
const WIDTH: usize = 400;
const HEIGHT: usize = 320;

/// Pictures per second at most.
const PER_SECOND: f64 = 15.0;

/// Seconds of an episode that are waited for; nobody looks longer.
const LONGEST: f64 = 86_400.0;

/// How far playing stands back behind all else on this machine.
const NICE: i32 = 19;

/// Plays one episode at a time.
#[derive(Default)]
pub struct Player(Mutex<()>);

/// A piece of the answer: its kind, its length in four bytes, and what it is.
fn piece(outlet: &Outlet, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let mut piece = vec![kind];
    piece.extend((bytes.len() as u32).to_be_bytes());
    piece.extend(bytes);
    outlet.send(piece)
}

fn told(outlet: &Outlet, value: &Value) -> io::Result<()> {
    piece(outlet, b'j', value.to_string().as_bytes())
}

impl Player {
    /// Waits a moment for who plays: a page that has gone on to another run has just closed what it saw before.
    fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        for _ in 0..20 {
            match self.0.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(50)),
            }
        }
        None
    }

    /// Plays an episode of the run that is asked for, and sends what is seen until it ends or the page has seen enough.
    pub fn answer(self: &Arc<Self>, shared: &Shared, request: &Request) -> Answer {
        let id = request.number("run").and_then(|run| u32::try_from(run).ok());
        let policy = id.and_then(|id| shared.run(id)).map(|run| lock(&run).live.policy());
        let Some(policy) = policy else {
            return refusal(StatusCode::NOT_FOUND, "There is no such run.");
        };
        let (player, seed) = (self.clone(), request.number("seed").unwrap_or(0));
        flowing("application/octet-stream", move |outlet| {
            // This thread alone, and the workers that it starts.
            give_way(NICE);
            let end = match player.turn() {
                None => json!({"busy": true}),
                Some(_playing) => match play_saved(outlet, policy, seed) {
                    Ok(earned) => json!({"return": earned}),
                    Err(problem) => json!({"problem": problem}),
                },
            };
            // A page that has gone is told nothing.
            let _ = told(outlet, &end);
        })
    }
}

/// Plays the policy that was written there at that time.
fn play_saved(outlet: &Outlet, saved: Option<(PathBuf, SystemTime)>, seed: u64) -> Result<Option<f64>, String> {
    let (path, written) = saved.ok_or("No policy is saved yet.")?;
    let age = SystemTime::now().duration_since(written).unwrap_or_default();
    let policy = policy_file::read(&path).map_err(|error| error.to_string())?;
    play(outlet, policy, age, seed)
}

/// Plays an episode; returns what it earned, `None` where the page has seen enough.
fn play(outlet: &Outlet, mut policy: policy_file::Policy, age: Duration, seed: u64) -> Result<Option<f64>, String> {
    let task = policy.task.clone();
    let plan = FilmPlan {
        seed,
        ..FilmPlan::default()
    };
    let begun = Instant::now();
    let mut see = |shot: &mut Shot<'_>| {
        let stride = (shot.steps_per_second / PER_SECOND).ceil().max(1.0) as u64;
        if !shot.step.is_multiple_of(stride) && !shot.over {
            return Ok(true);
        }
        sleep(Duration::from_secs_f64(shot.seconds.min(LONGEST)).saturating_sub(begun.elapsed()));
        if outlet.is_closed() {
            return Ok(false);
        }
        let image = shot.image(WIDTH, HEIGHT)?;
        let mut sent = Ok(());
        if shot.step == 0 {
            let about = json!({"width": image.width(), "height": image.height(), "age": age.as_secs_f64()});
            sent = told(outlet, &about);
        }
        Ok(sent.and_then(|()| piece(outlet, b'p', &png(&image))).is_ok())
    };
    film(&mut policy.networks, &policy.normalizer, &task, &plan, &mut see).map_err(|error| error.to_string())
}
