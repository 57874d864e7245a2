//! The `epgt` program.

fn main() {}
