//! A compiled model, and what is read out of it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use super::{Buffer, Library, error, field, unknown_layout};
use crate::EnvError;
use crate::mujoco::layout::{self, state};

/// The colour of shapes that were given none.
const NO_COLOR: [f32; 4] = [0.5, 0.5, 0.5, 1.0];

/// How many there are of what a model consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Numbers of a position.
    pub nq: usize,
    /// Degrees of freedom.
    pub nv: usize,
    /// Controls.
    pub nu: usize,
    /// Bodies, the world included.
    pub nbody: usize,
    /// Geometric shapes.
    pub ngeom: usize,
    /// Marked places.
    pub nsite: usize,
}

/// One shape of a model.
#[derive(Clone, Copy, Debug)]
pub struct Geom {
    /// MuJoCo's number of its kind: 0 plane, 2 sphere, 3 capsule, 4 ellipsoid, 5 cylinder, 6 box.
    pub kind: i32,
    /// The body that it belongs to.
    pub body: usize,
    /// Radius and half length, or half sides.
    pub size: [f64; 3],
    /// Red, green, blue and opacity, each from 0 to 1.
    pub rgba: [f32; 4],
    /// The material that it is made of.
    pub material: Option<usize>,
}

/// A compiled model. It never changes, so simulations share it.
///
/// ```
/// use epgt_envs::mujoco::{Model, installation};
/// if let Ok(found) = installation() {
///     let model = Model::load(&found.library, &found.models.join("hopper.xml"))?;
///     assert_eq!((model.sizes().nq, model.timestep()), (6, 0.002));
///     assert_eq!(model.body("foot"), Some(4));
/// }
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct Model {
    pub(super) raw: NonNull<c_void>,
    pub(super) library: Arc<Library>,
    pub(super) sizes: Sizes,
    timestep: f64,
    start: Vec<f64>,
    masses: Vec<f64>,
    controls: Vec<[f64; 2]>,
    geoms: Vec<Geom>,
}

// SAFETY: nothing writes to a model after it was loaded, and MuJoCo's functions take it as const.
unsafe impl Send for Model {}
// SAFETY: as above.
unsafe impl Sync for Model {}

