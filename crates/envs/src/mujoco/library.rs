//! MuJoCo, loaded at run time: the one place of this crate that calls foreign code.
//!
//! [`Library`] is the shared library, [`Model`] a compiled model, [`Data`] one simulation of it. Each keeps the one
//! before alive, so that no pointer outlives what it points into. The library's version and the places of all fields
//! that are read are checked before use; what does not fit is refused in a sentence.

mod data;

pub use data::{Array, Data};

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;

use super::layout::{self, VERSION, message, state};
use crate::EnvError;

type Raw = *mut c_void;
type LogHandler = extern "C" fn(*const c_void);

/// The functions of MuJoCo that are called, with the signatures of its header.
struct Functions {
    load_xml: unsafe extern "C" fn(*const c_char, *const c_void, *mut c_char, c_int) -> Raw,
    delete_model: unsafe extern "C" fn(Raw),
    make_data: unsafe extern "C" fn(Raw) -> Raw,
    delete_data: unsafe extern "C" fn(Raw),
    reset_data: unsafe extern "C" fn(Raw, Raw),
    step: unsafe extern "C" fn(Raw, Raw),
    forward: unsafe extern "C" fn(Raw, Raw),
    kinematics: unsafe extern "C" fn(Raw, Raw),
    rne_post_constraint: unsafe extern "C" fn(Raw, Raw),
    state_size: unsafe extern "C" fn(Raw, c_int) -> c_int,
    get_state: unsafe extern "C" fn(Raw, Raw, *mut f64, c_int),
    set_state: unsafe extern "C" fn(Raw, Raw, *const f64, c_int),
    name_to_id: unsafe extern "C" fn(Raw, c_int, *const c_char) -> c_int,
}

/// The shared library, of the one version whose structures are known.
pub struct Library {
    path: PathBuf,
    functions: Functions,
    // Unloaded when the last model and data are gone.
    _handle: libloading::Library,
}

fn error(text: String) -> EnvError {
    EnvError::Simulator(text)
}

impl Library {
    /// Loads the library in this file.
    ///
    /// ```
    /// let error = epgt_envs::mujoco::Library::load("no/libmujoco.so".as_ref()).err().unwrap();
    /// assert!(error.to_string().starts_with("cannot load no/libmujoco.so"));
    /// ```
    pub fn load(path: &Path) -> Result<Arc<Self>, EnvError> {
        // SAFETY: the file is one that the user, a package or this program has put down as MuJoCo; loading it runs its
        // initialisers, which only prepare its own data.
        let handle = unsafe { libloading::Library::new(path) }.map_err(|reason| {
            error(format!(
                "cannot load {} as MuJoCo ({reason}); get it with `epgt setup mujoco`",
                path.display()
            ))
        })?;
        let version: unsafe extern "C" fn() -> c_int = symbol(&handle, path, "mj_version")?;
        // SAFETY: mj_version takes nothing and returns an int in every version of MuJoCo.
        accept(unsafe { version() }, path)?;
        let functions = Functions {
            load_xml: symbol(&handle, path, "mj_loadXML")?,
            delete_model: symbol(&handle, path, "mj_deleteModel")?,
            make_data: symbol(&handle, path, "mj_makeData")?,
            delete_data: symbol(&handle, path, "mj_deleteData")?,
            reset_data: symbol(&handle, path, "mj_resetData")?,
            step: symbol(&handle, path, "mj_step")?,
            forward: symbol(&handle, path, "mj_forward")?,
            kinematics: symbol(&handle, path, "mj_kinematics")?,
            rne_post_constraint: symbol(&handle, path, "mj_rnePostConstraint")?,
            state_size: symbol(&handle, path, "mj_stateSize")?,
            get_state: symbol(&handle, path, "mj_getState")?,
            set_state: symbol(&handle, path, "mj_setState")?,
            name_to_id: symbol(&handle, path, "mj_name2id")?,
        };
        let set_handler: unsafe extern "C" fn(LogHandler) -> *const c_void =
            symbol(&handle, path, "mju_setLogHandler")?;
        // SAFETY: the handler has the signature that this version asks for, and lives as long as the program.
        unsafe { set_handler(on_message) };
        Ok(Arc::new(Library {
            path: path.to_path_buf(),
            functions,
            _handle: handle,
        }))
    }

