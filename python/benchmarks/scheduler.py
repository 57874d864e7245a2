"""What `choose` costs beside a step of Adam on the same network of a million weights, in one run on one thread.

python python/benchmarks/scheduler.py [UPDATES]
"""

from __future__ import annotations

import sys
import time

import torch

from epgt.torch import HyperScheduler


def main() -> None:
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = HyperScheduler(optimizer, {"lr": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]}, updates=updates)
    spent = {"backward": 0.0, "optimizer": 0.0, "scheduler": 0.0}
    for update in range(updates):
        begun = time.process_time()
        inputs = torch.randn(64, 512)
        loss = ((model(inputs) - inputs) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        stepped = time.process_time()
        optimizer.step()
        chosen = time.process_time()
        scheduler.step(-loss if update % 50 == 49 else None)
        ended = time.process_time()
        spent["backward"] += stepped - begun
        spent["optimizer"] += chosen - stepped
        spent["scheduler"] += ended - chosen
    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"{size:,} weights, {updates} updates")
    for name, seconds in spent.items():
        share = seconds / spent["optimizer"]
        print(f"{name:<10} {1e3 * seconds / updates:8.3f} ms per update, {share:7.1%} of the optimiser's step")


if __name__ == "__main__":
    main()
