//! `epgt eval --video`: what the policy does, as an MP4 or as an animated GIF.

mod ffmpeg;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use epgt_envs::{EnvError, Picture, TaskSpec};
use epgt_render::{Colors, Gif, draw_picture, picture_size};
use epgt_train::artifact::write_atomically;
use epgt_train::{FilmPlan, Policy, Shot, can_be_filmed};

use ffmpeg::Mp4;

/// The picture keeps its shape and fits into so many pixels.
const WIDTH: usize = 600;
const HEIGHT: usize = 500;
/// Episodes that a file can hold.
const MOST_EPISODES: usize = 100;
/// Bytes of an episode's pictures that are held at a time.
const MOST_BYTES: usize = 256 << 20;
/// Seconds for which the end of an episode is shown.
const PAUSE: f64 = 1.0;

/// What a file can hold of an episode.
#[derive(Clone, Copy)]
struct Limits {
    /// The most frames; of longer episodes, steps are left out.
    frames: usize,
    /// The most frames in a second.
    per_second: f64,
    /// The size of pictures in space, whose many shades make large files.
    in_space: [usize; 2],
}

/// Browsers slow down frames of a GIF that are shown for less than two hundredths of a second.
const GIF: Limits = Limits {
    frames: 300,
    per_second: 50.0,
    in_space: [400, 300],
};
const MP4: Limits = Limits {
    frames: 1500,
    per_second: 60.0,
    in_space: [480, 360],
};

/// Where a video goes, and the ffmpeg that encodes it, unless it is a GIF.
pub struct Target {
    path: PathBuf,
    ffmpeg: Option<PathBuf>,
}

impl Target {
    /// What the user's name means: a GIF, an MP4, or, without an ending, whichever can be made here.
    fn new(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let ending = path.extension().map(OsStr::to_ascii_lowercase);
        let ffmpeg = match ending.as_ref().map(|ending| ending.to_string_lossy()).as_deref() {
            Some("gif") => None,
            Some("mp4") => Some(ffmpeg::find()?.ok_or_else(|| {
                format!(
                    "--video {shown} needs ffmpeg, which is not on PATH; install it, or name it with EPGT_FFMPEG, or \
                     write a GIF with --video {}",
                    path.with_extension("gif").display()
                )
            })?),
            None if path.file_name().is_some() => ffmpeg::find()?,
            _ => {
                return Err(format!(
                    "--video {shown} is neither an MP4 nor a GIF; give a name that ends in .mp4 or .gif, or in neither"
                ));
            }
        };
        let path = match (ending, &ffmpeg) {
            (Some(_), _) => path.to_path_buf(),
            (None, Some(_)) => path.with_extension("mp4"),
            (None, None) => path.with_extension("gif"),
        };
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if path.is_dir() || directory.is_some_and(|directory| !directory.is_dir()) {
            return Err(format!(
                "--video {shown} cannot be written; name a file in an existing directory"
            ));
        }
        Ok(Self { path, ffmpeg })
    }

    fn limits(&self) -> Limits {
        match self.ffmpeg {
            Some(_) => MP4,
            None => GIF,
        }
    }
}

/// What was written.
pub struct Video {
    pub path: PathBuf,
    pub episodes: usize,
    pub frames: usize,
    pub bytes: u64,
}

/// Where the video goes, if it can be made, as far as that can be told before anything is played.
pub fn check(path: &Path, episodes: usize, task: &TaskSpec) -> Result<Target, String> {
    let target = Target::new(path)?;
    if !(1..=MOST_EPISODES).contains(&episodes) {
        return Err(format!(
            "--video-episodes {episodes} cannot be shown in one file; use 1 to {MOST_EPISODES}"
        ));
    }
    can_be_filmed(task).map_err(told)?;
    Ok(target)
}

/// The sentence for a user who asked for a video.
fn told(error: EnvError) -> String {
    match error {
        EnvError::NoPicture(text) => format!("{text}; leave --video out"),
        error => error.to_string(),
    }
}

/// Plays as many episodes, from that of the plan on, and writes what is seen.
pub fn film(
    policy: &mut Policy,
    task: &TaskSpec,
    target: &Target,
    episodes: usize,
    plan: &FilmPlan,
) -> Result<Video, String> {
    let (mut writer, mut frames) = (None, 0);
    for episode in 0..episodes as u64 {
        let plan = FilmPlan {
            seed: plan.seed.wrapping_add(episode),
            ..*plan
        };
        let mut reel = Reel::new(target.limits());
        epgt_train::film(&mut policy.networks, &policy.normalizer, task, &plan, &mut |shot| {
            reel.see(shot)
        })
        .map_err(|error| format!("the policy could not be played for the video: {}", told(error)))?;
        frames += reel.frames.len();
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(Writer::new(target, &reel)?),
        };
        writer.episode(&reel)?;
    }
    let bytes = writer.map_or(Ok(0), |writer| writer.finish(target))?;
    Ok(Video {
        path: target.path.clone(),
        episodes,
        frames,
        bytes,
    })
}

