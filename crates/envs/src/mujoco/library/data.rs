//! One simulation of a model: its state, and what MuJoCo computed from it.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use super::{Buffer, Model, Raw, Sizes, field, unknown_layout};
use crate::EnvError;
use crate::mujoco::layout::{data as at, state};

/// The arrays of a simulation that can be read; the names are MuJoCo's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
    /// Position of every joint.
    Qpos,
    /// Velocity of every degree of freedom.
    Qvel,
    /// Controls.
    Ctrl,
    /// Position of every body's frame.
    Xpos,
    /// Position of every body's centre of mass.
    Xipos,
    /// Position of every shape.
    GeomXpos,
    /// Orientation of every shape, a 3 x 3 matrix by rows.
    GeomXmat,
    /// Position of every marked place.
    SiteXpos,
    /// Inertia and mass of every body around the common centre of mass.
    Cinert,
    /// Velocity of every body around the common centre of mass.
    Cvel,
    /// Forces of the actuators on the degrees of freedom.
    QfrcActuator,
    /// Forces of the constraints on the degrees of freedom.
    QfrcConstraint,
    /// External force on every body; up to date only after [`Data::compute_forces`].
    CfrcExt,
}

impl Array {
    /// In the order of declaration, so that an array's place is its number.
    const ALL: [Array; 13] = [
        Array::Qpos,
        Array::Qvel,
        Array::Ctrl,
        Array::Xpos,
        Array::Xipos,
        Array::GeomXpos,
        Array::GeomXmat,
        Array::SiteXpos,
        Array::Cinert,
        Array::Cvel,
        Array::QfrcActuator,
        Array::QfrcConstraint,
        Array::CfrcExt,
    ];

    /// Where its pointer lies in `mjData`, and how many numbers it holds.
    fn place(self, sizes: Sizes) -> (usize, usize) {
        match self {
            Array::Qpos => (at::QPOS, sizes.nq),
            Array::Qvel => (at::QVEL, sizes.nv),
            Array::Ctrl => (at::CTRL, sizes.nu),
            Array::Xpos => (at::XPOS, 3 * sizes.nbody),
            Array::Xipos => (at::XIPOS, 3 * sizes.nbody),
            Array::GeomXpos => (at::GEOM_XPOS, 3 * sizes.ngeom),
            Array::GeomXmat => (at::GEOM_XMAT, 9 * sizes.ngeom),
            Array::SiteXpos => (at::SITE_XPOS, 3 * sizes.nsite),
            Array::Cinert => (at::CINERT, 10 * sizes.nbody),
            Array::Cvel => (at::CVEL, 6 * sizes.nbody),
            Array::QfrcActuator => (at::QFRC_ACTUATOR, sizes.nv),
            Array::QfrcConstraint => (at::QFRC_CONSTRAINT, sizes.nv),
            Array::CfrcExt => (at::CFRC_EXT, 6 * sizes.nbody),
        }
    }
}

/// One simulation. All its arrays lie in one buffer that MuJoCo allocates once, so their places are looked up once.
///
/// ```
/// use epgt_envs::mujoco::{Array, Data, Model, installation};
/// if let Ok(found) = installation() {
///     let model = Model::load(&found.library, &found.models.join("inverted_pendulum.xml"))?;
///     let mut data = Data::new(&model)?;
///     data.get_mut(Array::Ctrl)[0] = 1.0;
///     data.step(10);
///     assert!(data.get(Array::Qpos)[0] > model.start()[0]);
/// }
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct Data {
    raw: NonNull<c_void>,
    model: Arc<Model>,
    arrays: [(NonNull<f64>, usize); Array::ALL.len()],
}

// SAFETY: MuJoCo's data belongs to no thread; only its owner reaches it, and writes need `&mut`.
unsafe impl Send for Data {}

impl Data {
    /// A simulation at the model's start.
    pub fn new(model: &Arc<Model>) -> Result<Self, EnvError> {
        // SAFETY: the model is valid.
        let raw = unsafe { (model.library.functions.make_data)(model.raw.as_ptr()) };
        let raw = NonNull::new(raw)
            .ok_or_else(|| EnvError::Simulator("MuJoCo has no memory left for another simulation".into()))?;
        let mut data = Data {
            raw,
            model: Arc::clone(model),
            arrays: [(NonNull::dangling(), 0); Array::ALL.len()],
        };
        data.find_arrays()?;
        Ok(data)
    }

