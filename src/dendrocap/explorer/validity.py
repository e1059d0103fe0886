"""How far the replica-symmetric numbers can be trusted; computed after the figures, since it takes longer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from dendrocap.errors import DendrocapError
from dendrocap.explorer.parameters import Parameters
from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.theory import committee_ceiling, critical_capacity, stability_limit

__all__ = ["Validity", "sentences", "validity"]


@dataclass(frozen=True)
class Validity:
    """Where replica symmetry ends, and what one step of breaking it changes.

    Attributes
    ----------
    alpha_c : float
        Capacity in the replica-symmetric estimate.
    stability_limit : float
        Load above which that estimate is unstable; infinite if it never is, NaN if unknown.
    broken : float
        Capacity with one step of replica symmetry breaking; NaN if unknown.
    problem : str
        Why there is no answer, if there is none.
    """

    alpha_c: float
    stability_limit: float
    broken: float
    problem: str = ""

    @property
    def stable(self) -> bool:
        """Whether the replica-symmetric solution is stable up to its capacity."""
        return self.stability_limit >= self.alpha_c


@lru_cache(maxsize=256)
def validity(neuron: NeuronSpec, task: TaskSpec) -> Validity:
    """The limits of the replica-symmetric estimate for one neuron.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> found = validity(NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec())
    >>> round(found.stability_limit, 3), round(found.broken, 3), found.stable
    (0.832, 2.137, False)
    """
    try:
        alpha_c = critical_capacity(neuron, task).alpha_c
    except DendrocapError as error:
        return Validity(math.nan, math.nan, math.nan, str(error))
    try:
        limit = stability_limit(neuron, task, on_failure="return").alpha
    except DendrocapError:
        limit = math.nan
    broken = alpha_c
    if not limit >= alpha_c:
        try:
            broken = critical_capacity(neuron, task, rsb=1).alpha_c
        except DendrocapError:
            broken = math.nan
    return Validity(alpha_c, limit, broken)


def sentences(parameters: Parameters) -> list[dict[str, str]]:
    """The note below the numbers: each sentence with ``kind`` "fine" or "warning"."""
    found = validity(parameters.neuron, parameters.task)
    if found.problem:
        return []
    said = []
    if found.stable:
        said.append(("fine", "Replica symmetry is stable up to capacity: α_c is the answer of the theory."))
    elif math.isnan(found.stability_limit):
        said.append(("warning", "Whether replica symmetry is stable could not be computed: α_c may be too high."))
    else:
        text = f"Replica symmetry is unstable above a load of {found.stability_limit:.3g}: α_c is too high."
        if not math.isnan(found.broken):
            text += f" With one step of symmetry breaking the capacity is {found.broken:.4g}."
        said.append(("warning", text))
    said.append(_ceiling(parameters, found.alpha_c))
    return [{"kind": kind, "text": text} for kind, text in said]


def _ceiling(parameters: Parameters, alpha_c: float) -> tuple[str, str]:
    k = parameters.n_branches
    if parameters.nonlinearity == "linear":
        return "fine", "A linear neuron has no branches: K changes nothing but the millivolts."
    if k == 1:
        return "warning", "The theory is for many branches; with K = 1 it says nothing about this neuron."
    ceiling = committee_ceiling(k)
    text = f"Ceiling for K = {k:,} branches, 16 √(ln K) / π = {ceiling:.3g}"
    if alpha_c > ceiling:
        if parameters.f_out != 0.5:
            return "warning", f"{text}: α_c lies above it, but it was derived for f_out = ½; rarer labels allow more."
        return "warning", f"{text}: α_c lies above it: an argument, no proof, that so few branches store less."
    return "fine", f"{text}: α_c lies below it."
