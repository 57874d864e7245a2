"""Environments for the tests of the bridge: one that does nothing, one of every kind of space, and some that misbehave."""

import os
import signal
import sys
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class DoNothing(gymnasium.Env):
    """Observes zeros; an episode has `length` steps. With `fault` it misbehaves in its step number `at`."""

    observation_space = spaces.Box(-1.0, 1.0, (4,))
    action_space = spaces.Discrete(2)

    def __init__(self, length=10, fault=None, at=5):
        self.length, self.fault, self.at, self.all, self.now = length, fault, at, 0, 0
        self.seen = np.zeros(4, np.float32)
        if fault == "birth":
            os.kill(os.getpid(), signal.SIGKILL)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.now = 0
        return self.seen, {}

    def step(self, action):
        self.now += 1
        self.all += 1
        seen, reward = self.seen, 1.0
        if self.fault and self.all == self.at:
            if self.fault == "raise":
                raise ValueError("the motor is on fire")
            if self.fault == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fault == "exit":
                print("goodbye from the environment")
                os._exit(3)
            if self.fault == "quit":
                sys.exit(4)
            if self.fault == "hang":
                time.sleep(1000)
            if self.fault == "shape":
                seen = np.zeros(5, np.float32)
            if self.fault == "nan":
                seen = np.array([0, np.nan, 0, 0], np.float32)
            if self.fault == "reward":
                reward = float("inf")
            if self.fault == "print":
                print("a line on stdout that nobody waits for")
                print("k" * 100_000)
        return seen, reward, self.now >= self.length, False, {}


class Choosing(gymnasium.Env):
    """Observes one of three choices: the first, and after a step whatever it was given."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(2)

    def __init__(self, seen=1):
        self.seen = seen

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return self.seen, 0.0, False, False, {}


class Everything(gymnasium.Env):
    """Tells its seed and its actions in an observation of all kinds, and ends when told to."""

    observation_space = spaces.Dict({
        "z": spaces.Box(-np.inf, np.inf, (2, 2), np.float64),
        "a": spaces.Dict({"late": spaces.Discrete(3, start=5), "early": spaces.MultiBinary(2)}),
        "m": spaces.Tuple((spaces.MultiDiscrete([2, 3]), spaces.Box(0, 255, (1,), np.uint8))),
    })

    def __init__(self, actions="multi"):
        self.action_space = {
            "multi": spaces.MultiDiscrete([3, 2]),
            "binary": spaces.MultiBinary(2),
            "shifted": spaces.Discrete(4, start=-1),
            "shifted choices": spaces.MultiDiscrete([3, 2], start=[5, -7]),
            "box": spaces.Box(np.array([[-1.0], [0.1]]), np.array([[1.0], [0.7]]), dtype=np.float64),
        }[actions]

    def observe(self, action):
        flat = np.ravel(np.asarray(action, np.float64))
        return {
            "z": np.array([[flat[0], flat[-1]], [self.steps, 0.5]]),
            "a": {"late": 5 + self.steps % 3, "early": np.array([1, 0], np.int8)},
            "m": (np.array([self.steps % 2, self.steps % 3]), np.array([200], np.uint8)),
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe([0.0 if seed is None else seed]), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.steps += 1
        return self.observe(action), 0.25, False, self.steps >= 3, {}


class Text:
    """An exception's text of a kind that is hard to pass on."""

    ODD = {
        "surrogates": "a \udcff\ud800 b",
        "nul": "a \0 b",
        "escape": "a \x1b[2J\x1b]0;title\x07\r\n b\x9b31m\u202e",
        "long": "a " + "b" * 10_000_000,
        "wide": "a " + "\U0001f680" * 3_000_000,
    }


class Untold(Exception):
    def __str__(self):
        raise ValueError("no text")


