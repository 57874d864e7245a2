//! Draws what an environment shows: [`draw_picture`] turns a [`Picture`](epgt_envs::Picture) of any kind into an
//! [`Image`], [`draw`] a flat [`Scene`](epgt_envs::Scene); [`Gif`] makes an animation of images, [`png`] a file of a
//! single one.
//!
//! An animation is written in two passes, so that only one frame is in memory at a time: a [`Palette`] is made of all
//! frames, then each is drawn again and encoded.
//!
//! ```
//! use epgt_envs::Scene;
//! use epgt_render::{Colors, Gif, draw};
//! let frame = |x: f32| {
//!     let mut scene = Scene::new([-1.0, -1.0], [1.0, 1.0]);
//!     scene.circle([x, 0.0], 0.3, [200, 0, 0]);
//!     draw(&scene, 60, 60)
//! };
//! let mut colors = Colors::default();
//! [-0.5, 0.5].iter().for_each(|&x| colors.count(&frame(x)));
//! let mut gif = Gif::new(60, 60, colors.palette());
//! [-0.5, 0.5].iter().for_each(|&x| gif.frame(&frame(x), 10));
//! assert_eq!(&gif.finish()[..6], b"GIF89a");
//! ```

mod gif;
mod image;
mod lzw;
mod palette;
mod picture;
mod png;
mod raster;

pub use gif::Gif;
pub use image::Image;
pub use palette::{Colors, Palette};
pub use picture::{draw_picture, picture_size};
pub use png::png;
pub use raster::{draw, fitting_size};
