"""Records what PyTorch (float64) computes for policy and value networks of several shapes, for tests/networks.rs to agree with.

Run with any Python that has torch: python record_networks.py. It writes data/networks.json: weights, observations, outputs, and the
gradients of all weights for given gradients of both outputs.
"""

import json
import pathlib

import torch

torch.set_default_dtype(torch.float64)
ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "elu": torch.nn.ELU, "leaky-relu": torch.nn.LeakyReLU}


def single(x):
    """Rounded to float32, so that both sides start from the same numbers."""
    return x.float().double()


def layers(sizes, activation, last):
    stack = []
    for i, (inputs, outputs) in enumerate(zip(sizes[:-1], sizes[1:])):
        stack.append(torch.nn.Linear(inputs, outputs))
        if last or i < len(sizes) - 2:
            stack.append(ACTIVATIONS[activation]())
    return torch.nn.Sequential(*stack)


def record(activation, hidden, value_hidden=None, shared=False, batch=7, obs=3, act=2):
    if shared:
        nets = {
            "trunk": layers([obs, *hidden], activation, True),
            "policy": layers([hidden[-1], act], activation, False),
            "value": layers([hidden[-1], 1], activation, False),
        }
    else:
        nets = {
            "policy": layers([obs, *hidden, act], activation, False),
            "value": layers([obs, *(hidden if value_hidden is None else value_hidden), 1], activation, False),
        }
    params = {}
    for name, net in nets.items():
        linear = [layer for layer in net if isinstance(layer, torch.nn.Linear)]
        for i, layer in enumerate(linear):
            params[f"{name}.{i}.weight"], params[f"{name}.{i}.bias"] = layer.weight, layer.bias
    for p in params.values():
        p.data = single(torch.randn_like(p) / 2)
    observations = single(torch.randn(batch, obs))
    features = nets["trunk"](observations) if shared else observations
    outputs, values = nets["policy"](features), nets["value"](features)
    by_outputs, by_values = single(torch.randn_like(outputs)), single(torch.randn_like(values))
    ((outputs * by_outputs).sum() + (values * by_values).sum()).backward()

    def flat(x):
        return [float(f"{number:.9g}") for number in x.detach().flatten().tolist()]

    return dict(
        activation=activation, hidden=hidden, value_hidden=value_hidden, shared=shared, batch=batch, observation=obs, action=act,
        parameters={name: flat(p) for name, p in params.items()}, observations=flat(observations), outputs=flat(outputs),
        values=flat(values), output_gradient=flat(by_outputs), value_gradient=flat(by_values),
        gradients={name: flat(p.grad) for name, p in params.items()},
    )


torch.manual_seed(4)
cases = [
    record("tanh", [8, 6], shared=True),
    record("elu", [18], shared=True),
    record("leaky-relu", [5, 4, 3], shared=True),
    record("relu", [6], shared=True, batch=1),
    record("elu", [8, 6], value_hidden=[5]),
    record("leaky-relu", [8], value_hidden=[7, 4]),
    record("tanh", [8], value_hidden=[]),
]
path = pathlib.Path(__file__).parent / "data" / "networks.json"
path.write_text(json.dumps(cases) + "\n")
