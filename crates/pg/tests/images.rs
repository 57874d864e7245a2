//! Policies on pixels: what a batch of them computes, and that every method learns from them.

use epgt_envs::{Normalizer, Observations, RowShape, Rows, Space, VecEnv, find};
use epgt_nn::{Activation, Cnn, ConvShape, Parameters};
use epgt_pg::{
    A2cSettings, AcktrSettings, ActorCritic, MethodSettings, Phase, PolicySettings, PpoSettings, Rollout, collect,
};
use epgt_rng::Pcg64;

/// A network that is large enough for 36 by 36 pixels.
fn small() -> PolicySettings {
    PolicySettings {
        conv_channels: vec![8, 16],
        conv_kernels: vec![8, 4],
        conv_strides: vec![4, 2],
        image_hidden: vec![64],
        ..Default::default()
    }
}

/// Mean return of the episodes of the last tenth of so many rollouts.
fn learn(settings: Box<dyn MethodSettings>, n: usize, rollouts: usize) -> f64 {
    let task = find("PixelCatch-v0").unwrap();
    let mut envs = VecEnv::new(&task, n, 1).unwrap();
    let (shape, actions) = (task.observed(), envs.action_space().clone());
    let mut rng = Pcg64::from_seed(1);
    let mut agent = ActorCritic::new(&small(), shape, &actions, &mut rng);
    let mut rollout = Rollout::new(settings.n_steps(), n, shape, actions.size());
    let mut normalizer = Normalizer::new(0, n, false, false, settings.gamma()).with_sign_rewards();
    let mut method = settings.method(&agent, 1);
    let (mut sum, mut episodes) = (0.0, 0);
    for i in 0..rollouts {
        collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng).unwrap();
        while method.step(&mut agent, &mut rollout).unwrap() == Phase::GoesOn {}
        if i >= rollouts - rollouts / 10 {
            sum += rollout
                .episodes
                .iter()
                .map(|episode| episode.episode_return)
                .sum::<f64>();
            episodes += rollout.episodes.len();
        }
    }
    sum / episodes as f64
}

#[test]
fn a2c_learns_to_catch() {
    let settings = A2cSettings {
        learning_rate: 1e-3,
        n_steps: 8,
        ..Default::default()
    };
    let mean = learn(Box::new(settings), 16, 600);
    assert!(mean > 0.8, "{mean}");
}

#[test]
fn ppo_learns_to_catch() {
    let settings = PpoSettings {
        n_steps: 64,
        batch_size: 128,
        n_epochs: 4,
        learning_rate: 1e-3,
        ent_coef: 0.01,
        ..Default::default()
    };
    let mean = learn(Box::new(settings), 16, 40);
    assert!(mean > 0.8, "{mean}");
}

#[test]
fn acktr_learns_to_catch() {
    let settings = AcktrSettings {
        n_steps: 16,
        kl_clip: 0.02,
        inverse_interval: 20,
        ..Default::default()
    };
    let mean = learn(Box::new(settings), 16, 250);
    assert!(mean > 0.8, "{mean}");
}

#[test]
fn the_networks_of_an_image_share_their_convolutions() {
    let (shape, space) = (RowShape::Image([2, 20, 24]), Space::Discrete(3));
    let mut agent = ActorCritic::new(&small(), shape, &space, &mut Pcg64::from_seed(3));
    let names: Vec<&str> = agent.params.tensors().map(|tensor| tensor.name).collect();
    let weights = ["trunk.conv.0", "trunk.conv.1", "trunk.dense.0", "policy.0", "value.0"];
    let expected = weights
        .iter()
        .flat_map(|name| [format!("{name}.weight"), format!("{name}.bias")]);
    assert_eq!(names, expected.collect::<Vec<_>>());
    let total: usize = agent.params.tensors().map(|tensor| tensor.data.len()).sum();
    assert_eq!(small().size(shape, 3).weights, total as f64);

    // The same trunk alone gives the same features.
    let (mut params, mut rng) = (Parameters::new(), Pcg64::from_seed(3));
    let convs = [(8, 8, 4), (16, 4, 2)].map(|(outputs, kernel, stride)| ConvShape {
        outputs,
        kernel,
        stride,
    });
    let gain = std::f32::consts::SQRT_2;
    let mut trunk = Cnn::new(
        &mut params,
        "trunk",
        [2, 20, 24],
        &convs,
        &[64],
        Activation::Relu,
        gain,
        &mut rng,
    );
    let images: Vec<u8> = (0..3 * shape.size()).map(|i| (i * 37 % 251) as u8).collect();
    let features = trunk.forward(&params, &images, 3);
    agent.forward(&images, 3);
    assert_eq!(agent.policy.layers()[0].input(), features);
    assert_eq!(agent.value.layers()[0].input(), features);

    // Their gradient is the sum of what both ask for.
    let (policy, value) = ([0.5; 9], [-1.0; 3]);
    let mut gradient_of = |policy: &[f32], value: &[f32]| {
        agent.backward(policy, &[], value);
        agent.params.gradients().to_vec()
    };
    let both = gradient_of(&policy, &value);
    let (first, second) = (gradient_of(&policy, &[0.0; 3]), gradient_of(&[0.0; 9], &value));
    for ((both, first), second) in both.iter().zip(first).zip(second) {
        assert!((both - first - second).abs() < 1e-4 * (1.0 + both.abs()));
    }
}

#[test]
fn a_rollout_of_images_is_bytes_and_goes_on_from_them() {
    let task = find("PixelCatch-v0").unwrap();
    let mut envs = VecEnv::new(&task, 2, 1).unwrap();
    let mut rng = Pcg64::from_seed(1);
    let mut agent = ActorCritic::new(&small(), task.observed(), envs.action_space(), &mut rng);
    let mut rollout = Rollout::new(3, 2, task.observed(), 1);
    let mut normalizer = Normalizer::new(0, 2, true, true, 0.99);
    collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng).unwrap();
    let Rows::Bytes(last) = rollout.last_observations() else {
        panic!("images are bytes")
    };
    let last = last.to_vec();
    let saved = Observations::from(rollout.last_observations());
    rollout.set_steps(5);
    assert_eq!(rollout.last_observations().bytes(), last);
    collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng).unwrap();
    assert_eq!(&rollout.batch_observations().bytes()[..last.len()], last);
    rollout.resume_from(&saved);
    assert_eq!(rollout.last_observations().bytes(), last);
}
