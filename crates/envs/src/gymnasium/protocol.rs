//! What the program and its worker tell each other: docs/bridge.md is the page about it.
//!
//! Descriptions are lines of JSON on the channel; numbers are in the shared memory, and a byte on the channel says
//! whose turn it is.

use serde::{Deserialize, Serialize};

use super::text::{Line, Lines};
use crate::{RowShape, Space};

/// Both sides must speak the same.
pub(super) const PROTOCOL: u32 = 4;

/// The most numbers of an observation that are taken. The worker has the same bounds; here they hold whoever the worker
/// is.
const MOST_NUMBERS: usize = 1 << 18;
/// The most bytes of an image.
const MOST_PIXELS: usize = 1 << 22;
/// The most numbers of an action, and the most choices of all of them together.
const MOST_CHOICES: usize = 1 << 16;
/// The most bytes of a line that the worker may say.
pub(super) const MOST_BYTES: usize = 1 << 26;
/// The most bytes of the memory that is shared.
const MOST_SHARED: usize = 16 << 30;

/// Acts once.
pub(super) const STEP: u8 = b's';
/// Begins an episode everywhere.
pub(super) const RESET: u8 = b'r';
/// The same with the seeds in the memory.
pub(super) const SEEDED_RESET: u8 = b'R';
/// The worker's answer to each of these; anything else is the first byte of a [`Failure`].
pub(super) const DONE: u8 = b'k';

/// Asks for a picture of the first environment as it is now; the answer is [`Sides`].
pub(super) const LOOK: u8 = b'f';
/// The same of the last moment of the episode that has ended in the last step.
pub(super) const LOOK_BACK: u8 = b'l';
/// Asks for the bytes of that picture, red, green and blue of each pixel in rows from top to bottom.
pub(super) const PIXELS: u8 = b'p';
/// The most bytes of a picture.
const MOST_SHOWN: usize = 1 << 26;

/// What is to be made: the first line.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub protocol: u32,
    /// What makes it: `gymnasium` or `atari`.
    pub kind: &'a str,
    /// A Gymnasium id, or `module:factory`; the ROM of an Atari game.
    pub task: &'a str,
    /// Modules to be imported before.
    pub imports: Vec<&'a str>,
    /// Keyword arguments, as texts.
    pub options: Vec<(&'a str, String)>,
    pub num_envs: usize,
    /// Threads that may step them, where what makes them can use several.
    pub threads: usize,
    /// Whether it will be asked for pictures.
    pub film: bool,
}

/// The bounds of a box; `None` is an infinite one.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Bounds {
    pub low: Vec<Option<f64>>,
    pub high: Vec<Option<f64>>,
}

impl Bounds {
    fn space(&self) -> Space {
        // A bound beyond all 32-bit numbers is the last of them: an infinite one on the wrong side would leave no room.
        let narrow = |x: f64| (x as f32).clamp(f32::MIN, f32::MAX);
        let bounds = |bounds: &[Option<f64>], none: f32| bounds.iter().map(|x| x.map_or(none, narrow)).collect();
        Space::Box {
            low: bounds(&self.low, f32::NEG_INFINITY),
            high: bounds(&self.high, f32::INFINITY),
        }
    }
}

/// The kinds of actions.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ActionKind {
    Box,
    Discrete,
    MultiDiscrete,
}

/// What actions look like.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ActionLine {
    pub kind: ActionKind,
    /// How many choices each number of a discrete action has.
    pub counts: Vec<usize>,
    /// What the environment calls the first choice of each.
    pub starts: Vec<i64>,
    #[serde(flatten)]
    pub bounds: Bounds,
}

/// The worker's answer: what it has made.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Description {
    pub protocol: u32,
    /// What each number of an observation is.
    pub names: Vec<Line>,
    pub observation: Bounds,
    /// Channels, height and width of an observation that is an image; it has no numbers then.
    pub image: Option<[usize; 3]>,
    pub action: ActionLine,
    pub max_episode_steps: Option<u32>,
    pub reward_threshold: Option<f64>,
}

