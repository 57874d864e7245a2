"""What `choose` costs beside a step of Adam on the same network of a million weights, in one run on one thread.

python python/benchmarks/scheduler.py [UPDATES] [DEVICE]

It is measured in time of the processor, and on a GPU by the clock, after all that it has to do is done.
"""

from __future__ import annotations

import sys
import time

import torch

from epgt.torch import HyperScheduler


def main() -> None:
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    device = sys.argv[2] if len(sys.argv) > 2 else "cpu"
    torch.set_num_threads(1)

    def clock() -> float:
        if device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512))
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = HyperScheduler(optimizer, {"lr": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]}, updates=updates)
    spent = {"backward": 0.0, "optimizer": 0.0, "scheduler": 0.0}
    calls = []
    for update in range(updates):
        begun = clock()
        inputs = torch.randn(64, 512, device=device)
        loss = ((model(inputs) - inputs) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        stepped = clock()
        optimizer.step()
        chosen = clock()
        scheduler.step(-loss if update % 50 == 49 else None)
        ended = clock()
        spent["backward"] += stepped - begun
        spent["optimizer"] += chosen - stepped
        spent["scheduler"] += ended - chosen
        calls.append(ended - chosen)
    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"{size:,} weights, {updates} updates, {device}")
    for name, seconds in spent.items():
        share = seconds / spent["optimizer"]
        print(f"{name:<10} {1e3 * seconds / updates:8.3f} ms per update, {share:7.1%} of the optimiser's step")
    # At the default hold, one call in fifty looks at weights.
    longest = sorted(calls)[-max(updates // 50, 1) :]
    print(f"the longest call in fifty takes {1e3 * sum(longest) / len(longest):.1f} ms")


if __name__ == "__main__":
    main()
