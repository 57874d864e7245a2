//! `epgt eval --video`: what the policy does, as an animated GIF.

use std::path::{Path, PathBuf};

use epgt_envs::{Scene, TaskSpec};
use epgt_render::{Colors, Gif, draw, fitting_size};
use epgt_train::artifact::write_atomically;
use epgt_train::{EvalActions, Policy, watch};

/// The picture has the scene's shape and fits into so many pixels.
const WIDTH: usize = 600;
const HEIGHT: usize = 500;
/// An episode has at most so many frames; of longer ones, steps are left out.
const MOST_FRAMES: usize = 300;
/// Episodes that a file can hold.
const MOST_EPISODES: usize = 100;
/// Browsers slow down frames that are shown for less than two hundredths of a second.
const SHORTEST: f64 = 2.0;
/// Hundredths of a second for which the end of an episode is shown.
const PAUSE: u16 = 100;

/// What was written.
pub struct Video {
    pub path: PathBuf,
    pub episodes: usize,
    pub frames: usize,
    pub bytes: usize,
}

/// Whether the video can be made, as far as that can be told before anything is played.
pub fn check(path: &Path, episodes: usize, task: &TaskSpec) -> Result<(), String> {
    let shown = path.display();
    if !path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("gif"))
    {
        return Err(format!("--video {shown} is not a GIF; give a name that ends in .gif"));
    }
    if !(1..=MOST_EPISODES).contains(&episodes) {
        return Err(format!(
            "--video-episodes {episodes} cannot be shown in one file; use 1 to {MOST_EPISODES}"
        ));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if path.is_dir() || directory.is_some_and(|directory| !directory.is_dir()) {
        return Err(format!(
            "--video {shown} cannot be written; name a file in an existing directory"
        ));
    }
    let mut env = task.make().map_err(|error| error.to_string())?;
    let mut observation = vec![0.0; env.observation_space().size()];
    env.reset(Some(0), &mut observation)
        .map_err(|error| error.to_string())?;
    match env.scene() {
        Some(_) => Ok(()),
        None => Err(format!("{} has no picture; leave --video out", task.id)),
    }
}

/// Plays episodes from seed `seed` on and writes what is seen.
pub fn film(
    policy: &mut Policy,
    task: &TaskSpec,
    path: &Path,
    episodes: usize,
    seed: u64,
    actions: EvalActions,
) -> Result<Video, String> {
    let mut frames = Vec::new();
    for episode in 0..episodes as u64 {
        let mut scenes = Vec::new();
        let mut rate = 0.0;
        watch(
            &mut policy.networks,
            &policy.normalizer,
            task,
            seed.wrapping_add(episode),
            actions,
            |env| {
                scenes.extend(env.scene());
                rate = env.steps_per_second();
            },
        )
        .map_err(|error| format!("the policy could not be played for the video: {error}"))?;
        frames.extend(chosen(scenes, rate));
    }
    let Some((first, _)) = frames.first() else {
        return Err(format!("{} showed no picture; leave --video out", task.id));
    };
    let (width, height) = fitting_size(first, WIDTH, HEIGHT);
    // Drawing twice is cheaper than keeping hundreds of images.
    let mut colors = Colors::default();
    for (scene, _) in &frames {
        colors.count(&draw(scene, width, height));
    }
    let mut gif = Gif::new(width, height, colors.palette());
    for (scene, hundredths) in &frames {
        gif.frame(&draw(scene, width, height), *hundredths);
    }
    let bytes = gif.finish();
    write_atomically(path, &bytes).map_err(|error| error.to_string())?;
    Ok(Video {
        path: path.to_path_buf(),
        episodes,
        frames: frames.len(),
        bytes: bytes.len(),
    })
}

/// The scenes of an episode that become frames, each with the hundredths of a second for which it is shown: the first,
/// the last, and every so many between them that the file is neither too large nor too fast for its viewers.
fn chosen(scenes: Vec<Scene>, steps_per_second: f64) -> Vec<(Scene, u16)> {
    let last = scenes.len().saturating_sub(1);
    let hundredths = 100.0 / steps_per_second.max(0.1);
    let stride = last
        .div_ceil(MOST_FRAMES - 2)
        .max((SHORTEST / hundredths).ceil() as usize);
    let time = |step: usize| (step as f64 * hundredths).round();
    let is_frame = |step: usize| step.is_multiple_of(stride) || step == last;
    let delay = |step: usize| match step == last {
        true => PAUSE,
        // What rounding takes from one frame, the next one gets.
        false => (time((step + stride).min(last)) - time(step)).max(SHORTEST) as u16,
    };
    let numbered = scenes.into_iter().enumerate();
    numbered
        .filter(|(step, _)| is_frame(*step))
        .map(|(step, scene)| (scene, delay(step)))
        .collect()
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
    use epgt_envs::{Env, EnvError, Space, Step, find, make};
    use std::sync::Arc;

    fn episode(steps: usize) -> Vec<Scene> {
        (0..=steps)
            .map(|i| Scene::new([0.0, 0.0], [1.0, 1.0 + i as f32]))
            .collect()
    }

    #[test]
    fn an_episode_takes_as_long_as_its_steps_and_ends_with_its_last_scene() {
        for (steps, rate) in [
            (1, 30.0),
            (20, 50.0),
            (500, 50.0),
            (999, 30.0),
            (1000, 125.0),
            (1600, 50.0),
        ] {
            let frames = chosen(episode(steps), rate);
            assert!(frames.len() <= MOST_FRAMES, "{} of {steps} steps", frames.len());
            assert_eq!(frames.last().unwrap().0, *episode(steps).last().unwrap());
            let (end, moving) = frames.split_last().unwrap();
            assert_eq!(end.1, PAUSE);
            assert!(moving.iter().all(|&(_, delay)| f64::from(delay) >= SHORTEST));
            let shown: f64 = moving.iter().map(|&(_, delay)| f64::from(delay)).sum();
            let due = steps as f64 * 100.0 / rate;
            assert!((shown - due).abs() <= SHORTEST, "{shown} for {due}");
        }
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
        let refusal = check(Path::new("out.gif"), 1, &task).unwrap_err();
        assert_eq!(refusal, "Pendulum-v1 has no picture; leave --video out");
    }
}
