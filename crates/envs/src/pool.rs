//! Threads that step groups of environments side by side.
//!
//! A group travels: it is handed to a worker together with the buffers of its rows, and comes back when it has been
//! stepped. Nothing is shared, so there is nothing to lock and the results cannot depend on the threads.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::group::Group;
use crate::vec_env::StepRow;
use crate::{EnvError, Observations};

/// How long a thread waits before it sleeps.
const AWAKE: Duration = Duration::from_micros(30);

/// A group on its way, with what it is given and what it gives.
pub(crate) struct Parcel {
    pub group: Group,
    pub actions: Vec<f32>,
    pub observations: Observations,
    pub rewards: Vec<f32>,
    pub terminated: Vec<bool>,
    pub truncated: Vec<bool>,
    pub result: Result<(), EnvError>,
}

impl Parcel {
    pub fn new(group: Group) -> Self {
        let n = group.envs.len();
        let actions = n * group.envs[0].action_space().size();
        Parcel {
            actions: vec![0.0; actions],
            observations: group.final_observations.clone(),
            rewards: vec![0.0; n],
            terminated: vec![false; n],
            truncated: vec![false; n],
            result: Ok(()),
            group,
        }
    }

    fn step(&mut self) {
        let out = StepRow {
            observations: self.observations.all_mut(),
            rewards: &mut self.rewards,
            terminated: &mut self.terminated,
            truncated: &mut self.truncated,
        };
        self.result = self.group.step(&self.actions, out);
    }
}

/// One worker per parcel but the first, which the calling thread steps itself.
pub(crate) struct Pool {
    workers: Vec<Worker>,
}

struct Worker {
    out: Option<Sender<Parcel>>,
    back: Receiver<Parcel>,
    thread: Option<JoinHandle<()>>,
}

impl Pool {
    pub fn new(workers: usize) -> Self {
        Pool {
            workers: (0..workers).map(|_| Worker::new()).collect(),
        }
    }

    /// Steps all parcels, the first on this thread.
    pub fn step(&self, parcels: &mut Vec<Parcel>) -> Result<(), EnvError> {
        let lost = || EnvError::NotFinite("a thread that steps environments has died; report the task and seed".into());
        let mut away = parcels.drain(1..).zip(&self.workers);
        let sent = away.try_for_each(|(parcel, worker)| {
            let out = worker.out.as_ref().ok_or_else(lost)?;
            out.send(parcel).map_err(|_| lost())
        });
        drop(away);
        sent?;
        parcels[0].step();
        for worker in &self.workers {
            parcels.push(receive(&worker.back).ok_or_else(lost)?);
        }
        parcels
            .iter_mut()
            .try_for_each(|parcel| std::mem::replace(&mut parcel.result, Ok(())))
    }
}

/// Waits for a parcel, awake for a moment first: waking a sleeping thread takes longer than the usual wait.
fn receive(inbox: &Receiver<Parcel>) -> Option<Parcel> {
    let begun = Instant::now();
    while begun.elapsed() < AWAKE {
        match inbox.try_recv() {
            Ok(parcel) => return Some(parcel),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            Err(TryRecvError::Disconnected) => return None,
        }
    }
    inbox.recv().ok()
}

impl Worker {
    fn new() -> Self {
        let (out, inbox) = channel::<Parcel>();
        let (outbox, back) = channel();
        let thread = std::thread::spawn(move || {
            while let Some(mut parcel) = receive(&inbox) {
                parcel.step();
                if outbox.send(parcel).is_err() {
                    break;
                }
            }
        });
        Worker {
            out: Some(out),
            back,
            thread: Some(thread),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Without its sender the worker's loop ends.
        self.out = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
