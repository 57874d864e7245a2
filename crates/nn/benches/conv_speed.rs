//! How long the paper's network on pixels takes on one thread, beside PyTorch: acting on 16 images and one training
//! step of 256.
//!
//! `EPGT_PYTHON=python cargo bench -p epgt-nn --bench conv_speed`, with a Python that has torch; without the variable
//! only our own times are shown. Times are CPU time, the fastest of many rounds: what is slower is the machine's other
//! work.

use std::hint::black_box;
use std::process::Command;

use epgt_nn::{Activation, Cnn, ConvShape, Linear, Parameters, RmsProp};
use epgt_rng::Pcg64;

const ACTIONS: usize = 6;
const ROUNDS: usize = 20;

/// The shared trunk with its two heads.
struct Net {
    params: Parameters,
    trunk: Cnn,
    heads: [Linear; 2],
    gradient: Vec<f32>,
    part: Vec<f32>,
}

impl Net {
    fn new() -> Self {
        let (mut params, mut rng) = (Parameters::new(), Pcg64::from_seed(1));
        let convs = [(32, 8, 4), (64, 4, 2), (32, 3, 1)].map(|(outputs, kernel, stride)| ConvShape {
            outputs,
            kernel,
            stride,
        });
        let (image, relu) = ([4, 84, 84], Activation::Relu);
        let trunk = Cnn::new(&mut params, "trunk", image, &convs, &[512], relu, 1.41, &mut rng);
        let heads = [("policy", ACTIONS), ("value", 1)]
            .map(|(name, outputs)| Linear::new(&mut params, name, 512, outputs, Activation::Identity));
        for head in &heads {
            epgt_nn::orthogonal(head.outputs(), 512, 1.0, &mut rng, params.value_mut(head.weight()));
        }
        Self {
            params,
            trunk,
            heads,
            gradient: Vec::new(),
            part: Vec::new(),
        }
    }

    fn act(&mut self, images: &[u8], batch: usize) {
        let features = self.trunk.forward(&self.params, images, batch);
        for head in &mut self.heads {
            black_box(head.forward(&self.params, features, batch));
        }
    }

    /// The loss is the sum of all outputs.
    fn train(&mut self, images: &[u8], batch: usize, rms: &mut RmsProp) {
        self.act(images, batch);
        self.gradient.clear();
        self.gradient.resize(batch * 512, 0.0);
        self.part.resize(batch * 512, 0.0);
        for head in &mut self.heads {
            let ones = vec![1.0; batch * head.outputs()];
            head.backward(&mut self.params, &ones);
            head.input_gradient(&self.params, &mut self.part);
            self.gradient.iter_mut().zip(&self.part).for_each(|(sum, x)| *sum += x);
        }
        self.trunk.backward(&mut self.params, &self.gradient);
        let (values, gradients) = self.params.split_mut();
        rms.step(values, gradients, 1e-9);
    }
}

fn main() {
    let mut net = Net::new();
    let mut rng = Pcg64::from_seed(2);
    let images: Vec<u8> = (0..256 * 4 * 84 * 84).map(|_| rng.below(256) as u8).collect();
    let mut rms = RmsProp::new(net.params.len(), 0.99, 1e-5);
    println!("{} parameters", net.params.len());
    let act = fastest(4, || net.act(&images[..16 * 4 * 84 * 84], 16));
    println!("ours:    forward 16 {act:8.2} ms");
    let train = fastest(1, || net.train(&images, 256, &mut rms));
    println!("ours:    train 256  {train:8.2} ms");
    for (conv, i) in net.trunk.convs().to_vec().iter_mut().zip(0..) {
        layer_times(&mut net.params, conv, i);
    }
    if let Some(python) = std::env::var_os("EPGT_PYTHON") {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/conv_speed.py");
        match Command::new(python).arg(script).status() {
            Ok(status) if status.success() => {}
            other => println!("PyTorch could not be measured: {other:?}"),
        }
    }
}

/// What each pass of one convolution takes, of 256 images.
fn layer_times(params: &mut Parameters, conv: &mut epgt_nn::Conv, i: usize) {
    let images = vec![0.5_f32; 256 * conv.window().image()];
    let gradient = vec![1.0; 256 * conv.output_size()];
    let mut out = vec![0.0; images.len()];
    let forward = fastest(1, || {
        conv.forward(params, &images, 256);
    });
    let backward = fastest(1, || conv.backward(params, &images, &gradient));
    let input = fastest(1, || conv.input_gradient(params, &mut out));
    println!("ours:    conv {i} of 256 floats: forward {forward:.2}, backward {backward:.2}, to input {input:.2} ms");
}

/// CPU milliseconds of one call.
fn fastest(calls: usize, mut call: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = cpu_seconds();
        (0..calls).for_each(|_| call());
        best = best.min((cpu_seconds() - start) * 1e3 / calls as f64);
    }
    best
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives across the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
