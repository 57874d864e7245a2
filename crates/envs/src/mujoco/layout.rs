//! Where the numbers lie in MuJoCo's structures.
//!
//! MuJoCo's functions take pointers to `mjModel` and `mjData`, whose fields a caller reads himself. Where a field lies
//! belongs to one version of the library, so these byte offsets were taken from the headers of 4.0.0 with `offsetof`,
//! and no other version is accepted. What is read through them is checked against what the library's functions say
//! (`library.rs`) before anything uses it.

/// The version that these offsets belong to, as `mj_version` gives it: 1,000,000 major + 1,000 minor + patch.
pub(super) const VERSION: i32 = 4_000_000;

/// Which parts of the state `mj_getState` is asked for (`mjtState`).
pub(super) mod state {
    pub const QPOS: i32 = 1 << 1;
    pub const QVEL: i32 = 1 << 2;
    pub const ACT: i32 = 1 << 3;
    pub const CTRL: i32 = 1 << 6;
    /// Six numbers per body.
    pub const XFRC_APPLIED: i32 = 1 << 8;
    /// Everything that decides how the simulation goes on.
    pub const INTEGRATION: i32 = (1 << 15) - 1;
}

/// The kind "body" of `mj_name2id` (`mjtObj`).
pub(super) const BODY: i32 = 1;

/// `mjLogMessage`: its level, at the beginning, and its text.
pub(super) mod message {
    /// Messages from this level on are fatal.
    pub const ERROR: i32 = 3;
    pub const SUBJECT: usize = 8;
}

/// Sizes and pointers in `mjModel`.
pub(super) mod model {
    pub const NQ: usize = 0;
    pub const NV: usize = 8;
    pub const NU: usize = 16;
    pub const NA: usize = 40;
    pub const NBODY: usize = 48;
    pub const NGEOM: usize = 136;
    pub const NSITE: usize = 144;
    pub const NMAT: usize = 440;
    pub const NBUFFER: usize = 776;
    pub const TIMESTEP: usize = 792;
    pub const BUFFER: usize = 1784;
    pub const QPOS0: usize = 1792;
    pub const BODY_MASS: usize = 1944;
    pub const GEOM_TYPE: usize = 2432;
    pub const GEOM_BODYID: usize = 2464;
    pub const GEOM_MATID: usize = 2480;
    pub const GEOM_SIZE: usize = 2552;
    pub const GEOM_RGBA: usize = 2648;
    pub const MAT_RGBA: usize = 4304;
    pub const ACTUATOR_CTRLRANGE: usize = 5016;
}

/// Sizes and pointers in `mjData`.
pub(super) mod data {
    pub const NBUFFER: usize = 8;
    pub const BUFFER: usize = 160_672;
    pub const QPOS: usize = 160_688;
    pub const QVEL: usize = 160_696;
    pub const CTRL: usize = 160_744;
    pub const XPOS: usize = 160_848;
    pub const XIPOS: usize = 160_872;
    pub const GEOM_XPOS: usize = 160_912;
    pub const GEOM_XMAT: usize = 160_928;
    pub const SITE_XPOS: usize = 160_936;
    pub const CINERT: usize = 161_008;
    pub const CVEL: usize = 161_296;
    pub const QFRC_ACTUATOR: usize = 161_424;
    pub const QFRC_CONSTRAINT: usize = 161_448;
    pub const CFRC_EXT: usize = 161_480;
}
