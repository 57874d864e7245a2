//! `epgt eval`: plays a trained policy, or those of several seeds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use epgt_envs::TaskSpec;
use epgt_report::statistics::{self, Interval};
use epgt_settings::Value as _;
use epgt_train::{
    EvalActions, EvalPlan, Evaluation, FilmPlan, LAST_POLICY, best_policy, evaluate, policy_file, seed_runs,
};
use serde_json::{Value, json};

use crate::Done;
use crate::args::EvalArgs;
use crate::train::use_python;
use crate::video::Video;
use crate::{output, parallel, video};

/// Plays the policy and prints its returns; of several seeds each one's, and what they come to.
pub fn run(args: &EvalArgs) -> Result<Done, String> {
    if args.episodes == 0 {
        return Err("--episodes 0 leaves nothing to report; use 1 or more".to_string());
    }
    if args.max_steps == 0 {
        return Err("--max-steps 0 leaves nothing to play; use 1 or more".to_string());
    }
    let actions = EvalActions::parse(&args.actions).map_err(|error| format!("--actions: {error}"))?;
    use_python(args.python.as_deref());
    let Some(runs) = seed_runs(&args.run).map_err(|error| error.to_string())? else {
        let path = policy_path(&args.run, args.last)?;
        let stop = parallel::stop_on_ctrl_c()?;
        let Some(played) = play(args, actions, &path, "", &stop)? else {
            return Ok(Done::Interrupted);
        };
        output::print(&if args.json {
            format!("{}\n", played.json())
        } else {
            played.text()
        })?;
        // What was evaluated is told, whatever became of the video.
        return match played.video {
            Some(Err(sentence)) => Err(sentence),
            _ => Ok(Done::Completely),
        };
    };
    if args.video.is_some() {
        return Err(format!(
            "--video shows one policy, and {} holds those of {} seeds; name one of them, such as {}",
            args.run.display(),
            runs.len(),
            runs[0].directory.display()
        ));
    }
    // All policies are looked for before any is played.
    let paths: Vec<PathBuf> = runs
        .iter()
        .map(|run| policy_path(&run.directory, args.last))
        .collect::<Result<_, _>>()?;
    let stop = parallel::stop_on_ctrl_c()?;
    let mut all = Vec::new();
    for (run, path) in runs.iter().zip(&paths) {
        let name = format!("seed {}", run.config.run.seed);
        let Some(played) = play(args, actions, path, &name, &stop)? else {
            return Ok(Done::Interrupted);
        };
        if !args.json {
            output::print(&format!("{name}: {}", played.text()))?;
        }
        all.push(played);
    }
    let means: Vec<f64> = all.iter().map(Played::mean).collect();
    let interval = statistics::bootstrap_interval(&means, statistics::RESAMPLES, 0);
    let mean = statistics::mean(&means);
    let text = match args.json {
        true => {
            let report = json!({
                "directory": args.run,
                "seeds": all.len(),
                "mean_return": mean,
                "interval_95": ends(interval),
                "runs": all.iter().map(Played::json).collect::<Vec<_>>(),
            });
            format!("{report}\n")
        }
        false => {
            let interval = match interval.is_known() {
                true => format!(", 95% interval {interval:.2}"),
                false => String::new(),
            };
            format!("{} seeds: mean return {mean:.2}{interval}\n", all.len())
        }
    };
    output::print(&text)?;
    Ok(Done::Completely)
}

/// A policy that was played.
struct Played {
    path: PathBuf,
    task: TaskSpec,
    plan: EvalPlan,
    evaluation: Evaluation,
    /// What was filmed, or why it was not.
    video: Option<Result<Video, String>>,
}

