//! K-FAC against PyTorch in float64 (recorded by `record_kfac.py`), against the dense Fisher matrix, and what holds for
//! every natural-gradient step.

use epgt_nn::{Activation, Kfac, KfacError, Linear, Mlp, Parameters};
use epgt_rng::Pcg64;
use proptest::prelude::*;
use serde_json::Value;

fn number(value: &Value) -> f32 {
    value.as_f64().unwrap() as f32
}

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn concat(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().flat_map(numbers).collect()
}

fn normals(rng: &mut Pcg64, len: usize) -> Vec<f32> {
    (0..len).map(|_| rng.standard_normal() as f32).collect()
}

fn assert_close(what: &str, ours: &[f32], theirs: &[f32], tolerance: f32) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!(
            (a - b).abs() <= tolerance * (1.0 + b.abs()),
            "{what}[{i}]: {a} is not {b}"
        );
    }
}

/// A network with tanh layers, all its layers in one K-FAC.
fn network(sizes: &[usize], seed: u64) -> (Parameters, Mlp, Kfac) {
    let mut params = Parameters::new();
    let (hidden, output) = (Activation::Tanh, Activation::Identity);
    let mut rng = Pcg64::from_seed(seed);
    let net = Mlp::new(&mut params, "net", sizes, hidden, output, 1.0, 1.0, &mut rng);
    let mut kfac = Kfac::new();
    for layer in net.layers() {
        kfac.add_linear(layer);
    }
    (params, net, kfac)
}

#[test]
fn steps_are_those_of_pytorch() {
    let data: Value = serde_json::from_str(include_str!("data/kfac.json")).unwrap();
    for run in data["runs"].as_array().unwrap() {
        let sizes: Vec<usize> = serde_json::from_value(run["sizes"].clone()).unwrap();
        let batch = run["batch"].as_u64().unwrap() as usize;
        let (mut params, mut net, mut kfac) = network(&sizes, 0);
        let outputs = sizes[sizes.len() - 1];
        let log_std = params.add("log_std", 1, outputs);
        kfac.add_known(log_std, outputs, 2.0);
        params.values_mut().copy_from_slice(&concat(&run["start"]));
        for (i, step) in run["steps"].as_array().unwrap().iter().enumerate() {
            let h = &step["hyperparameters"];
            kfac.step_size = number(&h["step_size"]);
            kfac.kl_clip = number(&h["kl_clip"]);
            kfac.damping = number(&h["damping"]);
            kfac.momentum = number(&h["momentum"]);
            kfac.decay = number(&h["decay"]);
            kfac.inverse_interval = h["inverse_interval"].as_u64().unwrap() as u32;

            net.forward(&params, &numbers(&step["input"]), batch);
            net.backward(&mut params, &numbers(&step["sampled"]));
            kfac.observe(net.layers());
            net.backward(&mut params, &numbers(&step["output_gradient"]));
            params
                .gradient_mut(log_std)
                .copy_from_slice(&numbers(&step["log_std_gradient"]));
            let done = kfac.step(&mut params).unwrap();
            let expected = [number(&step["scale"]), number(&step["kl"])];
            assert_close(&format!("{sizes:?} scale {i}"), &[done.scale, done.kl], &expected, 1e-5);
            let expected = concat(&step["parameters"]);
            assert_close(&format!("{sizes:?} step {i}"), params.values(), &expected, 1e-5);
        }
    }
}