impl Description {
    /// Refuses what this side cannot use, in one sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.protocol != PROTOCOL {
            return Err(format!(
                "the worker speaks protocol {}, and this program {PROTOCOL}; use the worker that belongs to it",
                self.protocol
            ));
        }
        let (action, width) = (&self.action, self.names.len());
        let consistent = |bounds: &Bounds| bounds.low.len() == bounds.high.len();
        let choices = action.kind != ActionKind::Box;
        let fits = consistent(&self.observation)
            && consistent(&action.bounds)
            && self.observation.low.len() == width
            && action.counts.len() == action.starts.len()
            && action.counts.iter().all(|&count| count > 0)
            && choices == action.bounds.low.is_empty()
            && (action.kind == ActionKind::MultiDiscrete || action.counts.len() == usize::from(choices));
        if action.counts.is_empty() && action.bounds.low.is_empty() {
            return Err("its actions hold no numbers, so there is nothing to decide".to_string());
        }
        if !fits {
            return Err("the worker describes an environment that does not fit together".to_string());
        }
        let pixels = self.image.map_or(Some(0), |sides| {
            sides.iter().try_fold(1_usize, |size, &side| size.checked_mul(side))
        });
        let total = action
            .counts
            .iter()
            .try_fold(0_usize, |sum, &count| sum.checked_add(count));
        let too_large = |what: &str, most: usize| Err(format!("{what} is too large: at most {most} are taken"));
        if width > MOST_NUMBERS {
            return too_large(&format!("an observation of {width} numbers"), MOST_NUMBERS);
        }
        if pixels.is_none_or(|pixels| pixels > MOST_PIXELS) {
            return too_large("an image of that many bytes", MOST_PIXELS);
        }
        if action.bounds.low.len() > MOST_CHOICES || total.is_none_or(|total| total > MOST_CHOICES) {
            return too_large("an action of that many numbers and choices", MOST_CHOICES);
        }
        if self.image.is_some() && width > 0 {
            return Err("the worker describes an image and numbers at once".to_string());
        }
        if self.observation_space().size() == 0 {
            return Err("its observations hold no numbers, so there is nothing to act on".to_string());
        }
        for (bounds, what) in [(&self.observation, "observations"), (&action.bounds, "actions")] {
            let crossed =
                |(low, high): (&Option<f64>, &Option<f64>)| low.zip(*high).is_some_and(|(low, high)| low > high);
            if let Some(k) = bounds.low.iter().zip(&bounds.high).position(crossed) {
                return Err(format!(
                    "number {k} of its {what} has a lower bound above its upper one"
                ));
            }
        }
        Ok(())
    }

    pub fn observation_space(&self) -> Space {
        match self.image {
            Some([channels, height, width]) => Space::Image {
                channels,
                height,
                width,
            },
            None => self.observation.space(),
        }
    }

    pub fn action_space(&self) -> Space {
        match (self.action.kind, self.action.counts.as_slice()) {
            (ActionKind::Box, _) => self.action.bounds.space(),
            (ActionKind::Discrete, &[n]) => Space::Discrete(n),
            (_, counts) => Space::MultiDiscrete(counts.to_vec()),
        }
    }
}

/// Where each array lies in the memory, in bytes from its start.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Offsets {
    /// `u64[n]`.
    pub seeds: usize,
    /// `f32[n][A]`.
    pub actions: usize,
    /// `u8[n]`: whether the episode is to end with this step.
    pub cuts: usize,
    /// `f32[n][O]`, or `u8[n][O]` of images.
    pub observations: usize,
    /// The same; valid where an episode has ended.
    pub final_observations: usize,
    /// `f64[n]`.
    pub rewards: usize,
    /// `u8[n]`, 0 or 1.
    pub terminated: usize,
    /// `u8[n]`, 0 or 1.
    pub truncated: usize,
    /// `u8[n]`, 0 or 1: whether what was counted as one episode has ended, and not only what is learned from as one.
    pub episode_over: usize,
}

/// The layout of the memory: the second line.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Layout {
    pub bytes: usize,
    pub offsets: Offsets,
}

impl Layout {
    /// For `n` environments with such observations and so many numbers in an action; `None` where that is more than can
    /// be shared. Every array begins a cache line.
    pub fn new(n: usize, observation: RowShape, action: usize) -> Option<Self> {
        let observation = match observation {
            RowShape::Numbers(size) => 4 * size,
            RowShape::Image(_) => observation.size(),
        };
        let most = (8 * observation)
            .checked_add(8 * action)?
            .checked_add(64)?
            .checked_mul(n)?;
        if most > MOST_SHARED {
            return None;
        }
        let mut bytes = 0;
        let mut next = |size: usize| {
            let offset = bytes;
            bytes += size.next_multiple_of(64);
            offset
        };
        let offsets = Offsets {
            seeds: next(8 * n),
            actions: next(4 * n * action),
            cuts: next(n),
            observations: next(n * observation),
            final_observations: next(n * observation),
            rewards: next(8 * n),
            terminated: next(n),
            truncated: next(n),
            episode_over: next(n),
        };
        Some(Self { bytes, offsets })
    }
}

/// The worker's answer to the layout.
#[derive(Deserialize)]
pub(super) struct Ready {
    #[expect(dead_code, reason = "that it is there is the message")]
    pub ready: bool,
    /// Steps that a second shows, where it is filmed and says so.
    pub fps: Option<f64>,
}

/// The worker's answer where it is asked for a picture.
#[derive(Deserialize)]
pub(super) struct Sides {
    /// Height and width; `None` where there is nothing to be seen.
    pub sides: Option<[usize; 2]>,
}

impl Sides {
    /// How many pixels the picture has; `None` where that is none or more than are taken.
    pub fn pixels([height, width]: [usize; 2]) -> Option<usize> {
        let pixels = height.checked_mul(width)?;
        (1..=MOST_SHOWN / 3).contains(&pixels).then_some(pixels)
    }
}

