//! The patches of images as rows of a matrix, and back: what makes a convolution a matrix product.

use pulp::Arch;

/// How a square window slides over an image, without padding.
///
/// An image is `planes` of `height` by `width` pixels of `depth` numbers each. So both usual layouts are one: with the
/// channels first, `planes` is their number and `depth` is 1; with the channels last it is the other way round.
/// Whatever lies side by side in a row of pixels is copied in one run, which is long with the channels last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Channels that lie one after another.
    pub planes: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
    /// Channels that lie side by side in each pixel.
    pub depth: usize,
    /// Rows, and pixels of a row, that the window covers.
    pub kernel: usize,
    /// Pixels from one position to the next, across and down.
    pub stride: usize,
}

impl Window {
    /// Numbers of one image.
    pub fn image(&self) -> usize {
        self.planes * self.height * self.width * self.depth
    }

    /// Positions down and across.
    pub fn positions(&self) -> (usize, usize) {
        let along = |pixels: usize| (pixels - self.kernel) / self.stride + 1;
        (along(self.height), along(self.width))
    }

    /// Numbers of one patch, ordered by plane, row, pixel and place in the pixel.
    pub fn patch(&self) -> usize {
        self.planes * self.kernel * self.kernel * self.depth
    }

    /// Numbers of a patch that lie side by side in the image.
    fn run(&self) -> usize {
        self.kernel * self.depth
    }
}

/// A number of an image: a byte counts as its 255th part, so that it is in [0, 1].
pub trait Pixel: Copy + sealed::Sealed {
    /// The number that a network sees.
    fn scaled(self) -> f32;
}

impl Pixel for f32 {
    #[inline(always)]
    fn scaled(self) -> f32 {
        self
    }
}

impl Pixel for u8 {
    #[inline(always)]
    fn scaled(self) -> f32 {
        f32::from(self) * (1.0 / 255.0)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u8 {}
}

/// Writes the patches of whole images, one row per position, row by row of positions.
///
/// ```
/// use epgt_nn::kernel::{Window, gather_patches};
/// let window = Window { planes: 1, height: 2, width: 3, depth: 1, kernel: 2, stride: 1 };
/// let mut patches = [0.0; 8];
/// gather_patches(window, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &mut patches);
/// assert_eq!(patches, [1.0, 2.0, 4.0, 5.0, 2.0, 3.0, 5.0, 6.0]);
/// ```
///
/// # Panics
/// If the sizes do not fit each other.
pub fn gather_patches<P: Pixel>(window: Window, images: &[P], patches: &mut [f32]) {
    let (down, across) = check(window, images.len(), patches.len());
    let (patch, run) = (window.patch(), window.run());
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let images = images.chunks_exact(window.image());
            for (image, patches) in images.zip(patches.chunks_exact_mut(down * across * patch)) {
                match run {
                    8 => gather::<P, 8>(window, image, patches),
                    _ => gather::<P, 0>(window, image, patches),
                }
            }
        },
    );
}

/// The patches of one image. `RUN` is the length of a run where the compiler is to know it, else 0: short runs are
/// copied in half the time then.
#[inline(always)]
fn gather<P: Pixel, const RUN: usize>(window: Window, image: &[P], patches: &mut [f32]) {
    let (down, across) = window.positions();
    let (step, line) = (window.stride * window.depth, window.width * window.depth);
    let run = if RUN > 0 { RUN } else { window.run() };
    let mut rows = patches.chunks_exact_mut(window.patch());
    for y in 0..down {
        for (x, row) in (0..across).zip(&mut rows) {
            let corner = y * window.stride * line + x * step;
            for (plane, row) in row.chunks_exact_mut(window.kernel * run).enumerate() {
                let image = &image[plane * window.height * line + corner..];
                for (i, into) in row.chunks_exact_mut(run).enumerate() {
                    let from = &image[i * line..][..run];
                    for (into, from) in into.iter_mut().zip(from) {
                        *into = from.scaled();
                    }
                }
            }
        }
    }
}

/// Adds every number of every patch to the number of the image that it was taken from: the chain rule through
/// [`gather_patches`]. `images` is overwritten.
///
/// ```
/// use epgt_nn::kernel::{Window, scatter_patches};
/// let window = Window { planes: 1, height: 2, width: 3, depth: 1, kernel: 2, stride: 1 };
/// let mut image = [0.0; 6];
/// scatter_patches(window, &[1.0; 8], &mut image);
/// assert_eq!(image, [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]);
/// ```
///
/// # Panics
/// If the sizes do not fit each other.
pub fn scatter_patches(window: Window, patches: &[f32], images: &mut [f32]) {
    let (down, across) = check(window, images.len(), patches.len());
    let (patch, run, line) = (window.patch(), window.run(), window.width * window.depth);
    Arch::new().dispatch(
        #[inline(always)]
        || {
            images.fill(0.0);
            let images = images.chunks_exact_mut(window.image());
            for (image, patches) in images.zip(patches.chunks_exact(down * across * patch)) {
                let mut rows = patches.chunks_exact(patch);
                for y in 0..down {
                    for (x, row) in (0..across).zip(&mut rows) {
                        let corner = y * window.stride * line + x * window.stride * window.depth;
                        for (plane, row) in row.chunks_exact(window.kernel * run).enumerate() {
                            let image = &mut image[plane * window.height * line + corner..];
                            for (i, part) in row.chunks_exact(run).enumerate() {
                                let into = &mut image[i * line..][..run];
                                into.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
                            }
                        }
                    }
                }
            }
        },
    );
}

/// The positions, if there are as many patches as the images have.
fn check(window: Window, images: usize, patches: usize) -> (usize, usize) {
    let (down, across) = window.positions();
    assert!(images.is_multiple_of(window.image()), "whole images");
    let count = images / window.image() * down * across;
    assert_eq!(patches, count * window.patch(), "one row per image and position");
    (down, across)
}
