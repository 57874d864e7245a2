"""Records what PyTorch (float64) computes, for tests/reference.rs to agree with.

Run with any Python that has torch: python record_torch.py. It writes data/distributions.json, data/gae.json and data/a2c.json.
GAE is written from its definition, a sum of (gamma lambda)^k delta over the rest of the episode, not as a recursion.
"""

import json
import pathlib

import torch
from torch.distributions import Categorical, Independent, Normal, kl_divergence

torch.set_default_dtype(torch.float64)
DATA = pathlib.Path(__file__).parent / "data"


def write(name, content):
    def plain(x):
        if isinstance(x, torch.Tensor):
            return x.detach().flatten().tolist()
        if isinstance(x, dict):
            return {k: plain(v) for k, v in x.items()}
        return x

    (DATA / name).write_text(json.dumps(plain(content)) + "\n")


def single(x):
    """Rounded to float32, so that both sides start from the same numbers."""
    return x.float().double()


def record_distributions():
    torch.manual_seed(1)
    batch, n, dim = 6, 5, 3
    logits, other = single(3 * torch.randn(batch, n)), single(3 * torch.randn(batch, n))
    actions = torch.randint(n, (batch,))
    p, q = Categorical(logits=logits), Categorical(logits=other)
    categorical = dict(
        n=n, outputs=logits, other=other, log_std=[], other_log_std=[], actions=actions.double(),
        log_prob=p.log_prob(actions), entropy=p.entropy(), kl=kl_divergence(p, q),
    )
    mean, mean2 = single(torch.randn(batch, dim)), single(torch.randn(batch, dim))
    log_std, log_std2 = single(torch.randn(dim)), single(torch.randn(dim))
    actions = single(torch.randn(batch, dim))
    p, q = (Independent(Normal(m, s.exp()), 1) for m, s in ((mean, log_std), (mean2, log_std2)))
    gaussian = dict(
        n=dim, outputs=mean, other=mean2, log_std=log_std, other_log_std=log_std2, actions=actions,
        log_prob=p.log_prob(actions), entropy=p.entropy(), kl=kl_divergence(p, q),
    )
    write("distributions.json", dict(categorical=categorical, gaussian=gaussian))


def random_rollout(t, n):
    return dict(
        rewards=single(torch.randn(t, n)),
        values=single(torch.randn(t + 1, n)),
        final_values=single(torch.randn(t, n)),
        terminated=torch.rand(t, n) < 0.1,
        truncated=torch.rand(t, n) < 0.1,
    )


def gae(r, gamma, lam):
    steps, n = r["rewards"].shape
    advantages = torch.zeros(steps, n)
    for env in range(n):
        for start in range(steps):
            for k in range(steps - start):
                t = start + k
                if r["terminated"][t, env]:
                    after = torch.tensor(0.0)
                elif r["truncated"][t, env]:
                    after = r["final_values"][t, env]
                else:
                    after = r["values"][t + 1, env]
                delta = r["rewards"][t, env] + gamma * after - r["values"][t, env]
                advantages[start, env] += (gamma * lam) ** k * delta
                if r["terminated"][t, env] or r["truncated"][t, env]:
                    break
    return advantages, advantages + r["values"][:-1]


def record_gae():
    torch.manual_seed(2)
    t, n, gamma, lam = 32, 4, 0.97, 0.9
    r = random_rollout(t, n)
    advantages, returns = gae(r, gamma, lam)
    write("gae.json", dict(r, n=n, gamma=gamma, gae_lambda=lam, advantages=advantages, returns=returns))


def record_a2c(discrete, normalize):
    """Two updates, so that the second uses RMSprop's running means; the first is clipped, the second is not."""
    t, n, obs, act, hidden = 5, 4, 3, 2, [8, 6]
    settings = dict(
        learning_rate=3e-3, gamma=0.97, gae_lambda=0.9, ent_coef=0.02, vf_coef=0.4, rms_prop_decay=0.9,
        rms_prop_eps=1e-5, normalize_advantage=normalize,
    )
    params = {}
    for name, outputs in (("policy", act), ("value", 1)):
        sizes = [obs, *hidden, outputs]
        for i, (rows, cols) in enumerate(zip(sizes[1:], sizes[:-1])):
            params[f"{name}.{i}.weight"] = single(torch.randn(rows, cols) / 2)
            params[f"{name}.{i}.bias"] = single(torch.randn(rows) / 2)
    if not discrete:
        params["policy.log_std"] = single(torch.randn(act) / 2)
    for p in params.values():
        p.requires_grad_()
    start = {name: p.detach().clone() for name, p in params.items()}
    optimiser = torch.optim.RMSprop(
        params.values(), lr=settings["learning_rate"], alpha=settings["rms_prop_decay"], eps=settings["rms_prop_eps"]
    )

    def network(name, x):
        for i in range(3):
            x = x @ params[f"{name}.{i}.weight"].T + params[f"{name}.{i}.bias"]
            if i < 2:
                x = torch.tanh(x)
        return x

    updates = []
    for max_grad_norm in (0.3, 100.0):
        r = random_rollout(t, n)
        r["observations"] = single(torch.randn(t + 1, n, obs))
        r["actions"] = torch.randint(act, (t, n, 1)).double() if discrete else single(torch.randn(t, n, act))
        advantages, returns = gae(r, settings["gamma"], settings["gae_lambda"])
        if normalize:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        outputs = network("policy", r["observations"][:-1])
        values = network("value", r["observations"][:-1])[..., 0]
        if discrete:
            distribution, actions = Categorical(logits=outputs), r["actions"][..., 0].long()
        else:
            distribution, actions = Independent(Normal(outputs, params["policy.log_std"].exp()), 1), r["actions"]
        policy_loss = -(advantages * distribution.log_prob(actions)).mean()
        value_loss = ((values - returns) ** 2).mean()
        entropy = distribution.entropy().mean()
        optimiser.zero_grad()
        (policy_loss + settings["vf_coef"] * value_loss - settings["ent_coef"] * entropy).backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(params.values(), max_grad_norm)
        optimiser.step()
        updates.append(dict(
            max_grad_norm=max_grad_norm, rollout=r, policy_loss=policy_loss.item(), value_loss=value_loss.item(),
            entropy=entropy.item(), grad_norm=grad_norm.item(),
            gradients={name: p.grad.clone() for name, p in params.items()},
            parameters={name: p.detach().clone() for name, p in params.items()},
        ))
    for update in updates:
        update["rollout"] = {k: v.flatten().tolist() for k, v in update["rollout"].items()}
        for kind in ("gradients", "parameters"):
            update[kind] = {k: v.flatten().tolist() for k, v in update[kind].items()}
    start = {k: v.flatten().tolist() for k, v in start.items()}
    return dict(
        discrete=discrete, steps=t, n=n, observation=obs, action=act, hidden=hidden, settings=settings, start=start,
        updates=updates,
    )


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    record_distributions()
    record_gae()
    torch.manual_seed(3)
    write("a2c.json", dict(discrete=record_a2c(True, False), continuous=record_a2c(False, True)))
