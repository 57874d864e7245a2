//! The searches: independent runs over the tuned grid, or over some of its points.

use epgt_hyper::HyperSpace;
use epgt_rng::Pcg64;

/// The values of every point of the grid, each once, in the order of the joint hyper-actions.
///
/// ```
/// use epgt_hyper::{Axis, Grid, HyperSpace};
/// let axis = Axis::new("clip_range", 0.2, &Grid::parse("0.1:0.2:0.3")?, false)?;
/// let points = epgt_train::population::grid(&HyperSpace::new(vec![axis], 10)?);
/// assert_eq!(points, [[0.1], [0.2], [0.3]]);
/// # Ok::<(), epgt_hyper::HyperError>(())
/// ```
pub fn grid(space: &HyperSpace) -> Vec<Vec<f64>> {
    (0..space.len()).map(|action| space.values(action).collect()).collect()
}

/// The values of `count` different points of the grid, every choice of them equally likely.
///
/// # Panics
/// If the grid has fewer points.
///
/// ```
/// use epgt_hyper::{Axis, Grid, HyperSpace};
/// let axis = Axis::new("clip_range", 0.2, &Grid::parse("0.1:0.2:0.3")?, false)?;
/// let points = epgt_train::population::random_search(&HyperSpace::new(vec![axis], 10)?, 2, 7);
/// assert_ne!(points[0], points[1]);
/// # Ok::<(), epgt_hyper::HyperError>(())
/// ```
pub fn random_search(space: &HyperSpace, count: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut actions: Vec<u32> = (0..space.len() as u32).collect();
    Pcg64::for_purpose(seed, "population values", 0).shuffle(&mut actions);
    actions[..count]
        .iter()
        .map(|&action| space.values(action as usize).collect())
        .collect()
}
