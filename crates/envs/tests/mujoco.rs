//! What holds for the MuJoCo tasks by themselves: exact states, pictures, and refusals.

use epgt_envs::mujoco::{Installation, Library, Model, MujocoEnv, installation};
use epgt_envs::{Entry, Env, EnvError, Form, Picture, Scene3d, Space, find, tasks};
use epgt_rng::Pcg64;
use epgt_testing::needs;
use std::path::{Path, PathBuf};

fn step(env: &mut MujocoEnv, rng: &mut Pcg64) -> (Vec<u64>, u64, bool) {
    let mut action = vec![0.0; env.action_space().size()];
    let mut row = vec![0.0; env.observation_space().size()];
    env.action_space().sample(rng, &mut action);
    let step = env.step(&action, &mut row).expect("a step");
    let bits = env.observation().iter().map(|x| x.to_bits()).collect();
    if step.terminated {
        env.reset(None, &mut row).expect("a reset");
    }
    (bits, step.reward.to_bits(), step.terminated)
}

#[needs(mujoco)]
#[test]
fn a_restored_simulation_goes_on_bit_for_bit() {
    let open = |id| MujocoEnv::open(id).ok();
    for (task, mut env) in tasks().iter().filter_map(|task| Some((task, open(&task.id)?))) {
        let mut rng = Pcg64::from_seed(5);
        env.reset(Some(5), &mut vec![0.0; task.observation.len()])
            .expect("a reset");
        (0..37).for_each(|_| drop(step(&mut env, &mut rng)));
        let mut copy = MujocoEnv::open(&task.id).expect("a second one");
        copy.restore(&env.save()).expect("its own state");
        let mut same = rng.clone();
        for number in 0..100 {
            assert_eq!(
                step(&mut env, &mut rng),
                step(&mut copy, &mut same),
                "{}, step {number}",
                task.id
            );
        }
        assert_eq!(env.save(), copy.save(), "{}", task.id);
    }
}

fn scene(env: &mut MujocoEnv) -> Scene3d {
    match env.picture() {
        Ok(Some(Picture::Solid(scene))) => scene,
        other => panic!("{other:?}"),
    }
}

#[needs(mujoco)]
#[test]
fn the_picture_moves_along_with_the_body() {
    let mut env = MujocoEnv::open("HalfCheetah-v5").expect("a task");
    env.reset(Some(0), &mut [0.0; 17]).expect("a reset");
    let before = scene(&mut env);
    let is_limb = |form: &Form| matches!(form, Form::Capsule { radius, .. } if *radius > 0.03);
    let limbs = before.solids.iter().filter(|solid| is_limb(&solid.form));
    assert_eq!(limbs.count(), 8, "torso, head and six limbs");
    let torso = env.data().body(1)[0] as f32;
    for _ in 0..50 {
        env.step(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0], &mut [0.0; 17])
            .expect("a step");
    }
    let after = scene(&mut env);
    let moved = env.data().body(1)[0] as f32 - torso;
    for (before, after) in [
        (before.camera.position, after.camera.position),
        (before.camera.target, after.camera.target),
    ] {
        assert!((after[0] - before[0] - moved).abs() < 1e-4);
        assert_eq!(after[1..], before[1..]);
    }
    assert_ne!(before.solids, after.solids);
    assert_eq!(env.steps_per_second(), 20.0);
}

#[needs(mujoco)]
#[test]
fn every_task_shows_its_shapes_where_the_simulation_has_them() {
    for id in tasks().iter().map(|task| &task.id) {
        let Ok(mut env) = MujocoEnv::open(id) else { continue };
        let size = env.observation_space().size();
        env.reset(Some(1), &mut vec![0.0; size]).expect("a reset");
        let scene = scene(&mut env);
        let visible = env.data().model().geoms().iter().filter(|geom| geom.rgba[3] > 0.0);
        assert_eq!(scene.solids.len(), visible.count(), "{id}");
        for solid in &scene.solids {
            let numbers = solid.axes.as_flattened().iter().chain(&solid.center);
            assert!(numbers.copied().all(f32::is_finite), "{id}: {solid:?}");
            let length = |axis: [f32; 3]| axis.iter().map(|x| x * x).sum::<f32>();
            assert!(solid.axes.iter().all(|&axis| (length(axis) - 1.0).abs() < 1e-5), "{id}");
        }
    }
}

#[needs(mujoco)]
#[test]
fn actions_that_are_none_are_refused() {
    let mut env = MujocoEnv::open("Hopper-v5").expect("a task");
    env.reset(Some(0), &mut [0.0; 11]).expect("a reset");
    let mut refused = |action: &[f32]| match env.step(action, &mut [0.0; 11]) {
        Err(EnvError::InvalidAction(text)) => text,
        other => panic!("{action:?} gave {other:?}"),
    };
    assert!(refused(&[0.0, f32::NAN, 0.0]).starts_with("entry 1 of the action is NaN"));
    assert_eq!(refused(&[0.0; 4]), "the action has 4 numbers, but this task takes 3");
    assert!(env.restore(&[1, 2, 3]).is_err());
}

#[needs(mujoco)]
#[test]
fn a_state_of_another_task_is_refused() {
    let ant = MujocoEnv::open("Ant-v5").expect("a task").save();
    let mut hopper = MujocoEnv::open("Hopper-v5").expect("a task");
    assert!(matches!(hopper.restore(&ant), Err(EnvError::InvalidState(_))));
}

