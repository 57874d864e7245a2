"""Steps by divergence in the updates of Stable-Baselines3, which knows nothing of them.

Its PPO and A2C make every step with `policy.optimizer`. A hook before that step gives policy and critic a rate each, by
splitting the optimiser's groups for as long as the step takes; so what SB3 saves has the groups that it expects. The
policy that acted is known at the end of the rollout, when no weight has changed yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.utils import obs_as_tensor

from ._step_control import StepController

CHUNK = 4096
"""Rows of which the outputs of a policy are computed together."""


class Steps:
    """Makes the steps of a model as long as they should be, until it is removed."""

    def __init__(self, model: Any, controller: StepController, critic_rate: float) -> None:
        self.model = model
        self.controller = controller
        self.divergence: float | None = None
        """How far the last update or phase has moved the policy."""
        self._critic_rate = critic_rate
        self._critic = critic_parameters(model)
        self._is_ppo = isinstance(model, PPO)
        self._updates = 0
        self._observations: Any = None
        self._acted: list[Any] = []
        self._groups: list[dict[str, Any]] = []
        self._before: list[tuple[torch.nn.Parameter, torch.Tensor]] = []
        self._old_log_prob: torch.Tensor | None = None
        self._log_prob: torch.Tensor | None = None
        optimizer = model.policy.optimizer
        self._handles = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
        ]
        if self._is_ppo:
            # What the steps are made of: they are local variables there.
            model.policy.evaluate_actions = self._watch_policy(model.policy.evaluate_actions)
            model.rollout_buffer.get = self._watch_buffer(model.rollout_buffer.get)

    def remove(self) -> None:
        """Leaves the model as it was."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.model.policy.__dict__.pop("evaluate_actions", None)
        self.model.rollout_buffer.__dict__.pop("get", None)

    def after_rollout(self) -> None:
        """Keeps the policy that acted: its outputs for every row of the rollout."""
        self._observations = self.model.rollout_buffer.observations
        self._acted = list(self._distributions())

    def end_phase(self) -> None:
        """After the updates on a rollout: measures how far a phase of PPO has moved the policy, and moves the rate."""
        if self._is_ppo and self._acted:
            self.divergence = self._measured()
            self.controller.after_phase(self.divergence, self._updates)
        self._updates, self._observations, self._acted = 0, None, []

    def _before_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self._is_ppo and self._log_prob is not None and self._old_log_prob is not None:
            log_ratio = self._log_prob - self._old_log_prob
            self.controller.before_minibatch(float((log_ratio.exp() - 1 - log_ratio).mean()))
        left = float(self.model.lr_schedule(self.model._current_progress_remaining))
        whole = float(self.model.lr_schedule(1.0))
        # A schedule of the learning rate is the critic's.
        critic_rate = self._critic_rate * (left / whole if whole > 0 else 1.0)
        self._groups, split = optimizer.param_groups, []
        for group in self._groups:
            for of_critic, rate in ((False, self.controller.policy_rate), (True, critic_rate)):
                own = [weight for weight in group["params"] if (id(weight) in self._critic) == of_critic]
                if own:
                    split.append({**group, "params": own, "lr": rate})
        optimizer.param_groups = split
        if not self._is_ppo:
            own = [weight for group in self._groups for weight in group["params"] if id(weight) not in self._critic]
            self._before = [(weight, weight.detach().clone()) for weight in own]

    def _after_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        optimizer.param_groups = self._groups
        self._updates += 1
        if self._is_ppo or not self._acted:
            return
        self.divergence = self._measured()
        kept = self.controller.after_step(self.divergence)
        if kept is not None:
            with torch.no_grad():
                for weight, before in self._before:
                    weight.copy_(torch.lerp(before, weight, kept) if kept > 0 else before)
        self._before = []

    def _measured(self) -> float:
        """The mean over the rollout's rows of KL(policy that acted || policy now)."""
        sums = [divergence(old, new) for old, new in zip(self._acted, self._distributions())]
        return sum(total for total, _ in sums) / sum(rows for _, rows in sums)

    def _distributions(self) -> Iterator[list[torch.distributions.Distribution]]:
        """What the policy says to the rows of the rollout, chunk by chunk."""
        policy, rows = self.model.policy, self._observations
        mode = policy.training
        # As it acted: without what is done in training alone, such as dropout.
        policy.set_training_mode(False)
        first = next(iter(rows.values())) if isinstance(rows, dict) else rows
        count = first.shape[0] * first.shape[1]
        for start in range(0, count, CHUNK):
            with torch.no_grad():
                seen = obs_as_tensor(_chunk(rows, start), self.model.device)
                found = policy.get_distribution(seen).distribution
            yield found if isinstance(found, list) else [found]
        policy.set_training_mode(mode)

    def _watch_policy(self, evaluate_actions: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            values, log_prob, entropy = evaluate_actions(*args, **kwargs)
            self._log_prob = log_prob.detach()
            return values, log_prob, entropy

        return watched

    def _watch_buffer(self, get: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        def watched(*args: Any, **kwargs: Any) -> Iterator[Any]:
            for rows in get(*args, **kwargs):
                self._old_log_prob = rows.old_log_prob
                yield rows

        return watched


def critic_parameters(model: Any) -> set[int]:
    """The ids of the weights that the policy's outputs do not depend on: a shared layer is the policy's."""
    seen = obs_as_tensor(model._last_obs, model.device)
    weights = [weight for weight in model.policy.parameters() if weight.requires_grad]
    with torch.enable_grad():
        found = model.policy.get_distribution(seen).distribution
        outputs = [tensor for part in (found if isinstance(found, list) else [found]) for tensor in _outputs(part)]
        reached = torch.autograd.grad([tensor.sum() for tensor in outputs], weights, allow_unused=True)
    return {id(weight) for weight, gradient in zip(weights, reached) if gradient is None}


def divergence(old: list[Any], new: list[Any]) -> tuple[float, int]:
    """The sum over the rows of KL(old || new), and how many they are; the parts of an action are independent."""
    total: torch.Tensor | float = 0.0
    rows = 1
    for acted, now in zip(old, new):
        parts = torch.distributions.kl_divergence(acted, now)
        rows = len(parts)
        total = total + parts.double().sum()
    return float(total), rows


def _outputs(distribution: Any) -> list[torch.Tensor]:
    if isinstance(distribution, torch.distributions.Normal):
        return [distribution.loc, distribution.scale]
    return [distribution.logits]


def _chunk(rows: Any, start: int) -> Any:
    """Some of the rows of a rollout, which are laid out by step and environment."""
    if isinstance(rows, dict):
        return {name: _chunk(part, start) for name, part in rows.items()}
    return np.ascontiguousarray(rows.reshape(-1, *rows.shape[2:])[start : start + CHUNK])
