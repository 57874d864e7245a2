"""The schedulers in training loops that are not the package's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from conftest import needs

import epgt

RATES = [1e-3, 1e-2, 1e-1]


def descend(scheduler: epgt.Scheduler, steps: int, seed: int = 0) -> tuple[float, list[float]]:
    """Fits a line by gradient descent; returns the loss in the end and the rates that were chosen."""
    rng = np.random.default_rng(seed)
    weight, bias = np.zeros((1, 3), np.float32), np.zeros(1, np.float32)
    gradients, rates, before = [np.zeros_like(weight), np.zeros_like(bias)], [], None
    for update in range(steps):
        (rate,) = scheduler.choose([weight, bias], gradients, update / (steps - 1)).values()
        x = rng.standard_normal((16, 3)).astype(np.float32)
        error = x @ weight.T + bias - (x @ np.array([[1.0], [-2.0], [0.5]]) + 3.0)
        gradients = [2 * (error * x).mean(0, keepdims=True).astype(np.float32), 2 * error.mean(0).astype(np.float32)]
        weight, bias = weight - np.float32(rate) * gradients[0], bias - np.float32(rate) * gradients[1]
        rates.append(rate)
        loss = float((error**2).mean())
        if (update + 1) % 10 == 0:
            scheduler.reward(0.0 if before is None else float(np.log((before + 1e-6) / (loss + 1e-6))))
            before = loss
    return loss, rates


def test_choices_are_values_of_the_list_and_follow_the_seed() -> None:
    first, again, other = (
        descend(epgt.Scheduler({"lr": RATES}, seed=seed, updates=200, hold=10), 200)[1] for seed in (0, 0, 1)
    )
    assert set(first) <= set(RATES) and len(set(first)) > 1
    assert first == again and first != other


@pytest.mark.parametrize("method", ["epgt", "random", "bandit", "dqn", "lrrl", "ultho"])
def test_every_method_schedules(method: str) -> None:
    loss, rates = descend(epgt.Scheduler({"learning_rate": RATES}, method=method, updates=300, hold=10), 300)
    assert np.isfinite(loss) and len(set(rates)) > 1
    fixed, kept = descend(epgt.Scheduler({"lr": RATES}, method="fixed", start={"lr": 1e-3}), 300)
    assert set(kept) == {1e-3} and loss < fixed


def test_a_state_goes_on_as_if_nothing_had_happened() -> None:
    make = lambda: epgt.Scheduler(
        {"lr": RATES, "momentum": "uniform:0..0.8:3"}, start={"momentum": 0.0}, hold=5, updates=100
    )
    rng = np.random.default_rng(0)
    moments = [(rng.standard_normal((4, 2)), rng.standard_normal((4, 2))) for _ in range(60)]

    def go(scheduler: epgt.Scheduler, first: int, last: int) -> list[dict[str, float]]:
        chosen = []
        for update in range(first, last):
            chosen.append(scheduler.choose(*moments[update], update / 60))
            if update % 5 == 4:
                scheduler.reward(float(update % 7))
        return chosen

    whole = go(make(), 0, 60)
    half = make()
    assert go(half, 0, 30) == whole[:30]
    state = pickle.loads(pickle.dumps(half.state_dict()))
    other = make()
    other.load_state_dict(state)
    assert go(other, 30, 60) == whole[30:]
    # The state of one that has chosen nothing yet is one too.
    other.load_state_dict(make().state_dict())
    assert go(other, 0, 60) == whole


def test_decisions_tell_what_came_of_them() -> None:
    scheduler = epgt.Scheduler({"lr": RATES}, updates=100, hold=10)
    descend(scheduler, 100)
    decisions = scheduler.decisions
    assert len(decisions["lr"]) >= 9 and set(decisions["lr"]) <= set(RATES)
    assert np.isfinite(decisions["hyper_return"]).all() and set(decisions["choice"]) <= {"random", "greedy"}


def test_large_tensors_are_seen_as_few_rows_with_all_their_numbers() -> None:
    from epgt._scheduler import _matrix

    shapes = {(): (1, 1), (7,): (1, 7), (3, 5): (3, 5), (1024, 10): (64, 160), (96, 2, 2): (48, 8), (997, 3): (1, 2991)}
    assert {shape: _matrix(shape) for shape in shapes} == shapes


def test_misuse_is_refused_in_a_sentence() -> None:
    for kind, sentence, make in [
        (epgt.ConfigError, "nothing is scheduled", lambda: epgt.Scheduler({})),
        (epgt.ConfigError, "lr has no values", lambda: epgt.Scheduler({"lr": []})),
        (epgt.ConfigError, "lr = nan", lambda: epgt.Scheduler({"lr": [1.0, float("nan")]})),
        (epgt.ConfigError, "lr = 'a'", lambda: epgt.Scheduler({"lr": ["a"]})),
        (epgt.ConfigError, "a list of numbers", lambda: epgt.Scheduler({"lr": 3})),
        (epgt.ConfigError, "twice", lambda: epgt.Scheduler({"lr": [1.0, 1.0]})),
        (epgt.ConfigError, "value to start from", lambda: epgt.Scheduler({"lr": "log:1e-4..1e-2:5"})),
        (epgt.ConfigError, "not scheduled", lambda: epgt.Scheduler({"lr": RATES}, start={"beta": 1.0})),
        (epgt.ConfigError, "did you mean 'epgt'", lambda: epgt.Scheduler({"lr": RATES}, method="epgtt")),
        (epgt.ConfigError, "holdd", lambda: epgt.Scheduler({"lr": RATES}, holdd=3)),
        (epgt.InputError, "updates=0", lambda: epgt.Scheduler({"lr": RATES}, updates=0)),
        (epgt.InputError, "seed=-1", lambda: epgt.Scheduler({"lr": RATES}, seed=-1)),
    ]:
        with pytest.raises(kind, match=sentence):
            make()
    for sentence, args in [
        ("there are no weights", ([],)),
        ("arrays or parameters are wanted", (3,)),
        ("numbers are wanted", (["a"],)),
        ("progress=2", ([1.0], [1.0], 2)),
        ("progress=nan", ([1.0], [1.0], float("nan"))),
        ("other shapes than the weights", (np.zeros(3), np.zeros(4))),
        ("number 1 of the weights is NaN", (np.array([0.0, np.nan]), np.zeros(2))),
        ("number 0 of the gradients is inf", (np.zeros(2), np.array([1e39, 0.0]))),
    ]:
        with pytest.raises(epgt.InputError, match=sentence):
            epgt.Scheduler({"lr": RATES}).choose(*args)
    scheduler = epgt.Scheduler({"lr": RATES})
    scheduler.choose(np.zeros(3))
    with pytest.raises(epgt.InputError, match="other shapes than those of the first choice"):
        scheduler.choose(np.zeros(4))
    for outcome in (float("nan"), float("inf"), 1e39, "much", None):
        with pytest.raises(epgt.InputError, match="the reward is"):
            scheduler.reward(outcome)
    chosen = scheduler.choose(np.zeros(3))
    for state in (
        {},
        {"shapes": None, "agent": 3},
        {"shapes": None, "agent": b"no"},
        {"shapes": [(3,)], "agent": b"no"},
    ):
        with pytest.raises(epgt.InputError, match="the state is not one"):
            scheduler.load_state_dict(state)
    # What was refused has changed nothing.
    assert scheduler.choose(np.zeros(3)) == chosen


@needs("torch")
def test_an_optimiser_of_pytorch_is_scheduled() -> None:
    import torch

    from epgt.torch import HyperScheduler

    def train(stop: int | None = None) -> tuple[Any, Any, list[float]]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.0)
        scheduler = HyperScheduler(optimizer, {"lr": RATES, "momentum": [0.0, 0.5, 0.9]}, updates=60, hold=5)
        rates = []
        for update in range(60 if stop is None else stop):
            x = torch.randn(16, 3)
            loss = ((model(x)[:, 0] - x.sum(1)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rates.append(scheduler.get_last_lr()[0])
            assert optimizer.param_groups[0]["lr"] == scheduler.values["lr"]
            scheduler.step(-loss if update % 5 == 4 else None)
        return scheduler, optimizer, rates

    _, _, whole = train()
    assert set(whole) <= set(RATES) and len(set(whole)) > 1
    half, optimizer, rates = train(30)
    assert rates == whole[:30]
    state = half.state_dict()
    for group in optimizer.param_groups:
        group["lr"] = 77.0
    half.load_state_dict(state)
    assert half.get_last_lr() == [whole[30]]
    with pytest.raises(epgt.ConfigError, match="SGD has no number beta to schedule"):
        HyperScheduler(optimizer, {"beta": [0.1]}, updates=3)
    with pytest.raises(epgt.InputError, match="an optimiser of PyTorch's is wanted"):
        HyperScheduler(3, {"lr": RATES}, updates=3)


@needs("torch")
def test_parameters_of_pytorch_are_the_same_as_arrays() -> None:
    import torch

    weights = [torch.nn.Parameter(torch.randn(4, 3)), torch.nn.Parameter(torch.randn(4))]
    chosen: list[list[Any]] = [[], []]
    schedulers = [epgt.Scheduler({"lr": RATES}, hold=2, updates=40) for _ in range(2)]
    for update in range(40):
        for parameter in weights:
            parameter.grad = torch.randn(parameter.shape)
        arrays = [[t.detach().numpy() for t in weights], [t.grad.numpy() for t in weights if t.grad is not None]]
        chosen[0].append(schedulers[0].choose(weights, progress=update / 40))
        chosen[1].append(schedulers[1].choose(*arrays, progress=update / 40))
        for scheduler in schedulers:
            scheduler.reward(float(np.sin(update)))
    assert chosen[0] == chosen[1]
    # NumPy has no numbers of this type.
    small = [tensor.detach().to(torch.bfloat16) for tensor in weights]
    assert set(epgt.Scheduler({"lr": RATES}).choose(small, small)) == {"lr"}


@needs("torch")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("settings", [{}, {"order": 0}, {"order": 4, "state_dim": 3}])
def test_what_is_projected_where_the_tensors_are_is_chosen_as_from_arrays(
    device: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from epgt import _scheduler

    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    torch.manual_seed(0)
    shapes = [(96, 5), (96,), (4, 3, 2, 2), ()]
    weights = [torch.nn.Parameter(torch.randn(shape, device=device)) for shape in shapes]
    there, here, again = (epgt.Scheduler({"lr": RATES}, hold=5, updates=60, **settings) for _ in range(3))
    looked = []
    for update in range(60):
        for parameter in weights:
            parameter.data += 0.1 * torch.randn(parameter.shape, device=device)
            parameter.grad = torch.randn(parameter.shape, device=device) if update > 0 else None
        arrays = (
            [t.detach().cpu().numpy() for t in weights],
            [_scheduler._zeros(t) if t.grad is None else t.grad for t in weights],
        )
        numbers = [t.cpu().numpy() for t in arrays[1]]
        # On the CPU the same code is made to run by saying that the tensors are not there.
        monkeypatch.setattr(_scheduler, "_is_elsewhere", lambda tensor: hasattr(tensor, "detach"))
        chosen = there.choose(weights, progress=update / 60)
        assert there._projector is not None
        monkeypatch.undo()
        assert chosen == here.choose(arrays[0], numbers, progress=update / 60)
        if there._native.looks_at_weights():
            features, norms = there._projector.features(weights, arrays[1])
            looked.append(features)
            assert norms[0] == pytest.approx(np.sqrt(sum(np.sum(a**2) for a in arrays[0])), rel=1e-5)
            tensors, sources, dim, matrices, _ = here._native.projections()
            start, expected = 0, []
            for source in [arrays[0], numbers][:sources]:
                for array, (rows, cols) in zip(source, tensors):
                    matrix = matrices[start : start + dim * cols].reshape(dim, cols)
                    expected.append((array.reshape(rows, cols) @ matrix.T).ravel())
                    start += dim * cols
            together = np.concatenate(expected)
            np.testing.assert_allclose(features[: len(together)], together, rtol=1e-4, atol=1e-5)
        for scheduler in (there, here):
            scheduler.reward(float(np.sin(update)))
        if update == 33:
            # A state goes from one processor to the other.
            state = there.state_dict()
            assert len(state["agent"]) == len(here.state_dict()["agent"])
            again.load_state_dict(state)
        elif update > 33:
            assert again.choose(arrays[0], numbers, progress=update / 60) == chosen
            again.reward(float(np.sin(update)))
    assert len(looked) > 5
    weights[0].data[0, 0] = float("nan")
    monkeypatch.setattr(_scheduler, "_is_elsewhere", lambda tensor: hasattr(tensor, "detach"))
    with pytest.raises(epgt.InputError, match="finite numbers are wanted"):
        for _ in range(6):
            there.choose(weights)
