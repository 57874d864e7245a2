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

    /// An image of these pixels, in rows of `width` from top to bottom.
    ///
    /// ```
    /// let image = epgt_render::Image::from_pixels(1, vec![[0, 0, 0], [9, 9, 9]]);
    /// assert_eq!((image.height(), image.pixel(0, 1)), (2, [9, 9, 9]));
    /// ```
    ///
    /// # Panics
    /// When the last row is not full.
    pub fn from_pixels(width: usize, pixels: Vec<Color>) -> Self {
        assert!(pixels.len().checked_rem(width) == Some(0), "rows of {width} pixels");
        Self { width, pixels }
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
