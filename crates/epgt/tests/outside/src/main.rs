//! Adds an environment, a method, a scheduler and a hyper-reward to the library, and trains with each.

mod corridor;
mod reinforce;
mod stairs;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use epgt::envs::{TaskSpec, check};
use epgt::pg::HyperReward;
use epgt::train::{Registry, ResumeWith, policy_file};
use epgt::{Assignment, Config, Run, RunEnd, Trainer, Training};

type Outcome = Result<(), Box<dyn Error>>;

fn config(registry: &Arc<Registry>, said: &[(&str, &str)]) -> Result<Config, Box<dyn Error>> {
    let said: Vec<Assignment> = said.iter().map(|(key, value)| Assignment::new(*key, value)).collect();
    Ok(Config::build_in(registry, &said)?)
}

/// Trains to the end; returns the mean return of the last hundred episodes.
fn train(config: &Config) -> Result<f64, Box<dyn Error>> {
    let mut trainer = Trainer::new(config)?;
    while !trainer.is_finished() {
        trainer.iterate()?;
    }
    Ok(trainer.counters.mean_return().unwrap_or(f64::NAN))
}

fn main() -> Outcome {
    let place = std::env::args().nth(1).ok_or("a directory for runs is wanted")?;
    let task = TaskSpec::new("Corridor-v0", corridor::Corridor::new).with_max_episode_steps(60);
    let finished = HyperReward::new("finished", "episodes that ended", |earned| {
        earned.rollout.episodes.len() as f32
    });
    let registry = Registry::new()
        .with_task(task)
        .with_method(reinforce::ReinforceSettings::default())
        .with_scheduler(stairs::Stairs)
        .with_hyper_reward(finished);
    let registry = Arc::new(registry);

    check(&mut corridor::Corridor::new())?;
    let base = [("task", "Corridor-v0"), ("steps", "60000")];
    let score = train(&config(&registry, &[&base[..], &[("algo", "a2c")]].concat())?)?;
    assert!(score > -12.0, "{score}");
    println!("environment: {score:.1}");

    let score = train(&config(&registry, &[&base[..], &[("algo", "reinforce")]].concat())?)?;
    assert!(score > -12.0, "{score}");
    println!("method: {score:.1}");

    let stairs = [
        ("task", "CartPole-v1"),
        ("steps", "40000"),
        ("scheduler", "stairs"),
        ("tune.learning_rate", "[3e-4, 1e-3, 3e-3]"),
    ];
    let mut trainer = Trainer::new(&config(&registry, &stairs)?)?;
    let mut rates = Vec::new();
    while !trainer.is_finished() {
        trainer.iterate()?;
        rates.extend(trainer.hyper.take_decisions().map(|decision| decision.values[0]));
    }
    rates.dedup();
    assert_eq!(rates, [3e-3, 1e-3, 3e-4]);
    println!("scheduler: {rates:?}");

    let rewarded = [
        &base[..],
        &[
            ("algo", "a2c"),
            ("hyper.outcome", "finished"),
            ("hyper.transform", "raw"),
        ],
    ]
    .concat();
    let mut trainer = Trainer::new(&config(&registry, &rewarded)?)?;
    let mut outcomes = Vec::new();
    while !trainer.is_finished() {
        trainer.iterate()?;
        outcomes.extend(trainer.hyper.take_decisions().map(|decision| decision.hyper_return));
    }
    // Numbers of episodes, averaged over the rollouts of an update phase.
    assert!(
        outcomes.iter().all(|outcome| (0.0..=256.0).contains(outcome)) && outcomes.iter().any(|outcome| *outcome > 0.1)
    );
    println!("hyper-reward: {} decisions were scored by it", outcomes.len());

    resumed(&registry, Path::new(&place))?;
    population(&registry, Path::new(&place))
}

/// A run with all of them that is stopped and resumed ends as one that was not.
fn resumed(registry: &Arc<Registry>, place: &Path) -> Outcome {
    let said = [
        ("task", "Corridor-v0"),
        ("algo", "reinforce"),
        ("scheduler", "stairs"),
        ("hyper.outcome", "finished"),
        ("steps", "20000"),
        ("tune.learning_rate", "[1e-3, 3e-3, 1e-2]"),
    ];
    let config = config(registry, &said)?;
    let whole = finish(Run::create(config.clone(), &place.join("whole"), false)?)?;
    let (stop, directory) = (AtomicBool::new(true), place.join("stopped"));
    let end = Run::create(config, &directory, false)?.train(&stop, &mut ())?;
    assert!(matches!(end, RunEnd::Interrupted { steps } if steps < 20_000));
    stop.store(false, Ordering::Relaxed);
    let with = ResumeWith {
        registry: registry.clone(),
        ..ResumeWith::default()
    };
    let again = finish(Run::resume_with(&directory, with)?)?;
    assert_eq!(whole, again);
    let policy = policy_file::read_in(&directory.join("last.safetensors"), registry)?;
    assert_eq!(policy.task.id, "Corridor-v0");
    println!("resumed: {again}");
    Ok(())
}

/// The members of a population copy one another's optimiser, also that of a method of somebody's own.
fn population(registry: &Arc<Registry>, place: &Path) -> Outcome {
    let said = [
        ("task", "Corridor-v0"),
        ("algo", "reinforce"),
        ("scheduler", "pbt"),
        ("population.ready", "2000"),
        ("steps", "8000"),
        ("tune.learning_rate", "[1e-4, 3e-3, 1e-2]"),
    ];
    let mut training = Training::create(config(registry, &said)?, &place.join("population"), false)?;
    let RunEnd::Finished(result) = training.train(&AtomicBool::new(false), &mut ())? else {
        return Err("nobody stopped it".into());
    };
    let members = result.population.ok_or("a population has members")?.members;
    let events = std::fs::read_to_string(place.join("population/population.csv"))?;
    assert!(members == 4 && events.contains("copied"), "{events}");
    println!("population: {members} members");
    Ok(())
}

fn finish(mut run: Run) -> Result<String, Box<dyn Error>> {
    match run.train(&AtomicBool::new(false), &mut ())? {
        RunEnd::Finished(result) => Ok(result.policy_sha256),
        RunEnd::Interrupted { .. } => Err("nobody stopped it".into()),
    }
}
