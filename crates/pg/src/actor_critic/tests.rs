use super::*;

fn agent(actions: &Space, hidden: Vec<usize>) -> ActorCritic {
    let settings = PolicySettings {
        hidden,
        log_std_init: Some(-1.0),
        ..Default::default()
    };
    ActorCritic::new(&settings, 3, actions, &mut Pcg64::from_seed(7))
}

fn cube(dim: usize) -> Space {
    Space::Box {
        low: vec![-1.0; dim],
        high: vec![1.0; dim],
    }
}

#[test]
fn tensors_are_named_after_their_network_and_layer() {
    let agent = agent(&cube(2), vec![5]);
    let shapes: Vec<_> = agent.params.tensors().map(|t| (t.name, t.rows, t.cols)).collect();
    assert_eq!(
        shapes,
        [
            ("policy.0.weight", 5, 3),
            ("policy.0.bias", 1, 5),
            ("policy.1.weight", 2, 5),
            ("policy.1.bias", 1, 2),
            ("value.0.weight", 5, 3),
            ("value.0.bias", 1, 5),
            ("value.1.weight", 1, 5),
            ("value.1.bias", 1, 1),
            ("policy.log_std", 1, 2),
        ]
    );
    assert_eq!(agent.log_std(), [-1.0, -1.0]);
}

#[test]
fn the_first_policy_is_near_uniform() {
    let mut agent = agent(&Space::Discrete(4), vec![16, 16]);
    agent.forward(&[1.0, -2.0, 3.0], 1);
    assert!(agent.policy.output().iter().all(|logit| logit.abs() < 0.1));
}

#[test]
fn acting_greedily_gives_the_mean_of_a_gaussian_policy() {
    let mut agent = agent(&cube(2), vec![8]);
    let mut actions = [0.0; 4];
    agent.act_greedy(&[0.5; 6], 2, &mut actions);
    assert_eq!(&actions, agent.policy.output());
}

#[test]
fn acting_greedily_gives_the_squashed_mean_where_that_is_asked_for() {
    let space = Space::Box {
        low: vec![-0.4, 1.0],
        high: vec![0.4, 3.0],
    };
    let settings = PolicySettings {
        squash: true,
        ..Default::default()
    };
    let mut agent = ActorCritic::new(&settings, 3, &space, &mut Pcg64::from_seed(7));
    for x in agent.params.values_mut() {
        *x *= 3.0;
    }
    let mut actions = [0.0; 4];
    agent.act_greedy(&[0.5, -1.0, 2.0, 0.1, 0.2, 0.3], 2, &mut actions);
    let means = agent.policy.output().to_vec();
    for (action, mean) in actions.chunks_exact(2).zip(means.chunks_exact(2)) {
        assert!((action[0] - 0.4 * mean[0].tanh()).abs() < 1e-6);
        assert!((action[1] - (2.0 + mean[1].tanh())).abs() < 1e-6);
    }
    assert_eq!(
        agent.for_task(&means),
        actions,
        "training maps actions as evaluation does"
    );
}

#[test]
fn parameters_of_another_shape_are_refused_by_name() {
    let mut narrow = agent(&cube(2), vec![5]);
    let wide = agent(&cube(2), vec![6]);
    let error = narrow.restore(wide.params).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("policy.0.weight of 6x3 where policy.0.weight of 5x3"),
        "{error}"
    );
    let same = agent(&cube(2), vec![5]);
    assert_eq!(narrow.restore(same.params), Ok(()));
}
