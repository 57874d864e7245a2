//! The GPU's passes beside the same sums written out in double precision. Without a GPU there is only the sentence to
//! check.

mod plain;

use epgt_cuda::{Gpu, NetShape};
use epgt_nn::{
    Activation, Adam, Buffer, Cnn, Kfac, Mlp, Optimiser, Parameters, Projections, Rates, Remote, RemoteOptimiser,
    RemoteState, RmsProp, TanhLayer,
};
use epgt_rng::Pcg64;
use epgt_testing::needs;

use plain::{close, images_at, numbers, on_gpu, plain, read};

#[needs(gpu)]
#[test]
fn both_passes_agree_with_sums_written_out() {
    for wide in [true, false] {
        let plain = plain(wide);
        let mut gpu = on_gpu(&plain);
        let mut random = numbers(11);
        // All images are kept, two at a time.
        for first in [0, 2, 4] {
            gpu.forward(&images_at(&plain, &[first, first + 1]), 2);
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
                    false => gpu.forward(&images_at(&plain, &rows), rows.len()),
                    true => gpu.forward_cached(&rows),
                }
                for (head, theirs) in outputs.iter().enumerate() {
                    let mut ours = vec![0.0; theirs.len()];
                    gpu.read_outputs(head, &mut ours);
                    close("output", &ours, theirs);
                }
                gpu.backward(&[&factors[0], &factors[1]], &[]);
                close("gradient", &read(&gpu, Buffer::Gradient, gradient.len()), &gradient);
            }
        }
    }
}

#[needs(gpu)]
#[test]
fn optimisers_step_as_their_equations_say() {
    let plain = plain(true);
    let count = plain.weights.len();
    let factors = [vec![0.3f32; 10], vec![-0.2; 2]];
    for with_adam in [true, false] {
        let mut gpu = on_gpu(&plain);
        let (mut adam, mut rms) = (Adam::new(count, 0.9, 0.999, 1e-5), RmsProp::new(count, 0.99, 1e-5));
        let (mut w, mut m, mut v) = (plain.weights.clone(), vec![0.0; count], vec![0.0; count]);
        // A part of the weights has a rate of its own, as a critic has.
        let apart = count / 3..count / 2;
        let rates = Rates {
            all: 0.01,
            apart: Some((apart.clone(), 0.003)),
        };
        for step in 1..=3 {
            gpu.forward(&images_at(&plain, &[0, 1]), 2);
            gpu.backward(&[&factors[0], &factors[1]], &[]);
            let gradient: Vec<f64> = read(&gpu, Buffer::Gradient, count)
                .iter()
                .map(|&g| f64::from(g))
                .collect();
            let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            assert!(norm > 0.5, "the gradient is clipped: {norm}");
            assert!((f64::from(gpu.clip(0.5)) / norm - 1.0).abs() < 1e-5);
            match with_adam {
                true => adam.step_remote(gpu.optimiser(), &rates),
                false => rms.step_remote(gpu.optimiser(), &rates),
            }
            let clipped: Vec<f64> = gradient.iter().map(|g| g * 0.5 / (norm + 1e-6)).collect();
            close("clipped gradient", &read(&gpu, Buffer::Gradient, count), &clipped);
            for (i, g) in clipped.into_iter().enumerate() {
                let rate = if apart.contains(&i) { 0.003 } else { 0.01 };
                if with_adam {
                    m[i] = 0.9 * m[i] + 0.1 * g;
                    v[i] = 0.999 * v[i] + 0.001 * g * g;
                    let correct = |beta: f64| 1.0 - beta.powi(step);
                    w[i] -= rate * (m[i] / correct(0.9)) / ((v[i] / correct(0.999)).sqrt() + 1e-5);
                } else {
                    v[i] = 0.99 * v[i] + 0.01 * g * g;
                    w[i] -= rate * g / (v[i].sqrt() + 1e-5);
                }
            }
            close("weight", &read(&gpu, Buffer::Weights, count), &w);
        }
        let mut moment = vec![f32::NAN; count];
        gpu.read_moment(0, &mut moment);
        assert_eq!(gpu.fault(), None);
        let state = if with_adam { &m } else { &v };
        close("running mean", &moment, state);
    }
}