/// Plays the policy of a file and shows how far it is; `None` where Ctrl-C has stopped it.
fn play(
    args: &EvalArgs,
    actions: EvalActions,
    path: &Path,
    name: &str,
    stop: &AtomicBool,
) -> Result<Option<Played>, String> {
    let mut policy = policy_file::read(path).map_err(output::told)?;
    let task = policy.task.clone();
    let check = |path: &PathBuf| video::check(path, args.video_episodes, &task);
    let target = args.video.as_ref().map(check).transpose()?;
    let plan = EvalPlan {
        episodes: args.episodes,
        seed: args.seed,
        actions,
        max_steps: args.max_steps,
    };
    let gap = if name.is_empty() { "" } else { ": " };
    let mut shown = None;
    let mut ended = 0;
    let evaluation = evaluate(&mut policy.networks, &policy.normalizer, &task, &plan, &mut |now| {
        ended = now;
        if shown != Some(now) {
            shown = Some(now);
            output::live_line(&format!("{name}{gap}evaluating {now}/{}", plan.episodes));
        }
        !stop.load(Ordering::Relaxed)
    });
    output::live_line("");
    let evaluation =
        evaluation.map_err(|error| format!("the policy {} could not be played: {error}", path.display()))?;
    let Some(evaluation) = evaluation else {
        output::note(&format!("Stopped after {ended} of {} episodes.", plan.episodes));
        return Ok(None);
    };
    if let Some(sentence) = evaluation.cut_sentence(plan.max_steps) {
        output::note(&format!("{sentence} (--max-steps)."));
    }
    let take = FilmPlan {
        seed: args.seed,
        actions,
        max_steps: args.max_steps,
    };
    let film = |target| video::film(&mut policy, &task, &target, args.video_episodes, &take);
    let video = target.map(film);
    Ok(Some(Played {
        path: path.to_path_buf(),
        task,
        plan,
        evaluation,
        video,
    }))
}

impl Played {
    fn mean(&self) -> f64 {
        statistics::mean(&self.evaluation.returns)
    }

    fn interval(&self) -> Interval {
        statistics::bootstrap_interval(&self.evaluation.returns, statistics::RESAMPLES, 0)
    }

    /// All that is known, for programs.
    fn json(&self) -> Value {
        let (task, returns) = (&self.task, &self.evaluation.returns);
        let deviation = statistics::standard_deviation(returns);
        let mut report = json!({
            "task": task.id,
            "policy": self.path,
            "episodes": self.plan.episodes,
            "episodes_cut": self.evaluation.cut,
            "seed": self.plan.seed,
            "stochastic": self.plan.actions.are_drawn(task),
            "mean_return": self.mean(),
            "std_return": deviation.is_finite().then_some(deviation),
            "interval_95": ends(self.interval()),
            "min_return": returns.iter().copied().fold(f64::INFINITY, f64::min),
            "max_return": returns.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            "mean_length": self.evaluation.mean_length(),
        });
        if let Some(normalised) = task.human_normalised(self.mean()) {
            report["human_normalised"] = json!(normalised);
        }
        let options = task.options.changed();
        if !options.is_empty() {
            report["env"] = json!(options.into_iter().collect::<BTreeMap<_, _>>());
        }
        if let Some(Ok(video)) = &self.video {
            report["video"] = json!({
                "path": video.path,
                "episodes": video.episodes,
                "frames": video.frames,
                "bytes": video.bytes,
            });
        }
        report
    }

    /// The lines for a person.
    fn text(&self) -> String {
        let (mean, deviation) = (self.mean(), statistics::standard_deviation(&self.evaluation.returns));
        let human = self.task.human_normalised(mean);
        let human = human.map_or(String::new(), |share| format!(", human-normalised {share:.3}"));
        let length = self.evaluation.mean_length();
        let over = match self.evaluation.returns.len() {
            1 => format!("over 1 episode, length {length:.0}"),
            2 => format!("+- {deviation:.2} over 2 episodes, mean length {length:.1}"),
            many => format!(
                "+- {deviation:.2} over {many} episodes, 95% interval {:.2}, mean length {length:.1}",
                self.interval()
            ),
        };
        let line = format!("{}: return {mean:.2} {over}{human}\n", self.task.label());
        let video = self.video.iter().flatten();
        video.fold(line, |lines, video| format!("{lines}{video}\n"))
    }
}

/// Both ends of an interval; `None` of one that is not known.
fn ends(interval: Interval) -> Option<[f64; 2]> {
    interval.is_known().then_some([interval.low, interval.high])
}

/// The policy file: given itself, or the best of a run, or the last where the run has chosen none, which is said.
fn policy_path(run: &Path, last: bool) -> Result<PathBuf, String> {
    if run.is_file() {
        return Ok(run.to_path_buf());
    }
    if !last && let Some(best) = best_policy(run).map_err(|error| error.to_string())? {
        return Ok(best);
    }
    let path = run.join(LAST_POLICY);
    if !path.exists() {
        return Err(format!(
            "{} holds no policy; give a run's directory or a .safetensors file of this program",
            run.display()
        ));
    }
    if !last {
        output::note(&format!(
            "The run in {} has chosen no best policy yet; this is its last.",
            run.display()
        ));
    }
    Ok(path)
}
