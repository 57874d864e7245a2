//! Memory that was freed is the system's again.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::hint::black_box;

/// MiB of this process that are in memory.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0 / f64::from(1 << 20)
}

/// A piece of memory that is used, with a little that was asked for after it and stays.
fn use_and_free(bytes: usize) -> Box<[u8]> {
    let large = black_box(vec![1_u8; bytes]);
    let small = black_box(vec![1_u8; 4096].into_boxed_slice());
    drop(large);
    small
}

#[test]
fn large_pieces_are_given_back_when_they_are_freed() {
    epgt_train::usage::give_memory_back();
    let before = resident();
    let left: Vec<_> = (0..8).map(|_| use_and_free(24 << 20)).collect();
    let kept = resident() - before;
    assert!(kept < 12.0, "{kept:.1} MiB are kept after {} pieces", left.len());
}
