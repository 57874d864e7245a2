//! Steps the real Gymnasium's Box2D tasks beside ours.
//!
//! Both engines round differently, so trajectories part after a while: landings are compared bit for bit until the
//! ground is touched, the first steps of walks number by number, whole episodes by their distribution. Needs
//! EPGT_PYTHON, as `live_gymnasium.rs`, with Box2D installed there.

mod common;

use common::gymnasium::Gymnasium;
use common::{assert_same_spaces, doubles, floats, play_task, text};
use epgt_envs::{TaskSpec, find};
use epgt_rng::Pcg64;
use epgt_testing::needs;

/// Our ids, and Gymnasium's.
const TASKS: [(&str, &str); 5] = [
    ("BipedalWalker-v3", "BipedalWalker-v3"),
    ("BipedalWalkerHardcore-v3", "BipedalWalkerHardcore-v3"),
    ("LunarLander-v3", "LunarLander-v3"),
    ("LunarLanderContinuous-v3", "LunarLanderContinuous-v3"),
    ("LunarLanderContinuous-v2", "LunarLanderContinuous-v3"),
];
/// Tasks with options that are not the defaults.
const OPTIONS: [(&str, &[(&str, &str)]); 6] = [
    ("LunarLander-v3", &[("gravity", "-3.7"), ("enable_wind", "true")]),
    ("LunarLander-v3", &[("continuous", "true"), ("gravity", "-11.5")]),
    (
        "LunarLanderContinuous-v3",
        &[
            ("enable_wind", "true"),
            ("wind_power", "20"),
            ("turbulence_power", "0.3"),
        ],
    ),
    (
        "LunarLanderContinuous-v3",
        &[("continuous", "false"), ("enable_wind", "true")],
    ),
    ("BipedalWalker-v3", &[("hardcore", "true")]),
    ("BipedalWalkerHardcore-v3", &[("hardcore", "false")]),
];
const STEPS: usize = 50;
const EPISODES: usize = 200;

#[needs(python)]
#[test]
fn the_first_steps_are_gymnasiums() {
    let mut gymnasium = Gymnasium::start();
    for (id, theirs) in TASKS {
        let (task, theirs) = (find(id).expect("a task"), find(theirs).expect("a task"));
        (0..8).for_each(|seed| compare_steps(&mut gymnasium, &task, &theirs, seed));
    }
    gymnasium.stop();
}

#[needs(python)]
#[test]
fn the_first_steps_with_options_are_gymnasiums() {
    let mut gymnasium = Gymnasium::start();
    for (id, options) in OPTIONS {
        let task = find(id).expect("a task").with(options.iter().copied());
        let task = task.expect("options of the task");
        (0..8).for_each(|seed| compare_steps(&mut gymnasium, &task, &task, seed));
    }
    gymnasium.stop();
}

fn compare_steps(gymnasium: &mut Gymnasium, task: &TaskSpec, theirs: &TaskSpec, seed: u64) {
    let id = task.label();
    let mut rng = Pcg64::for_purpose(seed, "random actions", 0);
    let space = task.make().expect("an environment").action_space().clone();
    let ours = play_task(task, seed, STEPS, |_, action| space.sample(&mut rng, action));
    let answer = gymnasium.play_task(theirs, seed, &ours.actions);
    assert_same_spaces(task, &answer["task"]);
    let observations = floats(text(&answer["observations"]));
    let width = ours.observations.len() / (STEPS + 1);
    let mut worst = [0.0f32; 2];
    for (i, (our, their)) in ours.observations.iter().zip(&observations).enumerate() {
        let part = usize::from(i >= width);
        worst[part] = worst[part].max((our - their).abs());
    }
    let rewards = doubles(text(&answer["rewards"]));
    let pairs = ours.rewards.iter().zip(&rewards);
    let worst_reward = pairs.fold(0.0, |worst: f64, (our, their)| (our - their).abs().max(worst));
    println!(
        "{id} seed {seed}: the first observation is off by {:.1e}, {STEPS} steps by {:.1e}, rewards by {:.1e}",
        worst[0], worst[1], worst_reward
    );
    assert_eq!(
        ours.ends,
        text(&answer["ends"]),
        "{id} seed {seed}: the ends of episodes"
    );
    assert!(worst[0] < 1e-5, "{id} seed {seed}: the first observation differs");
    assert!(worst[1] < 1e-3, "{id} seed {seed}: one of {STEPS} steps differs");
    assert!(worst_reward < 1e-3, "{id} seed {seed}: a reward differs");
}

