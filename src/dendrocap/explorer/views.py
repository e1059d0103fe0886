"""What the page shows of a neuron, computed: numbers, curves and densities. Nothing here knows of a browser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import DendrocapError
from dendrocap.explorer.parameters import Parameters
from dendrocap.model import Linear, NeuronSpec, Nonlinearity, TaskSpec
from dendrocap.theory import CapacitySolution, critical_capacity
from dendrocap.theory.parameter_grids import capacity_points

__all__ = ["CURVE_POINTS", "Curve", "View", "capacity_axis", "key_numbers", "view"]

Floats = NDArray[np.float64]

CURVE_POINTS = 120
# An uploaded curve has a knot at every point, and the time of a solution grows with their number.
KNOTS_AT_FULL_RESOLUTION, FEWEST_POINTS = 10, 30
LINEAR_POINTS = 40  # its dependence on the threshold is smooth and weak
USUAL_THETA_D = (0.01, 2.0)


@dataclass(frozen=True, eq=False)
class Curve:
    """Capacity against a threshold, for the neuron and for one without dendrites.

    Points without an answer are NaN.
    """

    axis: str
    x: Floats
    alpha_c: Floats
    silent_fraction: Floats
    linear_x: Floats
    linear: Floats


@dataclass(frozen=True, eq=False)
class View:
    """Everything that is drawn.

    Attributes
    ----------
    solution : CapacitySolution or None
        The neuron at capacity; None where there is none, and ``problem`` says why.
    curve : Curve
        Of the capacity.
    dendrite_x, dendrite_y, density : array
        g, and the density of branch inputs on the same axis (empty without a solution).
    weight_mv, weight_density : array
        Density of the positive weights, in millivolts (empty without a solution).
    """

    parameters: Parameters
    solution: CapacitySolution | None
    problem: str
    curve: Curve
    dendrite_x: Floats
    dendrite_y: Floats
    density: Floats
    weight_mv: Floats
    weight_density: Floats


def view(parameters: Parameters, *, draft: bool = False) -> View:
    """What there is to see of a neuron with these parameters; a draft has a curve of a quarter of the points.

    Examples
    --------
    >>> shown = view(Parameters())
    >>> round(shown.solution.alpha_c, 4), len(shown.curve.x)
    (4.9513, 120)
    >>> "strictly between 0 and 1" in view(Parameters(theta_s=1.5)).problem
    True
    """
    solution, problem = _solution(parameters)
    axis = parameters.axis
    fixed = parameters.theta_s if axis == "theta_d" else parameters.theta_d
    low, high, n = capacity_axis(parameters)
    curve = _curve(parameters.g, parameters.task, axis, fixed, low, high, n // 4 if draft else n)
    x = _dendrite_axis(parameters.g, solution)
    empty = np.empty(0)
    density, w_mv, w_density = empty, empty, empty
    if solution is not None:
        density = solution.preactivation.pdf(x)
        # Beyond five standard deviations of the Gaussian nothing is left to see.
        far = max(3.5 - solution.B, 1.0) * solution.W_star
        w = np.linspace(1e-9, 1.0, 160) * far
        per_mv = parameters.units.mv_per_weight
        w_mv, w_density = w * per_mv, solution.weights.pdf(w) / per_mv
    return View(parameters, solution, problem, curve, x, parameters.g(x), density, w_mv, w_density)


def key_numbers(shown: View) -> dict[str, str]:
    """The numbers in large type, as they are printed on the page."""
    parameters, solution = shown.parameters, shown.solution
    units = parameters.units
    numbers = {
        "theta_d_mv": _millivolts(units.theta_d_mv(parameters.theta_d)),
        "theta_s_mv": _millivolts(units.theta_s_mv(parameters.theta_s)),
    }
    if solution is None:
        return numbers | dict.fromkeys(("alpha_c", "n_patterns", "silent_fraction", "w_star_mv", "gain"), "–")
    linear = linear_capacity(parameters.task, parameters.theta_d)
    return numbers | {
        "alpha_c": f"{solution.alpha_c:.4f}",
        "n_patterns": f"{round(solution.alpha_c * parameters.n_inputs):,}",
        "silent_fraction": f"{100.0 * solution.silent_fraction:.2f} %",
        "w_star_mv": _millivolts(units.weight_mv(solution.W_star)),
        "gain": f"{solution.alpha_c / linear:.2f} ×",
    }


def _millivolts(value: float) -> str:
    """Three digits, and no powers of ten where a number has four."""
    return f"{value:.3g} mV" if value < 999.5 else f"{value:,.0f} mV"


def capacity_axis(parameters: Parameters) -> tuple[float, float, int]:
    """First and last threshold of the capacity curve, and how many there are."""
    knots = len(parameters.g.knots)
    n = CURVE_POINTS
    if knots > KNOTS_AT_FULL_RESOLUTION:
        n = max(FEWEST_POINTS, CURVE_POINTS * KNOTS_AT_FULL_RESOLUTION // knots)
    if parameters.axis == "theta_d":
        low, high = USUAL_THETA_D
        # The range jumps by decades, so that the curve stays the same while a slider moves.
        while parameters.theta_d < low:
            low /= 10.0
        return low, high if parameters.theta_d <= high else 10.0, n
    low, high = parameters.g.range
    low, high = max(low, 0.0), high if math.isfinite(high) else 2.0
    margin = 0.005 * (high - low)
    return low + margin, high - margin, n


def thresholds(axis: str, low: float, high: float, n: int) -> Floats:
    """The thresholds of a curve: dendritic ones evenly in the logarithm, somatic ones evenly."""
    return np.geomspace(low, high, n) if axis == "theta_d" else np.linspace(low, high, n)


@lru_cache(maxsize=256)
def linear_capacity(task: TaskSpec, theta_d: float) -> float:
    """Capacity of the neuron without dendrites; without a margin the threshold does not matter."""
    theta_d = 0.5 if task.kappa == 0.0 else theta_d
    return critical_capacity(NeuronSpec(Linear(), theta_d, 0.5), task).alpha_c


def _solution(parameters: Parameters) -> tuple[CapacitySolution | None, str]:
    try:
        return critical_capacity(parameters.neuron, parameters.task), ""
    except DendrocapError as error:
        return None, str(error)


# Shared by all sessions: a class that looks at the same preset solves it once.
@lru_cache(maxsize=128)
def _curve(g: Nonlinearity, task: TaskSpec, axis: str, fixed: float, low: float, high: float, n: int) -> Curve:
    x = thresholds(axis, low, high, n)
    neuron = NeuronSpec(g, 0.5, fixed) if axis == "theta_d" else NeuronSpec(g, fixed, 0.5)
    solved: list[Any] = [point.solution for point in capacity_points(neuron, task, **{axis: x})]
    alpha, silent = (
        np.array([math.nan if one is None else getattr(one, name) for one in solved])
        for name in ("alpha_c", "silent_fraction")
    )
    ends = x[[0, -1]]
    if axis == "theta_s":
        linear = np.full(2, linear_capacity(task, fixed))
    elif task.kappa == 0.0:
        linear = np.full(2, linear_capacity(task, 0.5))
    else:
        ends = thresholds(axis, low, high, LINEAR_POINTS)
        linear = np.array([linear_capacity(task, theta) for theta in ends.tolist()])
    return Curve(axis, x, alpha, silent, ends, linear)


def _dendrite_axis(g: Nonlinearity, solution: CapacitySolution | None) -> Floats:
    """Branch inputs that show both the shape of g and the density of inputs."""
    low, high = min((-0.3, *g.knots)), max((1.3, *g.knots))
    if solution is not None:
        mean, sd = solution.preactivation_mean, solution.preactivation_sd
        low, high = min(low, mean - 3.5 * sd), max(high, mean + 3.5 * sd)
    kinks = np.clip(g.knots, low, high)
    return np.unique(np.concatenate([np.linspace(low, high, 240), kinks]))
