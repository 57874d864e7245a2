//! What the update rules cost: `cargo bench -p epgt-pg --bench rules_speed`.
//!
//! Prints the CPU time (Linux) of one A2C update at the size of the paper's sequential experiment (HalfCheetah: 17
//! observations, 6 actions, networks of 64-64, T = 5, N = 40), plain and with each rule.

use epgt_envs::Space;
use epgt_pg::{
    A2c, A2cSettings, ActorCritic, HoofSettings, MetaGradientSettings, PolicySettings, Rollout, Rule, RuleSettings,
    Schedulable, Tuned,
};
use epgt_rng::Pcg64;

/// Nanoseconds that this thread has computed, from the kernel.
fn cpu_nanoseconds() -> Result<f64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().unwrap_or_default().parse()?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = A2cSettings {
        ent_coef: 0.0,
        ..Default::default()
    };
    let tuned = |names: &[&str]| -> Result<Vec<Tuned>, epgt_pg::PgError> {
        let tuned = |name: &&str| {
            let (low, high) = match *name {
                "learning_rate" => (1e-4, 1e-3),
                _ => (0.9, 0.99),
            };
            settings.index(name).map(|index| Tuned { index, low, high })
        };
        names.iter().map(tuned).collect()
    };
    let hoof = RuleSettings::Hoof(HoofSettings::default());
    let meta = RuleSettings::MetaGradient(MetaGradientSettings::default());
    let all = ["learning_rate", "gamma", "gae_lambda"];
    for (name, updates, rule) in [
        ("plain", 400, None),
        ("hoof, learning rate", 30, Some((&hoof, tuned(&all[..1])?))),
        ("hoof, all three", 5, Some((&hoof, tuned(&all)?))),
        ("meta-gradient, learning rate", 400, Some((&meta, tuned(&all[..1])?))),
        ("meta-gradient, all three", 200, Some((&meta, tuned(&all)?))),
    ] {
        let mut rng = Pcg64::from_seed(0);
        let policy = PolicySettings {
            hidden: vec![64, 64],
            ..Default::default()
        };
        let space = Space::Box {
            low: vec![-1.0; 6],
            high: vec![1.0; 6],
        };
        let mut agent = ActorCritic::new(&policy, 17, &space, &mut rng);
        let mut a2c = A2c::new(settings, &agent);
        if let Some((rule, tuned)) = rule {
            a2c.rule = Some(Rule::new(rule, &settings, &tuned, 0)?);
        }
        let mut rollout = Rollout::new(5, 40, 17, 6);
        let mut fastest = f64::INFINITY;
        for _ in 0..5 {
            let numbers = [
                rollout.observations.numbers_mut(),
                &mut rollout.rewards,
                &mut rollout.raw_rewards,
            ];
            for numbers in numbers {
                numbers.iter_mut().for_each(|x| *x = rng.standard_normal() as f32);
            }
            let len = rollout.batch_size();
            let observations = rollout.observations.part(0..len * 17);
            let (actions, log_probs) = (&mut rollout.actions, &mut rollout.log_probs);
            agent.act(
                observations,
                len,
                &mut rng,
                actions,
                log_probs,
                &mut rollout.values[..len],
            );
            let start = cpu_nanoseconds()?;
            for _ in 0..updates {
                a2c.update(&mut agent, &mut rollout)?;
            }
            fastest = fastest.min((cpu_nanoseconds()? - start) / f64::from(updates));
        }
        println!("{name:30} {:9.0} us per update", fastest / 1e3);
    }
    Ok(())
}
