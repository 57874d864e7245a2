//! The GPU's passes beside the same sums written out in double precision. Without a GPU there is only the sentence to check.

use epgt_cuda::{ConvShape, Gpu, NetShape};
use epgt_nn::{Activation, Adam, Cnn, Kept, Kfac, Mlp, Optimiser, Parameters, Projections, Remote, RmsProp, TanhLayer};
use epgt_rng::Pcg64;

/// Numbers from 0 to 1 that are the same every time.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// A layer of the plain network: its inputs, and what it made of them before and after the rectifier.
struct Plain {
    shape: NetShape,
    weights: Vec<f64>,
    images: Vec<u8>,
}

impl Plain {
    /// Outputs of both heads, and the gradient of sum(outputs * factors), for some of the images.
    fn run(&self, rows: &[u32], factors: &[Vec<f32>]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut gradient = vec![0.0; self.weights.len()];
        let mut outputs = vec![Vec::new(); self.shape.heads.len()];
        for (i, &row) in rows.iter().enumerate() {
            let of_image: Vec<Vec<f64>> = factors
                .iter()
                .zip(&self.shape.heads)
                .map(|(factors, &n)| factors[i * n..][..n].iter().map(|&x| f64::from(x)).collect())
                .collect();
            let made = self.image(row as usize, &of_image, &mut gradient);
            outputs.iter_mut().zip(made).for_each(|(all, one)| all.extend(one));
        }
        (outputs, gradient)
    }

    /// One image, forward and backward. Values are kept channels last; the first window reads channels first.
    fn image(&self, row: usize, factors: &[Vec<f64>], gradient: &mut [f64]) -> Vec<Vec<f64>> {
        let [planes, height, width] = self.shape.image;
        let pixels = &self.images[row * planes * height * width..][..planes * height * width];
        // Each layer as (inputs' places of every row of its matrix, start of its tensors, rows, outputs), and its values.
        let mut values: Vec<Vec<f64>> = vec![pixels.iter().map(|&p| f64::from(p) / 255.0).collect()];
        let mut layers: Vec<(Vec<Vec<usize>>, usize, usize)> = Vec::new();
        let (mut h, mut w, mut depth, mut start) = (height, width, planes, 0);
        for (n, conv) in self.shape.convs.iter().enumerate() {
            let (down, across) = ((h - conv.kernel) / conv.stride + 1, (w - conv.kernel) / conv.stride + 1);
            let mut places = Vec::new();
            for v in 0..down {
                for u in 0..across {
                    let mut patch = Vec::new();
                    let (y, x) = (v * conv.stride, u * conv.stride);
                    if n == 0 {
                        for c in 0..depth {
                            for j in 0..conv.kernel {
                                patch.extend((0..conv.kernel).map(|i| (c * h + y + j) * w + x + i));
                            }
                        }
                    } else {
                        for j in 0..conv.kernel {
                            for i in 0..conv.kernel {
                                patch.extend((0..depth).map(|c| ((y + j) * w + x + i) * depth + c));
                            }
                        }
                    }
                    places.push(patch);
                }
            }
            let inputs = places[0].len();
            layers.push((places, start, conv.outputs));
            start += inputs * conv.outputs + conv.outputs;
            (h, w, depth) = (down, across, conv.outputs);
        }
        let features = h * w * depth;
        layers.push((vec![(0..features).collect()], start, self.shape.dense));
        start += (features + 1) * self.shape.dense;
        for (places, start, outputs) in &layers {
            let before = &values[values.len() - 1];
            let after = self.affine(before, places, *start, *outputs, true);
            values.push(after);
        }
        let hidden = values.last().unwrap().clone();
        let all = vec![(0..self.shape.dense).collect::<Vec<usize>>()];
        let mut made = Vec::new();
        let mut flow = vec![0.0; self.shape.dense];
        for (&outputs, factors) in self.shape.heads.iter().zip(factors) {
            made.push(self.affine(&hidden, &all, start, outputs, false));
            self.back(&hidden, &all, start, outputs, factors, gradient, &mut flow);
            start += (self.shape.dense + 1) * outputs;
        }
        for (n, (places, start, outputs)) in layers.iter().enumerate().rev() {
            let slope = flow.iter().zip(&values[n + 1]);
            let delta: Vec<f64> = slope.map(|(&g, &y)| if y > 0.0 { g } else { 0.0 }).collect();
            flow = vec![0.0; values[n].len()];
            self.back(&values[n], places, *start, *outputs, &delta, gradient, &mut flow);
        }
        made
    }

