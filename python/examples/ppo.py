"""PPO in one file, in the manner of CleanRL: a training loop of its own on the package's vector environments.

python python/examples/ppo.py [--task CartPole-v1] [--steps 50000] [--seed 1]

It uses nothing but the interface of `gymnasium.vector`: with `gymnasium.vector.SyncVectorEnv` in the place of
`epgt.make_vec` it is the same program, and on CartPole-v1 it learns the same, to the bit.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

import epgt


def layer(inputs: int, outputs: int, scale: float = 2**0.5) -> nn.Linear:
    """A layer with orthogonal weights."""
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, scale)
    nn.init.zeros_(made.bias)
    return made


class Agent(nn.Module):
    """A policy over a few choices, and a critic."""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        size = int(np.prod(envs.single_observation_space.shape))
        self.critic = nn.Sequential(layer(size, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))
        choices = int(envs.single_action_space.n)
        self.actor = nn.Sequential(layer(size, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, choices, 0.01))

    def act(self, observations: torch.Tensor, actions: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        """Actions, their log-probabilities, the entropies and the values."""
        chances = torch.distributions.Categorical(logits=self.actor(observations))
        if actions is None:
            actions = chances.sample()
        return actions, chances.log_prob(actions), chances.entropy(), self.critic(observations)[:, 0]


def make(task: str, n_envs: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """The vector environments."""
    return epgt.make_vec(task, n_envs, autoreset_mode="SameStep")


def train(
    task: str, steps: int, seed: int, n_envs: int = 4, n_steps: int = 128, make_envs: Callable[..., Any] = make
) -> float:
    """Trains, and returns the mean return of the last twenty episodes."""
    gamma, gae_lambda, epochs, minibatch, clip, rate = 0.99, 0.95, 4, n_envs * n_steps // 4, 0.2, 2.5e-3
    torch.manual_seed(seed)
    np.random.seed(seed)
    envs = make_envs(task, n_envs)
    recorded = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    agent = Agent(recorded)
    optimizer = torch.optim.Adam(agent.parameters(), lr=rate, eps=1e-5)
    observations = torch.zeros((n_steps, n_envs, *(envs.single_observation_space.shape or ())))
    actions = torch.zeros((n_steps, n_envs), dtype=torch.int64)
    log_probs, rewards, dones, values = (torch.zeros((n_steps, n_envs)) for _ in range(4))
    returns: deque[float] = deque(maxlen=20)
    next_observation = torch.as_tensor(recorded.reset(seed=seed)[0])
    next_done = torch.zeros(n_envs)
    iterations = steps // (n_envs * n_steps)
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = rate * (1.0 - iteration / iterations)
        for step in range(n_steps):
            observations[step], dones[step] = next_observation, next_done
            with torch.no_grad():
                actions[step], log_probs[step], _, values[step] = agent.act(next_observation)
            seen, earned, terminations, truncations, infos = recorded.step(actions[step].numpy())
            rewards[step] = torch.as_tensor(earned)
            next_observation = torch.as_tensor(seen)
            next_done = torch.as_tensor(np.logical_or(terminations, truncations), dtype=torch.float32)
            if "episode" in infos:
                returns.extend(float(r) for r in infos["episode"]["r"][infos["_episode"]])

        with torch.no_grad():
            following = agent.critic(next_observation)[:, 0]
        advantages, last = torch.zeros_like(rewards), torch.zeros(n_envs)
        for step in reversed(range(n_steps)):
            goes_on = 1.0 - (next_done if step == n_steps - 1 else dones[step + 1])
            after = following if step == n_steps - 1 else values[step + 1]
            error = rewards[step] + gamma * after * goes_on - values[step]
            last = error + gamma * gae_lambda * goes_on * last
            advantages[step] = last
        targets = (advantages + values).flatten()
        rows = observations.flatten(0, 1), actions.flatten(), log_probs.flatten(), advantages.flatten()
        for _ in range(epochs):
            for picked in np.array_split(np.random.permutation(n_envs * n_steps), n_envs * n_steps // minibatch):
                seen_rows, taken, old, advantage = (row[picked] for row in rows)
                _, now, entropy, value = agent.act(seen_rows, taken)
                ratio = (now - old).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                surrogate = torch.min(advantage * ratio, advantage * ratio.clamp(1 - clip, 1 + clip)).mean()
                loss = -surrogate + 0.5 * ((value - targets[picked]) ** 2).mean() - 0.01 * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    recorded.close()
    return float(np.mean(returns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="CartPole-v1")
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"{given.task}: the last twenty episodes earned {train(given.task, given.steps, given.seed):.1f} on average")


if __name__ == "__main__":
    main()
