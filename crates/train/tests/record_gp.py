"""Records posteriors and log-likelihoods of scikit-learn's Gaussian-process regression with PB2's time-varying kernel.

    python3 -m venv venv && venv/bin/pip install scikit-learn
    venv/bin/python crates/train/tests/record_gp.py > crates/train/tests/data/gp.json
"""

import json
import sys

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel


class TimeVarying(Kernel):
    """variance (1 - epsilon)^(|t - t'| / 2) exp(-|x - x'|^2 / (2 lengthscale^2)); t is the first column."""

    def __init__(self, variance=1.0, lengthscale=1.0, epsilon=0.1):
        self.variance, self.lengthscale, self.epsilon = variance, lengthscale, epsilon

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        apart = np.abs(X[:, None, 0] - Y[None, :, 0])
        square = ((X[:, None, 1:] - Y[None, :, 1:]) ** 2).sum(-1)
        return self.variance * (1 - self.epsilon) ** (apart / 2) * np.exp(-square / (2 * self.lengthscale**2))

    def diag(self, X):
        return np.full(len(X), self.variance)

    def is_stationary(self):
        return True


def case(seed, n, width, variance, lengthscale, epsilon, noise):
    rng = np.random.default_rng(seed)
    rows, queries = rng.random((n, width)), rng.random((6, width))
    y = rng.standard_normal(n)
    kernel = TimeVarying(variance, lengthscale, epsilon)
    process = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(rows, y)
    mean, deviation = process.predict(queries, return_std=True)
    return {
        "kernel": [variance, lengthscale, epsilon, noise],
        "width": width,
        "rows": rows.ravel().tolist(),
        "y": y.tolist(),
        "queries": queries.ravel().tolist(),
        "mean": mean.tolist(),
        "variance": (deviation**2).tolist(),
        "log_likelihood": float(process.log_marginal_likelihood_value_),
    }


json.dump(
    [
        case(0, 1, 3, 1.0, 0.5, 0.1, 0.01),
        case(1, 12, 4, 0.7, 0.3, 0.4, 0.05),
        case(2, 40, 6, 2.5, 0.8, 0.01, 0.3),
        case(3, 25, 3, 1.3, 0.15, 0.5, 0.001),
    ],
    sys.stdout,
    indent=1,
)
