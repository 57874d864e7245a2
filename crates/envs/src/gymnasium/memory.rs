//! Memory that two processes see: anonymous, so that it is gone with the last of them, whatever ends them.
//!
//! Numbers are copied in and out; no reference into the shared memory is ever made, because the other process may write
//! there.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::ptr::NonNull;

/// Numbers of which every pattern of bits is one.
pub(super) trait Plain: Copy {}
impl Plain for u8 {}
impl Plain for u64 {}
impl Plain for f32 {}
impl Plain for f64 {}

/// A nameless file in memory that can be handed to another process; it has no size yet.
pub(super) fn anonymous() -> io::Result<File> {
    // SAFETY: the name is a C string, and the call touches nothing else.
    let descriptor = unsafe { libc::memfd_create(c"epgt".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was made by the call above, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// A file in memory, mapped into this process.
pub(super) struct Memory {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: the mapping belongs to this value alone and is not bound to a thread.
unsafe impl Send for Memory {}

impl Memory {
    /// Gives the file its size and maps it.
    pub fn map(file: &File, size: usize) -> io::Result<Self> {
        file.set_len(size as u64)?;
        let descriptor: RawFd = file.as_raw_fd();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the system chooses touches no memory of this process.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, descriptor, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => Ok(Self { start, size }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Copies numbers to this many bytes from the start.
    pub fn write<T: Plain>(&mut self, offset: usize, numbers: &[T]) {
        self.check(offset, size_of_val(numbers));
        // SAFETY: the bytes lie within the mapping, which is writable and cannot overlap a slice of this process.
        unsafe {
            let to = self.start.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(numbers.as_ptr().cast::<u8>(), to, size_of_val(numbers));
        }
    }

    /// Copies numbers from this many bytes from the start.
    pub fn read<T: Plain>(&self, offset: usize, numbers: &mut [T]) {
        self.check(offset, size_of_val(numbers));
        // SAFETY: the bytes lie within the mapping, which cannot overlap a slice of this process, and any bytes are
        // numbers.
        unsafe {
            let from = self.start.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(from, numbers.as_mut_ptr().cast::<u8>(), size_of_val(numbers));
        }
    }

    fn check(&self, offset: usize, bytes: usize) {
        assert!(
            offset.checked_add(bytes).is_some_and(|end| end <= self.size),
            "within the memory"
        );
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `map` made, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_of_a_file_see_each_other() {
        let file = anonymous().unwrap();
        let (mut one, other) = (Memory::map(&file, 64).unwrap(), Memory::map(&file, 64).unwrap());
        one.write(4, &[1.5f32, -2.5]);
        let mut seen = [0.0f32; 3];
        other.read(0, &mut seen);
        assert_eq!(seen, [0.0, 1.5, -2.5]);
    }

    #[test]
    #[should_panic(expected = "within the memory")]
    fn nothing_is_read_beyond_the_end() {
        let memory = Memory::map(&anonymous().unwrap(), 8).unwrap();
        memory.read(8, &mut [0u8]);
    }
}
