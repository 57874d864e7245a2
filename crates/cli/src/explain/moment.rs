//! One decision in full: what was seen, expected and remembered, what was chosen, and what came of it.

use std::fmt::Write;

use epgt_hyper::{ActionValues, Choice, Decision, Moves};
use epgt_report::text_table::TextTable;

use super::log::{RunLog, groups};
use super::numbers::{column, counted, short, signed};
use crate::output;

/// Joint hyper-actions that are listed; of more only the best are.
const MOST_OPTIONS: usize = 30;

/// The decision in force at a policy update of the run.
pub fn at_update(log: &RunLog, update: u64) -> String {
    match log.in_force(update) {
        Some(position) => text(log, position, Some(update)),
        None => without_outcome(log, update),
    }
}

/// The decision at this position of the log; `asked` is the update that the user named, if any.
pub fn text(log: &RunLog, position: usize, asked: Option<u64>) -> String {
    let decision = &log.decisions[position];
    let (first, last) = (decision.update, log.end(position) - 1);
    let mut text = String::new();
    if let Some(update) = asked {
        let total = log.config.total_updates();
        let share = 100.0 * update as f64 / total.saturating_sub(1).max(1) as f64;
        let _ = writeln!(text, "Update {update}, {share:.0}% of the training's {total}.");
    }
    let span = match first == last {
        true => format!("for update {first} alone"),
        false => format!("at update {first} and kept until update {last}"),
    };
    let _ = writeln!(text, "Decision {}, made {span}.", decision.decision);
    text += &seen(log, decision);
    text += &expected(log, position);
    text += &remembered(log, decision);
    text += &chosen(log, position);
    text + &came_of_it(log, decision)
}

/// Updates after the last environment phase that was credited.
fn without_outcome(log: &RunLog, update: u64) -> String {
    let from = log.decisions.len().checked_sub(1).map_or(0, |last| log.end(last));
    format!(
        "Update {update} has no decision in the log. Those from update {from} on wait for an environment phase that scores\n\
         them, and the run has ended or stopped before it. In force when the metrics were last written: {}.\n",
        assignment(log, &log.last_values)
    )
}

fn seen(log: &RunLog, decision: &Decision) -> String {
    let mut text = String::from("\nWhat it saw\n");
    let about = log.config.scheduler.about();
    let nothing = match about.sees {
        sees if !sees.is_empty() => Some(sees),
        _ if decision.norms.0.is_nan() => Some("nothing: it had decided to explore before looking"),
        _ => None,
    };
    match nothing {
        Some(nothing) => {
            let _ = writeln!(text, "  {nothing}");
        }
        None => {
            let (weights, gradients) = decision.norms;
            let _ = writeln!(
                text,
                "  the networks: weights of norm {}, a last gradient of norm {}",
                short(f64::from(weights)),
                short(f64::from(gradients))
            );
        }
    }
    if log.config.scheduler.explores() {
        let chance = 100.0 * decision.epsilon;
        let _ = writeln!(
            text,
            "  epsilon {:.3}: a chance of {chance:.0}% to explore",
            decision.epsilon
        );
    }
    if about.recalls {
        let nearest = match decision.neighbours.first() {
            Some(nearest) => format!(
                "; the nearest it leaned on at distance {}",
                short(f64::from(nearest.distance))
            ),
            None => String::new(),
        };
        let moments = counted(decision.memory, "remembered moment", "remembered moments");
        let _ = writeln!(text, "  a memory of {moments}{nearest}");
    }
    text
}

/// One choice in a table of Q.
struct Candidate {
    values: Vec<f64>,
    q: f32,
    within_reach: bool,
    chosen: bool,
}