    fn affine(&self, before: &[f64], places: &[Vec<usize>], start: usize, outputs: usize, rectify: bool) -> Vec<f64> {
        let inputs = places[0].len();
        let (weight, bias) = self.weights[start..].split_at(inputs * outputs);
        let mut after = Vec::new();
        for patch in places {
            for o in 0..outputs {
                let products = patch
                    .iter()
                    .zip(&weight[o * inputs..])
                    .map(|(&place, w)| before[place] * w);
                let sum: f64 = products.sum::<f64>() + bias[o];
                after.push(if rectify { sum.max(0.0) } else { sum });
            }
        }
        after
    }

    #[allow(clippy::too_many_arguments)] // a layer's whole story, told once
    fn back(
        &self,
        before: &[f64],
        places: &[Vec<usize>],
        start: usize,
        outputs: usize,
        delta: &[f64],
        gradient: &mut [f64],
        flow: &mut [f64],
    ) {
        let inputs = places[0].len();
        for (r, patch) in places.iter().enumerate() {
            for o in 0..outputs {
                let d = delta[r * outputs + o];
                gradient[start + inputs * outputs + o] += d;
                for (k, &place) in patch.iter().enumerate() {
                    gradient[start + o * inputs + k] += d * before[place];
                    flow[place] += d * self.weights[start + o * inputs + k];
                }
            }
        }
    }
}

/// The network on the GPU, with the plain one's weights, if there is a GPU.
fn on_gpu(plain: &Plain) -> Option<Gpu> {
    match Gpu::open(plain.shape.clone(), false) {
        Ok(mut gpu) => {
            let weights: Vec<f32> = plain.weights.iter().map(|&w| w as f32).collect();
            gpu.write(Kept::Weights, &weights);
            Some(gpu)
        }
        Err(sentence) => {
            assert!(sentence.contains("--device cpu"), "{sentence}");
            println!("skipped: {sentence}");
            None
        }
    }
}

fn close(what: &str, ours: &[f32], theirs: &[f64]) {
    let scale = theirs.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    for (i, (&a, &b)) in ours.iter().zip(theirs).enumerate() {
        let off = (f64::from(a) - b).abs();
        assert!(
            off <= 2e-5 * scale.max(1e-3),
            "{what}[{i}]: {a} on the GPU, {b} by hand"
        );
    }
}

/// A network small enough to be written out; `wide` pixels can be read by four, others cannot.
fn plain(wide: bool) -> Plain {
    let conv = |outputs, kernel, stride| ConvShape {
        outputs,
        kernel,
        stride,
    };
    let (image, first) = match wide {
        true => ([3, 22, 24], conv(8, 4, 4)),
        false => ([2, 19, 17], conv(8, 5, 2)),
    };
    let shape = NetShape {
        image,
        convs: vec![first, conv(12, 3, 1), conv(4, 2, 1)],
        dense: 20,
        heads: vec![5, 1],
        rest: 0,
    };
    let mut random = numbers(7);
    Plain {
        weights: (0..shape.parameters())
            .map(|_| f64::from((random() - 0.45) as f32 * 0.3))
            .collect(),
        images: (0..6 * shape.image_size()).map(|_| (random() * 255.0) as u8).collect(),
        shape,
    }
}

/// The images with these numbers, one after another.
fn images_at(plain: &Plain, rows: &[u32]) -> Vec<u8> {
    let size = plain.shape.image_size();
    rows.iter()
        .flat_map(|&row| plain.images[row as usize * size..][..size].iter().copied())
        .collect()
}

fn kept(gpu: &Gpu, what: Kept, count: usize) -> Vec<f32> {
    let mut numbers = vec![f32::NAN; count];
    gpu.read(what, &mut numbers);
    assert_eq!(gpu.fault(), None);
    numbers
}

#[test]
fn both_passes_agree_with_sums_written_out() {
    for wide in [true, false] {
        let plain = plain(wide);
        let Some(mut gpu) = on_gpu(&plain) else { return };
        let mut random = numbers(11);
        // All images are kept, two at a time.
        for first in [0, 2, 4] {
            gpu.look(&images_at(&plain, &[first, first + 1]), 2);
            gpu.keep(first as usize);
        }
        // A second, larger batch makes the buffers grow; images may come twice.
        for rows in [vec![3, 0], vec![5, 1, 1, 4, 0]] {
            let factors: Vec<Vec<f32>> = plain
                .shape
                .heads
                .iter()
                .map(|n| (0..n * rows.len()).map(|_| random() as f32 - 0.5).collect())
                .collect();
            let (outputs, gradient) = plain.run(&rows, &factors);
            for again in [false, true] {
                match again {
                    false => gpu.look(&images_at(&plain, &rows), rows.len()),
                    true => gpu.look_again(&rows),
                }
                for (head, theirs) in outputs.iter().enumerate() {
                    let mut ours = vec![0.0; theirs.len()];
                    gpu.outputs(head, &mut ours);
                    close("output", &ours, theirs);
                }
                gpu.backward(&[&factors[0], &factors[1]], &[]);
                close("gradient", &kept(&gpu, Kept::Gradient, gradient.len()), &gradient);
            }
        }
    }
}

