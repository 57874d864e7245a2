//! Networks, optimisers and clipping against what PyTorch computes in float64 (recorded by `record_torch.py`).

use epgt_nn::{Activation, Adam, Mlp, Parameters, RmsProp, Sgd, clip_gradient_norm};
use epgt_rng::Pcg64;
use serde_json::Value;

fn recorded(key: &str) -> Vec<Value> {
    let data: Value = serde_json::from_str(include_str!("data/torch.json")).unwrap();
    data[key].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f32> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap() as f32)
        .collect()
}

fn rows(value: &Value) -> Vec<Vec<f32>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn activation(value: &Value) -> Activation {
    serde_json::from_value(value.clone()).unwrap()
}

fn assert_close(what: &str, ours: &[f32], torch: &[f32]) {
    assert_eq!(ours.len(), torch.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(torch).enumerate() {
        assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{what}[{i}]: {a} is not {b}");
    }
}

#[test]
fn outputs_and_gradients_of_networks_are_those_of_pytorch() {
    for case in recorded("networks") {
        let sizes: Vec<usize> = serde_json::from_value(case["sizes"].clone()).unwrap();
        let batch = case["batch"].as_u64().unwrap() as usize;
        let (hidden, output) = (activation(&case["hidden"]), activation(&case["output"]));
        let mut params = Parameters::new();
        let mut rng = Pcg64::from_seed(0);
        let mut net = Mlp::new(&mut params, "net", &sizes, hidden, output, 1.0, 1.0, &mut rng);
        params.values_mut().copy_from_slice(&rows(&case["parameters"]).concat());

        let outputs = net.forward(&params, &numbers(&case["input"]), batch);
        assert_close("outputs", outputs, &numbers(&case["outputs"]));
        let input_gradient = net.backward_to_input(&mut params, &numbers(&case["output_gradient"]));
        assert_close("input gradient", input_gradient, &numbers(&case["input_gradient"]));
        for (ours, torch) in params.gradient_tensors().zip(rows(&case["gradients"])) {
            assert_close(ours.name, ours.data, &torch);
        }
    }
}

#[test]
fn optimisers_follow_those_of_pytorch_step_by_step() {
    for case in recorded("optimisers") {
        let name = case["name"].as_str().unwrap();
        let mut values = numbers(&case["start"]);
        let len = values.len();
        let mut sgd = Sgd::new(len, 0.9);
        let mut rmsprop = RmsProp::new(len, 0.99, 1e-5);
        let mut adam = Adam::new(len, 0.9, 0.999, 1e-5);
        let steps = rows(&case["gradients"]).into_iter().zip(rows(&case["path"]));
        for (i, (gradients, torch)) in steps.enumerate() {
            let rate = 0.01 * (i + 1) as f32;
            match name {
                "sgd" => sgd.step(&mut values, &gradients, rate),
                "rmsprop" => rmsprop.step(&mut values, &gradients, rate),
                "adam" => adam.step(&mut values, &gradients, rate),
                other => panic!("{other} was recorded but is not tested"),
            }
            assert_close(&format!("{name} after step {i}"), &values, &torch);
        }
    }
}

#[test]
fn gradients_are_clipped_as_by_pytorch() {
    for case in recorded("clipping") {
        let mut gradients = numbers(&case["before"]);
        let norm = clip_gradient_norm(&mut gradients, case["max_norm"].as_f64().unwrap() as f32);
        assert_close("norm", &[norm], &[case["norm"].as_f64().unwrap() as f32]);
        assert_close("clipped", &gradients, &numbers(&case["after"]));
    }
}

#[test]
fn a_nan_gradient_is_not_clipped_into_a_number() {
    let mut gradients = [1.0, f32::NAN, 2.0];
    assert!(clip_gradient_norm(&mut gradients, 0.5).is_nan());
    assert!(gradients.iter().all(|g| g.is_nan()));
}
