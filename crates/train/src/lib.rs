//! placeholder

mod append;
pub mod artifact;
pub mod table;
pub mod tensorboard;
pub mod usage;
