"""Random environments, good and bad: what one is like is decided by its kind and by one number.

`fuzz_foreign.rs` has the list of kinds, with what each must come to.
"""

import json
import os
import random
import signal
import string
import subprocess
import sys
import threading
import time

import gymnasium
import numpy as np
from gymnasium import spaces

ODD = ["", " ", "a \x1b[2J\x1b]0;title\x07", "\0", "\r\n\t", "\udcff\ud800", "\x9b31m", "\u202egnp.exe", "größer", "漢字", "\U0001f680", "%s {} \\x1b", "k" * 10_000]
FLOATS = [np.float16, np.float32, np.float64]
WHOLE = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32]


class Drawn:
    """What a number decides."""

    def __init__(self, kind, number):
        self.kind, self.rng = kind, random.Random(f"{kind} {number}")
        self.seed = self.rng.randrange(1 << 32)

    def shape(self, sides=3, longest=4):
        return tuple(self.rng.randint(1, longest) for _ in range(self.rng.randint(0, sides)))

    def box(self, action=False):
        dtype, shape = self.rng.choice(FLOATS + WHOLE), self.shape()
        if dtype in WHOLE:
            # Two or three sides of bytes are an image.
            shape, low = shape[:1], 0 if np.issubdtype(dtype, np.unsignedinteger) else -self.rng.randint(0, 100)
            return spaces.Box(low, self.rng.randint(1, 100), shape, dtype)
        ends = [-np.inf, -3e4, -1.0, 0.0, 0.5, 3.0, 6e4, np.inf]
        low, high = sorted(self.rng.sample(ends, 2))
        return spaces.Box(low, high, shape, dtype)

    def choice(self):
        return spaces.Discrete(self.rng.randint(1, 9), start=self.rng.randint(-9, 9))

    def choices(self):
        counts = [self.rng.randint(1, 5) for _ in range(self.rng.randint(1, 4))]
        if self.rng.random() < 0.2:
            return spaces.MultiDiscrete([counts, counts])
        return spaces.MultiDiscrete(counts, start=[self.rng.randint(-9, 9) for _ in counts])

    def bits(self):
        return spaces.MultiBinary(self.rng.choice([1, 5, [2, 3]]))

    def observed(self, depth=0):
        makers = [self.box, self.choice, self.choices, self.bits]
        if depth < 3 and self.rng.random() < 0.4 / (depth + 1):
            parts = [self.observed(depth + 1) for _ in range(self.rng.randint(1, 3))]
            if self.rng.random() < 0.5:
                return spaces.Tuple(parts)
            return spaces.Dict({self.rng.choice(string.ascii_letters) * (i + 1): part for i, part in enumerate(parts)})
        return self.rng.choice(makers)()

    def acted(self):
        return self.rng.choice([self.box, self.choice, self.choices, self.bits])()


class Fault(Exception):
    pass


