"""What works with Stable-Baselines3, which is imported with this module.

`make_vec` has SB3 train on the package's own simulators, and `Callback` schedules the hyperparameters of its PPO and
A2C, or lets the divergence of the policy say how long their steps are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._checks import mapping, whole
from ._errors import ConfigError, EnvError, InputError, MissingPackage
from ._scheduler import Scheduler
from ._step_control import StepController
from ._vector import VectorEnv

try:
    import torch
    from stable_baselines3 import A2C, PPO
    from stable_baselines3.common import vec_env
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.utils import ConstantSchedule, obs_as_tensor

    from ._sb3_steps import Steps
except ImportError as error:
    raise MissingPackage(
        "epgt.sb3 needs the package stable-baselines3, 2.6 or later: pip install stable-baselines3"
    ) from error

__all__ = ["Callback", "VecEnv", "make_vec"]

SCHEDULES = ("learning_rate", "clip_range", "clip_range_vf")
"""Settings that SB3 keeps as functions of what is left of the training."""
COUNTS = ("n_epochs", "batch_size")
DISCOUNTS = ("gamma", "gae_lambda")
PLAIN = ("ent_coef", "vf_coef", "max_grad_norm", "target_kl")


class VecEnv(vec_env.VecEnv):
    """Copies of a task that Rust steps together, as a vector environment of SB3's. `make_vec` makes it.

    The infos of an episode's last step have what SB3 looks for: `terminal_observation`, `TimeLimit.truncated`, and
    `episode` as its `Monitor` writes it.
    """

    def __init__(
        self, task: str, n_envs: int = 1, *, seed: int | None = None, threads: int | None = None, **options: object
    ) -> None:
        self._envs = VectorEnv(task, n_envs, autoreset_mode="SameStep", threads=threads, **options)
        self.task = self._envs.task
        self.render_mode = None
        self._begun = time.time()
        self._actions: NDArray[Any] | None = None
        n = self._envs.num_envs
        super().__init__(n, self._envs.single_observation_space, self._envs.single_action_space)
        if seed is not None:
            self.seed(whole("seed", seed, 0, 2**62))

    def reset(self) -> NDArray[Any]:
        """Begins an episode everywhere, with the seeds that `seed` has said."""
        seeds = list(self._seeds)
        observations, _ = self._envs.reset(seed=None if all(seed is None for seed in seeds) else seeds)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keeps the actions of the next step."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Makes the step."""
        if self._actions is None:
            raise EnvError("there are no actions; call step_async before step_wait")
        actions, self._actions = self._actions, None
        observations, rewards, terminated, truncated, infos = self._envs.step(actions)
        dones = terminated | truncated
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(dones):
            episode = infos["final_info"]["episode"]
            took = round(time.time() - self._begun, 6)
            told[i] = {
                "terminal_observation": infos["final_obs"][i],
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
                "episode": {"r": float(episode["r"][i]), "l": int(episode["l"][i]), "t": took},
            }
        return observations, rewards.astype(np.float32), dones, told

    def close(self) -> None:
        """Ends the environments."""
        self._envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each of these environments; they have few, and all the same."""
        if attr_name not in ("render_mode", "task", "metadata"):
            raise AttributeError(f"the environments of the package have no attribute {attr_name}")
        value = {"render_mode": None, "task": self.task, "metadata": self._envs.metadata}[attr_name]
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: what a task is like is said when it is made."""
        raise AttributeError(f"{attr_name} cannot be set; give the options of a task to make_vec")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Refused: the environments are not objects of Python."""
        raise AttributeError(f"the environments of the package have no method {method_name}")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Whether they do what a wrapper does: they tell of episodes what SB3's `Monitor` tells."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]


def make_vec(
    task: str, n_envs: int = 1, *, seed: int | None = None, threads: int | None = None, **options: object
) -> VecEnv:
    """Copies of a task on the package's own simulators, for SB3; `options` are those of the task."""
    return VecEnv(task, n_envs, seed=seed, threads=threads, **options)


