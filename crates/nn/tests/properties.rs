//! Kernels, initialisation and bookkeeping: statements about each on its own.

use epgt_nn::kernel::{self, Matrix};
use epgt_nn::{Activation, Adam, Mlp, Parameters, dot, orthogonal};
use epgt_rng::Pcg64;
use proptest::prelude::*;

fn normals(rng: &mut Pcg64, len: usize) -> Vec<f32> {
    (0..len).map(|_| rng.standard_normal() as f32).collect()
}

/// `x [m, k] y [k, n]` in f64.
fn product(x: &[f32], y: &[f32], k: usize, n: usize) -> Vec<f64> {
    let entry = |row: &[f32], j: usize| (0..k).map(|i| f64::from(row[i]) * f64::from(y[i * n + j])).sum();
    x.chunks_exact(k)
        .flat_map(|row| (0..n).map(move |j| entry(row, j)))
        .collect()
}

fn transposed(x: &[f32], rows: usize) -> Vec<f32> {
    let cols = x.len() / rows;
    (0..x.len()).map(|i| x[i % rows * cols + i / rows]).collect()
}

/// Near enough for sums of up to 70 products of normal numbers: what is rounded is as large as the terms, however small
/// their sum.
fn assert_near(ours: &[f32], exact: &[f64]) {
    assert_eq!(ours.len(), exact.len());
    for (a, b) in ours.iter().zip(exact) {
        assert!((f64::from(*a) - b).abs() < 1e-4 + 1e-5 * b.abs(), "{a} is not {b}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_kernel_is_the_matrix_product_it_stands_for(m in 1_usize..40, n in 1_usize..90, k in 1_usize..70, seed: u64) {
        let mut rng = Pcg64::from_seed(seed);
        let (x, y) = (normals(&mut rng, m * k), normals(&mut rng, k * n));
        let exact = product(&x, &y, k, n);
        let (xt, yt) = (transposed(&x, m), transposed(&y, k));
        let mut out = vec![f32::NAN; m * n];

        kernel::combine(&x, (k, 1), &y, n, &mut out);
        assert_near(&out, &exact);
        kernel::combine(&xt, (1, m), &y, n, &mut out);
        assert_near(&out, &exact);
        let zeros = vec![0.0; n];
        kernel::affine(&x, &yt, &zeros, Activation::Identity, &mut out);
        assert_near(&out, &exact);
        kernel::affine_transposed(&x, &y, &zeros, Activation::Identity, &mut out);
        assert_near(&out, &exact);
        out.fill(f32::NAN);
        kernel::gemm(&mut out, 0.0, 1.0, Matrix::row_major(&x, m, k), Matrix::row_major(&yt, n, k).transposed());
        assert_near(&out, &exact);
        kernel::gemm(&mut out, 0.5, 2.0, Matrix::strided(&x, m, k, k, 1), Matrix::row_major(&y, k, n));
        assert_near(&out, &exact.iter().map(|x| 2.5 * x).collect::<Vec<_>>());
        let mut back = vec![0.0; k * n];
        kernel::transpose(&y, k, &mut back);
        prop_assert_eq!(&back, &yt);
        assert_near(&[dot(&x[..k], &yt[..k])], &exact[..1]);
    }

    #[test]
    fn an_orthogonal_matrix_keeps_the_length_of_its_short_side(rows in 1_usize..70, cols in 1_usize..70, seed: u64) {
        let gain = 1.5_f32;
        let mut q = vec![0.0; rows * cols];
        orthogonal(rows, cols, gain, &mut Pcg64::from_seed(seed), &mut q);
        let (short, q) = if rows <= cols { (rows, q) } else { (cols, transposed(&q, rows)) };
        let long = q.len() / short;
        for i in 0..short {
            for j in 0..short {
                let expected = if i == j { gain * gain } else { 0.0 };
                let inner = dot(&q[i * long..][..long], &q[j * long..][..long]);
                prop_assert!((inner - expected).abs() < 2e-5, "{i} {j}: {inner}");
            }
        }
    }
}

#[test]
fn a_uniform_start_spreads_weights_over_the_inverse_root_of_the_inputs() {
    let mut params = Parameters::new();
    let mut rng = Pcg64::from_seed(5);
    let net = Mlp::uniform(
        &mut params,
        "net",
        &[400, 50, 3],
        Activation::Tanh,
        Activation::Identity,
        &mut rng,
    );
    for layer in net.layers() {
        let bound = 1.0 / (layer.inputs() as f32).sqrt();
        let weight = params.value(layer.weight());
        assert!(weight.iter().all(|w| w.abs() <= bound));
        assert!(weight.iter().any(|w| *w > 0.9 * bound) && weight.iter().any(|w| *w < -0.9 * bound));
        assert!(params.value(layer.bias()).iter().all(|b| *b == 0.0));
    }
}

#[test]
fn tanh_and_sigmoid_are_near_the_exact_ones_everywhere() {
    let grid: Vec<f32> = (-2_000_000..=2_000_000)
        .map(|i| i as f32 * 1e-5)
        .chain([1e-30, -1e-12, 90.0, -1e30])
        .collect();
    let (mut tanh, mut sigmoid) = (grid.clone(), grid.clone());
    kernel::tanh(&mut tanh);
    kernel::sigmoid(&mut sigmoid);
    for ((&x, &t), &s) in grid.iter().zip(&tanh).zip(&sigmoid) {
        let exact = f64::from(x).tanh();
        assert!((f64::from(t) - exact).abs() <= 3.5e-7 * exact.abs(), "tanh({x}) = {t}");
        assert!(t.abs() <= 1.0, "tanh({x}) = {t}");
        let exact = 1.0 / (1.0 + (-f64::from(x)).exp());
        assert!((f64::from(s) - exact).abs() <= 2e-7, "sigmoid({x}) = {s}");
        assert!((0.0..=1.0).contains(&s), "sigmoid({x}) = {s}");
    }
}

#[test]
fn rectifiers_keep_what_is_positive_and_bend_what_is_negative() {
    for i in -2_000..=2_000 {
        let x = (i as f32 * 1e-2).powi(3) * 1e-2;
        let apply = |activation| {
            let mut y = [0.0];
            kernel::affine(&[x], &[1.0], &[0.0], activation, &mut y);
            f64::from(y[0])
        };
        let wide = f64::from(x);
        let (elu, leaky) = match x < 0.0 {
            true => (wide.exp_m1(), 0.01 * wide),
            false => (wide, wide),
        };
        assert!((apply(Activation::Elu) - elu).abs() <= 5e-7 * elu.abs(), "elu({x})");
        assert!(apply(Activation::Elu) >= -1.0, "elu({x})");
        assert!(
            (apply(Activation::LeakyRelu) - leaky).abs() <= 1e-7 * leaky.abs(),
            "leaky_relu({x})"
        );
    }
}

#[test]
fn activations_keep_infinities_bounded_and_nan_visible() {
    let mut x = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    kernel::tanh(&mut x);
    assert!((x[0] - 1.0).abs() < 1e-6 && (x[1] + 1.0).abs() < 1e-6 && x[2].is_nan());
    for activation in [
        Activation::Identity,
        Activation::Tanh,
        Activation::Relu,
        Activation::Elu,
        Activation::LeakyRelu,
        Activation::Sigmoid,
    ] {
        let mut y = [0.0];
        kernel::affine(&[f32::NAN], &[1.0], &[0.0], activation, &mut y);
        assert!(y[0].is_nan(), "{activation:?} hides a NaN");
    }
}

#[test]
fn the_first_tensor_that_is_not_finite_is_named() {
    let mut params = Parameters::new();
    let a = params.add("a", 2, 2);
    let b = params.add("b", 1, 3);
    let c = params.add("c", 100, 100);
    params.value_mut(a).fill(f32::MAX);
    assert_eq!(params.first_not_finite_value(), None);
    params.value_mut(c)[9_999] = f32::NEG_INFINITY;
    assert_eq!(params.first_not_finite_value(), Some("c"));
    params.value_mut(b)[2] = f32::NAN;
    assert_eq!(params.first_not_finite_value(), Some("b"));
    assert_eq!(params.first_not_finite_gradient(), None);
    params.gradient_mut(a)[0] = f32::INFINITY;
    assert_eq!(params.first_not_finite_gradient(), Some("a"));
}

#[test]
fn tensors_are_views_of_one_slice_in_order() {
    let mut params = Parameters::new();
    let a = params.add("a", 2, 3);
    let b = params.add("b", 1, 2);
    params.value_mut(a).fill(1.0);
    params.value_mut(b).fill(2.0);
    params.gradient_mut(b)[1] = 3.0;
    assert_eq!(params.len(), 8);
    assert_eq!(params.values(), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0]);
    assert_eq!(params.shapes()[1].offset, 6);
    let second = params.gradient_tensors().nth(1).unwrap();
    assert_eq!(
        (second.name, second.rows, second.cols, second.data),
        ("b", 1, 2, &[0.0, 3.0][..])
    );
}

#[test]
fn training_goes_on_from_a_saved_state_as_if_never_stopped() {
    let mut rng = Pcg64::from_seed(3);
    let mut params = Parameters::new();
    let id = params.add("w", 5, 7);
    orthogonal(5, 7, 1.0, &mut rng, params.value_mut(id));
    let mut adam = Adam::new(params.len(), 0.9, 0.999, 1e-8);
    let step = |params: &mut Parameters, adam: &mut Adam, round: u64| {
        let gradient = normals(&mut Pcg64::from_seed(round), params.len());
        params.gradients_mut().copy_from_slice(&gradient);
        let (values, gradients) = params.split_mut();
        adam.step(values, gradients, 1e-2);
    };
    step(&mut params, &mut adam, 1);
    let saved = serde_json::to_string(&(&params, &adam, id)).unwrap();
    let (mut restored, mut restored_adam, restored_id): (Parameters, Adam, epgt_nn::TensorId) =
        serde_json::from_str(&saved).unwrap();
    assert_eq!((&restored, &restored_adam, restored_id), (&params, &adam, id));
    step(&mut params, &mut adam, 2);
    step(&mut restored, &mut restored_adam, 2);
    assert_eq!(restored, params);
}
