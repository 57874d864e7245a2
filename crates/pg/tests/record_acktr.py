"""Records whole ACKTR updates computed by PyTorch (float64): writes data/acktr.json, for tests/reference_acktr.rs to agree with.

Run with any Python that has torch and numpy: python record_acktr.py.

Written from the equations, by other means than the program's: gradients and Fisher samples come from autograd, and the natural
gradient from one dense linear system per layer, (G (x) A + damping I) vec(U) = vec(V), without any eigen-decomposition. What the
Fisher matrix is sampled from is drawn by NumPy's generator in the program's order.
"""

import numpy
import torch
from torch.distributions import Categorical, Independent, Normal

from record_torch import gae, random_rollout, single, write


def flat(tensors):
    return {name: tensor.detach().flatten().tolist() for name, tensor in tensors.items()}


def random_parameters(shapes, log_std):
    """`shapes`: the widths of each network's layers. A network ends in a linear layer, but for the trunk."""
    params = {}
    for net, sizes in shapes.items():
        for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
            params[f"{net}.{i}.weight"] = single(torch.randn(outputs, inputs) / 2)
            params[f"{net}.{i}.bias"] = single(torch.randn(outputs) / 2)
    if log_std:
        params["policy.log_std"] = single(torch.randn(log_std) / 2)
    for p in params.values():
        p.requires_grad_()
    return params