fn expected(log: &RunLog, position: usize) -> String {
    let decision = &log.decisions[position];
    let (space, axes) = (&log.space, log.space.axes());
    let local = log.config.hyper.moves == Moves::Local && decision.choice != Choice::Own;
    let before = before(log, position);
    let mut text = String::new();
    let of = log.config.scheduler.about().q;
    if decision.q.is_empty() {
        return text;
    }
    if log.config.hyper.action_values == ActionValues::Joint {
        let options = (0..space.len()).map(|action| Candidate {
            values: space.values(action).collect(),
            q: decision.q[action],
            within_reach: !local || space.adjacent(before, action),
            chosen: action == decision.action,
        });
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let _ = writeln!(text, "\nWhat it expected of each choice ({of})");
        text += &table(&names, options.collect());
    } else {
        let mut q = decision.q.as_slice();
        for (i, axis) in axes.iter().enumerate() {
            let (group, rest) = q.split_at(axis.values.len());
            let (here, chosen) = (space.index(before, i), space.index(decision.action, i));
            let options = group.iter().enumerate().map(|(index, &q)| Candidate {
                values: vec![axis.values[index]],
                q,
                within_reach: !local || index.abs_diff(here) <= 1,
                chosen: index == chosen,
            });
            let _ = writeln!(text, "\nWhat it expected of each {} ({of})", axis.name);
            text += &table(&[&axis.name], options.collect());
            q = rest;
        }
        if !q.is_empty() {
            let _ = writeln!(text, "\nWhat it expected of moving each hyperparameter ({of})");
            let show = column(q.iter().map(|&bound| f64::from(bound)));
            for (axis, &bound) in axes.iter().zip(q) {
                let _ = writeln!(text, "  {}: {}", axis.name, show(f64::from(bound)));
            }
        }
    }
    text
}

