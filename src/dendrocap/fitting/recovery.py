"""Simulated experiments with known truth: how often the intervals of a fit contain it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.fitting.curve import fit_nonlinearity
from dendrocap.fitting.report import capacity_report
from dendrocap.fitting.weights import fit_weights, interval_of_logs
from dendrocap.model import NeuronSpec, Nonlinearity, Polsky, TaskSpec, Units
from dendrocap.theory import critical_capacity
from dendrocap.validation import real_number, whole_number

__all__ = ["Recovery", "recover_curves", "recover_synapses"]

TRUTH = NeuronSpec(Polsky(x_min=0.2, gamma=20.0), theta_d=0.045, theta_s=0.3)
TASK, UNITS = TaskSpec(f_in=0.05, f_out=0.05), Units()
BRANCH_SIZE = UNITS.n_inputs / UNITS.n_branches
FAR = 1.6  # range of the measured curves, in units of the scale


@dataclass(frozen=True)
class Recovery(Displayed):
    """How well a quantity is recovered.

    Attributes
    ----------
    quantity : str
        The estimated quantity and its source.
    truth : float
        Its true value.
    bias : float
        Median of the estimates divided by the truth, minus one.
    covered, n_data_sets : int
        Number of data sets whose 95 % interval contains the truth, and number of all data sets.

    Examples
    --------
    >>> Recovery("theta_d", 0.045, 0.003, 95, 100).coverage
    0.95
    """

    quantity: str
    truth: float
    bias: float
    covered: int
    n_data_sets: int

    @property
    def coverage(self) -> float:
        """Share of the data sets whose interval contains the truth."""
        return self.covered / self.n_data_sets


def recover_curves(
    n_points: int,
    *,
    kind: str = "smooth",
    noise: float = 0.03,
    n_data_sets: int = 100,
    n_resampled: int = 40,
    truth: Nonlinearity | None = None,
    seed: int = 0,
    callback: Callable[[], None] | None = None,
) -> Recovery:
    """Capacity from noisy curves with ``n_points`` points and known thresholds; standard errors are those of the noise.

    The capacity is the replica-symmetric one, which is most sensitive to the slopes of g.

    Parameters
    ----------
    n_points : int
        Number of points, evenly spaced up to 1.6 times the saturation.
    kind : str
        As for `fit_nonlinearity`.
    noise : float
        Standard deviation of each point, in units of the saturation.
    n_data_sets, n_resampled : int
        Number of simulated experiments, and of resampled curves for the interval of each.
    truth : Nonlinearity, optional
        The true curve; by default Polsky(0.33, 15).
    seed : int
        Seed of the noise.
    callback : callable, optional
        Called after each data set.

    Examples
    --------
    >>> from dendrocap.fitting.recovery import recover_curves
    >>> found = recover_curves(32, n_data_sets=4, n_resampled=10)
    >>> abs(found.bias) < 0.2
    True
    """
    n_points = whole_number("n_points", n_points, 4)
    noise = real_number("noise", noise, 0.0, low_open=True)
    g = Polsky() if truth is None else truth
    wanted = _symmetric(g)
    estimates, covered = [], 0
    x = np.linspace(0.0, FAR, n_points)
    for number in range(n_data_sets):
        rng = np.random.default_rng([seed, n_points, number])
        fit = fit_nonlinearity(
            x, g(x) + noise * rng.standard_normal(n_points), kind, sem=np.full(n_points, noise), scale=1.0
        )
        value = _symmetric(fit.nonlinearity)
        again = [_symmetric(fit.resampled(rng).nonlinearity) for _ in range(n_resampled)]
        as_good = [_symmetric(other.nonlinearity) for other in fit.as_good()]
        estimates.append(value)
        covered += interval_of_logs(value, again, 0.95, as_good).covers(wanted)
        if callback is not None:
            callback()
    bias = float(np.nanmedian(estimates)) / wanted - 1.0
    return Recovery(f"capacity from {n_points} points, {kind}", wanted, bias, covered, n_data_sets)


def recover_synapses(
    n_tested: int = 4000,
    *,
    n_data_sets: int = 100,
    n_bootstrap: int = 200,
    seed: int = 0,
    callback: Callable[[], None] | None = None,
) -> list[Recovery]:
    """Silent fraction, scale, thresholds and capacity from the amplitudes of a neuron at capacity with known g.

    Parameters
    ----------
    n_tested : int
        Number of tested pairs in each data set.
    n_data_sets, n_bootstrap : int
        Number of simulated experiments, and of replicates for the intervals of each.
    seed : int
        Seed of amplitudes and bootstrap.
    callback : callable, optional
        Called after each data set.

    Examples
    --------
    >>> from dendrocap.fitting.recovery import recover_synapses
    >>> [row.quantity for row in recover_synapses(1000, n_data_sets=1, n_bootstrap=20)]
    ['silent fraction', 'W_star', 'theta_d', 'theta_s', 'capacity from synapses']
    """
    whole_number("n_tested", n_tested, 100)
    solution = critical_capacity(TRUTH, TASK)
    truth = {
        "silent fraction": solution.silent_fraction,
        "W_star": float(UNITS.weight_mv(solution.W_star)),
        "theta_d": float(UNITS.theta_d_mv(TRUTH.theta_d)),
        "theta_s": float(UNITS.theta_s_mv(TRUTH.theta_s)),
        "capacity from synapses": critical_capacity(TRUTH, TASK, rsb=1, branch_size=BRANCH_SIZE).alpha_c,
    }
    estimates: dict[str, list[float]] = {name: [] for name in truth}
    covered = dict.fromkeys(truth, 0)
    for number in range(n_data_sets):
        rng = np.random.default_rng([seed, n_tested, number])
        weights_mv = UNITS.weight_mv(solution.weights.rvs(n_tested, random_state=rng))
        fit = fit_weights(
            weights_mv[weights_mv > 0.0], n_tested, nonlinearity=TRUTH.nonlinearity, task=TASK,
            n_bootstrap=n_bootstrap, rng=rng,
        )  # fmt: skip
        report = capacity_report(fit, accuracy="fast")
        found = dict(
            zip(
                truth, (fit.silent_fraction, fit.W_star_mv, fit.theta_d_mv, fit.theta_s_mv, report.alpha_c), strict=True
            )
        )
        for name, value in found.items():
            estimates[name].append(value.value)
            sets = fit.theta_s_sets_mv if name == "theta_s" else [(value.low, value.high)]
            covered[name] += any(low <= truth[name] <= high for low, high in sets)
        if callback is not None:
            callback()
    return [
        Recovery(
            name, truth[name], float(np.nanmedian(estimates[name])) / truth[name] - 1.0, covered[name], n_data_sets
        )
        for name in truth
    ]


def _symmetric(g: Nonlinearity) -> float:
    """Replica-symmetric capacity at the true thresholds; NaN if there is none."""
    try:
        return critical_capacity(NeuronSpec(g, TRUTH.theta_d, TRUTH.theta_s), TASK).alpha_c
    except (NoSolution, ConvergenceError):
        return math.nan
