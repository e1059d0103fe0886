"""Types of synapses on the branches of one population, and their weights in a given field.

Excitatory and inhibitory weights of a branch add up in its summed input, where only the sum of their variances matters.
Weights are measured in units in which all inputs fluctuate alike, sqrt(v_a / v_E) W_a. In these units the conjugates of
norm and overlap are the same for all types, and signs drop out; each type has only its own conjugate of the mean
[inhibition-types]. The paper's case has one type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from dendrocap.display import Displayed
from dendrocap.model import Inhibition
from dendrocap.numerics._compiled import tail
from dendrocap.theory.finite_load_weights import FiniteLoadWeights
from dendrocap.theory.free_entropy import Entropic
from dendrocap.theory.roots import monotone_root
from dendrocap.theory.weight_distributions import CapacityWeights

if TYPE_CHECKING:
    from dendrocap.theory.rsb.broken_weights import BrokenWeights

__all__ = [
    "ONLY_EXCITATORY",
    "AtCapacity",
    "AtLoad",
    "SynapseType",
    "SynapseWeights",
    "TypicalSynapses",
    "all_types",
    "at_capacity",
    "at_load",
    "common_net",
    "mean_weight",
    "synapse_types",
]


@dataclass(frozen=True)
class SynapseType:
    """Synapses of one sign.

    Attributes
    ----------
    kind : {"excitatory", "inhibitory"}
        Their sign; the theory uses strengths, which are never negative.
    share : float
        Share of the synapses of a branch.
    strength : float
        Mean strength in the common units, relative to that of the first type; 0 if they are dead.
    scale : float
        Common units per unit of their own weights, sqrt(v_a / v_E).
    f_in : float, optional
        Probability that one of their inputs is active, if not that of the population.
    """

    kind: str = "excitatory"
    share: float = 1.0
    strength: float = 1.0
    scale: float = 1.0
    f_in: float | None = None


SIGNS = {"excitatory": 1.0, "inhibitory": -1.0}
# A weaker type counts as dead: the Gaussian tail that gives its mean strength is below the smallest float.
WEAKEST = 1e-250
ONLY_EXCITATORY = (SynapseType(),)


def synapse_types(inhibition: Inhibition | None, theta_d: float, f_in: float) -> tuple[SynapseType, ...]:
    """The types of a population whose excitatory drive is theta_d; drives fix the mean strengths [inhibition-means]."""
    if inhibition is None or inhibition.share == 0.0:
        return ONLY_EXCITATORY
    share, f_i = inhibition.share, f_in if inhibition.f_in is None else inhibition.f_in
    scale = math.sqrt(f_i * (1.0 - f_i) / (f_in * (1.0 - f_in)))
    mean_e, mean_i = theta_d / ((1.0 - share) * f_in), inhibition.drive / (share * f_i)
    strength = scale * mean_i / mean_e
    return (
        SynapseType(share=1.0 - share),
        SynapseType("inhibitory", share, strength if strength > WEAKEST else 0.0, scale, f_i),
    )


def common_net(types: Sequence[SynapseType]) -> float:
    """Effect of a common fluctuation of all inputs, in which signs matter, relative to excitation alone."""
    return math.fsum(SIGNS[one.kind] * one.share * one.strength for one in types)


def mean_weight(synapses: Sequence[SynapseWeights] | Sequence[TypicalSynapses]) -> float:
    """Mean weight of all synapses of a branch; inhibitory ones are negative."""
    return math.fsum(SIGNS[one.kind] * one.share * one.W_bar for one in synapses)


class AtCapacity(NamedTuple):
    """All types of a population at capacity, for a mean excitatory weight of one [inhibition-capacity]."""

    B: tuple[float, ...]  # of each type; infinite if it is dead
    A: float  # fraction of synapses that are not silent
    W_star: float  # in the common units the same for all types
    Q: float  # mean square over all synapses, in the common units


def at_capacity(types: Sequence[SynapseType], B: float) -> AtCapacity:
    """The state in which the first type has this B; the others follow from their means."""
    i0, i1, i2 = tail(B)
    if len(types) == 1 and types[0].share == 1.0:
        return AtCapacity((B,), i0, 1.0 / i1, i2 / i1**2)
    shapes, A, second = [B], types[0].share * i0, types[0].share * i2
    for one in types[1:]:
        if one.strength == 0.0:
            shapes.append(math.inf)
            continue
        wanted = math.log(one.strength * i1)

        def excess(at: float, wanted: float = wanted) -> tuple[float, float]:
            h0, h1, _ = tail(at)
            return math.log(h1) - wanted, -h0 / h1

        shapes.append(monotone_root(excess, B, 1.0).at)
        j0, _, j2 = tail(shapes[-1])
        A += one.share * j0
        second += one.share * j2
    return AtCapacity(tuple(shapes), A, 1.0 / i1, second / i1**2)


class AtLoad(NamedTuple):
    """One type below capacity, in the common units, for a mean excitatory weight of one."""

    M_hat: float
    entropic: Entropic


def at_load(
    types: Sequence[SynapseType], root: float, xi: float, step: float, centres: dict[int, float] | None = None
) -> tuple[AtLoad | None, ...]:
    """Each type in fields with A_hat = root^2 and q_hat = xi root^2; None for a dead one [inhibition-load].

    ``centres`` holds the centres of the weights at a neighbouring point, by type, and is brought up to date.
    """
    from dendrocap.theory._kernels import entropic_centre

    found: list[AtLoad | None] = []
    centres = {} if centres is None else centres
    for number, one in enumerate(types):
        if one.strength == 0.0:
            found.append(None)
            continue
        own, unit = root * one.strength, one.strength
        eta = centres[number] = entropic_centre(own, xi, step, centres.get(number, math.nan))
        at = Entropic.at(own**2, xi * own**2, eta * own, step)  # at mean 1
        if unit != 1.0:
            at = Entropic(
                at.term + math.log(unit),
                unit,
                at.mean_squared * unit**2,
                at.variance * unit**2,
                at.variance_squared * unit**4,
            )
        found.append(AtLoad(eta * root, at))
    return tuple(found)


def all_types(
    types: Sequence[SynapseType], root: float, xi: float, W_bar: float, step: float, centres: dict[int, float]
) -> tuple[float, Entropic]:
    """M_hat of the first type, and averages over all live synapses in units of excitatory weights of mean W_bar."""
    each = at_load(types, root, xi, step, centres)
    found = [(one.share, at) for one, at in zip(types, each, strict=True) if at is not None]

    def average(name: str) -> float:
        return math.fsum(share * getattr(at.entropic, name) for share, at in found)

    return found[0][1].M_hat / W_bar, Entropic(
        average("term") + math.log(W_bar) * math.fsum(share for share, _ in found),
        average("mean") * W_bar,
        average("mean_squared") * W_bar**2,
        average("variance") * W_bar**2,
        average("variance_squared") * W_bar**4,
    )


@dataclass(frozen=True)
class SynapseWeights(Displayed):
    """Synapses of one sign at capacity.

    Attributes
    ----------
    kind : {"excitatory", "inhibitory"}
        Their sign.
    share : float
        Share of the synapses of a branch.
    f_in : float
        Probability that one of their inputs is active.
    silent_fraction : float
        Fraction of them that are exactly zero.
    W_bar, Q : float
        Mean strength and mean squared strength; inhibitory weights are the negatives of strengths.
    weights : CapacityWeights, BrokenWeights or None
        The distribution of strengths; None if all are zero.

    Examples
    --------
    >>> from dendrocap import Inhibition, NeuronSpec, Polsky, critical_capacity
    >>> neuron = NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(share=0.2, drive=0.25))
    >>> (branches,) = critical_capacity(neuron, rsb=1).populations
    >>> [(one.kind, round(one.silent_fraction, 3), round(one.W_bar, 6)) for one in branches.synapses]
    [('excitatory', 0.258, 1.25), ('inhibitory', 0.136, 2.5)]
    """

    _displayed = ("kind", "share", "silent_fraction", "W_bar", "Q")

    kind: str
    share: float
    f_in: float
    silent_fraction: float
    W_bar: float
    Q: float
    weights: CapacityWeights | BrokenWeights | None = field(repr=False)


@dataclass(frozen=True)
class TypicalSynapses(Displayed):
    """Synapses of one sign in a typical solution.

    Attributes
    ----------
    kind, share, f_in
        As in `SynapseWeights`.
    W_bar, Q, q, dq : float
        Mean strength, mean squared strength, overlap of two solutions, and Q - q.
    A_hat, q_hat, M_hat : float
        Conjugates, A_hat = q_hat - 2 Q_hat; A_hat / v and q_hat / v are the same for all types.
    entropic_term : float
        G_S of their weights; minus infinity if all are zero.

    Examples
    --------
    >>> from dendrocap import Inhibition, NeuronSpec, Polsky, saddle_point
    >>> neuron = NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(share=0.2, drive=0.25))
    >>> (branches,) = saddle_point(neuron, alpha=0.5).populations
    >>> [round(one.q / one.Q, 6) for one in branches.synapses]
    [0.59911, 0.726447]
    """

    _displayed = ("kind", "share", "W_bar", "Q", "q")

    kind: str
    share: float
    f_in: float
    W_bar: float
    Q: float
    q: float
    dq: float
    A_hat: float
    q_hat: float
    M_hat: float
    entropic_term: float

    @property
    def weights(self) -> FiniteLoadWeights | None:
        """The distribution of strengths; None if all are zero."""
        return FiniteLoadWeights(self.A_hat, self.q_hat, self.M_hat) if self.W_bar > 0.0 else None
