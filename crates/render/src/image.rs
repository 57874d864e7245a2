//! A rectangle of pixels.

use epgt_envs::Color;

/// Pixels from left to right in rows from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: usize,
    pixels: Vec<Color>,
}

impl Image {
    /// An image of one colour.
    ///
    /// ```
    /// let image = epgt_render::Image::new(3, 2, [255, 0, 0]);
    /// assert_eq!((image.width(), image.height()), (3, 2));
    /// assert_eq!(image.pixel(2, 1), [255, 0, 0]);
    /// ```
    pub fn new(width: usize, height: usize, color: Color) -> Self {
        Self {
            width,
            pixels: vec![color; width * height],
        }
    }

    /// Pixels in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.pixels.len().checked_div(self.width).unwrap_or(0)
    }

    /// One pixel; the first is at the left end of the top row.
    ///
    /// # Panics
    /// When it lies outside.
    pub fn pixel(&self, x: usize, y: usize) -> Color {
        self.row(y)[x]
    }

    /// The pixels of a row.
    ///
    /// # Panics
    /// When it lies outside.
    pub fn row(&self, y: usize) -> &[Color] {
        &self.pixels[y * self.width..][..self.width]
    }

    /// The same, to be painted.
    pub(crate) fn row_mut(&mut self, y: usize) -> &mut [Color] {
        &mut self.pixels[y * self.width..][..self.width]
    }

    /// All pixels.
    pub fn pixels(&self) -> &[Color] {
        &self.pixels
    }
}
