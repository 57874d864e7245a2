//! Networks on another processor learn what they would learn here. A processor made of our own CPU networks stands in for a GPU, so
//! that the way there and back is tested on every machine; where there is a GPU, it is tested as well.

use std::collections::VecDeque;

use epgt_nn::{AdamStep, Kept, Projections, Remote, RmsPropStep, TanhLayer, clip_gradient_norm};
use epgt_pg::ActorCritic;
use epgt_train::{Assignment, Config, Trainer};

/// A processor that is this one.
#[derive(Default)]
struct Mirror {
    agent: Option<ActorCritic>,
    passing: Vec<u8>,
    kept: Vec<u8>,
    size: usize,
    moments: [Vec<f32>; 2],
    matrices: Vec<f32>,
    tensors: Vec<(usize, usize)>,
    dim: usize,
    encoder: Vec<(Vec<f32>, Vec<f32>)>,
    older: std::cell::RefCell<VecDeque<Vec<f32>>>,
    fails: bool,
}

impl std::fmt::Debug for Mirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mirror")
    }
}

impl Mirror {
    fn of(trainer: &Trainer) -> Box<Self> {
        let count = trainer.policy.params.len();
        Box::new(Self {
            agent: Some(trainer.policy.clone()),
            size: trainer.policy.observation_size(),
            moments: [vec![0.0; count], vec![0.0; count]],
            ..Default::default()
        })
    }

    fn agent(&self) -> &ActorCritic {
        self.agent.as_ref().unwrap()
    }

    fn agent_mut(&mut self) -> &mut ActorCritic {
        self.agent.as_mut().unwrap()
    }
}

impl Remote for Mirror {
    fn name(&self) -> String {
        "mirror".to_string()
    }

    fn fault(&self) -> Option<String> {
        self.fails.then(|| "the mirror broke".to_string())
    }

    fn look(&mut self, images: &[u8], batch: usize) {
        self.passing = images.to_vec();
        self.agent_mut().forward(images, batch);
    }

    fn keep(&mut self, first: usize) {
        let (first, bytes) = (first * self.size, self.passing.len());
        self.kept.resize(self.kept.len().max(first + bytes), 0);
        self.kept[first..first + bytes].copy_from_slice(&self.passing);
    }

    fn look_again(&mut self, rows: &[u32]) {
        let size = self.size;
        let images: Vec<u8> = rows
            .iter()
            .flat_map(|&row| self.kept[row as usize * size..][..size].to_vec())
            .collect();
        self.agent_mut().forward(&images, rows.len());
    }

    fn outputs(&self, head: usize, out: &mut [f32]) {
        let all = [self.agent().policy_output(), self.agent().value_output()];
        out.copy_from_slice(all[head]);
    }

    fn backward(&mut self, heads: &[&[f32]], rest: &[f32]) {
        self.agent_mut().backward(heads[0], rest, heads[1]);
    }

    fn clip(&mut self, max_norm: f32) -> f32 {
        clip_gradient_norm(self.agent_mut().params.gradients_mut(), max_norm)
    }

    fn adam(&mut self, step: AdamStep) {
        let [mean, square] = &mut self.moments;
        let (values, gradients) = self.agent.as_mut().unwrap().params.split_mut();
        for (i, (w, g)) in values.iter_mut().zip(gradients).enumerate() {
            mean[i] = step.beta1 * mean[i] + (1.0 - step.beta1) * g;
            square[i] = step.beta2 * square[i] + (1.0 - step.beta2) * g * g;
            *w -= step.step_size * mean[i] / (square[i].sqrt() * step.root_scale + step.epsilon);
        }
    }

    fn rms_prop(&mut self, step: RmsPropStep) {
        let square = &mut self.moments[0];
        let (values, gradients) = self.agent.as_mut().unwrap().params.split_mut();
        for (i, (w, g)) in values.iter_mut().zip(gradients).enumerate() {
            square[i] = step.decay * square[i] + (1.0 - step.decay) * g * g;
            *w -= step.learning_rate * g / (square[i].sqrt() + step.epsilon);
        }
    }

    fn backward_observed(&mut self, _: &[&[f32]], _: &[f32], _: f32) {
        unreachable!("the mirror has no K-FAC");
    }

    fn decompose(&mut self) -> bool {
        unreachable!("the mirror has no K-FAC");
    }

    fn precondition(&mut self, _: f32, _: f32) -> f32 {
        unreachable!("the mirror has no K-FAC");
    }

    fn advance(&mut self, _: f32, _: f32) {
        unreachable!("the mirror has no K-FAC");
    }

