//! What a run costs: processor time and memory, as the system counts them.
//!
//! Speed is stated per CPU-second rather than per second of the clock, because machines are shared and clocks then
//! measure the neighbours.

use std::mem::MaybeUninit;

/// What one unit of `ru_maxrss` is: Linux counts kibibytes, macOS counts bytes.
#[cfg(target_os = "macos")]
const PEAK_UNIT_BYTES: f64 = 1.0;
#[cfg(not(target_os = "macos"))]
const PEAK_UNIT_BYTES: f64 = 1024.0;

/// CPU seconds (user and system) that the calling thread has used since it began.
///
/// ```
/// let before = epgt_train::usage::thread_cpu_seconds();
/// let sum: f64 = (0..100_000).map(f64::from).sum();
/// assert!(sum > 0.0 && epgt_train::usage::thread_cpu_seconds() >= before);
/// ```
pub fn thread_cpu_seconds() -> f64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the pointer is to a timespec that lives across the call, and a timespec of zeros is valid should the call
    // fail.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// CPU seconds (user and system) that all threads of this process have used; those of child processes are not counted.
///
/// ```
/// use epgt_train::usage::{process_cpu_seconds, thread_cpu_seconds};
/// let before = process_cpu_seconds();
/// while thread_cpu_seconds() < 0.02 {}
/// assert!(process_cpu_seconds() > before);
/// ```
pub fn process_cpu_seconds() -> f64 {
    cpu_seconds(&usage_of(libc::RUSAGE_SELF))
}

/// CPU seconds (user and system) of all child processes that have ended and been waited for, their start-up included.
///
/// ```
/// use epgt_train::usage::children_cpu_seconds;
/// let before = children_cpu_seconds();
/// std::process::Command::new("true").status()?;
/// assert!(children_cpu_seconds() >= before);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn children_cpu_seconds() -> f64 {
    cpu_seconds(&usage_of(libc::RUSAGE_CHILDREN))
}

/// The most memory that this process has had resident so far, in MB (millions of bytes).
///
/// On Linux a program begins with the peak of the process that became it, a copy of its parent: a very large parent
/// shows here.
///
/// ```
/// let peak = epgt_train::usage::peak_memory_mb();
/// assert!(peak > 0.5 && peak < 1e6);
/// ```
pub fn peak_memory_mb() -> f64 {
    usage_of(libc::RUSAGE_SELF).ru_maxrss as f64 * PEAK_UNIT_BYTES / 1e6
}

/// Has large pieces of memory given back to the system as soon as they are freed. Call it once, when a program begins.
///
/// The C library of Linux does so at first, but with every large piece that is freed it keeps pieces of that size for
/// later. A process that makes many runs, one after another, would hold the simulators of a dozen of them.
///
/// ```
/// epgt_train::usage::give_memory_back();
/// ```
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets a number that the allocator looks at; the number is what the allocator begins with.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 * 1024);
    }
}

/// Has this thread, and those that it starts, stand back behind others that want a processor: by 19 they get what nobody
/// wants. On Linux it is the calling thread alone, elsewhere the whole process.
///
/// ```
/// epgt_train::usage::give_way(1);
/// ```
pub fn give_way(by: i32) {
    // SAFETY: it passes numbers, and changes the priority of this thread or process alone.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, by);
    }
}

/// The name of this machine; `unknown` where the system does not say.
///
/// ```
/// assert!(!epgt_train::usage::host_name().is_empty());
/// ```
pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the pointer is to as many bytes as the call is told, and the last of them stays 0.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } != 0;
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    match failed || length == 0 {
        true => "unknown".to_string(),
        false => String::from_utf8_lossy(&name[..length]).into_owned(),
    }
}

fn usage_of(whom: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to an rusage that lives across the call, and an rusage of zeros is valid should the call
    // fail.
    unsafe {
        libc::getrusage(whom, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn cpu_seconds(usage: &libc::rusage) -> f64 {
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

/// The processor's name where the system tells it, otherwise its kind.
///
/// ```
/// assert!(!epgt_train::usage::cpu_model().is_empty());
/// ```
pub fn cpu_model() -> String {
    let listing = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = listing.lines().find(|line| line.starts_with("model name"));
    let name = named.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
    name.unwrap_or(std::env::consts::ARCH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn work_for(cpu_seconds: f64) {
        let start = thread_cpu_seconds();
        while thread_cpu_seconds() - start < cpu_seconds {}
    }

    #[test]
    fn sleeping_costs_no_cpu_time_and_working_does() {
        let start = thread_cpu_seconds();
        std::thread::sleep(Duration::from_millis(60));
        let slept = thread_cpu_seconds() - start;
        assert!(slept < 0.03, "{slept}");
        work_for(0.03);
        assert!(thread_cpu_seconds() - start >= 0.03);
    }

    #[test]
    fn work_of_another_thread_counts_for_the_process_only() {
        let (thread, process) = (thread_cpu_seconds(), process_cpu_seconds());
        std::thread::spawn(|| work_for(0.06)).join().unwrap();
        assert!(thread_cpu_seconds() - thread < 0.03);
        // The process counter of some systems moves in ticks of up to 10 ms.
        assert!(process_cpu_seconds() - process > 0.04);
    }

    #[test]
    fn work_of_a_child_process_counts_when_it_has_been_waited_for() {
        let (own, children) = (process_cpu_seconds(), children_cpu_seconds());
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let status = std::process::Command::new("sh").args(["-c", busy]).status().unwrap();
        assert!(status.success());
        let child = children_cpu_seconds() - children;
        assert!(child > 0.01, "{child}");
        assert!(process_cpu_seconds() - own < child + 1.0);
    }

    #[test]
    fn touching_memory_raises_the_peak_by_as_many_megabytes() {
        let before = peak_memory_mb();
        let block = std::hint::black_box(vec![1_u8; 100_000_000 + (before * 1e6) as usize]);
        let after = peak_memory_mb();
        let size = block.len() as f64 / 1e6;
        assert!(after >= size && after < before + size + 50.0, "{before} {after}");
    }
}
