//! What holds for the Box2D tasks, without Gymnasium at hand.

use epgt_envs::{Env, EnvError, Shape, Step, make};
use epgt_rng::Pcg64;

const IDS: [&str; 5] = [
    "BipedalWalker-v3",
    "BipedalWalkerHardcore-v3",
    "LunarLander-v3",
    "LunarLanderContinuous-v3",
    "LunarLanderContinuous-v2",
];

fn begin(id: &str, seed: u64) -> (Box<dyn Env>, Vec<f32>) {
    let mut env = make(id).expect("a registered task");
    let mut observation = vec![0.0; env.observation_space().size()];
    env.reset(Some(seed), &mut observation).expect("a reset");
    (env, observation)
}

/// Random actions, episode after episode; everything that was returned.
fn play(env: &mut dyn Env, rng: &mut Pcg64, steps: usize) -> Vec<(Step, Vec<f32>)> {
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut seen = Vec::new();
    for _ in 0..steps {
        env.action_space().sample(rng, &mut action);
        let step = env.step(&action, &mut observation).expect("a step");
        seen.push((step, observation.clone()));
        if step.terminated || step.truncated {
            env.reset(None, &mut observation).expect("a reset");
        }
    }
    seen
}

/// Flies upright towards the pad, and slows down the closer it is.
fn pilot(observation: &[f32]) -> f32 {
    let [x, y, vx, vy, angle, spin] = std::array::from_fn(|i| observation[i]);
    let landed = observation[6] + observation[7] > 0.0;
    let lean = (0.5 * x + vx).clamp(-0.4, 0.4);
    let turn = if landed { 0.0 } else { 0.5 * (lean - angle) - spin };
    let sink = if landed { 0.0 } else { 0.5 * (0.55 * x.abs() - y) };
    let thrust = sink - 0.5 * vy;
    match () {
        _ if thrust > turn.abs() && thrust > 0.05 => 2.0,
        _ if turn < -0.05 => 3.0,
        _ if turn > 0.05 => 1.0,
        _ => 0.0,
    }
}

#[test]
fn first_observations_are_gymnasiums() {
    // Of Gymnasium 1.4.0 with seed 123.
    let walker = [
        0.002745554,
        1.220597e-5,
        -0.001591613,
        -0.01600008,
        0.09254155,
        0.00369484,
        0.8597324,
        -0.001535138,
        1.0,
        0.03284419,
        0.003694687,
        0.8535072,
        -0.002514046,
        1.0,
        0.4408134,
        0.4458195,
        0.4614221,
        0.4895495,
        0.534102,
        0.6024602,
        0.7091479,
        0.8859305,
        1.0,
        1.0,
    ];
    let hardcore = [
        0.002747448,
        -1.009979e-5,
        0.0007856615,
        -0.01599993,
        0.09201184,
        -0.001036806,
        0.8602394,
    ];
    let lander = [
        0.005176926,
        1.403394,
        0.5243375,
        -0.3345171,
        -0.005991833,
        -0.1187702,
        0.0,
        0.0,
    ];
    for (id, expected) in IDS.into_iter().zip([&walker[..], &hardcore, &lander, &lander, &lander]) {
        let (_, observation) = begin(id, 123);
        for (i, (our, their)) in observation.iter().zip(expected).enumerate() {
            assert!(
                (our - their).abs() < 1e-5,
                "{id}: entry {i} is {our}, in Gymnasium {their}"
            );
        }
    }
}

#[test]
fn an_episode_restored_anywhere_goes_on_bit_for_bit() {
    for id in IDS {
        for steps in [0, 1, 70, 400] {
            let (mut env, _) = begin(id, 5);
            let mut rng = Pcg64::from_seed(steps as u64);
            play(&mut *env, &mut rng, steps);
            let (mut copy, _) = begin(id, 6);
            play(&mut *copy, &mut Pcg64::from_seed(1), 20);
            copy.restore(&env.save()).expect("its own state");
            assert_eq!(copy.save(), env.save(), "{id} after {steps} steps");
            assert_eq!(copy.scene(), env.scene(), "{id} after {steps} steps");
            let ours = play(&mut *env, &mut rng.clone(), 200);
            assert_eq!(play(&mut *copy, &mut rng, 200), ours, "{id} after {steps} steps");
        }
    }
}

