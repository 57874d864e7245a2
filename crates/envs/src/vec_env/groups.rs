//! Who steps the environments of a [`VecEnv`](crate::VecEnv): this thread, several, or a worker process.

use crate::group::Group;
use crate::pool::{Parcel, Pool};

use super::foreign::Foreign;

/// Who steps the environments.
pub(super) enum Groups {
    One(Group),
    Many(Vec<Parcel>, Pool),
    Foreign(Box<dyn Foreign>),
}

impl Groups {
    /// One group becomes one per thread.
    pub fn on_threads(self, threads: usize) -> Self {
        match self {
            Groups::One(group) if threads > 1 => {
                let groups = group.split(threads).into_iter();
                let parcels = groups.map(Parcel::new).collect();
                Groups::Many(parcels, Pool::new(threads - 1))
            }
            groups => groups,
        }
    }

    /// Threads of this process that step environments.
    pub fn threads(&self) -> usize {
        match self {
            Groups::One(_) | Groups::Foreign(_) => 1,
            Groups::Many(parcels, _) => parcels.len(),
        }
    }

    /// How often all were stepped.
    pub fn steps(&self) -> u64 {
        match self {
            Groups::Foreign(envs) => envs.steps(),
            _ => self.iter().next().map_or(0, |group| group.steps),
        }
    }

    /// The groups of this process; none where a worker steps.
    pub fn iter(&self) -> Box<dyn Iterator<Item = &Group> + '_> {
        match self {
            Groups::One(group) => Box::new(std::iter::once(group)),
            Groups::Many(parcels, _) => Box::new(parcels.iter().map(|parcel| &parcel.group)),
            Groups::Foreign(_) => Box::new(std::iter::empty()),
        }
    }

    pub fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut Group> + '_> {
        match self {
            Groups::One(group) => Box::new(std::iter::once(group)),
            Groups::Many(parcels, _) => Box::new(parcels.iter_mut().map(|parcel| &mut parcel.group)),
            Groups::Foreign(_) => Box::new(std::iter::empty()),
        }
    }
}