#[needs(gpu)]
#[test]
fn features_are_rows_times_matrices_of_weights_and_gradients() {
    let plain = plain(true);
    let mut gpu = on_gpu(&plain);
    let count = plain.weights.len();
    // Any cut of the flat array into rows will do.
    let tensors = [(3, 40), (1, 7), (2, 200)];
    let (dim, sources) = (3, 3);
    let per_source: usize = tensors.iter().map(|(_, width)| width * dim).sum();
    let mut random = numbers(5);
    let matrices: Vec<f32> = (0..per_source * sources).map(|_| random() as f32 - 0.5).collect();
    let used: usize = tensors.iter().map(|(height, width)| height * width).sum();
    let older = vec![(0..used).map(|_| random() as f32).collect::<Vec<f32>>()];
    // Two layers make a key of the features.
    let mut weights_of = |count: usize| -> Vec<f32> { (0..count).map(|_| random() as f32 - 0.5).collect() };
    let (inputs, middle) = (6 * dim * sources, 7);
    let (w, b) = (weights_of(inputs * middle), weights_of(middle));
    let (v, c) = (weights_of(middle * 4), weights_of(4));
    let projections = Projections {
        tensors: &tensors,
        sources,
        dim,
        matrices: &matrices,
    };
    gpu.set(
        projections,
        &[TanhLayer { weight: &w, bias: &b }, TanhLayer { weight: &v, bias: &c }],
        &older,
    );
    gpu.forward(&images_at(&plain, &[2]), 1);
    gpu.backward(&[&[0.5; 5], &[1.0]], &[]);
    let weights = read(&gpu, Buffer::Weights, count);
    let gradient = read(&gpu, Buffer::Gradient, count);
    let mut ours = vec![0.0; inputs];
    gpu.project(&mut ours);
    let mut theirs = Vec::new();
    for (n, source) in [&weights, &gradient, &older[0]].into_iter().enumerate() {
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
    // The last gradient becomes the first of the older ones.
    gpu.write(Buffer::Gradient, &vec![0.5; count]);
    gpu.set(
        Projections {
            tensors: &[(1, count)],
            sources,
            dim: 1,
            matrices: &vec![1.0; count * sources],
        },
        &[],
        &[vec![0.25; count]],
    );
    let mut first = vec![f32::NAN; count];
    for expected in [0.25, 0.5] {
        gpu.read_older(0, &mut first);
        assert!(first.iter().all(|&x| x == expected));
        gpu.age();
    }
    assert_eq!(gpu.fault(), None);
}

#[test]
fn a_network_that_the_kernels_cannot_work_on_is_refused() {
    let mut shape = NetShape::paper(6);
    shape.convs[1].outputs = 3;
    assert!(
        Gpu::open(shape, false)
            .unwrap_err()
            .to_string()
            .contains("multiple of four")
    );
}

#[needs(gpu)]
#[test]
fn kfac_steps_as_it_does_on_the_cpu() {
    let plain = plain(true);
    let mut gpu = on_gpu(&plain);
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
    let mut remote_kfac = kfac.clone();
    gpu.write(Buffer::Weights, params.values());
    remote_kfac.send(gpu.kfac().unwrap());

    let mut random = numbers(3);
    for step in 0..5 {
        let rows = [step, (step + 1) % 6, (step + 3) % 6];
        let images = images_at(&plain, &rows);
        gpu.forward(&images, 3);
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
            let heads_gradients = [&gradients[0][..], &gradients[1]];
            if sampled {
                let first = kfac.observe_cnn(0, &trunk);
                for (i, layer) in (first..).zip(heads.iter().flat_map(Mlp::layers)) {
                    kfac.observe_rows(i, layer.input(), layer.delta(), layer.batch());
                }
                remote_kfac.observe_remote(gpu.kfac().unwrap(), &heads_gradients, &[]);
            } else {
                gpu.backward(&heads_gradients, &[]);
            }
        }
        let (ours, theirs) = (
            remote_kfac.step_remote(gpu.kfac().unwrap()).unwrap(),
            kfac.step(&mut params).unwrap(),
        );
        assert!(
            (ours.scale / theirs.scale - 1.0).abs() < 1e-3,
            "{ours:?} beside {theirs:?}"
        );
        let weights: Vec<f64> = params.values().iter().map(|&w| f64::from(w)).collect();
        let ours = read(&gpu, Buffer::Weights, weights.len());
        let apart = ours.iter().zip(&weights).map(|(&a, &b)| (f64::from(a) - b).abs());
        let apart = apart.fold(0.0, f64::max);
        assert!(apart < 1e-4, "step {step}: weights are up to {apart} apart");
    }
    remote_kfac.fetch(gpu.kfac().unwrap());
    assert_eq!(gpu.fault(), None);
}
