//! The worker process: how it is started, waited for and ended, and what is told when it fails.
//!
//! It never outlives the program: the kernel kills it, and what it has started, when the pipe that only this process
//! holds open is closed. What it prints is kept for the error, where it can help.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use epgt_settings::{clean, clean_line};
use serde::{Serialize, de::DeserializeOwned};

use super::looking::Looking;
use super::protocol::{DONE, Failure, MOST_BYTES};
use crate::EnvError;
use crate::vec_env::count_ended_worker;

/// The program of the worker.
const SCRIPT: &str = concat!(include_str!("atari.py"), include_str!("worker.py"));
/// How often it is looked whether a worker that does not answer still lives.
const PULSE: Duration = Duration::from_secs(1);
/// How long a worker may take to close its environments.
const FAREWELL: Duration = Duration::from_secs(2);
/// Bytes of what it printed last that are kept.
const KEPT: usize = 4096;
/// Characters of a sentence, with the label and what a worker says in it.
const SENTENCE: usize = 2500;
/// Characters that are shown of an answer that is not understood.
const SHOWN: usize = 1000;
/// Characters of the task's id and options that are shown in sentences.
pub(super) const LABEL: usize = 300;

/// A running worker.
pub(super) struct Worker {
    child: Child,
    channel: UnixStream,
    /// What it printed last, once it has ended.
    printed: Receiver<Vec<u8>>,
    timeout: Duration,
    label: String,
    ended: bool,
    looking: Looking,
    /// Closed when this process ends, however it ends.
    _lifeline: std::io::PipeWriter,
    /// Its other end: the worker's wish to be killed lasts as long as that is open somewhere, and what the worker has
    /// started may outlive it. Linux closes the files of a process that ends in the reverse order of their descriptors,
    /// and so this one after the lifeline, which was made after it.
    _wish: std::io::PipeReader,
}

