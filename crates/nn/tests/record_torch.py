"""Records what PyTorch (float64) computes for small networks and optimisers: writes data/torch.json.

Run once by hand when the cases change: python crates/nn/tests/record_torch.py
"""

import json
import pathlib

import torch

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
ACTIVATIONS = {
    "identity": torch.nn.Identity,
    "tanh": torch.nn.Tanh,
    "relu": torch.nn.ReLU,
    "sigmoid": torch.nn.Sigmoid,
}


def single(tensor):
    """Numbers that float32 holds exactly, so that both sides start alike."""
    return tensor.float().double()


def flat(tensor):
    return tensor.detach().flatten().tolist()


def network(sizes, hidden, output, batch):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(torch.nn.Linear(sizes[i], sizes[i + 1]))
        layers.append(ACTIVATIONS[output if i == len(sizes) - 2 else hidden]())
    net = torch.nn.Sequential(*layers)
    for parameter in net.parameters():
        parameter.data = single(torch.randn_like(parameter) * 0.5)
    x = single(torch.randn(batch, sizes[0])).requires_grad_()
    y = net(x)
    gradient = single(torch.randn_like(y))
    y.backward(gradient)
    return {
        "sizes": sizes,
        "hidden": hidden,
        "output": output,
        "batch": batch,
        "parameters": [flat(p) for p in net.parameters()],
        "input": flat(x),
        "outputs": flat(y),
        "output_gradient": flat(gradient),
        "gradients": [flat(p.grad) for p in net.parameters()],
        "input_gradient": flat(x.grad),
    }


def optimiser(name, make, steps=6, size=37):
    weights = torch.nn.Parameter(single(torch.randn(size)))
    start = flat(weights)
    optimiser = make([weights])
    gradients, path = [], []
    for step in range(steps):
        rate = 0.01 * (step + 1)
        for group in optimiser.param_groups:
            group["lr"] = rate
        weights.grad = single(torch.randn(size))
        gradients.append(flat(weights.grad))
        optimiser.step()
        path.append(flat(weights))
    return {"name": name, "start": start, "gradients": gradients, "path": path}


def clipping(max_norm):
    weights = torch.nn.Parameter(torch.zeros(50))
    weights.grad = single(torch.randn(50))
    before = flat(weights.grad)
    norm = torch.nn.utils.clip_grad_norm_([weights], max_norm)
    return {"max_norm": max_norm, "before": before, "norm": norm.item(), "after": flat(weights.grad)}


data = {
    "torch": torch.__version__,
    "networks": [
        network([17, 34, 32, 6], "tanh", "identity", 1),
        network([17, 34, 32, 6], "tanh", "identity", 12),
        network([2, 32, 32, 1], "tanh", "identity", 3),
        network([11, 20, 7], "relu", "identity", 8),
        network([5, 33, 18], "sigmoid", "tanh", 4),
        network([40, 10, 40], "tanh", "sigmoid", 8),
        network([3, 4], "identity", "relu", 2),
    ],
    "optimisers": [
        optimiser("sgd", lambda p: torch.optim.SGD(p, lr=1.0, momentum=0.9)),
        optimiser("rmsprop", lambda p: torch.optim.RMSprop(p, lr=1.0, alpha=0.99, eps=1e-5)),
        optimiser("adam", lambda p: torch.optim.Adam(p, lr=1.0, betas=(0.9, 0.999), eps=1e-5)),
    ],
    "clipping": [clipping(0.5), clipping(1000.0)],
}
rounded = json.loads(json.dumps(data), parse_float=lambda text: float(f"{float(text):.9g}"))
path = pathlib.Path(__file__).parent / "data" / "torch.json"
path.write_text(json.dumps(rounded) + "\n")
