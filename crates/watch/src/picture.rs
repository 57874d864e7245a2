//! The present policy of a run at play, as pictures that come at the pace of the task.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use epgt_envs::Env;
use epgt_render::{draw, fitting_size, png};
use epgt_train::{EvalActions, policy_file, watch};
use serde_json::{Value, json};

use crate::request::{Request, answer, begin, finish, has_gone};
use crate::watcher::{Shared, lock};

/// The picture fits into so many pixels.
const WIDTH: usize = 400;
const HEIGHT: usize = 320;

/// Pictures per second at most.
const PER_SECOND: f64 = 15.0;

/// Plays one episode at a time.
#[derive(Default)]
pub struct Player(Mutex<()>);

/// A piece of the answer: its kind, its length in four bytes, and what it is.
fn piece(stream: &mut TcpStream, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let mut head = vec![kind];
    head.extend((bytes.len() as u32).to_be_bytes());
    stream.write_all(&head)?;
    stream.write_all(bytes)
}

fn told(stream: &mut TcpStream, value: &Value) -> io::Result<()> {
    piece(stream, b'j', value.to_string().as_bytes())
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
    pub fn send(&self, stream: &mut TcpStream, shared: &Shared, request: &Request) -> io::Result<()> {
        let id = request.number("run").and_then(|run| u32::try_from(run).ok());
        let policy = id.and_then(|id| shared.run(id)).map(|run| lock(&run).live.policy());
        let Some(policy) = policy else {
            let kind = "text/plain; charset=utf-8";
            return answer(stream, "404 Not Found", kind, "", b"There is no such run.\n");
        };
        begin(stream, "application/octet-stream")?;
        let Some(_playing) = self.turn() else {
            told(stream, &json!({"busy": true}))?;
            return finish(stream);
        };
        let end = match policy {
            None => Err("No policy is saved yet.".to_string()),
            Some((path, written)) => {
                let age = SystemTime::now().duration_since(written).unwrap_or_default();
                policy_file::read(&path)
                    .map_err(|error| error.to_string())
                    .and_then(|policy| play(stream, policy, age, request.number("seed").unwrap_or(0)))
            }
        };
        told(
            stream,
            &match end {
                Ok(earned) => json!({"return": earned}),
                Err(problem) => json!({"problem": problem}),
            },
        )?;
        finish(stream)
    }
}

/// Plays an episode; returns what it earned.
fn play(stream: &mut TcpStream, mut policy: policy_file::Policy, age: Duration, seed: u64) -> Result<f64, String> {
    let task = policy.task.clone();
    let begun = Instant::now();
    let (mut step, mut shown, mut gone) = (0_u64, false, false);
    let see = |env: &dyn Env| {
        let rate = env.steps_per_second().max(0.1);
        let stride = (rate / PER_SECOND).ceil().max(1.0) as u64;
        step += 1;
        if gone || !(step - 1).is_multiple_of(stride) {
            return;
        }
        let Some(scene) = env.scene() else { return };
        let (width, height) = fitting_size(&scene, WIDTH, HEIGHT);
        if !shown {
            shown = true;
            gone |= told(
                stream,
                &json!({"width": width, "height": height, "task": task.label(), "age": age.as_secs_f64()}),
            )
            .is_err();
        }
        let due = Duration::from_secs_f64((step - 1) as f64 / rate);
        sleep(due.saturating_sub(begun.elapsed()));
        gone |= has_gone(stream) || piece(stream, b'p', &png(&draw(&scene, width, height))).is_err();
    };
    let earned = watch(
        &mut policy.networks,
        &policy.normalizer,
        &task,
        seed,
        EvalActions::Auto,
        see,
    )
    .map_err(|error| error.to_string())?;
    match shown {
        true => Ok(earned),
        false => Err(format!("{} has no picture.", task.id)),
    }
}