    fn set_projections(&mut self, projections: Projections<'_>) {
        self.matrices = projections.matrices.to_vec();
        self.tensors = projections.tensors.to_vec();
        self.dim = projections.dim;
        let count = self.agent().params.len();
        self.older = std::cell::RefCell::new(vec![vec![0.0; count]; projections.sources - 2].into());
    }

    fn project(&self, features: &mut [f32]) {
        let older = self.older.borrow();
        let params = &self.agent().params;
        let sources = [params.values(), params.gradients()];
        let mut features = features.iter_mut();
        let mut matrix = 0;
        for source in sources.into_iter().chain(older.iter().map(Vec::as_slice)) {
            let mut start = 0;
            for &(rows, cols) in &self.tensors {
                for row in source[start..][..rows * cols].chunks_exact(cols) {
                    for k in 0..self.dim {
                        let column = &self.matrices[matrix + k * cols..][..cols];
                        *features.next().unwrap() = row.iter().zip(column).map(|(a, b)| a * b).sum();
                    }
                }
                start += rows * cols;
                matrix += self.dim * cols;
            }
        }
    }

    fn set_encoder(&mut self, layers: &[TanhLayer<'_>]) {
        let copy = |layer: &TanhLayer<'_>| (layer.weight.to_vec(), layer.bias.to_vec());
        self.encoder = layers.iter().map(copy).collect();
    }

    fn encode(&self, features: &[f32], out: &mut [f32]) {
        let mut values = features.to_vec();
        for (weight, bias) in &self.encoder {
            let rows = weight.chunks_exact(values.len()).zip(bias);
            let product = |row: &[f32]| row.iter().zip(&values).map(|(w, x)| w * x).sum::<f32>();
            values = rows.map(|(row, bias)| (product(row) + bias).tanh()).collect();
        }
        out.copy_from_slice(&values[..out.len()]);
    }

    fn age(&self) {
        let mut older = self.older.borrow_mut();
        if older.pop_back().is_some() {
            older.push_front(self.agent().params.gradients().to_vec());
        }
    }

    fn norms(&self) -> (f32, f32) {
        let norm = |numbers: &[f32]| numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
        (
            norm(self.agent().params.values()),
            norm(self.agent().params.gradients()),
        )
    }

    fn read(&self, what: Kept, out: &mut [f32]) {
        match what {
            Kept::Weights => out.copy_from_slice(self.agent().params.values()),
            Kept::Gradient => out.copy_from_slice(self.agent().params.gradients()),
            Kept::Moment(i) => out.copy_from_slice(&self.moments[i]),
            Kept::Older(i) => out.copy_from_slice(&self.older.borrow()[i]),
            Kept::Velocity | Kept::Curvature { .. } => unreachable!("the mirror has no K-FAC"),
        }
    }

    fn write(&mut self, what: Kept, values: &[f32]) {
        match what {
            Kept::Weights => self.agent_mut().params.values_mut().copy_from_slice(values),
            Kept::Gradient => self.agent_mut().params.gradients_mut().copy_from_slice(values),
            Kept::Moment(i) => self.moments[i].copy_from_slice(values),
            Kept::Older(i) => self.older.get_mut()[i].copy_from_slice(values),
            Kept::Velocity | Kept::Curvature { .. } => unreachable!("the mirror has no K-FAC"),
        }
    }
}

fn config(algo: &str, more: &[(&str, &str)]) -> Config {
    let settings = [
        ("task", "PixelCatch-v0"),
        ("algo", algo),
        ("device", "cpu"),
        ("steps", "2000"),
        ("n_envs", "4"),
        ("policy.conv_channels", "[8, 8, 4]"),
        ("policy.image_hidden", "[32]"),
    ];
    let ppo = [("ppo.n_steps", "16"), ("ppo.batch_size", "32"), ("ppo.n_epochs", "2")];
    let own = if algo == "ppo" { &ppo[..] } else { &[] };
    let all = settings.iter().chain(own).chain(more);
    let assignments: Vec<Assignment> = all.map(|&(key, value)| Assignment::new(key, value)).collect();
    Config::build(&assignments).unwrap()
}

fn iterate(trainer: &mut Trainer, times: usize) {
    for _ in 0..times {
        trainer.iterate().unwrap();
    }
    trainer.fetch().unwrap();
}

/// Everything that was learned is the same but for rounding.
fn assert_alike(here: &Trainer, there: &Trainer, what: &str) {
    let (ours, theirs) = (here.policy.params.values(), there.policy.params.values());
    let worst = ours
        .iter()
        .zip(theirs)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0f32, f32::max);
    assert!(worst < 2e-3, "{what}: weights are up to {worst} apart");
    assert_eq!(here.rollout.actions, there.rollout.actions, "{what}");
    assert_eq!(here.hyper.values(), there.hyper.values(), "{what}");
}

