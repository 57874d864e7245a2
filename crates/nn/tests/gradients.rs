//! Gradients against central differences, and that no result depends on how rows are batched.

use epgt_nn::{Activation, Mlp, Parameters};
use epgt_rng::Pcg64;

const ACTIVATIONS: [Activation; 6] = [
    Activation::Identity,
    Activation::Tanh,
    Activation::Relu,
    Activation::Elu,
    Activation::LeakyRelu,
    Activation::Sigmoid,
];

fn normals(rng: &mut Pcg64, len: usize) -> Vec<f32> {
    (0..len).map(|_| rng.standard_normal() as f32).collect()
}

fn network(sizes: &[usize], hidden: Activation, output: Activation) -> (Parameters, Mlp, Pcg64) {
    let mut params = Parameters::new();
    let mut rng = Pcg64::from_seed(7);
    let net = Mlp::new(&mut params, "net", sizes, hidden, output, 1.4, 1.0, &mut rng);
    for x in params.values_mut() {
        *x += 0.1 * rng.standard_normal() as f32;
    }
    (params, net, rng)
}

/// A scalar loss whose output gradient is `factors`.
fn loss(net: &mut Mlp, params: &Parameters, input: &[f32], batch: usize, factors: &[f32]) -> f64 {
    let outputs = net.forward(params, input, batch);
    outputs
        .iter()
        .zip(factors)
        .map(|(&y, &c)| f64::from(y) * f64::from(c))
        .sum()
}

/// The slope by central differences with two widths. Where they disagree there is a kink of a rectifier in between,
/// and a difference says nothing.
fn slope(mut loss: impl FnMut(f32) -> f64) -> Option<f64> {
    let mut at = |h: f32| (loss(h) - loss(-h)) / (2.0 * f64::from(h));
    let (wide, narrow) = (at(8e-3), at(4e-3));
    ((wide - narrow).abs() < 3e-3).then_some((4.0 * narrow - wide) / 3.0)
}

#[test]
fn gradients_of_weights_biases_and_inputs_are_the_slopes_of_the_loss() {
    for hidden in ACTIVATIONS {
        for output in ACTIVATIONS {
            for batch in [1, 3, 9] {
                let (mut params, mut net, mut rng) = network(&[5, 18, 4], hidden, output);
                let mut input = normals(&mut rng, batch * 5);
                let factors = normals(&mut rng, batch * 4);
                net.forward(&params, &input, batch);
                let input_gradient = net.backward_to_input(&mut params, &factors).to_vec();
                let gradient = params.gradients().to_vec();
                let mut checked = 0;
                for (i, &expected) in gradient.iter().enumerate() {
                    let x = params.values()[i];
                    let measured = slope(|h| {
                        params.values_mut()[i] = x + h;
                        loss(&mut net, &params, &input, batch, &factors)
                    });
                    params.values_mut()[i] = x;
                    if let Some(measured) = measured {
                        let error = (measured - f64::from(expected)).abs();
                        assert!(
                            error < 2e-3,
                            "{hidden:?} {output:?} weight {i}: {expected} is not {measured}"
                        );
                        checked += 1;
                    }
                }
                for (i, &expected) in input_gradient.iter().enumerate() {
                    let x = input[i];
                    let measured = slope(|h| {
                        input[i] = x + h;
                        loss(&mut net, &params, &input, batch, &factors)
                    });
                    input[i] = x;
                    if let Some(measured) = measured {
                        let error = (measured - f64::from(expected)).abs();
                        assert!(
                            error < 2e-3,
                            "{hidden:?} {output:?} input {i}: {expected} is not {measured}"
                        );
                        checked += 1;
                    }
                }
                let all = gradient.len() + input_gradient.len();
                assert!(
                    checked * 10 >= all * 8,
                    "only {checked} of {all} slopes could be measured"
                );
            }
        }
    }
}

