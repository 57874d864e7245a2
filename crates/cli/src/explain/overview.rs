//! A run's decisions at a glance: how often each value was chosen, what followed, whether the choice mattered at all.

use std::fmt::Write;

use epgt_hyper::{ActionValues, Choice, Decision, Hold, Transform, Window};
use epgt_pg::HyperReward;
use epgt_report::f_distribution::quantile;
use epgt_report::signal::Evidence;
use epgt_report::text_table::TextTable;

use super::log::{Move, RunLog};
use super::numbers::{column, counted, short};
use super::{course, moment, schedule};
use crate::output;

/// Rows of the table of steps.
const PARTS: usize = 10;

/// The overview, in words and small tables.
pub fn text(log: &RunLog) -> String {
    scheduled(log) + &steps(log)
}

/// How far the policy was moved in each tenth of training, and by which rate; nothing where that was not measured.
fn steps(log: &RunLog) -> String {
    let moves = &log.moves;
    if moves.is_empty() {
        return String::new();
    }
    let median = |mut numbers: Vec<f64>| {
        numbers.sort_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    let parts = PARTS.min(moves.len());
    let mut table = TextTable::new(&["up to update", "target", "divergence", "learning rate"]);
    for part in 0..parts {
        let of = &moves[part * moves.len() / parts..(part + 1) * moves.len() / parts];
        let column = |number: fn(&Move) -> f64| short(median(of.iter().map(number).collect()));
        table.row(&[
            &of[of.len() - 1].update.to_string(),
            &column(|row| row.target),
            &column(|row| row.divergence),
            &column(|row| row.rate),
        ]);
    }
    format!(
        "\nHow far an update moved the policy, and by which rate (medians over the rows of metrics)\n\n{}",
        output::table(&table)
    )
}

fn scheduled(log: &RunLog) -> String {
    let run = &log.config.run;
    let mut text = format!(
        "{} with {}, seed {}: {} policy updates of {}.\nScheduler {}: {}.\n",
        run.task,
        run.algo.name(),
        run.seed,
        log.updates,
        log.config.total_updates(),
        run.scheduler.name(),
        log.config.scheduler.about().does
    );
    let schedules = log.config.schedule_sentence();
    if !schedules.is_empty() {
        let _ = writeln!(text, "{schedules}");
    }
    if log.space.axes().is_empty() {
        return text + "Nothing is scheduled: [tune] in its configuration is empty.\n";
    }
    if log.config.scheduler.is_fixed() {
        let values = log
            .decisions
            .last()
            .map_or(&log.last_values, |decision| &decision.values);
        return text + &format!("In force throughout: {}.\n", moment::assignment(log, values));
    }
    if log.config.scheduler.is_rule() {
        return text + &course::text(log);
    }
    for axis in log.space.axes() {
        let values: Vec<String> = axis.values.iter().map(|&value| short(value)).collect();
        let (values, default) = (values.join(", "), short(axis.default));
        let _ = writeln!(
            text,
            "It schedules {} among {values}; the default is {default}.",
            axis.name
        );
    }
    if log.decisions.is_empty() {
        return text + "No decision has an outcome yet.\n";
    }
    text += &how_often(log);
    for axis in 0..log.space.axes().len() {
        text += &by_value(log, axis);
    }
    text += &whether_it_matters(log);
    let latest = log
        .decisions
        .iter()
        .rposition(|decision| matches!(decision.choice, Choice::Greedy | Choice::Own));
    if let Some(position) = latest {
        text += match log.decisions[position].choice {
            Choice::Own => "\nThe latest decision\n\n",
            _ => "\nThe latest decision that was not random\n\n",
        };
        text += &moment::text(log, position, None);
        text += "\nAny other: epgt explain DIR --update N\n";
    }
    text
}

fn how_often(log: &RunLog) -> String {
    let hyper = &log.config.hyper;
    let all = log.decisions.len();
    let greedy = log
        .decisions
        .iter()
        .filter(|decision| decision.choice == Choice::Greedy)
        .count();
    let share = |count: usize| 100.0 * count as f64 / all as f64;
    let own = log.decisions.iter().all(|decision| decision.choice == Choice::Own);
    let kinds = match own {
        true => "all by its own rule".to_string(),
        false => format!(
            "{greedy} greedy ({:.0}%), {} random ({:.0}%)",
            share(greedy),
            all - greedy,
            share(all - greedy)
        ),
    };
    let hold = match hyper.hold {
        Hold::Updates(1) => "one for every update".to_string(),
        Hold::Updates(updates) => format!("each kept for {updates} updates"),
        Hold::Phase => "each kept for an update phase".to_string(),
    };
    let name = log.config.reward.outcome.name();
    let reward = log.config.registry.hyper_reward(name);
    let outcome = reward.as_ref().map_or(name, HyperReward::meaning);
    let window = match hyper.window {
        Window::Last => "in the rollout after its last update",
        Window::Mean => "over the rollouts that followed its updates",
    };
    let transform = match hyper.transform {
        Transform::Raw => "that outcome as it is",
        Transform::Improvement => "the outcome's change since the update phase before",
        Transform::Detrended => "the outcome's distance from its recent trend",
    };
    let learned = match log.config.scheduler.about().learns {
        "" => format!("Hyper-return, which is learned: {transform}"),
        learns => learns.to_string(),
    };
    format!(
        "\n{}, {hold}: {kinds}.\n\
         Outcome of an update phase: {outcome} {window}.\n{learned}.\n",
        counted(all, "decision", "decisions"),
    )
}

/// What followed each value of a hyperparameter, and when it was in force.
fn by_value(log: &RunLog, axis: usize) -> String {
    let (space, name) = (&log.space, log.space.axes()[axis].name.as_str());
    let values = &space.axes()[axis].values;
    let mut table = TextTable::new(&[name, "chosen", "share", "hyper-return", "improvement", "last at update"]);
    let with = |index: usize| {
        log.decisions
            .iter()
            .filter(move |decision| space.index(decision.action, axis) == index)
    };
    let mean = |index: usize, of: fn(&Decision) -> f32| {
        let sum: f64 = with(index).map(|decision| f64::from(of(decision))).sum();
        sum / with(index).count() as f64
    };
    let (hyper_return, improvement) = (
        |decision: &Decision| decision.hyper_return,
        |decision: &Decision| decision.improvement,
    );
    let returns: Vec<f64> = (0..values.len()).map(|index| mean(index, hyper_return)).collect();
    let improvements: Vec<f64> = (0..values.len()).map(|index| mean(index, improvement)).collect();
    let (show_return, show_improvement) = (column(returns.iter().copied()), column(improvements.iter().copied()));
    for (index, &value) in values.iter().enumerate() {
        let count = with(index).count();
        let last = with(index)
            .next_back()
            .map_or("-".to_string(), |decision| decision.update.to_string());
        table.row(&[
            &short(value),
            &count.to_string(),
            &format!("{:.0}%", 100.0 * count as f64 / log.decisions.len() as f64),
            &show_return(returns[index]),
            &show_improvement(improvements[index]),
            &last,
        ]);
    }
    let mut text = format!("\n{name}: how often each value was chosen, and the mean of what followed\n\n");
    text += &output::table(&table);
    let _ = writeln!(text, "\n{name} over training (a full block: in force all the time)\n");
    text + &schedule::picture(log, axis)
}

/// The F statistic and the correlations, with what each means.
fn whether_it_matters(log: &RunLog) -> String {
    let mut tried: Vec<usize> = log.decisions.iter().map(|decision| decision.action).collect();
    let decisions = tried.len();
    tried.sort_unstable();
    tried.dedup();
    let mut text = String::from("\nDid the choice matter?\n");
    let mut outcomes = log.decisions.iter().map(|decision| decision.outcome);
    let first = outcomes.next().unwrap_or(f32::NAN);
    if outcomes.all(|outcome| outcome == first) {
        let _ = writeln!(
            text,
            "  It cannot be told: every outcome was {}, whatever was chosen. Another hyper.outcome may tell more.",
            short(f64::from(first))
        );
        return text;
    }
    let _ = writeln!(text, "  {}", f_sentence(log.f_statistic, tried.len(), decisions));
    let axes = log.space.axes();
    for (i, (axis, correlation)) in axes.iter().zip(&log.correlations).enumerate() {
        if let Some(sentence) = knowledge(log, i) {
            let _ = writeln!(text, "  {sentence}");
        }
        let _ = writeln!(
            text,
            "  {}: {}",
            axis.name,
            correlation_sentence(*correlation, decisions)
        );
    }
    if log.decisions.iter().any(|decision| decision.choice != Choice::Random) {
        text += "  Choices were not drawn at random: this is what was seen, not what was caused.\n";
    }
    if log.config.hyper.action_values == ActionValues::Joint && axes.len() > 1 {
        let _ = writeln!(text, "  (F is over the {} joint choices that were tried.)", tried.len());
    }
    text
}

/// How much of a hyperparameter's choice shows in the improvement that followed, and how many steps would be needed to
/// tell its best value; nothing where too few decisions were made.
fn knowledge(log: &RunLog, axis: usize) -> Option<String> {
    let decisions = log.decisions.iter();
    let evidence = Evidence::of(decisions.map(|decision| (decision.values[axis], f64::from(decision.improvement))))?;
    (log.steps > 0.0).then(|| evidence.sentence(&log.space.axes()[axis].name, log.steps))
}

/// What an F statistic over so many groups and decisions says.
fn f_sentence(f: Option<f64>, groups: usize, decisions: usize) -> String {
    let (between, within) = (groups as f64 - 1.0, decisions as f64 - groups as f64);
    let Some(f) = f.filter(|_| between >= 1.0 && within > 4.0) else {
        return "F cannot be told yet: too few decisions.".to_string();
    };
    // Where the choice does not matter, F stays below it 19 times out of 20.
    let chance = quantile(0.95, between, within);
    match f > chance {
        true => {
            format!("F = {f:.2}: the choice shows in the improvement that followed (chance alone reaches {chance:.1}).")
        }
        false => {
            format!("F = {f:.2}: the choice explains nothing that chance would not (chance alone reaches {chance:.1}).")
        }
    }
}

fn correlation_sentence(correlation: Option<f64>, decisions: usize) -> String {
    let Some(r) = correlation else {
        return "no correlation can be told yet.".to_string();
    };
    // Two standard errors of the correlation of unrelated numbers.
    let chance = 2.0 / (decisions.max(1) as f64).sqrt();
    let meaning = match r {
        r if r > chance => "larger values were followed by more improvement",
        r if r < -chance => "larger values were followed by less improvement",
        _ => "neither larger nor smaller values were followed by more improvement",
    };
    format!("correlation {r:+.2} with the improvement:\n    {meaning} (chance alone reaches {chance:.2}).")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_f_near_one_is_chance_and_a_large_one_is_not() {
        assert!(f_sentence(Some(1.05), 5, 250).contains("explains nothing"));
        assert!(f_sentence(Some(1.05), 5, 250).starts_with("F = 1.05"));
        assert!(f_sentence(Some(5.2), 5, 250).contains("shows in the improvement"));
        assert!(f_sentence(Some(5.2), 5, 6).contains("too few"));
        assert!(f_sentence(None, 5, 250).contains("too few"));
    }

    #[test]
    fn a_correlation_counts_where_chance_would_not_reach_it() {
        assert!(correlation_sentence(Some(0.05), 400).contains("neither"));
        assert!(correlation_sentence(Some(0.15), 400).contains("more improvement"));
        assert!(correlation_sentence(Some(-0.15), 400).contains("less improvement"));
    }
}