class Untold(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class Foreign(gymnasium.Env):
    """An environment of a kind; a fault happens in step `at`."""

    def __init__(self, kind, number, at=1):
        self.kind, self.at, self.all, self.now = kind, at, 0, 0
        self.drawn = drawn = Drawn(kind, number)
        self.rng = drawn.rng
        self.observation_space, self.action_space = drawn.observed(), drawn.acted()
        self.length = self.rng.randint(1, 12)
        getattr(self, "made_" + kind, lambda: None)()
        for part in (self.observation_space, self.action_space):
            if isinstance(part, spaces.Space):
                part.seed(drawn.seed)

    def seen(self):
        observation = self.observation_space.sample()
        return getattr(self, "seen_" + self.kind, lambda x: x)(observation)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.now = 0
        answer = self.seen(), {}
        return getattr(self, "reset_" + self.kind, lambda x: x)(answer)

    def step(self, action):
        assert self.action_space.contains(action), (self.action_space, action)
        self.now += 1
        self.all += 1
        answer = self.seen(), self.rng.uniform(-1, 1), self.now >= self.length and self.rng.random() < 0.5, self.now > 2 * self.length, {}
        every = getattr(self, "every_" + self.kind, lambda *x: x)
        answer = every(*answer)
        if self.all == self.at:
            return getattr(self, "step_" + self.kind, lambda *x: x)(*answer)
        return answer

    # Good ones.

    def made_image(self):
        shape = self.rng.choice([(8, 8), (9, 8, 3), (3, 8, 9), (1, 12, 12), (16, 8, 1), (8, 8, 8)])
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)

    def made_large(self):
        self.observation_space = spaces.Box(-1, 1, (self.rng.choice([100, 3000]),))

    def made_unbounded(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), self.rng.choice(FLOATS))
        self.action_space = spaces.Box(np.array([-np.inf, 0, -np.inf, -1e300]), np.array([np.inf, np.inf, 1, 1e300]), dtype=np.float64)

    def made_hollow(self):
        hollow = [spaces.Box(0, 1, (0,)), spaces.Box(0, 1, (3, 0)), spaces.Tuple(()), spaces.Dict({})]
        self.observation_space = spaces.Dict({"a": self.rng.choice(hollow), "b": self.drawn.observed(1), "c": self.rng.choice(hollow)})

    def made_odd_names(self):
        names = self.rng.sample(ODD, 3)
        self.observation_space = spaces.Dict({name: self.drawn.observed(2) for name in names})

    def made_endless(self):
        self.length = 10**9

    def every_short(self, seen, reward, terminated, truncated, info):
        return seen, reward, True, self.rng.random() < 0.5, info

    def every_typed(self, seen, reward, terminated, truncated, info):
        number = self.rng.choice([np.float32, np.float64, np.float16, int, bool, np.int8, np.array, lambda x: np.array([x])])
        end = self.rng.choice([bool, np.bool_, int, np.array, lambda x: np.array([x]), np.uint8])
        return seen, number(reward), end(terminated), end(truncated), info

    def made_loud(self):
        self.print()

    def every_loud(self, *answer):
        self.print()
        return answer

    def print(self):
        os.write(self.rng.choice([1, 2]), self.rng.randbytes(self.rng.choice([1, 100, 5000])))
        print(self.rng.choice(ODD).encode("utf-8", "replace").decode())

    def made_lists(self):
        self.observation_space = spaces.Dict({"a": spaces.Box(-1, 1, (3, 2)), "b": spaces.Discrete(3), "c": spaces.MultiBinary(2)})

    def seen_lists(self, seen):
        return {name: np.asarray(part).tolist() for name, part in seen.items()}

    def every_reads(self, *answer):
        sys.stdin.read(), os.read(0, 10)
        return answer

    def made_deep(self):
        for _ in range(self.rng.choice([10, 100, 400])):
            self.observation_space = self.rng.choice([lambda x: spaces.Dict({"a": x}), lambda x: spaces.Tuple([x])])(self.observation_space)

    def made_keys(self):
        self.observation_space = spaces.Dict({1: spaces.Discrete(2), self.rng.choice(["a", 2, 0.5, None, (1, 2)]): spaces.Discrete(3)})

    def step_forks(self, *answer):
        """Two workers go on from here."""
        os.fork()
        return answer

    def made_helper(self):
        subprocess.Popen(["sleep", "1000"])

    def made_threads(self):
        threading.Thread(target=time.sleep, args=(1000,), daemon=self.rng.random() < 0.5).start()

    def close(self):
        if self.kind == "closing":
            self.rng.choice([self.step_raises, lambda: time.sleep(0.1), lambda: os._exit(7), lambda: sys.exit(3)])()

    def made_limited(self):
        self.spec = gymnasium.envs.registration.EnvSpec("Limited-v0", "fuzz_foreign:Foreign")
        self.spec.max_episode_steps = self.rng.choice([1, 2, np.int64(5), 2**31, 2**32, 2**80])
        self.spec.reward_threshold = self.rng.choice([None, 1, 2.5, np.float32(3), float("inf"), float("nan"), 1e308])

    def every_big(self, seen, reward, terminated, truncated, info):
        return seen, reward * 10.0 ** self.rng.randint(0, 37), terminated, truncated, info

    def reset_unseeded(self, answer):
        self.observation_space.seed(None)
        return answer

    # Those that cannot be made.

    def made_make_raises(self):
        self.step_raises()

    def made_no_space(self):
        self.observation_space = self.rng.choice([None, 3, "Box", [], int, gymnasium])

    def made_no_action(self):
        self.action_space = self.rng.choice([None, 3, "Box", spaces.Text(3), spaces.Tuple([spaces.Discrete(2)]), spaces.Dict({"a": spaces.Discrete(2)})])

    def made_other_space(self):
        other = [spaces.Text(5), spaces.Sequence(spaces.Discrete(2)), spaces.Graph(spaces.Box(0, 1), None), spaces.OneOf([spaces.Discrete(2)])]
        part = self.rng.choice(other)
        self.observation_space = self.rng.choice([part, spaces.Dict({"a": spaces.Discrete(2), "b": part}), spaces.Tuple([part])])

    def made_picture_beside(self):
        image = spaces.Box(0, 255, (4, 4, 3), np.uint8)
        self.observation_space = self.rng.choice([spaces.Tuple([image]), spaces.Dict({"a": image, "b": spaces.Discrete(2)})])

    def made_huge(self):
        big = 10 ** self.rng.randint(7, 17)
        self.observation_space = self.rng.choice([
            spaces.Discrete(big), spaces.MultiDiscrete([2, big]), spaces.MultiBinary(big), spaces.MultiBinary([big, big]),
            spaces.Tuple([spaces.Discrete(2), spaces.Dict({"a": spaces.Discrete(big)})]), spaces.Tuple([spaces.Discrete(200_000)] * 1000),
            spaces.Box(0, 255, (3000, 3000), np.uint8), spaces.Box(0, 1, (1000, 1000)),
        ])

    def made_huge_action(self):
        big = 10 ** self.rng.randint(7, 17)
        self.action_space = self.rng.choice([
            spaces.Discrete(big), spaces.Discrete(big, start=-5), spaces.MultiDiscrete([2, big]), spaces.MultiDiscrete([big] * 9),
            spaces.MultiBinary(big), spaces.MultiBinary([big, big]), spaces.Box(0, 1, (1000, 1000)),
        ])

    def made_nothing_seen(self):
        self.observation_space = self.rng.choice([spaces.Dict({}), spaces.Tuple(()), spaces.Box(0, 1, (0,)), spaces.Box(0, 255, (0, 4), np.uint8)])

    def made_nothing_done(self):
        self.action_space = self.rng.choice([spaces.Box(0, 1, (0,)), spaces.Box(0, 1, (2, 0)), spaces.MultiDiscrete([])])

    def made_nonsense_spec(self):
        self.spec = gymnasium.envs.registration.EnvSpec("Nonsense-v0", "fuzz_foreign:Foreign")
        self.spec.__dict__[self.rng.choice(["max_episode_steps", "reward_threshold"])] = self.rng.choice(["7", [1], {}, 1j, self])

    def made_other_each_time(self):
        self.observation_space = spaces.Box(-1, 1, (1 + os.getpid() % 5000,))

    def made_describes(self):
        """Has the worker say something else of it than it would."""
        frame = sys._getframe()
        while "PROTOCOL" not in frame.f_globals:
            frame = frame.f_back
        honest = frame.f_globals["describe"]

        def describe(*parts):
            description = honest(*parts)
            for _ in range(self.rng.randint(1, 3)):
                description = self.changed(description)
            return description

        frame.f_globals["describe"] = describe

    def changed(self, thing):
        """The same JSON with one thing changed, somewhere in it."""
        if isinstance(thing, dict) and thing and self.rng.random() < 0.95:
            key = self.rng.choice(sorted(thing))
            return {**thing, key: self.changed(thing[key])}
        if isinstance(thing, list) and thing and self.rng.random() < 0.6:
            i = self.rng.randrange(len(thing))
            return self.rng.choice([thing[:i], thing + thing[i:], thing[:i] + [self.changed(thing[i])] + thing[i + 1:]])
        nested = []
        for _ in range(self.rng.choice([1, 500])):
            nested = [nested]
        return self.rng.choice([None, 0, 1, -1, 2, 3, 2**31, 2**32, 2**63, 2**64, 10**30, 0.5, 1e39, 1e300, -1e300, True, "", "box", "discrete",
                                self.rng.choice(ODD), [], [0], [2**63] * 3, [1, 2, 3], [[1]], {}, {"a": 1}, nested, [2] * 70_000, ["k"] * 300_000,
                                [4096, 4096, 4096], [0, 5, 5], [1, 1, 1], float("nan"), float("inf"), "k" * 1_000_000])

    # Those that fail when they are reset.

    def reset_reset_raises(self, answer):
        self.step_raises()

    def reset_reset_shape(self, answer):
        return self.rng.choice([answer[0], (answer[0],), (*answer, 1), None, 3, "ab", np.zeros(2), {}, iter(answer)])

    # Those that fail in a step.

    def step_raises(self, *_):
        text = self.rng.choice([*ODD, "a" * 10_000_000, 7, None, b"\xff", [1, 2]])
        error = self.rng.choice([ValueError, Fault, RecursionError, MemoryError, KeyboardInterrupt, KeyError, AssertionError, OSError, Untold,
                                 type(self.rng.choice(["X" * 50_000, "A\x1b[2J", "ü"]), (Exception,), {})])
        if self.rng.random() < 0.1:
            raise ExceptionGroup(str(text)[:100].replace("\udcff\ud800", ""), [Fault(text), Untold()])
        if self.rng.random() < 0.1:
            os.write(2, self.rng.randbytes(200_000))
        if self.rng.random() < 0.2:
            try:
                raise Fault(text)
            except Fault as cause:
                raise error(text) from cause
        raise error(text)

    def step_exits(self, *_):
        self.rng.choice([sys.exit, os._exit, exit])(self.rng.choice([0, 1, 3, 101, 255]))

    def step_exits_with_text(self, *_):
        sys.exit(self.rng.choice(ODD))

    def step_dies(self, *_):
        how = self.rng.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGILL, signal.SIGHUP])
        if how != signal.SIGKILL:
            # Whoever runs the tests may have had it ignored, as nohup has SIGHUP.
            signal.signal(how, signal.SIG_DFL)
        os.kill(os.getpid(), how)
        time.sleep(1000)

    def step_hangs(self, *_):
        if self.rng.random() < 0.3:
            os.setpgid(0, os.getpgid(os.getppid()))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)

    def step_counts(self, *answer):
        return self.rng.choice([answer[:4], (*answer, 1), None, 3, (), "abcde", {}, answer[0], np.zeros(5), iter(answer)])

    def step_reward(self, seen, reward, *rest):
        wrong = ["1", "no", None, b"1", [1.0], (1.0,), {}, np.zeros(2), np.array("1"), np.array([]), np.zeros((2, 2)), 1j, self, str, 10**400,
                 np.array([None]), float("nan"), float("inf"), -np.inf, 1e39, -1e300, np.float64(1e200)]
        return seen, self.rng.choice(wrong), *rest

    def step_ends(self, seen, reward, terminated, truncated, info):
        wrong = ["no", "", None, 2, -1, 0.0, 1.0, [], [True], {}, np.zeros(2, bool), np.array("a"), np.array([]), self, float("nan"), b""]
        if self.rng.random() < 0.5:
            return seen, reward, self.wrong_end(wrong), truncated, info
        return seen, reward, terminated, self.wrong_end(wrong), info

    def wrong_end(self, wrong):
        end = self.rng.choice(wrong)
        return "[True]" if end == [True] else end

    def made_shape(self):
        self.observation_space = spaces.Box(-1, 1, self.drawn.shape(2) + (3,))

    def step_shape(self, seen, *rest):
        wrong = [seen[..., :2], np.zeros(0), None, 3.0, {}, [], seen[None], "abc", seen.tolist() + [1], seen.astype(str), seen.astype(object),
                 seen.astype(complex), [seen, 1], self, np.full(seen.shape, np.nan), np.full(seen.shape, -np.inf), np.full(seen.shape, 1e300)]
        return self.rng.choice(wrong), *rest

    def made_outside(self):
        space = self.rng.choice([self.drawn.choice, self.drawn.choices])()
        self.observation_space = self.rng.choice([space, spaces.Dict({"a": space})])

    def step_outside(self, seen, *rest):
        wrong = lambda x: np.asarray(x) + self.rng.choice([100, -100, 0.5, 2**62, float("nan")])
        return (wrong(seen) if not isinstance(seen, dict) else {"a": wrong(seen["a"])}), *rest

    def made_missing(self):
        self.observation_space = spaces.Dict({"a": self.drawn.choice(), "b": self.drawn.box()})

    def step_missing(self, seen, *rest):
        return self.rng.choice([{"a": seen["a"]}, {}, [1, 2], None, {"b": seen["b"]}, {"a": None, "b": None}]), *rest

    def made_picture(self):
        self.observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)

    def step_picture(self, seen, *rest):
        return self.rng.choice([seen.astype(np.float32), seen.astype(np.int64), seen[:4], seen.T, None, seen.astype(bool), seen[..., 0]]), *rest

    def step_speaks(self, *answer):
        """Says on the channel what it should not: the channel is a descriptor like others."""
        words = [b"k", b"\n", b"{}\n", b'{"error": "\\u001b[2J", "traceback": ""}\n', b'{"error": "\\udcff"}\n', b"\xff\xfe\n", b"[" * 10_000 + b"\n",
                 b"k" * 1000, b'{"error": 3, "traceback": []}\n', self.rng.randbytes(1000), b"x" * 70_000_000]
        word = self.rng.choice(words)
        os.set_blocking(int(sys.argv[-3]), True)
        while word:
            word = word[os.write(int(sys.argv[-3]), word):]
        return answer

    def step_closes(self, *answer):
        self.rng.choice([lambda: os.close(int(sys.argv[-3])), lambda: os.closerange(0, 1000), lambda: os.close(2), sys.stdout.close])()
        return answer