class Callback(BaseCallback):
    """Schedules hyperparameters of SB3's PPO or A2C while it learns, or finds how long the policy's steps are.

    `tune` has the values of each hyperparameter, as in `epgt.Scheduler`, whose keywords `method`, `seed` and settings
    it takes as well: `learning_rate`, `clip_range`, `ent_coef`, `vf_coef`, `gamma`, `gae_lambda`, `n_epochs`,
    `max_grad_norm`, `batch_size`, `clip_range_vf`, `target_kl`, and every number in the optimiser's groups. Each begins
    with the model's own. Values are chosen after every rollout, are in force for the updates that follow it, and replace
    a schedule that the model has of its own. The scheduler is rewarded with the mean reward per step of the next
    rollout, or with what `reward` makes of the model.

    With `step_control="divergence"` the learning rate of the policy is found, and the model's decides nothing: every
    update of A2C is to move the policy by a divergence of `target_divergence` (0.003), every phase of PPO by 0.015, and
    the critic has the rate `critic_learning_rate` (0.003, and 0.001 for PPO). `step` can be scheduled then: it
    multiplies the target.

    `model.save` keeps the state: a callback that is made alike goes on with it when a loaded model learns on.
    """

    model: Any

    def __init__(
        self,
        tune: Mapping[str, Sequence[float] | str] | None = None,
        *,
        step_control: str = "rate",
        target_divergence: float | None = None,
        critic_learning_rate: float | None = None,
        reward: Callable[[Any], float] | None = None,
        method: str = "epgt",
        seed: int = 0,
        verbose: int = 0,
        **settings: object,
    ) -> None:
        super().__init__(verbose)
        if not isinstance(step_control, str) or step_control not in ("rate", "divergence"):
            raise ConfigError(f"step_control={step_control!r} cannot be used; rate or divergence is wanted")
        if reward is not None and not callable(reward):
            raise InputError(f"reward is of type {type(reward).__name__}; a function of the model is wanted")
        self._by_divergence = step_control == "divergence"
        self._target = _positive("target_divergence", target_divergence)
        self._critic_rate = _positive("critic_learning_rate", critic_learning_rate)
        self._tune = dict(mapping("tune", tune))
        self._refuse_idle()
        for name, values in self._tune.items():
            _refuse_values(name, values)
        self._reward = reward
        # A phase of PPO is long: what is chosen for one is not kept for fifty.
        self._settings: dict[str, Any] = {"hold": 1, **settings, "method": method, "seed": seed}
        if self._tune:
            # What is wrong with it is told now, and not when the model has begun to learn.
            self._make_scheduler(1, dict.fromkeys(self._tune, 1.0))
        self.scheduler: Scheduler | None = None
        """Who chooses; there once the training has begun."""
        self.controller: StepController | None = None
        """What finds the rate, with `step_control="divergence"`; there once the training has begun."""
        self._starts: dict[str, float] = {}
        self._values: dict[str, float] = {}
        self._choices = 0
        self._rewards: list[float] = []
        self._cuts: list[tuple[int, int, Any]] = []
        self._steps: Steps | None = None

    @property
    def values(self) -> dict[str, float]:
        """The values in force."""
        return dict(self._values)

    def state_dict(self) -> dict[str, Any]:
        """Everything that decides what is done next; `model.save` keeps it too."""
        scheduler, controller = self.scheduler, self.controller
        return {
            "starts": dict(self._starts),
            "values": dict(self._values),
            "choices": self._choices,
            "scheduler": None if scheduler is None else (scheduler.updates, scheduler.state_dict()),
            "rate": None if controller is None else (controller.rate, controller.highest),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes back what `state_dict` gave; the training that begins next goes on with it."""
        state = mapping("the state", state)
        if set(state) != set(self.state_dict()):
            raise InputError("the state is not one of this callback")
        is_alike = set(state["starts"]) == set(self._tune) and (state["rate"] is not None) == self._by_divergence
        if not is_alike or (state["scheduler"] is not None) != bool(self._tune):
            raise InputError("the state is one of a callback that was made otherwise")
        if state["scheduler"] is not None:
            updates, inner = state["scheduler"]
            self.scheduler = self._make_scheduler(updates, state["starts"])
            self.scheduler.load_state_dict(inner)
        if state["rate"] is not None:
            rate, highest = map(float, state["rate"])
            self.controller = StepController(rate, 1.0, highest)
        self._starts, self._values = dict(state["starts"]), dict(state["values"])
        self._choices = int(state["choices"])

    def _on_training_start(self) -> None:
        model = self.model
        if not isinstance(model, (PPO, A2C)):
            raise InputError(f"PPO or A2C is wanted, and the model is of type {type(model).__name__}")
        kept = model.__dict__.get("epgt_state")
        if isinstance(kept, _Kept):
            # Its training may have ended by an exception.
            kept.callback._remove_steps()
        elif kept is not None and model.num_timesteps > 0 and self._choices == 0 and self.controller is None:
            self.load_state_dict(kept)
        if self._tune and self.scheduler is None:
            rollouts = math.ceil(model._total_timesteps / (model.n_steps * model.n_envs))
            self._starts = {name: self._in_force(name) for name in self._tune}
            self.scheduler = self._make_scheduler(max(rollouts, 1), self._starts)
        if self._by_divergence:
            is_ppo = isinstance(model, PPO)
            critic_rate = self._critic_rate or (1e-3 if is_ppo else 3e-3)
            if self.controller is None:
                start, highest = (1e-4, 1e-2) if is_ppo else (7e-4, critic_rate)
                self.controller = StepController(min(start, highest), 1.0, highest)
            self.controller.divergence = self._target or (0.015 if is_ppo else 0.003)
            self._steps = Steps(model, self.controller, critic_rate)
        for name, value in self._values.items():
            self._put(name, value)
        self.model.epgt_state = _Kept(self)

    def _on_rollout_start(self) -> None:
        self._end_phase()
        self._rewards, self._cuts = [], []

    def _on_step(self) -> bool:
        normalised = self.model.get_vec_normalize_env()
        rewards = self.locals["rewards"] if normalised is None else normalised.get_original_reward()
        self._rewards.append(float(np.mean(rewards)))
        if "gamma" in self._tune:
            for i, info in enumerate(self.locals["infos"]):
                if self.locals["dones"][i] and info.get("TimeLimit.truncated") and "terminal_observation" in info:
                    self._cuts.append((len(self._rewards) - 1, i, info["terminal_observation"]))
        return True

    def _on_rollout_end(self) -> None:
        if self.scheduler is not None:
            self._choose(self.scheduler)
        if self._steps is not None:
            self._steps.after_rollout()

    def _on_training_end(self) -> None:
        self._end_phase()
        self._remove_steps()

    def _choose(self, scheduler: Scheduler) -> None:
        """Rewards what was chosen before this rollout, and chooses what is in force for the updates on it."""
        if self._choices > 0:
            outcome = float(np.mean(self._rewards)) if self._reward is None else self._reward(self.model)
            scheduler.reward(outcome)
        progress = min(self._choices / max(scheduler.updates - 1, 1), 1.0)
        self._values = scheduler.choose(list(self.model.policy.parameters()), None, progress)
        self._choices += 1
        gamma = float(self.model.gamma)
        for name, value in self._values.items():
            self._put(name, value)
            self.logger.record(f"epgt/{name}", value)
        if not set(DISCOUNTS).isdisjoint(self._values):
            self._credit_anew(gamma)

    def _end_phase(self) -> None:
        """After the updates on a rollout, and before the next."""
        if self._steps is None or self.controller is None:
            return
        self._steps.end_phase()
        if self._steps.divergence is not None:
            self.logger.record("train/divergence", self._steps.divergence)
            self.logger.record("train/target_divergence", self.controller.target)
            # SB3 has said the rate that it had set.
            self.logger.record("train/learning_rate", self.controller.policy_rate)

    def _remove_steps(self) -> None:
        if self._steps is not None:
            self._steps.remove()
            self._steps = None

    def _make_scheduler(self, updates: int, starts: Mapping[str, float]) -> Scheduler:
        return Scheduler(self._tune, updates=updates, start=starts, **self._settings)

    def _refuse_idle(self) -> None:
        """Refuses what would decide nothing."""
        if not self._by_divergence:
            if not self._tune:
                raise ConfigError('nothing is scheduled; say tune={...} or step_control="divergence"')
            idle = {
                "target_divergence": self._target,
                "critic_learning_rate": self._critic_rate,
                "step": self._tune.get("step"),
            }
            for name, said in idle.items():
                if said is not None:
                    raise ConfigError(f'{name} decides nothing; say step_control="divergence" too')
        elif "learning_rate" in self._tune:
            raise ConfigError('learning_rate is found with step_control="divergence"; schedule step, its multiplier')

    def _in_force(self, name: str) -> float:
        """The value of the model, with which the schedule begins."""
        model, group = self.model, self.model.policy.optimizer.param_groups[0]
        value = None
        if name == "step":
            value = 1.0
        elif name in SCHEDULES:
            schedule = model.lr_schedule if name == "learning_rate" else getattr(model, name, None)
            value = None if schedule is None else schedule(model._current_progress_remaining)
        elif name in (*COUNTS, *DISCOUNTS, *PLAIN):
            value = getattr(model, name, None)
        elif name != "lr":
            value = group.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise ConfigError(f"{type(model).__name__} has no number {name} to schedule")
        return float(value)

    def _put(self, name: str, value: float) -> None:
        """Puts a value where SB3 takes it from at its next update."""
        model = self.model
        if name == "step":
            assert self.controller is not None
            self.controller.step = value
        elif name == "learning_rate":
            # SB3 keeps the first when it saves, and sets the rate by the second before every update.
            model.learning_rate, model.lr_schedule = value, ConstantSchedule(value)
        elif name in SCHEDULES:
            setattr(model, name, ConstantSchedule(value))
        elif name in COUNTS:
            setattr(model, name, max(round(value), 1))
        elif name in (*DISCOUNTS, *PLAIN):
            setattr(model, name, value)
        else:
            for group in model.policy.optimizer.param_groups:
                group[name] = value

    def _credit_anew(self, before: float) -> None:
        """Makes the advantages of the rollout again: SB3 has made them with the discount before, and lambda."""
        model, buffer = self.model, self.model.rollout_buffer
        if model.gamma != before and self._cuts:
            # Where an episode was cut, SB3 has added the discounted value of what would have followed to the reward.
            seen = _stacked([observation for _, _, observation in self._cuts])
            with torch.no_grad():
                values = model.policy.predict_values(obs_as_tensor(seen, model.device)).cpu().numpy().ravel()
            for (step, env, _), value in zip(self._cuts, values):
                buffer.rewards[step, env] += (model.gamma - before) * value
        buffer.gamma, buffer.gae_lambda = model.gamma, model.gae_lambda
        buffer.compute_returns_and_advantage(last_values=self.locals["values"], dones=self.locals["dones"])


class _Kept:
    """A callback as an attribute of its model: what SB3 saves of it is its state, as plain values."""

    def __init__(self, callback: Callback) -> None:
        self.callback = callback

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (self.callback.state_dict(),)


def _positive(name: str, value: float | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ConfigError(f"{name}={value!r} cannot be used; a small positive number is wanted")
    return float(value)


def _refuse_values(name: object, values: Sequence[float] | str) -> None:
    """Refuses values that SB3 could not use; what a text says is known when it is chosen."""
    if not isinstance(name, str):
        raise ConfigError(f"the names of hyperparameters are texts, and {name!r} is none")
    if name == "n_steps":
        raise ConfigError("n_steps cannot be scheduled: SB3 makes its buffer once")
    if isinstance(values, str) or not isinstance(values, Sequence):
        return
    for value in values:
        if not isinstance(value, (int, float, np.number)) or isinstance(value, bool):
            continue
        is_fine = 0 <= value <= 1 if name in DISCOUNTS else value >= 1 if name in COUNTS else value >= 0
        if not is_fine or (name in COUNTS and value != round(value)):
            raise ConfigError(f"{name} = {value!r} cannot be used")


def _stacked(observations: list[Any]) -> Any:
    if isinstance(observations[0], dict):
        return {name: np.stack([each[name] for each in observations]) for name in observations[0]}
    return np.stack(observations)