impl Model {
    /// Reads a model from its MJCF file.
    pub fn load(library: &Arc<Library>, path: &Path) -> Result<Arc<Self>, EnvError> {
        let refused = |why: &str| error(format!("cannot read the model {}: {why}", path.display()));
        std::fs::File::open(path).map_err(|reason| refused(&reason.to_string()))?;
        let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| refused("its name holds a 0 byte"))?;
        let mut why = [0u8; 1000];
        // SAFETY: the name is terminated, no virtual file system is given, and the text has the length that is said.
        let raw = unsafe {
            let (text, size) = (why.as_mut_ptr().cast::<c_char>(), why.len() as c_int);
            (library.functions.load_xml)(name.as_ptr(), std::ptr::null(), text, size)
        };
        let Some(raw) = NonNull::new(raw) else {
            let text = CStr::from_bytes_until_nul(&why).unwrap_or_default().to_string_lossy();
            let words: Vec<&str> = text.split_whitespace().collect();
            return Err(refused(&words.join(" ")));
        };
        // From here on the model is freed by whatever way this ends.
        let mut model = Model {
            raw,
            library: Arc::clone(library),
            sizes: Sizes {
                nq: 0,
                nv: 0,
                nu: 0,
                nbody: 0,
                ngeom: 0,
                nsite: 0,
            },
            timestep: 0.0,
            start: Vec::new(),
            masses: Vec::new(),
            controls: Vec::new(),
            geoms: Vec::new(),
        };
        model.read()?;
        Ok(Arc::new(model))
    }

    /// Copies what is needed out of MuJoCo's structure, and checks that it is where it should be.
    fn read(&mut self) -> Result<(), EnvError> {
        use layout::model as at;
        let raw = self.raw.as_ptr();
        // SAFETY: `raw` is an mjModel of the version that the offsets and types belong to.
        unsafe {
            let size = |offset| usize::try_from(field::<i64>(raw, offset)).map_err(|_| unknown_layout());
            self.sizes = Sizes {
                nq: size(at::NQ)?,
                nv: size(at::NV)?,
                nu: size(at::NU)?,
                nbody: size(at::NBODY)?,
                ngeom: size(at::NGEOM)?,
                nsite: size(at::NSITE)?,
            };
            let sizes = self.sizes;
            let told = [
                (sizes.nq, state::QPOS),
                (sizes.nv, state::QVEL),
                (sizes.nu, state::CTRL),
                (size(at::NA)?, state::ACT),
                (6 * sizes.nbody, state::XFRC_APPLIED),
            ];
            if told.iter().any(|&(count, part)| self.state_size(part) != count) {
                return Err(unknown_layout());
            }
            let buffer = Buffer {
                start: field(raw, at::BUFFER),
                bytes: size(at::NBUFFER)?,
            };
            self.timestep = field(raw, at::TIMESTEP);
            self.start = buffer.copy(raw, at::QPOS0, sizes.nq)?;
            self.masses = buffer.copy(raw, at::BODY_MASS, sizes.nbody)?;
            self.controls = buffer.copy(raw, at::ACTUATOR_CTRLRANGE, sizes.nu)?;
            let kinds: Vec<i32> = buffer.copy(raw, at::GEOM_TYPE, sizes.ngeom)?;
            let bodies: Vec<i32> = buffer.copy(raw, at::GEOM_BODYID, sizes.ngeom)?;
            let materials: Vec<i32> = buffer.copy(raw, at::GEOM_MATID, sizes.ngeom)?;
            let extents: Vec<[f64; 3]> = buffer.copy(raw, at::GEOM_SIZE, sizes.ngeom)?;
            let colors: Vec<[f32; 4]> = buffer.copy(raw, at::GEOM_RGBA, sizes.ngeom)?;
            let paints: Vec<[f32; 4]> = buffer.copy(raw, at::MAT_RGBA, size(at::NMAT)?)?;
            for i in 0..sizes.ngeom {
                // A shape's own colour goes before its material's, unless it is the one that none was given for.
                let material = usize::try_from(materials[i]).ok().filter(|&id| id < paints.len());
                let paint = material.map(|id| &paints[id]).filter(|_| colors[i] == NO_COLOR);
                self.geoms.push(Geom {
                    kind: kinds[i],
                    body: usize::try_from(bodies[i]).map_err(|_| unknown_layout())?,
                    size: extents[i],
                    rgba: *paint.unwrap_or(&colors[i]),
                    material,
                });
            }
        }
        let sensible = self.timestep > 0.0 && self.timestep < 1.0 && self.masses.iter().all(|&mass| mass >= 0.0);
        if sensible { Ok(()) } else { Err(unknown_layout()) }
    }

    pub(super) fn state_size(&self, part: i32) -> usize {
        // SAFETY: the model is valid; the function only adds sizes up.
        let size = unsafe { (self.library.functions.state_size)(self.raw.as_ptr(), part) };
        usize::try_from(size).unwrap_or(0)
    }

    /// How many bodies, shapes and so on there are.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Seconds per step of the simulation.
    pub fn timestep(&self) -> f64 {
        self.timestep
    }

    /// The position that a simulation starts from.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The mass of each body.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// The range of each control.
    pub fn controls(&self) -> &[[f64; 2]] {
        &self.controls
    }

    /// The shapes.
    pub fn geoms(&self) -> &[Geom] {
        &self.geoms
    }

    /// The index of the body with this name.
    pub fn body(&self, name: &str) -> Option<usize> {
        let name = CString::new(name).ok()?;
        // SAFETY: the model is valid and the name terminated.
        let id = unsafe { (self.library.functions.name_to_id)(self.raw.as_ptr(), layout::BODY, name.as_ptr()) };
        usize::try_from(id).ok()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the model came from mj_loadXML, and this is its only owner.
        unsafe { (self.library.functions.delete_model)(self.raw.as_ptr()) }
    }
}
