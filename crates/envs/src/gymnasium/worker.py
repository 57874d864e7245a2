"""Steps Gymnasium environments for the program that started this process; docs/bridge.md is the protocol.

Arguments: the descriptors of the channel, of the shared memory, and of the pipe that closes when the program ends.
"""

import ast
import difflib
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
import warnings

PROTOCOL = 4
# The most numbers of an observation, bytes of an image, numbers and choices of an action, and bytes of a line; the program has the same.
MOST_NUMBERS, MOST_PIXELS, MOST_CHOICES, MOST_BYTES = 2**18, 2**22, 2**16, 2**26
# The most bytes of a picture.
MOST_SHOWN = 2**26
# Characters of a traceback, of a sentence, and of the name of a number that are told.
LONGEST, LONG, SHORT = 8000, 1000, 100


class Refused(Exception):
    """Something that is told in one sentence, without a traceback."""


def plain(text, most):
    """At most so many characters of a text, all of which can be written; what disturbs a terminal is taken out by the program."""
    text = text if len(text) <= most else text[:most] + "..."
    return text.encode("utf-8", "replace").decode("utf-8")


def shown(thing):
    """What something is, in a few words, whatever it is."""
    try:
        return f"{plain(' '.join(repr(thing)[:10 * SHORT].split()), SHORT)} of type {type(thing).__name__}"
    except BaseException:
        return f"something of type {type(thing).__name__}"


def told(error):
    """What an exception says, on one line."""
    try:
        return plain(" ".join(str(error)[:100 * LONG].split()), LONG)
    except BaseException:
        return "it has no text that can be shown"


def trace(error):
    """The traceback of an exception. Where that is long, the places stay and what the exception says is cut."""
    try:
        text = "".join(traceback.format_exception(error))
        if len(text) > LONGEST:
            places = "".join(traceback.format_tb(error.__traceback__))[-(LONGEST - 2 * LONG):]
            text = f"Traceback (most recent call last):\n{places}{type(error).__name__}: {told(error)}"
        return plain(text, LONGEST)
    except BaseException:
        return ""


def bounded(space, count, most, what):
    """Refuses a space of more numbers than are taken, before any of them is made."""
    if count > most:
        raise Refused(f"a {type(space).__name__} of {count} {what} is too large: at most {most} are taken")


def numbers_of(shape):
    return math.prod(int(side) for side in shape)


