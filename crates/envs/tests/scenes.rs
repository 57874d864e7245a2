//! What the tasks show.

use epgt_envs::{Scene, Shape, TaskSpec, make, tasks};
use epgt_rng::Pcg64;

/// The corners, centres and ends of a shape.
fn points(shape: &Shape) -> Vec<[f32; 2]> {
    match shape {
        Shape::Polygon { points, .. } => points.clone(),
        Shape::Circle { center, .. } => vec![*center],
        Shape::Line { from, to, .. } => vec![*from, *to],
    }
}

/// The scenes of an episode with random actions, or of its first `most` steps; none where the task has no picture or
/// its simulator is missing.
fn episode(task: &TaskSpec, seed: u64, most: usize) -> Vec<Scene> {
    let Ok(mut env) = make(&task.id) else {
        return Vec::new();
    };
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut rng = Pcg64::from_seed(seed);
    env.reset(Some(seed), &mut observation).expect("a reset");
    let mut scenes = Vec::from_iter(env.scene());
    for _ in 0..most {
        env.action_space().sample(&mut rng, &mut action);
        let step = env.step(&action, &mut observation).expect("a step");
        scenes.extend(env.scene());
        if step.terminated || step.truncated {
            break;
        }
    }
    scenes
}

#[test]
fn every_scene_is_finite() {
    for task in tasks().iter().filter(|task| task.make().is_ok()) {
        for scene in episode(task, 1, 30) {
            assert!((0..2).all(|axis| scene.low[axis] < scene.high[axis]), "{}", task.id);
            for shape in &scene.shapes {
                let size = match shape {
                    Shape::Polygon { .. } => 0.0,
                    Shape::Circle { radius: size, .. } | Shape::Line { width: size, .. } => *size,
                };
                assert!(size.is_finite() && size >= 0.0, "{}: {shape:?}", task.id);
                assert!(
                    points(shape).as_flattened().iter().all(|x| x.is_finite()),
                    "{}: {shape:?}",
                    task.id
                );
            }
        }
    }
}

#[test]
fn the_classic_tasks_stay_in_their_pictures() {
    let classic = [
        "Acrobot-v1",
        "CartPole-v1",
        "MountainCar-v0",
        "MountainCarContinuous-v0",
        "Pendulum-v1",
    ];
    for task in tasks().iter().filter(|task| classic.contains(&&*task.id)) {
        for seed in 0..5 {
            let scenes = episode(task, seed, usize::MAX);
            assert!(scenes.len() > 5, "{}", task.id);
            for scene in scenes {
                for [x, y] in scene.shapes.iter().flat_map(points) {
                    // A car at the edge may stand half outside.
                    let margin = 0.1 * (scene.high[0] - scene.low[0]);
                    assert!(scene.low[0] - margin <= x && x <= scene.high[0] + margin, "{}", task.id);
                    assert!(scene.low[1] <= y && y <= scene.high[1], "{}", task.id);
                }
            }
        }
    }
}

#[test]
fn a_scene_shows_the_state() {
    let first = |id: &str, shape: usize, seed: u64| -> ([f32; 2], Vec<f32>) {
        let mut env = make(id).expect("a classic task");
        let mut observation = vec![0.0; env.observation_space().size()];
        env.reset(Some(seed), &mut observation).expect("a reset");
        let scene = env.scene().expect("a picture");
        (points(&scene.shapes[shape])[0], observation)
    };
    for seed in 0..5 {
        // The left edge of the cart, which is 0.4 wide.
        let ([left, _], cart) = first("CartPole-v1", 0, seed);
        assert!((left + 0.2 - cart[0]).abs() < 1e-6);
        // The elbow, below the axis by the cosine of the first angle.
        let ([x, y], links) = first("Acrobot-v1", 4, seed);
        assert!((x - links[1]).abs() < 1e-6 && (y + links[0]).abs() < 1e-6);
    }
    // Upright is up, and a positive angle leans to the left.
    let mut env = make("Pendulum-v1").expect("a classic task");
    let mut observation = [0.0; 3];
    env.reset(Some(3), &mut observation).expect("a reset");
    let tip = points(&env.scene().expect("a picture").shapes[0])[1];
    assert!((tip[1] - observation[0]).abs() < 1e-6 && (tip[0] + observation[1]).abs() < 1e-6);
}

#[test]
fn the_pendulum_shows_the_torque_of_the_last_step() {
    let mut env = make("Pendulum-v1").expect("a classic task");
    let mut observation = [0.0; 3];
    env.reset(Some(0), &mut observation).expect("a reset");
    let shapes = |scene: Option<Scene>| scene.expect("a picture").shapes.len();
    let still = shapes(env.scene());
    env.step(&[1.0], &mut observation).expect("a step");
    assert!(shapes(env.scene()) > still);
    env.reset(None, &mut observation).expect("a reset");
    assert_eq!(shapes(env.scene()), still);
}
