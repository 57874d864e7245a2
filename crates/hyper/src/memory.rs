//! The episodic memory: what came of a hyper-action in a training context (paper, section "Episodic control").
//!
//! A set of tuples (key, action, value), at most N_mem, first in first out. Reading averages the values of the K nearest
//! tuples of an action; writing moves the nearest ones towards the new hyper-return and adds it.
//!
//! The search is exact: one pass over all keys, laid out in tiles of sixteen so that the compiler vectorises across keys.
//! One pass answers for every action at once, which a tree per action cannot.

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
    /// Squared distances of all slots, padded to whole tiles.
    distances: Vec<f32>,
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
    /// An action without a tuple gets the same average over the nearest tuples of any action, and an empty memory gives 0.
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

    /// Finds the `k` nearest tuples of every action and of any action.
    fn find_nearest(&mut self, key: &[f32], k: usize) {
        assert_eq!(key.len(), self.key_dim);
        let search = &mut self.search;
        search.distances.resize(self.values.len().div_ceil(TILE) * TILE, 0.0);
        squared_distances(&self.keys, key, &mut search.distances);
        search.k = k;
        search.nearest.resize((self.n_actions + 1) * k, (f32::INFINITY, 0));
        search.found.clear();
        search.found.resize(self.n_actions + 1, 0);
        let any = self.n_actions;
        for (slot, (&action, &distance)) in self.actions.iter().zip(&search.distances).enumerate() {
            for row in [action as usize, any] {
                let nearest = &mut search.nearest[row * k..][..k];
                insert_sorted(nearest, &mut search.found[row], (distance, slot as u32));
            }
        }
    }
}

/// Sim of the paper's B.2 from a squared distance: 1 / (|key - key_k| + 0.001).
fn similarity(squared: f32) -> f32 {
    1.0 / (squared.sqrt() + KERNEL_EPSILON)
}

