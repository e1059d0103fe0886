"""Other distributions of synaptic strength, compared with the model by likelihood and Akaike's criterion."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from dendrocap.display import Displayed
from dendrocap.fitting.estimators import Sample, Shape, from_amplitudes

__all__ = ["Candidate", "candidates", "log_density"]

Floats = NDArray[np.float64]
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class Candidate(Displayed):
    """A distribution of the visible amplitudes and its quality of fit.

    Attributes
    ----------
    name : str
        "capacity" is the fit itself, "capacity, free shape" the same family with both parameters from the amplitudes.
    parameters : tuple of (str, float)
        Estimates, in millivolts where they have a dimension.
    n_parameters : int
        Number of parameters estimated from the amplitudes.
    log_likelihood, aic : float
        Log likelihood of the amplitudes above the detection threshold, per mV, and Akaike's criterion.
    delta_aic : float
        Difference from the best of all candidates.
    """

    _displayed = ("name", "delta_aic", "aic", "log_likelihood", "n_parameters")

    name: str
    parameters: tuple[tuple[str, float], ...]
    n_parameters: int
    log_likelihood: float
    aic: float
    delta_aic: float


def log_density(amplitudes: Floats, shape: Shape, threshold: float) -> Floats:
    """Log density of amplitudes, conditional on being above the threshold."""
    z = amplitudes / shape.W_star + shape.B
    seen = log_ndtr(-(shape.B + threshold / shape.W_star))
    return np.asarray(-0.5 * z * z - _LOG_ROOT_2PI - math.log(shape.W_star) - seen)


def candidates(amplitudes: Floats, shape: Shape, threshold: float, n_fitted: int) -> tuple[Candidate, ...]:
    """The fit and the other distributions, the best first.

    The silent fraction plays no part, because the other distributions are compatible with any. ``n_fitted`` is the
    number of parameters that the fit takes from the amplitudes.
    """
    free = from_amplitudes(Sample.of(amplitudes - threshold), threshold)
    mean_excess = float(np.mean(amplitudes)) - threshold
    mu, sigma, lognormal = _lognormal(amplitudes, threshold)
    exponential = -amplitudes.size * (math.log(mean_excess) + 1.0)
    found = [
        ("capacity", _named(shape), n_fitted, float(log_density(amplitudes, shape, threshold).sum())),
        ("capacity, free shape", _named(free), 2, float(log_density(amplitudes, free, threshold).sum())),
        ("lognormal", (("mu", mu), ("sigma", sigma)), 2, lognormal),
        ("exponential", (("mean_mv", mean_excess),), 1, exponential),
    ]
    best = min(2 * k - 2 * likelihood for _, _, k, likelihood in found)
    rows = [
        Candidate(name, values, k, likelihood, 2 * k - 2 * likelihood, 2 * k - 2 * likelihood - best)
        for name, values, k, likelihood in found
    ]
    return tuple(sorted(rows, key=lambda row: row.aic))


def _named(shape: Shape) -> tuple[tuple[str, float], ...]:
    return (("B", shape.B), ("W_star_mv", shape.W_star))


def _lognormal(amplitudes: Floats, threshold: float) -> tuple[float, float, float]:
    """mu, sigma and log likelihood of the lognormal distribution, truncated at the threshold."""
    logs = np.log(amplitudes)
    mu, sigma = float(logs.mean()), float(logs.std())

    def likelihood(mu: float, sigma: float) -> float:
        z = (logs - mu) / sigma
        visible = 0.0 if threshold == 0.0 else float(log_ndtr(-(math.log(threshold) - mu) / sigma))
        return float(np.sum(-0.5 * z * z - logs) - logs.size * (_LOG_ROOT_2PI + math.log(sigma) + visible))

    if threshold > 0.0:
        from scipy.optimize import minimize

        # With truncation at the threshold, the estimate has no closed form.
        start = np.array([mu, math.log(sigma)])
        outcome = minimize(
            lambda p: -likelihood(p[0], math.exp(p[1])),
            start,
            method="Nelder-Mead",
            bounds=[(mu - 20.0 * sigma, mu + 5.0 * sigma), (start[1] - 3.0, start[1] + 3.0)],
            options={"xatol": 1e-8, "fatol": 1e-8, "maxiter": 4000},
        )
        mu, sigma = float(outcome.x[0]), math.exp(float(outcome.x[1]))
    return mu, sigma, likelihood(mu, sigma)