#[test]
fn a_row_gives_the_same_outputs_alone_and_in_any_batch() {
    for sizes in [&[17, 64, 64, 6][..], &[2, 32, 32, 1], &[100, 30, 19], &[1, 1]] {
        let (params, mut net, mut rng) = network(sizes, Activation::Tanh, Activation::Identity);
        let (inputs, outputs) = (sizes[0], sizes[sizes.len() - 1]);
        let rows = normals(&mut rng, 80 * inputs);
        let alone: Vec<f32> = rows
            .chunks_exact(inputs)
            .flat_map(|row| net.forward(&params, row, 1).to_vec())
            .collect();
        // Growing and shrinking, so that buffers hold remains of larger batches.
        for batch in [1, 2, 3, 5, 80, 7, 16, 4, 1, 33] {
            let together = net.forward(&params, &rows[..batch * inputs], batch);
            assert_eq!(together.len(), batch * outputs);
            for (a, b) in together.iter().zip(&alone) {
                assert!((a - b).abs() < 1e-5, "{sizes:?} batch {batch}: {a} is not {b}");
            }
        }
    }
}

#[test]
fn the_gradient_of_a_batch_is_the_sum_of_its_rows_gradients() {
    for batch in [2, 5, 8, 40] {
        let (mut params, mut net, mut rng) = network(&[17, 64, 64, 6], Activation::Tanh, Activation::Identity);
        let input = normals(&mut rng, batch * 17);
        let factors = normals(&mut rng, batch * 6);
        let mut sum = vec![0.0_f64; params.len()];
        for (x, c) in input.chunks_exact(17).zip(factors.chunks_exact(6)) {
            net.forward(&params, x, 1);
            net.backward(&mut params, c);
            sum.iter_mut()
                .zip(params.gradients())
                .for_each(|(sum, &g)| *sum += f64::from(g));
        }
        net.forward(&params, &input, batch);
        net.backward(&mut params, &factors);
        for (&g, &sum) in params.gradients().iter().zip(&sum) {
            assert!(
                (f64::from(g) - sum).abs() < 2e-5 * (1.0 + sum.abs()),
                "batch {batch}: {g} is not {sum}"
            );
        }
    }
}

#[test]
fn backward_leaves_the_gradients_of_other_networks_alone() {
    let mut params = Parameters::new();
    let mut rng = Pcg64::from_seed(0);
    let (tanh, linear) = (Activation::Tanh, Activation::Identity);
    let mut policy = Mlp::new(&mut params, "policy", &[2, 4, 1], tanh, linear, 1.0, 1.0, &mut rng);
    Mlp::new(&mut params, "value", &[2, 4, 1], tanh, linear, 1.0, 1.0, &mut rng);
    params.gradients_mut().fill(9.0);
    policy.forward(&params, &[0.3, 0.4], 1);
    policy.backward(&mut params, &[1.0]);
    for tensor in params.gradient_tensors() {
        let untouched = tensor.data.iter().all(|&g| g == 9.0);
        assert_eq!(untouched, tensor.name.starts_with("value"), "{}", tensor.name);
    }
}

#[test]
fn layers_keep_what_kronecker_factors_are_made_of() {
    let (mut params, mut net, mut rng) = network(&[3, 16, 2], Activation::Tanh, Activation::Identity);
    let input = normals(&mut rng, 4 * 3);
    let factors = normals(&mut rng, 4 * 2);
    net.forward(&params, &input, 4);
    net.backward(&mut params, &factors);
    let layers = net.layers();
    assert_eq!(layers[0].input(), input);
    assert_eq!(layers[1].input(), layers[0].output());
    assert_eq!(layers[1].delta(), factors);
    let bias = params.gradient(layers[0].bias());
    for (j, &g) in bias.iter().enumerate() {
        let sum: f32 = layers[0].delta().chunks_exact(16).map(|row| row[j]).sum();
        assert!((sum - g).abs() < 1e-6);
    }
}
