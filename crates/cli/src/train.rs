//! `epgt train`: from the command line to a finished run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use epgt_report::statistics;
use epgt_settings::{Value, quoted};
use epgt_train::{
    Assignment, Config, Device, Progress, Registry, ResumeWith, RunEnd, RunError, RunResult, SeedRun, Training,
    begin_seeds, networks_of, refuse_taken, seed_runs,
};

use crate::Done;
use crate::args::TrainArgs;
use crate::display::Display;
use crate::parallel::lock;
use crate::{output, parallel, setup, watch};

/// All runs of `--seeds` are set up before the first starts.
const MOST_SEEDS: u64 = 1000;

/// Trains one seed or several; `program` is the file by which the program is started.
pub fn run(args: &TrainArgs, program: &Path) -> Result<Done, String> {
    use_python(args.python.as_deref());
    if let Some(directory) = &args.resume {
        return train_all(args, &resumed(args, directory)?, program);
    }
    let config = lay(args)?;
    if args.print_config {
        output::print(&config.to_toml_with_origins())?;
        return Ok(Done::Completely);
    }
    if config.run.task.is_empty() {
        return Err("which task? Try `epgt train CartPole-v1`, or list them with `epgt tasks`".to_string());
    }
    if args.seeds == 0 {
        return Err("--seeds 0 leaves nothing to train; use 1 or more".to_string());
    }
    if args.seeds > MOST_SEEDS {
        return Err(format!(
            "--seeds {} is more than this program will run at once; use {MOST_SEEDS} or fewer",
            args.seeds
        ));
    }
    config.validate().map_err(output::told)?;
    if !args.quiet {
        tell_of_idle(args, &config)?;
    }
    setup::ensure(&config.task().map_err(output::told)?, args.yes)?;
    train_all(args, &begun(args, config)?, program)
}

/// What one command trains.
struct Batch {
    jobs: Vec<Job>,
    /// The directory of several seeds; `None` for a single run.
    group: Option<PathBuf>,
}

/// One run to be made or resumed.
struct Job {
    directory: PathBuf,
    start: Start,
}

enum Start {
    New(Box<Config>),
    Resume(ResumeWith),
    /// One of several seeds, of which some may not have begun.
    ResumeSeed(Box<SeedRun>, ResumeWith),
}

/// The runs of a new command.
fn begun(args: &TrainArgs, config: Config) -> Result<Batch, String> {
    let directory = args
        .out
        .clone()
        .unwrap_or_else(|| epgt_experiments::fresh_directory(&config, args.seeds));
    let new = |directory, config| Job {
        directory,
        start: Start::New(Box::new(config)),
    };
    if args.seeds == 1 {
        refuse_taken(&directory, args.force).map_err(|error| error.to_string())?;
        return Ok(Batch {
            jobs: vec![new(directory, config)],
            group: None,
        });
    }
    // Whether it can be trained at all is known before anything is written.
    drop(epgt_train::Trainer::new(&config).map_err(output::told)?);
    let runs = begin_seeds(&config, args.seeds, &directory, args.force).map_err(|error| error.to_string())?;
    Ok(Batch {
        jobs: runs.into_iter().map(|run| new(run.directory, run.config)).collect(),
        group: Some(directory),
    })
}

/// The runs of a directory that are to go on.
fn resumed(args: &TrainArgs, directory: &Path) -> Result<Batch, String> {
    let steps = args.steps.as_deref().map(u64::parse).transpose();
    let with = ResumeWith {
        device: args.device.as_deref().map(Device::parse).transpose()?,
        steps: steps.map_err(|wants| format!("--steps: {wants}"))?,
        ..ResumeWith::default()
    };
    let job = |directory: &Path, start| Job {
        directory: directory.to_path_buf(),
        start,
    };
    Ok(match seed_runs(directory).map_err(|error| error.to_string())? {
        None => Batch {
            jobs: vec![job(directory, Start::Resume(with))],
            group: None,
        },
        Some(runs) => Batch {
            jobs: runs
                .into_iter()
                .map(|run| job(&run.directory.clone(), Start::ResumeSeed(Box::new(run), with.clone())))
                .collect(),
            group: Some(directory.to_path_buf()),
        },
    })
}

