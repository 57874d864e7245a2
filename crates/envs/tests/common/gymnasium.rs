//! The real Gymnasium, in a process of its own.

use epgt_envs::TaskSpec;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The interpreter that steps Gymnasium's environments.
pub struct Gymnasium {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Gymnasium {
    /// Starts the interpreter that EPGT_PYTHON names.
    pub fn start() -> Self {
        let python = std::env::var_os("EPGT_PYTHON").expect("EPGT_PYTHON names a Python");
        let mut process = Command::new(&python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gymnasium_steps.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("EPGT_PYTHON={} does not run: {error}", python.display()));
        let requests = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Gymnasium {
            process,
            requests,
            answers,
        }
    }

    /// What Gymnasium returns for these actions.
    pub fn play(&mut self, id: &str, seed: u64, actions: &[f32]) -> Value {
        self.play_task(&epgt_envs::find(id).expect("a registered task"), seed, actions)
    }

    /// The same for a task with its options.
    pub fn play_task(&mut self, task: &TaskSpec, seed: u64, actions: &[f32]) -> Value {
        let actions: String = actions.iter().map(|x| format!("{:08x}", x.to_bits())).collect();
        let options = task.options.changed();
        self.ask(json!({ "id": task.id, "options": options, "seed": seed, "actions": actions }))
    }

    /// Returns and lengths of episodes of a random policy.
    pub fn random_episodes(&mut self, id: &str, seed: u64, episodes: usize) -> Value {
        self.ask(json!({ "id": id, "seed": seed, "episodes": episodes }))
    }

    fn ask(&mut self, request: Value) -> Value {
        writeln!(self.requests, "{request}").expect("Gymnasium listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("Gymnasium answers");
        serde_json::from_str(&answer).expect("the answer is JSON; is Gymnasium installed there?")
    }

    pub fn stop(mut self) {
        drop(self.requests);
        assert!(self.process.wait().expect("the process ends").success());
    }
}
