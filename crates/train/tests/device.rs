//! Networks on another processor learn what they would learn on this one. A processor made of our own CPU networks
//! stands in for a GPU, so that sending and fetching is tested on every machine; where there is a GPU, it is tested as
//! well.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

use epgt_nn::{
    AdamStep, Buffer, Projections, Remote, RemoteOptimiser, RemoteState, RmsPropStep, TanhLayer, clip_gradient_norm,
};
use epgt_pg::{ActorCritic, PgError};
use epgt_train::{Assignment, Config, DeviceError, SetupError, Trainer};

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
    older: RefCell<VecDeque<Vec<f32>>>,
    has_state: bool,
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
            has_state: true,
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

    fn forward(&mut self, images: &[u8], batch: usize) {
        self.passing = images.to_vec();
        self.agent_mut().forward(images, batch);
    }

    fn keep(&mut self, first: usize) {
        let (first, bytes) = (first * self.size, self.passing.len());
        self.kept.resize(self.kept.len().max(first + bytes), 0);
        self.kept[first..first + bytes].copy_from_slice(&self.passing);
    }

    fn forward_cached(&mut self, rows: &[u32]) {
        let size = self.size;
        let images: Vec<u8> = rows
            .iter()
            .flat_map(|&row| self.kept[row as usize * size..][..size].to_vec())
            .collect();
        self.agent_mut().forward(&images, rows.len());
    }

    fn read_outputs(&self, head: usize, out: &mut [f32]) {
        let all = [self.agent().policy_output(), self.agent().value_output()];
        out.copy_from_slice(all[head]);
    }

    fn backward(&mut self, heads: &[&[f32]], rest: &[f32]) {
        self.agent_mut().backward(heads[0], rest, heads[1]);
    }

    fn clip(&mut self, max_norm: f32) -> f32 {
        clip_gradient_norm(self.agent_mut().params.gradients_mut(), max_norm)
    }

    fn read(&self, buffer: Buffer, out: &mut [f32]) {
        let params = &self.agent().params;
        out.copy_from_slice(match buffer {
            Buffer::Weights => params.values(),
            Buffer::Gradient => params.gradients(),
        });
    }

    fn write(&mut self, buffer: Buffer, values: &[f32]) {
        let params = &mut self.agent_mut().params;
        let into = match buffer {
            Buffer::Weights => params.values_mut(),
            Buffer::Gradient => params.gradients_mut(),
        };
        into.copy_from_slice(values);
    }

    fn optimiser(&mut self) -> &mut dyn RemoteOptimiser {
        self
    }

    fn state(&self) -> Option<&dyn RemoteState> {
        self.has_state.then_some(self as &dyn RemoteState)
    }

    fn state_mut(&mut self) -> Option<&mut dyn RemoteState> {
        self.has_state.then_some(self as &mut dyn RemoteState)
    }
}

impl RemoteOptimiser for Mirror {
    fn adam(&mut self, step: AdamStep, part: Range<usize>) {
        let [mean, square] = &mut self.moments;
        let (values, gradients) = self.agent.as_mut().unwrap().params.split_mut();
        for i in part {
            let (w, g) = (&mut values[i], gradients[i]);
            mean[i] = step.beta1 * mean[i] + (1.0 - step.beta1) * g;
            square[i] = step.beta2 * square[i] + (1.0 - step.beta2) * g * g;
            *w -= step.step_size * mean[i] / (square[i].sqrt() * step.root_scale + step.epsilon);
        }
    }

    fn rms_prop(&mut self, step: RmsPropStep, part: Range<usize>) {
        let square = &mut self.moments[0];
        let (values, gradients) = self.agent.as_mut().unwrap().params.split_mut();
        for i in part {
            let (w, g) = (&mut values[i], gradients[i]);
            square[i] = step.decay * square[i] + (1.0 - step.decay) * g * g;
            *w -= step.learning_rate * g / (square[i].sqrt() + step.epsilon);
        }
    }

    fn read_moment(&self, moment: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.moments[moment]);
    }

    fn write_moment(&mut self, moment: usize, values: &[f32]) {
        self.moments[moment].copy_from_slice(values);
    }
}

impl RemoteState for Mirror {
    fn set(&mut self, projections: Projections<'_>, encoder: &[TanhLayer<'_>], older: &[Vec<f32>]) {
        self.matrices = projections.matrices.to_vec();
        self.tensors = projections.tensors.to_vec();
        self.dim = projections.dim;
        let copy = |layer: &TanhLayer<'_>| (layer.weight.to_vec(), layer.bias.to_vec());
        self.encoder = encoder.iter().map(copy).collect();
        self.older = RefCell::new(older.to_vec().into());
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

    fn read_older(&self, number: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.older.borrow()[number]);
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
fn assert_alike(local: &Trainer, remote: &Trainer, what: &str) {
    let (ours, theirs) = (local.policy.params.values(), remote.policy.params.values());
    let worst = ours
        .iter()
        .zip(theirs)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0f32, f32::max);
    assert!(worst < 2e-3, "{what}: weights are up to {worst} apart");
    assert_eq!(local.rollout.actions, remote.rollout.actions, "{what}");
    assert_eq!(local.hyper.values(), remote.hyper.values(), "{what}");
}