fn table(names: &[&str], mut options: Vec<Candidate>) -> String {
    let all = options.len();
    if all > MOST_OPTIONS {
        options.sort_by(|a, b| b.chosen.cmp(&a.chosen).then(b.q.total_cmp(&a.q)));
        options.truncate(MOST_OPTIONS);
    }
    let header: Vec<&str> = names.iter().copied().chain(["Q", ""]).collect();
    let mut table = TextTable::new(&header);
    let show = column(options.iter().map(|option| f64::from(option.q)));
    for option in &options {
        let mut row: Vec<String> = option.values.iter().map(|&value| short(value)).collect();
        row.push(show(f64::from(option.q)));
        row.push(
            match (option.chosen, option.within_reach) {
                (true, _) => "<- chosen",
                (false, true) => "",
                (false, false) => "more than one step away",
            }
            .to_string(),
        );
        table.row(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let mut text = output::indented(&table);
    if all > options.len() {
        let _ = writeln!(text, "  and {} more with lower Q", all - options.len());
    }
    text
}

fn remembered(log: &RunLog, decision: &Decision) -> String {
    if decision.neighbours.is_empty() {
        return String::new();
    }
    let factored = log.config.hyper.action_values == ActionValues::Factored;
    let axes = log.space.axes();
    let of = match axes.first() {
        Some(first) if factored && axes.len() > 1 => format!(" for its {}", first.name),
        _ => String::new(),
    };
    let mut header = vec!["update", "distance", "weight", "value", "earned then"];
    header.extend(axes.iter().map(|axis| axis.name.as_str()));
    let mut table = TextTable::new(&header);
    let origins: Vec<Option<&Decision>> = decision.neighbours.iter().map(|n| log.made_at(n.origin)).collect();
    let distance = column(decision.neighbours.iter().map(|n| f64::from(n.distance)));
    let earned = origins.iter().flatten().map(|origin| f64::from(origin.hyper_return));
    let value = column(decision.neighbours.iter().map(|n| f64::from(n.value)).chain(earned));
    for (neighbour, origin) in decision.neighbours.iter().zip(&origins) {
        let mut row = vec![
            neighbour.origin.to_string(),
            distance(f64::from(neighbour.distance)),
            match neighbour.weight.is_finite() {
                true => format!("{:.1}%", 100.0 * neighbour.weight),
                false => "-".to_string(),
            },
            value(f64::from(neighbour.value)),
            origin.map_or("-".to_string(), |origin| value(f64::from(origin.hyper_return))),
        ];
        match origin {
            Some(origin) => row.extend(origin.values.iter().map(|&value| short(value))),
            None => row.extend(axes.iter().map(|_| "-".to_string())),
        }
        table.row(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let mut text = format!("\nWhat it remembered{of}: the moments most like this one, and what is stored of each\n");
    text += &output::indented(&table);
    let same = |origin: &Decision| match factored {
        true => origin.values.first() == decision.values.first(),
        false => origin.values == decision.values,
    };
    if origins.iter().flatten().any(|origin| !same(origin)) {
        text += "  No moment with this choice was remembered: the nearest of any choice stood in.\n";
    }
    text
}

fn chosen(log: &RunLog, position: usize) -> String {
    let decision = &log.decisions[position];
    let before = before(log, position);
    let reach = match log.config.hyper.moves {
        Moves::Local => {
            let values: Vec<f64> = log.space.values(before).collect();
            format!(
                "those at most one step from before\n  (before: {})",
                assignment(log, &values)
            )
        }
        Moves::Uniform => "all".to_string(),
    };
    let why = match decision.choice {
        Choice::Fixed => "set at the start and kept".to_string(),
        Choice::Random => format!("drawn at random from {reach}"),
        Choice::Greedy if tied(log, decision, before) => format!("drawn from several with the highest Q of {reach}"),
        Choice::Greedy => format!("its Q is the highest of {reach}"),
        Choice::Own => log.config.scheduler.about().chose.to_string(),
        Choice::Rule => "left by the rule inside of the update".to_string(),
    };
    format!("\nWhat it chose\n  {}: {why}\n", assignment(log, &decision.values))
}

/// Whether another choice that was open had the same Q, so that the lot decided.
fn tied(log: &RunLog, decision: &Decision, before: usize) -> bool {
    let (space, local) = (&log.space, log.config.hyper.moves == Moves::Local);
    let (mut first, mut tied) = (0, false);
    for (axis, size) in groups(&log.config, &log.space).into_iter().enumerate() {
        let joint = size == decision.q.len();
        let index = |action: usize| if joint { action } else { space.index(action, axis) };
        let open = |option: usize| match joint {
            true => !local || space.adjacent(before, option),
            false => !local || option.abs_diff(index(before)) <= 1,
        };
        let Some(q) = decision.q.get(first..first + size) else {
            return false;
        };
        let best = q[index(decision.action)];
        tied |= (0..size).filter(|&option| open(option) && q[option] == best).count() > 1;
        first += size;
    }
    tied
}

fn came_of_it(log: &RunLog, decision: &Decision) -> String {
    let hyper = &log.config.hyper;
    let mut text = String::from("\nWhat came of it\n");
    let (outcome, change) = (f64::from(decision.outcome), f64::from(decision.improvement));
    let mut line = format!("  outcome {}", short(outcome));
    match change {
        0.0 => line += ", as in the update phase before",
        change if change.is_finite() => line += &format!(", {} on the update phase before", signed(change)),
        _ => {}
    }
    let _ = writeln!(text, "{line}");
    if decision.choice == Choice::Fixed {
        text += "  (of the first update phase; a constant is not scored again)\n";
        return text;
    }
    if decision.choice == Choice::Own {
        return text;
    }
    if decision.choice == Choice::Rule {
        text += "  (the rule does not look at it)\n";
        return text;
    }
    let earned = f64::from(decision.hyper_return);
    let _ = write!(text, "  hyper-return {} ({})", short(earned), hyper.transform.name());
    if let Some(q) = decision.q_chosen.map(f64::from) {
        let verdict = match earned - q {
            gap if gap > 0.0 => format!("{} better than", short(gap)),
            gap if gap < 0.0 => format!("{} worse than", short(-gap)),
            _ => "exactly".to_string(),
        };
        let _ = write!(text, ", {verdict} the Q of {} that it expected", short(q));
    }
    text.push('\n');
    if log.config.scheduler.about().recalls {
        text += match decision.written {
            true => "  written into the memory\n",
            false => "  not written into the memory (hyper.write_interval)\n",
        };
    }
    text
}

/// The joint hyper-action in force before a decision: where local moves start from.
fn before(log: &RunLog, position: usize) -> usize {
    match position.checked_sub(1) {
        Some(previous) => log.decisions[previous].action,
        None => log.space.default_action(),
    }
}

/// `learning_rate = 7e-4, ent_coef = 0.01`.
pub fn assignment(log: &RunLog, values: &[f64]) -> String {
    let pairs = log.space.axes().iter().zip(values);
    let pairs: Vec<String> = pairs
        .map(|(axis, &value)| format!("{} = {}", axis.name, short(value)))
        .collect();
    pairs.join(", ")
}
