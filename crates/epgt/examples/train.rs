//! Trains a policy on a task, evaluates it, and shows what the hyper-agent chose: `cargo run --release -p epgt
//! --example train`.

use std::error::Error;

use epgt::{Assignment, Config, EvalPlan, Trainer, evaluate};

fn main() -> Result<(), Box<dyn Error>> {
    let config = Config::build(&[
        Assignment::new("task", "CartPole-v1"),
        Assignment::new("steps", 60_000),
        Assignment::new("tune.learning_rate", "log:1e-4..5e-3:7"),
    ])?;
    let mut trainer = Trainer::new(&config)?;
    let mut decisions = 0;
    while !trainer.is_finished() {
        trainer.iterate()?;
        for decision in trainer.hyper.take_decisions() {
            decisions += 1;
            if decisions % 20 == 0 {
                let (rate, earned) = (decision.values[0], decision.outcome);
                println!(
                    "update {}: learning_rate {rate:.1e}, then episodes of {earned:.1}",
                    decision.update
                );
            }
        }
    }
    let plan = EvalPlan {
        episodes: 20,
        ..EvalPlan::default()
    };
    let played = evaluate(
        &mut trainer.policy,
        &trainer.normalizer,
        &config.task()?,
        &plan,
        &mut |_| true,
    )?;
    let mean = played.map_or(0.0, |played| played.mean_return());
    println!("mean return over {} episodes: {mean:.1}", plan.episodes);
    assert!(mean > 100.0, "a random policy reaches about 20");
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
