//! Looking for a byte before sleeping until it comes.
//!
//! To wake a process on a core that has gone to sleep takes tens of microseconds, more than a simple environment takes
//! for a step. So an answer is looked for in a loop for a moment, where that has helped the last time; the worker does
//! the same.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long to look.
const MOMENT: Duration = Duration::from_micros(60);
/// Answers that are waited for asleep after one that took longer than a moment.
const ASLEEP: u32 = 31;

/// Whether to look for the next answer.
pub(super) struct Looking {
    /// Answers that are not looked for.
    asleep: u32,
}

impl Default for Looking {
    /// On a single core nobody can answer while somebody looks.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            asleep: if cores > 1 { 0 } else { u32::MAX },
        }
    }
}

impl Looking {
    /// The next byte, if it comes within a moment.
    #[inline]
    pub fn for_byte(&mut self, channel: &UnixStream) -> Option<u8> {
        if self.asleep > 0 {
            self.asleep = if self.asleep == u32::MAX {
                u32::MAX
            } else {
                self.asleep - 1
            };
            return None;
        }
        let begun = Instant::now();
        loop {
            if let Some(byte) = byte_now(channel) {
                return Some(byte);
            }
            if begun.elapsed() > MOMENT {
                self.asleep = ASLEEP;
                return None;
            }
            std::hint::spin_loop();
        }
    }
}

/// A byte that has come already. Whatever else there is to say about the channel, a read that sleeps will say.
fn byte_now(channel: &UnixStream) -> Option<u8> {
    let mut byte = 0_u8;
    // SAFETY: the descriptor is open as long as the channel lives, and there is room for the one byte that is asked
    // for.
    let read = unsafe { libc::recv(channel.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
    (read == 1).then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_byte_that_is_there_is_seen_and_a_late_one_is_left_to_sleepers() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut looking = Looking { asleep: 0 };
        ours.write_all(b"ab").unwrap();
        assert_eq!(looking.for_byte(&theirs), Some(b'a'));
        assert_eq!(looking.for_byte(&theirs), Some(b'b'));
        assert_eq!(looking.for_byte(&theirs), None);
        ours.write_all(b"c").unwrap();
        for _ in 0..ASLEEP {
            assert_eq!(looking.for_byte(&theirs), None, "it sleeps for a while");
        }
        assert_eq!(looking.for_byte(&theirs), Some(b'c'), "and tries again");
    }

    #[test]
    fn nobody_looks_on_a_single_core() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut looking = Looking { asleep: u32::MAX };
        ours.write_all(b"a").unwrap();
        for _ in 0..100 {
            assert_eq!(looking.for_byte(&theirs), None);
        }
    }
}
