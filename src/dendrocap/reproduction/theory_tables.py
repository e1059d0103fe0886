"""Code shared by the figures of the theory: tables of solutions at capacity along one parameter.

All have f_in = f_out = 1/2, no margin, and theta_s = theta_d = 1/2 unless they vary, as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError
from dendrocap.model import Linear, NeuronSpec, Nonlinearity, Polsky, ReLU, SaturatingReLU
from dendrocap.theory.parameter_grids import capacity_points

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ALL", "ASSUMED", "BROKEN", "DENDRITIC", "along", "along_shape", "both", "broken_name", "furthest", "of"]

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