#[test]
fn optimisers_step_as_their_equations_say() {
    let plain = plain(true);
    let count = plain.weights.len();
    let factors = [vec![0.3f32; 10], vec![-0.2; 2]];
    for with_adam in [true, false] {
        let Some(mut gpu) = on_gpu(&plain) else { return };
        let (mut adam, mut rms) = (Adam::new(count, 0.9, 0.999, 1e-5), RmsProp::new(count, 0.99, 1e-5));
        let (mut w, mut m, mut v) = (plain.weights.clone(), vec![0.0; count], vec![0.0; count]);
        for step in 1..=3 {
            gpu.look(&images_at(&plain, &[0, 1]), 2);
            gpu.backward(&[&factors[0], &factors[1]], &[]);
            let gradient: Vec<f64> = kept(&gpu, Kept::Gradient, count)
                .iter()
                .map(|&g| f64::from(g))
                .collect();
            let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            assert!(norm > 0.5, "the gradient is clipped: {norm}");
            assert!((f64::from(gpu.clip(0.5)) / norm - 1.0).abs() < 1e-5);
            match with_adam {
                true => adam.step_there(&mut gpu, 0.01),
                false => rms.step_there(&mut gpu, 0.01),
            }
            let clipped: Vec<f64> = gradient.iter().map(|g| g * 0.5 / (norm + 1e-6)).collect();
            close("clipped gradient", &kept(&gpu, Kept::Gradient, count), &clipped);
            for (i, g) in clipped.into_iter().enumerate() {
                if with_adam {
                    m[i] = 0.9 * m[i] + 0.1 * g;
                    v[i] = 0.999 * v[i] + 0.001 * g * g;
                    let correct = |beta: f64| 1.0 - beta.powi(step);
                    w[i] -= 0.01 * (m[i] / correct(0.9)) / ((v[i] / correct(0.999)).sqrt() + 1e-5);
                } else {
                    v[i] = 0.99 * v[i] + 0.01 * g * g;
                    w[i] -= 0.01 * g / (v[i].sqrt() + 1e-5);
                }
            }
            close("weight", &kept(&gpu, Kept::Weights, count), &w);
        }
        let state = if with_adam { &m } else { &v };
        close("running mean", &kept(&gpu, Kept::Moment(0), count), state);
    }
}

#[test]
fn features_are_rows_times_matrices_of_weights_and_gradients() {
    let plain = plain(true);
    let Some(mut gpu) = on_gpu(&plain) else { return };
    let count = plain.weights.len();
    // Any cut of the flat array into rows will do.
    let tensors = [(3, 40), (1, 7), (2, 200)];
    let (dim, sources) = (3, 3);
    let per_source: usize = tensors.iter().map(|(_, width)| width * dim).sum();
    let mut random = numbers(5);
    let matrices: Vec<f32> = (0..per_source * sources).map(|_| random() as f32 - 0.5).collect();
    gpu.set_projections(Projections {
        tensors: &tensors,
        sources,
        dim,
        matrices: &matrices,
    });
    let used: usize = tensors.iter().map(|(height, width)| height * width).sum();
    let old: Vec<f32> = (0..used).map(|_| random() as f32).collect();
    gpu.write(Kept::Older(0), &old);
    gpu.look(&images_at(&plain, &[2]), 1);
    gpu.backward(&[&[0.5; 5], &[1.0]], &[]);
    let weights = kept(&gpu, Kept::Weights, count);
    let gradient = kept(&gpu, Kept::Gradient, count);
    let mut ours = vec![0.0; 6 * dim * sources];
    gpu.project(&mut ours);
    let mut theirs = Vec::new();
    for (n, source) in [&weights, &gradient, &old].into_iter().enumerate() {
        let (mut start, mut matrix) = (0, n * per_source);
        for (height, width) in tensors {
            for _ in 0..height {
                for k in 0..dim {
                    let column = &matrices[matrix + k * width..][..width];
                    let products = source[start..][..width].iter().zip(column);
                    theirs.push(products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum());
                }
                start += width;
            }
            matrix += dim * width;
        }
    }
    close("feature", &ours, &theirs);
    // A key is made of them by two layers.
    let weights_of = |random: &mut dyn FnMut() -> f64, count: usize| -> Vec<f32> {
        (0..count).map(|_| random() as f32 - 0.5).collect()
    };
    let (inputs, middle) = (ours.len(), 7);
    let (w, b) = (
        weights_of(&mut random, inputs * middle),
        weights_of(&mut random, middle),
    );
    let (v, c) = (weights_of(&mut random, middle * 4), weights_of(&mut random, 4));
    gpu.set_encoder(&[TanhLayer { weight: &w, bias: &b }, TanhLayer { weight: &v, bias: &c }]);
    let mut key = [0.0; 2];
    gpu.encode(&ours, &mut key);
    let layer = |weight: &[f32], bias: &[f32], inputs: &[f64]| -> Vec<f64> {
        let rows = weight.chunks_exact(inputs.len()).zip(bias);
        rows.map(|(row, &bias)| {
            let sum: f64 = row.iter().zip(inputs).map(|(&w, x)| f64::from(w) * x).sum();
            (sum + f64::from(bias)).tanh()
        })
        .collect()
    };
    close("key", &key, &layer(&v, &c, &layer(&w, &b, &theirs))[..2]);
    let norm = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let (of_weights, of_gradient) = gpu.norms();
    close("norm", &[of_weights, of_gradient], &[norm(&weights), norm(&gradient)]);
}