/// Solves a symmetric positive system by elimination.
fn solve(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Vec<f64> {
    let n = right.len();
    for k in 0..n {
        for i in k + 1..n {
            let factor = matrix[i * n + k] / matrix[k * n + k];
            for j in k..n {
                matrix[i * n + j] -= factor * matrix[k * n + j];
            }
            right[i] -= factor * right[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| matrix[k * n + j] * right[j]).sum();
        right[k] = (right[k] - known) / matrix[k * n + k];
    }
    right
}

/// A layer that puts out the means of unit Gaussians, in a K-FAC of its own.
fn linear(inputs: usize, outputs: usize) -> (Parameters, Linear, Kfac) {
    let mut params = Parameters::new();
    let layer = Linear::new(&mut params, "mean", inputs, outputs, Activation::Identity);
    let mut kfac = Kfac::new();
    kfac.add_linear(&layer);
    (params, layer, kfac)
}

#[test]
fn for_a_linear_gaussian_model_the_step_is_the_exact_natural_gradient() {
    let (inputs, outputs, examples) = (4, 3, 12);
    let mut rng = Pcg64::from_seed(2);
    let (mut params, layer, mut kfac) = linear(inputs, outputs);
    (kfac.step_size, kfac.kl_clip, kfac.damping, kfac.momentum) = (1.0, f32::INFINITY, 0.0, 0.0);

    // Each input meets gradients whose second moment is exactly that of unit Gaussians, the identity.
    let (mut rows, mut gradients, mut fisher) = (Vec::new(), Vec::new(), Vec::new());
    let size = outputs * (inputs + 1);
    fisher.resize(size * size, 0.0);
    for _ in 0..examples {
        let input = normals(&mut rng, inputs);
        for k in 0..outputs {
            let mut gradient = vec![0.0; outputs];
            gradient[k] = (outputs as f32).sqrt();
            // The gradient of this row's likelihood, weight and bias of each output together.
            let whole: Vec<f64> = gradient
                .iter()
                .flat_map(|g| input.iter().chain(&[1.0]).map(move |x| f64::from(g * x)))
                .collect();
            for i in 0..size {
                for j in 0..size {
                    fisher[i * size + j] += whole[i] * whole[j] / (examples * outputs) as f64;
                }
            }
            rows.extend(&input);
            gradients.extend(gradient);
        }
    }
    kfac.observe_rows(0, &rows, &gradients, examples * outputs);
    let gradient = normals(&mut rng, size);
    for (k, row) in gradient.chunks_exact(inputs + 1).enumerate() {
        params.gradient_mut(layer.weight())[k * inputs..][..inputs].copy_from_slice(&row[..inputs]);
        params.gradient_mut(layer.bias())[k] = row[inputs];
    }
    kfac.step(&mut params).unwrap();

    let exact = solve(fisher, gradient.iter().map(|&g| f64::from(g)).collect());
    for (k, row) in exact.chunks_exact(inputs + 1).enumerate() {
        let row: Vec<f32> = row.iter().map(|&x| -x as f32).collect();
        assert_close(
            "weight",
            &params.value(layer.weight())[k * inputs..][..inputs],
            &row[..inputs],
            1e-5,
        );
        assert_close("bias", &[params.value(layer.bias())[k]], &row[inputs..], 1e-5);
    }
}

#[test]
fn for_a_linear_gaussian_model_the_divergence_of_a_step_is_the_radius_of_the_trust_region() {
    let (inputs, batch) = (4, 12);
    let mut rng = Pcg64::from_seed(4);
    let (mut params, mut layer, mut kfac) = linear(inputs, 1);
    (kfac.step_size, kfac.kl_clip, kfac.damping) = (f32::INFINITY, 0.01, 0.0);
    let x = normals(&mut rng, inputs * batch);
    for (step, momentum) in [0.0, 0.0, 0.9, 0.9, 0.9, 0.9].into_iter().enumerate() {
        kfac.momentum = momentum;
        let before = layer.forward(&params, &x, batch).to_vec();
        // Signs are gradients whose second moment is exactly 1.
        let signs: Vec<f32> = (0..batch)
            .map(|_| if rng.next_f32() < 0.5 { 1.0 } else { -1.0 })
            .collect();
        layer.backward(&mut params, &signs);
        kfac.observe([&layer]);
        layer.backward(&mut params, &normals(&mut rng, batch));
        kfac.step(&mut params).unwrap();
        let moved = layer.forward(&params, &x, batch).iter().zip(&before);
        // KL(N(y, 1) || N(y', 1)) = (y - y')^2 / 2.
        let divergence = moved.map(|(a, b)| 0.5 * (a - b).powi(2)).sum::<f32>() / batch as f32;
        if momentum == 0.0 {
            assert!((divergence - 0.01).abs() < 1e-5, "step {step}: {divergence}");
        } else {
            assert!(divergence < 0.01, "an average of steps moves less: {divergence}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_step_goes_down_and_stays_in_the_trust_region(seed: u64, batch in 1_usize..30, size in -2.0_f32..2.0, kl_clip in 1e-5_f32..1.0) {
        let mut rng = Pcg64::from_seed(seed);
        let (mut params, mut net, mut kfac) = network(&[5, 9, 4], seed);
        (kfac.kl_clip, kfac.momentum) = (kl_clip, 0.0);
        for _ in 0..3 {
            let before = params.values().to_vec();
            net.forward(&params, &normals(&mut rng, 5 * batch), batch);
            net.backward(&mut params, &normals(&mut rng, 4 * batch));
            kfac.observe(net.layers());
            let scale = 10_f32.powf(size) / batch as f32;
            let gradient: Vec<f32> = normals(&mut rng, 4 * batch).iter().map(|g| scale * g).collect();
            net.backward(&mut params, &gradient);
            let done = kfac.step(&mut params).unwrap();
            let moved = params.values().iter().zip(&before).zip(params.gradients());
            let slope: f32 = moved.map(|((w, old), g)| (w - old) * g).sum();
            prop_assert!(slope < 0.0, "the loss falls along the step: {slope}");
            prop_assert!(done.kl <= kl_clip * 1.0001 && done.scale <= kfac.step_size, "{done:?}");
        }
    }

    #[test]
    fn the_units_of_the_inputs_do_not_matter(seed: u64) {
        let (inputs, outputs, batch) = (3, 2, 20);
        let mut rng = Pcg64::from_seed(seed);
        // x' = stretch x + shift, with a unit lower triangular matrix whose inverse is known.
        let (stretch, shift) = (normals(&mut rng, 3), normals(&mut rng, inputs));
        let [p, q, r] = [stretch[0], stretch[1], stretch[2]];
        let change = [[2.0, 0.0, 0.0], [2.0 * p, 0.5, 0.0], [2.0 * q, 0.5 * r, 3.0]];
        let inverse = [[0.5, 0.0, 0.0], [-2.0 * p, 2.0, 0.0], [(p * r - q) / 3.0, -r / 3.0, 1.0 / 3.0]];
        let x = normals(&mut rng, inputs * batch);
        let changed: Vec<f32> = x
            .chunks_exact(inputs)
            .flat_map(|x| (0..inputs).map(move |i| inner(x, change[i])).collect::<Vec<_>>())
            .zip(shift.iter().cycle())
            .map(|(x, shift)| x + shift)
            .collect();
        let (sampled, gradient) = (normals(&mut rng, outputs * batch), normals(&mut rng, outputs * batch));
        let weight = normals(&mut rng, inputs * outputs);

        let after = |x: &[f32], weight: &[f32], bias: &[f32]| {
            let (mut params, mut layer, mut kfac) = linear(inputs, outputs);
            params.value_mut(layer.weight()).copy_from_slice(weight);
            params.value_mut(layer.bias()).copy_from_slice(bias);
            (kfac.damping, kfac.kl_clip, kfac.momentum) = (0.0, 0.1, 0.0);
            layer.forward(&params, x, batch);
            layer.backward(&mut params, &sampled);
            kfac.observe([&layer]);
            layer.backward(&mut params, &gradient);
            kfac.step(&mut params).unwrap();
            layer.forward(&params, x, batch).to_vec()
        };
        // The same function of the changed inputs: W' = W M^-1, b' = -W' shift.
        let columns = |j: usize| [inverse[0][j], inverse[1][j], inverse[2][j]];
        let changed_weight: Vec<f32> = weight
            .chunks_exact(inputs)
            .flat_map(|row| (0..inputs).map(move |j| inner(row, columns(j))).collect::<Vec<_>>())
            .collect();
        let bias: Vec<f32> = changed_weight
            .chunks_exact(inputs)
            .map(|row| -inner(row, [shift[0], shift[1], shift[2]]))
            .collect();
        let (plain, other) = (after(&x, &weight, &[0.0; 2]), after(&changed, &changed_weight, &bias));
        for (a, b) in plain.iter().zip(&other) {
            prop_assert!((a - b).abs() < 2e-3, "{a} is not {b}");
        }
    }
}

fn inner(x: &[f32], row: [f32; 3]) -> f32 {
    x.iter().zip(row).map(|(x, m)| x * m).sum()
}

#[test]
fn early_batches_weigh_alike_and_old_ones_fade() {
    let observed = |decay: f32, inputs: &[f32]| {
        let (mut params, layer, mut kfac) = linear(1, 1);
        (kfac.decay, kfac.momentum, kfac.step_size, kfac.kl_clip) = (decay, 0.0, 1.0, f32::INFINITY);
        for &input in inputs {
            // Two rows of opposite inputs: A is diagonal, with the input's square.
            kfac.observe_rows(0, &[input, -input], &[1.0, 1.0], 2);
        }
        params.gradient_mut(layer.weight())[0] = 1.0;
        kfac.step(&mut params).unwrap();
        -1.0 / params.value(layer.weight())[0] - kfac.damping
    };
    assert!((observed(0.99, &[1.0, 3.0]) - (0.99 + 9.0) / 1.99).abs() < 1e-4);
    assert!((observed(0.5, &[1.0, 3.0, 5.0]) - (0.25 + 4.5 + 25.0) / 1.75).abs() < 1e-4);
}

#[test]
fn the_gradient_of_a_convolution_is_a_sum_over_positions() {
    // One example with 4 positions, alike and with unit factors, has 4 times the curvature of one position.
    let step = |rows: usize| {
        let mut params = Parameters::new();
        let layer = Linear::new(&mut params, "patches", 1, 1, Activation::Identity);
        let mut kfac = Kfac::new();
        kfac.add_block(layer.weight(), layer.bias(), 1, 1);
        (kfac.momentum, kfac.step_size, kfac.kl_clip, kfac.damping) = (0.0, 1.0, f32::INFINITY, 0.0);
        let inputs: Vec<f32> = (0..2 * rows).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        kfac.observe_rows(0, &inputs, &vec![1.0; 2 * rows], 2);
        params.gradient_mut(layer.weight())[0] = 1.0;
        kfac.step(&mut params).unwrap();
        params.value(layer.weight())[0]
    };
    assert!((step(1) + 1.0).abs() < 1e-6);
    assert!((step(4) + 0.25).abs() < 1e-6);
}

#[test]
fn a_saved_state_goes_on_as_if_never_stopped() {
    let (mut params, mut net, mut kfac) = network(&[4, 6, 2], 1);
    let (mut other_params, mut other_net, mut other) = (params.clone(), net.clone(), kfac.clone());
    let step = |params: &mut Parameters, net: &mut Mlp, kfac: &mut Kfac, round: u64| {
        let mut rng = Pcg64::from_seed(round);
        net.forward(params, &normals(&mut rng, 32), 8);
        net.backward(params, &normals(&mut rng, 16));
        kfac.observe(net.layers());
        net.backward(params, &normals(&mut rng, 16));
        kfac.step(params).unwrap();
    };
    for round in 0..25 {
        step(&mut params, &mut net, &mut kfac, round);
        // Saved and restored between any two steps, also in the middle of an interval.
        step(&mut other_params, &mut other_net, &mut other, round);
        other = serde_json::from_str(&serde_json::to_string(&other).unwrap()).unwrap();
    }
    assert_eq!(params.values(), other_params.values());
}

#[test]
fn what_is_not_finite_never_reaches_the_parameters() {
    let (mut params, mut net, mut kfac) = network(&[2, 3, 1], 0);
    let before = params.values().to_vec();
    net.forward(&params, &[1.0, 2.0], 1);
    net.backward(&mut params, &[1.0]);
    kfac.observe(net.layers());
    params.gradients_mut()[4] = f32::NAN;
    assert_eq!(kfac.step(&mut params), Err(KfacError::Direction));
    net.backward(&mut params, &[1e30]);
    kfac.observe(net.layers());
    kfac.inverse_interval = 0;
    let error = kfac.step(&mut params).unwrap_err();
    assert_eq!(error, KfacError::Factors(net.layers()[0].weight()));
    assert!(
        error
            .to_string()
            .starts_with("the K-FAC factors of a layer are not finite")
    );
    assert_eq!(params.values(), before);
}