/// The user's assignments, the file's and then the command line's, laid upon the defaults but not yet checked. Either
/// may say a setting once only; the command line overrides the file.
fn lay(args: &TrainArgs) -> Result<Config, String> {
    let mut list: Vec<Assignment> = Vec::new();
    let mut in_file = Vec::new();
    if let Some(path) = &args.config {
        list = Config::read_toml(&read_settings(path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        let how = |said: &Assignment| format!("{} = {} in {}", said.key, quoted(&said.value), path.display());
        in_file = list.iter().map(|said| (how(said), said.clone())).collect();
    }
    if let Some(path) = &args.init {
        // The networks are the policy's, unless the user says more.
        list.splice(0..0, networks_of(path, &Registry::builtin()).map_err(output::told)?);
    }
    let said = on_command_line(args)?;
    if said.iter().any(|(_, assignment)| assignment.key.starts_with("tune.")) {
        // What is tuned on the command line replaces what a file tunes.
        list.retain(|assignment| !assignment.key.starts_with("tune."));
    }
    list.extend(said.iter().map(|(_, assignment)| assignment.clone()));
    let config = Config::lay(&list).map_err(output::told)?;
    config.refuse_repeated(&in_file).map_err(output::told)?;
    config.refuse_repeated(&said).map_err(output::told)?;
    Ok(config)
}

/// The text of a file of settings; one that is longer than any such file is not read.
fn read_settings(path: &Path) -> Result<String, String> {
    const MOST_BYTES: u64 = 1_000_000;
    let unreadable = |reason: String| format!("cannot read {}: {reason}", path.display());
    let file = File::open(path).map_err(|error| unreadable(output::reason(&error)))?;
    let mut text = String::new();
    file.take(MOST_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| unreadable(output::reason(&error)))?;
    match text.len() as u64 <= MOST_BYTES {
        true => Ok(text),
        false => Err(unreadable("it is longer than any file of settings".to_string())),
    }
}

/// The assignments of flags, `--tune`, options of the task, `--policy` and `--set`, each with how it was said.
fn on_command_line(args: &TrainArgs) -> Result<Vec<(String, Assignment)>, String> {
    let mut said = Vec::new();
    let flags = [
        ("TASK", "task", &args.task),
        ("--algo", "algo", &args.algo),
        ("--scheduler", "scheduler", &args.scheduler),
        ("--preset", "preset", &args.preset),
        ("--steps", "steps", &args.steps),
        ("--n-envs", "n_envs", &args.n_envs),
        ("--device", "device", &args.device),
        ("--seed", "seed", &args.seed.map(|seed| seed.to_string())),
        ("--init", "init", &args.init.as_deref().map(absolute)),
    ];
    for (flag, key, value) in flags {
        let value = value.as_ref();
        said.extend(value.map(|value| (format!("{flag} {value}"), Assignment::new(key, value))));
    }
    for part in args.tune.iter().flat_map(|tune| tune.split(',')) {
        let (name, grid) = part.split_once('=').ok_or_else(|| {
            format!(
                "'{}' in --tune should be NAME=VALUES, such as learning_rate=paper:7",
                quoted(part)
            )
        })?;
        let assignment = Assignment::new(format!("tune.{}", name.trim()), grid.trim());
        said.push((format!("--tune {part}"), assignment));
    }
    for text in &args.env_arg {
        let Assignment { key, value } = Assignment::parse(text).map_err(|error| format!("--env-arg {error}"))?;
        said.push((
            format!("--env-arg {text}"),
            Assignment::new(format!("env.{key}"), value),
        ));
    }
    for (key, value) in env_options(&[], &args.import)? {
        said.push((
            format!("--import {value}"),
            Assignment::new(format!("env.{key}"), value),
        ));
    }
    for text in &args.policy {
        let Assignment { key, value } = Assignment::parse(text).map_err(|error| format!("--policy {error}"))?;
        said.push((
            format!("--policy {text}"),
            Assignment::new(format!("policy.{key}"), value),
        ));
    }
    for text in &args.set {
        let assignment = Assignment::parse(text).map_err(|error| format!("--set {error}"))?;
        said.push((format!("--set {text}"), assignment));
    }
    Ok(said)
}

/// A path that holds from other directories too.
fn absolute(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    whole.display().to_string()
}

/// The options of a task as `--env-arg` and `--import` say them.
pub fn env_options(env_arg: &[String], import: &[String]) -> Result<Vec<(String, String)>, String> {
    let mut options = Vec::new();
    for text in env_arg {
        let Assignment { key, value } = Assignment::parse(text).map_err(|error| format!("--env-arg {error}"))?;
        options.push((key, value));
    }
    if !import.is_empty() {
        options.push(("import".to_string(), import.join(",")));
    }
    Ok(options)
}

/// Has the workers of foreign tasks use the Python that `--python` names.
pub fn use_python(python: Option<&Path>) {
    if let Some(python) = python {
        epgt_envs::gymnasium::use_python(python);
    }
}

/// Runs the jobs, as many at a time as there are threads, and reports them in order.
fn train_all(args: &TrainArgs, batch: &Batch, program: &Path) -> Result<Done, String> {
    let jobs = &batch.jobs;
    let threads = parallel::threads(args.threads, jobs.len());
    match args.threads {
        Some(asked) if jobs.len() == 1 => epgt_envs::gymnasium::use_threads(asked),
        _ => parallel::share_cores(threads),
    }
    // All runs are set up before any starts, so that a refusal costs nothing.
    let mut runs = Vec::new();
    for job in jobs {
        let mut run = open(job, args.force).map_err(|error| error.to_string())?;
        if jobs.len() == 1 {
            run.use_threads(parallel::threads(args.threads, usize::MAX));
        }
        runs.push(Mutex::new(Some(run)));
    }
    let (config, device, done) = match lock(&runs[0]).as_ref() {
        Some(run) => (run.config().clone(), run.device(), run.steps_done()),
        None => return Err("there is nothing to train".to_string()),
    };
    let names: Vec<String> = jobs.iter().map(|job| job.directory.display().to_string()).collect();
    let display = Mutex::new(Display::new(args.quiet, &names, &config));
    lock(&display).announce(&config);
    if let Some(device) = device.filter(|_| !args.quiet) {
        output::note(&format!("The networks are on an {device}."));
    }
    if args.resume.is_some() {
        tell_of_resume(args, &config, done);
    }
    let stop = parallel::stop_on_ctrl_c()?;
    if args.watch {
        let place = batch.group.as_ref().unwrap_or(&jobs[0].directory);
        watch::beside(program, place, args.python.as_deref());
    }
    let ends: Vec<Mutex<Option<Result<RunEnd, RunError>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    parallel::in_turn(threads, jobs.len(), &stop, |i| {
        if let Some(mut run) = lock(&runs[i]).take() {
            let end = run.train(&stop, &mut |progress: &Progress| lock(&display).update(i, progress));
            *lock(&ends[i]) = Some(end);
        }
    });
    let ends: Vec<_> = ends.iter().map(|end| lock(end).take()).collect();
    report(args, batch, ends)
}

/// Says which rates of the command line decide nothing, and where they would. The rule kl-adaptive starts at
/// `learning_rate`, so that it does decide something there.
fn tell_of_idle(args: &TrainArgs, config: &Config) -> Result<(), String> {
    let entries = config.method.entries();
    let Some(control) = entries.iter().find(|entry| entry.key == "step_control") else {
        return Ok(());
    };
    let control = control.value.trim_matches('"');
    for (how, said) in on_command_line(args)? {
        let wanted = match said.key.rsplit('.').next() {
            Some("learning_rate") if control == "divergence" => "rate",
            Some("critic_learning_rate") if control != "divergence" => "divergence",
            _ => continue,
        };
        output::note(&format!(
            "{how} decides nothing with step_control={control}; it is for --set step_control={wanted}."
        ));
    }
    Ok(())
}

/// Sets up the run of a job.
fn open(job: &Job, force: bool) -> Result<Training, RunError> {
    match &job.start {
        Start::New(config) => Training::create((**config).clone(), &job.directory, force),
        Start::Resume(with) => Training::resume(&job.directory, with.clone()),
        Start::ResumeSeed(run, with) => run.resume(with.clone()),
    }
}

/// Says what is not as if the run had never been stopped.
fn tell_of_resume(args: &TrainArgs, config: &Config, done: u64) {
    let run = &config.run;
    if epgt_envs::find(&run.task).is_ok_and(|task| task.is_foreign()) {
        output::note(&format!(
            "The environments of {} begin anew, because their state cannot be saved; all else goes on from the checkpoint.",
            run.task
        ));
    }
    if args.steps.is_some() {
        output::note(&format!(
            "Going on from {done} to {} steps. What changes over a run (epsilon, falling schedules) is from now on as in a run of that \
             length, of which {:.0}% are done.",
            run.steps,
            100.0 * done as f64 / run.steps as f64
        ));
    }
}

fn report(args: &TrainArgs, batch: &Batch, ends: Vec<Option<Result<RunEnd, RunError>>>) -> Result<Done, String> {
    let mut done = Ok(Done::Completely);
    let mut results: Vec<(&Path, RunResult)> = Vec::new();
    for (job, end) in batch.jobs.iter().zip(ends) {
        let directory = job.directory.display();
        let interruption = match end {
            Some(Ok(RunEnd::Finished(result))) => {
                if !args.json && !args.quiet {
                    output::print(&summary(&result, &job.directory))?;
                }
                results.push((&job.directory, result));
                continue;
            }
            Some(Err(error)) => {
                // One failure is told, and what became of the other seeds as well.
                done = done.and(Err(error.to_string()));
                continue;
            }
            Some(Ok(RunEnd::Interrupted { steps })) => {
                done = done.map(|_| Done::Interrupted);
                format!("Stopped at {steps} steps and saved.")
            }
            None => {
                done = done.map(|_| Done::Interrupted);
                "Not started.".to_string()
            }
        };
        match batch.group {
            None => output::note(&format!("{interruption} Go on with: epgt train --resume {directory}")),
            Some(_) => output::note(&format!("{directory}: {interruption}")),
        }
    }
    if let (Some(group), Ok(Done::Interrupted)) = (&batch.group, &done) {
        output::note(&format!("Go on with: epgt train --resume {}", group.display()));
    }
    if !matches!(done, Ok(Done::Completely)) {
        return done;
    }
    if args.quiet {
        let place = batch.group.as_ref().unwrap_or(&batch.jobs[0].directory);
        output::note(&format!("In {}", place.display()));
    }
    if args.json {
        output::print(&format!("{}\n", json(batch, &results)?))?;
    } else if let Some(group) = batch.group.as_ref().filter(|_| !args.quiet) {
        output::print(&aggregate(&results, group))?;
    }
    done
}

/// The results as one JSON object: a run's, or those of all seeds and what they come to.
fn json(batch: &Batch, results: &[(&Path, RunResult)]) -> Result<serde_json::Value, String> {
    let mut runs = Vec::new();
    for (directory, result) in results {
        let mut object = serde_json::to_value(result).map_err(|error| error.to_string())?;
        object["directory"] = serde_json::json!(directory);
        runs.push(object);
    }
    let Some(group) = &batch.group else {
        return runs.pop().ok_or_else(|| "there is no result".to_string());
    };
    let returns = returns(results);
    let interval = statistics::bootstrap_interval(&returns, statistics::RESAMPLES, 0);
    Ok(serde_json::json!({
        "directory": group,
        "seeds": results.len(),
        "mean_return": (!returns.is_empty()).then(|| statistics::mean(&returns)),
        "interval_95": interval.is_known().then_some([interval.low, interval.high]),
        "runs": runs,
    }))
}

/// The mean returns of the last training episodes, of all seeds that have any.
fn returns(results: &[(&Path, RunResult)]) -> Vec<f64> {
    results
        .iter()
        .filter_map(|(_, result)| result.return_last_100)
        .collect()
}

/// What several seeds come to.
fn aggregate(results: &[(&Path, RunResult)], group: &Path) -> String {
    let told = |values: &[f64]| match values {
        [] => "none yet".to_string(),
        values => {
            let interval = statistics::bootstrap_interval(values, statistics::RESAMPLES, 0);
            let interval = match interval.is_known() {
                true => format!(" (95% interval {interval:.2})"),
                false => String::new(),
            };
            format!("{:.2}{interval}", statistics::mean(values))
        }
    };
    let best: Vec<f64> = results
        .iter()
        .filter_map(|(_, result)| result.best_evaluation)
        .collect();
    format!(
        "{} seeds: mean return {}, mean best evaluation {}; in {}\n",
        results.len(),
        told(&returns(results)),
        told(&best),
        group.display()
    )
}

fn summary(result: &RunResult, directory: &Path) -> String {
    let number = |x: Option<f64>| x.map_or("none yet".to_string(), |x| format!("{x:.2}"));
    let members = match &result.population {
        None => String::new(),
        Some(population) => {
            let values = population.best_values.iter();
            let values: Vec<String> = values.map(|(name, value)| format!("{name} {value:.3e}")).collect();
            format!(
                "  the best of {} members, member {} with {} at the end; {} steps of all members together\n",
                population.members,
                population.best_member,
                values.join(", "),
                population.steps_all_members
            )
        }
    };
    let human = result
        .human_normalised
        .map_or(String::new(), |share| format!(", human-normalised {share:.3}"));
    let each = if members.is_empty() { "" } else { " of each member" };
    let episodes = match result.episodes {
        0 => String::new(),
        1 => " over its one episode".to_string(),
        few if few < 100 => format!(" over its {few} episodes"),
        _ => " over the last 100 episodes".to_string(),
    };
    // What is left of the steps that were asked for is less than a rollout.
    let steps = match result.steps == result.steps_asked {
        true => result.steps.to_string(),
        false => format!("{} of {}", result.steps, result.steps_asked),
    };
    format!(
        "{} seed {}: return {}{episodes}{human}, best evaluation {}\n{members}  {steps} steps{each} in {:.1} s ({:.0}/s), in {}\n",
        result.task,
        result.seed,
        number(result.return_last_100),
        number(result.best_evaluation),
        result.wall_seconds,
        result.steps_per_second,
        directory.display()
    )
}
