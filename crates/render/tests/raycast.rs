//! What solids look like, in numbers.

use epgt_envs::{Camera, Color, Form, Scene3d, Solid};
use epgt_render::{Image, draw_3d};

const UPRIGHT: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const RED: Color = [200, 0, 0];
const GREEN: Color = [0, 160, 0];
/// It spans a height of 8 at its target, which is 4 away.
const CAMERA: Camera = Camera {
    position: [0.0, -4.0, 0.0],
    target: [0.0; 3],
    field_of_view: 90.0,
};

fn solid(form: Form, center: [f32; 3], color: Color) -> Solid {
    Solid {
        form,
        center,
        axes: UPRIGHT,
        color,
    }
}

fn drawn(solids: &[Solid]) -> Image {
    let scene = Scene3d {
        camera: CAMERA,
        solids: solids.to_vec(),
    };
    draw_3d(&scene, 160, 120)
}

/// Whether a pixel shows this plain colour in whatever light, and nothing else.
fn shows(pixel: Color, color: Color) -> bool {
    let strongest = |pixel: Color| (0..3).max_by_key(|&i| pixel[i]);
    let weak = (0..3).filter(|&i| color[i] == 0).map(|i| pixel[i]).max();
    strongest(pixel) == strongest(color) && weak < Some(70)
}

fn area(image: &Image, color: Color) -> usize {
    image.pixels().iter().filter(|&&pixel| shows(pixel, color)).count()
}

#[test]
fn solids_cover_what_perspective_says() {
    // Of a ball, a cone is seen: its half angle has the sine radius / distance. 15 pixels are one unit at the target.
    let ball = drawn(&[solid(Form::Sphere { radius: 1.0 }, [0.0; 3], RED)]);
    let radius = 60.0 * f64::tan(f64::asin(0.25));
    let expected = std::f64::consts::PI * radius * radius;
    let (whole, empty) = (area(&ball, RED) as f64, drawn(&[]));
    let touched = (0..160 * 120)
        .filter(|&i| ball.pixels()[i] != empty.pixels()[i])
        .count() as f64;
    assert!(whole < expected && expected < touched, "{whole}, {expected}, {touched}");
    assert!(touched - whole < 9.0 * radius, "only pixels on the outline are neither");
    // The face of a box, 2 x 1 at a distance of 3, where a unit is 20 pixels.
    let cuboid = drawn(&[solid(Form::Box { half: [1.0, 1.0, 0.5] }, [0.0; 3], RED)]);
    let rows: Vec<usize> = (0..120).filter(|&y| shows(cuboid.pixel(80, y), RED)).collect();
    let columns: Vec<usize> = (0..160).filter(|&x| shows(cuboid.pixel(x, 60), RED)).collect();
    assert_eq!((rows.len(), rows[0]), (20, 50));
    assert_eq!((columns.len(), columns[0]), (40, 60));
}

#[test]
fn what_is_nearer_hides_what_is_behind() {
    let ball = |y: f32, radius: f32, color: Color| solid(Form::Sphere { radius }, [0.0, y, 0.0], color);
    for order in [[0, 1], [1, 0]] {
        let balls = [ball(0.0, 1.0, RED), ball(-2.0, 0.2, GREEN)];
        let image = drawn(&order.map(|i| balls[i]));
        assert!(shows(image.pixel(80, 60), GREEN));
        assert!(shows(image.pixel(80, 68), RED));
    }
    // Behind the eye nothing is seen.
    assert_eq!(drawn(&[ball(-7.0, 1.0, RED)]), drawn(&[]));
}

#[test]
fn a_solid_has_a_light_and_a_dark_side_and_a_shadow_on_the_ground() {
    let plane = Form::Plane {
        half: [f32::INFINITY; 2],
        tile: 100.0,
    };
    let ground = solid(plane, [50.0, 50.0, -2.0], [255, 255, 255]);
    let ball = solid(Form::Sphere { radius: 0.7 }, [0.0, 0.0, -1.2], RED);
    let (bare, image) = (drawn(&[ground]), drawn(&[ground, ball]));
    // The lamp stands to the left and above.
    let brightness = |image: &Image, x: usize, y: usize| image.pixel(x, y).iter().map(|&c| i32::from(c)).sum::<i32>();
    assert!(brightness(&image, 76, 72) > brightness(&image, 85, 84) + 60);
    // To the right of where the ball stands the ground is darker than without it, far away it is the same.
    let darker = |x: usize, y: usize| brightness(&bare, x, y) - brightness(&image, x, y);
    assert!(darker(92, 88) > 60, "{}", darker(92, 88));
    assert_eq!((darker(20, 100), darker(140, 100), darker(80, 20)), (0, 0, 0));
}

#[test]
fn the_ground_has_squares_that_run_together_in_the_distance() {
    let plane = Form::Plane {
        half: [f32::INFINITY; 2],
        tile: 1.0,
    };
    let image = drawn(&[solid(plane, [0.0, 0.0, -1.0], [255, 255, 255])]);
    let shades = |y: usize| {
        let mut row: Vec<Color> = image.row(y).to_vec();
        row.sort_unstable();
        row[150][0] - row[10][0]
    };
    assert!(shades(115) > 20, "{}", shades(115));
    assert!(shades(61) < 6, "{}", shades(61));
    // A table ends where it ends.
    let table = Form::Plane {
        half: [1.0, 1.0],
        tile: 1.0,
    };
    let (none, image) = (drawn(&[]), drawn(&[solid(table, [0.0, 0.0, -1.0], GREEN)]));
    assert!(shows(image.pixel(80, 75), GREEN));
    assert_eq!(image.pixel(80, 100), none.pixel(80, 100));
}

#[test]
fn edges_are_smooth_and_the_same_scene_gives_the_same_pixels() {
    let ball = [solid(Form::Sphere { radius: 1.0 }, [0.13, 0.0, 0.2], [0, 0, 0])];
    let image = drawn(&ball);
    assert_eq!(image, drawn(&ball));
    let (none, row) = (drawn(&[]), image.row(57));
    let between = (0..160)
        .filter(|&x| row[x] != none.pixel(x, 57) && row[x][0] > 90)
        .count();
    assert_eq!(between, 2, "one pixel on each side is neither ball nor sky");
}

#[test]
fn what_cannot_be_drawn_is_left_out() {
    let nothing = drawn(&[]);
    for bad in [f32::NAN, f32::INFINITY] {
        let mut turned = solid(Form::Sphere { radius: 1.0 }, [0.0; 3], RED);
        turned.axes[1][1] = bad;
        let solids = [turned, solid(Form::Sphere { radius: 1.0 }, [bad, 0.0, 0.0], RED)];
        assert_eq!(drawn(&solids), nothing);
    }
    let scene = Scene3d {
        camera: Camera {
            position: [0.0; 3],
            ..CAMERA
        },
        solids: Vec::new(),
    };
    assert_eq!(draw_3d(&scene, 4, 3).pixels().len(), 12, "an eye that looks nowhere");
    assert_eq!(draw_3d(&scene, 4, 0).pixels().len(), 0);
}
