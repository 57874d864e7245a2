"""Settings of optimisers, scheduled in the training loops of Lightning and Transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import needs

pytestmark = pytest.mark.filterwarnings("ignore")

RATES = [1e-3, 1e-2, 1e-1]


class Seen:
    """The rates that an optimiser has at the moment of its steps."""

    def __init__(self, optimizer: Any) -> None:
        self.rates: list[float] = []
        self.momenta: list[float] = []
        optimizer.register_step_pre_hook(self)

    def __call__(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.rates.append(optimizer.param_groups[0]["lr"])
        self.momenta.append(optimizer.param_groups[0].get("momentum", 0.0))


def lightning_module() -> Any:
    import lightning.pytorch as lightning
    import torch

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = ((self.layer(batch[0]) - batch[0].sum(1, keepdim=True)) ** 2).mean()
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("val_loss", ((self.layer(batch[0]) - batch[0].sum(1, keepdim=True)) ** 2).mean())

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.SGD(self.parameters(), lr=1e-2, momentum=0.5)
            self.seen = Seen(optimizer)
            return optimizer

    return Module()


def fit(module: Any, callback: Any, epochs: int, validates: bool = True, **options: Any) -> Any:
    import lightning.pytorch as lightning
    import torch

    rows = torch.utils.data.TensorDataset(torch.randn(64, 3, generator=torch.Generator().manual_seed(1)))
    loaders = [torch.utils.data.DataLoader(rows, batch_size=8)] * (2 if validates else 1)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    checkpoint, callbacks = options.pop("ckpt_path", None), [callback, *options.pop("more", [])]
    trainer = lightning.Trainer(max_epochs=epochs, callbacks=callbacks, **quiet, **options)
    trainer.fit(module, *loaders, ckpt_path=checkpoint)
    return trainer


@needs("lightning")
def test_lightning_steps_with_what_is_chosen_and_tells_the_validation_loss(tmp_path: Path) -> None:
    import epgt.lightning

    tune = {"lr": RATES, "momentum": [0.0, 0.5, 0.9]}
    callback = epgt.lightning.Callback(tune, method="random", hold=4, seed=1)
    module = lightning_module()
    fit(module, callback, 4, default_root_dir=tmp_path, enable_checkpointing=False)
    assert callback.scheduler is not None
    rates = np.array(module.seen.rates).reshape(8, 4)
    assert (rates == rates[:, :1]).all() and len(set(rates[:, 0])) > 1 and len(set(module.seen.momenta)) > 1
    decisions = callback.scheduler.scheduler.decisions
    assert list(decisions["lr"]) == list(rates[: len(decisions["lr"]), 0])
    assert (decisions["outcome"] < 0).all() and len(decisions["outcome"]) >= 2
    assert callback.scheduler.scheduler.updates == 32


@needs("lightning")
def test_a_checkpoint_of_lightnings_goes_on_exactly(tmp_path: Path) -> None:
    import lightning.pytorch as lightning

    import epgt.lightning

    class Stops(lightning.Callback):
        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.current_epoch == 1:
                trainer.save_checkpoint(tmp_path / "half.ckpt")

    def callback() -> Any:
        return epgt.lightning.Callback({"lr": RATES}, hold=3)

    whole, again = lightning_module(), lightning_module()
    fit(whole, callback(), 4, more=[Stops()], default_root_dir=tmp_path, enable_checkpointing=False)
    fit(again, callback(), 4, ckpt_path=tmp_path / "half.ckpt", default_root_dir=tmp_path, enable_checkpointing=False)
    assert len(whole.seen.rates) == 32 and whole.seen.rates[16:] == again.seen.rates
    assert len(set(again.seen.rates)) > 1


@needs("lightning")
def test_without_validation_the_metric_of_an_epoch_is_told() -> None:
    import epgt.lightning

    callback, module = epgt.lightning.Callback({"lr": RATES}, monitor="train_loss", hold=2), lightning_module()
    fit(module, callback, 3, validates=False, enable_checkpointing=False)
    assert callback.scheduler is not None and len(callback.scheduler.scheduler.decisions["outcome"]) > 0
    missing = epgt.lightning.Callback({"lr": RATES}, monitor="accuracy")
    with pytest.raises(epgt.ConfigError, match="accuracy is not logged; the logged metrics are: train_loss"):
        fit(lightning_module(), missing, 1, validates=False, enable_checkpointing=False)
    with pytest.raises(epgt.ConfigError, match="SGD has no number betas"):
        fit(lightning_module(), epgt.lightning.Callback({"betas": RATES}), 1, enable_checkpointing=False)
    with pytest.raises(epgt.ConfigError, match="mode='least'"):
        epgt.lightning.Callback({"lr": RATES}, mode="least")
    with pytest.raises(epgt.ConfigError, match="nothing is scheduled"):
        epgt.lightning.Callback({})


def hugging_face(callback: Any, place: Path, steps: int = 24, **options: Any) -> tuple[Any, list[float]]:
    import torch
    import transformers

    transformers.set_seed(0)
    config = transformers.GPT2Config(vocab_size=11, n_positions=8, n_embd=8, n_layer=1, n_head=1)
    model = transformers.GPT2LMHeadModel(config)
    rows = [{"input_ids": torch.arange(i, i + 6) % 11, "labels": torch.arange(i, i + 6) % 11} for i in range(32)]
    arguments = transformers.TrainingArguments(
        output_dir=str(place),
        max_steps=steps,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        eval_strategy="steps",
        eval_steps=4,
        logging_steps=4,
        save_strategy="steps" if "save_steps" in options else "no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        **options,
    )
    callbacks = [callback] if callback is not None else []
    trainer = transformers.Trainer(model, arguments, train_dataset=rows, eval_dataset=rows, callbacks=callbacks)
    seen: list[float] = []

    class Looks(transformers.TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            optimizer = kwargs["optimizer"]
            optimizer = getattr(optimizer, "optimizer", optimizer)
            optimizer.register_step_pre_hook(lambda opt, a, k: seen.append(opt.param_groups[0]["lr"]))

    trainer.add_callback(Looks())
    return trainer, seen


@needs("transformers")
@needs("accelerate")
def test_the_trainer_of_transformers_steps_with_what_is_chosen(tmp_path: Path) -> None:
    import epgt.transformers

    callback = epgt.transformers.Callback({"lr": RATES, "weight_decay": [0.0, 0.1]}, method="random", hold=4, seed=2)
    trainer, seen = hugging_face(callback, tmp_path)
    trainer.train()
    rates = np.array(seen).reshape(6, 4)
    # The trainer's own schedule, which falls with every step, is in force nowhere.
    assert (rates == rates[:, :1]).all() and len(set(rates[:, 0])) > 1 and set(rates.ravel()) <= set(RATES)
    decisions = callback.scheduler.scheduler.decisions
    assert list(decisions["lr"]) == list(rates[: len(decisions["lr"]), 0])
    losses = [row["eval_loss"] for row in trainer.state.log_history if "eval_loss" in row]
    np.testing.assert_allclose(decisions["outcome"], -np.array(losses[: len(decisions["outcome"])]), rtol=1e-4)
    logged = [row["learning_rate"] for row in trainer.state.log_history if "learning_rate" in row]
    assert set(logged) <= set(RATES)


@needs("transformers")
@needs("accelerate")
def test_a_checkpoint_of_transformers_goes_on_exactly(tmp_path: Path) -> None:
    import epgt.transformers

    options = {"save_steps": 12, "restore_callback_states_from_checkpoint": True}
    whole, rates = hugging_face(epgt.transformers.Callback({"lr": RATES}, hold=2), tmp_path / "whole", **options)
    whole.train()
    again, rest = hugging_face(epgt.transformers.Callback({"lr": RATES}, hold=2), tmp_path / "again", **options)
    again.train(resume_from_checkpoint=str(tmp_path / "whole" / "checkpoint-12"))
    assert rates[12:] == rest and len(rest) == 12 and len(set(rates)) > 1


@needs("transformers")
def test_the_callback_of_transformers_refuses_in_a_sentence() -> None:
    import epgt.transformers

    with pytest.raises(epgt.ConfigError, match="mode='least'"):
        epgt.transformers.Callback({"lr": RATES}, mode="least")
    with pytest.raises(epgt.ConfigError, match="nothing is scheduled"):
        epgt.transformers.Callback({})
    with pytest.raises(epgt.InputError, match="metric=3"):
        epgt.transformers.Callback({"lr": RATES}, metric=3)  # type: ignore[arg-type]
