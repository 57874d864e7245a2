"""Steps Gymnasium environments for the program that started this process; docs/bridge.md is the protocol.

Arguments: the descriptors of the channel, of the shared memory, and of the pipe that closes when the program ends.
"""

import ast
import fcntl
import importlib
import inspect
import json
import math
import mmap
import os
import select
import signal
import sys
import time
import traceback

PROTOCOL = 2
# Characters of a traceback that are told.
LONGEST = 8000


class Refused(Exception):
    """Something that is told in one sentence, without a traceback."""


def follow(lifeline):
    """Has the kernel kill this process group when the program ends, however it ends and whatever runs here then."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpid())
    fcntl.fcntl(lifeline, getattr(fcntl, "F_SETSIG", 10), signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        os._exit(1)


def value(text):
    """An option's value: JSON, or a Python literal, or else the text itself."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
    return text


def leaves(space, path=()):
    """The parts of an observation in the order of their numbers: keys sorted, tuples in order, choices one-hot."""
    if isinstance(space, spaces.Dict):
        return [leaf for key in sorted(space.spaces) for leaf in leaves(space.spaces[key], (*path, key))]
    if isinstance(space, spaces.Tuple):
        return [leaf for key, part in enumerate(space.spaces) for leaf in leaves(part, (*path, key))]
    name = ".".join(map(str, path))
    if isinstance(space, spaces.Box):
        if space.dtype == np.uint8 and len(space.shape) in (2, 3):
            if path:
                raise Refused(f"an image beside other observations cannot be used, and {name} is one: shape {space.shape} of "
                              "uint8; leave it out with gymnasium.wrappers.FilterObservation, or take it alone")
            return [Image(space.shape)]
        return [Numbers(path, name, space.shape, space.low, space.high)]
    if isinstance(space, spaces.MultiBinary):
        return [Numbers(path, name, space.shape, np.zeros(space.shape), np.ones(space.shape))]
    if isinstance(space, spaces.Discrete):
        return [Choices(path, name, (), np.array([space.n]), np.array([space.start]))]
    if isinstance(space, spaces.MultiDiscrete):
        return [Choices(path, name, space.shape, space.nvec.ravel(), space.start.ravel())]
    raise Refused(f"observations of {type(space).__name__} cannot be used: Box, Discrete, MultiDiscrete, MultiBinary, "
                  "and Dict and Tuple of them can")


class Leaf:
    """A part of the observation; `place` is where its numbers go in a row."""

    def find(self, observation):
        for key in self.path:
            observation = observation[key]
        return observation

    def checked(self, observation, shape):
        found = observation if type(observation) is np.ndarray else np.asarray(observation)
        if found.shape != shape:
            raise Refused(f"returned {self.name or 'an observation'} of shape {found.shape}, but its space says {shape}")
        if found.dtype.kind not in "fiub":
            raise Refused(f"returned {self.name or 'an observation'} of type {found.dtype}, but numbers are needed")
        return found


class Numbers(Leaf):
    def __init__(self, path, name, shape, low, high):
        self.path, self.name, self.shape = path, name, shape
        self.low, self.high = (np.ravel(bound).astype(np.float64).tolist() for bound in (low, high))
        self.size = len(self.low)
        self.alone = path == () and len(shape) == 1
        label = name or "observation"
        self.names = [label] if shape == () else [f"{label}[{', '.join(map(str, i))}]" for i in np.ndindex(shape)]

    def write(self, rows, i, observation):
        if self.alone:
            rows[i] = self.checked(observation, self.shape)
        else:
            rows[i, self.place] = self.checked(self.find(observation), self.shape).ravel()

    def write_all(self, rows, observations):
        found = self.checked(self.find(observations), (len(rows), *self.shape))
        rows[:, self.place] = found.reshape(len(rows), -1)


