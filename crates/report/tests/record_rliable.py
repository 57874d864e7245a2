"""Records what rliable says of a few suites of scores, for tests/rliable.rs.

Run with a Python that has it: pip install rliable; python crates/report/tests/record_rliable.py
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rliable import library, metrics

RESAMPLES = 20000
PROFILE_RESAMPLES = 4000


def interval(scores, function, resamples=RESAMPLES):
    _, intervals = library.get_interval_estimates({"x": scores}, function, reps=resamples)
    return intervals["x"]


def case(a, b):
    thresholds = np.linspace(min(a.min(), b.min()), max(a.max(), b.max()), 9)
    profiles, bands = library.create_performance_profile({"a": a}, thresholds, reps=PROFILE_RESAMPLES)
    both = lambda x: np.array([metrics.aggregate_mean(x), metrics.aggregate_median(x), metrics.aggregate_iqm(x)])
    improvement = lambda x, y: np.array([metrics.probability_of_improvement(x, y)])
    return {
        # One list per task.
        "a": a.T.tolist(),
        "b": b.T.tolist(),
        "mean": metrics.aggregate_mean(a),
        "median": metrics.aggregate_median(a),
        "iqm": metrics.aggregate_iqm(a),
        "intervals": interval(a, both).T.tolist(),
        "improvement": float(metrics.probability_of_improvement(a, b)),
        "improvement_interval": interval([a, b], improvement)[:, 0].tolist(),
        "thresholds": thresholds.tolist(),
        "profile": profiles["a"].tolist(),
        "profile_intervals": bands["a"].T.tolist(),
    }


def main():
    np.random.seed(2021)
    rng = np.random.default_rng(7)
    shapes = [(5, 8, 1), (10, 10, 1), (10, 7, 3), (5, 5, 10)]
    cases = []
    for runs_a, runs_b, tasks in shapes:
        offsets = rng.normal(0.0, 1.0, tasks)
        a = rng.normal(0.4, 1.0, (runs_a, tasks)) + offsets
        b = rng.normal(0.0, 1.5, (runs_b, tasks)) + offsets
        cases.append(case(a, b))
    # Ties within and between the methods.
    cases.append(case(rng.integers(0, 4, (9, 2)).astype(float), rng.integers(0, 4, (6, 2)).astype(float)))
    recorded = {"rliable": version("rliable"), "arch": version("arch"), "numpy": np.__version__, "cases": cases}
    path = Path(__file__).parent / "data" / "rliable.json"
    path.write_text(json.dumps(recorded, indent=1) + "\n")


main()