def record(discrete, normalize, shared=False):
    t, n, obs, act, hidden = 6, 4, 3, 2, [7, 5]
    fixed = dict(
        gamma=0.97, gae_lambda=0.9, ent_coef=0.02, vf_coef=0.4, vf_fisher_coef=1.7, momentum=0.8, stats_decay=0.9,
        inverse_interval=2, normalize_advantage=normalize,
    )
    # The trust region limits all updates but the third; the gradient's norm is clipped in the first and the last; the
    # inverses of the first and the third serve one update more.
    scheduled = [
        dict(learning_rate=0.25, kl_clip=0.001, damping=0.01, max_grad_norm=0.5),
        dict(learning_rate=0.25, kl_clip=0.002, damping=0.01, max_grad_norm=0),
        dict(learning_rate=0.001, kl_clip=10.0, damping=0.03, max_grad_norm=0),
        dict(learning_rate=0.25, kl_clip=0.001, damping=0.02, max_grad_norm=100),
        dict(learning_rate=1.0, kl_clip=0.003, damping=0.01, max_grad_norm=0.1),
    ]
    if shared:
        shapes = dict(trunk=[obs, *hidden], policy=[hidden[-1], act], value=[hidden[-1], 1])
    else:
        shapes = dict(policy=[obs, *hidden, act], value=[obs, *hidden, 1])
    params = random_parameters(shapes, 0 if discrete else act)
    start = flat(params)
    layers = [f"{net}.{i}" for net, sizes in shapes.items() for i in range(len(sizes) - 1)]
    draws = numpy.random.default_rng(7)
    moments = {name: [0.0, 0.0] for name in layers}
    mass, inverted_at, frozen = 0.0, None, None
    momenta = {}

    def network(net, x, inputs, pre_activations):
        count = len(shapes[net]) - 1
        for i in range(count):
            name = f"{net}.{i}"
            inputs[name] = torch.cat([x, torch.ones(len(x), 1)], dim=1).detach()
            x = x @ params[f"{name}.weight"].T + params[f"{name}.bias"]
            pre_activations[name] = x
            if net == "trunk" or i < count - 1:
                x = torch.tanh(x)
        return x

    updates = []
    for number, now in enumerate(scheduled):
        now = {**fixed, **now}
        r = random_rollout(t, n)
        r["observations"] = single(torch.randn(t + 1, n, obs))
        r["actions"] = torch.randint(act, (t, n, 1)).double() if discrete else single(torch.randn(t, n, act))
        rows, batch = r["observations"][:-1].reshape(t * n, obs), t * n
        taken = r["actions"].reshape(batch, -1)
        taken = taken[:, 0].long() if discrete else taken
        inputs, pre_activations = {}, {}
        features = network("trunk", rows, inputs, pre_activations) if shared else rows
        outputs = network("policy", features, inputs, pre_activations)
        values = network("value", features, inputs, pre_activations)[:, 0]
        if discrete:
            policy = Categorical(logits=outputs)
        else:
            policy = Independent(Normal(outputs, params["policy.log_std"].exp()), 1)

        # The Fisher matrix: an action and a value drawn from the model at every observation.
        if discrete:
            uniform = torch.tensor([float(draws.random(dtype=numpy.float32)) for _ in range(batch)])
            drawn = (policy.probs.cumsum(1) <= uniform[:, None]).sum(1).clamp(max=act - 1)
        else:
            noise = torch.tensor([[draws.standard_normal() for _ in range(batch)] for _ in range(act)]).T
            drawn = (outputs + params["policy.log_std"].exp() * noise).detach()
        deviation = now["vf_fisher_coef"] ** -0.5
        value_noise = torch.tensor([draws.standard_normal() for _ in range(batch)])
        drawn_values = (values + deviation * value_noise).detach()
        likelihood = policy.log_prob(drawn).sum() + Normal(values, deviation).log_prob(drawn_values).sum()
        deltas = torch.autograd.grad(likelihood, [pre_activations[name] for name in layers], retain_graph=True)
        previous, mass = mass, now["stats_decay"] * mass + 1
        for name, g in zip(layers, deltas):
            a = inputs[name]
            fresh = (a.T @ a / batch, g.T @ g / batch)
            moments[name] = [(now["stats_decay"] * previous * old + new) / mass for old, new in zip(moments[name], fresh)]

        # The loss and its gradient, clipped as a whole.
        advantages, returns = gae(r, now["gamma"], now["gae_lambda"])
        if normalize:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = -(advantages.flatten() * policy.log_prob(taken)).mean()
        value_loss = ((values - returns.flatten()) ** 2).mean()
        entropy = policy.entropy().mean()
        loss = policy_loss + now["vf_coef"] * value_loss - now["ent_coef"] * entropy
        gradients = dict(zip(params, torch.autograd.grad(loss, params.values())))
        norm = torch.sqrt(sum((g**2).sum() for g in gradients.values()))
        if now["max_grad_norm"] > 0 and norm > now["max_grad_norm"]:
            gradients = {name: g * now["max_grad_norm"] / norm for name, g in gradients.items()}

        # The natural gradient of every layer, by the factors of the last renewal.
        if inverted_at is None or number - inverted_at >= now["inverse_interval"]:
            inverted_at, frozen = number, {name: list(factors) for name, factors in moments.items()}
        directions, slope = {}, 0.0
        for name in layers:
            v = torch.cat([gradients[f"{name}.weight"], gradients[f"{name}.bias"][:, None]], dim=1)
            a, g = frozen[name]
            fisher = torch.kron(g, a) + now["damping"] * torch.eye(v.numel())
            directions[name] = torch.linalg.solve(fisher, v.flatten()).reshape(v.shape)
            slope += (v * directions[name]).sum()
        if not discrete:
            v = gradients["policy.log_std"]
            directions["policy.log_std"] = v / (2 + now["damping"])
            slope += (v * directions["policy.log_std"]).sum()
        scale = min(now["learning_rate"], torch.sqrt(now["kl_clip"] / slope).item())
        with torch.no_grad():
            for name, u in directions.items():
                m = now["momentum"] * momenta.get(name, 0.0) + (1 - now["momentum"]) * scale * u
                momenta[name] = m
                if name in params:
                    params[name] -= m
                else:
                    params[f"{name}.weight"] -= m[:, :-1]
                    params[f"{name}.bias"] -= m[:, -1]
        updates.append(dict(
            set=scheduled[number], rollout=flat(r), policy_loss=policy_loss.item(), value_loss=value_loss.item(),
            entropy=entropy.item(), grad_norm=norm.item(), trust_scale=scale / now["learning_rate"],
            renewed=inverted_at == number, gradients=flat(gradients),
            parameters=flat(params),
        ))
    return dict(
        discrete=discrete, shared=shared, steps=t, n=n, observation=obs, action=act, hidden=hidden, settings=fixed, start=start,
        fisher_seed=7, updates=updates,
    )


if __name__ == "__main__":
    torch.manual_seed(6)
    write("acktr.json", dict(
        discrete=record(True, False), continuous=record(False, True), shared=record(False, False, shared=True),
    ))
