//! Our tasks go the way that Gymnasium went. The record is made by `record_gymnasium.py`.

mod common;

use common::{assert_same, doubles, floats, play, text};
use epgt_envs::Normalizer;
use serde_json::Value;

fn record() -> Value {
    serde_json::from_str(include_str!("data/gymnasium.json")).expect("the record is JSON")
}

fn follows_gymnasium(id: &str) -> usize {
    let record = record();
    let trajectories = record["trajectories"].as_array().expect("a list");
    let theirs = trajectories
        .iter()
        .find(|one| one["id"] == id)
        .expect("a recorded task");
    let actions = floats(text(&theirs["actions"]));
    let mut next = actions.iter();
    let seed = theirs["seed"].as_u64().expect("a seed");
    let ours = play(id, seed, actions.len(), |_, action| {
        action[0] = *next.next().expect("one action per step");
    });
    assert_same(id, &ours, theirs)
}

#[test]
fn mountain_car_follows_gymnasium_bit_for_bit() {
    assert_eq!(follows_gymnasium("MountainCar-v0"), 0);
}

#[test]
fn continuous_mountain_car_follows_gymnasium_bit_for_bit() {
    assert_eq!(follows_gymnasium("MountainCarContinuous-v0"), 0);
}

#[test]
fn cart_pole_follows_gymnasium_through_many_episodes() {
    assert_eq!(follows_gymnasium("CartPole-v1"), 0);
}

#[test]
fn pendulum_follows_gymnasium() {
    assert_eq!(follows_gymnasium("Pendulum-v1"), 0);
}

#[test]
fn acrobot_follows_gymnasium_but_for_the_sines_of_its_start() {
    assert!(follows_gymnasium("Acrobot-v1") <= 4);
}

#[test]
fn running_statistics_are_gymnasiums() {
    for case in record()["normalizers"].as_array().expect("a list") {
        let number = |name: &str| case[name].as_u64().expect("a number") as usize;
        let gamma = case["gamma"].as_f64().expect("a number");
        let (envs, size) = (number("envs"), number("size"));
        let mut normalizer = Normalizer::new(size, envs, true, true, gamma);
        for step in case["steps"].as_array().expect("a list") {
            let mut rows = floats(text(&step["rows"]));
            let rewards = floats(text(&step["rewards"]));
            let done: Vec<bool> = text(&step["done"]).chars().map(|digit| digit == '1').collect();
            let mut scaled = vec![0.0; envs];
            normalizer.observe(&mut rows);
            normalizer.rewards(&rewards, &done, &vec![false; envs], &mut scaled);
            near(&rows, &doubles(text(&step["normalised_rows"])));
            near(&scaled, &doubles(text(&step["normalised_rewards"])));
        }
    }
}

fn near(ours: &[f32], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len());
    for (our, their) in ours.iter().zip(theirs) {
        assert!(
            (f64::from(*our) - their).abs() < 1e-6 * (1.0 + their.abs()),
            "{our} {their}"
        );
    }
}
