//! A pass that steps the weights while it goes back does what its parts would have done one after another.

use epgt_nn::{Activation, Adam, FactoredAdam, Mlp, Parameters};
use epgt_rng::Pcg64;
use proptest::prelude::*;

fn network(sizes: &[usize], seed: u64) -> (Parameters, Mlp) {
    let mut params = Parameters::new();
    let mut rng = Pcg64::from_seed(seed);
    let (tanh, sigmoid) = (Activation::Tanh, Activation::Sigmoid);
    let net = Mlp::uniform(&mut params, "net", sizes, tanh, sigmoid, &mut rng);
    (params, net)
}

fn normals(rng: &mut Pcg64, len: usize) -> Vec<f32> {
    (0..len).map(|_| rng.standard_normal() as f32).collect()
}

/// One step of the definition in double precision, with the running means of the steps before: gradients, rows,
/// columns.
struct Reference {
    mean: Vec<f64>,
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Reference {
    fn step(&mut self, t: i32, values: &mut [f64], gradients: &[f32], rate: f64) {
        let (m, n) = (self.rows.len(), self.columns.len());
        let g = |i: usize, j: usize| f64::from(gradients[i * n + j]);
        for i in 0..m {
            let square = (0..n).map(|j| g(i, j).powi(2) + 1e-16).sum::<f64>() / n as f64;
            self.rows[i] = 0.999 * self.rows[i] + 0.001 * square;
        }
        for j in 0..n {
            let square = (0..m).map(|i| g(i, j).powi(2) + 1e-16).sum::<f64>() / m as f64;
            self.columns[j] = 0.999 * self.columns[j] + 0.001 * square;
        }
        let total = self.rows.iter().sum::<f64>() / m as f64;
        let (c1, c2) = (1.0 - 0.9_f64.powi(t), 1.0 - 0.999_f64.powi(t));
        for i in 0..m {
            for j in 0..n {
                let mean = &mut self.mean[i * n + j];
                *mean = 0.9 * *mean + 0.1 * g(i, j);
                let v = self.rows[i] * self.columns[j] / total;
                values[i * n + j] -= rate * (*mean / c1) / (v / c2).sqrt();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn descending_is_going_back_and_then_stepping(
        inputs in 1_usize..40, hidden in 1_usize..40, outputs in 1_usize..20, batch in 1_usize..12, seed in 0_u64..1000,
    ) {
        let (mut params, mut net) = network(&[inputs, hidden, outputs], seed);
        let mut adam = FactoredAdam::new(params.shapes(), 0.9, 0.999, 1e-8);
        let references = params.shapes().iter().map(|shape| Reference {
            mean: vec![0.0; shape.rows * shape.cols],
            rows: vec![0.0; shape.rows],
            columns: vec![0.0; shape.cols],
        });
        let mut references: Vec<Reference> = references.collect();
        // What is left where the rows of a batch cancel is not exact enough to be divided by.
        let mut is_sure = vec![true; params.len()];
        let mut rng = Pcg64::from_seed(seed);
        for t in 1..=3 {
            let (input, gradient) = (normals(&mut rng, batch * inputs), normals(&mut rng, batch * outputs));
            let (mut other, mut twin) = (params.clone(), net.clone());
            twin.forward(&other, &input, batch);
            let back = twin.backward_to_input(&mut other, &gradient).to_vec();
            let mut expected: Vec<f64> = params.values().iter().map(|&w| f64::from(w)).collect();
            for (reference, shape) in references.iter_mut().zip(params.shapes()) {
                let range = shape.offset..shape.offset + shape.rows * shape.cols;
                reference.step(t, &mut expected[range.clone()], &other.gradients()[range], 0.01);
            }
            for (sure, gradient) in is_sure.iter_mut().zip(other.gradients()) {
                *sure &= batch == 1 || gradient.abs() > 1e-2;
            }
            net.forward(&params, &input, batch);
            adam.begin_step(0.01);
            let through = net.descend(&mut params, &gradient, &mut adam);
            for (a, b) in through.iter().zip(&back) {
                prop_assert!((a - b).abs() < 1e-4, "input gradient {a}, not {b}");
            }
            for ((a, b), _) in params.values().iter().zip(&expected).zip(&is_sure).filter(|(_, sure)| **sure) {
                prop_assert!((f64::from(*a) - b).abs() < 1e-4, "weight {a}, not {b}");
            }
        }
    }
}

#[test]
fn a_gradient_that_is_all_rounding_makes_no_large_step() {
    let (mut params, mut net) = network(&[30, 1], 5);
    let mut adam = FactoredAdam::new(params.shapes(), 0.9, 0.999, 1e-8);
    let before = params.values().to_vec();
    // Two rows of a batch that are the same, and are pushed apart by next to nothing.
    let row = normals(&mut Pcg64::from_seed(6), 30);
    net.forward(&params, &[&row[..], &row].concat(), 2);
    adam.begin_step(0.01);
    net.descend(&mut params, &[1.0, -1.0 - 4.0 * f32::EPSILON], &mut adam);
    for (after, before) in params.values().iter().zip(before) {
        assert!((after - before).abs() < 0.0101, "{before} went to {after}");
    }
}

#[test]
fn for_a_single_row_it_is_adam() {
    let mut params = Parameters::new();
    let bias = params.add("bias", 1, 20);
    let mut factored = FactoredAdam::new(params.shapes(), 0.9, 0.999, 1e-8);
    let mut adam = Adam::new(20, 0.9, 0.999, 1e-8);
    let mut values = [0.0; 20];
    let mut rng = Pcg64::from_seed(4);
    for _ in 0..50 {
        let gradients = normals(&mut rng, 20);
        params.gradient_mut(bias).copy_from_slice(&gradients);
        factored.begin_step(0.01);
        factored.step_tensor(&mut params, bias);
        adam.step(&mut values, &gradients, 0.01);
        for (a, b) in params.value(bias).iter().zip(values) {
            assert!((a - b).abs() < 1e-5, "{a}, not {b}");
        }
    }
}

#[test]
fn it_goes_on_from_what_was_saved() {
    let (mut params, mut net) = network(&[9, 7, 5], 1);
    let mut adam = FactoredAdam::new(params.shapes(), 0.9, 0.999, 1e-8);
    let step = |params: &mut Parameters, net: &mut Mlp, adam: &mut FactoredAdam| {
        net.forward(params, &[0.3; 18], 2);
        adam.begin_step(0.01);
        net.descend(params, &[0.1; 10], adam);
    };
    step(&mut params, &mut net, &mut adam);
    let saved = serde_json::to_string(&(&params, &adam)).unwrap();
    let (mut restored, mut restored_adam): (Parameters, FactoredAdam) = serde_json::from_str(&saved).unwrap();
    step(&mut params, &mut net, &mut adam);
    step(&mut restored, &mut net, &mut restored_adam);
    assert_eq!(params.values(), restored.values());
}
