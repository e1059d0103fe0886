"""Logistic regression with non-negative weights: one layer of synapses, fully optimised.

Like the linear neuron it has non-negative weights and a threshold, but no learning rate and no epochs: its loss is
convex and is minimised to convergence. If the inputs contain both versions of every pixel, the sign constraint is no
restriction: a negative weight on one version equals a positive weight on the other and a higher threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError
from dendrocap.validation import real_number

__all__ = ["PositiveLogistic", "positive_logistic"]

Floats = NDArray[np.float64]
# Projected gradient, per pattern, at which the minimisation ends, and the maximum number of evaluations.
SMALL_GRADIENT, MOST = 1e-5, 10_000


@dataclass(frozen=True, eq=False)
class PositiveLogistic(Displayed):
    """A fitted logistic regression.

    Parameters
    ----------
    weights, bias : array, float
        Non-negative weights, and minus the threshold.
    loss : float
        Minimum of the loss per pattern, including the penalty.
    gradient : float
        Largest remaining component of the projected gradient.
    evaluations : int
        Number of evaluations of the loss.
    """

    _displayed = ("loss", "gradient", "evaluations")

    weights: Floats
    bias: float
    loss: float
    gradient: float
    evaluations: int

    def predict(self, inputs: ArrayLike) -> NDArray[np.uint8]:
        """Labels of patterns."""
        return (np.asarray(inputs) @ self.weights + self.bias > 0.0).astype(np.uint8)


def positive_logistic(inputs: ArrayLike, labels: ArrayLike, *, penalty: float) -> PositiveLogistic:
    """Minimise the sum of logistic losses plus ``penalty / 2`` times the squared weights, for non-negative weights.

    Parameters
    ----------
    inputs : array, shape (n_patterns, n_inputs)
        Patterns.
    labels : array of 0 and 1
        Their classes.
    penalty : float
        Penalty on the squared weights, positive so that the minimum also exists for separable patterns. It acts as a
        prior, which has the same meaning for few and for many patterns.

    Raises
    ------
    ConvergenceError
        If the gradient does not become small enough.

    Examples
    --------
    >>> fitted = positive_logistic([[1, 0], [1, 0], [0, 1]], [1, 1, 0], penalty=0.03)
    >>> fitted.predict([[1, 0], [0, 1]]).tolist(), bool(fitted.weights.min() >= 0.0)
    ([1, 0], True)
    """
    penalty = real_number("penalty", penalty, 0.0, low_open=True)
    # Single precision halves the time, which is spent on reading the patterns; their sums are accurate to 1e-7.
    patterns = np.asarray(inputs, dtype=np.float32)
    signs = 2.0 * np.asarray(labels, dtype=np.float64) - 1.0
    l2 = penalty / len(signs)  # penalty of the mean loss, which is minimised

    def loss(x: Floats) -> tuple[float, Floats]:
        weights, bias = x[:-1], x[-1]
        margins = signs * (patterns @ weights.astype(np.float32) + bias)
        pull = -signs * expit(-margins) / len(signs)
        gradient = np.append(pull.astype(np.float32) @ patterns + l2 * weights, pull.sum())
        return float(np.logaddexp(0.0, -margins).mean() + 0.5 * l2 * weights @ weights), gradient

    n_inputs = patterns.shape[1]
    found: Any = minimize(
        loss,
        np.zeros(n_inputs + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n_inputs + [(None, None)],
        options={"maxiter": MOST, "maxfun": MOST, "ftol": 0.0, "gtol": SMALL_GRADIENT, "maxcor": 20},
    )
    gradient = found.jac.copy()
    gradient[:-1] = np.where(found.x[:-1] > 0.0, gradient[:-1], np.minimum(gradient[:-1], 0.0))
    left = float(np.abs(gradient).max())
    fitted = PositiveLogistic(found.x[:-1], float(found.x[-1]), float(found.fun), left, int(found.nfev))
    if left > 10.0 * SMALL_GRADIENT:  # the line search may end at the limit of single precision
        raise ConvergenceError(f"logistic regression stopped with a gradient of {left:.1e}: {found.message}", fitted)
    return fitted
