//! The tables of observations and actions: what each number is, made once from the names of joints and bodies.

use std::sync::Arc;

use crate::registry::Entry;

/// A table in the making.
pub(super) struct Table(Vec<Entry>);

impl Table {
    pub fn new() -> Self {
        Table(Vec::new())
    }

    /// One number without bounds for each name: `what` of the name.
    pub fn each(self, what: &str, names: &[&str]) -> Self {
        self.within(what, names, f32::INFINITY)
    }

    /// The same between -bound and bound.
    pub fn within(mut self, what: &str, names: &[&str], bound: f32) -> Self {
        let entries = names.iter().map(|name| within(format!("{what} of {name}"), bound));
        self.0.extend(entries);
        self
    }

    /// Several numbers for each name, one for each part.
    pub fn grid(mut self, what: &str, parts: &[&str], names: &[&str]) -> Self {
        for name in names {
            let of_name = |part: &&str| within(format!("{what} {part} of {name}"), f32::INFINITY);
            self.0.extend(parts.iter().map(of_name));
        }
        self
    }

    /// Numbers that have a name of their own.
    pub fn named(mut self, names: &[&'static str]) -> Self {
        self.0
            .extend(names.iter().map(|name| Entry::within(name, f32::INFINITY)));
        self
    }

    /// The table for the registry.
    pub fn entries(self) -> Arc<[Entry]> {
        self.0.into()
    }
}

fn within(name: String, bound: f32) -> Entry {
    Entry {
        name: name.into(),
        low: -bound,
        high: bound,
    }
}

/// The parts of a force or a velocity of a body.
pub(super) const TURN_AND_SHIFT: [&str; 6] = ["around x", "around y", "around z", "along x", "along y", "along z"];
/// The parts of `cinert`: six numbers of the inertia matrix, the mass's moment, and the mass.
pub(super) const INERTIA: [&str; 10] = [
    "xx", "yy", "zz", "xy", "xz", "yz", "moment x", "moment y", "moment z", "mass",
];
