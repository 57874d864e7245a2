"""A learning rate that is scheduled by the loss of validation, in supervised training: beside a constant rate, a cosine
and random choices, from three starts.

python python/benchmarks/supervised.py [--seeds 10]

Two small networks of PyTorch's are trained with Adam: a classifier of scikit-learn's digits, and a regression on its
table of diabetes. A seed decides what is trained, validated (a fifth) and tested on (a fifth), the first weights and
the order of the rows. The test's score is printed with 95% bootstrap intervals of its mean over the seeds.
"""

from __future__ import annotations

import argparse
import math
from itertools import product
from typing import Any

import numpy as np
import torch
from sklearn import datasets

from epgt.torch import HyperScheduler

UPDATES, BATCH, BETWEEN_VALIDATIONS = 1000, 32, 20
GRID = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]
STARTS = [1e-4, 1e-3, 1e-2]
WAYS = ["constant", "cosine", "random", "epgt"]


def data(name: str, seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Rows and answers to train, validate and test with."""
    loaded: Any = datasets.load_digits() if name == "digits" else datasets.load_diabetes()
    rows, answers = np.asarray(loaded.data, np.float32), np.asarray(loaded.target)
    order = np.random.default_rng(seed).permutation(len(rows))
    parts = np.split(order, [3 * len(order) // 5, 4 * len(order) // 5])
    rows = (rows - rows[parts[0]].mean(0)) / (rows[parts[0]].std(0) + 1e-6)
    if name == "diabetes":
        answers = (answers - answers[parts[0]].mean()) / answers[parts[0]].std()
    kind = np.int64 if name == "digits" else np.float32
    return [(torch.from_numpy(rows[part]), torch.from_numpy(answers[part].astype(kind))) for part in parts]


def loss_of(name: str, model: torch.nn.Module, rows: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    outputs = model(rows)
    if name == "digits":
        return torch.nn.functional.cross_entropy(outputs, answers)
    return torch.nn.functional.mse_loss(outputs[:, 0], answers)


def score(name: str, way: str, start: float, seed: int) -> float:
    """Trains once; returns the accuracy of the test, or the share of its variance that is explained."""
    training, validation, test = data(name, seed)
    torch.manual_seed(seed)
    model = torch.nn.Sequential(
        torch.nn.Linear(training[0].shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 10 if name == "digits" else 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=start)
    hyper = None
    if way in ("random", "epgt"):
        settings = {"method": way, "updates": UPDATES, "hold": BETWEEN_VALIDATIONS, "seed": seed}
        hyper = HyperScheduler(optimizer, {"lr": GRID}, **settings)
    for update in range(UPDATES):
        if way == "cosine":
            optimizer.param_groups[0]["lr"] = 0.5 * start * (1 + math.cos(math.pi * update / UPDATES))
        picked = torch.randint(len(training[0]), (BATCH,))
        loss = loss_of(name, model, training[0][picked], training[1][picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if hyper is not None:
            reward = None
            if update % BETWEEN_VALIDATIONS == BETWEEN_VALIDATIONS - 1:
                with torch.no_grad():
                    reward = -loss_of(name, model, *validation)
            hyper.step(reward)
    with torch.no_grad():
        if name == "digits":
            return float((model(test[0]).argmax(1) == test[1]).float().mean())
        return 1.0 - float(loss_of(name, model, *test)) / float(test[1].var(correction=0))


def interval(scores: np.ndarray[Any, Any]) -> str:
    """The mean, and its 95% bootstrap interval."""
    drawn = np.random.default_rng(0).choice(scores, (10_000, len(scores))).mean(1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return f"{scores.mean():.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = range(parser.parse_args().seeds)
    torch.set_num_threads(1)
    print(f"| data, start | {' | '.join(WAYS)} |\n| {' | '.join(['---'] * (len(WAYS) + 1))} |")
    for name, start in product(("digits", "diabetes"), STARTS):
        cells = [interval(np.array([score(name, way, start, seed) for seed in seeds])) for way in WAYS]
        print(f"| {name}, {start:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
