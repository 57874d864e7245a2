"""What works with Transformers, which is imported with this module."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from ._checks import mapping, number
from ._errors import ConfigError, InputError, MissingPackage

try:
    import transformers
    from transformers.trainer_callback import ExportableState

    from .torch import HyperScheduler
except ImportError as error:
    raise MissingPackage("epgt.transformers needs the package transformers: pip install transformers") from error

__all__ = ["Callback"]


class Callback(transformers.TrainerCallback, ExportableState):
    """Schedules the settings of the optimiser while a `transformers.Trainer` trains.

    `tune` names entries of the optimiser's groups (`lr`, `weight_decay`, ...) with their values; each begins with the
    optimiser's own. A scheduled `lr` is in force at every step, whatever the trainer's own schedule says. `metric` is
    what says how good the result is, and `mode` whether `min` or `max` of it is wanted: a metric of the evaluation, or
    of what is logged, such as `loss`. Other keywords are those of `epgt.Scheduler`.

    The state is in the trainer's checkpoints, and taken back with `restore_callback_states_from_checkpoint=True`.
    """

    def __init__(
        self,
        tune: Mapping[str, Sequence[float] | str],
        *,
        metric: str = "eval_loss",
        mode: str = "min",
        **settings: Any,
    ) -> None:
        if not isinstance(mode, str) or mode not in ("min", "max"):
            raise ConfigError(f"mode={mode!r} cannot be used; min or max is wanted")
        if not isinstance(metric, str):
            raise InputError(f"metric={metric!r} cannot be used; the name of a metric is wanted")
        self._tune = dict(mapping("tune", tune))
        if not self._tune:
            raise ConfigError('nothing is scheduled; say what: tune={"lr": [1e-5, 3e-5, 1e-4]}')
        self._metric, self._mode, self._settings = metric, mode, settings
        self.scheduler: HyperScheduler | None = None
        """Who chooses; there once the training has begun."""
        self._saved: str | None = None
        self._reward: float | None = None
        self._is_stepped = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begins to schedule, or goes on from a checkpoint."""
        optimizer = kwargs["optimizer"]
        # Accelerate's wrapper of an optimiser has the optimiser inside.
        optimizer = getattr(optimizer, "optimizer", optimizer)
        self._reward, self._is_stepped = None, False
        saved = None if self._saved is None else pickle.loads(base64.b64decode(self._saved))
        updates, start = (max(state.max_steps, 1), None) if saved is None else (saved["updates"], saved["start"])
        self.scheduler = HyperScheduler(optimizer, self._tune, updates=updates, start=start, **self._settings)
        if saved is not None:
            self.scheduler.load_state_dict(saved["scheduler"])
            self._reward, self._is_stepped = saved["reward"], saved["is_stepped"]

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Chooses the values of the step, and puts them in force: the trainer's own schedule has set its rate since the
        last. The first were chosen when the training began."""
        if self.scheduler is None:
            return
        if self._is_stepped:
            self.scheduler.step(self._reward)
            self._reward = None
        self.scheduler.apply()
        self._is_stepped = True

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        """Tells how good the result is."""
        self._tell(metrics or {})

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Tells how good the result is, and has the rate in force logged, not that of the trainer's schedule."""
        if logs is not None and self.scheduler is not None:
            if "learning_rate" in logs and "lr" in self._tune:
                for said in (logs, *state.log_history[-1:]):
                    said["learning_rate"] = self.scheduler.values["lr"]
            # What an evaluation logs is told by `on_evaluate`.
            if not self._metric.startswith("eval_"):
                self._tell(logs)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        kept = None
        if self.scheduler is not None:
            start, updates = self.scheduler.start, self.scheduler.scheduler.updates
            state = {"scheduler": self.scheduler.state_dict(), "start": start, "updates": updates}
            state |= {"reward": self._reward, "is_stepped": self._is_stepped}
            kept = base64.b64encode(pickle.dumps(state)).decode()
        args = {"tune": self._tune, "metric": self._metric, "mode": self._mode, **self._settings}
        return {"args": args, "attributes": {"_saved": kept}}

    def _tell(self, metrics: Mapping[str, Any]) -> None:
        if self._metric in metrics:
            sign = 1.0 if self._mode == "max" else -1.0
            self._reward = sign * number(self._metric, float(metrics[self._metric]))
