//! `epgt eval`: plays a trained policy.

use std::collections::BTreeMap;
use std::path::PathBuf;

use epgt_report::statistics;
use epgt_settings::Value as _;
use epgt_train::{BEST_POLICY, EvalActions, LAST_POLICY, evaluate, policy_file};

use crate::Done;
use crate::args::EvalArgs;
use crate::train::use_python;
use crate::{output, video};

/// Plays the policy and prints its returns.
pub fn run(args: &EvalArgs) -> Result<Done, String> {
    if args.episodes == 0 {
        return Err("--episodes 0 leaves nothing to report; use 1 or more".to_string());
    }
    let actions = EvalActions::parse(&args.actions).map_err(|error| format!("--actions: {error}"))?;
    use_python(args.python.as_deref());
    let path = policy_path(args)?;
    let mut policy = policy_file::read(&path)?;
    let task = &policy.task.clone();
    if let Some(video) = &args.video {
        video::check(video, args.video_episodes, task)?;
    }
    let evaluation = evaluate(
        &mut policy.networks,
        &policy.normalizer,
        task,
        args.episodes,
        args.seed,
        actions,
    )
    .map_err(|error| format!("the policy {} could not be played: {error}", path.display()))?;
    let film = |path: &PathBuf| video::film(&mut policy, task, path, args.video_episodes, args.seed, actions);
    let video = args.video.as_ref().map(film).transpose()?;
    let returns = &evaluation.returns;
    let interval = statistics::bootstrap_interval(returns, statistics::RESAMPLES, 0);
    let (mean, deviation) = (statistics::mean(returns), statistics::standard_deviation(returns));
    let text = if args.json {
        let mut report = serde_json::json!({
            "task": task.id,
            "policy": path,
            "episodes": args.episodes,
            "seed": args.seed,
            "stochastic": actions.are_drawn(task),
            "mean_return": mean,
            "std_return": deviation.is_finite().then_some(deviation),
            "interval_95": interval.is_known().then_some([interval.low, interval.high]),
            "min_return": returns.iter().copied().fold(f64::INFINITY, f64::min),
            "max_return": returns.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            "mean_length": evaluation.mean_length(),
        });
        if let Some(normalised) = task.human_normalised(mean) {
            report["human_normalised"] = serde_json::json!(normalised);
        }
        let options = task.options.changed();
        if !options.is_empty() {
            report["env"] = serde_json::json!(options.into_iter().collect::<BTreeMap<_, _>>());
        }
        if let Some(video) = &video {
            report["video"] = serde_json::json!({
                "path": video.path,
                "episodes": video.episodes,
                "frames": video.frames,
                "bytes": video.bytes,
            });
        }
        format!("{report}\n")
    } else {
        let human = task
            .human_normalised(mean)
            .map_or(String::new(), |share| format!(", human-normalised {share:.3}"));
        let length = evaluation.mean_length();
        let over = match returns.len() {
            1 => format!("over 1 episode, length {length:.0}"),
            2 => format!("+- {deviation:.2} over 2 episodes, mean length {length:.1}"),
            many => {
                format!("+- {deviation:.2} over {many} episodes, 95% interval {interval:.2}, mean length {length:.1}")
            }
        };
        let line = format!("{}: return {mean:.2} {over}{human}\n", task.label());
        video.iter().fold(line, |lines, video| format!("{lines}{video}\n"))
    };
    output::print(&text)?;
    Ok(Done::Completely)
}

/// The policy file: given itself, or the best of a run, or the last where no evaluation has chosen a best.
fn policy_path(args: &EvalArgs) -> Result<PathBuf, String> {
    if args.run.is_file() {
        return Ok(args.run.clone());
    }
    let best = args.run.join(BEST_POLICY);
    let path = if args.last || !best.exists() {
        args.run.join(LAST_POLICY)
    } else {
        best
    };
    match path.exists() {
        true => Ok(path),
        false => Err(format!(
            "{} holds no policy; give a run's directory or a .safetensors file of this program",
            args.run.display()
        )),
    }
}