#[test]
fn files_that_are_no_library_are_refused() {
    let load = |path: &str| Library::load(path.as_ref()).err().expect("no MuJoCo").to_string();
    assert!(load("no/such/libmujoco.so").starts_with("cannot load no/such/libmujoco.so as MuJoCo ("));
    assert!(load(file!()).contains("epgt setup mujoco"));
    let other = load("libm.so.6");
    assert_eq!(
        other,
        "libm.so.6 is no MuJoCo library: it has no function mj_version; get it with `epgt setup mujoco`"
    );
}

/// A fresh directory with this text as the model of a task.
fn models(name: &str, text: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("half_cheetah.xml"), text).expect("a file");
    directory
}

#[needs(mujoco)]
#[test]
fn models_that_are_none_are_refused() {
    let Installation { library, .. } = installation().expect("MuJoCo");
    let refused = |models: PathBuf| {
        let installation = Installation {
            library: library.clone(),
            models,
        };
        let refused = MujocoEnv::open_with(&find("HalfCheetah-v5").expect("a task"), &installation).err();
        refused.expect("a refusal").to_string()
    };
    let missing = refused("no/such/directory".into());
    assert!(
        missing.starts_with("cannot read the model no/such/directory/half_cheetah.xml: "),
        "{missing}"
    );
    let text = refused(models("text", "not a model at all"));
    assert!(
        text.contains("text/half_cheetah.xml: ") && text.lines().count() == 1,
        "{text}"
    );
    let foreign = refused(models("foreign", "<svg/>"));
    assert!(
        foreign.contains("foreign/half_cheetah.xml: ") && foreign.lines().count() == 1,
        "{foreign}"
    );
    let other = refused(models(
        "other",
        "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>",
    ));
    assert_eq!(
        other,
        "the model half_cheetah.xml is not the one that HalfCheetah-v5 was made with; get it with `epgt setup mujoco`"
    );
    assert!(Model::load(&library, "a\0b".as_ref()).is_err());
}

#[needs(mujoco)]
#[test]
fn spaces_are_those_of_the_tables() {
    for task in tasks() {
        let Ok(env) = MujocoEnv::open(&task.id) else { continue };
        let of = |low: fn(&Entry) -> f32, table: &[Entry]| table.iter().map(low).collect::<Vec<f32>>();
        for (space, table) in [
            (env.observation_space(), &task.observation),
            (env.action_space(), &task.action),
        ] {
            let (low, high) = (of(|entry| entry.low, table), of(|entry| entry.high, table));
            assert_eq!(*space, Space::Box { low, high }, "{}", task.id);
        }
    }
}

#[needs(mujoco)]
#[test]
fn what_is_observed_follows_the_options() {
    let size = |id: &str, options: &[(&str, &str)]| {
        let task = find(id).expect("a task").with(options.iter().copied());
        let env = task.and_then(|task| task.make()).expect("an environment");
        env.observation_space().size()
    };
    let positions = ("exclude_current_positions_from_observation", "false");
    assert_eq!(size("HalfCheetah-v5", &[positions]), 18);
    assert_eq!(size("Ant-v5", &[positions]), 107);
    assert_eq!(size("Ant-v5", &[("include_cfrc_ext_in_observation", "false")]), 27);
    assert_eq!(size("Ant-v4", &[("use_contact_forces", "true")]), 111);
    assert_eq!(
        size("Humanoid-v5", &[("include_cinert_in_observation", "false")]),
        348 - 130
    );
}

#[needs(mujoco)]
#[test]
fn options_that_mean_nothing_are_refused_in_one_sentence() {
    let refused = |id: &str, name: &str, value: &str| {
        let task = find(id).expect("a task").with([(name, value)]);
        let refused = task.and_then(|task| task.make()).err().expect("a refusal");
        assert!(!refused.to_string().contains('\n'), "{refused}");
        refused.to_string()
    };
    assert_eq!(
        refused("HalfCheetah-v5", "ctrl_cost_wieght", "1"),
        "unknown option of HalfCheetah-v5 'ctrl_cost_wieght'; did you mean 'ctrl_cost_weight'?"
    );
    assert_eq!(
        refused("HumanoidStandup-v4", "ctrl_cost_weight", "1"),
        "HumanoidStandup-v4 takes no options, so 'ctrl_cost_weight' cannot be set"
    );
    assert!(refused("Ant-v5", "main_body", "tail").ends_with("it has no body 'tail'"));
    assert!(refused("Ant-v5", "main_body", "99").ends_with("it has no body '99'"));
    assert!(refused("Ant-v5", "xml_file", "./none.xml").starts_with("cannot read the model ./none.xml: "));
    assert!(refused("Ant-v5", "xml_file", "none.xml").contains("none.xml: "));
    assert!(refused("Ant-v5", "xml_file", "/").starts_with("cannot read the model /"));
    let text = models("option", "not a model at all").join("half_cheetah.xml");
    assert!(refused("Swimmer-v5", "xml_file", &text.to_string_lossy()).starts_with("cannot read the model /"));
    let small = "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>";
    let small = models("small", small).join("half_cheetah.xml");
    for id in ["Hopper-v5", "Humanoid-v5", "Pusher-v5", "InvertedDoublePendulum-v5"] {
        let sentence = refused(id, "xml_file", &small.to_string_lossy());
        assert!(
            sentence.contains("its model has 1 positions, 1 velocities"),
            "{sentence}"
        );
    }
    assert!(refused("Reacher-v5", "xml_file", "hopper.xml").contains("cannot be used for Reacher-v5"));
}
