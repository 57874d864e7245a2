"""Records what PyTorch (float64) computes for small convolutional networks, and K-FAC steps of them: writes data/conv.json.

K-FAC's factors are those of Grosse and Martens (2016), from unfolded patches and autograd's gradients of the pre-activations; its
step solves the dense system (A (x) G + damping I) vec(U) = vec(V) instead of decomposing anything.

Run once by hand when the cases change: python crates/nn/tests/record_conv.py
"""

import json
import math
import pathlib

import torch
from torch.nn import functional as F

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)


def single(tensor):
    """Numbers that float32 holds exactly, so that both sides start alike."""
    return tensor.float().double()


def flat(tensor):
    return tensor.detach().flatten().tolist()


class Net:
    """Convolutions given as (outputs, kernel, stride) and dense widths, all with ReLU."""

    def __init__(self, image, convs, dense):
        self.strides = [stride for _, _, stride in convs]
        channels, height, width = image
        self.weights, self.biases, self.grids = [], [], [None] * len(convs)
        for i, (outputs, kernel, stride) in enumerate(convs):
            self.weights.append(torch.randn(outputs, channels, kernel, kernel) / math.sqrt(channels * kernel**2))
            height, width = (height - kernel) // stride + 1, (width - kernel) // stride + 1
            channels = outputs
        inputs = channels * height * width
        for i, outputs in enumerate(dense):
            self.grids.append((channels, height, width) if i == 0 else None)
            self.weights.append(torch.randn(outputs, inputs) / math.sqrt(inputs))
            inputs = outputs
        self.weights = [single(w).requires_grad_() for w in self.weights]
        self.biases = [single(torch.randn(len(w)) * 0.1).requires_grad_() for w in self.weights]

    def forward(self, pixels):
        """Features, and each layer's inputs (patches, for a convolution) and pre-activations."""
        x, seen = pixels / 255, []
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            if i < len(self.strides):
                stride = self.strides[i]
                rows = F.unfold(x, weight.shape[-1], stride=stride).transpose(1, 2)
                z = F.conv2d(x, weight, bias, stride=stride)
            else:
                rows = x = x.flatten(1)
                z = F.linear(x, weight, bias)
            z.retain_grad()
            seen.append((rows.detach(), z))
            x = F.relu(z)
        return x, seen

    def parameters(self):
        return [p for pair in zip(self.weights, self.biases) for p in pair]

    def ours(self, i, matrix):
        """A weight (or its gradient) `[outputs, ...]` of layer i in the order of this crate: channels last behind the first layer."""
        if 0 < i < len(self.strides):
            return matrix.reshape(self.weights[i].shape).permute(0, 2, 3, 1)
        if self.grids[i]:
            return matrix.reshape(len(matrix), *self.grids[i]).permute(0, 2, 3, 1)
        return matrix

    def show(self, parameters):
        pairs = zip(parameters[::2], parameters[1::2])
        return [flat(t) for i, (weight, bias) in enumerate(pairs) for t in (self.ours(i, weight), bias)]


def network(image, convs, dense, batch):
    net = Net(image, convs, dense)
    pixels = torch.randint(0, 256, (batch, *image)).double()
    start = net.show(net.parameters())
    features, _ = net.forward(pixels)
    gradient = single(torch.randn_like(features))
    features.backward(gradient)
    return {
        "image": image,
        "convs": convs,
        "dense": dense,
        "batch": batch,
        "pixels": [int(x) for x in flat(pixels)],
        "parameters": start,
        "features": flat(features),
        "feature_gradient": flat(gradient),
        "gradients": net.show([p.grad for p in net.parameters()]),
    }


def kfac(image, convs, dense, batch, steps, h):
    net = Net(image, convs, dense)
    start = net.show(net.parameters())
    moments, mass, record = [None] * len(net.weights), 0.0, []
    for _ in range(steps):
        pixels = torch.randint(0, 256, (batch, *image)).double()
        features, seen = net.forward(pixels)
        sampled = single(torch.randn_like(features))
        features.backward(sampled)
        mass = h["decay"] * mass + 1.0
        for i, (rows, z) in enumerate(seen):
            ones = torch.ones(*rows.shape[:-1], 1)
            rows = torch.cat([rows, ones], -1).flatten(0, -2)
            grads = z.grad.flatten(2).transpose(1, 2).flatten(0, 1) if z.dim() == 4 else z.grad
            # A: mean over examples of sums over positions. G: mean over both.
            new = (rows.T @ rows / batch, grads.T @ grads / len(grads))
            old = moments[i] or (0.0, 0.0)
            moments[i] = tuple(o + (n - o) / mass for o, n in zip(old, new))
        for p in net.parameters():
            p.grad = None
        features, _ = net.forward(pixels)
        gradient = single(torch.randn_like(features) / batch)
        features.backward(gradient)
        directions, slope = [], 0.0
        for i, (weight, bias) in enumerate(zip(net.weights, net.biases)):
            v = torch.cat([weight.grad.flatten(1), bias.grad[:, None]], 1)
            a, g = moments[i]
            fisher = torch.kron(g.contiguous(), a.contiguous()) + h["damping"] * torch.eye(v.numel())
            u = torch.linalg.solve(fisher, v.flatten()).view_as(v)
            directions.append(u)
            slope += (u * v).sum().item()
        scale = min(h["step_size"], math.sqrt(2 * h["kl_clip"] / slope))
        with torch.no_grad():
            for weight, bias, u in zip(net.weights, net.biases, directions):
                weight -= scale * u[:, :-1].reshape(weight.shape)
                bias -= scale * u[:, -1]
                weight.grad = bias.grad = None
        record.append({
            "pixels": [int(x) for x in flat(pixels)],
            "sampled": flat(sampled),
            "gradient": flat(gradient),
            "scale": scale,
            "parameters": net.show(net.parameters()),
        })
    return {"image": image, "convs": convs, "dense": dense, "batch": batch, "start": start, "steps": record, **h}


data = {
    "torch": torch.__version__,
    "networks": [
        network([1, 5, 4], [[3, 2, 1]], [2], 1),
        network([3, 11, 13], [[5, 3, 2], [4, 2, 1]], [6], 3),
        network([2, 20, 20], [[16, 8, 4], [18, 3, 1]], [7, 5], 2),
        network([2, 12, 9], [[4, 4, 2], [3, 2, 2]], [33], 5),
    ],
    "kfac": [
        kfac([2, 7, 6], [[4, 3, 2], [3, 2, 1]], [4, 3], 4, 3,
             {"step_size": 0.3, "kl_clip": 0.02, "damping": 0.1, "decay": 0.9}),
    ],
}
rounded = json.loads(json.dumps(data), parse_float=lambda text: float(f"{float(text):.9g}"))
path = pathlib.Path(__file__).parent / "data" / "conv.json"
path.write_text(json.dumps(rounded) + "\n")
