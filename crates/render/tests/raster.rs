//! What a drawn scene looks like, in numbers.

use std::f32::consts::PI;

use epgt_envs::{Color, Scene};
use epgt_render::{Image, draw, fitting_size};

const BLACK: Color = [0, 0, 0];
const WHITE: Color = [255, 255, 255];
const RED: Color = [255, 0, 0];

/// A scene of a hundred by a hundred units.
fn scene() -> Scene {
    Scene::new([0.0, 0.0], [100.0, 100.0])
}

/// How many pixels are black, partly black ones by their share.
fn area(image: &Image) -> f32 {
    image
        .pixels()
        .iter()
        .map(|pixel| 1.0 - f32::from(pixel[0]) / 255.0)
        .sum()
}

#[test]
fn a_disc_covers_pi_times_its_squared_radius() {
    for radius in [3.0, 10.0, 31.7] {
        let mut scene = scene();
        scene.circle([50.3, 49.8], radius, BLACK);
        let expected = PI * radius * radius;
        let covered = area(&draw(&scene, 100, 100));
        assert!((covered / expected - 1.0).abs() < 0.02, "{covered} for {expected}");
    }
}

#[test]
fn a_line_is_as_thick_as_it_says_and_round_at_its_ends() {
    for (from, to) in [
        ([20.0, 50.0], [80.0, 50.0]),
        ([30.0, 20.0], [70.0, 75.0]),
        ([50.0, 80.0], [50.0, 10.0]),
    ] {
        let mut scene = scene();
        scene.line(from, to, 8.0, BLACK);
        let length = f32::hypot(to[0] - from[0], to[1] - from[1]);
        let expected = 8.0 * length + PI * 16.0;
        let covered = area(&draw(&scene, 100, 100));
        assert!((covered / expected - 1.0).abs() < 0.02, "{covered} for {expected}");
    }
    let mut scene = scene();
    scene.line([20.0, 50.0], [80.0, 50.0], 8.0, BLACK);
    let image = draw(&scene, 100, 100);
    let column: Vec<usize> = (0..100).filter(|&y| image.pixel(40, y) == BLACK).collect();
    assert_eq!(column, (46..54).collect::<Vec<_>>());
    assert_eq!((image.pixel(16, 49), image.pixel(15, 49)), (BLACK, WHITE));
    assert_eq!(image.pixel(16, 46), WHITE, "a corner that the round end leaves out");
}

#[test]
fn a_thin_line_is_one_pixel_thick() {
    let mut scene = scene();
    scene.line([0.0, 50.5], [100.0, 50.5], 1e-6, BLACK);
    let image = draw(&scene, 100, 100);
    assert_eq!((0..100).filter(|&y| image.pixel(50, y) == BLACK).count(), 1);
}

#[test]
fn a_polygon_is_filled_inside_and_nowhere_else() {
    // An arrow that points up, with a notch below.
    let corners = [[20.0, 20.0], [50.0, 40.0], [80.0, 20.0], [50.0, 90.0]];
    let mut scene = scene();
    scene.polygon(&corners, BLACK);
    let image = draw(&scene, 100, 100);
    let at = |x: usize, y: usize| image.pixel(x, 99 - y);
    for (x, y) in [(50, 60), (50, 42), (27, 26), (73, 26), (50, 86)] {
        assert_eq!(at(x, y), BLACK, "({x}, {y}) is inside");
    }
    for (x, y) in [(50, 37), (50, 20), (20, 60), (80, 60), (50, 92)] {
        assert_eq!(at(x, y), WHITE, "({x}, {y}) is outside");
    }
    let doubled: f32 = (0..4)
        .map(|i| (corners[i], corners[(i + 1) % 4]))
        .map(|(a, b)| a[0] * b[1] - b[0] * a[1])
        .sum();
    let expected = doubled.abs() / 2.0;
    assert!((area(&image) / expected - 1.0).abs() < 0.02);
}

#[test]
fn a_polygon_that_crosses_itself_is_filled_by_the_even_odd_rule() {
    let star: Vec<[f32; 2]> = (0..5)
        .map(|i| PI / 2.0 + i as f32 * 4.0 * PI / 5.0)
        .map(|angle| [50.0 + 40.0 * angle.cos(), 50.0 + 40.0 * angle.sin()])
        .collect();
    let mut scene = scene();
    scene.polygon(&star, BLACK);
    let image = draw(&scene, 100, 100);
    assert_eq!(image.pixel(50, 50), WHITE, "the middle");
    assert_eq!(image.pixel(50, 20), BLACK, "a point of the star");
}

#[test]
fn polygons_that_touch_leave_no_seam() {
    let mut scene = scene();
    scene.polygon(&[[0.0, 0.0], [50.0, 0.0], [43.0, 100.0], [0.0, 100.0]], BLACK);
    scene.polygon(&[[50.0, 0.0], [100.0, 0.0], [100.0, 100.0], [43.0, 100.0]], BLACK);
    assert_eq!(draw(&scene, 100, 100), Image::new(100, 100, BLACK));
}

#[test]
fn later_shapes_hide_earlier_ones() {
    let mut scene = scene();
    scene.circle([50.0, 50.0], 30.0, BLACK);
    scene.circle([50.0, 50.0], 10.0, RED);
    let image = draw(&scene, 100, 100);
    assert_eq!((image.pixel(50, 50), image.pixel(30, 50)), (RED, BLACK));
}

#[test]
fn a_scene_keeps_its_shape_between_bars_that_no_shape_enters() {
    let mut scene = Scene::new([-1.0, -1.0], [1.0, 1.0]);
    scene.background = [0, 0, 255];
    scene.line([-9.0, 0.0], [9.0, 0.0], 0.2, RED);
    scene.line([0.0, -9.0], [0.0, 9.0], 0.2, RED);
    for (width, height) in [(200, 100), (100, 200)] {
        let image = draw(&scene, width, height);
        let (x, y) = (width / 2, height / 2);
        assert_eq!(image.pixel(x, y), RED);
        for (x, y) in [(2, y), (x, 2), (width - 3, y), (x, height - 3)] {
            let in_bar = x.abs_diff(width / 2) > 50 || y.abs_diff(height / 2) > 50;
            assert_eq!(image.pixel(x, y), if in_bar { BLACK } else { RED }, "({x}, {y})");
        }
        assert_eq!(image.pixel(x - 40, y - 40), [0, 0, 255]);
    }
}

#[test]
fn an_image_of_the_fitting_size_has_no_bars() {
    for (across, up) in [(16.0, 9.0), (7.0, 3.0), (1.0, 1.0), (3.0, 11.0)] {
        let scene = Scene::new([0.0, 0.0], [across, up]);
        let (width, height) = fitting_size(&scene, 600, 500);
        assert_eq!(draw(&scene, width, height), Image::new(width, height, WHITE));
    }
}

#[test]
fn what_cannot_be_drawn_is_left_out() {
    let mut scene = scene();
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        scene.circle([bad, 50.0], 10.0, RED);
        scene.line([bad, 10.0], [20.0, bad], 1.0, RED);
        scene.polygon(&[[bad, bad], [0.0, 50.0], [20.0, bad]], RED);
    }
    scene.circle([50.0, 50.0], -3.0, RED);
    scene.polygon(&[], RED);
    assert_eq!(draw(&scene, 40, 40), Image::new(40, 40, WHITE));
    let nowhere = Scene::new([f32::NAN, 1.0], [0.0, 1.0]);
    assert_eq!(draw(&nowhere, 4, 0).pixels().len(), 0);
    assert_eq!(draw(&nowhere, 4, 4).pixels().len(), 16);
}