class Odd(gymnasium.Env):
    """Returns, raises or prints in its second step or in its reset what a file says: the part in question, and then Python."""

    observation_space = spaces.Box(-1.0, 1.0, (2,))
    action_space = spaces.Discrete(2)

    def __init__(self, file=None, space=None, spec=None, action=None):
        self.part, self.value = open(file).read().split(" ", 1) if file else ("reward", "1.0")
        self.steps = 0
        if space:
            self.observation_space = eval(space)
        if action:
            self.action_space = eval(action)
        if spec:
            self.spec = gymnasium.envs.registration.EnvSpec("Odd-v0", "tests.bridge_envs:Odd")
            self.spec.__dict__.update(eval(spec))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return eval(self.value) if self.part == "reset" else (np.zeros(2, np.float32), {})

    def step(self, action):
        self.steps += 1
        parts = {"observation": np.zeros(2, np.float32), "reward": 1.0, "terminated": False, "truncated": False, "info": {}}
        if self.steps == 2:
            if self.part == "raise":
                error = eval(self.value)
                raise error if isinstance(error, Exception) else RuntimeError(error)
            if self.part == "print":
                os.write(1, eval(self.value))
                os._exit(3)
            if self.part == "step":
                return eval(self.value)
            parts[self.part] = eval(self.value)
            if self.part == "last":
                parts |= {"observation": parts.pop("last"), "terminated": True}
        return tuple(parts.values())


class Fickle(gymnasium.Env):
    """Has other spaces in every process."""

    action_space = spaces.Discrete(2)

    def __init__(self):
        self.observation_space = spaces.Box(-1.0, 1.0, (1 + os.getpid() % 50_000,))


class OddVector(gymnasium.vector.VectorEnv):
    """A vector environment of which one part of a step is what the option says."""

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}
    single_observation_space = spaces.Box(-1.0, 1.0, (2,))
    single_action_space = spaces.Discrete(2)

    def __init__(self, num_envs, part="rewards", value="np.zeros(2)"):
        self.num_envs, self.part, self.value = num_envs, part, value

    def reset(self, *, seed=None, options=None):
        return np.zeros((self.num_envs, 2), np.float32), {}

    def step(self, actions):
        n = self.num_envs
        parts = {"observations": np.zeros((n, 2), np.float32), "rewards": np.zeros(n), "terminated": np.zeros(n, bool),
                 "truncated": np.zeros(n, bool), "infos": {}}
        parts[self.part] = eval(self.value)
        return tuple(parts.values())

    def close(self):
        pass


def cart_poles(num_envs, same_step=True, rendered=False):
    """A vector environment of its own making."""
    mode = gymnasium.vector.AutoresetMode.SAME_STEP if same_step else gymnasium.vector.AutoresetMode.NEXT_STEP
    return gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1", render_mode="rgb_array" if rendered else None)] * num_envs, autoreset_mode=mode)


class Painter(DoNothing):
    """Renders whatever it was told, and nothing at all where that is nothing."""

    def __init__(self, painted, render_mode=None):
        super().__init__()
        self.painted, self.render_mode = painted, render_mode

    def render(self):
        if self.painted is None:
            raise RuntimeError("no canvas")
        return self.painted


class Picture(gymnasium.Env):
    """Shows its steps in one pixel of each channel; `shape` says where the channels are."""

    action_space = spaces.Discrete(2)

    def __init__(self, shape=(4, 5, 3), beside=False):
        self.image = spaces.Box(0, 255, tuple(shape), np.uint8)
        self.observation_space = spaces.Dict({"a": self.image, "b": spaces.Discrete(2)}) if beside else self.image

    def observe(self):
        seen = np.arange(np.prod(self.image.shape), dtype=np.uint8).reshape(self.image.shape)
        seen.flat[0] = 100 + self.steps
        return seen

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe(), {}

    def step(self, action):
        self.steps += 1
        return self.observe(), 0.0, self.steps >= 2, False, {}


if __name__ == "__main__":
    # The trajectory of Gymnasium's own vector environment: arguments ID, SEED, N, then the actions, N per step.
    task, seed, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    envs = gymnasium.make_vec(task, n, "sync", vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP})
    show = lambda xs: " ".join(f"{np.float32(x).view(np.uint32):08x}" for x in np.ravel(xs))
    observations, _ = envs.reset(seed=seed)
    print(show(observations))
    discrete = isinstance(envs.single_action_space, spaces.Discrete)
    for line in sys.stdin:
        actions = np.array([float(x) for x in line.split()], np.float32)
        actions = actions.astype(np.int64) if discrete else actions.reshape(n, -1)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        final = [infos["final_obs"][i] for i in np.flatnonzero(terminated | truncated)]
        print(show(observations), show(rewards), show(terminated), show(truncated), *map(show, final))
