"""Code shared by the simulated figures: neurons and rules, tables of finished runs, averages over seeds, line styles.

Hyper-parameters were chosen on patterns that no figure uses (docs/results/learning.md): the better of two learning
rates for plain gradient descent, the width for the surrogate. The paper uses one rate for all, 0.01.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.answers.grids import capacity_points
from dendrocap.errors import ConvergenceError
from dendrocap.model import Linear, NeuronSpec, Nonlinearity, Polsky, ReLU, SaturatingReLU
from dendrocap.reproduction.runs import RunSize
from dendrocap.sweeps import Record

if TYPE_CHECKING:
    import pandas as pd

# Names of the rules in tables and legends; the first is also the name of the linear neuron in sweeps.
LINEAR, PLAIN, SURROGATE = Linear.name, "true slope", "surrogate slope"
STEEP_LOSS = 100.0

# Learning rate of plain gradient descent by dendritic threshold, and width of the surrogate; others take the nearest.
RATES = {0.01: 0.01, 0.05: 0.1, 0.1: 0.01, 0.3: 0.1, 0.5: 0.1, 1.0: 0.1}
WIDTHS = {0.1: 0.2, 0.3: 0.3, 0.5: 0.3, 1.0: 0.3}
LINEAR_THETA, LINEAR_RATE = 0.5, 0.1

# The learning rates and steepnesses of the loss from which the paper chose.
PAPER_RATES, PAPER_GAMMAS = (1e-4, 1e-3, 0.01, 0.1, 1.0), (1e-3, 0.01, 0.1, 1.0, 10.0, 100.0)

# Half of the capacity of the linear neuron: every neuron can learn this load.
HALF_LOAD = 0.5
SMALL_THRESHOLDS = (0.01, 0.05, 0.1, 0.3)

# At larger thresholds plain gradient descent leaves patterns unlearned, but the paper's comparisons need solutions.
TRAINABLE = 0.1
UNLEARNED = "no neuron learned all its patterns within the allowed epochs"


# The parameters of a sweep -------------------------------------------------------------------------------------------
def linear(size: RunSize) -> dict[str, Any]:
    """The linear neuron."""
    return {"nonlinearity": LINEAR, "theta_d": LINEAR_THETA, "n_inputs": size.n_inputs}


def dendritic(size: RunSize) -> dict[str, Any]:
    """The dendritic neuron; its threshold is an axis of the grid."""
    return {"theta_s": 0.5, "n_inputs": size.n_inputs, "n_branches": size.n_branches}


def surrogate(theta_d: float) -> dict[str, Any]:
    """The surrogate slope, with its rate."""
    return {"learning_rate": max(0.05, 2.0 * theta_d), "surrogate_width": _at_nearest(WIDTHS, theta_d)}


def rate(theta_d: float) -> float:
    """The learning rate of plain gradient descent."""
    return _at_nearest(RATES, theta_d)


def _at_nearest(chosen: Mapping[float, float], theta_d: float) -> float:
    """What was chosen at the nearest threshold, in decades."""
    return chosen[min(chosen, key=lambda one: abs(math.log(one / theta_d)))]


# Tables of finished runs ---------------------------------------------------------------------------------------------
def runs(records: Sequence[Record], parameters: Iterable[str], metrics: Iterable[str]) -> pd.DataFrame:
    """One row per run: its rule and threshold, some of its parameters, its seed, some of its metrics."""
    import pandas as pd

    rows = [
        {
            "rule": _rule_of(record.parameters),
            "theta_d": record.parameters["theta_d"],
            **{name: record.parameters[name] for name in parameters},
            "seed": record.seed,
            **{name: record.metrics[name] for name in metrics},
        }
        for record in records
    ]
    return pd.DataFrame(rows)


def _rule_of(parameters: Mapping[str, Any]) -> str:
    if parameters.get("nonlinearity") == LINEAR:
        return LINEAR
    return SURROGATE if "surrogate_width" in parameters else PLAIN


def averaged(table: pd.DataFrame, by: list[str], column: str) -> pd.DataFrame:
    """Mean of a column over seeds, with its standard error."""
    found = table.groupby(by, sort=False)[column].agg(["mean", "count", "sem"]).reset_index()
    return found.rename(columns={"mean": column, "count": "seeds", "sem": "standard_error"})


# Lines of a figure ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Line:
    """The style of the runs of one rule at one threshold, the same in all figures."""

    rule: str
    theta_d: float
    color: Any

    @property
    def marker(self) -> str:
        """Its symbol."""
        return {LINEAR: "s", PLAIN: "o", SURROGATE: "^"}[self.rule]

    @property
    def dashes(self) -> str:
        """Its line style; dashes are reserved for broken symmetry."""
        return ":" if self.rule == SURROGATE else "-"

    @property
    def look(self) -> dict[str, Any]:
        """Its colour, and its name in a legend."""
        surrogate = ", surrogate" if self.rule == SURROGATE else ""
        label = LINEAR if self.rule == LINEAR else rf"$\theta_d = {self.theta_d:g}${surrogate}"
        return {"color": self.color, "label": label}

    def of(self, table: pd.DataFrame) -> pd.DataFrame:
        """Its rows of a table."""
        return table[(table.rule == self.rule) & (table.theta_d == self.theta_d)]


def lines(table: pd.DataFrame) -> list[Line]:
    """The lines of a table: the linear neuron in black, then by rule, with thresholds from light to dark."""
    from matplotlib import colormaps

    thresholds = sorted(set(table.theta_d[table.rule != LINEAR]))
    ramp = colormaps["plasma"](np.linspace(0.85, 0.1, max(1, len(thresholds))))
    shade = dict(zip(thresholds, ramp, strict=False))
    order = (LINEAR, PLAIN, SURROGATE)
    found = sorted(set(zip(table.rule, table.theta_d, strict=True)), key=lambda one: (order.index(one[0]), one[1]))
    return [Line(rule, theta_d, "k" if rule == LINEAR else shade[theta_d]) for rule, theta_d in found]


def thinned(found: Sequence[Line]) -> list[Line]:
    """The smallest, middle and largest threshold of every rule, to keep panels legible."""
    kept = []
    for rule in dict.fromkeys(line.rule for line in found):
        own = [line for line in found if line.rule == rule]
        kept += [own[at] for at in sorted({0, len(own) // 2, len(own) - 1})]
    return kept


# Code shared by the figures of the theory: tables of solutions at capacity along one parameter.
#
# All have f_in = f_out = 1/2, no margin, and theta_s = theta_d = 1/2 unless they vary, as in the paper.

DENDRITIC: tuple[Nonlinearity, ...] = (Polsky(), SaturatingReLU(), ReLU())
ALL = (*DENDRITIC, Linear())
BROKEN = {"rsb": [1]}  # for the tables that accompany the paper's replica-symmetric ones

ASSUMED = (
    "Infinitely many long, equal branches. "
    "The best estimate for a real neuron: dendrocap capacity -N SYNAPSES -K BRANCHES."
)

KEPT = ("alpha_c", "silent_fraction", "preactivation_mean", "preactivation_sd")


def along(gs: Sequence[Nonlinearity], **parameters: Any) -> pd.DataFrame:
    """Solutions at capacity of several non-linearities along one parameter."""
    import pandas as pd

    rows = []
    for g in gs:
        for point in capacity_points(NeuronSpec(g, 0.5, 0.5), **parameters):
            if point.reason:
                raise ConvergenceError(f"{g!r} at {point.case}: {point.reason}")
            found = {name: float(getattr(point.solution, name)) for name in KEPT}
            rows.append({"nonlinearity": g.name, **point.case, **found})
    return pd.DataFrame(rows)


def along_shape(parameter: str, values: NDArray[np.float64], **more: Any) -> pd.DataFrame:
    """The standard neuron along a parameter of its g, and neurons without this parameter as constants.

    With broken symmetry the linear neuron is left out, because its symmetry is not broken.
    """
    import pandas as pd

    tables = [along([Polsky()], **{parameter: values}, **more)]
    for g in (SaturatingReLU(),) if more else (SaturatingReLU(), Linear()):
        constant = along([g], theta_d=[0.5], **more).drop(columns="theta_d")
        tables.append(constant.merge(pd.DataFrame({parameter: values}), how="cross"))
    return pd.concat(tables, ignore_index=True)


def broken_name(name: str) -> str:
    """The name of the table with one step of symmetry breaking that accompanies a replica-symmetric one."""
    return f"{name}_rsb"


def both(tables: Mapping[str, pd.DataFrame], name: str) -> list[dict[str, Any]]:
    """The rows of a replica-symmetric table and of its counterpart with broken symmetry, each with its estimate."""
    return [row for one in (name, broken_name(name)) for row in tables[one].to_dict("records")]


def of(table: pd.DataFrame, g: type[Nonlinearity]) -> pd.DataFrame:
    """The rows of one non-linearity."""
    return table[table.nonlinearity == g.name].reset_index(drop=True)


def furthest(values: Any, target: float) -> float:
    """The value furthest from the target."""
    array = np.asarray(values, dtype=np.float64)
    return float(array[np.argmax(np.abs(array - target))])
