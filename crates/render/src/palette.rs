//! At most 256 colours for an animation: its own where they are so few, else those of a median cut.

use std::collections::HashMap;

use epgt_envs::Color;

use crate::Image;

/// The most entries that a GIF's palette can have.
const MOST: usize = 256;

/// How often each colour is seen.
#[derive(Clone, Debug, Default)]
pub struct Colors {
    counts: HashMap<Color, u64>,
}

impl Colors {
    /// Counts the pixels of an image.
    pub fn count(&mut self, image: &Image) {
        // Neighbours mostly have the same colour: one search serves a whole run of them.
        for run in image.pixels().chunk_by(|a, b| a == b) {
            *self.counts.entry(run[0]).or_default() += run.len() as u64;
        }
    }

    /// The palette for all that was counted. Up to 256 colours are kept exactly; of more, similar ones share an entry,
    /// which has the colour that is seen most often among them, so that plain areas stay exact.
    ///
    /// ```
    /// use epgt_render::{Colors, Image};
    /// let mut colors = Colors::default();
    /// colors.count(&Image::new(2, 2, [1, 2, 3]));
    /// colors.count(&Image::new(2, 2, [7, 8, 9]));
    /// assert_eq!(colors.palette().colors(), [[1, 2, 3], [7, 8, 9]]);
    /// ```
    pub fn palette(self) -> Palette {
        let mut counted: Vec<(Color, u64)> = self.counts.into_iter().collect();
        counted.sort_unstable();
        let mut boxes = vec![Group::new(counted)];
        while boxes.len() < MOST {
            let widest = (0..boxes.len()).max_by(|&a, &b| boxes[a].spread.total_cmp(&boxes[b].spread));
            let Some(i) = widest.filter(|&i| boxes[i].spread > 0.0) else {
                break;
            };
            let (dark, bright) = boxes.swap_remove(i).split();
            boxes.extend([dark, bright]);
        }
        boxes.retain(|group| !group.colors.is_empty());
        boxes.sort_by_key(|group| group.colors[0].0);
        let mut palette = Palette::default();
        for (index, group) in (0..=u8::MAX).zip(&boxes) {
            palette.colors.push(group.most_frequent());
            palette
                .indices
                .extend(group.colors.iter().map(|&(color, _)| (color, index)));
        }
        palette
    }
}

/// The entries of a palette and which of them stands for which colour.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    colors: Vec<Color>,
    indices: HashMap<Color, u8>,
}

impl Palette {
    /// Its entries.
    pub fn colors(&self) -> &[Color] {
        &self.colors
    }

    /// The entry for a colour; for one that was never counted, the nearest.
    pub fn index(&self, color: Color) -> u8 {
        let distance = |other: &Color| -> u32 {
            let channels = color.iter().zip(other);
            channels.map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
        };
        let nearest = || (0..=u8::MAX).zip(&self.colors).min_by_key(|(_, other)| distance(other));
        match self.indices.get(&color) {
            Some(index) => *index,
            None => nearest().map_or(0, |(index, _)| index),
        }
    }
}

/// Colours that share an entry.
struct Group {
    colors: Vec<(Color, u64)>,
    /// The channel in which they differ most, and by how much: the sum of squared deviations from its mean.
    channel: usize,
    mean: f64,
    spread: f64,
}

impl Group {
    fn new(colors: Vec<(Color, u64)>) -> Self {
        let total = colors.iter().map(|&(_, count)| count as f64).sum::<f64>();
        let sum =
            |value: &dyn Fn(Color) -> f64| -> f64 { colors.iter().map(|&(c, count)| value(c) * count as f64).sum() };
        let (mut channel, mut mean, mut spread) = (0, 0.0, 0.0);
        // A single colour cannot be split, whatever rounding leaves of its spread.
        for candidate in (0..3).filter(|_| colors.len() > 1) {
            let middle = sum(&|color| f64::from(color[candidate])) / total;
            let around = sum(&|color| (f64::from(color[candidate]) - middle).powi(2));
            if around > spread {
                (channel, mean, spread) = (candidate, middle, around);
            }
        }
        Self {
            colors,
            channel,
            mean,
            spread,
        }
    }

    /// Those below the mean of the channel, and the others.
    fn split(self) -> (Self, Self) {
        let dark = |color: &Color| f64::from(color[self.channel]) < self.mean;
        let (below, above) = self.colors.into_iter().partition(|(color, _)| dark(color));
        (Self::new(below), Self::new(above))
    }

    fn most_frequent(&self) -> Color {
        let most = self.colors.iter().max_by_key(|(_, count)| count);
        most.map_or([0; 3], |&(color, _)| color)
    }
}
