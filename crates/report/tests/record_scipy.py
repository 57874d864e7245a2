"""Records what NumPy and SciPy say of a few samples, for tests/scipy.rs.

Run with a Python that has both: python crates/report/tests/record_scipy.py
"""

import json
from pathlib import Path

import numpy as np
import scipy.optimize
import scipy.stats

RESAMPLES = 1000


def bootstrap(values, seed):
    rng = np.random.default_rng(seed)
    draws = rng.integers(len(values), size=(RESAMPLES, len(values)))
    return np.percentile(values[draws].mean(axis=1), [2.5, 97.5]).tolist()


def cohens_d(a, b):
    pooled = ((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / (len(a) + len(b) - 2)
    return (a.mean() - b.mean()) / np.sqrt(pooled)


def f_distribution():
    """Noncentral F: probabilities, the 95% point of the central one, and the bound of the noncentrality where an F as
    small as the one given is 20 times less probable than without any."""
    cases = []
    for between, within in [(1, 5), (2, 97), (4, 45), (14, 300), (124, 75), (200, 9700)]:
        for f in (0.13, 0.9, 1.1, 2.5) if between < 100 else (0.9, 1.1, 1.3):
            central = scipy.stats.f.cdf(f, between, within)
            ratio = lambda squared: scipy.stats.ncf.cdf(f, between, within, squared) / central - 0.05
            cases.append(
                {
                    "f": f,
                    "between": between,
                    "within": within,
                    "central": central,
                    "noncentral": [[x, scipy.stats.ncf.cdf(f, between, within, x)] for x in (0.5, 9.0, 60.0)],
                    "chance": scipy.stats.f.ppf(0.95, between, within),
                    "bound": scipy.optimize.brentq(ratio, 0.1, 500.0, xtol=1e-12, rtol=1e-14),
                }
            )
    return cases


def across(seeds, decisions, effect):
    """Effect over noise at every decision across runs, summed: by array operations, decisions by runs."""
    rng = np.random.default_rng(seeds)
    x = np.log(2.0) * rng.integers(-1, 2, size=(decisions, seeds))
    y = np.cumsum(0.1 + effect * x, axis=0) + rng.normal(size=x.shape)
    k = np.arange(1, decisions)
    dx = x[k] - x[k].mean(axis=1, keepdims=True)
    dy = y[k] - y[k - 1]
    dy = dy - dy.mean(axis=1, keepdims=True)
    b = (dx * dy).sum(axis=1) / (dx * dx).sum(axis=1)
    ratio = b * dx.std(axis=1, ddof=1) / (dy - b[:, None] * dx).std(axis=1, ddof=1)
    return {"x": x.T.tolist(), "y": y.T.tolist(), "signal": np.sqrt((ratio**2).sum())}


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
    recorded = {"numpy": np.__version__, "scipy": scipy.__version__, "cases": cases, "f": f_distribution()}
    recorded["across"] = [across(12, 8, 0.0), across(20, 5, 1.5)]
    path = Path(__file__).parent / "data" / "scipy.json"
    path.write_text(json.dumps(recorded, indent=1) + "\n")


main()