/// The pictures of an episode that become frames: the first, the last, and every so many between them that there are
/// neither too many nor too many in a second.
struct Reel {
    limits: Limits,
    stride: u64,
    steps_per_second: f64,
    /// Each with its step.
    frames: Vec<(u64, Picture)>,
    /// Bytes of pixels that are held.
    bytes: usize,
}

impl Reel {
    fn new(limits: Limits) -> Self {
        Self {
            limits,
            stride: 1,
            steps_per_second: 0.0,
            frames: Vec::new(),
            bytes: 0,
        }
    }

    fn see(&mut self, shot: &mut Shot<'_>) -> Result<bool, EnvError> {
        if shot.step == 0 {
            self.begin(shot.steps_per_second);
        }
        if shot.step.is_multiple_of(self.stride) || shot.over {
            self.keep(shot.step, shot.over, shot.picture()?);
        }
        Ok(true)
    }

    fn begin(&mut self, steps_per_second: f64) {
        self.steps_per_second = steps_per_second.max(0.1);
        self.stride = (self.steps_per_second / self.limits.per_second).ceil().max(1.0) as u64;
    }

    /// Keeps a picture. How long the episode is turns out as it goes: where there is no room left, every other picture
    /// goes, and from there on only half as many are taken; the last one stays, wherever it falls.
    fn keep(&mut self, step: u64, last: bool, picture: Picture) {
        if self.frames.len() + 1 >= self.limits.frames || self.bytes > MOST_BYTES {
            self.stride *= 2;
            self.frames.retain(|(step, _)| step.is_multiple_of(self.stride));
            self.bytes = self.frames.iter().map(|(_, picture)| bytes(picture)).sum();
            if !last && !step.is_multiple_of(self.stride) {
                return;
            }
        }
        self.bytes += bytes(&picture);
        self.frames.push((step, picture));
    }

    /// Frames per second, but for the last ones.
    fn rate(&self) -> f64 {
        self.steps_per_second / self.stride as f64
    }

    /// Each frame with the ticks for which it is shown, of which a second has so many. What rounding takes from one
    /// frame, the next one gets.
    fn timed(&self, ticks_per_second: f64) -> impl Iterator<Item = (&Picture, u64)> {
        let tick = move |step: u64| (step as f64 / self.steps_per_second * ticks_per_second).round();
        let ends = self.frames.iter().skip(1).map(move |(step, _)| tick(*step));
        let frames = self.frames.iter();
        frames
            .zip(ends.map(Some).chain([None]))
            .map(move |((step, picture), end)| {
                let shown = end.map_or(PAUSE * ticks_per_second, |end| end - tick(*step));
                (picture, shown.round() as u64)
            })
    }
}

fn bytes(picture: &Picture) -> usize {
    match picture {
        Picture::Flat(_) | Picture::Solid(_) => 0,
        Picture::Pixels { pixels, .. } => size_of_val(&pixels[..]),
    }
}

/// A video that is being written. All frames have the size of the first.
struct Writer {
    width: usize,
    height: usize,
    file: File,
}

enum File {
    /// Begun with the first episode's palette.
    Gif(Option<Gif>),
    Mp4(Mp4),
}

impl Writer {
    fn new(target: &Target, reel: &Reel) -> Result<Self, String> {
        let first = reel.frames.first();
        let (width, height) = first.map_or((1, 1), |(_, picture)| {
            let [width, height] = match picture {
                Picture::Solid(_) => reel.limits.in_space,
                _ => [WIDTH, HEIGHT],
            };
            picture_size(picture, width, height)
        });
        let file = match &target.ffmpeg {
            Some(ffmpeg) => File::Mp4(Mp4::begin(ffmpeg, &target.path, width, height, reel.rate())?),
            None => File::Gif(None),
        };
        Ok(Self { width, height, file })
    }

    fn episode(&mut self, reel: &Reel) -> Result<(), String> {
        let image = |picture: &Picture| draw_picture(picture, self.width, self.height);
        match &mut self.file {
            File::Gif(gif) => {
                // Drawing twice is cheaper than keeping hundreds of images.
                let mut colors = Colors::default();
                reel.frames
                    .iter()
                    .for_each(|(_, picture)| colors.count(&image(picture)));
                let palette = colors.palette();
                let gif = match gif {
                    Some(gif) => {
                        gif.change_palette(palette);
                        gif
                    }
                    none => none.insert(Gif::new(self.width, self.height, palette)),
                };
                for (picture, hundredths) in reel.timed(100.0) {
                    gif.frame(&image(picture), hundredths.clamp(2, u16::MAX.into()) as u16);
                }
            }
            File::Mp4(mp4) => {
                let rate = mp4.rate();
                for (picture, times) in reel.timed(rate) {
                    mp4.frame(&image(picture), times)?;
                }
            }
        }
        Ok(())
    }

