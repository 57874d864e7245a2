//! MuJoCo, loaded at run time: the one place of this crate that calls foreign code.
//!
//! [`Library`] is the shared library, [`Model`] a compiled model, [`Data`] one simulation of it. Each keeps the one
//! before alive, so that no pointer outlives what it points into. The library's version and the places of all fields
//! that are read are checked before use; what does not fit is refused in a sentence.

mod data;
mod model;

pub use data::{Array, Data};
pub use model::{Geom, Model, Sizes};

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::layout::{VERSION, message};
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

/// Hears what MuJoCo has to say. Its errors are fatal by its own rules: it cannot go on, and calling back into it is
/// not allowed, so the program ends here with a sentence. Warnings of unstable physics are dropped: the numbers that
/// come of it are checked where they are used, and MuJoCo's own habit is a log file in the working directory.
extern "C" fn on_message(raw: *const c_void) {
    // SAFETY: MuJoCo passes a valid mjLogMessage, which begins with its level and holds a terminated text.
    let (level, text) = unsafe {
        let text = CStr::from_ptr(raw.byte_add(message::SUBJECT).cast::<c_char>());
        (raw.cast::<c_int>().read(), text.to_string_lossy())
    };
    if level >= message::ERROR {
        let line = format!("epgt: MuJoCo cannot go on: {text}; a run can be resumed from its last checkpoint\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
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
    fn a_fatal_error_ends_the_program_with_a_sentence() {
        const MARK: &str = "EPGT_TEST_FATAL_ERROR";
        let found = match crate::mujoco::installation() {
            Ok(found) => found,
            Err(error) => return println!("skipped: {error}"),
        };
        if std::env::var_os(MARK).is_some() {
            let model = Model::load(&found.library, &found.models.join("hopper.xml")).expect("a model");
            // There is no such part of a state.
            panic!("MuJoCo went on with {}", model.state_size(1 << 30));
        }
        let name = "mujoco::library::tests::a_fatal_error_ends_the_program_with_a_sentence";
        let ended = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", name, "--nocapture"])
            .env(MARK, "1")
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains("epgt: MuJoCo cannot go on: "), "{said}");
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
