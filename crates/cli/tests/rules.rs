//! `epgt explain` of the schedulers that live inside of the update: their values are no grid's, so they are told over
//! training.

mod common;

use common::Place;

#[test]
fn explain_tells_the_course_of_what_a_rule_changed() {
    let place = Place::new();
    for (scheduler, words) in [
        ("hoof", "tries many candidates at every update"),
        ("meta-gradient", "follows the gradient of the next rollout's objective"),
    ] {
        let tuned = ["--tune", "learning_rate=paper:7,gamma=0.9:0.99"];
        let choices = [
            "--algo",
            "a2c",
            "--scheduler",
            scheduler,
            "--steps",
            "8000",
            "--set",
            "defaults=task",
        ];
        place.train(scheduler, &[&choices[..], &tuned[..]].concat());
        let overview = place.run(&["explain", scheduler]);
        assert_eq!(overview.code, Some(0), "{overview:?}");
        for part in [
            words,
            "learning_rate over 199 updates",
            "gamma over 199 updates",
            "median",
        ] {
            assert!(overview.stdout.contains(part), "{part}: {}", overview.stdout);
        }
        let one = place.run(&["explain", scheduler, "--update", "100"]);
        assert_eq!(one.code, Some(0), "{one:?}");
        for part in [
            "Decision 100, made for update 100 alone",
            "left by the rule inside of the update",
        ] {
            assert!(one.stdout.contains(part), "{part}: {}", one.stdout);
        }
    }
}
