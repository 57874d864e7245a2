//! Animations as GIF89a files.

use std::ops::Range;

use crate::lzw::compress;
use crate::{Image, Palette};

/// An animation that repeats for ever. Frames are added one by one; each stores only the rectangle that has changed. All
/// share one palette, unless it is changed on the way.
///
/// ```
/// use epgt_render::{Colors, Gif, Image};
/// let image = Image::new(8, 8, [9, 9, 9]);
/// let mut colors = Colors::default();
/// colors.count(&image);
/// let mut gif = Gif::new(8, 8, colors.palette());
/// gif.frame(&image, 50);
/// assert_eq!(gif.frames(), 1);
/// assert_eq!(gif.finish().last(), Some(&0x3B));
/// ```
pub struct Gif {
    width: usize,
    height: usize,
    palette: Palette,
    bits: u32,
    /// Whether the palette is the one at the beginning of the file, or goes with every frame.
    shared: bool,
    bytes: Vec<u8>,
    frames: usize,
    /// What is shown now, in entries of the palette.
    shown: Vec<u8>,
}

impl Gif {
    /// An empty animation of this size with the colours of this palette.
    ///
    /// # Panics
    /// When a side is not between 1 and 65535.
    pub fn new(width: usize, height: usize, palette: Palette) -> Self {
        let side = |length: usize| u16::try_from(length).ok().filter(|&length| length > 0);
        let (Some(across), Some(down)) = (side(width), side(height)) else {
            panic!("a GIF of {width} x {height} pixels cannot be written")
        };
        let bits = bits(&palette);
        let mut bytes = b"GIF89a".to_vec();
        bytes.extend(across.to_le_bytes());
        bytes.extend(down.to_le_bytes());
        // A palette for all frames, its size; the background's entry; pixels are square.
        bytes.extend([0xF0 | (bits - 1) as u8, 0, 0]);
        write_palette(&mut bytes, &palette);
        // Repeat without end.
        bytes.extend([0x21, 0xFF, 11]);
        bytes.extend(b"NETSCAPE2.0");
        bytes.extend([3, 1, 0, 0, 0]);
        Self {
            width,
            height,
            palette,
            bits,
            shared: true,
            bytes,
            frames: 0,
            shown: Vec::new(),
        }
    }

    /// Frames from here on have the colours of this palette, so that a part that looks different, such as another
    /// episode, can have its own.
    pub fn change_palette(&mut self, palette: Palette) {
        self.bits = bits(&palette);
        self.palette = palette;
        self.shared = false;
        // What is shown is not known in entries of this palette.
        self.shown.clear();
    }

    /// Adds a frame that is shown for so many hundredths of a second.
    ///
    /// # Panics
    /// When the image has another size than the animation.
    pub fn frame(&mut self, image: &Image, hundredths: u16) {
        assert_eq!((image.width(), image.height()), (self.width, self.height), "one size");
        let mut next = Vec::with_capacity(self.width * self.height);
        for run in image.pixels().chunk_by(|a, b| a == b) {
            next.resize(next.len() + run.len(), self.palette.index(run[0]));
        }
        let (across, down) = self.changed(&next);
        let part: Vec<u8> = down
            .clone()
            .flat_map(|y| &next[y * self.width..][across.clone()])
            .copied()
            .collect();

        // How long it is shown; it stays when the next one comes.
        self.bytes.extend([0x21, 0xF9, 4, 1 << 2]);
        self.bytes.extend(hundredths.to_le_bytes());
        self.bytes.extend([0, 0, 0x2C]);
        for length in [across.start, down.start, across.len(), down.len()] {
            self.bytes.extend((length as u16).to_le_bytes());
        }
        match self.shared {
            true => self.bytes.push(0),
            false => {
                self.bytes.push(0x80 | (self.bits - 1) as u8);
                write_palette(&mut self.bytes, &self.palette);
            }
        }
        compress(&part, self.bits, &mut self.bytes);
        self.shown = next;
        self.frames += 1;
    }

    /// The rectangle outside which the next frame is what is shown already; at least one pixel.
    fn changed(&self, next: &[u8]) -> (Range<usize>, Range<usize>) {
        if self.shown.is_empty() {
            return (0..self.width, 0..self.height);
        }
        let (mut left, mut right) = (self.width, 0);
        let (mut top, mut bottom) = (self.height, 0);
        let rows = self.shown.chunks_exact(self.width).zip(next.chunks_exact(self.width));
        for (y, (old, new)) in rows.enumerate() {
            let differs = |x: &usize| old[*x] != new[*x];
            if let Some(first) = (0..self.width).find(differs) {
                left = left.min(first);
                right = right.max((first..self.width).rfind(differs).unwrap_or(first) + 1);
                top = top.min(y);
                bottom = y + 1;
            }
        }
        if bottom == 0 {
            return (0..1, 0..1);
        }
        (left..right, top..bottom)
    }

    /// How many frames it has.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// The file.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0x3B);
        self.bytes
    }
}

/// Bits of an entry's number.
fn bits(palette: &Palette) -> u32 {
    palette.colors().len().next_power_of_two().max(4).ilog2()
}

/// Appends the colours, filled up with black to a power of two.
fn write_palette(bytes: &mut Vec<u8>, palette: &Palette) {
    let end = bytes.len() + (3 << bits(palette));
    bytes.extend(palette.colors().as_flattened());
    bytes.resize(end, 0);
}