class Choices(Leaf):
    def __init__(self, path, name, shape, counts, start):
        self.path, self.name, self.shape, self.counts, self.start = path, name, shape, counts, start
        self.first = np.concatenate(([0], np.cumsum(counts)[:-1]))
        self.size = int(counts.sum())
        self.low, self.high = [0.0] * self.size, [1.0] * self.size
        label = name or "observation"
        part = (lambda k: label) if len(counts) == 1 else (lambda k: f"{label}[{k}]")
        self.names = [f"{part(k)} is {c + s}" for k, (n, s) in enumerate(zip(counts, start)) for c in range(n)]

    def chosen(self, found):
        whole = found.astype(np.int64)
        index = whole.reshape(-1, len(self.counts)) - self.start
        if (whole != found).any() or ((index < 0) | (index >= self.counts)).any():
            raise Refused(f"returned {self.name or 'an observation'} {found.tolist()}, which is outside its space")
        return self.first + index

    def write(self, rows, i, observation):
        part = rows[i, self.place]
        part[:] = 0.0
        part[self.chosen(self.checked(self.find(observation), self.shape))[0]] = 1.0

    def write_all(self, rows, observations):
        part = rows[:, self.place]
        part[:] = 0.0
        found = self.checked(self.find(observations), (len(rows), *self.shape))
        np.put_along_axis(part, self.chosen(found), 1.0, axis=1)


class Image(Leaf):
    """An observation that is an image and nothing else; its bytes go channel after channel."""

    path, name, names, low, high = (), "", [], [], []

    def __init__(self, shape):
        self.shape, self.size = shape, int(np.prod(shape))
        # The channels are the smaller of the first and the last side; of equal ones, the last.
        self.order = (0, 1, 2) if len(shape) == 3 and shape[0] < shape[2] else (2, 0, 1)
        sides = shape if len(shape) == 3 else (*shape, 1)
        self.sides = [sides[k] for k in self.order]

    def channels_first(self, found):
        found = found if len(self.shape) == 3 else found[..., None]
        last = found.ndim - 3
        return found.transpose(*range(last), *(last + k for k in self.order))

    def write(self, rows, i, observation):
        rows[i].reshape(self.sides)[:] = self.channels_first(self.bytes(observation, self.shape))

    def write_all(self, rows, observations):
        rows.reshape(-1, *self.sides)[:] = self.channels_first(self.bytes(observations, (len(rows), *self.shape)))

    def bytes(self, observation, shape):
        found = self.checked(observation, shape)
        if found.dtype != np.uint8:
            raise Refused(f"returned an image of {found.dtype}, but its space says uint8")
        return found


class Actions:
    """From rows of numbers to what the environment takes."""

    def __init__(self, space):
        self.space = space
        self.low = self.high = self.counts = None
        if isinstance(space, spaces.Discrete):
            self.kind, self.counts, self.start = "discrete", [int(space.n)], space.start
        elif isinstance(space, spaces.MultiDiscrete):
            self.kind, self.counts, self.start = "multi-discrete", space.nvec.ravel().tolist(), space.start
        elif isinstance(space, spaces.MultiBinary):
            self.kind, self.counts, self.start = "multi-discrete", [2] * int(np.prod(space.shape)), 0
        elif isinstance(space, spaces.Box):
            self.kind = "box"
            self.low, self.high = (np.ravel(bound).astype(np.float64).tolist() for bound in (space.low, space.high))
        else:
            raise Refused(f"actions of {type(space).__name__} cannot be used: Discrete, MultiDiscrete, MultiBinary and "
                          "Box can")
        self.size = len(self.counts or self.low)
        self.shape, self.dtype = space.shape, space.dtype

    def of(self, rows):
        if self.kind == "discrete":
            return rows[:, 0].astype(np.int64) + self.start
        rows = rows.reshape(len(rows), *self.shape)
        if self.kind == "multi-discrete":
            return rows.astype(self.dtype) + self.start
        if self.dtype == np.float32:
            return rows.copy()
        if np.issubdtype(self.dtype, np.integer):
            rows = np.rint(rows)
        return np.clip(rows.astype(np.float64), self.space.low, self.space.high).astype(self.dtype)