#[test]
fn a_state_of_another_task_is_refused_and_changes_nothing() {
    for (id, other) in [
        ("BipedalWalker-v3", "BipedalWalkerHardcore-v3"),
        ("BipedalWalker-v3", "LunarLander-v3"),
        ("LunarLander-v3", "BipedalWalker-v3"),
        ("LunarLander-v3", "LunarLanderContinuous-v3"),
        ("LunarLanderContinuous-v3", "LunarLander-v3"),
    ] {
        let (mut env, _) = begin(id, 5);
        let (mut another, _) = begin(other, 6);
        play(&mut *another, &mut Pcg64::from_seed(0), 3);
        let before = env.save();
        let result = env.restore(&another.save());
        assert!(matches!(result, Err(EnvError::InvalidState(_))), "{other} into {id}");
        assert_eq!(env.save(), before);
    }
}

#[test]
fn a_refused_action_changes_nothing() {
    for (id, wrong) in [
        ("BipedalWalker-v3", &[0.0, f32::NAN, 0.0, 0.0][..]),
        ("LunarLander-v3", &[4.0]),
        ("LunarLanderContinuous-v3", &[1.0, f32::NAN]),
    ] {
        let (mut env, mut observation) = begin(id, 5);
        let before = env.save();
        let result = env.step(wrong, &mut observation);
        assert!(matches!(result, Err(EnvError::InvalidAction(_))), "{id}");
        assert_eq!(env.save(), before, "{id}");
    }
}

#[test]
fn environments_on_several_threads_do_not_disturb_each_other() {
    let run = |i: usize| {
        let (mut env, _) = begin(IDS[i % IDS.len()], 3);
        play(&mut *env, &mut Pcg64::from_seed(9), 150)
    };
    let alone: Vec<_> = (0..IDS.len()).map(run).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2 * IDS.len()).map(|i| scope.spawn(move || run(i))).collect();
        for (i, thread) in threads.into_iter().enumerate() {
            assert_eq!(thread.join().expect("no panic"), alone[i % IDS.len()]);
        }
    });
}

#[test]
fn a_simple_pilot_lands_and_comes_to_rest() {
    let mut landed = 0;
    for seed in 0..10 {
        let (mut env, mut observation) = begin("LunarLander-v3", seed);
        let mut total = 0.0;
        loop {
            let step = env.step(&[pilot(&observation)], &mut observation).expect("a step");
            total += step.reward;
            if step.terminated || step.truncated {
                landed += u32::from(step.terminated && step.reward == 100.0 && total > 200.0);
                break;
            }
        }
    }
    assert!(landed >= 7, "{landed} of 10 landings were good");
}

#[test]
fn a_walker_that_falls_pays_for_it() {
    let (mut env, _) = begin("BipedalWalker-v3", 0);
    let steps = play(&mut *env, &mut Pcg64::from_seed(0), 3000);
    let falls: Vec<_> = steps.iter().filter(|(step, _)| step.terminated).collect();
    assert!(!falls.is_empty());
    assert!(falls.iter().all(|(step, _)| step.reward == -100.0));
}

#[test]
fn scenes_show_the_bodies_in_view() {
    for (id, at_least) in IDS.into_iter().zip([30, 40, 12, 12, 12]) {
        let (env, _) = begin(id, 2);
        let scene = env.scene().expect("a picture");
        assert!(scene.shapes.len() >= at_least, "{id}: {} shapes", scene.shapes.len());
        for shape in &scene.shapes {
            if let Shape::Polygon { points, .. } = shape {
                assert!(
                    points.len() >= 3 && points.iter().flatten().all(|x| x.is_finite()),
                    "{id}"
                );
            }
        }
    }
}