    /// The file that it was loaded from.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A function of the library. `T` must be its signature in the header of [`VERSION`].
fn symbol<T: Copy>(handle: &libloading::Library, path: &Path, name: &str) -> Result<T, EnvError> {
    // SAFETY: every caller names the signature that MuJoCo's header gives; the pointer is kept beside the handle only.
    let found = unsafe { handle.get::<T>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| {
        error(format!(
            "{} is no MuJoCo library: it has no function {name}; get it with `epgt setup mujoco`",
            path.display()
        ))
    })
}

/// Refuses every version but the known one.
fn accept(version: i32, path: &Path) -> Result<(), EnvError> {
    if version == VERSION {
        return Ok(());
    }
    // Before 4.0 a version was 100 major + 10 minor + patch, or 1,000,000 major and so on, depending on its age.
    let dotted = |v: i32| match v {
        1_000_000.. => format!("{}.{}.{}", v / 1_000_000, v / 1000 % 1000, v % 1000),
        _ => format!("{}.{}.{}", v / 100, v / 10 % 10, v % 10),
    };
    Err(error(format!(
        "{} is MuJoCo {}, but this program works with {} only; get that with `epgt setup mujoco`",
        path.display(),
        dotted(version),
        dotted(VERSION)
    )))
}

/// Hears what MuJoCo has to say. Its errors are fatal by its own rules: it cannot go on, and calling back into it is not
/// allowed, so the program ends here with a sentence. Warnings of unstable physics are dropped: the numbers that come of
/// it are checked where they are used, and MuJoCo's own habit is a log file in the working directory.
extern "C" fn on_message(raw: *const c_void) {
    // SAFETY: MuJoCo passes a valid mjLogMessage, which begins with its level and holds a terminated text.
    let (level, text) = unsafe {
        let text = CStr::from_ptr(raw.byte_add(message::SUBJECT).cast::<c_char>());
        (raw.cast::<c_int>().read(), text.to_string_lossy())
    };
    if level >= message::ERROR {
        eprintln!("epgt: MuJoCo cannot go on: {text}; a run can be resumed from its last checkpoint");
        std::process::exit(1);
    }
}

/// The field at this offset.
///
/// # Safety
/// `base` must point to a structure that has a `T` at `offset`.
unsafe fn field<T: Copy>(base: Raw, offset: usize) -> T {
    // SAFETY: promised by the caller.
    unsafe { base.byte_add(offset).cast::<T>().read() }
}

/// The buffer that all arrays of a structure lie in.
struct Buffer {
    start: usize,
    bytes: usize,
}

impl Buffer {
    /// The pointer at this offset of the structure, if it leads to `count` numbers inside the buffer.
    ///
    /// # Safety
    /// `base` must point to a structure that has a pointer at `offset`.
    unsafe fn array<T>(&self, base: Raw, offset: usize, count: usize) -> Result<*mut T, EnvError> {
        // SAFETY: promised by the caller.
        let pointer: *mut T = unsafe { field(base, offset) };
        let begin = (pointer as usize).wrapping_sub(self.start);
        let fits = count == 0 || begin <= self.bytes && count <= (self.bytes - begin) / size_of::<T>();
        if fits && (count == 0 || pointer.is_aligned()) {
            Ok(pointer)
        } else {
            Err(unknown_layout())
        }
    }

    /// A copy of such an array.
    ///
    /// # Safety
    /// As above, and the array must hold values of `T`.
    unsafe fn copy<T: Copy>(&self, base: Raw, offset: usize, count: usize) -> Result<Vec<T>, EnvError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: the array lies inside the buffer, which MuJoCo has filled.
        Ok(unsafe { std::slice::from_raw_parts(self.array::<T>(base, offset, count)?, count) }.to_vec())
    }
}

fn unknown_layout() -> EnvError {
    error("this build of MuJoCo lays its data out differently; get the known one with `epgt setup mujoco`".into())
}

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
    /// MuJoCo's number of its kind: 0 plane, 2 sphere, 3 capsule, 5 cylinder, 6 box.
    pub kind: i32,
    /// The body that it belongs to.
    pub body: usize,
    /// Radius and half length, or half sides.
    pub size: [f64; 3],
    /// Red, green, blue and opacity, each from 0 to 1.
    pub rgba: [f32; 4],
}

/// A compiled model. It never changes, so simulations share it.
pub struct Model {
    raw: NonNull<c_void>,
    library: Arc<Library>,
    sizes: Sizes,
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
                let material = usize::try_from(materials[i]).ok().and_then(|id| paints.get(id));
                self.geoms.push(Geom {
                    kind: kinds[i],
                    body: usize::try_from(bodies[i]).map_err(|_| unknown_layout())?,
                    size: extents[i],
                    rgba: *material.unwrap_or(&colors[i]),
                });
            }
        }
        let sensible = self.timestep > 0.0 && self.timestep < 1.0 && self.masses.iter().all(|&mass| mass >= 0.0);
        if sensible { Ok(()) } else { Err(unknown_layout()) }
    }

    fn state_size(&self, part: i32) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(version: i32) -> String {
        let refused = accept(version, "lib.so".as_ref()).expect_err("another version");
        refused.to_string()
    }

    #[test]
    fn one_version_is_accepted_and_others_are_refused_by_name() {
        assert_eq!(accept(VERSION, "lib.so".as_ref()), Ok(()));
        assert_eq!(
            refusal(337),
            "lib.so is MuJoCo 3.3.7, but this program works with 4.0.0 only; get that with `epgt setup mujoco`"
        );
        assert!(refusal(4_001_002).starts_with("lib.so is MuJoCo 4.1.2, but"));
    }

    #[test]
    fn arrays_outside_their_buffer_are_refused() {
        let numbers = [1.0f64, 2.0, 3.0];
        let start = numbers.as_ptr() as usize;
        let mut structure = [start];
        let base = structure.as_mut_ptr().cast::<c_void>();
        let buffer = |start, bytes| Buffer { start, bytes };
        // SAFETY: the structure has a pointer at its beginning, which leads to three numbers.
        unsafe {
            assert_eq!(buffer(start, 24).copy::<f64>(base, 0, 3), Ok(numbers.to_vec()));
            assert!(buffer(start, 23).copy::<f64>(base, 0, 3).is_err());
            assert!(buffer(start + 8, 24).copy::<f64>(base, 0, 1).is_err());
            assert!(buffer(start, 24).copy::<f64>(base, 0, usize::MAX).is_err());
        }
    }
}
