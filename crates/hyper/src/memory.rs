//! The episodic memory: what came of a hyper-action in a training context (paper, section "Episodic control").
//!
//! A set of tuples (key, action, value), at most N_mem, first in first out. Reading averages the values of the K
//! nearest tuples of an action; writing moves the nearest ones towards the new hyper-return and adds it.
//!
//! The search is exact: one pass over all keys, laid out in tiles of sixteen so that the compiler vectorises across
//! keys. One pass answers for every action at once, which a tree per action cannot.

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::settings::WriteRule;

/// Keys that are compared side by side.
const TILE: usize = 16;

/// The kernel's guard against division by zero (paper, B.2).
const KERNEL_EPSILON: f32 = 0.001;

/// A remembered moment as seen from a query key.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// The policy update at which it was lived.
    pub origin: u64,
    /// Euclidean distance of its key from the query.
    pub distance: f32,
    /// Its share in the average, Sim / sum of Sim.
    pub weight: f32,
    /// Its stored value.
    pub value: f32,
}

/// The episodic memory M.
///
/// ```
/// use epgt_hyper::EpisodicMemory;
/// let mut memory = EpisodicMemory::new(100, 2, 3);
/// memory.write(&[0.0, 0.0], 1, 5.0, 0, &Default::default());
/// let mut q = [0.0; 3];
/// memory.read(&[0.1, 0.0], 3, &mut q);
/// assert_eq!(q, [5.0, 5.0, 5.0]); // actions 0 and 2 have no tuple yet: the estimate of any action stands in
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EpisodicMemory {
    capacity: usize,
    key_dim: usize,
    /// `[tile][key_dim][TILE]`
    keys: Vec<f32>,
    actions: Vec<u32>,
    values: Vec<f32>,
    origins: Vec<u64>,
    /// The slot that the next tuple takes: the oldest one once the memory is full.
    next: usize,
    n_actions: usize,
    #[serde(skip)]
    search: Search,
}

/// Buffers of the last search.
#[derive(Clone, Debug, Default)]
struct Search {
    /// `[n_actions + 1][k]` nearest (squared distance, slot); the last row is of any action.
    nearest: Vec<(f32, u32)>,
    /// Tuples found in each row.
    found: Vec<usize>,
    k: usize,
}

/// How to write (paper, Eq. 4 and B.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Writing {
    /// Weighted average or maximum.
    pub rule: WriteRule,
    /// K_w, the neighbours that move.
    pub neighbours: usize,
    /// beta, how far they move.
    pub rate: f32,
}

impl Default for Writing {
    fn default() -> Self {
        Self {
            rule: WriteRule::Average,
            neighbours: 3,
            rate: 0.5,
        }
    }
}