const SCHEDULERS: [(&str, &str); 3] = [("epgt", "default"), ("epgt", "paper"), ("fixed", "default")];

#[test]
fn networks_elsewhere_learn_what_they_would_learn_here() {
    for algo in ["ppo", "a2c"] {
        for (scheduler, preset) in SCHEDULERS {
            let config = config(algo, &[("scheduler", scheduler), ("preset", preset)]);
            let (mut here, mut there) = (Trainer::new(&config).unwrap(), Trainer::new(&config).unwrap());
            there.move_to(Mirror::of(&there));
            assert_eq!(there.device().as_deref(), Some("mirror"));
            iterate(&mut here, 6);
            iterate(&mut there, 6);
            assert_alike(&here, &there, &format!("{algo}, {scheduler}, {preset}"));
        }
    }
}

#[test]
fn a_checkpoint_made_elsewhere_goes_on_here_and_there() {
    for algo in ["ppo", "a2c"] {
        let config = config(algo, &[]);
        let mut whole = Trainer::new(&config).unwrap();
        whole.move_to(Mirror::of(&whole));
        iterate(&mut whole, 3);
        let bytes = postcard::to_stdvec(&whole.save()).unwrap();
        iterate(&mut whole, 3);
        for far in [true, false] {
            let mut resumed = Trainer::new(&config).unwrap();
            if far {
                resumed.move_to(Mirror::of(&resumed));
            }
            resumed.restore(postcard::from_bytes(&bytes).unwrap()).unwrap();
            iterate(&mut resumed, 3);
            assert_alike(&whole, &resumed, algo);
            if far {
                assert_eq!(
                    whole.policy.params, resumed.policy.params,
                    "bit for bit where it was made"
                );
            }
        }
    }
}

#[test]
fn a_processor_that_fails_stops_training_with_its_own_words() {
    let mut trainer = Trainer::new(&config("ppo", &[])).unwrap();
    let mut mirror = Mirror::of(&trainer);
    mirror.fails = true;
    trainer.move_to(mirror);
    assert_eq!(trainer.iterate().unwrap_err().to_string(), "the mirror broke");
}

#[test]
fn what_a_gpu_cannot_do_is_refused_in_one_sentence() {
    for (more, reason) in [
        (&[("task", "CartPole-v1")][..], "only policies that look at images"),
        (&[("algo", "a2c"), ("scheduler", "hoof")], "hoof and meta-gradient"),
        (&[("policy.image_hidden", "[16, 16]")], "exactly one dense layer"),
    ] {
        let all = [("task", "PixelCatch-v0"), ("device", "cuda")];
        let all = all.iter().chain(more);
        let assignments: Vec<Assignment> = all.map(|&(key, value)| Assignment::new(key, value)).collect();
        let error = Trainer::new(&Config::build(&assignments).unwrap()).err().unwrap();
        assert!(error.contains(reason) && error.contains("--device cpu"), "{error}");
    }
}

#[cfg(feature = "cuda")]
#[epgt_testing::needs(gpu)]
#[test]
fn a_gpu_learns_what_the_cpu_learns() {
    for algo in ["ppo", "a2c", "acktr"] {
        for (scheduler, preset) in SCHEDULERS {
            let more = [("scheduler", scheduler), ("preset", preset), ("device", "cuda")];
            let mut there = Trainer::new(&config(algo, &more)).unwrap();
            let mut here = Trainer::new(&config(algo, &more[..2])).unwrap();
            // Most pixels of this task are black: behind its first, tiny step the rectifiers of ACKTR's first layer turn on rounding.
            let times = if algo == "acktr" { 1 } else { 6 };
            iterate(&mut here, times);
            iterate(&mut there, times);
            assert_alike(&here, &there, &format!("{algo}, {scheduler}, {preset}"));
            let bytes = postcard::to_stdvec(&there.save()).unwrap();
            iterate(&mut there, 3);
            let mut resumed = Trainer::new(&config(algo, &more)).unwrap();
            resumed.restore(postcard::from_bytes(&bytes).unwrap()).unwrap();
            iterate(&mut resumed, 3);
            assert_eq!(there.policy.params, resumed.policy.params, "bit for bit");
        }
    }
}