/// The lander's options, with and without wind.
const MOONS: [(&str, &[(&str, &str)]); 5] = [
    ("LunarLander-v3", &[]),
    ("LunarLanderContinuous-v3", &[]),
    ("LunarLander-v3", &[("enable_wind", "true")]),
    (
        "LunarLanderContinuous-v3",
        &[
            ("enable_wind", "true"),
            ("wind_power", "20"),
            ("turbulence_power", "0.3"),
        ],
    ),
    ("LunarLander-v3", &[("gravity", "-3.7")]),
];
const LANDINGS: u64 = 20;

/// Flies upright towards the pad, slows down the closer it is, and lets go on the ground.
fn pilot(observation: &[f32], action: &mut [f32]) {
    let [x, y, vx, vy, angle, spin] = std::array::from_fn(|i| observation[i]);
    let landed = observation[6] + observation[7] > 0.0;
    let lean = (0.5 * x + vx).clamp(-0.4, 0.4);
    let turn = if landed { 0.0 } else { 0.5 * (lean - angle) - spin };
    let sink = if landed { 0.0 } else { 0.5 * (0.55 * x.abs() - y) };
    let thrust = sink - 0.5 * vy;
    if let [main, side] = action {
        (*main, *side) = (20.0 * thrust - 1.0, -20.0 * turn);
        return;
    }
    action[0] = match () {
        _ if thrust > turn.abs() && thrust > 0.05 => 2.0,
        _ if turn < -0.05 => 3.0,
        _ if turn > 0.05 => 1.0,
        _ => 0.0,
    };
}

/// One landing, and how Gymnasium's differs from it.
struct Landing {
    /// The step in which the ground is first touched, and all steps.
    touched: usize,
    steps: usize,
    /// The first step that is not the same in all its bits.
    parted: Option<usize>,
    /// The largest difference of an observation.
    worst: f32,
    landed: bool,
}

fn land(gymnasium: &mut Gymnasium, task: &TaskSpec, seed: u64) -> Landing {
    let ours = play_task(task, seed, 1000, pilot);
    let last = ours.ends.find(|end| end != '0').expect("an end within the limit");
    let touches = |k: &usize| ours.observations[8 * (k + 1)..][6..8] != [0.0; 2];
    let size = ours.actions.len() / ours.rewards.len();
    let answer = gymnasium.play_task(task, seed, &ours.actions[..size * (last + 1)]);
    let (observations, rewards) = (floats(text(&answer["observations"])), doubles(text(&answer["rewards"])));
    let row = |numbers: &[f32], k: usize| <[f32; 8]>::try_from(&numbers[8 * (k + 1)..][..8]).expect("eight numbers");
    assert_eq!(
        ours.observations[..8],
        observations[..8],
        "{} seed {seed}: the first observation",
        task.label()
    );
    // Where Gymnasium's episode ends before ours, its next one begins there.
    let theirs_last = text(&answer["ends"]).find(|end| end != '0').unwrap_or(last);
    let both = ..=last.min(theirs_last);
    let differs = |k: &usize| {
        let bits = |row: [f32; 8]| row.map(f32::to_bits);
        bits(row(&ours.observations, *k)) != bits(row(&observations, *k))
            || ours.rewards[*k].to_bits() != rewards[*k].to_bits()
    };
    let distance = |k: usize| {
        let pairs = row(&ours.observations, k).into_iter().zip(row(&observations, k));
        pairs.fold(0.0, |worst: f32, (our, their)| (our - their).abs().max(worst))
    };
    Landing {
        touched: (0..=last).find(touches).unwrap_or(last),
        steps: last + 1,
        parted: (0..=both.end)
            .find(differs)
            .or((last != theirs_last).then_some(both.end)),
        worst: (0..=both.end).map(distance).fold(0.0, f32::max),
        landed: ours.rewards[last] == 100.0,
    }
}

/// Box2D 2.3.1, our engine, moves a body to the moment of its first impact by `c0 += beta * (c - c0)`, and 2.3.0,
/// Gymnasium's, by `c0 = (1 - beta) * c0 + beta * c`, which rounds differently. Nothing else differs that the lander
/// meets.
#[needs(python)]
#[test]
fn a_landing_is_gymnasiums_bit_for_bit_until_it_touches_the_ground() {
    let mut gymnasium = Gymnasium::start();
    let mut all = Vec::new();
    for (id, options) in MOONS {
        let task = find(id).expect("a task").with(options.iter().copied());
        let task = task.expect("options of the task");
        let landings: Vec<Landing> = (0..LANDINGS).map(|seed| land(&mut gymnasium, &task, seed)).collect();
        let count = |which: fn(&Landing) -> bool| landings.iter().filter(|landing| which(landing)).count();
        println!(
            "{}: {LANDINGS} flights, {} at rest, {} equal to the last bit, {} within 1e-5 and {} within 1e-3; the worst is off by {:.1e}",
            task.label(),
            count(|landing| landing.landed),
            count(|landing| landing.parted.is_none()),
            count(|landing| landing.worst < 1e-5),
            count(|landing| landing.worst < 1e-3),
            landings.iter().map(|landing| landing.worst).fold(0.0, f32::max)
        );
        for (seed, landing) in landings.iter().enumerate() {
            let parted = landing.parted.unwrap_or(landing.steps);
            assert!(
                parted >= landing.touched,
                "{} seed {seed}: step {parted} differs, and the ground is touched in step {}",
                task.label(),
                landing.touched
            );
        }
        all.extend(landings);
    }
    gymnasium.stop();
    let count = |which: fn(&Landing) -> bool| all.iter().filter(|landing| which(landing)).count();
    assert!(2 * count(|landing| landing.landed) > all.len(), "most come to rest");
    assert!(
        4 * count(|landing| landing.parted.is_none()) > all.len(),
        "many are equal to the end"
    );
    assert!(
        10 * count(|landing| landing.worst < 1e-3) > 7 * all.len(),
        "most stay close to the end"
    );
}

