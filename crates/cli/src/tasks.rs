//! `epgt tasks`: which tasks there are, and what one is about.

use epgt_envs::{Entry, TaskSpec};
use epgt_report::text::wrapped;
use epgt_report::text_table::TextTable;

use crate::Done;
use crate::args::TasksArgs;
use crate::output;
use crate::train::{env_options, use_python};

/// Columns of the list of games where there is no terminal to say.
const GAMES_WIDTH: usize = 118;

/// Lists the tasks or describes one.
pub fn run(args: &TasksArgs) -> Result<Done, String> {
    use_python(args.python.as_deref());
    let text = match &args.task {
        None => list(),
        Some(id) => {
            let options = env_options(&args.env_arg, &args.import)?;
            let task = epgt_envs::find(id).and_then(|task| task.with(options));
            describe(&task.map_err(|error| error.to_string())?)
        }
    };
    output::print(&output::filled(&text))?;
    Ok(Done::Completely)
}

fn list() -> String {
    let mut table = TextTable::new(&["task", "observation", "action", "limit", "solved at", "what to do"]);
    for task in epgt_envs::tasks() {
        let limit = task.max_episode_steps.to_string();
        let solved = task
            .reward_threshold
            .map_or("-".to_string(), |threshold| threshold.to_string());
        let observation = match task.image {
            Some([channels, height, width]) => format!("{channels}x{height}x{width} pixels"),
            None => numbers(task.observation.len()),
        };
        table.row(&[&task.id, &observation, &actions(task), &limit, &solved, &task.summary]);
    }
    format!("{}\n{}", output::table(&table), games())
}

/// The games of Atari's, which are too many for rows of their own.
fn games() -> String {
    let names: Vec<String> = epgt_envs::atari::names().collect();
    let text = format!(
        "Atari (4x84x84 pixels, limit 27000, needs `epgt setup atari`): GAMENoFrameskip-v4, or ALE/GAME-v5 with sticky actions, where \
         GAME is one of {}",
        names.join(" ")
    );
    let width = output::columns().unwrap_or(GAMES_WIDTH);
    wrapped(&text, width.saturating_sub(2)).join("\n  ") + "\n"
}

fn actions(task: &TaskSpec) -> String {
    match discrete(task) {
        true => format!("{} choices", task.action.len()),
        false => numbers(task.action.len()),
    }
}

fn numbers(count: usize) -> String {
    format!("{count} number{}", if count == 1 { "" } else { "s" })
}

fn discrete(task: &TaskSpec) -> bool {
    task.action.iter().all(|entry| entry.low == entry.high)
}

fn describe(task: &TaskSpec) -> String {
    let threshold = match task.reward_threshold {
        Some(threshold) => format!("; counts as solved at a mean return of {threshold}"),
        None => String::new(),
    };
    let mut text = format!("{}: {}\n\n", task.id, task.summary);
    text += &match task.image {
        Some([channels, height, width]) => {
            format!("Observation\nan image of bytes: {channels} channels (first), {height} rows, {width} columns\n\n")
        }
        None => format!("Observation\n{}\n", ranges(&task.observation)),
    };
    if discrete(task) {
        let mut table = TextTable::new(&["choice", "what it does"]);
        for entry in &*task.action {
            table.row(&[&entry.low.to_string(), &entry.name]);
        }
        text += &format!("Action\n{}\n", output::table(&table));
    } else {
        text += &format!("Action\n{}\n", ranges(&task.action));
    }
    let limit = match task.max_episode_steps {
        u32::MAX => "Episodes have no limit that is known".to_string(),
        steps => format!("Episodes are cut after {steps} steps"),
    };
    text += &format!("Reward: {}\n{limit}{threshold}.\n", task.reward);
    if let (Some(zero), Some(one)) = (task.human_normalised(0.0), task.human_normalised(1.0)) {
        let (random, points) = (-zero / (one - zero), 1.0 / (one - zero));
        text += &format!(
            "Human-normalised scores: 0 is random play, {random:.1}; 1 is a human, {:.1} (Mnih et al. 2015).\n",
            random + points
        );
    }
    if !task.options.declared.is_empty() {
        let mut table = TextTable::new(&["option", "default", "meaning"]);
        for (option, value) in task.options.all() {
            table.row(&[option.name, &value.show(), option.meaning]);
        }
        text += &format!(
            "\nOptions (--env-arg NAME=VALUE, or [env] in a TOML file)\n{}",
            output::table(&table)
        );
    }
    text
}

fn ranges(entries: &[Entry]) -> String {
    let mut table = TextTable::new(&["number", "from", "to"]);
    for entry in entries {
        table.row(&[&entry.name, &bound(entry.low), &bound(entry.high)]);
    }
    output::table(&table)
}

/// A bound; those that Gymnasium gives as the largest float are none.
fn bound(x: f32) -> String {
    match x {
        x if x >= f32::MAX => "inf".to_string(),
        x if x <= f32::MIN => "-inf".to_string(),
        x => format!("{x}"),
    }
}
