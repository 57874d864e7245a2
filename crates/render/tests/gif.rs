//! What a GIF says is what was drawn: read back by a decoder of our own, and by Pillow where there is one.

mod decoder;

use std::process::{Command, Stdio};

use decoder::{Frame, decode};
use epgt_envs::{Color, Scene, make};
use epgt_render::{Colors, Gif, Image, draw, png};
use epgt_rng::Pcg64;
use epgt_testing::needs;

/// The file of these images, the delay of each growing by one.
fn encode(images: &[Image]) -> Vec<u8> {
    let mut colors = Colors::default();
    images.iter().for_each(|image| colors.count(image));
    let mut gif = Gif::new(images[0].width(), images[0].height(), colors.palette());
    for (image, delay) in images.iter().zip(2..) {
        gif.frame(image, delay);
    }
    gif.finish()
}

/// Frames of a task that is acted in at random.
fn played(task: &str, frames: usize) -> Vec<Image> {
    let mut env = make(task).expect("a task");
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut rng = Pcg64::from_seed(0);
    env.reset(Some(0), &mut observation).expect("a reset");
    let images = (0..frames).map(|_| {
        env.action_space().sample(&mut rng, &mut action);
        env.step(&action, &mut observation).expect("a step");
        draw(&env.scene().expect("a picture"), 150, 100)
    });
    images.collect()
}

/// An image whose pixels are drawn from so many colours, which is hard to compress.
fn noise(colors: u64, rng: &mut Pcg64) -> Image {
    let mut scene = Scene::new([0.0, 0.0], [90.0, 80.0]);
    for i in 0..90 * 80 {
        let shade = rng.below(colors);
        let (x, y) = ((i % 90) as f32, (i / 90) as f32);
        let color = [shade as u8, (shade * 7) as u8, 255 - shade as u8];
        scene.rectangle([x, y], 0.0, [0.0, 0.0], [1.0, 1.0], color);
    }
    draw(&scene, 90, 80)
}

/// Animations of every kind, all with few enough colours to be exact.
fn animations() -> Vec<Vec<Image>> {
    let mut rng = Pcg64::from_seed(4);
    let plain = |color: Color| Image::new(7, 5, color);
    let mut animations = vec![
        vec![plain([3, 2, 1])],
        vec![plain([0; 3]), plain([0; 3]), plain([255; 3])],
        played("CartPole-v1", 15),
        played("Pendulum-v1", 15),
        played("MountainCar-v0", 15),
    ];
    for colors in [2, 3, 4, 5, 16, 17, 128, 129, 256] {
        animations.push((0..3).map(|_| noise(colors, &mut rng)).collect());
    }
    animations
}

fn assert_same(images: &[Image], frames: &[Frame]) {
    assert_eq!(images.len(), frames.len());
    for ((image, frame), delay) in images.iter().zip(frames).zip(2..) {
        assert_eq!(frame.delay, delay);
        assert!(frame.pixels == image.pixels(), "a frame of {} differs", images.len());
    }
}

#[test]
fn an_animation_read_back_is_what_was_drawn() {
    for images in animations() {
        assert_same(&images, &decode(&encode(&images)));
    }
}

#[test]
fn a_palette_that_is_changed_holds_from_there_on() {
    let mut rng = Pcg64::from_seed(5);
    let parts: Vec<Vec<Image>> = [200, 5, 256]
        .map(|colors| (0..2).map(|_| noise(colors, &mut rng)).collect())
        .into();
    let palette = |images: &[Image]| {
        let mut colors = Colors::default();
        images.iter().for_each(|image| colors.count(image));
        colors.palette()
    };
    let mut gif = Gif::new(90, 80, palette(&parts[0]));
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            gif.change_palette(palette(part));
        }
        for image in part {
            gif.frame(image, 2 + gif.frames() as u16);
        }
    }
    assert_same(&parts.concat(), &decode(&gif.finish()));
}

#[test]
fn unchanged_parts_are_not_stored_again() {
    let images = played("CartPole-v1", 20);
    let whole: usize = images
        .iter()
        .map(|image| encode(std::slice::from_ref(image)).len())
        .sum();
    assert!(encode(&images).len() * 2 < whole);
}

#[test]
fn of_too_many_colours_plain_ones_stay_exact_and_the_others_close() {
    let mut scene = Scene::new([0.0, 0.0], [200.0, 100.0]);
    scene.background = [215, 215, 255];
    for i in 0..100 {
        for k in 0..20 {
            let color = [(i * 2) as u8, (k * 12) as u8, ((i + k) % 50 * 5) as u8];
            scene.rectangle([i as f32, k as f32], 0.0, [0.0, 0.0], [1.0, 1.0], color);
        }
    }
    scene.circle([150.0, 60.0], 30.0, [76, 255, 76]);
    let image = draw(&scene, 200, 100);
    let frames = decode(&encode(std::slice::from_ref(&image)));
    let pairs: Vec<_> = image.pixels().iter().zip(&frames[0].pixels).collect();
    for &(wanted, found) in &pairs {
        if [[215, 215, 255], [76, 255, 76]].contains(wanted) {
            assert_eq!(wanted, found);
        }
    }
    let error = |(wanted, found): &(&Color, &Color)| (0..3).map(|i| wanted[i].abs_diff(found[i])).max();
    let worst = pairs.iter().filter_map(error).max();
    assert!(worst.is_some_and(|worst| (1..70).contains(&worst)), "{worst:?}");
}

#[needs(python)]
#[test]
fn pillow_sees_the_same_frames() {
    let python = std::env::var_os("EPGT_PYTHON").expect("EPGT_PYTHON names a Python");
    // Every frame as "delay pixels-in-hexadecimal", and a still image in the same way.
    let script = "import sys\nfrom PIL import Image, ImageSequence\nfor name in sys.argv[1:]:\n  \
                  for f in ImageSequence.Iterator(Image.open(name)):\n    \
                  print(f.info.get('duration', 0) // 10, f.convert('RGB').tobytes().hex())";
    let directory = std::env::temp_dir().join(format!("epgt-render-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    for images in animations() {
        let (animation, still) = (directory.join("animation.gif"), directory.join("still.png"));
        std::fs::write(&animation, encode(&images)).expect("a file");
        std::fs::write(&still, png(&images[0])).expect("a file");
        let output = Command::new(&python)
            .args(["-c", script])
            .args([&animation, &still])
            .stderr(Stdio::inherit())
            .output()
            .expect("EPGT_PYTHON runs");
        assert!(output.status.success(), "is Pillow installed there?");
        let text = String::from_utf8(output.stdout).expect("hexadecimal");
        let mut lines = text.lines().map(|line| line.split_once(' ').expect("two words"));
        let hex = |image: &Image| -> String {
            let bytes = image.pixels().as_flattened().iter();
            bytes.map(|byte| format!("{byte:02x}")).collect()
        };
        for (image, delay) in images.iter().zip(2..) {
            let (found, pixels) = lines.next().expect("a frame");
            assert_eq!(found, i32::to_string(&delay));
            assert!(pixels == hex(image), "a frame of {} differs", images.len());
        }
        let (_, pixels) = lines.next().expect("the still image");
        assert!(pixels == hex(&images[0]), "the PNG differs");
    }
    std::fs::remove_dir_all(&directory).expect("an empty place");
}