    /// The bytes of the file.
    fn finish(self, target: &Target) -> Result<u64, String> {
        match self.file {
            File::Gif(gif) => {
                let bytes = gif.map_or(Vec::new(), Gif::finish);
                write_atomically(&target.path, &bytes).map_err(|error| error.to_string())?;
                Ok(bytes.len() as u64)
            }
            File::Mp4(mp4) => mp4.finish(),
        }
    }
}

impl std::fmt::Display for Video {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let episodes = if self.episodes == 1 { "episode" } else { "episodes" };
        write!(
            formatter,
            "{}: {} frames of {} {episodes}, {} kB",
            self.path.display(),
            self.frames,
            self.episodes,
            self.bytes.div_ceil(1000)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_envs::{Env, Scene, Space, Step, find, make};
    use std::sync::Arc;

    /// A reel of an episode with so many steps, whose pictures say which step they show.
    fn reel(steps: u64, steps_per_second: f64, limits: Limits, side: usize) -> Reel {
        let mut reel = Reel::new(limits);
        reel.begin(steps_per_second);
        for step in 0..=steps {
            if !step.is_multiple_of(reel.stride) && step != steps {
                continue;
            }
            let picture = match side {
                0 => Picture::Flat(Scene::new([0.0, 0.0], [1.0, 1.0 + step as f32])),
                side => Picture::Pixels {
                    width: side,
                    pixels: vec![[(step % 256) as u8; 3]; side * side],
                },
            };
            reel.keep(step, step == steps, picture);
        }
        reel
    }

    #[test]
    fn an_episode_takes_as_long_as_its_steps_and_ends_with_its_last_picture() {
        for (steps, rate) in [
            (1, 30.0),
            (20, 50.0),
            (500, 50.0),
            (999, 30.0),
            (1000, 125.0),
            (1600, 50.0),
            (27_000, 15.0),
        ] {
            for (limits, ticks, least) in [(GIF, 100.0, 2), (MP4, 60.0, 1)] {
                let reel = reel(steps, rate, limits, 0);
                let count = reel.frames.len();
                assert!(count <= limits.frames, "{count} of {steps} steps");
                let due = steps / (rate / limits.per_second).ceil() as u64;
                assert!(
                    count as u64 > due.min(limits.frames as u64 / 2 - 2),
                    "{count} of {steps} steps"
                );
                assert_eq!(reel.frames.last().map(|(step, _)| *step), Some(steps));
                let even = reel.frames[..count - 1]
                    .iter()
                    .enumerate()
                    .all(|(index, (step, _))| *step == index as u64 * reel.stride);
                assert!(
                    even,
                    "frames of {steps} steps at {rate} are apart by more or less than {}",
                    reel.stride
                );
                let timed: Vec<u64> = reel.timed(ticks).map(|(_, shown)| shown).collect();
                let (end, moving) = timed.split_last().unwrap();
                assert_eq!(*end, ticks as u64);
                // The last picture may follow the one before sooner.
                let (_, regular) = moving.split_last().unwrap();
                assert!(regular.iter().all(|&shown| shown >= least), "{steps} at {rate}");
                let lasts = steps as f64 / rate * ticks;
                assert!((moving.iter().sum::<u64>() as f64 - lasts).abs() <= 1.0);
            }
        }
    }

    #[test]
    fn large_pictures_are_held_in_bounded_memory() {
        let reel = reel(400, 30.0, MP4, 600);
        assert!(reel.bytes <= MOST_BYTES + 2 * 600 * 600 * 3, "{}", reel.bytes);
        assert_eq!(reel.bytes, reel.frames.len() * 600 * 600 * 3);
        assert!(reel.frames.len() > 100);
    }

    /// A task that shows nothing.
    struct Blind(Box<dyn Env>);

    impl Env for Blind {
        fn observation_space(&self) -> &Space {
            self.0.observation_space()
        }
        fn action_space(&self) -> &Space {
            self.0.action_space()
        }
        fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
            self.0.reset(seed, observation)
        }
        fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
            self.0.step(action, observation)
        }
        fn save(&self) -> Vec<u8> {
            self.0.save()
        }
        fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
            self.0.restore(state)
        }
    }

    #[test]
    fn a_task_without_a_picture_is_refused() {
        let mut task = find("Pendulum-v1").unwrap();
        task.build = Arc::new(|_| Ok(Box::new(Blind(make("Pendulum-v1")?))));
        let refusal = check(Path::new("out.gif"), 1, &task).err();
        assert_eq!(
            refusal.as_deref(),
            Some("Pendulum-v1 has no picture; leave --video out")
        );
    }
}
