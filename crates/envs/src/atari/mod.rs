//! Atari games: the tasks `BreakoutNoFrameskip-v4` and `ALE/Breakout-v5`, stepped by ale-py's own vector environment.
//!
//! A Python worker ([`gymnasium`](crate::gymnasium)) holds ale-py's `AtariVectorEnv`, which plays, skips and scales in
//! C++. What a game is like is known here without it, so that a run can be set up, printed and refused without a
//! Python. The preprocessing, and what was tried out about it, is in `docs/atari.md`; what is done in Python is
//! `atari.py` beside the worker.

mod games;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use crate::gymnasium::{ForeignEnv, named_python, started};
use crate::{Entry, Env, EnvError, Limit, OptionValue, Options, Space, TaskOption, TaskSpec, cache, family, tasks};
use games::{ACTIONS, GAMES, Game};

/// The version of ale-py that `epgt setup atari` gets and the tests hold this against.
pub const ALE_VERSION: &str = "0.12.1";
/// What the worker needs, as pip names it.
pub const PACKAGES: [&str; 3] = ["ale-py==0.12.1", "gymnasium==1.4.0", "numpy==2.4.6"];
/// The file in the virtual environment that is written last, so that one that was begun is not taken for a whole one.
pub const COMPLETE: &str = "epgt-packages.txt";

/// Four frames of 84 by 84, in grey.
const IMAGE: [usize; 3] = [4, 84, 84];
/// Frames that an action is held for.
const FRAME_SKIP: usize = 4;

/// The options of a game whose console repeats the last action with this probability, whatever is chosen.
const fn declared(repeat_action_probability: f64) -> [TaskOption; 7] {
    [
        TaskOption {
            limit: Limit::Share,
            ..TaskOption::new(
                "repeat_action_probability",
                OptionValue::Number(repeat_action_probability),
                "Probability that a frame repeats the action of the frame before (sticky actions)",
            )
        },
        TaskOption::new(
            "full_action_space",
            OptionValue::Flag(false),
            "Whether all actions of the console can be chosen, or only those that mean something in the game",
        ),
        TaskOption::new(
            "episodic_life",
            OptionValue::Flag(true),
            "Whether a lost life is an end for learning; games are always played, counted and evaluated to their end",
        ),
        TaskOption::new(
            "fire_reset",
            OptionValue::Flag(true),
            "Whether FIRE is pressed at the start of a game and, instead of the chosen action, after a lost life",
        ),
        TaskOption::new(
            "noop_max",
            OptionValue::Count(30),
            "A game begins with fewer than this many frames of doing nothing, drawn at random; 1 is none",
        ),
        TaskOption::new(
            "max_num_frames_per_episode",
            OptionValue::Count(108_000),
            "Frames after which a game is cut, four per step",
        ),
        TaskOption::new(
            "bridge_timeout",
            OptionValue::Count(60),
            "Seconds that the worker may take for an answer: to start, to reset, to step",
        ),
    ]
}

/// The game of an id, and whether its actions are sticky.
fn parse(id: &str) -> Option<(&'static Game, bool)> {
    let (name, sticky) = match id.strip_prefix("ALE/") {
        Some(rest) => (rest.strip_suffix("-v5")?, true),
        None => (id.strip_suffix("NoFrameskip-v4")?, false),
    };
    let game = GAMES.iter().find(|game| game.name() == name)?;
    Some((game, sticky))
}

/// The names of all games as they stand in the ids: `Breakout` of `BreakoutNoFrameskip-v4` and `ALE/Breakout-v5`.
///
/// ```
/// assert!(epgt_envs::atari::names().any(|name| name == "MsPacman"));
/// ```
pub fn names() -> impl Iterator<Item = String> {
    GAMES.iter().map(Game::name)
}

/// The Atari task with this id; `None` where it is none.
pub(crate) fn find(id: &str) -> Option<TaskSpec> {
    let (game, sticky) = parse(id)?;
    let (how, repeated) = match sticky {
        true => ("with sticky actions", 0.25),
        false => ("without sticky actions", 0.0),
    };
    let asked = id.to_string();
    let bare = TaskSpec::of(id.to_string(), declared(repeated), move |options| {
        build(&asked, game, options)
    });
    Some(TaskSpec {
        summary: format!("Atari's {}, {how}, in ale-py {ALE_VERSION}.", game.name()).into(),
        image: Some(IMAGE),
        action: choices(game, false),
        reward: "The points of the game; with sign_rewards learning sees their signs, and scores stay whole.".into(),
        max_episode_steps: 108_000 / FRAME_SKIP as u32,
        describe: Some(describe),
        foreign: Some(started(None)),
        is_atari: true,
        human_scores: game.scores,
        ..bare
    })
}

/// The id that was probably meant by one that is none: a slip in a game's name, or a name without its version.
pub(crate) fn suggest(id: &str) -> Option<String> {
    let modern = id.starts_with("ALE/");
    let bare = id.strip_prefix("ALE/").unwrap_or(id);
    let bare = family(bare);
    let name = bare.strip_suffix("NoFrameskip").unwrap_or(bare);
    let names: Vec<String> = names().collect();
    let same = |known: &&String| known.eq_ignore_ascii_case(&name.replace('_', ""));
    let found = names.iter().find(same).map(String::as_str);
    // Other tasks have names as well: unless the id says that it is a game's, a game must be nearer than all of them.
    let named = modern || name != bare;
    let others = tasks().iter().filter(|_| !named).map(|task| family(&task.id));
    let nearest = || {
        let nearest = epgt_settings::nearest(name, names.iter().map(String::as_str).chain(others))?;
        names.iter().map(String::as_str).find(|known| *known == nearest)
    };
    let name = found.or_else(nearest)?;
    Some(match modern || id.ends_with("-v5") {
        true => format!("ALE/{name}-v5"),
        false => format!("{name}NoFrameskip-v4"),
    })
}

