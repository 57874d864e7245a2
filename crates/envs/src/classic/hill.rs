//! The valley of both mountain cars, as it is seen.

use crate::{Color, Scene};

const LEFT: f32 = -1.2;
const RIGHT: f32 = 0.6;
/// Straight pieces that the ground is drawn with.
const PIECES: usize = 99;
/// A pixel of Gymnasium's picture, which is 600 pixels wide.
const PIXEL: f32 = (RIGHT - LEFT) / 600.0;
const BLACK: Color = [0, 0, 0];

/// The ground: 0.45 sin(3x) + 0.55.
fn height(x: f32) -> f32 {
    (3.0 * x).sin() * 0.45 + 0.55
}

/// The ground, a car at `position` and a flag at `goal`.
pub(super) fn scene(position: f32, goal: f32) -> Scene {
    let mut scene = Scene::new([LEFT, 0.0], [RIGHT, 400.0 * PIXEL]);
    let ground = |i: usize| {
        let x = LEFT + (RIGHT - LEFT) * i as f32 / PIECES as f32;
        [x, height(x)]
    };
    for i in 0..PIECES {
        scene.line(ground(i), ground(i + 1), PIXEL, BLACK);
    }

    // Gymnasium tilts the car by the cosine that is proportional to the slope, not by the slope's own angle.
    let tilt = (3.0 * position).cos();
    let car = [position, height(position) + 10.0 * PIXEL];
    scene.rectangle(car, tilt, [-20.0 * PIXEL, 0.0], [20.0 * PIXEL, 20.0 * PIXEL], BLACK);
    for side in [-10.0, 10.0] {
        let wheel = [car[0] + side * PIXEL * tilt.cos(), car[1] + side * PIXEL * tilt.sin()];
        scene.circle(wheel, 8.0 * PIXEL, [128, 128, 128]);
    }

    let foot = [goal, height(goal)];
    let top = foot[1] + 50.0 * PIXEL;
    scene.line(foot, [goal, top], PIXEL, BLACK);
    let tip = [goal + 25.0 * PIXEL, top - 5.0 * PIXEL];
    scene.polygon(&[[goal, top], [goal, top - 10.0 * PIXEL], tip], [204, 204, 0]);
    scene
}
