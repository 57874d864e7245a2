"""Records K-FAC steps computed by PyTorch (float64): writes data/kfac.json.

A small network with Gaussian outputs of learned deviation is updated several times. Factors come from autograd's per-row
gradients, decompositions from torch.linalg.eigh, and hyperparameters change on the way.

Run once by hand when the cases change: python crates/nn/tests/record_kfac.py
"""

import json
import pathlib

import torch

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)


def single(tensor):
    """Numbers that float32 holds exactly, so that both sides start alike."""
    return tensor.float().double()


def flat(tensor):
    return tensor.detach().flatten().tolist()


def run(sizes, batch, steps, hyperparameters):
    """hyperparameters(step) -> the fields of `Kfac`, by name."""
    layers = [torch.nn.Linear(i, o) for i, o in zip(sizes, sizes[1:])]
    log_std = torch.nn.Parameter(single(torch.randn(sizes[-1]) * 0.3))
    for layer in layers:
        for parameter in layer.parameters():
            parameter.data = single(torch.randn_like(parameter) * 0.5)
    parameters = [p for layer in layers for p in layer.parameters()] + [log_std]
    start = [flat(p) for p in parameters]
    momenta = [torch.zeros(layer.out_features, layer.in_features + 1) for layer in layers]
    log_std_momentum = torch.zeros_like(log_std)
    moments = [None] * len(layers)
    weight_sum, age = 0.0, None
    record = []
    for step in range(steps):
        h = hyperparameters(step)
        x = single(torch.randn(batch, sizes[0]))
        sampled = single(torch.randn(batch, sizes[-1]))
        output_gradient = single(torch.randn(batch, sizes[-1]) * 0.3 / batch)
        log_std_gradient = single(torch.randn(sizes[-1]) * 0.1)

        activations, pre_activations = [], []
        y = x
        for i, layer in enumerate(layers):
            activations.append(torch.cat([y, torch.ones(batch, 1)], dim=1).detach())
            z = layer(y)
            pre_activations.append(z)
            y = torch.tanh(z) if i + 1 < len(layers) else z
        deltas = torch.autograd.grad(y, pre_activations, sampled, retain_graph=True)
        gradients = torch.autograd.grad(y, parameters[:-1], output_gradient)

        previous, weight_sum = weight_sum, h["decay"] * weight_sum + 1
        for i, (a, g) in enumerate(zip(activations, deltas)):
            new = (a.T @ a / batch, g.T @ g / batch)
            old = moments[i] or (torch.zeros_like(new[0]), torch.zeros_like(new[1]))
            moments[i] = tuple((h["decay"] * previous * o + n) / weight_sum for o, n in zip(old, new))
        if age is None or age >= h["inverse_interval"]:
            decompositions = [(torch.linalg.eigh(a), torch.linalg.eigh(g)) for a, g in moments]
            age = 0
        age += 1

        slope, directions = 0.0, []
        for i in range(len(layers)):
            v = torch.cat([gradients[2 * i], gradients[2 * i + 1][:, None]], dim=1)
            (sa, qa), (sg, qg) = decompositions[i]
            u = qg @ ((qg.T @ v @ qa) / (sg.clamp(min=0)[:, None] * sa.clamp(min=0)[None, :] + h["damping"])) @ qa.T
            slope += (u * v).sum()
            directions.append(u)
        log_std_direction = log_std_gradient / (2 + h["damping"])
        slope += (log_std_direction * log_std_gradient).sum()
        scale = min(h["step_size"], (2 * h["kl_clip"] / slope).sqrt().item())
        with torch.no_grad():
            for i, u in enumerate(directions):
                momenta[i] = h["momentum"] * momenta[i] + (1 - h["momentum"]) * scale * u
                layers[i].weight -= momenta[i][:, :-1]
                layers[i].bias -= momenta[i][:, -1]
            log_std_momentum = h["momentum"] * log_std_momentum + (1 - h["momentum"]) * scale * log_std_direction
            log_std -= log_std_momentum
        record.append({
            "hyperparameters": h,
            "input": flat(x),
            "sampled": flat(sampled),
            "output_gradient": flat(output_gradient),
            "log_std_gradient": flat(log_std_gradient),
            "scale": scale,
            "kl": 0.5 * scale**2 * slope.item(),
            "parameters": [flat(p) for p in parameters],
        })
    return {"sizes": sizes, "batch": batch, "start": start, "steps": record}


def acktr(step):
    return dict(step_size=0.25, kl_clip=0.001, damping=0.01, momentum=0.9, decay=0.99, inverse_interval=3)


def changing(step):
    return dict(
        step_size=0.25 / (1 + step),
        kl_clip=[0.01, 100.0][step % 2],
        damping=[0.5, 0.125, 0.01][step % 3],
        momentum=[0.0, 0.5, 0.9][step % 3],
        decay=[0.5, 0.95][step % 2],
        inverse_interval=1 + step % 3,
    )


data = {
    "torch": torch.__version__,
    "runs": [
        run([4, 7, 3], 16, 8, acktr),
        run([3, 6, 5, 1], 4, 9, changing),
        run([2, 2], 1, 4, acktr),
    ],
}
rounded = json.loads(json.dumps(data), parse_float=lambda text: float(f"{float(text):.9g}"))
path = pathlib.Path(__file__).parent / "data" / "kfac.json"
path.write_text(json.dumps(rounded) + "\n")
