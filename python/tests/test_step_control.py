"""The rule of steps by divergence: the facts that the program's own tests state of it."""

from __future__ import annotations

import math

import pytest

from epgt._step_control import StepController


def controller(rate: float = 1e-3, highest: float = 2e-3, step: float = 1.0) -> StepController:
    return StepController(rate, 0.01, highest, step)


def test_a_step_of_a2c_goes_no_further_than_eight_targets_and_moves_the_rate_by_what_is_kept() -> None:
    for divergence, share, factor in (
        (0.01, None, 1.0),
        (0.0, None, math.exp(0.1)),
        (0.02, None, math.exp(-0.1)),
        (0.08, None, math.exp(-0.7)),
        (0.18, 2 / 3, math.exp(-0.7)),
        (math.nan, 0.0, math.exp(-0.7)),
        (math.inf, 0.0, math.exp(-0.7)),
    ):
        moved = controller()
        assert moved.after_step(divergence) == (None if share is None else pytest.approx(share))
        assert moved.rate == pytest.approx(1e-3 * factor)


def test_a_phase_moves_the_rate_by_the_square_root_and_by_no_more_than_half_again() -> None:
    for divergence, factor in ((0.0144, 1 / 1.2), (1e-9, 1.5), (0.0, 1.5), (10.0, 1 / 1.5), (math.nan, 1 / 1.5)):
        moved = controller()
        moved.after_phase(divergence, 1)
        assert moved.rate == pytest.approx(1e-3 * factor)


def test_a_multiplier_of_the_divergence_is_in_force_at_once() -> None:
    fourfold = controller(step=4.0)
    assert fourfold.policy_rate == pytest.approx(2e-3)
    fourfold.after_phase(0.04, 1)
    assert fourfold.rate == pytest.approx(1e-3)


def test_the_rate_has_a_highest_value_which_falls_with_the_steps_of_a_phase() -> None:
    moved = controller()
    for _ in range(40):
        moved.after_phase(1e-9, 100)
    assert moved.rate == 1e-3


def test_a_phase_ends_for_the_policy_beyond_four_targets() -> None:
    moved = controller()
    moved.before_minibatch(0.04)
    assert not moved.stopped and moved.policy_rate > 0
    moved.before_minibatch(0.0401)
    moved.before_minibatch(0.0)
    assert moved.stopped and moved.policy_rate == 0
    moved.after_phase(0.01, 1)
    assert moved.policy_rate > 0