/// What the options say of actions and time, once they are known.
fn describe(task: &mut TaskSpec) -> Result<(), EnvError> {
    if let Some((game, _)) = parse(&task.id) {
        task.action = choices(game, task.options.flag("full_action_space"));
        let frames = task.options.count("max_num_frames_per_episode");
        task.max_episode_steps = u32::try_from(frames.div_ceil(FRAME_SKIP)).unwrap_or(u32::MAX);
    }
    Ok(())
}

fn choices(game: &Game, all: bool) -> Arc<[Entry]> {
    let actions = game.actions(all).zip(0..);
    let entries = actions.map(|(action, index)| Entry::choice(ACTIONS[action], index));
    entries.collect()
}

/// The ROM of an Atari task.
pub(crate) fn rom(id: &str) -> Option<&'static str> {
    parse(id).map(|(game, _)| game.rom)
}

fn build(id: &str, game: &Game, options: &Options) -> Result<Box<dyn Env>, EnvError> {
    python(id)?;
    let [channels, height, width] = IMAGE;
    let shown = Space::Image {
        channels,
        height,
        width,
    };
    let actions = game.actions(options.flag("full_action_space")).count();
    let spaces = [shown, Space::Discrete(actions)];
    Ok(Box::new(ForeignEnv::new(id, options, spaces)))
}

/// The virtual environment that `epgt setup atari` makes; `None` where the user has no home.
pub fn environment() -> Option<PathBuf> {
    Some(cache::directory(&cache::variable)?.join(format!("atari-{ALE_VERSION}")))
}

/// The Python of Atari's workers: the one that the user named, or that of the virtual environment.
pub(crate) fn python(id: &str) -> Result<OsString, EnvError> {
    let own = || {
        let directory = environment().filter(|directory| directory.join(COMPLETE).is_file())?;
        Some(directory.join("bin/python").into_os_string())
    };
    named_python().or_else(own).ok_or_else(|| {
        EnvError::MissingSimulator(format!(
            "{id} needs ale-py {ALE_VERSION}; get it with `epgt setup atari`, or name a Python that has it with --python or \
             EPGT_PYTHON"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_named_as_gymnasium_names_them() {
        for (rom, id) in [
            ("ms_pacman", "MsPacmanNoFrameskip-v4"),
            ("tic_tac_toe_3d", "ALE/TicTacToe3D-v5"),
            ("up_n_down", "UpNDownNoFrameskip-v4"),
            ("pitfall2", "ALE/Pitfall2-v5"),
        ] {
            assert_eq!(super::rom(id), Some(rom));
            assert!(find(id).is_some_and(|task| task.id == id));
        }
        for other in [
            "Pong-v4",
            "ALE/Pong-v4",
            "PongNoFrameskip-v5",
            "ALE/pong-v5",
            "CartPole-v1",
        ] {
            assert!(find(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_slip_is_told_in_the_form_it_was_made_in() {
        for (given, meant) in [
            ("BreakuotNoFrameskip-v4", "BreakoutNoFrameskip-v4"),
            ("ALE/Breakut-v5", "ALE/Breakout-v5"),
            ("ALE/pong-v5", "ALE/Pong-v5"),
            ("Pong-v5", "ALE/Pong-v5"),
            ("space_invaders", "SpaceInvadersNoFrameskip-v4"),
            ("Pnog-v5", "ALE/Pong-v5"),
            ("Brekout-v4", "BreakoutNoFrameskip-v4"),
        ] {
            assert_eq!(suggest(given).as_deref(), Some(meant), "{given}");
        }
        for other in [
            "CartPole-v1",
            "Walker2d-v4",
            "CartPol",
            "mountaincar-v0",
            "HalfCheeta-v4",
            "Ant-v6",
            "Walker-v4",
            "pixelcatch",
        ] {
            assert_eq!(suggest(other), None, "{other}");
        }
    }

    #[test]
    fn the_two_forms_differ_in_sticky_actions_alone() {
        let sticky = |id| find(id).unwrap().options.number("repeat_action_probability");
        assert_eq!((sticky("PongNoFrameskip-v4"), sticky("ALE/Pong-v5")), (0.0, 0.25));
        let task = find("PongNoFrameskip-v4").unwrap();
        assert_eq!((task.action.len(), task.max_episode_steps), (6, 27_000));
        let given = [("full_action_space", "true"), ("max_num_frames_per_episode", "402")];
        let all = task.with(given).unwrap();
        assert_eq!((all.action.len(), all.max_episode_steps), (18, 101));
        let refused = |name, value| task.with([(name, value)]).unwrap_err().to_string();
        assert_eq!(
            refused("repeat_action_probability", "1.5"),
            "repeat_action_probability = 1.5 cannot be used: a number from 0 to 1 is wanted"
        );
        assert!(refused("episodic_lives", "true").ends_with("did you mean 'episodic_life'?"));
    }
}