/// Puts a candidate into the ascending `nearest[..found]`, dropping the farthest when it is full.
#[inline(always)]
fn insert_sorted(nearest: &mut [(f32, u32)], found: &mut usize, candidate: (f32, u32)) {
    if *found == nearest.len() {
        if candidate.0 >= nearest[*found - 1].0 {
            return;
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
}

/// Squared Euclidean distance of `key` from every key of the tiles.
fn squared_distances(tiles: &[f32], key: &[f32], out: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (tile, out) in tiles.chunks_exact(key.len() * TILE).zip(out.chunks_exact_mut(TILE)) {
                let mut sums = [0.0f32; TILE];
                for (column, &x) in tile.chunks_exact(TILE).zip(key) {
                    for lane in 0..TILE {
                        let difference = column[lane] - x;
                        sums[lane] += difference * difference;
                    }
                }
                out.copy_from_slice(&sums);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() <= 1e-5 * (1.0 + b.abs())
    }

    /// Three tuples on a line at 0, 3 and 4 with values 10, 20, 40, all of action 0. Written with beta so small that the
    /// writes leave the earlier values alone.
    fn on_a_line() -> EpisodicMemory {
        let mut memory = EpisodicMemory::new(10, 1, 2);
        let how = Writing {
            rate: 0.0,
            ..Writing::default()
        };
        for (key, value) in [(0.0, 10.0), (3.0, 20.0), (4.0, 40.0)] {
            memory.write(&[key], 0, value, key as u64, &how);
        }
        memory
    }

    #[test]
    fn reading_is_the_papers_equation_worked_by_hand() {
        let mut memory = on_a_line();
        let mut q = [0.0; 2];
        // Distances from 1 are 1, 2 and 3; the two nearest weigh 1/1.001 and 1/2.001.
        memory.read(&[1.0], 2, &mut q);
        let expected = (10.0 / 1.001 + 20.0 / 2.001) / (1.0 / 1.001 + 1.0 / 2.001);
        assert!(close(q[0], expected), "{} is not {expected}", q[0]);
        memory.read(&[1.0], 3, &mut q);
        let expected = (10.0 / 1.001 + 20.0 / 2.001 + 40.0 / 3.001) / (1.0 / 1.001 + 1.0 / 2.001 + 1.0 / 3.001);
        assert!(close(q[0], expected), "{} is not {expected}", q[0]);
    }

    #[test]
    fn an_untried_action_gets_the_estimate_of_any_action() {
        let mut memory = on_a_line();
        let mut q = [0.0; 2];
        memory.read(&[1.0], 3, &mut q);
        assert_eq!(q[1], q[0]);
    }

    #[test]
    fn writing_moves_each_neighbour_towards_the_return_by_its_share() {
        let mut memory = on_a_line();
        let how = Writing {
            neighbours: 2,
            ..Writing::default()
        };
        memory.write(&[1.0], 0, 100.0, 9, &how);
        let values: Vec<f32> = memory.tuples().map(|tuple| tuple.2).collect();
        let (a, b) = (1.0 / 1.001, 1.0 / 2.001);
        assert!(close(values[0], 10.0 + 0.5 * 90.0 * a / (a + b)));
        assert!(close(values[1], 20.0 + 0.5 * 80.0 * b / (a + b)));
        assert_eq!(values[2], 40.0);
        assert_eq!(values[3], 100.0, "the new moment is added with its own return");
    }

    #[test]
    fn an_exact_key_is_updated_and_not_added_again() {
        let mut memory = EpisodicMemory::new(10, 2, 1);
        memory.write(&[1.0, 2.0], 0, 4.0, 0, &Writing::default());
        memory.write(&[1.0, 2.0], 0, 8.0, 1, &Writing::default());
        let tuples: Vec<_> = memory.tuples().collect();
        assert_eq!(tuples, [(vec![1.0, 2.0], 0, 6.0, 0)]);
    }

    #[test]
    fn the_max_rule_keeps_the_best_return_of_a_key() {
        let how = Writing {
            rule: WriteRule::Max,
            ..Writing::default()
        };
        let mut memory = EpisodicMemory::new(10, 1, 1);
        for value in [4.0, 8.0, 2.0] {
            memory.write(&[1.0], 0, value, 0, &how);
        }
        memory.write(&[1.5], 0, 3.0, 0, &how);
        let values: Vec<f32> = memory.tuples().map(|tuple| tuple.2).collect();
        assert_eq!(values, [8.0, 3.0]);
    }

    #[test]
    fn the_earliest_added_tuple_leaves_first() {
        let mut memory = EpisodicMemory::new(3, 1, 1);
        for update in 0..5 {
            memory.write(&[update as f32], 0, 0.0, update, &Writing::default());
        }
        let mut origins: Vec<u64> = memory.tuples().map(|tuple| tuple.3).collect();
        origins.sort();
        assert_eq!(origins, [2, 3, 4]);
    }

    proptest! {
        #[test]
        fn weights_sum_to_one_and_values_move_by_at_most_beta(
            writes in prop::collection::vec((prop::collection::vec(-1.0f32..1.0, 4), 0usize..3, -100.0f32..100.0), 1..120),
            capacity in 1usize..50,
        ) {
            let mut memory = EpisodicMemory::new(capacity, 4, 3);
            let how = Writing::default();
            for (update, (key, action, value)) in writes.iter().enumerate() {
                let before: Vec<_> = memory.tuples().collect();
                memory.write(key, *action, *value, update as u64, &how);
                prop_assert!(memory.len() <= capacity);
                for (old, new) in before.iter().zip(memory.tuples()) {
                    if old.3 == new.3 {
                        let moved = new.2 - old.2;
                        let gap = value - old.2;
                        prop_assert!(old.1 == *action || moved == 0.0);
                        prop_assert!(moved * gap >= 0.0 && moved.abs() <= how.rate * gap.abs() * 1.0001 + 1e-5);
                    }
                }
                let mut q = [0.0; 3];
                memory.read(key, 3, &mut q);
                for action in 0..3 {
                    let total: f32 = memory.neighbours(action).iter().map(|n| n.weight).sum();
                    prop_assert!((total - 1.0).abs() < 1e-5);
                }
            }
        }

        #[test]
        fn the_scan_finds_the_same_neighbours_as_sorting_everything(
            keys in prop::collection::vec((prop::collection::vec(-1.0f32..1.0, 3), 0usize..2), 1..90),
            query in prop::collection::vec(-1.0f32..1.0, 3),
        ) {
            let mut memory = EpisodicMemory::new(1000, 3, 2);
            for (update, (key, action)) in keys.iter().enumerate() {
                memory.insert(key, *action, update as f32, update as u64);
            }
            let mut q = [0.0; 2];
            memory.read(&query, 3, &mut q);
            for action in 0..2 {
                let mut expected: Vec<(f32, u64)> = keys.iter().enumerate()
                    .filter(|(_, (_, a))| *a == action)
                    .map(|(update, (key, _))| {
                        let squared: f32 = key.iter().zip(&query).map(|(a, b)| (a - b) * (a - b)).sum();
                        (squared.sqrt(), update as u64)
                    })
                    .collect();
                expected.sort_by(|a, b| a.0.total_cmp(&b.0));
                if expected.is_empty() {
                    continue;
                }
                let found = memory.neighbours(action);
                prop_assert_eq!(found.len(), expected.len().min(3));
                for (found, expected) in found.iter().zip(&expected) {
                    prop_assert!((found.distance - expected.0).abs() < 1e-5);
                }
            }
        }
    }
}
