"""The natural sizes of a neuron, from which solvers take their defaults, and how solvers move away from them.

A non-linearity with two flat ends rises somewhere; where, and over what width, tells where a branch can learn.
The typical weight is set by the threshold and, on short branches, by the mean input that the soma asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dendrocap.errors import InvalidParameter
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.nonlinearities import Nonlinearity
from dendrocap.validation import real_number

__all__ = ["Rise", "Span", "crossing", "input_scale", "input_scales", "refuse_kinds", "rise_of", "span"]

# The narrowest rise that a surrogate should resolve, in units of the branch input.
NARROWEST = 0.05


@dataclass(frozen=True)
class Rise:
    """Where a bounded non-linearity goes from its lower to its upper end.

    Parameters
    ----------
    center : float
        Where g passes the middle of its range.
    width : float
        Half the distance between the quarters of its range.
    """

    center: float
    width: float


def rise_of(g: Nonlinearity) -> Rise | None:
    """The rise of a bounded g; None if g has no upper or lower end.

    Examples
    --------
    >>> from dendrocap import Polsky, ReLU
    >>> rise = rise_of(Polsky())
    >>> round(rise.center, 3), round(rise.width, 3), rise_of(ReLU())
    (0.365, 0.089, None)
    """
    low, high = g.range
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return None
    quarters = [crossing(g, low + share * (high - low)) for share in (0.25, 0.5, 0.75)]
    return Rise(quarters[1], max(0.5 * (quarters[2] - quarters[0]), NARROWEST))


def crossing(g: Nonlinearity, level: float) -> float:
    """Where g passes a level, by bisection; the end of the search, +-1e6, if it never does."""
    low, high = -1e6, 1e6
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(g(middle)) < level else (low, middle)
    return 0.5 * (low + high)


def input_scales(neuron: DendriticNeuron) -> list[float]:
    """For each kind of branches f_in times the typical weight, theta_d + m / sqrt(n) with g(m) = theta_s.

    The first term balances the dendritic threshold, the second gives a branch of n synapses the mean input at
    which its output is theta_s. It measures the spread of branch inputs, and learning rates go with it. Inhibitory
    synapses add to that spread: a share w that gives the drive d adds d / sqrt(w) to theta_d / sqrt(1 - w) at a right
    angle.
    """
    scales = []
    for at, kind in enumerate(neuron.kinds):
        own = neuron.kind_of_branch == at
        mean_input = crossing(kind.nonlinearity, neuron.spec.theta_s)
        shift = abs(mean_input) / math.sqrt(float(np.mean(neuron.branch_sizes[own])))
        drive = kind.theta_d
        if kind.inhibition is not None and kind.inhibition.share > 0.0:
            share = kind.inhibition.share
            drive = math.hypot(drive / math.sqrt(1.0 - share), kind.inhibition.drive / math.sqrt(share))
        scales.append(drive + (shift if abs(mean_input) < 1e5 else 0.0))
    return scales


def input_scale(neuron: DendriticNeuron) -> float:
    """The average of `input_scales` over all branches, for what all branches share."""
    scales = input_scales(neuron)
    return scales[0] if len(scales) == 1 else float(np.mean(np.array(scales)[neuron.kind_of_branch]))


def refuse_kinds(neuron: DendriticNeuron, name: str) -> None:
    """Refuse a neuron with inhibition or branches of several kinds, on behalf of a solver that knows neither."""
    if neuron.has_inhibition or len(neuron.kinds) > 1:
        what = "inhibition" if neuron.has_inhibition else f"{len(neuron.kinds)} populations of branches"
        raise InvalidParameter(
            f"{name} is not allowed for a neuron with {what}: sgd, surrogate, sharpening and replicated are"
        )


@dataclass(frozen=True)
class Span:
    """From ``start`` to ``end``, by the same factor in equal times.

    Examples
    --------
    >>> Span(1.0, 0.01).at(0.5)
    0.1
    """

    start: float
    end: float

    def at(self, progress: float) -> float:
        """The value when this fraction of the attempt is over."""
        return float(self.start * (self.end / self.start) ** progress)

    def times(self, factor: float) -> Span:
        """Both ends in units of ``factor``."""
        return Span(self.start * factor, self.end * factor)


def span(name: str, pair: tuple[float, float]) -> Span:
    """A pair of positive numbers, checked."""
    start, end = pair
    return Span(
        real_number(f"{name}[0]", start, 0.0, low_open=True), real_number(f"{name}[1]", end, 0.0, low_open=True)
    )
