//! The ground that the walker crosses, drawn at random: grass, and in the hard version stumps, stairs and pits.

use super::{SCALE, VIEW};
use epgt_rng::Pcg64;

/// The length of one piece of ground.
pub(super) const STEP: f64 = 14.0 / SCALE;
/// The number of points of the ground.
pub(super) const LENGTH: usize = 200;
/// The height that the ground keeps close to.
pub(super) const HEIGHT: f64 = VIEW[1] / 4.0;
/// The number of flat pieces where the walker starts.
pub(super) const START: usize = 20;
/// The number of pieces between two obstacles is at least half of this, and less than this.
pub(super) const GRASS: u64 = 10;

/// The ground of one episode.
pub(super) struct Terrain {
    /// Its surface, from left to right.
    pub(super) points: Vec<[f64; 2]>,
    /// The blocks of its obstacles.
    pub(super) blocks: Vec<[[f64; 2]; 4]>,
    /// What is seen of the sky.
    pub(super) clouds: Vec<[[f64; 2]; 5]>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Grass,
    Stump,
    Stairs,
    Pit,
}

/// Flights of stairs: the number of steps, and +1 for up or -1 for down.
#[derive(Clone, Copy, Default)]
struct Stairs {
    steps: u64,
    direction: f64,
}

/// How many pieces a step of the stairs is wide.
const STAIR_WIDTH: u64 = 4;

impl Terrain {
    /// Draws the ground and then the clouds, with the same draws in the same order as Gymnasium.
    pub(super) fn draw(hardcore: bool, rng: &mut Pcg64) -> Self {
        let mut terrain = Terrain {
            points: Vec::with_capacity(LENGTH),
            blocks: Vec::new(),
            clouds: Vec::with_capacity(LENGTH / 20),
        };
        terrain.draw_ground(hardcore, rng);
        for _ in 0..LENGTH / 20 {
            terrain.clouds.push(cloud(rng));
        }
        terrain
    }

    fn draw_ground(&mut self, hardcore: bool, rng: &mut Pcg64) {
        let mut kind = Kind::Grass;
        // The first piece of its kind, where an obstacle is put up.
        let mut first = false;
        // The pieces until the kind changes.
        let mut left = START as u64;
        let (mut y, mut slope) = (HEIGHT, 0.0);
        // The height of the ground before the obstacle.
        let mut base = 0.0;
        let mut stairs = Stairs::default();
        for i in 0..LENGTH {
            let x = i as f64 * STEP;
            match (kind, first) {
                (Kind::Grass, false) => {
                    slope = 0.8 * slope + 0.01 * sign(HEIGHT - y);
                    if i > START {
                        slope += rng.uniform(-1.0, 1.0) / SCALE;
                    }
                    y += slope;
                }
                (Kind::Pit, true) => {
                    left = 3 + rng.below(2);
                    let wall = block(x, y, STEP, -4.0 * STEP);
                    self.blocks.push(wall);
                    self.blocks.push(wall.map(|[x, y]| [x + STEP * left as f64, y]));
                    left += 2;
                    base = y;
                }
                (Kind::Pit, false) => y = if left > 1 { base - 4.0 * STEP } else { base },
                (Kind::Stump, true) => {
                    left = 1 + rng.below(2);
                    let size = left as f64 * STEP;
                    self.blocks.push(block(x, y, size, size));
                }
                (Kind::Stairs, true) => {
                    stairs.direction = if rng.next_f64() > 0.5 { 1.0 } else { -1.0 };
                    stairs.steps = 3 + rng.below(2);
                    base = y;
                    self.put_up(stairs, x, y);
                    left = stairs.steps * STAIR_WIDTH;
                }
                (Kind::Stairs, false) => {
                    let done = (stairs.steps * STAIR_WIDTH - left) as f64 - stairs.direction;
                    y = base + (done / STAIR_WIDTH as f64 * stairs.direction) * STEP;
                }
                (Kind::Stump, false) | (Kind::Grass, true) => {}
            }
            first = false;
            self.points.push([x, y]);
            left -= 1;
            if left == 0 {
                left = GRASS / 2 + rng.below(GRASS - GRASS / 2);
                kind = match kind {
                    Kind::Grass if hardcore => [Kind::Stump, Kind::Stairs, Kind::Pit][rng.below(3) as usize],
                    _ => Kind::Grass,
                };
                first = true;
            }
        }
    }

    fn put_up(&mut self, stairs: Stairs, x: f64, y: f64) {
        let width = STAIR_WIDTH as f64;
        for step in 0..stairs.steps {
            let step = step as f64;
            let (left, right) = (x + (step * width) * STEP, x + ((1.0 + step) * width) * STEP);
            let top = y + (step * stairs.direction) * STEP;
            let bottom = y + (-1.0 + step * stairs.direction) * STEP;
            self.blocks
                .push([[left, top], [right, top], [right, bottom], [left, bottom]]);
        }
    }
}

/// The rectangle with this corner, width and height.
fn block(x: f64, y: f64, width: f64, height: f64) -> [[f64; 2]; 4] {
    [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]
}

fn cloud(rng: &mut Pcg64) -> [[f64; 2]; 5] {
    let x = rng.uniform(0.0, LENGTH as f64) * STEP;
    let y = VIEW[1] * 3.0 / 4.0;
    std::array::from_fn(|corner| {
        // 3.14, not pi, as in Gymnasium.
        #[expect(clippy::approx_constant)]
        let angle = 3.14 * 2.0 * corner as f64 / 5.0;
        let right = x + 15.0 * STEP * angle.sin() + rng.uniform(0.0, 5.0 * STEP);
        let up = y + 5.0 * STEP * angle.cos() + rng.uniform(0.0, 5.0 * STEP);
        [right, up]
    })
}

/// -1, 0 or 1.
pub(super) fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ground_starts_flat_and_goes_on_uneven() {
        let terrain = Terrain::draw(false, &mut Pcg64::from_seed(3));
        assert_eq!(terrain.points.len(), LENGTH);
        assert!(terrain.blocks.is_empty());
        assert!(terrain.points[..START].iter().all(|[_, y]| *y == HEIGHT));
        assert!(terrain.points[START + 2..].iter().any(|[_, y]| *y != HEIGHT));
    }

    #[test]
    fn the_hard_ground_has_pits_stumps_and_stairs() {
        let mut deepest = f64::INFINITY;
        let mut sizes = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let terrain = Terrain::draw(true, &mut Pcg64::from_seed(seed));
            for pair in terrain.points.windows(2) {
                deepest = deepest.min(pair[1][1] - pair[0][1]);
            }
            for corners in terrain.blocks {
                sizes.insert(((corners[1][0] - corners[0][0]) / STEP).round() as i32);
            }
        }
        assert!(
            (deepest + 4.0 * STEP).abs() < 1e-9,
            "a pit is four pieces deep, found {deepest}"
        );
        assert!(
            sizes.iter().eq(&[1, 2, 4]),
            "stumps, walls of pits and stairs, found {sizes:?}"
        );
    }
}
