"""How long the steps of a policy are, by how far they move it: the rule of docs/steps.md, as the program has it."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST_KEPT = 8.0
"""A2C keeps no more of a step than so many times the target."""
TOO_FAR = 4.0
"""A phase of PPO that goes further than so many times the target ends for the policy."""
FASTEST = 1.5
"""The most by which one phase moves the rate."""
GENTLE = 0.1
"""How strongly one update of A2C moves the rate: by so much of its logarithm where the policy did not move at all."""
SQUARE_ROOT = 0.5
"""How strongly one phase of PPO moves it: the divergence grows with the square of the rate."""
LOWEST = 1e-9
"""The rate stays above this, so that it can always come back."""
FARTHEST = 0.01
"""How far a phase of PPO may move a weight where its steps went in random directions; it bounds the rate."""


@dataclass
class StepController:
    """Finds the rate that moves the policy as far as it should."""

    rate: float
    """The rate that was found, for a multiplier of 1."""
    divergence: float
    """The divergence that is aimed at with a multiplier of 1."""
    highest: float
    """The highest rate that is gone to: of A2C it is the critic's, because a policy that moves faster climbs the critic's errors."""
    step: float = 1.0
    """The multiplier of the divergence."""
    stopped: bool = False
    """Whether the phase is over for the policy."""

    @property
    def target(self) -> float:
        """The divergence that is aimed at."""
        return self.divergence * self.step

    @property
    def policy_rate(self) -> float:
        """The policy's rate in force."""
        # The divergence grows with the square of the rate: so a multiplier takes effect with the next step.
        return 0.0 if self.stopped else self.rate * math.sqrt(self.step)

    def after_step(self, divergence: float) -> float | None:
        """After a step of A2C that moved the policy so far: moves the rate.

        Returns the share of the step that is to be kept, where it went too far.
        """
        # What is held at the target is the mean of what is kept. A divergence that is not a number is too large.
        too_far = self._is_beyond(MOST_KEPT, divergence)
        kept = MOST_KEPT if too_far else divergence / self.target
        self._turn(math.exp(GENTLE * (1 - kept)))
        if not too_far:
            return None
        return math.sqrt(MOST_KEPT * self.target / divergence) if math.isfinite(divergence) else 0.0

    def before_minibatch(self, divergence: float) -> None:
        """Before a step of PPO on a minibatch that shows this divergence."""
        self.stopped = self.stopped or self._is_beyond(TOO_FAR, divergence)

    def after_phase(self, divergence: float, updates: int) -> None:
        """After a phase of PPO of so many updates that moved the policy so far: moves the rate."""
        self.stopped = False
        self.highest = FARTHEST / math.sqrt(max(updates, 1))
        # A divergence that is not a number is too large; one of 0 says that the rate is too low.
        factor = FASTEST
        if math.isnan(divergence):
            factor = 0.0
        elif divergence > 0:
            factor = (self.target / divergence) ** SQUARE_ROOT
        self._turn(min(max(factor, 1 / FASTEST), FASTEST))

    def _is_beyond(self, targets: float, divergence: float) -> bool:
        return math.isnan(divergence) or divergence > targets * self.target

    def _turn(self, factor: float) -> None:
        self.rate = min(max(self.rate * factor, LOWEST), self.highest)
