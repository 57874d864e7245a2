"""What works with Lightning, which is imported with this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._checks import mapping, number
from ._errors import ConfigError, InputError, MissingPackage

try:
    import lightning.pytorch as lightning

    from .torch import HyperScheduler
except ImportError as error:
    raise MissingPackage("epgt.lightning needs the package lightning: pip install lightning") from error

__all__ = ["Callback"]


class Callback(lightning.Callback):
    """Schedules the settings of the optimiser while a `lightning.Trainer` trains.

    `tune` names entries of the optimiser's groups (`lr`, `weight_decay`, `momentum`, ...) with their values; each begins
    with the optimiser's own. `monitor` is the logged metric that says how good the result is, and `mode` whether `min`
    or `max` of it is wanted; it is read after every validation, or at the end of every epoch where there is none. Other
    keywords are those of `epgt.Scheduler`. Lightning's checkpoints keep the state.
    """

    def __init__(
        self,
        tune: Mapping[str, Sequence[float] | str],
        *,
        monitor: str = "val_loss",
        mode: str = "min",
        **settings: Any,
    ) -> None:
        super().__init__()
        if not isinstance(mode, str) or mode not in ("min", "max"):
            raise ConfigError(f"mode={mode!r} cannot be used; min or max is wanted")
        if not isinstance(monitor, str):
            raise InputError(f"monitor={monitor!r} cannot be used; the name of a logged metric is wanted")
        self._tune = dict(mapping("tune", tune))
        if not self._tune:
            raise ConfigError('nothing is scheduled; say what: tune={"lr": [1e-4, 3e-4, 1e-3]}')
        self._monitor, self._sign = monitor, 1.0 if mode == "max" else -1.0
        self._settings = settings
        self.scheduler: HyperScheduler | None = None
        """Who chooses; there once the training has begun."""
        self._saved: Mapping[str, Any] | None = None
        self._steps = 0
        self._reward: float | None = None
        self._is_told = False

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begins to schedule, or goes on from a checkpoint."""
        if len(trainer.optimizers) != 1:
            raise ConfigError(f"one optimiser is wanted, and there are {len(trainer.optimizers)}")
        if trainer.lr_scheduler_configs and "lr" in self._tune:
            raise ConfigError("the module has a scheduler of lr already; leave one of them out")
        updates, saved = int(trainer.estimated_stepping_batches), self._saved
        if saved is not None:
            updates = int(saved["updates"])
        start = None if saved is None else saved["start"]
        optimizer = trainer.optimizers[0]
        optimizer = getattr(optimizer, "optimizer", optimizer)
        self.scheduler = HyperScheduler(optimizer, self._tune, updates=max(updates, 1), start=start, **self._settings)
        self._steps, self._reward, self._is_told, self._saved = trainer.global_step, None, False, None
        if saved is not None:
            self.scheduler.load_state_dict(saved["scheduler"])
            self._reward = saved["reward"]

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Chooses the values of the next step, where one was made: what came of it is known, and its gradients are there."""
        if self.scheduler is not None and trainer.global_step > self._steps:
            self._steps = trainer.global_step
            self.scheduler.step(self._reward)
            self._reward = None

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Tells how good the result is."""
        if not trainer.sanity_checking and self._monitor in trainer.callback_metrics:
            self._is_told = True
            self._tell(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Tells how good the result is, where no validation does."""
        if self._is_told:
            return
        if self._monitor not in trainer.callback_metrics:
            known = ", ".join(sorted(map(str, trainer.callback_metrics))) or "none"
            raise ConfigError(f"{self._monitor} is not logged; the logged metrics are: {known}")
        self._tell(trainer)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        if self.scheduler is None:
            return {}
        start, updates = self.scheduler.start, self.scheduler.scheduler.updates
        state = self.scheduler.state_dict()
        return {"scheduler": state, "start": start, "updates": updates, "reward": self._reward}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes back what a checkpoint has kept."""
        self._saved = state_dict or None

    def _tell(self, trainer: Any) -> None:
        self._reward = self._sign * number(self._monitor, float(trainer.callback_metrics[self._monitor]))
