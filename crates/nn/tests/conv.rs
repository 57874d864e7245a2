//! Networks on pixels against PyTorch in float64 (recorded by `record_conv.py`) and against central differences.

use epgt_nn::kernel::Window;
use epgt_nn::{Activation, Cnn, Conv, ConvShape, Kfac, Parameters};
use epgt_rng::Pcg64;
use serde_json::Value;

fn recorded(key: &str) -> Vec<Value> {
    let data: Value = serde_json::from_str(include_str!("data/conv.json")).unwrap();
    data[key].as_array().unwrap().clone()
}

fn number(value: &Value) -> f32 {
    value.as_f64().unwrap() as f32
}

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn rows(value: &Value) -> Vec<Vec<f32>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn pixels(value: &Value) -> Vec<u8> {
    serde_json::from_value(value.clone()).unwrap()
}

fn normals(rng: &mut Pcg64, len: usize) -> Vec<f32> {
    (0..len).map(|_| rng.standard_normal() as f32).collect()
}

fn assert_close(what: &str, ours: &[f32], torch: &[f32], tolerance: f32) {
    assert_eq!(ours.len(), torch.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(torch).enumerate() {
        assert!(
            (a - b).abs() <= tolerance * (1.0 + b.abs()),
            "{what}[{i}]: {a} is not {b}"
        );
    }
}

/// The network of a recorded case.
fn network(case: &Value, parameters: &Value) -> (Parameters, Cnn, usize) {
    let image: [usize; 3] = serde_json::from_value(case["image"].clone()).unwrap();
    let convs: Vec<[usize; 3]> = serde_json::from_value(case["convs"].clone()).unwrap();
    let convs = convs.into_iter().map(|[outputs, kernel, stride]| ConvShape {
        outputs,
        kernel,
        stride,
    });
    let convs: Vec<ConvShape> = convs.collect();
    let dense: Vec<usize> = serde_json::from_value(case["dense"].clone()).unwrap();
    let (mut params, mut rng) = (Parameters::new(), Pcg64::from_seed(0));
    let relu = Activation::Relu;
    let net = Cnn::new(&mut params, "trunk", image, &convs, &dense, relu, 1.0, &mut rng);
    params.values_mut().copy_from_slice(&rows(parameters).concat());
    (params, net, case["batch"].as_u64().unwrap() as usize)
}

#[test]
fn features_and_gradients_are_those_of_pytorch() {
    for case in recorded("networks") {
        let (mut params, mut net, batch) = network(&case, &case["parameters"]);
        let features = net.forward(&params, &pixels(&case["pixels"]), batch);
        assert_close("features", features, &numbers(&case["features"]), 1e-5);
        net.backward(&mut params, &numbers(&case["feature_gradient"]));
        for (ours, torch) in params.gradient_tensors().zip(rows(&case["gradients"])) {
            assert_close(ours.name, ours.data, &torch, 1e-5);
        }
    }
}

#[test]
fn kfac_steps_are_those_of_the_dense_system() {
    for run in recorded("kfac") {
        let (mut params, mut net, batch) = network(&run, &run["start"]);
        let mut kfac = Kfac::new();
        for conv in net.convs() {
            kfac.add_conv(conv);
        }
        for layer in net.dense().layers() {
            kfac.add_linear(layer);
        }
        (kfac.momentum, kfac.inverse_interval) = (0.0, 1);
        kfac.step_size = number(&run["step_size"]);
        kfac.kl_clip = number(&run["kl_clip"]);
        kfac.damping = number(&run["damping"]);
        kfac.decay = number(&run["decay"]);
        for (i, step) in run["steps"].as_array().unwrap().iter().enumerate() {
            net.forward(&params, &pixels(&step["pixels"]), batch);
            net.backward(&mut params, &numbers(&step["sampled"]));
            kfac.observe_cnn(0, &net);
            net.backward(&mut params, &numbers(&step["gradient"]));
            let done = kfac.step(&mut params).unwrap();
            assert_close(&format!("scale {i}"), &[done.scale], &[number(&step["scale"])], 1e-4);
            let expected = rows(&step["parameters"]).concat();
            assert_close(&format!("step {i}"), params.values(), &expected, 2e-5);
        }
    }
}

/// A layer whose weight and bias are drawn.
fn layer(window: Window, outputs: usize, activation: Activation) -> (Parameters, Conv, Pcg64) {
    let (mut params, mut rng) = (Parameters::new(), Pcg64::from_seed(3));
    let layer = Conv::new(&mut params, "conv", window, outputs, activation);
    for x in params.values_mut() {
        *x = 0.3 * rng.standard_normal() as f32;
    }
    (params, layer, rng)
}

#[test]
fn gradients_of_weights_biases_and_images_are_the_slopes_of_the_loss() {
    // Channels first and last, overlapping and skipping windows, and pixels that no window reaches.
    for (planes, depth, kernel, stride) in [(2, 1, 3, 1), (1, 3, 2, 2), (2, 3, 2, 3), (1, 1, 1, 1), (3, 1, 4, 2)] {
        let (height, width) = (7, 6);
        let window = Window {
            planes,
            height,
            width,
            depth,
            kernel,
            stride,
        };
        let (mut params, mut layer, mut rng) = layer(window, 5, Activation::Tanh);
        let mut images = normals(&mut rng, 2 * window.image());
        let factors = normals(&mut rng, 2 * layer.output_size());
        layer.forward(&params, &images, 2);
        layer.backward(&mut params, &images, &factors);
        let mut image_gradient = vec![0.0; images.len()];
        layer.input_gradient(&params, &mut image_gradient);
        let gradient = params.gradients().to_vec();
        let mut loss = |params: &Parameters, images: &[f32]| -> f64 {
            let outputs = layer.forward(params, images, 2).iter().zip(&factors);
            outputs.map(|(&y, &c)| f64::from(y) * f64::from(c)).sum()
        };
        let h = 4e-3;
        let close = |what: &str, expected: f32, up: f64, down: f64| {
            let measured = (up - down) / (2.0 * f64::from(h));
            let error = (measured - f64::from(expected)).abs();
            assert!(error < 4e-3, "{window:?} {what}: {expected} is not {measured}");
        };
        for (i, &expected) in gradient.iter().enumerate() {
            let x = params.values()[i];
            params.values_mut()[i] = x + h;
            let up = loss(&params, &images);
            params.values_mut()[i] = x - h;
            close("weight", expected, up, loss(&params, &images));
            params.values_mut()[i] = x;
        }
        for (i, &expected) in image_gradient.iter().enumerate() {
            let x = images[i];
            images[i] = x + h;
            let up = loss(&params, &images);
            images[i] = x - h;
            close("image", expected, up, loss(&params, &images));
            images[i] = x;
        }
    }
}

#[test]
fn a_byte_is_its_255th_part() {
    let window = Window {
        planes: 2,
        height: 9,
        width: 8,
        depth: 1,
        kernel: 5,
        stride: 1,
    };
    let (mut params, mut layer, mut rng) = layer(window, 17, Activation::Relu);
    let bytes: Vec<u8> = (0..3 * window.image()).map(|_| rng.below(256) as u8).collect();
    let floats: Vec<f32> = bytes.iter().map(|&x| f32::from(x) / 255.0).collect();
    let factors = normals(&mut rng, 3 * layer.output_size());
    let by_bytes = layer.forward(&params, &bytes, 3).to_vec();
    layer.backward(&mut params, &bytes, &factors);
    let gradient = params.gradients().to_vec();
    let by_floats = layer.forward(&params, &floats, 3).to_vec();
    layer.backward(&mut params, &floats, &factors);
    assert_close("outputs", &by_bytes, &by_floats, 1e-6);
    assert_close("gradients", &gradient, params.gradients(), 1e-5);
}

#[test]
fn an_image_gives_the_same_bits_alone_and_in_any_batch() {
    let convs = [(8, 4, 2), (12, 3, 1)].map(|(outputs, kernel, stride)| ConvShape {
        outputs,
        kernel,
        stride,
    });
    let (mut params, mut rng) = (Parameters::new(), Pcg64::from_seed(1));
    let (image, relu) = ([3, 40, 40], Activation::Relu);
    let mut net = Cnn::new(&mut params, "trunk", image, &convs, &[16], relu, 1.0, &mut rng);
    let size = 3 * 40 * 40;
    let images: Vec<u8> = (0..40 * size).map(|_| rng.below(256) as u8).collect();
    let mut alone = Vec::new();
    for image in images.chunks_exact(size) {
        net.forward(&params, image, 1);
        alone.extend_from_slice(net.convs()[1].output());
    }
    for batch in [2, 40, 5, 33] {
        net.forward(&params, &images[..batch * size], batch);
        let together = net.convs()[1].output();
        assert_eq!(together, &alone[..together.len()], "batch {batch}");
    }
}