#[needs(python)]
#[test]
fn random_walks_are_distributed_as_gymnasiums() {
    compare_episodes("BipedalWalker-v3", EPISODES);
}

#[needs(python)]
#[test]
fn random_hard_walks_are_distributed_as_gymnasiums() {
    // An episode of it takes three times as long as one on flat ground.
    compare_episodes("BipedalWalkerHardcore-v3", EPISODES / 2);
}

#[needs(python)]
#[test]
fn random_landings_are_distributed_as_gymnasiums() {
    compare_episodes("LunarLander-v3", EPISODES);
    compare_episodes("LunarLanderContinuous-v3", EPISODES);
}

fn compare_episodes(id: &str, episodes: usize) {
    let mut gymnasium = Gymnasium::start();
    let answer = gymnasium.random_episodes(id, 1000, episodes);
    let (returns, lengths) = random_episodes(id, 2000, episodes);
    for (name, ours) in [("returns", returns), ("lengths", lengths)] {
        let numbers = answer[name].as_array().expect("a list of numbers");
        let theirs: Vec<f64> = numbers.iter().map(|x| x.as_f64().expect("a number")).collect();
        let p = kolmogorov_smirnov(ours, theirs);
        println!("{id}: {name} of {episodes} episodes are the same distribution with p = {p:.3}");
        assert!(p > 0.001, "{id}: {name} are distributed differently, p = {p}");
    }
    gymnasium.stop();
}

#[test]
fn the_comparison_of_distributions_tells_them_apart() {
    let mut rng = Pcg64::from_seed(0);
    let mut normal = |shift: f64| (0..EPISODES).map(|_| rng.standard_normal() + shift).collect();
    assert!(kolmogorov_smirnov(normal(0.0), normal(0.0)) > 0.05);
    assert!(kolmogorov_smirnov(normal(0.0), normal(0.6)) < 0.001);
}

/// Returns and lengths of episodes of a random policy.
fn random_episodes(id: &str, seed: u64, episodes: usize) -> (Vec<f64>, Vec<f64>) {
    let mut env = epgt_envs::make(id).expect("a registered task");
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut rng = Pcg64::for_purpose(seed, "random actions", 0);
    env.reset(Some(seed), &mut observation).expect("a reset");
    let (mut returns, mut lengths) = (Vec::new(), Vec::new());
    for _ in 0..episodes {
        let (mut total, mut length) = (0.0, 0.0);
        loop {
            env.action_space().sample(&mut rng, &mut action);
            let step = env.step(&action, &mut observation).expect("a step");
            total += step.reward;
            length += 1.0;
            if step.terminated || step.truncated {
                break;
            }
        }
        returns.push(total);
        lengths.push(length);
        env.reset(None, &mut observation).expect("a reset");
    }
    (returns, lengths)
}

/// How likely two samples of one distribution are at least as different as these: the two-sample test of Kolmogorov
/// and Smirnov with the asymptotic distribution of its statistic (Stephens, 1970).
fn kolmogorov_smirnov(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let share = |sorted: &[f64], x: f64| sorted.partition_point(|&y| y <= x) as f64 / sorted.len() as f64;
    let distances = a.iter().chain(&b).map(|&x| (share(&a, x) - share(&b, x)).abs());
    let distance = distances.fold(0.0, f64::max);
    let root = (a.len() as f64 * b.len() as f64 / (a.len() + b.len()) as f64).sqrt();
    let scaled = (root + 0.12 + 0.11 / root) * distance;
    if scaled < 0.2 {
        // The series converges slowly there, to 1.
        return 1.0;
    }
    let term = |j: i32| (-2.0 * f64::from(j * j) * scaled * scaled).exp();
    2.0 * (1..100)
        .map(|j| if j % 2 == 1 { term(j) } else { -term(j) })
        .sum::<f64>()
}