    fn find_arrays(&mut self) -> Result<(), EnvError> {
        let raw = self.raw.as_ptr();
        // SAFETY: `raw` is an mjData of the version that the offsets belong to.
        unsafe {
            let buffer = Buffer {
                start: field(raw, at::BUFFER),
                bytes: usize::try_from(field::<i64>(raw, at::NBUFFER)).map_err(|_| unknown_layout())?,
            };
            for (slot, array) in self.arrays.iter_mut().zip(Array::ALL) {
                let (offset, count) = array.place(self.model.sizes);
                let pointer = buffer.array::<f64>(raw, offset, count)?;
                *slot = (NonNull::new(pointer).unwrap_or(NonNull::dangling()), count);
            }
        }
        // The state that MuJoCo gives out is the one that is read here.
        let parts = [
            (Array::Qpos, state::QPOS),
            (Array::Qvel, state::QVEL),
            (Array::Ctrl, state::CTRL),
        ];
        for (array, part) in parts {
            if self.state(part) != self.get(array) {
                return Err(unknown_layout());
            }
        }
        Ok(())
    }

    /// The model that is simulated.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The numbers of an array.
    #[inline]
    pub fn get(&self, array: Array) -> &[f64] {
        let (pointer, count) = self.arrays[array as usize];
        // SAFETY: checked at the beginning to lie in the buffer, which stays where it is until the data is deleted; no
        // other reference writes to it while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(pointer.as_ptr(), count) }
    }

    /// The same, to be written.
    #[inline]
    pub fn get_mut(&mut self, array: Array) -> &mut [f64] {
        let (pointer, count) = self.arrays[array as usize];
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr(), count) }
    }

    /// Where a body's frame is.
    #[inline]
    pub fn body(&self, index: usize) -> [f64; 3] {
        let xpos = &self.get(Array::Xpos)[3 * index..][..3];
        [xpos[0], xpos[1], xpos[2]]
    }

    #[inline]
    fn call(&mut self, function: unsafe extern "C" fn(Raw, Raw)) {
        // SAFETY: the data was made for this model, both are valid, and `self` is borrowed alone.
        unsafe { function(self.model.raw.as_ptr(), self.raw.as_ptr()) }
    }

    /// Takes everything back to the start.
    pub fn reset(&mut self) {
        self.call(self.model.library.functions.reset_data);
    }

    /// Moves time on by so many steps of the model's timestep.
    #[inline]
    pub fn step(&mut self, steps: usize) {
        for _ in 0..steps {
            self.call(self.model.library.functions.step);
        }
    }

    /// Computes all that follows from position, velocity and controls, without moving time on.
    pub fn forward(&mut self) {
        self.call(self.model.library.functions.forward);
    }

    /// Computes the external forces of [`Array::CfrcExt`], which a step leaves out.
    #[inline]
    pub fn compute_forces(&mut self) {
        self.call(self.model.library.functions.rne_post_constraint);
    }

    /// All that decides how the simulation goes on.
    pub fn save(&self) -> Vec<f64> {
        self.state(state::INTEGRATION)
    }

    fn state(&self, part: i32) -> Vec<f64> {
        let mut numbers = vec![0.0; self.model.state_size(part)];
        // SAFETY: the room is what mj_stateSize asks for; the data is only read.
        unsafe {
            let get_state = self.model.library.functions.get_state;
            get_state(self.model.raw.as_ptr(), self.raw.as_ptr(), numbers.as_mut_ptr(), part);
        }
        numbers
    }

    /// Takes back what [`Data::save`] gave; false if it is of another size.
    pub fn restore(&mut self, numbers: &[f64]) -> bool {
        if numbers.len() != self.model.state_size(state::INTEGRATION) {
            return false;
        }
        self.set_state(numbers);
        // Puts the shapes where they belong; the state is set again, because this may touch it.
        self.call(self.model.library.functions.kinematics);
        self.set_state(numbers);
        true
    }

    fn set_state(&mut self, numbers: &[f64]) {
        let set_state = self.model.library.functions.set_state;
        // SAFETY: the caller has checked the length against mj_stateSize.
        unsafe {
            set_state(
                self.model.raw.as_ptr(),
                self.raw.as_ptr(),
                numbers.as_ptr(),
                state::INTEGRATION,
            );
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // SAFETY: the data came from mj_makeData, and this is its only owner.
        unsafe { (self.model.library.functions.delete_data)(self.raw.as_ptr()) }
    }
}
