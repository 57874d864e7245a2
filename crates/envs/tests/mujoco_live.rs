//! Steps the real Gymnasium's MuJoCo tasks beside ours, in double precision.
//!
//! Needs EPGT_PYTHON, as `live_gymnasium.rs`, with MuJoCo installed there.

mod common;

use common::gymnasium::Gymnasium;
use common::{assert_same_spaces, doubles, text};
use epgt_envs::mujoco::MujocoEnv;
use epgt_envs::{Env, TaskSpec, find, tasks};
use epgt_rng::Pcg64;
use epgt_testing::needs;

const STEPS: usize = 1000;
/// Numbers may differ by this, relative to their size: some sums and sines are rounded differently in NumPy.
const TOLERANCE: f64 = 1e-12;

/// The tasks that need MuJoCo.
fn mujoco_tasks() -> Vec<&'static TaskSpec> {
    tasks()
        .iter()
        .filter(|task| MujocoEnv::open(&task.id).is_ok())
        .collect()
}

/// All that a task returned.
struct Played {
    actions: Vec<f32>,
    observations: Vec<f64>,
    rewards: Vec<f64>,
    ends: String,
}

/// Plays random actions, some of them beyond the bounds, over as many episodes as it takes.
fn play(task: &TaskSpec, seed: u64) -> Played {
    let mut env = MujocoEnv::open_task(task).expect("a task");
    let mut rng = Pcg64::for_purpose(seed, "random actions", 0);
    let mut row = vec![0.0; env.observation_space().size()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut played = Played {
        actions: Vec::new(),
        observations: Vec::new(),
        rewards: Vec::new(),
        ends: String::new(),
    };
    env.reset(Some(seed), &mut row).expect("a reset");
    played.observations.extend(env.observation());
    let mut length = 0;
    for _ in 0..STEPS {
        env.action_space().sample(&mut rng, &mut action);
        action.iter_mut().for_each(|x| *x *= 1.2);
        let step = env.step(&action, &mut row).expect("a step");
        length += 1;
        played.actions.extend(&action);
        played.observations.extend(env.observation());
        played.rewards.push(step.reward);
        let cut = length == task.max_episode_steps;
        let end = u32::from(step.terminated) + 2 * u32::from(cut);
        played.ends.extend(char::from_digit(end, 10));
        if end > 0 {
            length = 0;
            env.reset(None, &mut row).expect("a reset");
            played.observations.extend(env.observation());
        }
    }
    played
}

/// The largest relative difference, and how many numbers differ at all.
fn compare(name: &str, ours: &[f64], theirs: &[f64]) -> (f64, usize) {
    assert_eq!(ours.len(), theirs.len(), "{name}: how many numbers there are");
    let differences = ours
        .iter()
        .zip(theirs)
        .map(|(our, their)| (our - their).abs() / their.abs().max(1.0));
    let worst = differences.clone().fold(0.0, f64::max);
    assert!(worst <= TOLERANCE, "{name}: the numbers are off by {worst:e}");
    (worst, differences.filter(|&difference| difference > 0.0).count())
}

#[needs(python)]
#[test]
fn every_mujoco_task_follows_the_real_gymnasium() {
    let mut gymnasium = Gymnasium::start();
    let tasks = mujoco_tasks();
    assert_eq!(
        tasks.len(),
        21,
        "EPGT_PYTHON has Gymnasium but not MuJoCo: install mujoco==4.0.0 there"
    );
    for task in tasks {
        for seed in [0, 1 << 40] {
            follow(&mut gymnasium, task, seed);
        }
    }
    gymnasium.stop();
}

/// Plays a task here and there, and compares all that is returned.
fn follow(gymnasium: &mut Gymnasium, task: &TaskSpec, seed: u64) {
    let (ours, name) = (play(task, seed), task.label());
    let theirs = gymnasium.play_task(task, seed, &ours.actions);
    assert_same_spaces(task, &theirs["task"]);
    assert_eq!(ours.ends, text(&theirs["ends"]), "{name}: the ends of episodes");
    let observed = compare(&name, &ours.observations, &doubles(text(&theirs["observations"])));
    let rewarded = compare(&name, &ours.rewards, &doubles(text(&theirs["rewards"])));
    println!(
        "{name} seed {seed}: {STEPS} steps, {} ends; {} of {} observed numbers differ, by at most {:.0e}; {} rewards, by at most {:.0e}",
        ours.ends.matches(['1', '2', '3']).count(),
        observed.1,
        ours.observations.len(),
        observed.0,
        rewarded.1,
        rewarded.0,
    );
}

/// Tasks with options that are not the defaults; each option of each family at least once.
const OPTIONS: [(&str, &[(&str, &str)]); 27] = [
    (
        "Ant-v4",
        &[
            ("use_contact_forces", "true"),
            ("contact_cost_weight", "0.01"),
            ("contact_force_range", "[-0.5, 2.0]"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "Ant-v4",
        &[
            ("terminate_when_unhealthy", "false"),
            ("healthy_z_range", "[0.4, 0.6]"),
            ("healthy_reward", "0.3"),
            ("ctrl_cost_weight", "0.2"),
            ("reset_noise_scale", "0.01"),
        ],
    ),
    (
        "Ant-v4",
        &[("healthy_z_range", "[0.5, 0.7]"), ("healthy_reward", "0.3")],
    ),
    (
        "Ant-v5",
        &[
            ("frame_skip", "3"),
            ("forward_reward_weight", "1.7"),
            ("ctrl_cost_weight", "0.1"),
            ("contact_cost_weight", "0.01"),
            ("contact_force_range", "[-3.0, 3.0]"),
            ("main_body", "front_left_leg"),
        ],
    ),
    (
        "Ant-v5",
        &[
            ("main_body", "4"),
            ("healthy_reward", "0.3"),
            ("terminate_when_unhealthy", "false"),
            ("healthy_z_range", "[0.5, 0.7]"),
            ("reset_noise_scale", "0.3"),
            ("exclude_current_positions_from_observation", "false"),
            ("include_cfrc_ext_in_observation", "false"),
        ],
    ),
    (
        "Ant-v5",
        &[("xml_file", "humanoid.xml"), ("healthy_z_range", "[0.9, 3.0]")],
    ),
    (
        "HalfCheetah-v4",
        &[
            ("forward_reward_weight", "0.3"),
            ("ctrl_cost_weight", "0.7"),
            ("reset_noise_scale", "0.3"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "HalfCheetah-v5",
        &[
            ("ctrl_cost_weight", "0.2"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "HalfCheetah-v5",
        &[
            ("frame_skip", "2"),
            ("forward_reward_weight", "3"),
            ("reset_noise_scale", "0"),
        ],
    ),
    ("HalfCheetah-v5", &[("xml_file", "hopper.xml")]),
    (
        "Hopper-v4",
        &[
            ("healthy_state_range", "[-3.0, 3.0]"),
            ("healthy_z_range", "[1.0, 1.4]"),
            ("healthy_angle_range", "[-0.1, 0.3]"),
            ("healthy_reward", "2.5"),
            ("forward_reward_weight", "0.1"),
        ],
    ),
    (
        "Hopper-v4",
        &[
            ("terminate_when_unhealthy", "false"),
            ("ctrl_cost_weight", "0.3"),
            ("reset_noise_scale", "0.1"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "Hopper-v5",
        &[
            ("frame_skip", "7"),
            ("healthy_state_range", "[-3.0, 3.0]"),
            ("healthy_z_range", "[1.0, 1.4]"),
            ("healthy_angle_range", "[-0.1, 0.3]"),
            ("healthy_reward", "2.5"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "Hopper-v5",
        &[
            ("terminate_when_unhealthy", "false"),
            ("forward_reward_weight", "0.1"),
            ("ctrl_cost_weight", "0.3"),
            ("reset_noise_scale", "0.1"),
        ],
    ),
    (
        "Humanoid-v4",
        &[
            ("forward_reward_weight", "0.2"),
            ("ctrl_cost_weight", "0.3"),
            ("healthy_reward", "1.5"),
            ("terminate_when_unhealthy", "false"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "Humanoid-v4",
        &[("healthy_z_range", "[1.2, 1.5]"), ("reset_noise_scale", "0.05")],
    ),
    (
        "Humanoid-v5",
        &[
            ("frame_skip", "2"),
            ("contact_cost_weight", "1e-4"),
            ("contact_cost_range", "[0.5, 3.0]"),
            ("include_cinert_in_observation", "false"),
            ("include_qfrc_actuator_in_observation", "false"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "Humanoid-v5",
        &[
            ("forward_reward_weight", "0.2"),
            ("ctrl_cost_weight", "0.3"),
            ("healthy_reward", "1.5"),
            ("healthy_z_range", "[1.2, 1.5]"),
            ("terminate_when_unhealthy", "false"),
            ("reset_noise_scale", "0.05"),
            ("include_cvel_in_observation", "false"),
            ("include_cfrc_ext_in_observation", "false"),
            ("xml_file", "humanoidstandup.xml"),
        ],
    ),
    (
        "HumanoidStandup-v5",
        &[
            ("frame_skip", "3"),
            ("uph_cost_weight", "7"),
            ("ctrl_cost_weight", "0.4"),
            ("impact_cost_weight", "1e-4"),
            ("impact_cost_range", "[1.0, 2.0]"),
            ("reset_noise_scale", "0.1"),
            ("include_cvel_in_observation", "false"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "InvertedDoublePendulum-v5",
        &[
            ("frame_skip", "2"),
            ("healthy_reward", "3.5"),
            ("reset_noise_scale", "0.02"),
        ],
    ),
    (
        "InvertedPendulum-v5",
        &[("frame_skip", "5"), ("reset_noise_scale", "0.15")],
    ),
    (
        "Pusher-v5",
        &[
            ("frame_skip", "2"),
            ("reward_near_weight", "0.3"),
            ("reward_dist_weight", "2.5"),
            ("reward_control_weight", "0.7"),
        ],
    ),
    (
        "Reacher-v5",
        &[
            ("frame_skip", "5"),
            ("reward_dist_weight", "2.5"),
            ("reward_control_weight", "0.3"),
        ],
    ),
    (
        "Swimmer-v4",
        &[
            ("forward_reward_weight", "0.3"),
            ("ctrl_cost_weight", "0.7"),
            ("reset_noise_scale", "0.3"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "Swimmer-v5",
        &[
            ("frame_skip", "2"),
            ("forward_reward_weight", "0.3"),
            ("ctrl_cost_weight", "0.7"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "Walker2d-v4",
        &[
            ("forward_reward_weight", "0.3"),
            ("ctrl_cost_weight", "0.2"),
            ("healthy_reward", "0.7"),
            ("healthy_z_range", "[1.0, 1.4]"),
            ("healthy_angle_range", "[-0.3, 0.5]"),
            ("exclude_current_positions_from_observation", "false"),
        ],
    ),
    (
        "Walker2d-v5",
        &[
            ("frame_skip", "2"),
            ("forward_reward_weight", "0.3"),
            ("ctrl_cost_weight", "0.2"),
            ("healthy_reward", "0.7"),
            ("terminate_when_unhealthy", "false"),
            ("healthy_z_range", "[1.0, 1.4]"),
            ("reset_noise_scale", "0.1"),
            ("xml_file", "walker2d.xml"),
        ],
    ),
];

#[needs(python)]
#[test]
fn tasks_with_options_follow_the_real_gymnasium() {
    let mut gymnasium = Gymnasium::start();
    for (id, options) in OPTIONS {
        let task = find(id).expect("a task").with(options.iter().copied());
        follow(&mut gymnasium, &task.expect("options of the task"), 7);
    }
    gymnasium.stop();
}