impl Worker {
    /// Starts a worker that shares the memory `file`; every answer may take up to `timeout`.
    pub fn start(label: &str, python: OsString, file: &File, timeout: Duration) -> Result<Self, EnvError> {
        let cannot = |what: &str, error: std::io::Error| {
            EnvError::Simulator(format!(
                "cannot start a worker for {label}: {what} ({error}); name a Python that has gymnasium with --python or \
                 EPGT_PYTHON"
            ))
        };
        let pipes = || -> std::io::Result<_> {
            let (script, mut source) = std::io::pipe()?;
            // It fits into the pipe's buffer, so that nobody has to read yet.
            source.write_all(SCRIPT.as_bytes())?;
            Ok((script, std::io::pipe()?, UnixStream::pair()?))
        };
        let (script, (lifeline, held), (channel, theirs)) = pipes().map_err(|error| cannot("no pipes", error))?;
        channel
            .set_read_timeout(Some(PULSE))
            .map_err(|error| cannot("no timeout", error))?;
        let inherited = [theirs.as_raw_fd(), file.as_raw_fd(), lifeline.as_raw_fd()];
        let mut command = Command::new(&python);
        command
            .args(["-u", "-"])
            .args(inherited.map(|descriptor| descriptor.to_string()))
            .stdin(script)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Its own group: Ctrl-C is for the program, and its children go when it goes.
            .process_group(0);
        // SAFETY: between fork and exec only fcntl is called, which is safe there, on descriptors that are open.
        unsafe {
            command.pre_exec(move || {
                for descriptor in inherited {
                    if libc::fcntl(descriptor, libc::F_SETFD, 0) < 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
        let mut child = command
            .spawn()
            .map_err(|error| cannot(&format!("{} does not run", python.display()), error))?;
        let (teller, printed) = mpsc::channel();
        if let Some(output) = child.stderr.take() {
            std::thread::spawn(move || teller.send(last_of(output)));
        }
        Ok(Self {
            child,
            channel,
            printed,
            timeout,
            label: clean_line(label, LABEL),
            ended: false,
            looking: Looking::default(),
            _lifeline: held,
            _wish: lifeline,
        })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// CPU seconds (user and system) that it has used, where the system tells (Linux), and until it has ended. What it
    /// has started is not counted.
    pub fn cpu_seconds(&self) -> f64 {
        if self.ended {
            return 0.0;
        }
        #[cfg(target_os = "linux")]
        // SAFETY: both places live across the calls, and the process has not been waited for, so the number still
        // belongs to it.
        unsafe {
            let (mut clock, mut time) = (0, std::mem::zeroed::<libc::timespec>());
            if libc::clock_getcpuclockid(self.child.id() as libc::pid_t, &mut clock) == 0
                && libc::clock_gettime(clock, &mut time) == 0
            {
                return time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9;
            }
        }
        0.0
    }

    /// Tells it something and waits for its answer, both in lines.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<T, EnvError> {
        let mut line = serde_json::to_vec(request).expect("plain data can always be written");
        line.push(b'\n');
        self.send(&line)?;
        self.answer()
    }

    /// Asks for something by a single byte and waits for the answer, which is a line.
    pub fn ask_for<T: DeserializeOwned>(&mut self, command: u8) -> Result<T, EnvError> {
        self.send(&[command])?;
        self.answer()
    }

    /// Asks by a single byte for as many bytes as there is room for.
    pub fn receive(&mut self, command: u8, room: &mut [u8]) -> Result<(), EnvError> {
        self.send(&[command])?;
        let (begun, mut filled) = (Instant::now(), 0);
        while filled < room.len() {
            filled += self.bytes(&mut room[filled..], || begun)?;
            if begun.elapsed() >= self.timeout {
                return Err(self.late());
            }
        }
        Ok(())
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Result<T, EnvError> {
        let answer = self.line(Vec::new())?;
        match serde_json::from_slice::<Failure>(&answer) {
            Ok(failure) => Err(self.failed(failure)),
            Err(_) => serde_json::from_slice(&answer).map_err(|error| {
                let text = String::from_utf8_lossy(&answer[..answer.len().min(4 * SHOWN)]).into_owned();
                self.give_up(
                    &format!("said something that is not understood ({error})"),
                    &clean(&text, SHOWN),
                )
            }),
        }
    }

    /// Has it do one thing with the shared memory.
    #[inline]
    pub fn order(&mut self, command: u8) -> Result<(), EnvError> {
        self.send(&[command])?;
        let seen = self.looking.for_byte(&self.channel);
        let first = seen.map_or_else(|| self.byte(Instant::now), Ok)?;
        match first {
            DONE => Ok(()),
            first => {
                let line = self.line(vec![first])?;
                Err(match serde_json::from_slice::<Failure>(&line) {
                    Ok(failure) => self.failed(failure),
                    Err(error) => self.give_up(&format!("said something that is not understood ({error})"), ""),
                })
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), EnvError> {
        if self.ended {
            return Err(EnvError::Simulator(format!("the worker of {} has ended", self.label)));
        }
        // A worker that is gone is noticed when its answer is waited for.
        match self.channel.write_all(bytes) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Err(self.give_up(&format!("cannot be spoken to ({error})"), ""))
            }
            _ => Ok(()),
        }
    }

    /// A whole line, which begins with these bytes; nothing follows it before the worker is spoken to again.
    fn line(&mut self, mut line: Vec<u8>) -> Result<Vec<u8>, EnvError> {
        let begun = Instant::now();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = self.bytes(&mut buffer, || begun)?;
            line.extend_from_slice(&buffer[..count]);
            if let Some(end) = buffer[..count].iter().position(|&byte| byte == b'\n') {
                let rest = count - end - 1;
                line.truncate(line.len() - rest - 1);
                return match rest {
                    0 => Ok(line),
                    _ => Err(self.give_up("said more than it was asked", "")),
                };
            }
            if line.len() > MOST_BYTES {
                return Err(self.give_up(&format!("said a line of more than {MOST_BYTES} bytes"), ""));
            }
            if begun.elapsed() >= self.timeout {
                return Err(self.late());
            }
        }
    }

    /// The next byte of the channel.
    #[inline]
    fn byte(&mut self, begun: impl Fn() -> Instant) -> Result<u8, EnvError> {
        let mut byte = [0];
        self.bytes(&mut byte, begun)?;
        Ok(byte[0])
    }

    /// The next bytes of the channel, one or more, which are to come within the timeout.
    #[inline]
    fn bytes(&mut self, buffer: &mut [u8], begun: impl Fn() -> Instant) -> Result<usize, EnvError> {
        let mut since = None;
        loop {
            match self.channel.read(buffer) {
                Ok(count) if count > 0 => return Ok(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    let waited = since.get_or_insert_with(|| begun() - PULSE).elapsed();
                    if self.has_died() {
                        return Err(self.died());
                    }
                    if waited >= self.timeout {
                        return Err(self.late());
                    }
                }
                Ok(_) | Err(_) => return Err(self.died()),
            }
        }
    }

    /// Whether the process has ended; it stays in the system's table until [`Worker::end`].
    fn has_died(&self) -> bool {
        // SAFETY: a siginfo of zeros is valid and lives across the call, which writes nothing else.
        unsafe {
            let mut information: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            let asked = libc::waitid(libc::P_PID, self.child.id(), &mut information, options);
            asked == 0 && information.si_pid() != 0
        }
    }

    #[cold]
    fn late(&mut self) -> EnvError {
        let seconds = self.timeout.as_secs();
        let sentence = format!(
            "did not answer within {seconds} seconds; if that can be right, raise bridge_timeout (--env-arg bridge_timeout=SECONDS)"
        );
        self.give_up(&sentence, "")
    }

    #[cold]
    fn died(&mut self) -> EnvError {
        // A process that has closed its channel is about to end.
        let patience = Instant::now();
        while !self.has_died() && patience.elapsed() < PULSE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = self.end();
        let how = match status.map(|status| (status.signal(), status.code())) {
            Some((Some(9), _)) => "was killed by signal 9, which is also what happens when memory runs out".to_string(),
            Some((Some(signal), _)) => format!("was killed by signal {signal}"),
            Some((_, Some(code))) => format!("ended by itself with status {code}"),
            _ => "is gone".to_string(),
        };
        self.tell(&how, "")
    }

    #[cold]
    fn failed(&mut self, failure: Failure) -> EnvError {
        self.end();
        let sentence = format!("{}: {}", self.label, failure.error.0);
        self.told(sentence, &failure.traceback.0)
    }

    #[cold]
    fn give_up(&mut self, what: &str, details: &str) -> EnvError {
        self.end();
        self.tell(what, details)
    }

    fn tell(&mut self, what: &str, details: &str) -> EnvError {
        self.told(format!("the worker of {} {what}", self.label), details)
    }

    /// A sentence, then what is known besides. Both may quote the worker, so both are cleaned here or where they were
    /// read.
    fn told(&mut self, sentence: String, details: &str) -> EnvError {
        let mut text = clean_line(&sentence, SENTENCE);
        if !details.trim().is_empty() {
            text = format!("{text}\n{}", details.trim_end());
        }
        let printed = self.printed.recv_timeout(PULSE).unwrap_or_default();
        let printed = clean(&String::from_utf8_lossy(&printed), KEPT);
        if !printed.trim().is_empty() {
            text = format!("{text}\nWhat it printed last:\n{}", printed.trim_end());
        }
        EnvError::Simulator(text)
    }

    /// Ends the process and all that it has started, and takes it from the system's table.
    fn end(&mut self) -> Option<ExitStatus> {
        if self.ended {
            return None;
        }
        count_ended_worker(self.cpu_seconds());
        self.ended = true;
        // SAFETY: the group is that of a child that has not been waited for, so the number still belongs to it.
        unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
        // A worker can have left its group.
        let _ = self.child.kill();
        self.child.wait().ok()
    }
}

impl Drop for Worker {
    /// Lets the worker close its environments, for a moment.
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.channel.shutdown(Shutdown::Write);
            let begun = Instant::now();
            while !self.has_died() && begun.elapsed() < FAREWELL {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.end();
        }
    }
}

/// Reads to the end and keeps the last of it.
fn last_of(mut output: impl Read) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), [0; KEPT]);
    loop {
        match output.read(&mut buffer) {
            Ok(0) => return kept,
            Ok(count) => {
                kept.extend_from_slice(&buffer[..count]);
                kept.drain(..kept.len().saturating_sub(KEPT));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_fits_into_a_pipe() {
        assert!(SCRIPT.len() < 60_000);
    }

    #[test]
    fn only_the_last_of_what_was_printed_is_kept() {
        let long: Vec<u8> = (0..10_000u32).map(|i| (i % 251) as u8).collect();
        assert_eq!(last_of(&long[..]), &long[long.len() - KEPT..]);
        assert_eq!(last_of(&b"few"[..]), b"few");
    }
}