#[test]
fn a_network_that_the_kernels_cannot_work_on_is_refused() {
    let mut shape = NetShape::paper(6);
    shape.convs[1].outputs = 3;
    assert!(Gpu::open(shape, false).unwrap_err().contains("multiple of four"));
}

#[test]
fn kfac_steps_as_it_does_on_the_cpu() {
    let plain = plain(true);
    let Some(mut gpu) = on_gpu(&plain) else { return };
    gpu.start_kfac().unwrap();
    // The same network on the CPU.
    let mut params = Parameters::new();
    let convs: Vec<epgt_nn::ConvShape> = plain
        .shape
        .convs
        .iter()
        .map(|conv| epgt_nn::ConvShape {
            outputs: conv.outputs,
            kernel: conv.kernel,
            stride: conv.stride,
        })
        .collect();
    let mut rng = Pcg64::from_seed(1);
    let mut trunk = Cnn::uniform(
        &mut params,
        "trunk",
        plain.shape.image,
        &convs,
        &[20],
        Activation::Relu,
        &mut rng,
    );
    let mut head = |name: &str, outputs: usize| {
        let (inner, outer) = (Activation::Tanh, Activation::Identity);
        Mlp::uniform(&mut params, name, &[20, outputs], inner, outer, &mut rng)
    };
    let mut heads = [head("policy", 5), head("value", 1)];
    let mut kfac = Kfac::new();
    trunk.convs().iter().for_each(|conv| _ = kfac.add_conv(conv));
    let dense = trunk.dense().layers().iter();
    dense
        .chain(heads.iter().flat_map(Mlp::layers))
        .for_each(|layer| _ = kfac.add_linear(layer));
    (kfac.step_size, kfac.kl_clip, kfac.inverse_interval) = (0.3, 0.01, 2);
    let mut there = kfac.clone();
    gpu.write(Kept::Weights, params.values());
    there.send(&mut gpu);

    let mut random = numbers(3);
    for step in 0..5 {
        let rows = [step, (step + 1) % 6, (step + 3) % 6];
        let images = images_at(&plain, &rows);
        gpu.look(&images, 3);
        for sampled in [true, false] {
            let gradients = [5, 1].map(|n| (0..3 * n).map(|_| random() as f32 - 0.5).collect::<Vec<f32>>());
            let features = trunk.forward(&params, &images, 3);
            let mut flow = vec![0.0; features.len()];
            for (head, gradient) in heads.iter_mut().zip(&gradients) {
                head.forward(&params, trunk.output(), 3);
                let back = head.backward_to_input(&mut params, gradient);
                flow.iter_mut().zip(back).for_each(|(sum, x)| *sum += x);
            }
            trunk.backward(&mut params, &flow);
            let there_too = [&gradients[0][..], &gradients[1]];
            if sampled {
                let first = kfac.observe_cnn(0, &trunk);
                for (i, layer) in (first..).zip(heads.iter().flat_map(Mlp::layers)) {
                    kfac.observe_rows(i, layer.input(), layer.delta(), layer.batch());
                }
                there.observe_there(&mut gpu, &there_too, &[]);
            } else {
                gpu.backward(&there_too, &[]);
            }
        }
        let (ours, theirs) = (there.step_there(&mut gpu).unwrap(), kfac.step(&mut params).unwrap());
        assert!(
            (ours.scale / theirs.scale - 1.0).abs() < 1e-3,
            "{ours:?} beside {theirs:?}"
        );
        let weights: Vec<f64> = params.values().iter().map(|&w| f64::from(w)).collect();
        let ours = kept(&gpu, Kept::Weights, weights.len());
        let apart = ours.iter().zip(&weights).map(|(&a, &b)| (f64::from(a) - b).abs());
        let apart = apart.fold(0.0, f64::max);
        assert!(apart < 1e-4, "step {step}: weights are up to {apart} apart");
    }
    // A copy of its state goes on alike.
    there.fetch(&gpu);
    assert_eq!(gpu.fault(), None);
}