impl EpisodicMemory {
    /// An empty memory for at most `capacity` tuples with keys of `key_dim` numbers and `n_actions` actions.
    pub fn new(capacity: usize, key_dim: usize, n_actions: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            key_dim,
            keys: Vec::new(),
            actions: Vec::new(),
            values: Vec::new(),
            origins: Vec::new(),
            next: 0,
            n_actions,
            search: Search::default(),
        }
    }

    /// Whether it is whole, and of the same kind as another: what was read from a file need not be.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        // The memory of a run that is made longer stays as large as it was.
        let kind = |memory: &Self| (memory.key_dim, memory.n_actions);
        let len = self.values.len();
        let tiles = len.div_ceil(TILE).checked_mul(self.key_dim * TILE);
        kind(self) == kind(other)
            && len <= self.capacity
            && self.next < self.capacity
            && (self.next == len % self.capacity || len == self.capacity)
            && (self.actions.len(), self.origins.len()) == (len, len)
            && tiles == Some(self.keys.len())
            && self.actions.iter().all(|&action| (action as usize) < self.n_actions)
    }

    /// Tuples stored.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether nothing is stored yet.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of actions whose values are told apart.
    pub fn n_actions(&self) -> usize {
        self.n_actions
    }

    /// N_mem.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The stored tuples as (key, action, value, origin), in slot order.
    pub fn tuples(&self) -> impl Iterator<Item = (Vec<f32>, usize, f32, u64)> + '_ {
        (0..self.len()).map(|slot| {
            let key = (0..self.key_dim)
                .map(|dim| self.keys[self.offset(slot) + dim * TILE])
                .collect();
            (key, self.actions[slot] as usize, self.values[slot], self.origins[slot])
        })
    }

    /// Q(s, a) for every action at `key` (paper, Eq. 3), over the `k` nearest tuples of each action.
    ///
    /// An action without a tuple gets the same average over the nearest tuples of any action, and an empty memory gives
    /// 0.
    pub fn read(&mut self, key: &[f32], k: usize, q: &mut [f32]) {
        assert_eq!(q.len(), self.n_actions);
        self.find_nearest(key, k);
        let anything = self.average(self.n_actions).unwrap_or(0.0);
        for (action, q) in q.iter_mut().enumerate() {
            *q = self.average(action).unwrap_or(anything);
        }
    }

    /// The tuples that the last [`read`](Self::read) averaged for `action`, nearest first.
    pub fn neighbours(&self, action: usize) -> Vec<Neighbour> {
        let row = if self.search.found[action] > 0 {
            action
        } else {
            self.n_actions
        };
        let total: f32 = self.row(row).iter().map(|&(d, _)| similarity(d)).sum();
        self.row(row)
            .iter()
            .map(|&(squared, slot)| Neighbour {
                origin: self.origins[slot as usize],
                distance: squared.sqrt(),
                weight: similarity(squared) / total,
                value: self.values[slot as usize],
            })
            .collect()
    }

    /// Writes the hyper-return of `action` at `key`, lived at policy update `origin` (paper, Eq. 4).
    pub fn write(&mut self, key: &[f32], action: usize, hyper_return: f32, origin: u64, how: &Writing) {
        assert!(action < self.n_actions);
        self.find_nearest(key, how.neighbours);
        let row = std::mem::take(&mut self.search.nearest);
        let k = self.search.k;
        let neighbours = &row[action * k..][..self.search.found[action]];
        let exact = neighbours.first().filter(|&&(squared, _)| squared == 0.0);
        match how.rule {
            WriteRule::Average => {
                let total: f32 = neighbours.iter().map(|&(d, _)| similarity(d)).sum();
                for &(squared, slot) in neighbours {
                    let value = &mut self.values[slot as usize];
                    *value += how.rate * (hyper_return - *value) * similarity(squared) / total;
                }
            }
            WriteRule::Max => {
                if let Some(&(_, slot)) = exact {
                    let value = &mut self.values[slot as usize];
                    *value = value.max(hyper_return);
                }
            }
        }
        let known = exact.is_some();
        self.search.nearest = row;
        if !known {
            self.insert(key, action, hyper_return, origin);
        }
    }

    fn insert(&mut self, key: &[f32], action: usize, value: f32, origin: u64) {
        let slot = self.next;
        if slot == self.values.len() {
            if slot.is_multiple_of(TILE) {
                self.keys.resize(self.keys.len() + self.key_dim * TILE, 0.0);
            }
            self.actions.push(action as u32);
            self.values.push(value);
            self.origins.push(origin);
        } else {
            self.actions[slot] = action as u32;
            self.values[slot] = value;
            self.origins[slot] = origin;
        }
        let offset = self.offset(slot);
        for (dim, &x) in key.iter().enumerate() {
            self.keys[offset + dim * TILE] = x;
        }
        self.next = (slot + 1) % self.capacity;
    }

    fn offset(&self, slot: usize) -> usize {
        slot / TILE * self.key_dim * TILE + slot % TILE
    }

    fn row(&self, row: usize) -> &[(f32, u32)] {
        &self.search.nearest[row * self.search.k..][..self.search.found[row]]
    }

    /// The similarity-weighted average of a row of the last search.
    fn average(&self, row: usize) -> Option<f32> {
        let (mut total, mut sum) = (0.0, 0.0);
        for &(squared, slot) in self.row(row) {
            let weight = similarity(squared);
            total += weight;
            sum += weight * self.values[slot as usize];
        }
        (total > 0.0).then(|| sum / total)
    }

    /// Finds the `k` nearest tuples of every action and of any action, earlier slots first where distances are equal.
    fn find_nearest(&mut self, key: &[f32], k: usize) {
        assert_eq!(key.len(), self.key_dim);
        let search = &mut self.search;
        search.k = k;
        search.nearest.clear();
        search.nearest.resize((self.n_actions + 1) * k, (f32::INFINITY, 0));
        search.found.clear();
        search.found.resize(self.n_actions + 1, 0);
        let any = self.n_actions;
        // Farther than this is nothing of use to any action: most tiles end here, once a few near tuples are known.
        let mut farthest = f32::INFINITY;
        for_each_tile(&self.keys, key, |tile, distances| {
            // No early exit: that is what lets the compiler vectorise it.
            if !distances.iter().fold(false, |near, &d| near | (d < farthest)) {
                return;
            }
            let mut changed = false;
            let first = tile * TILE;
            let actions = &self.actions[first..self.actions.len().min(first + TILE)];
            for (lane, (&action, &distance)) in actions.iter().zip(distances).enumerate() {
                for row in [action as usize, any] {
                    let nearest = &mut search.nearest[row * k..][..k];
                    changed |= insert_sorted(nearest, &mut search.found[row], (distance, (first + lane) as u32));
                }
            }
            if changed {
                let last_of_rows = search.nearest.chunks_exact(k).map(|row| row[k - 1].0);
                farthest = last_of_rows.fold(0.0, f32::max);
            }
        });
    }
}

/// Sim of the paper's B.2 from a squared distance: 1 / (|key - key_k| + 0.001).
fn similarity(squared: f32) -> f32 {
    1.0 / (squared.sqrt() + KERNEL_EPSILON)
}

/// Puts a candidate into the ascending `nearest[..found]`, dropping the farthest when it is full. Says whether it was
/// near enough.
#[inline(always)]
fn insert_sorted(nearest: &mut [(f32, u32)], found: &mut usize, candidate: (f32, u32)) -> bool {
    if *found == nearest.len() {
        if candidate.0 >= nearest[*found - 1].0 {
            return false;
        }
    } else {
        *found += 1;
    }
    let mut place = *found - 1;
    while place > 0 && nearest[place - 1].0 > candidate.0 {
        nearest[place] = nearest[place - 1];
        place -= 1;
    }
    nearest[place] = candidate;
    true
}

/// Hands over the squared Euclidean distances of `key` from the keys of each tile.
fn for_each_tile(tiles: &[f32], key: &[f32], mut look: impl FnMut(usize, &[f32; TILE])) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (number, tile) in tiles.chunks_exact(key.len() * TILE).enumerate() {
                let mut sums = [0.0f32; TILE];
                for (column, &x) in tile.chunks_exact(TILE).zip(key) {
                    for lane in 0..TILE {
                        let difference = column[lane] - x;
                        sums[lane] += difference * difference;
                    }
                }
                look(number, &sums);
            }
        },
    );
}

#[cfg(test)]
mod tests;
