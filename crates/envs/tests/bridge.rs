//! The bridge to Gymnasium: the same trajectories as Gymnasium's own, and every kind of space.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has Gymnasium; without it there is nothing to bridge to,
//! and the tests are ignored.

#[path = "common/bridge.rs"]
mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use common::{Rows, own, task};
use epgt_envs::{Space, VecEnv, find};
use epgt_rng::Pcg64;
use epgt_testing::needs;

/// Random actions, and what environments make of them, as lines of bits.
fn play(mut envs: VecEnv, steps: usize) -> (Vec<Vec<f32>>, Vec<String>) {
    let mut rows = Rows::of(&envs);
    let (space, n) = (envs.action_space().clone(), envs.n());
    let mut rng = Pcg64::from_seed(11);
    envs.reset(&mut rows.observations).unwrap();
    let (mut actions, mut lines) = (Vec::new(), vec![rows.show(&envs, false)]);
    for _ in 0..steps {
        let mut row = vec![0.0; n * space.size()];
        row.chunks_exact_mut(space.size())
            .for_each(|row| space.sample(&mut rng, row));
        rows.step(&mut envs, &row).unwrap();
        lines.push(rows.show(&envs, true));
        actions.push(row);
    }
    (actions, lines)
}

#[needs(python)]
#[test]
fn a_bridged_task_goes_as_gymnasiums_vector_environment_and_as_our_own() {
    for (id, steps) in [("CartPole-v1", 300), ("Pendulum-v1", 450)] {
        let bridged = task(&format!("gym:{id}"), &[]);
        let (actions, lines) = play(VecEnv::new(&bridged.unwrap(), 3, 5).unwrap(), steps);
        let (_, ours) = play(VecEnv::new(&find(id).unwrap(), 3, 5).unwrap(), steps);
        assert!(lines == ours, "{id}: ours differs");

        let mut python = Command::new(std::env::var_os("EPGT_PYTHON").unwrap())
            .args(["tests/bridge_envs.py", id, "5", "3"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said: String = actions
            .iter()
            .map(|row| format!("{row:?}\n").replace(['[', ']', ','], " "))
            .collect();
        python.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
        let output = python.wait_with_output().unwrap();
        let theirs: Vec<&str> = std::str::from_utf8(&output.stdout).unwrap().lines().collect();
        assert!(lines == theirs, "{id}: Gymnasium's differs");
    }
}

#[needs(python)]
#[test]
fn a_factory_of_vector_environments_goes_the_same_way() {
    let vector = own("cart_poles", &[]);
    let (_, lines) = play(VecEnv::new(&vector, 3, 5).unwrap(), 100);
    let (_, ours) = play(VecEnv::new(&find("CartPole-v1").unwrap(), 3, 5).unwrap(), 100);
    assert!(lines == ours);
    let next_step = find("gym:tests.bridge_envs:cart_poles")
        .unwrap()
        .with([("same_step", "false")]);
    assert!(
        next_step
            .unwrap_err()
            .to_string()
            .contains("AutoresetMode.SAME_STEP is needed")
    );
}

#[needs(python)]
#[test]
fn one_environment_goes_as_many_do() {
    let task = task("gym:CartPole-v1", &[]);
    let (mut env, mut ours) = (task.unwrap().make().unwrap(), epgt_envs::make("CartPole-v1").unwrap());
    let (mut seen, mut expected) = ([0.0; 4], [0.0; 4]);
    env.reset(Some(3), &mut seen).unwrap();
    ours.reset(Some(3), &mut expected).unwrap();
    for step in 0..60 {
        let action = [(step % 2) as f32];
        let outcome = env.step(&action, &mut seen).unwrap();
        assert_eq!(outcome, ours.step(&action, &mut expected).unwrap());
        assert_eq!(seen, expected);
        if outcome.terminated {
            env.reset(None, &mut seen).unwrap();
            ours.reset(None, &mut expected).unwrap();
            assert_eq!(seen, expected);
        }
    }
}

#[needs(python)]
#[test]
fn every_kind_of_space_is_flattened_in_the_order_of_its_sorted_keys() {
    let task = own("Everything", &[]);
    let names: Vec<&str> = task.observation.iter().map(|entry| &*entry.name).collect();
    assert_eq!(
        names[..5],
        ["a.early[0]", "a.early[1]", "a.late is 5", "a.late is 6", "a.late is 7"]
    );
    assert_eq!(
        names[5..9],
        ["m.0[0] is 0", "m.0[0] is 1", "m.0[1] is 0", "m.0[1] is 1"]
    );
    assert_eq!(names[10..], ["m.1[0]", "z[0, 0]", "z[0, 1]", "z[1, 0]", "z[1, 1]"]);
    let mut envs = VecEnv::new(&task, 2, 7).unwrap();
    assert_eq!(*envs.action_space(), Space::MultiDiscrete(vec![3, 2]));
    let mut rows = Rows::of(&envs);
    envs.reset(&mut rows.observations).unwrap();
    // Environment 1 has the seed 8.
    let first = [1., 0., 1., 0., 0., 1., 0., 1., 0., 0., 200., 8., 8., 0., 0.5];
    assert_eq!(rows.numbers()[15..], first);
    rows.step(&mut envs, &[0.0, 1.0, 2.0, 1.0]).unwrap();
    let second = [1., 0., 0., 1., 0., 0., 1., 0., 1., 0., 200., 2., 1., 1., 0.5];
    assert_eq!(rows.numbers()[15..], second);
    assert_eq!(rows.rewards, [0.25; 2]);
    rows.step(&mut envs, &[0.0; 4]).unwrap();
    rows.step(&mut envs, &[1.0; 4]).unwrap();
    assert_eq!(
        (&rows.truncated[..], &rows.terminated[..]),
        (&[true; 2][..], &[false; 2][..])
    );
    assert_eq!(envs.final_observation(1).numbers()[11..], [1., 1., 3., 0.5]);
    assert_eq!(rows.numbers()[15 + 11..], [0., 0., 0., 0.5]);
    assert_eq!(envs.finished()[1].length, 3);
}

#[needs(python)]
#[test]
fn actions_arrive_as_the_environments_own_kind() {
    for (kind, action, arrived) in [
        ("binary", &[1.0, 0.0][..], [1.0, 0.0]),
        ("shifted", &[0.0], [-1.0, -1.0]),
        ("shifted choices", &[2.0, 1.0], [7.0, -6.0]),
        // Clipped to the bounds, also where they are no 32-bit numbers.
        ("box", &[-3.0, 9.0], [-1.0, 0.7]),
    ] {
        let task = own("Everything", &[("actions", kind)]);
        let mut envs = VecEnv::new(&task, 1, 0).unwrap();
        let mut rows = Rows::of(&envs);
        envs.reset(&mut rows.observations).unwrap();
        rows.step(&mut envs, action).unwrap();
        assert_eq!(rows.numbers()[11..13], arrived, "{kind}");
    }
}

#[needs(python)]
#[test]
fn choices_are_named_as_the_environment_names_them() {
    for (kind, expected) in [
        ("shifted", &["choice -1", "choice 0", "choice 1", "choice 2"][..]),
        (
            "shifted choices",
            &[
                "number 0 is 5",
                "number 0 is 6",
                "number 0 is 7",
                "number 1 is -7",
                "number 1 is -6",
            ],
        ),
        (
            "binary",
            &["number 0 is 0", "number 0 is 1", "number 1 is 0", "number 1 is 1"],
        ),
    ] {
        let task = own("Everything", &[("actions", kind)]);
        let names: Vec<&str> = task.action.iter().map(|entry| &*entry.name).collect();
        assert_eq!(names, expected);
    }
}

#[needs(python)]
#[test]
fn staggered_starts_cut_the_first_episodes() {
    let task = task("gym:Pendulum-v1", &[]);
    let mut envs = VecEnv::new(&task.unwrap(), 2, 1).unwrap().with_staggered_starts();
    let mut ours = VecEnv::new(&find("Pendulum-v1").unwrap(), 2, 1)
        .unwrap()
        .with_staggered_starts();
    let (mut rows, mut expected) = (Rows::of(&envs), Rows::of(&ours));
    envs.reset(&mut rows.observations).unwrap();
    ours.reset(&mut expected.observations).unwrap();
    for _ in 0..210 {
        rows.step(&mut envs, &[0.5, -0.5]).unwrap();
        expected.step(&mut ours, &[0.5, -0.5]).unwrap();
        assert_eq!(rows.show(&envs, true), expected.show(&ours, true));
        assert_eq!(envs.finished(), ours.finished());
    }
}

#[needs(python)]
#[test]
fn a_restored_vector_environment_begins_anew_with_seeds_of_its_own() {
    let task = task("gym:CartPole-v1", &[]);
    let task = task.unwrap();
    let mut envs = VecEnv::new(&task, 2, 9).unwrap();
    let mut rows = Rows::of(&envs);
    envs.reset(&mut rows.observations).unwrap();
    let first = rows.observations.clone();
    rows.step(&mut envs, &[0.0, 1.0]).unwrap();
    let saved = envs.save();
    let mut again = || {
        let mut envs = VecEnv::new(&task, 2, 9).unwrap();
        envs.restore(&saved).unwrap();
        assert!(envs.begins_anew() && envs.steps() == 1);
        envs.reset(&mut rows.observations).unwrap();
        rows.observations.clone()
    };
    let begun = again();
    assert_eq!(begun, again());
    assert_ne!(begun, first);
    let mut other = VecEnv::new(&find("CartPole-v1").unwrap(), 2, 9).unwrap();
    assert!(other.restore(&saved).is_err());
}

#[needs(python)]
#[test]
fn images_are_bytes_channel_after_channel_wherever_the_channels_are() {
    let last: Vec<u8> = (0..3)
        .flat_map(|channel| (0..20).map(move |pixel| 3 * pixel + channel))
        .collect();
    let first: Vec<u8> = (0..60).collect();
    let flat: Vec<u8> = (0..20).collect();
    for (shape, sides, mut expected) in [
        ("[4, 5, 3]", [3, 4, 5], last),
        ("[3, 4, 5]", [3, 4, 5], first),
        ("[4, 5]", [1, 4, 5], flat),
    ] {
        let task = own("Picture", &[("shape", shape)]);
        assert_eq!((task.image, task.observation.len()), (Some(sides), 0));
        let mut envs = VecEnv::new(&task, 2, 0).unwrap();
        let mut rows = Rows::of(&envs);
        envs.reset(&mut rows.observations).unwrap();
        let size = expected.len();
        expected[0] = 100;
        assert_eq!(rows.observations.part(size..2 * size).bytes(), expected, "{shape}");
        rows.step(&mut envs, &[0.0; 2]).unwrap();
        rows.step(&mut envs, &[0.0; 2]).unwrap();
        assert_eq!(rows.terminated, [true; 2]);
        assert_eq!(rows.observations.part(0..size).bytes(), expected);
        expected[0] = 102;
        assert_eq!(envs.final_observation(1).bytes(), expected);
        epgt_envs::Env::reset(&mut *task.make().unwrap(), None, &mut vec![0.0; size]).unwrap();
    }
}