class Vector(gymnasium.vector.VectorEnv):
    """A vector environment of which one thing is wrong, or nothing."""

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}

    def __init__(self, kind, number, at, n):
        self.num_envs, self.kind, self.at, self.all = n, kind, at, 0
        self.drawn = Drawn(kind, number)
        self.rng = self.drawn.rng
        self.single_observation_space, self.single_action_space = self.drawn.observed(), self.drawn.acted()
        if kind == "vector_wrong":
            self.single_observation_space = spaces.Box(-1, 1, (2,))
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, n)
        self.observation_space.seed(self.drawn.seed)
        self.single_observation_space.seed(self.drawn.seed)

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, actions):
        self.all += 1
        n = self.num_envs
        ends = np.array([self.rng.random() < 0.2 for _ in range(n)])
        cut = np.array([self.rng.random() < 0.1 for _ in range(n)])
        finals = np.array([self.single_observation_space.sample() for _ in range(n)] + [None], object)[:n]
        parts = [self.observation_space.sample(), np.array([self.rng.uniform(-1, 1) for _ in range(n)]), ends, cut, {"final_obs": finals}]
        if self.kind == "vector_wrong" and self.all == self.at:
            wrong = self.rng.choice([
                (0, np.zeros((n + 1, 2))), (0, np.zeros(2 * n)), (0, None), (0, np.full((n, 2), np.nan)), (0, [["a", "b"]] * n),
                (1, np.zeros(n + 1)), (1, ["1"] * n), (1, None), (1, np.full(n, np.inf)), (1, np.full(n, 1e39)), (1, np.zeros((n, 1))),
                (2, np.zeros(n + 1, bool)), (2, [2] * n), (2, None), (2, ["no"] * n), (3, [-1] * n), (3, [0.5] * n), (3, np.zeros((n, 2), bool)),
                (4, None), (4, {}), (4, {"final_obs": None}), (4, {"final_obs": []}),
            ])
            if wrong[0] == 4:
                parts[2] = np.ones(n, bool)
            parts[wrong[0]] = wrong[1]
        return tuple(parts)


def vector(num_envs, kind="vector", number=0, at=1):
    if kind == "vector_sync":
        make = lambda: Foreign(kind, number, at)
        return gymnasium.vector.SyncVectorEnv([make] * num_envs, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
    envs = Vector(kind, number, at, num_envs)
    if kind == "vector_refused":
        fault = envs.rng.randrange(3)
        if fault == 0:
            envs.metadata = {"autoreset_mode": envs.rng.choice([None, "NEXT_STEP", gymnasium.vector.AutoresetMode.NEXT_STEP, 3])}
        elif fault == 1:
            envs.num_envs = envs.rng.choice([0, num_envs + 1, None, "1"])
        else:
            return envs.rng.choice([None, 3, gymnasium.Env(), [envs], "vector"])
    return envs


def broken(kind="factory", number=0, at=1):
    return random.Random(str(number)).choice([None, 3, "env", [], int, object(), json])


Class, CONSTANT = Foreign, 3
