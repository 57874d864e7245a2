"""Records what PyTorch (float64) computes, for tests/reference.rs to agree with.

Run with any Python that has torch and numpy: python record_torch.py. It writes data/distributions.json, data/gae.json,
data/a2c.json and data/ppo.json.
GAE is written from its definition, a sum of (gamma lambda)^k delta over the rest of the episode, not as a recursion.
"""

import json
import pathlib

import numpy
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


def networks(obs, act, hidden, discrete):
    """Random policy and value networks: their parameters by name, and the function that runs one of them."""
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

    def network(name, x):
        for i in range(len(hidden) + 1):
            x = x @ params[f"{name}.{i}.weight"].T + params[f"{name}.{i}.bias"]
            if i < len(hidden):
                x = torch.tanh(x)
        return x

    return params, network


def record_a2c(discrete, normalize):
    """Two updates, so that the second uses RMSprop's running means; the first is clipped, the second is not."""
    t, n, obs, act, hidden = 5, 4, 3, 2, [8, 6]
    settings = dict(
        learning_rate=3e-3, gamma=0.97, gae_lambda=0.9, ent_coef=0.02, vf_coef=0.4, rms_prop_decay=0.9,
        rms_prop_eps=1e-5, normalize_advantage=normalize,
    )
    params, network = networks(obs, act, hidden, discrete)
    start = {name: p.detach().clone() for name, p in params.items()}
    optimiser = torch.optim.RMSprop(
        params.values(), lr=settings["learning_rate"], alpha=settings["rms_prop_decay"], eps=settings["rms_prop_eps"]
    )

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


def record_ppo(discrete, value_clip, schedule):
    """Two whole update phases: every minibatch of every epoch, in the order of NumPy's generator, with Adam's state carried over.

    With `schedule`, the minibatch size, clip range, GAE lambda and learning rate change from step to step.
    """
    t, n, obs, act, hidden = 12, 2, 3, 2, [8, 6]
    settings = dict(
        learning_rate=3e-3, gamma=0.97, gae_lambda=0.9, ent_coef=0.02, vf_coef=0.4, clip_range=0.1, clip_range_vf=value_clip,
        batch_size=10, n_epochs=3, max_grad_norm=0.7, adam_beta1=0.9, adam_beta2=0.99, adam_eps=1e-5,
    )
    params, network = networks(obs, act, hidden, discrete)
    start = {name: p.detach().clone() for name, p in params.items()}
    betas = (settings["adam_beta1"], settings["adam_beta2"])
    optimiser = torch.optim.Adam(params.values(), lr=settings["learning_rate"], betas=betas, eps=settings["adam_eps"])
    order = numpy.random.default_rng(5)

    def policy(observations):
        outputs = network("policy", observations)
        if discrete:
            return Categorical(logits=outputs)
        return Independent(Normal(outputs, params["policy.log_std"].exp()), 1)

    phases = []
    for _ in range(2):
        r = random_rollout(t, n)
        r["observations"] = single(torch.randn(t + 1, n, obs))
        r["actions"] = torch.randint(act, (t, n, 1)).double() if discrete else single(torch.randn(t, n, act))
        rows = r["observations"][:-1].reshape(t * n, obs)
        actions = r["actions"].reshape(t * n, -1)
        taken = actions[:, 0].long() if discrete else actions
        # Not quite the policy that is updated, so that ratios differ from 1 and some are clipped from the start.
        r["log_probs"] = single(policy(rows).log_prob(taken).detach() + 0.2 * torch.randn(t * n)).reshape(t, n)
        steps = []
        for _ in range(settings["n_epochs"]):
            permutation = list(range(t * n))
            for last in range(t * n - 1, 0, -1):
                chosen = int(order.integers(last + 1))
                permutation[last], permutation[chosen] = permutation[chosen], permutation[last]
            while permutation:
                step = len(steps)
                now = dict(settings)
                if schedule:
                    now["batch_size"] = (5, 9, 12)[step % 3]
                    now["clip_range"] = (0.1, 0.3)[step % 2]
                    now["gae_lambda"] = (0.9, 0.99, 0.8)[step % 3]
                    now["learning_rate"] = (1e-3, 3e-3)[step % 2]
                batch, permutation = permutation[: now["batch_size"]], permutation[now["batch_size"] :]
                advantages, returns = gae(r, now["gamma"], now["gae_lambda"])
                advantage, target = advantages.flatten()[batch], returns.flatten()[batch]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                distribution = policy(rows[batch])
                ratio = (distribution.log_prob(taken[batch]) - r["log_probs"].flatten()[batch]).exp()
                clipped = ratio.clamp(1 - now["clip_range"], 1 + now["clip_range"])
                policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
                value, old = network("value", rows[batch])[:, 0], r["values"][:-1].flatten()[batch]
                value_loss = (value - target) ** 2
                if value_clip > 0:
                    held = old + (value - old).clamp(-value_clip, value_clip)
                    value_loss = torch.max(value_loss, (held - target) ** 2)
                value_loss = value_loss.mean()
                entropy = distribution.entropy().mean()
                optimiser.zero_grad()
                (policy_loss + now["vf_coef"] * value_loss - now["ent_coef"] * entropy).backward()
                torch.nn.utils.clip_grad_norm_(params.values(), now["max_grad_norm"])
                optimiser.param_groups[0]["lr"] = now["learning_rate"]
                optimiser.step()
                changed = ("batch_size", "clip_range", "gae_lambda", "learning_rate") if schedule else ()
                steps.append(dict(
                    set={key: now[key] for key in changed}, policy_loss=policy_loss.item(), value_loss=value_loss.item(),
                ))
                if step == 0:
                    steps[0]["gradients"] = {name: p.grad.flatten().tolist() for name, p in params.items()}
        phases.append(dict(
            rollout={k: v.flatten().tolist() for k, v in r.items()}, steps=steps,
            parameters={k: p.detach().flatten().tolist() for k, p in params.items()},
        ))
    start = {k: v.flatten().tolist() for k, v in start.items()}
    return dict(
        discrete=discrete, steps=t, n=n, observation=obs, action=act, hidden=hidden, settings=settings, start=start,
        order_seed=5, phases=phases,
    )


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    record_distributions()
    record_gae()
    torch.manual_seed(3)
    write("a2c.json", dict(discrete=record_a2c(True, False), continuous=record_a2c(False, True)))
    torch.manual_seed(4)
    write("ppo.json", dict(
        discrete=record_ppo(True, 0.3, False), continuous=record_ppo(False, 0.0, False),
        scheduled=record_ppo(False, 0.3, True),
    ))