/// Why the worker has given up.
#[derive(Deserialize)]
pub(super) struct Failure {
    pub error: Line,
    /// Python's traceback; empty where the sentence says all.
    pub traceback: Lines,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"protocol": 4, "names": ["a", "b"], "observation": {"low": [null, 0], "high": [null, 1]}, "image": null,
        "action": {"kind": "discrete", "counts": [3], "starts": [0], "low": [], "high": []}, "max_episode_steps": null,
        "reward_threshold": 1.5}"#;

    #[test]
    fn a_description_says_what_observations_and_actions_are() {
        let description: Description = serde_json::from_str(LINE).unwrap();
        assert_eq!(description.check(), Ok(()));
        let space = Space::Box {
            low: vec![f32::NEG_INFINITY, 0.0],
            high: vec![f32::INFINITY, 1.0],
        };
        assert_eq!(description.observation_space(), space);
        assert_eq!(description.action_space(), Space::Discrete(3));
    }

    #[test]
    fn an_image_has_sides_instead_of_numbers() {
        let line = LINE
            .replace(r#"["a", "b"]"#, "[]")
            .replace("null, 0", "")
            .replace("null, 1", "");
        let description: Description =
            serde_json::from_str(&line.replace(r#""image": null"#, r#""image": [3, 8, 9]"#)).unwrap();
        assert_eq!(description.check(), Ok(()));
        assert_eq!(description.observation_space().size(), 3 * 8 * 9);
        let nothing: Description = serde_json::from_str(&line).unwrap();
        assert!(nothing.check().unwrap_err().contains("nothing to act on"));
    }

    #[test]
    fn another_protocol_is_refused_by_its_number() {
        let description: Description =
            serde_json::from_str(&LINE.replace("\"protocol\": 4", "\"protocol\": 7")).unwrap();
        let refusal = description.check().unwrap_err();
        assert!(
            refusal.starts_with("the worker speaks protocol 7, and this program 4"),
            "{refusal}"
        );
    }

    #[test]
    fn sizes_that_a_worker_says_are_bounded_whatever_they_are() {
        let refused = |old: &str, new: &str| {
            assert!(LINE.contains(old), "{old}");
            let description: Description = serde_json::from_str(&LINE.replace(old, new)).unwrap();
            description.check().unwrap_err()
        };
        let counts = |counts: &str, starts: &str| {
            let action = format!(r#"{{"kind": "multi-discrete", "counts": {counts}, "starts": {starts}"#);
            refused(r#"{"kind": "discrete", "counts": [3], "starts": [0]"#, &action)
        };
        let huge = u64::MAX;
        assert!(refused("[3]", &format!("[{huge}]")).contains("is too large: at most 65536 are taken"));
        assert!(counts(&format!("[{huge}, {huge}]"), "[0, 0]").contains("is too large"));
        assert!(counts("[65536, 1]", "[0, 0]").contains("is too large"));
        assert!(counts("[3, 0]", "[0, 0]").contains("does not fit together"));
        assert!(counts("[3]", "[]").contains("does not fit together"));
        assert!(counts("[]", "[]").contains("nothing to decide"));
        assert!(refused("[3]", "[3, 3]").contains("does not fit together"));
        assert!(refused("[null, 0]", "[null, 2]").contains("number 1 of its observations has a lower bound above"));
        for sides in [[huge, huge, huge], [1 << 11, 1 << 11, 2]] {
            let image = format!(r#""image": {sides:?}"#);
            assert!(refused(r#""image": null"#, &image).contains("an image of that many bytes is too large"));
        }
        assert!(Layout::new(usize::MAX / 2, RowShape::Numbers(5), 2).is_none());
        assert!(serde_json::from_str::<Description>(&LINE.replace("discrete", "dialectic")).is_err());
    }

    #[test]
    fn a_bound_that_no_32_bit_number_reaches_is_the_last_of_them() {
        let line = LINE
            .replace("[null, 0]", "[1e300, -1e300]")
            .replace("[null, 1]", "[1e301, 1e300]");
        let description: Description = serde_json::from_str(&line).unwrap();
        assert_eq!(description.check(), Ok(()));
        let space = Space::Box {
            low: vec![f32::MAX, f32::MIN],
            high: vec![f32::MAX; 2],
        };
        assert_eq!(description.observation_space(), space);
    }

    #[test]
    fn a_picture_has_pixels_and_not_too_many() {
        assert_eq!(Sides::pixels([2, 3]), Some(6));
        for sides in [[0, 3], [usize::MAX, 2], [1 << 13, 1 << 13]] {
            assert_eq!(Sides::pixels(sides), None);
        }
    }

    #[test]
    fn arrays_follow_each_other_without_overlap() {
        let Layout { bytes, offsets } = Layout::new(3, RowShape::Numbers(5), 2).unwrap();
        assert_eq!(
            (offsets.seeds, offsets.actions, offsets.cuts, offsets.observations),
            (0, 64, 128, 192)
        );
        assert_eq!((offsets.final_observations, offsets.rewards), (256, 320));
        assert_eq!((offsets.terminated, offsets.truncated), (384, 448));
        assert_eq!((offsets.episode_over, bytes), (512, 576));
    }
}
