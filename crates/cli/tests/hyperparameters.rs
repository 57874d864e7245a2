//! What can be scheduled: how it is listed, and that all of it can be scheduled at once.

mod common;

use common::Place;

#[test]
fn hyperparameters_says_what_can_be_scheduled_and_when_it_takes_effect() {
    let place = Place::new();
    let ended = place.run(&["hyperparameters", "--algo", "ppo"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let line = |name: &str| {
        let mut lines = ended.stdout.lines();
        lines
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name}"))
    };
    for name in [
        "learning_rate",
        "batch_size",
        "gae_lambda",
        "gamma",
        "clip_range",
        "vf_coef",
        "max_grad_norm",
    ] {
        assert!(line(name).contains("every update"), "{name}");
    }
    for name in ["n_steps", "n_epochs"] {
        assert!(line(name).contains("every rollout"), "{name}");
    }
    assert!(line("clip_range ").contains("0.1:0.2:0.3:0.5 *"));
    // What is not worth choosing is offered last, and the page says so.
    let place_of = |name: &str| ended.stdout.lines().position(|line| line.starts_with(name));
    assert!(place_of("n_epochs") < place_of("learning_rate") && place_of("gamma") < place_of("batch_size"));
    assert!(
        ended
            .stdout
            .replace('\n', " ")
            .contains("nothing was won by choosing these for each task by itself: learning_rate, batch_size")
    );
    assert!(!ended.stdout.contains("rms_prop_decay"));
    let all = place.run(&["hyperparameters"]).stdout;
    assert!(all.contains("rms_prop_decay") && all.contains("clip_range"));
    place
        .run(&["hyperparameters", "--algo", "ppx"])
        .is_refused_with(&["did you mean 'ppo'?"]);
}

#[test]
fn ppo_trains_with_every_hyperparameter_scheduled_at_once() {
    let place = Place::new();
    let everything = "learning_rate=paper:3,batch_size=16:32,gae_lambda=0.9:0.95,gamma=0.98:0.99,clip_range=0.1:0.2,\
                      clip_range_vf=0:0.2,ent_coef=0:0.01,vf_coef=0.5:1,max_grad_norm=0.5:1,adam_beta1=0.8:0.9,\
                      adam_beta2=0.99:0.999,n_epochs=2:3,n_steps=16:32";
    let arguments = [
        "train",
        "CartPole-v1",
        "--algo",
        "ppo",
        "--steps",
        "20000",
        "--out",
        "run",
    ];
    let limit = ["--set", "hyper.max_actions=100000", "--tune", everything];
    let ended = place.run(&[&arguments[..], &limit].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("|A| = 12288."), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("In force is learning_rate times the share of training that is left")
    );
    let metrics = std::fs::read_to_string(place.path("run").join("metrics.csv")).unwrap();
    let column = |name: &str| {
        let position = metrics
            .lines()
            .next()
            .unwrap()
            .split(',')
            .position(|column| column == name);
        let position = position.unwrap_or_else(|| panic!("{name}"));
        let rows = metrics.lines().skip(1);
        rows.map(|row| row.split(',').nth(position).unwrap().parse::<f64>().unwrap())
            .collect::<Vec<f64>>()
    };
    // The rate in force is the chosen one times what is left of the training.
    let (rate, chosen, steps) = (
        column("train/learning_rate"),
        column("hyper/learning_rate"),
        column("time/total_timesteps"),
    );
    let rows = rate.iter().zip(&chosen).zip(steps.iter());
    for ((rate, chosen), &steps) in rows {
        let left = rate / chosen;
        assert!(
            left > 0.0 && left <= 1.0 - (steps - 2048.0 - 1.0) / 20_000.0,
            "{left} at {steps}"
        );
    }
    assert!(rate[rate.len() - 1] < 0.05 * chosen[chosen.len() - 1]);
    assert!(column("train/approx_kl").iter().all(|&kl| kl >= 0.0));
    let explained = place.run(&["explain", "run"]);
    assert_eq!(explained.code, Some(0), "{explained:?}");
    assert!(explained.stdout.contains("times the share of training that is left"));
    let evaluated = place.run(&["eval", "run", "--episodes", "5"]);
    assert_eq!(evaluated.code, Some(0), "{evaluated:?}");
}
