"""What `epgt.train` costs beside the program with the same settings, in time of the processor, in turns.

python python/benchmarks/training.py PROGRAM [--task CartPole-v1] [--algo ppo] [--steps 1000000] [--rounds 7]

PROGRAM is the binary, `target/release/epgt`. Each training is a process of its own on one thread, and all of it counts,
Python's start too. Both must end with the same policy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CODE = "import epgt, sys; epgt.train(sys.argv[1], algo=sys.argv[2], steps=int(sys.argv[3]), seed=0, directory='run')"


def measure(command: list[str]) -> tuple[float, str]:
    """Seconds of the processor, and the hash of the policy."""
    with tempfile.TemporaryDirectory() as place:
        process = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{' '.join(command)} failed")
        result = json.loads((Path(place) / "run" / "result.json").read_text())
    return used.ru_utime + used.ru_stime, result["policy_sha256"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--task", default="CartPole-v1")
    parser.add_argument("--algo", default="ppo")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    said = [given.task, "--algo", given.algo, "--steps", str(given.steps), "--seed", "0", "--out", "run", "-q"]
    program = [str(given.program.resolve()), "train", *said]
    package = [sys.executable, "-c", CODE, given.task, given.algo, str(given.steps)]
    rounds = [(measure(program), measure(package)) for _ in range(given.rounds)]
    if len({policy for pair in rounds for _, policy in pair}) != 1:
        raise SystemExit("the policies are not the same")
    theirs, ours = ([pair[side][0] for pair in rounds] for side in (0, 1))
    print(f"{given.task}, {given.algo}, {given.steps:,} steps, {given.rounds} rounds; policy {rounds[0][0][1][:16]}")
    for name, seconds in (("program", theirs), ("epgt.train", ours)):
        print(f"{name:<10} best {min(seconds):7.2f} s, median {statistics.median(seconds):7.2f} s")
    print(f"epgt.train takes {min(ours) / min(theirs):.3f} of the program's time by the best, ", end="")
    print(f"{statistics.median(a / b for a, b in zip(ours, theirs)):.3f} by the median of the rounds")


if __name__ == "__main__":
    main()