def follow(lifeline):
    """Has the kernel kill this process group when the program ends, however it ends and whatever runs here then."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
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
    name = plain(".".join(map(str, path)), SHORT)
    if isinstance(space, (spaces.Box, spaces.MultiBinary, spaces.MultiDiscrete)) and numbers_of(space.shape) == 0:
        return []
    if isinstance(space, spaces.Box):
        if space.dtype == np.uint8 and len(space.shape) in (2, 3):
            if path:
                raise Refused(f"an image beside other observations cannot be used, and {name} is one: shape {space.shape} of "
                              "uint8; leave it out with gymnasium.wrappers.FilterObservation, or take it alone")
            bounded(space, numbers_of(space.shape), MOST_PIXELS, "bytes of an image")
            return [Image(space.shape)]
        bounded(space, numbers_of(space.shape), MOST_NUMBERS, "numbers of an observation")
        return [Numbers(path, name, space.shape, space.low, space.high)]
    if isinstance(space, spaces.MultiBinary):
        bounded(space, numbers_of(space.shape), MOST_NUMBERS, "numbers of an observation")
        return [Numbers(path, name, space.shape, np.zeros(space.shape), np.ones(space.shape))]
    if isinstance(space, spaces.Discrete):
        bounded(space, int(space.n), MOST_NUMBERS, "choices of an observation")
        return [Choices(path, name, (), np.array([space.n], np.int64), np.array([space.start], np.int64))]
    if isinstance(space, spaces.MultiDiscrete):
        bounded(space, numbers_of(space.shape), MOST_NUMBERS, "numbers of an observation")
        counts = space.nvec.ravel().astype(np.int64)
        bounded(space, sum(counts.tolist()), MOST_NUMBERS, "choices of an observation")
        return [Choices(path, name, space.shape, counts, space.start.ravel().astype(np.int64))]
    raise Refused(f"observations of {type(space).__name__} cannot be used: Box, Discrete, MultiDiscrete, MultiBinary, "
                  "and Dict and Tuple of them can")


class Leaf:
    """A part of the observation; `place` is where its numbers go in a row."""

    # What was returned in other numbers than those of 32 bits, by environment.
    wide = {}

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

    def too_large(self, found, row):
        """Refuses a number that is finite as it was returned, and not in the 32 bits of its row."""
        lost = np.isfinite(found).ravel() & ~np.isfinite(row).ravel()
        if lost.any():
            raise Refused(f"returned {self.name or 'an observation'} with the number {found.ravel()[lost][0]}, which is too large for 32 bits")


class Numbers(Leaf):
    def __init__(self, path, name, shape, low, high):
        self.path, self.name, self.shape, self.low, self.high = path, name, shape, low, high
        self.size = numbers_of(shape)
        self.alone = path == () and len(shape) == 1
        self.wide = {}

    def bounds(self):
        return tuple(np.ravel(bound).astype(np.float64).tolist() for bound in (self.low, self.high))

    def names(self):
        label = self.name or "observation"
        return [label] if self.shape == () else [f"{label}[{', '.join(map(str, i))}]" for i in np.ndindex(self.shape)]

    def write(self, rows, i, observation):
        if self.alone:
            found = rows[i] = self.checked(observation, self.shape)
        else:
            found = self.checked(self.find(observation), self.shape)
            rows[i, self.place] = found.ravel()
        if found.dtype is not SINGLE:
            self.wide[i] = found

    def write_all(self, rows, observations):
        found = self.checked(self.find(observations), (len(rows), *self.shape))
        rows[:, self.place] = found.reshape(len(rows), -1)
        if found.dtype is not SINGLE and not np.isfinite(rows[:, self.place]).all():
            self.too_large(found, rows[:, self.place])


class Choices(Leaf):
    def __init__(self, path, name, shape, counts, start):
        self.path, self.name, self.shape, self.counts, self.start = path, name, shape, counts, start
        self.first = np.concatenate(([0], np.cumsum(counts)[:-1]))
        self.size = int(counts.sum())

    def bounds(self):
        return [0.0] * self.size, [1.0] * self.size

    def names(self):
        label = self.name or "observation"
        part = (lambda k: label) if len(self.counts) == 1 else (lambda k: f"{label}[{k}]")
        return [f"{part(k)} is {c + s}" for k, (n, s) in enumerate(zip(self.counts, self.start)) for c in range(n)]

    def chosen(self, found):
        whole = found.astype(np.int64)
        index = whole.reshape(-1, len(self.counts)) - self.start
        if (whole != found).any() or ((index < 0) | (index >= self.counts)).any():
            raise Refused(f"returned {self.name or 'an observation'} {shown(found.tolist())}, which is outside its space")
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

    path, name = (), ""

    def __init__(self, shape):
        self.shape, self.size = shape, numbers_of(shape)
        # The channels are the smaller of the first and the last side; of equal ones, the last.
        self.order = (0, 1, 2) if len(shape) == 3 and shape[0] < shape[2] else (2, 0, 1)
        sides = shape if len(shape) == 3 else (*shape, 1)
        self.sides = [sides[k] for k in self.order]

    def bounds(self):
        return [], []

    def names(self):
        return []

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
        self.low = self.high = self.counts = self.starts = None
        if not isinstance(space, (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Box)):
            raise Refused(f"actions of {type(space).__name__} cannot be used: Discrete, MultiDiscrete, MultiBinary and "
                          "Box can")
        bounded(space, numbers_of(space.shape), MOST_CHOICES, "numbers of an action")
        if isinstance(space, spaces.Discrete):
            self.kind, self.counts, self.start = "discrete", [int(space.n)], int(space.start)
            self.starts = [self.start]
        elif isinstance(space, spaces.MultiDiscrete):
            self.kind, self.counts, self.start = "multi-discrete", space.nvec.ravel().tolist(), space.start
            self.starts = space.start.ravel().tolist()
        elif isinstance(space, spaces.MultiBinary):
            self.kind, self.counts, self.start = "multi-discrete", [2] * numbers_of(space.shape), 0
            self.starts = [0] * len(self.counts)
        else:
            self.kind = "box"
            self.low, self.high = (np.ravel(bound).astype(np.float64).tolist() for bound in (space.low, space.high))
        bounded(space, sum(self.counts or []), MOST_CHOICES, "choices of an action")
        self.size = len(self.counts or self.low or [])
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


def parts_of(result, count, call, wanted):
    """What `reset` or `step` returned, if it is a tuple of so many parts."""
    if not isinstance(result, (tuple, list)) or len(result) != count:
        many = f"{len(result)} values" if isinstance(result, (tuple, list)) else shown(result)
        raise Refused(f"returned {many} from {call}, but {count} values are needed: {wanted}")
    return result


def begun(result):
    return parts_of(result, 2, "reset", "observation and info")[0]


def stepped(result):
    return parts_of(result, 5, "step", "observation, reward, terminated, truncated and info")


def reward_of(reward):
    """A reward that is not a plain float: any one number, and no text that could be read as one."""
    if type(reward) is np.float64:
        return float(reward)
    no_number = isinstance(reward, (np.ndarray, np.generic)) and reward.dtype.kind not in "fiub"
    try:
        if not no_number and (hasattr(reward, "__float__") or hasattr(reward, "__index__")):
            return float(reward if getattr(reward, "ndim", 0) == 0 else reward.reshape(()))
    except (TypeError, ValueError, OverflowError):
        pass
    raise Refused(f"returned a reward {shown(reward)}, but one number is needed")


def end_of(end, name):
    """Whether an episode has ended, where that is not a plain bool: any one True or False, 0 or 1."""
    if type(end) is np.bool_:
        return bool(end)
    found = np.asarray(end)
    if found.size != 1 or found.dtype.kind not in "biu" or found.item() not in (0, 1):
        raise Refused(f"returned {name} as {shown(end)}, but True or False is needed")
    return bool(found.item())


class Singles:
    """Copies of one environment, stepped in turn. An episode that ends begins anew in the same step."""

    def __init__(self, make, n, film):
        self.envs, self.film, self.last = [], film, None
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
            observation = begun(env.reset() if seeds is None else env.reset(seed=int(seeds[i])))
            for leaf in leaves:
                leaf.write(arrays.observations, i, observation)
        self.check(leaves, arrays.observations)

    def check(self, leaves, rows):
        """Says which number has become infinite in 32 bits while it is still known."""
        for leaf in leaves:
            if leaf.wide:
                if not np.isfinite(rows[:, leaf.place]).all():
                    for self.now, found in leaf.wide.items():
                        leaf.too_large(found, rows[self.now, leaf.place])
                leaf.wide.clear()

    def step(self, actions, leaves, arrays):
        rows, cuts, outcomes = arrays.observations, arrays.cuts.tolist(), []
        for i, env in enumerate(self.envs):
            self.now = i
            result = env.step(actions[i])
            observation, reward, terminated, truncated, _ = result if type(result) is tuple and len(result) == 5 else stepped(result)
            if type(reward) is not float:
                reward = reward_of(reward)
            if type(terminated) is not bool:
                terminated = end_of(terminated, "terminated")
            if type(truncated) is not bool:
                truncated = end_of(truncated, "truncated")
            outcomes.append((reward, terminated, truncated))
            if terminated or truncated or cuts[i]:
                for leaf in leaves:
                    leaf.write(arrays.final_observations, i, observation)
                    if i in leaf.wide:
                        leaf.too_large(leaf.wide.pop(i), arrays.final_observations[i, leaf.place])
                if self.film:
                    self.last = self.look()
                observation = begun(env.reset())
            for leaf in leaves:
                leaf.write(rows, i, observation)
        self.check(leaves, rows)
        arrays.rewards[:], arrays.terminated[:], arrays.truncated[:] = zip(*outcomes)
        arrays.episode_over[:] = arrays.terminated | arrays.truncated

    def look(self):
        env = self.envs[0]
        return env.render() if env.render_mode == "rgb_array" else None

    def look_back(self):
        return self.last

    def fps(self):
        return self.envs[0].metadata.get("render_fps")

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
        self.envs, self.now, self.spec, self.last = envs, None, None, None
        self.observation_space, self.action_space = envs.single_observation_space, envs.single_action_space

    def reset(self, seeds, leaves, arrays):
        observations = begun(self.envs.reset(seed=None if seeds is None else int(seeds[0])))
        for leaf in leaves:
            leaf.write_all(arrays.observations, observations)

    def step(self, actions, leaves, arrays):
        observations, rewards, terminated, truncated, infos = stepped(self.envs.step(actions))
        arrays.rewards[:] = self.each(rewards, "rewards", "fiub", "numbers")
        arrays.terminated[:] = self.ends(terminated, "terminated")
        arrays.truncated[:] = self.ends(truncated, "truncated")
        arrays.episode_over[:] = arrays.terminated | arrays.truncated
        for leaf in leaves:
            leaf.write_all(arrays.observations, observations)
        ended = np.flatnonzero(arrays.episode_over)
        if len(ended) and not (isinstance(infos, dict) and "final_obs" in infos):
            raise Refused("returned no final_obs in the info of a step in which an episode ended")
        for i in ended:
            for leaf in leaves:
                leaf.write(arrays.final_observations, i, infos["final_obs"][i])

    def each(self, found, name, kinds, wanted):
        found, n = np.asarray(found), self.envs.num_envs
        if found.shape != (n,) or found.dtype.kind not in kinds:
            raise Refused(f"returned {name} of shape {found.shape} and type {found.dtype}, but {n} {wanted} are needed")
        return found

    def ends(self, found, name):
        found = self.each(found, name, "biu", "times True or False")
        if found.dtype.kind != "b" and (found > 1).any() | (found < 0).any():
            raise Refused(f"returned {name} as {shown(found)}, but True or False is needed")
        return found

    def look(self):
        frames = self.envs.render() if self.envs.render_mode == "rgb_array" else None
        self.last = frames[0] if isinstance(frames, (tuple, list)) and frames else frames
        return self.last

    def look_back(self):
        # An episode that has ended is begun anew before anybody can look: its end is what was seen of it last.
        return self.last

    def fps(self):
        return self.envs.metadata.get("render_fps")

    def close(self):
        self.envs.close()


def make(request):
    """The environments that the request describes."""
    for name in request["imports"]:
        importlib.import_module(name)
    task, n, film = request["task"], request["num_envs"], request["film"]
    options = {name: value(text) for name, text in request["options"]}
    if request["kind"] == "atari":
        return Games(task, n, min(n, request["threads"]), film, **options)
    module, _, name = task.rpartition(":")
    factory = named(module, name) if module and name.isidentifier() else None
    if factory is None:
        return Singles(lambda: made(lambda **given: gymnasium.make(task, **given), options, film), n, film)
    if not callable(factory):
        raise Refused(f"{name} of the module {module} is {shown(factory)}, and not a class or a function that makes an environment")
    try:
        takes = inspect.signature(factory).parameters
    except (ValueError, TypeError):
        takes = ()
    if "num_envs" in takes:
        return Vector(made(lambda **given: factory(num_envs=n, **given), options, film), n)
    return Singles(lambda: made(factory, options, film), n, film)


def made(factory, options, film):
    """What a factory makes of the options; where it is to be filmed, with pictures as arrays if it takes the word."""
    if film and "render_mode" not in options:
        try:
            return factory(render_mode="rgb_array", **options)
        except Exception:
            # It may know no such word, or no such pictures; then there is nothing to be seen, and it says itself what else is wrong.
            pass
    return factory(**options)


def picture(frame):
    """What `render` returned, as rows of red, green and blue; `None` where it is nothing."""
    if frame is None:
        return None
    found = np.asarray(frame)
    if found.ndim == 2:
        found = np.repeat(found[..., None], 3, axis=2)
    if found.ndim != 3 or found.shape[2] not in (3, 4) or found.dtype != np.uint8:
        raise Refused(f"returned {shown(frame)} from render, but an array of height x width x 3 bytes is needed")
    bounded(found, found.size, MOST_SHOWN, "bytes of a picture")
    return np.ascontiguousarray(found[..., :3])


def fps_of(envs):
    """Steps that a second shows, where the environment says so and means a number."""
    fps = envs.fps()
    return float(fps) if isinstance(fps, (int, float, np.integer, np.floating)) and math.isfinite(fps) else None


def named(module, name):
    """What has this name in a module; `None` where it is the id of an environment that the module has registered."""
    found = importlib.import_module(module)
    if hasattr(found, name):
        return getattr(found, name)
    if name in gymnasium.registry:
        return None
    # A class of an environment is meant, or a function that stands beside them; what a module has imported comes last.
    makers = [key for key, thing in vars(found).items() if callable(thing) and not key.startswith("_")]
    own = [key for key in makers if getattr(vars(found)[key], "__module__", None) == found.__name__]
    close = {key.lower(): key for key in reversed(own or makers)}
    near = difflib.get_close_matches(name.lower(), close, 1)
    if near:
        hint = f"; did you mean '{close[near[0]]}'?"
    else:
        hint = f"; it has {', '.join((own or makers)[:10])}" if makers else ""
    raise Refused(f"the module {module} has no '{name}', and no environment of that id is registered{hint}")


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
    spec = getattr(envs, "spec", None)
    bound = lambda x: x if np.isfinite(x) else None
    box = lambda low, high: {"low": list(map(bound, low)), "high": list(map(bound, high))}
    return {
        "protocol": PROTOCOL,
        "names": [plain(name, SHORT) for part in parts for name in part.names()],
        "observation": box(*([x for part in parts for x in part.bounds()[side]] for side in (0, 1))),
        "image": getattr(parts[0], "sides", None) if parts else None,
        "action": {"kind": actions.kind, "counts": actions.counts or [], "starts": actions.starts or [],
                   **box(actions.low or [], actions.high or [])},
        "max_episode_steps": limit_of(getattr(spec, "max_episode_steps", None)),
        "reward_threshold": threshold_of(getattr(spec, "reward_threshold", None)),
    }


def limit_of(steps):
    """Steps after which episodes are cut; so many that nobody ever counts them are no limit."""
    if steps is None:
        return None
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
        raise Refused(f"its spec has max_episode_steps {shown(steps)}, but a whole number from 1 on, or None, is needed")
    return int(steps) if steps < 2**32 - 1 else None


def threshold_of(threshold):
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.integer, np.floating)):
        raise Refused(f"its spec has reward_threshold {shown(threshold)}, but a number, or None, is needed")
    return float(threshold) if abs(threshold) < 1e300 else None


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


def write(channel, line):
    """Writes a whole line, however much of it fits into the channel at once."""
    if len(line) > MOST_BYTES:
        raise Refused(f"its spaces need {len(line)} bytes to be told: at most {MOST_BYTES} are taken; use shorter names, or fewer")
    os.set_blocking(channel, True)
    while line:
        line = line[os.write(channel, line):]


def work(channel, memory):
    lines = os.fdopen(os.dup(channel), "rb", buffering=0)
    send = lambda message: write(channel, json.dumps(message).encode() + b"\n")
    making = "while it was made"
    envs, doing, steps = None, making, 0
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
        if not any(isinstance(part, Image) for part in parts):
            bounded(envs.observation_space, size, MOST_NUMBERS, "numbers of an observation")
        send(describe(envs, parts, actions))
        line = lines.readline()
        if line:
            arrays = Arrays(memory, json.loads(line), request["num_envs"], parts, actions.size)
            send({"ready": True, **({"fps": fps_of(envs)} if request["film"] else {})})
        ear = Ear(channel)
        while command := ear.hear():
            if command == b"s":
                steps += 1
                doing = f"in step {steps}"
                envs.step(actions.of(arrays.actions), parts, arrays)
            elif command in b"fl":
                doing = "when it was rendered"
                frame = picture(envs.look() if command == b"f" else envs.look_back())
                send({"sides": None if frame is None else frame.shape[:2]})
                continue
            elif command == b"p":
                write(channel, frame.tobytes())
                continue
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
            sentence = told(error) if doing == making else f"{who} {told(error)} ({doing})"
        elif isinstance(error, ModuleNotFoundError) and error.name == "gymnasium":
            known, sentence = True, (f"{sys.executable} has no package gymnasium; install it with "
                                     f"`{sys.executable} -m pip install gymnasium`, or name another Python with --python "
                                     "or EPGT_PYTHON")
        elif isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("ale_py"):
            known, sentence = True, (f"{sys.executable} has no package ale-py 0.12; `epgt setup atari` makes a Python that has it, which is "
                                     "used where neither --python nor EPGT_PYTHON names another")
        else:
            said = told(error)
            sentence = f"{who} raised {type(error).__name__} {doing}" + (f": {said}" if said else "")
        message = {"error": plain(sentence, 2 * LONG), "traceback": "" if known else trace(error)}
        for last in (sys.stdout.flush, lambda: send(message)):
            try:
                last()
            except BaseException:
                pass
        os._exit(1)


def is_of_gymnasium(error):
    return type(error).__module__.startswith("gymnasium.error")


def load():
    global gymnasium, np, spaces, SINGLE
    import gymnasium
    import gymnasium.vector
    import numpy as np
    from gymnasium import spaces

    SINGLE = np.dtype(np.float32)
    # Such numbers are refused in a sentence.
    warnings.filterwarnings("ignore", "overflow encountered in cast", RuntimeWarning, "__main__")


if __name__ == "__main__":
    os.dup2(2, 1)
    follow(int(sys.argv[3]))
    work(int(sys.argv[1]), int(sys.argv[2]))
