"""Records what NumPy and SciPy say of a few samples, for tests/scipy.rs.

Run with a Python that has both: python crates/report/tests/record_scipy.py
"""

import json
from pathlib import Path

import numpy as np
import scipy.stats

RESAMPLES = 1000


def bootstrap(values, seed):
    rng = np.random.default_rng(seed)
    draws = rng.integers(len(values), size=(RESAMPLES, len(values)))
    return np.percentile(values[draws].mean(axis=1), [2.5, 97.5]).tolist()


def cohens_d(a, b):
    pooled = ((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / (len(a) + len(b) - 2)
    return (a.mean() - b.mean()) / np.sqrt(pooled)


def main():
    rng = np.random.default_rng(2021)
    samples = [rng.normal(1000.0, 300.0, n) for n in (2, 3, 5, 8, 10, 31)]
    samples.append(rng.standard_cauchy(10))
    others = [rng.normal(900.0, 200.0, n) for n in (2, 7, 5, 10, 9, 30, 10)]
    third = rng.normal(1100.0, 250.0, 6)
    cases = [
        {
            "values": a.tolist(),
            "other": b.tolist(),
            "third": third.tolist(),
            "mean": a.mean(),
            "standard_deviation": a.std(ddof=1),
            "median": np.median(a),
            "interquartile_mean": scipy.stats.trim_mean(a, 0.25),
            "seed": seed,
            "resamples": RESAMPLES,
            "bootstrap": bootstrap(a, seed),
            "cohens_d": cohens_d(a, b),
            "f_of_two": scipy.stats.f_oneway(a, b).statistic,
            "f_of_three": scipy.stats.f_oneway(a, b, third).statistic,
        }
        for seed, (a, b) in enumerate(zip(samples, others))
    ]
    recorded = {"numpy": np.__version__, "scipy": scipy.__version__, "cases": cases}
    path = Path(__file__).parent / "data" / "scipy.json"
    path.write_text(json.dumps(recorded, indent=1) + "\n")


main()