const SCHEDULERS: [(&str, &str); 3] = [("epgt", "default"), ("epgt", "paper"), ("fixed", "default")];

#[test]
fn networks_on_another_processor_learn_what_they_learn_on_this_one() {
    for algo in ["ppo", "a2c"] {
        for (scheduler, preset) in SCHEDULERS {
            let config = config(algo, &[("scheduler", scheduler), ("preset", preset)]);
            let (mut local, mut remote) = (Trainer::new(&config).unwrap(), Trainer::new(&config).unwrap());
            remote.move_to(Mirror::of(&remote)).unwrap();
            assert_eq!(remote.device().as_deref(), Some("mirror"));
            iterate(&mut local, 6);
            iterate(&mut remote, 6);
            assert_alike(&local, &remote, &format!("{algo}, {scheduler}, {preset}"));
        }
    }
}

#[test]
fn a_checkpoint_made_on_another_processor_resumes_on_both() {
    for algo in ["ppo", "a2c"] {
        let config = config(algo, &[]);
        let mut whole = Trainer::new(&config).unwrap();
        whole.move_to(Mirror::of(&whole)).unwrap();
        iterate(&mut whole, 3);
        let bytes = postcard::to_stdvec(&whole.save()).unwrap();
        iterate(&mut whole, 3);
        for is_remote in [true, false] {
            let mut resumed = Trainer::new(&config).unwrap();
            if is_remote {
                resumed.move_to(Mirror::of(&resumed)).unwrap();
            }
            resumed.restore(postcard::from_bytes(&bytes).unwrap()).unwrap();
            iterate(&mut resumed, 3);
            assert_alike(&whole, &resumed, algo);
            if is_remote {
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
    trainer.move_to(mirror).unwrap();
    assert_eq!(trainer.iterate().unwrap_err().to_string(), "the mirror broke");
}

#[test]
fn without_a_hyper_state_on_the_processor_the_networks_are_fetched_before_every_choice() {
    let config = config("ppo", &[]);
    let (mut local, mut remote) = (Trainer::new(&config).unwrap(), Trainer::new(&config).unwrap());
    let mut mirror = Mirror::of(&remote);
    mirror.has_state = false;
    remote.move_to(mirror).unwrap();
    iterate(&mut local, 6);
    iterate(&mut remote, 6);
    assert_alike(&local, &remote, "without a state");
}

#[test]
fn acktr_is_refused_by_a_processor_without_kfac() {
    let mut trainer = Trainer::new(&config("acktr", &[])).unwrap();
    let refusal = trainer.move_to(Mirror::of(&trainer)).unwrap_err();
    assert_eq!(refusal, SetupError::Method(PgError::NoKfac("mirror".to_string())));
    assert_eq!(
        refusal.to_string(),
        "acktr needs K-FAC, which mirror has not; use --device cpu"
    );
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
        assert!(
            matches!(error, SetupError::Device(DeviceError::Unfit(why)) if why.contains(reason)),
            "{error}"
        );
        assert!(error.to_string().ends_with("; use --device cpu"), "{error}");
    }
}

#[cfg(feature = "cuda")]
#[epgt_testing::needs(gpu)]
#[test]
fn a_gpu_learns_what_the_cpu_learns() {
    for algo in ["ppo", "a2c", "acktr"] {
        for (scheduler, preset) in SCHEDULERS {
            let more = [("scheduler", scheduler), ("preset", preset), ("device", "cuda")];
            let mut remote = Trainer::new(&config(algo, &more)).unwrap();
            let mut local = Trainer::new(&config(algo, &more[..2])).unwrap();
            // Most pixels of this task are black: behind its first, tiny step the rectifiers of ACKTR's first layer
            // turn on rounding.
            let times = if algo == "acktr" { 1 } else { 6 };
            iterate(&mut local, times);
            iterate(&mut remote, times);
            assert_alike(&local, &remote, &format!("{algo}, {scheduler}, {preset}"));
            let bytes = postcard::to_stdvec(&remote.save()).unwrap();
            iterate(&mut remote, 3);
            let mut resumed = Trainer::new(&config(algo, &more)).unwrap();
            resumed.restore(postcard::from_bytes(&bytes).unwrap()).unwrap();
            iterate(&mut resumed, 3);
            assert_eq!(remote.policy.params, resumed.policy.params, "bit for bit");
        }
    }
}
