"""An environment that fails as the file `fault` says: how, which of the copies, at which of its steps, and how loudly."""

import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np


class Failing(gymnasium.Env):
    """Observes zeros in episodes of 20 steps. It starts a helper, and writes its process into `pids`."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    made = 0

    def __init__(self):
        Failing.made += 1
        fault, copy, at, noise = open("fault").read().split()
        self.fault = fault if Failing.made == int(copy) else None
        self.at, self.noise, self.steps = int(at), noise == "loud", 0
        if Failing.made == 1:
            subprocess.Popen(["sleep", "1000"])
        with open("pids", "a") as file:
            file.write(f"{os.getpid()} {Failing.made}\n")
        if self.fault == "make":
            self.fail("make")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.fault == "reset" and self.steps >= self.at:
            self.fail("reset")
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.steps += 1
        seen, reward = np.zeros(2, np.float32), 1.0
        if self.fault == "slow":
            time.sleep(0.005)
        elif self.fault not in (None, "reset") and self.steps == self.at:
            seen, reward = self.fail(self.fault)
        return seen, reward, False, self.steps % 20 == 0, {}

    def fail(self, fault):
        """What it observes and earns then, if it comes back."""
        seen, reward = np.zeros(2, np.float32), 1.0
        if self.noise:
            print("k" * 100_000 + "\nthe last words")
            os.write(1, b'k{"ready": true}\n\xff\n')
        if fault in ("make", "reset", "step"):
            raise RuntimeError("no more")
        if fault == "quit":
            sys.exit("no more")
        if fault == "exit":
            os._exit(3)
        if fault == "abort":
            os.abort()
        if fault == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault == "sleep":
            time.sleep(1000)
        if fault == "busy":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                pass
        if fault == "shape":
            seen = np.zeros(3, np.float32)
        if fault == "dtype":
            seen = np.array(["1.5", "2.5"])
        if fault == "nan":
            seen[1] = np.nan
        if fault == "reward":
            reward = float("nan")
        if fault == "nothing":
            reward = None
        return seen, reward