class Singles:
    """Copies of one environment, stepped in turn. An episode that ends begins anew in the same step."""

    def __init__(self, make, n):
        self.envs = []
        for _ in range(n):
            self.envs.append(make())
            if not isinstance(self.envs[-1], gymnasium.Env):
                raise Refused(f"the factory returned a {type(self.envs[-1]).__name__}, not a gymnasium.Env; a factory of "
                              "whole vector environments has a parameter num_envs")
        first = self.envs[0]
        self.observation_space, self.action_space, self.spec = first.observation_space, first.action_space, first.spec

    def reset(self, seeds, leaves, arrays):
        for i, env in enumerate(self.envs):
            self.now = i
            observation, _ = env.reset() if seeds is None else env.reset(seed=int(seeds[i]))
            for leaf in leaves:
                leaf.write(arrays.observations, i, observation)

    def step(self, actions, leaves, arrays):
        rows, cuts, outcomes = arrays.observations, arrays.cuts.tolist(), []
        for i, env in enumerate(self.envs):
            self.now = i
            observation, reward, terminated, truncated, _ = env.step(actions[i])
            outcomes.append((float(reward), terminated, truncated))
            if terminated or truncated or cuts[i]:
                for leaf in leaves:
                    leaf.write(arrays.final_observations, i, observation)
                observation, _ = env.reset()
            for leaf in leaves:
                leaf.write(rows, i, observation)
        arrays.rewards[:], arrays.terminated[:], arrays.truncated[:] = zip(*outcomes)
        arrays.episode_over[:] = arrays.terminated | arrays.truncated

    def close(self):
        for env in self.envs:
            env.close()


class Vector:
    """A vector environment that a factory made; it begins ended episodes anew itself, in the same step."""

    def __init__(self, envs, n):
        if not isinstance(envs, gymnasium.vector.VectorEnv) or envs.num_envs != n:
            raise Refused(f"the factory returned a {type(envs).__name__}, not a gymnasium.vector.VectorEnv of {n} environments")
        mode = envs.metadata.get("autoreset_mode")
        if getattr(mode, "name", mode) != "SAME_STEP":
            raise Refused(f"the factory's vector environment has the autoreset mode {getattr(mode, 'name', mode)}, but "
                          "AutoresetMode.SAME_STEP is needed, which keeps final observations")
        self.envs, self.now, self.spec = envs, None, None
        self.observation_space, self.action_space = envs.single_observation_space, envs.single_action_space

    def reset(self, seeds, leaves, arrays):
        observations, _ = self.envs.reset(seed=None if seeds is None else int(seeds[0]))
        for leaf in leaves:
            leaf.write_all(arrays.observations, observations)

    def step(self, actions, leaves, arrays):
        observations, arrays.rewards[:], terminated, truncated, infos = self.envs.step(actions)
        arrays.terminated[:], arrays.truncated[:], arrays.episode_over[:] = terminated, truncated, terminated | truncated
        for leaf in leaves:
            leaf.write_all(arrays.observations, observations)
        for i in np.flatnonzero(terminated | truncated):
            for leaf in leaves:
                leaf.write(arrays.final_observations, i, infos["final_obs"][i])

    def close(self):
        self.envs.close()


def make(request):
    """The environments that the request describes."""
    for name in request["imports"]:
        importlib.import_module(name)
    task, n = request["task"], request["num_envs"]
    options = {name: value(text) for name, text in request["options"]}
    if request["kind"] == "atari":
        return Games(task, n, min(n, request["threads"]), **options)
    module, _, name = task.rpartition(":")
    factory = getattr(importlib.import_module(module), name, None) if module and name.isidentifier() else None
    if factory is None:
        return Singles(lambda: gymnasium.make(task, **options), n)
    if "num_envs" in inspect.signature(factory).parameters:
        return Vector(factory(num_envs=n, **options), n)
    return Singles(lambda: factory(**options), n)


class Arrays:
    """The shared memory as arrays, each at the offset that the program says."""

    def __init__(self, memory, request, n, parts, action):
        image = isinstance(parts[0], Image)
        pixel, observation = np.uint8 if image else np.float32, sum(part.size for part in parts)
        data = mmap.mmap(memory, request["bytes"])

        def array(name, dtype, shape):
            count = int(np.prod(shape))
            return np.frombuffer(data, dtype, count, request["offsets"][name]).reshape(shape)

        self.seeds = array("seeds", np.uint64, (n,))
        self.actions = array("actions", np.float32, (n, action))
        self.cuts = array("cuts", np.uint8, (n,))
        self.observations = array("observations", pixel, (n, observation))
        self.final_observations = array("final_observations", pixel, (n, observation))
        self.rewards = array("rewards", np.float64, (n,))
        self.terminated = array("terminated", np.bool_, (n,))
        self.truncated = array("truncated", np.bool_, (n,))
        self.episode_over = array("episode_over", np.bool_, (n,))


