//! A population explained: what it is, which values each member had when, whom it copied, and how it ended.

use std::fmt::Write;
use std::path::Path;

use epgt_report::text_table::TextTable;
use epgt_train::record::{MemberEvent as Row, read_members};
use epgt_train::{CONFIG, Config};

use super::numbers::short;
use crate::output;

/// What there is to say of a population; `None` for any other directory. The error is one sentence.
pub fn text(directory: &Path, update: Option<u64>) -> Result<Option<String>, String> {
    let Some(config) = config(directory) else {
        return Ok(None);
    };
    if update.is_some() {
        return Err(format!(
            "{} holds a population, whose values change at exchanges and not at updates; leave --update out",
            directory.display()
        ));
    }
    let names: Vec<&str> = config.tune.iter().map(|(name, _)| name.as_str()).collect();
    let rows = read_members(directory, &names).map_err(|error| error.to_string())?;
    let members = rows.iter().map(|row| row.member + 1).max().unwrap_or(0);
    let run = &config.run;
    let mut text = format!(
        "{} with {}, seed {}: {members} members of {} steps each.\nScheduler {}: {}.\n",
        run.task,
        run.algo.name(),
        run.seed,
        run.steps,
        run.scheduler.name(),
        config.scheduler.about().does
    );
    match config.scheduler.population() {
        Some(kind) if kind.exchanges() => {
            let ready = config.population.ready;
            let _ = writeln!(
                text,
                "Exchanges are every {ready} steps, at the end of a rollout; a score is the mean return of the last 100 episodes."
            );
            for member in 0..members {
                text += &schedule(&rows, member, &names);
            }
        }
        _ => text += &ranking(&rows, &names),
    }
    Ok(Some(text))
}

/// The configuration in a directory, where it is a population's; whatever else is wrong is told by who reads it next.
fn config(directory: &Path) -> Option<Config> {
    let text = std::fs::read_to_string(directory.join(CONFIG)).ok()?;
    let config = Config::read_stored(&text)
        .and_then(|assignments| Config::build(&assignments))
        .ok()?;
    config.scheduler.population().is_some().then_some(config)
}

/// When a member's values changed, and how it ended.
fn schedule(rows: &[Row], member: usize, names: &[&str]) -> String {
    let header = [&["steps", "score", "copied"], names].concat();
    let mut table = TextTable::new(&header);
    for row in rows.iter().filter(|row| row.member == member && row.event != "kept") {
        let copied = match row.event.as_str() {
            "copied" => format!("member {}", row.copied_from),
            event => event.to_string(),
        };
        let mut fields = vec![short(row.steps), short(row.score), copied];
        fields.extend(row.values.iter().map(|&value| short(value)));
        table.row(&fields.iter().map(String::as_str).collect::<Vec<_>>());
    }
    format!("\nMember {member}\n\n{}", output::table(&table))
}

/// The members of a search with what they came to, the best first.
fn ranking(rows: &[Row], names: &[&str]) -> String {
    let mut ends: Vec<&Row> = rows.iter().filter(|row| row.event == "end").collect();
    let (title, first) = match ends.is_empty() {
        true => ("It has not ended yet; its members are", "start"),
        false => ("Its members, the best first", "end"),
    };
    ends = rows.iter().filter(|row| row.event == first).collect();
    let height = |row: &Row| {
        if row.score.is_nan() {
            f64::NEG_INFINITY
        } else {
            row.score
        }
    };
    ends.sort_by(|a, b| height(b).total_cmp(&height(a)));
    let header = [&["member", "score"], names].concat();
    let mut table = TextTable::new(&header);
    for row in ends {
        let mut fields = vec![row.member.to_string(), short(row.score)];
        fields.extend(row.values.iter().map(|&value| short(value)));
        table.row(&fields.iter().map(String::as_str).collect::<Vec<_>>());
    }
    format!("\n{title}\n\n{}", output::table(&table))
}
