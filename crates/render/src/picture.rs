//! Pictures of all kinds to pixels, in a size that suits them.

use epgt_envs::{Color, Picture};

use crate::{Image, draw, fitting_size};

/// The size of a picture's image within these bounds: the largest of its shape. Pixels that are there already are made
/// smaller where they must be, and larger only by whole factors, so that they stay what they are.
///
/// ```
/// use epgt_envs::Picture;
/// use epgt_render::picture_size;
/// let game = Picture::Pixels { width: 160, pixels: vec![[0; 3]; 160 * 210] };
/// assert_eq!(picture_size(&game, 600, 500), (320, 420));
/// assert_eq!(picture_size(&game, 80, 500), (80, 105));
/// ```
pub fn picture_size(picture: &Picture, width: usize, height: usize) -> (usize, usize) {
    match picture {
        Picture::Flat(scene) => fitting_size(scene, width, height),
        Picture::Pixels { width: across, pixels } => {
            let down = pixels.len().checked_div(*across).unwrap_or(0).max(1);
            let across = (*across).max(1);
            match (width / across).min(height / down) {
                0 => {
                    let scale = f64::min(width as f64 / across as f64, height as f64 / down as f64);
                    let side = |length: usize| ((length as f64 * scale).round() as usize).max(1);
                    (side(across), side(down))
                }
                times => (across * times, down * times),
            }
        }
    }
}

/// Draws a picture into an image of this size, best one of [`picture_size`].
///
/// ```
/// use epgt_envs::Picture;
/// let two = Picture::Pixels { width: 2, pixels: vec![[10; 3], [30; 3]] };
/// assert_eq!(epgt_render::draw_picture(&two, 4, 2).row(1), [[10; 3], [10; 3], [30; 3], [30; 3]]);
/// assert_eq!(epgt_render::draw_picture(&two, 1, 1).pixels(), [[20; 3]]);
/// ```
pub fn draw_picture(picture: &Picture, width: usize, height: usize) -> Image {
    match picture {
        Picture::Flat(scene) => draw(scene, width, height),
        Picture::Pixels { width: across, pixels } => scaled(pixels, *across, width, height),
    }
}

/// Every pixel is the mean of those that it stands for, or, where it is smaller than they are, the one that it lies in.
fn scaled(pixels: &[Color], across: usize, width: usize, height: usize) -> Image {
    let down = pixels.len().checked_div(across).unwrap_or(0);
    if across == 0 || down == 0 {
        return Image::new(width, height, [0; 3]);
    }
    if (across, down) == (width, height) {
        return Image::from_pixels(width, pixels.to_vec());
    }
    // The part of `from` pixels that pixel `i` of `to` stands for.
    let part = |i: usize, from: usize, to: usize| {
        let start = i * from / to;
        start..((i + 1) * from / to).max(start + 1)
    };
    let mut image = Image::new(width, height, [0; 3]);
    for y in 0..height {
        let rows = part(y, down, height);
        for (x, pixel) in image.row_mut(y).iter_mut().enumerate() {
            let columns = part(x, across, width);
            let count = (rows.len() * columns.len()) as u64;
            let mut sum = [count / 2; 3];
            for row in rows.clone() {
                for color in &pixels[row * across..][columns.clone()] {
                    (0..3).for_each(|channel| sum[channel] += u64::from(color[channel]));
                }
            }
            *pixel = sum.map(|sum| (sum / count) as u8);
        }
    }
    image
}