def describe(envs, parts, actions):
    spec = envs.spec
    bound = lambda x: x if np.isfinite(x) else None
    box = lambda low, high: {"low": list(map(bound, low)), "high": list(map(bound, high))}
    return {
        "protocol": PROTOCOL,
        "names": [name for part in parts for name in part.names],
        "observation": box(*([x for part in parts for x in getattr(part, side)] for side in ("low", "high"))),
        "image": getattr(parts[0], "sides", None) if parts else None,
        "action": {"kind": actions.kind, "counts": actions.counts or [], **box(actions.low or [], actions.high or [])},
        "max_episode_steps": getattr(spec, "max_episode_steps", None),
        "reward_threshold": getattr(spec, "reward_threshold", None),
    }


class Ear:
    """Hears commands. To be woken takes tens of microseconds, so each is listened for in a loop for a moment before sleeping, where that
    has helped the last time."""

    MOMENT, ASLEEP = 60e-6, 31

    def __init__(self, channel):
        os.set_blocking(channel, False)
        self.channel, self.sleep = channel, select.poll()
        self.sleep.register(channel, select.POLLIN)
        # On a single core nobody can speak while somebody listens.
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.asleep = 0 if cores > 1 else math.inf

    def hear(self):
        if self.asleep > 0:
            self.asleep -= 1
        else:
            until = time.perf_counter() + self.MOMENT
            while time.perf_counter() < until:
                try:
                    return os.read(self.channel, 1)
                except BlockingIOError:
                    pass
            self.asleep = self.ASLEEP
        while True:
            self.sleep.poll()
            try:
                return os.read(self.channel, 1)
            except BlockingIOError:
                pass


def work(channel, memory):
    lines = os.fdopen(os.dup(channel), "rb", buffering=0)
    send = lambda message: os.write(channel, json.dumps(message).encode() + b"\n")
    envs, doing, steps = None, "while it was made", 0
    try:
        request = json.loads(lines.readline())
        if request["protocol"] != PROTOCOL:
            raise Refused(f"the program speaks protocol {request['protocol']}, and this worker {PROTOCOL}")
        load()
        envs = make(request)
        parts, actions = leaves(envs.observation_space), Actions(envs.action_space)
        size = 0
        for part in parts:
            part.place = slice(size, size + part.size)
            size += part.size
        send(describe(envs, parts, actions))
        line = lines.readline()
        if line:
            arrays = Arrays(memory, json.loads(line), request["num_envs"], parts, actions.size)
            send({"ready": True})
        ear = Ear(channel)
        while command := ear.hear():
            if command == b"s":
                steps += 1
                doing = f"in step {steps}"
                envs.step(actions.of(arrays.actions), parts, arrays)
            else:
                doing = "when it was reset"
                envs.reset(arrays.seeds if command == b"R" else None, parts, arrays)
            os.write(channel, b"k")
        doing = "while it was closed"
        envs.close()
    except BaseException as error:
        now = getattr(envs, "now", None)
        who = "the environment" if now is None else f"environment {now}"
        known = isinstance(error, Refused) or (envs is None and is_of_gymnasium(error))
        if isinstance(error, Refused):
            sentence = str(error) if not steps and now is None else f"{who} {error} ({doing})"
        elif isinstance(error, ModuleNotFoundError) and error.name == "gymnasium":
            known, sentence = True, (f"{sys.executable} has no package gymnasium; install it with "
                                     f"`{sys.executable} -m pip install gymnasium`, or name another Python with --python "
                                     "or EPGT_PYTHON")
        elif isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("ale_py"):
            known, sentence = True, (f"{sys.executable} has no package ale-py 0.12; `epgt setup atari` makes a Python that has it, which is "
                                     "used where neither --python nor EPGT_PYTHON names another")
        else:
            said = " ".join(str(error).split())
            sentence = f"{who} raised {type(error).__name__} {doing}" + (f": {said}" if said else "")
        text = "" if known else traceback.format_exc()
        sys.stdout.flush()
        try:
            send({"error": sentence, "traceback": text[-LONGEST:]})
        except OSError:
            pass
        os._exit(1)


def is_of_gymnasium(error):
    return type(error).__module__.startswith("gymnasium.error")


def load():
    global gymnasium, np, spaces
    import gymnasium
    import gymnasium.vector
    import numpy as np
    from gymnasium import spaces


if __name__ == "__main__":
    os.dup2(2, 1)
    follow(int(sys.argv[3]))
    work(int(sys.argv[1]), int(sys.argv[2]))
