"""Three environments in units that nobody would choose, for `foreign.py`: rewards of thousands and of thousandths, actions of hundredths
and of hundreds, episodes of 20 and of 5,000 steps. None of them is known to the program."""

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit


class Reach(gymnasium.Env):
    """A pen on a plane is to come to a mark within 20 steps and stay there. It moves by at most 0.01 along each side and a step; every step
    costs 1000 times the distance."""

    observation_space = spaces.Box(-1.0, 1.0, (4,))
    action_space = spaces.Box(-0.01, 0.01, (2,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.pen, self.mark = self.np_random.uniform(-0.1, 0.1, (2, 2))
        return self.observe(), {}

    def observe(self):
        return np.concatenate([self.pen, self.mark - self.pen]).astype(np.float32)

    def step(self, action):
        self.pen = self.pen + np.clip(action, -0.01, 0.01)
        return self.observe(), -1000.0 * float(np.linalg.norm(self.mark - self.pen)), False, False, {}


class Tank(gymnasium.Env):
    """Two tanks, the first fed by a pump of 0 to 500 litres a step and draining into the second, whose level is to be kept where it is
    asked for; that changes every 250 steps. Every step costs a thousandth of the squared distance, and an episode lasts 5,000 steps."""

    observation_space = spaces.Box(-1e6, 1e6, (3,))
    action_space = spaces.Box(0.0, 500.0, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.levels = 0, self.np_random.uniform(500.0, 3000.0, 2)
        self.asked = self.np_random.uniform(500.0, 3000.0)
        return self.observe(), {}

    def observe(self):
        return np.array([*self.levels, self.asked], np.float32)

    def step(self, action):
        flow = float(np.clip(action[0], 0.0, 500.0))
        first, second = self.levels
        self.levels = np.array([first + flow - 0.1 * first, second + 0.1 * first - 0.1 * second])
        self.steps += 1
        if self.steps % 250 == 0:
            self.asked = self.np_random.uniform(500.0, 3000.0)
        return self.observe(), -1e-3 * ((self.levels[1] - self.asked) / 1000.0) ** 2, False, False, {}


class Sail(gymnasium.Env):
    """A boat is to round a buoy ahead. Its rudder turns it by at most 0.01 a step, its winch takes 0 to 500 and pulls best where it fits
    the wind's angle. It earns 1000 times the way that it makes towards the buoy, and the episode ends when it is there, or aground."""

    observation_space = spaces.Box(-10.0, 10.0, (5,))
    action_space = spaces.Box(np.float32([-0.01, 0.0]), np.float32([0.01, 500.0]))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.speed = np.zeros(2), 0.0
        self.heading = self.np_random.uniform(-0.5, 0.5)
        self.wind = self.np_random.uniform(-0.8, 0.8)
        return self.observe(), {}

    def observe(self):
        return np.array([*self.place, self.speed, self.heading, self.wind], np.float32)

    def step(self, action):
        rudder, winch = np.clip(action, self.action_space.low, self.action_space.high)
        self.heading += float(rudder)
        best = 250.0 * (1.0 + np.sin(self.heading - self.wind))
        pull = np.exp(-(((winch - best) / 120.0) ** 2))
        self.speed += 0.1 * (0.02 * pull - self.speed)
        before = np.linalg.norm(self.place - [1.0, 0.0])
        self.place = self.place + self.speed * np.array([np.cos(self.heading), np.sin(self.heading)])
        left = np.linalg.norm(self.place - [1.0, 0.0])
        aground = abs(self.place[1]) > 0.3
        return self.observe(), 1000.0 * float(before - left) - 500.0 * aground, bool(left < 0.05 or aground), False, {}


def reach():
    """Reach, cut after 20 steps."""
    return limited(Reach(), 20)


def tank():
    """Tank, cut after 5,000 steps."""
    return limited(Tank(), 5000)


def sail():
    """Sail, cut after 200 steps."""
    return limited(Sail(), 200)


def limited(env, steps):
    """An environment whose spec says after how many steps it is cut, as that of a registered one does."""
    env.spec = gymnasium.envs.registration.EnvSpec(type(env).__name__, max_episode_steps=steps)
    return TimeLimit(env, steps)
