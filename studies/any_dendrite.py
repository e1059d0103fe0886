"""Does the theory hold for any g? Twelve of them, five not monotone; each number with an independent check.

theta_d = f_in = f_out = 1/2, no margin. Checks are by the slow twins of the tests: capacity against a scan over the
plane of norm and mean input; finite load (alpha = 0.4) and one step of breaking by how far from stationary they leave
a free entropy or potential of plain sums; the limit of stability by the replicon of plain sums there.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import erf

import dendrocap as dc
from studies.tables import Row, complete, markdown, stored
from tests.naive import constraint as naive
from tests.naive.finite_load import mean_input

TABLE = Path(__file__).with_suffix(".csv")
LOAD = 0.4

# g, theta_s, and where the twin looks for m if several exist
DENDRITES: dict[str, tuple[Any, float, tuple[float, float] | None]] = {
    "linear": (dc.Linear(), 0.5, None),
    "ReLU": (dc.ReLU(), 0.5, None),
    "saturating ReLU": (dc.SaturatingReLU(), 0.5, None),
    "Polsky": (dc.Polsky(), 0.5, None),
    "tanh": (dc.Custom(np.tanh, lambda x: 1.0 / np.cosh(np.clip(x, -300, 300)) ** 2), 0.3, None),
    "leaky ReLU": (
        dc.Custom(lambda x: np.where(x > 0, x, 0.1 * x), lambda x: np.where(x > 0, 1.0, 0.1), [0.0]), 0.5, None
    ),
    "softplus": (dc.Custom(lambda x: np.logaddexp(0.0, x), lambda x: 0.5 * (1.0 + np.tanh(0.5 * x))), 0.5, None),
    "x^2": (dc.Custom(lambda x: x * x, lambda x: 2.0 * x), 0.5, (-0.8, 0.8)),
    "exp(-x^2)": (dc.Custom(lambda x: np.exp(-x * x), lambda x: -2.0 * x * np.exp(-x * x)), 0.3, (-1.5, 1.5)),
    "x exp(-x), x > 0": (
        dc.Custom(
            lambda x: np.maximum(x, 0.0) * np.exp(-np.maximum(x, 0.0)),
            lambda x: np.where(x > 0.0, (1.0 - x) * np.exp(-np.maximum(x, 0.0)), 0.0),
            [0.0],
        ),
        0.2,
        (0.2, 2.7),
    ),
    "sin": (dc.Custom(np.sin, np.cos), 0.3, (0.1, 3.0)),
    "GELU": (
        dc.Custom(
            lambda x: 0.5 * x * (1.0 + erf(x / math.sqrt(2.0))),
            lambda x: 0.5 * (1.0 + erf(x / math.sqrt(2.0))) + x * np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi),
        ),
        0.5,
        (-0.5, 1.0),
    ),
}  # fmt: skip


def computed(g: str) -> Row:
    """One g: four answers and their checks."""
    function, theta_s, m_range = DENDRITES[g]
    neuron = dc.NeuronSpec(function, 0.5, theta_s)
    capacity = dc.critical_capacity(neuron).alpha_c
    scanned = _scanned(function, theta_s, m_range)
    point = dc.saddle_point(neuron, alpha=LOAD)
    found = {
        "theta_s": f"{theta_s:g}",
        "alpha_c": f"{capacity:.7f}",
        "scan": f"{scanned:.7f}",
        "free_entropy": f"{point.free_entropy:.6f}",
        "gradient": f"{_gradient(neuron, point):.1e}",
    }
    return found | _stability(neuron) | _one_step(neuron)


def _scanned(g: Any, theta_s: float, m_range: tuple[float, float] | None) -> float:
    """The largest load by a scan: over m, or over the width of the input where each has one m."""
    if m_range is not None:
        return naive.largest_load(g, g.derivative, theta_s, 1.0, m_range)[0]

    def lost(log_V: float) -> float:
        V = math.exp(log_V)
        return -naive.load(g, g.derivative, theta_s, 1.0, V, mean_input(g, theta_s, math.sqrt(V)))

    grid = np.linspace(math.log(0.26), math.log(25.0), 40)
    best = int(np.argmin([lost(log_V) for log_V in grid]))
    ends = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    return float(-minimize_scalar(lost, bounds=ends, method="bounded", options={"xatol": 1e-9}).fun)


def _gradient(neuron: dc.NeuronSpec, point: dc.theory.SaddlePoint) -> float:
    """The largest slope of a naive free entropy at a saddle point, in the logarithms and along the curve."""
    g, m = neuron.nonlinearity, 0.5 * point.M_bar
    order = {"q": point.q, "Q_hat": point.Q_hat, "q_hat": point.q_hat, "M_hat": point.M_hat}

    def phi(Q: float = point.Q, m: float = m, **changed: float) -> float:
        return naive.free_entropy(g, neuron.theta_s, 1.0, point.alpha, Q, m, task=dc.TaskSpec(), **order | changed)

    h = 1e-4
    slopes = [(phi(**{k: x * (1 + h)}) - phi(**{k: x * (1 - h)})) / (2 * h) for k, x in order.items()]
    behind, ahead = naive.along_the_curve(g, neuron.theta_s, point.Q, m, 1e-3)
    return max(abs(slope) for slope in [*slopes, (phi(*ahead) - phi(*behind)) / 2e-3])


def _stability(neuron: dc.NeuronSpec) -> dict[str, str]:
    try:
        limit = dc.stability_limit(neuron)
    except dc.ConvergenceError:
        return {"unstable": "jump", "replicon": ""}
    if math.isinf(limit.alpha):
        return {"unstable": "never", "replicon": ""}
    there = limit.saddle_point
    left = naive.replicon(
        neuron.nonlinearity, neuron.theta_s, limit.alpha, there.Q, 0.5 * there.M_bar, there.q, there.Q_hat, there.q_hat,
        there.M_hat,
    )  # fmt: skip
    return {"unstable": f"{limit.alpha:.6f}", "replicon": f"{abs(left):.1e}"}


def _one_step(neuron: dc.NeuronSpec) -> dict[str, str]:
    broken = dc.critical_capacity(neuron, rsb=1)
    if not broken.overlaps:
        return {"one_step": f"{broken.alpha_c:.7f}", "potential": ""}
    (mu,), (q0,), (c0, c) = broken.breaking_points, broken.overlaps, broken.c
    F = naive.one_step_potential(
        neuron.nonlinearity, neuron.theta_s, 1.0, broken.alpha_c, broken.A, broken.b, c0, c - c0, mu, q0, broken.Q,
        broken.preactivation_mean,
    )  # fmt: skip
    return {"one_step": f"{broken.alpha_c:.7f}", "potential": f"{abs(F) / (0.5 * broken.A * broken.Q):.1e}"}


def table() -> list[str]:
    """What the page shows."""
    header = (
        *("$g$", r"$\theta_s$", "replica symmetric", "scan", r"$\phi$ at 0.4", "slope"),
        *("unstable from", "replicon", "one step", "$F$"),
    )
    names = [f"`{one['g']}`" for one in stored(TABLE)]
    values = [[value or "-" for value in one.values()][1:] for one in stored(TABLE)]
    return markdown(header, ((name, *rest) for name, rest in zip(names, values, strict=True)))


if __name__ == "__main__":
    if sys.argv[1:] == ["compute"]:
        complete(TABLE, computed, [(name,) for name in DENDRITES])
    elif sys.argv[1:] == ["table"]:
        print("\n".join(table()))
    else:
        sys.exit("python -m studies.any_dendrite compute | table")
