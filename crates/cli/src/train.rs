//! `epgt train`: from the command line to a finished run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use epgt_settings::{Value, quoted};
use epgt_train::{Assignment, Config, Device, Run, RunEnd, RunError, RunResult, Training};

use crate::Done;
use crate::args::TrainArgs;
use crate::display::Display;
use crate::parallel::lock;
use crate::{output, parallel, setup};

/// All runs of `--seeds` are set up before the first starts.
const MOST_SEEDS: u64 = 1000;

/// Trains one seed or several.
pub fn run(args: &TrainArgs) -> Result<Done, String> {
    use_python(args.python.as_deref());
    if let Some(directory) = &args.resume {
        return train_all(
            args,
            vec![Job {
                directory: directory.clone(),
                config: None,
            }],
        );
    }
    let config = lay(args)?;
    if args.print_config {
        output::print(&config.to_toml())?;
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
    config.validate()?;
    setup::ensure(&config.task()?, args.yes)?;
    train_all(args, jobs(args, &config))
}

/// One run to be made, or to be resumed where it has no configuration.
struct Job {
    directory: PathBuf,
    config: Option<Config>,
}

fn jobs(args: &TrainArgs, config: &Config) -> Vec<Job> {
    let base = args.out.clone().unwrap_or_else(|| fresh_directory(config));
    (0..args.seeds)
        .map(|offset| {
            let mut config = config.clone();
            config.run.seed = config.run.seed.wrapping_add(offset);
            let directory = match args.seeds {
                1 => base.clone(),
                _ => base.join(format!("seed-{}", config.run.seed)),
            };
            Job {
                directory,
                config: Some(config),
            }
        })
        .collect()
}

/// `runs/TASK-ALGO-SCHEDULER-sSEED`, with a number behind it where that is taken.
fn fresh_directory(config: &Config) -> PathBuf {
    let run = &config.run;
    let name = format!(
        "{}-{}-{}-s{}",
        output::file_name(&run.task),
        run.algo.name(),
        run.scheduler.name(),
        run.seed
    );
    let numbered = |number: u32| match number {
        1 => Path::new("runs").join(&name),
        _ => Path::new("runs").join(format!("{name}-{number}")),
    };
    (1..)
        .map(numbered)
        .find(|path| !path.exists())
        .unwrap_or_else(|| Path::new("runs").join(&name))
}

/// The user's assignments, the file's and then the command line's, laid upon the defaults but not yet checked. Either may say a
/// setting once only; the command line overrides the file.
fn lay(args: &TrainArgs) -> Result<Config, String> {
    let mut list: Vec<Assignment> = Vec::new();
    let mut in_file = Vec::new();
    if let Some(path) = &args.config {
        list = Config::read_toml(&read_settings(path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        let how = |said: &Assignment| format!("{} = {} in {}", said.key, quoted(&said.value), path.display());
        in_file = list.iter().map(|said| (how(said), said.clone())).collect();
    }
    let said = on_command_line(args)?;
    if said.iter().any(|(_, assignment)| assignment.key.starts_with("tune.")) {
        // What is tuned on the command line replaces what a file tunes.
        list.retain(|assignment| !assignment.key.starts_with("tune."));
    }
    list.extend(said.iter().map(|(_, assignment)| assignment.clone()));
    let config = Config::lay(&list)?;
    config.refuse_repeated(&in_file)?;
    config.refuse_repeated(&said)?;
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
fn train_all(args: &TrainArgs, jobs: Vec<Job>) -> Result<Done, String> {
    let threads = parallel::threads(args.threads, jobs.len());
    match args.threads {
        Some(asked) if jobs.len() == 1 => epgt_envs::gymnasium::use_threads(asked),
        _ => parallel::share_cores(threads),
    }
    let stop = parallel::stop_on_ctrl_c()?;
    // All runs are set up before any starts, and none where one would be refused, so that a refusal costs nothing.
    for job in jobs.iter().filter(|job| job.config.is_some() && !args.force) {
        Run::refuse_taken(&job.directory).map_err(|RunError(sentence)| sentence)?;
    }
    let device = args.device.as_deref().map(Device::parse).transpose()?;
    let mut runs = Vec::new();
    for job in &jobs {
        let run = match &job.config {
            Some(config) => Training::create(config.clone(), &job.directory, args.force),
            None => Training::resume(&job.directory, device),
        };
        let mut run = run.map_err(|RunError(sentence)| sentence)?;
        let task = &run.config().run.task;
        if job.config.is_none() && epgt_envs::find(task).is_ok_and(|task| task.is_foreign()) {
            output::note(&format!(
                "The environments of {task} begin anew, because their state cannot be saved; all else goes on from the checkpoint."
            ));
        }
        if jobs.len() == 1 {
            run.use_threads(parallel::threads(args.threads, usize::MAX));
        }
        runs.push(Mutex::new(Some(run)));
    }
    let config = match lock(&runs[0]).as_ref() {
        Some(run) => run.config().clone(),
        None => return Err("there is nothing to train".to_string()),
    };
    let device = lock(&runs[0]).as_ref().and_then(Training::device);
    let names: Vec<String> = jobs.iter().map(|job| job.directory.display().to_string()).collect();
    let display = Mutex::new(Display::new(args.quiet, &names, &config));
    lock(&display).announce(&config);
    if let Some(device) = device.filter(|_| !args.quiet) {
        output::note(&format!("The networks are on an {device}."));
    }
    let ends: Vec<Mutex<Option<Result<RunEnd, RunError>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    parallel::in_turn(threads, jobs.len(), &stop, |i| {
        if let Some(mut run) = lock(&runs[i]).take() {
            let end = run.train(&stop, &mut |progress| lock(&display).update(i, progress));
            *lock(&ends[i]) = Some(end);
        }
    });
    let ends: Vec<_> = ends.iter().map(|end| lock(end).take()).collect();
    report(args, &jobs, ends)
}

fn report(args: &TrainArgs, jobs: &[Job], ends: Vec<Option<Result<RunEnd, RunError>>>) -> Result<Done, String> {
    let mut done = Ok(Done::Completely);
    let mut results: Vec<RunResult> = Vec::new();
    for (job, end) in jobs.iter().zip(ends) {
        let directory = job.directory.display();
        let interruption = match end {
            Some(Ok(RunEnd::Finished(result))) => {
                if !args.json && !args.quiet {
                    output::print(&summary(&result, &job.directory))?;
                }
                results.push(result);
                continue;
            }
            Some(Err(RunError(sentence))) => {
                // One failure is told, and what became of the other seeds as well.
                done = done.and(Err(sentence));
                continue;
            }
            Some(Ok(RunEnd::Interrupted { steps })) => {
                format!("Stopped at {steps} steps and saved. Go on with: epgt train --resume {directory}")
            }
            None => format!("Not started. Start it with: epgt train --resume {directory}"),
        };
        output::note(&interruption);
        done = done.map(|_| Done::Interrupted);
    }
    if args.json && matches!(done, Ok(Done::Completely)) {
        let text = match results.as_slice() {
            [one] => serde_json::to_string(one),
            all => serde_json::to_string(&serde_json::json!({ "runs": all })),
        };
        output::print(&format!("{}\n", text.map_err(|error| error.to_string())?))?;
    }
    done
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
    format!(
        "{} seed {}: return {} over the last 100 episodes{human}, best evaluation {}\n{members}  {} steps{each} in {:.1} s ({:.0}/s), in {}\n",
        result.task,
        result.seed,
        number(result.return_last_100),
        number(result.best_evaluation),
        result.steps,
        result.wall_seconds,
        result.steps_per_second,
        directory.display()
    )
}
