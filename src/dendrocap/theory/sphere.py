"""Weights of either sign whose mean square is fixed: the committee machines of the literature, by the same questions.

The input of a branch is normal, with the variance of the prior and the mean -theta_d. The thresholds above balance the
mean outputs, so that only covariances of g matter: one level is a tree committee, deeper trees are compositions of
kernels [committee-tree]. Weights are Gaussian at all loads and levels of breaking [rsb-spherical], and no equation is
left for their mean and norm. Without breaking the overlap q is the only unknown.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dendrocap.errors import NoSolution
from dendrocap.model import Nonlinearity
from dendrocap.model.neuron import NeuronSpec, Spherical, TaskSpec
from dendrocap.theory import scope
from dendrocap.theory.dendrite import BranchKernel, PairKernel, Response, gaussian_expectation, prepared
from dendrocap.theory.load import balanced_shift
from dendrocap.theory.neuron_kernel import Norm, Overlap, Population, PopulationKernel, composed
from dendrocap.theory.patterns import HARD_MARGIN, Channel, Energetic, LabelAverages, label_averages
from dendrocap.theory.solution import PopulationWeights, SynapseWeights
from dendrocap.theory.solver import bracketed_root
from dendrocap.theory.weights import Preactivation

VANISHED = 1e-20  # C'(0) below which it counts as zero

PLACES, NOWHERE = np.linspace(-18.0, 27.0, 91), -21.0  # ln q / (Q - q) where solutions are looked for, and for q = 0


class _Centred(BranchKernel):
    """The kernel of a branch with a given mean input; its threshold is its mean output, whatever it is."""

    def __init__(self, level: tuple[Nonlinearity, float], variance: float) -> None:
        g, self._mean = level[0], 0.0 - level[1]
        output = gaussian_expectation(g, self._mean, math.sqrt(variance), g.knots).value
        super().__init__(g, output)

    def response(self, V: float) -> Response:
        """Derivatives in the norm do not matter where it is fixed."""
        found = prepared(self.nonlinearity)(self.threshold, math.sqrt(V), self._mean)
        return Response(self._mean, found.slope, found.variance, found.gain, 0.0, math.nan, math.nan)


class Place(NamedTuple):
    """The equations at one overlap."""

    q: float
    dq: float
    pair: PairKernel
    energetic: Energetic
    shift: float
    load: float  # at which q is the overlap of two solutions
    stability_load: float  # at which the replicon vanishes at this q [committee-at]

    def free_entropy(self, load: float) -> float:
        """phi, the logarithm of the volume of solutions per weight."""
        Q = self.q + self.dq
        return 0.5 * (Q / self.dq + math.log(2.0 * math.pi * self.dq)) + load * self.energetic.term


class Sphere(PopulationKernel):
    """A neuron with such weights: its kernel, for the equations with breaking, and the equation without."""

    def __init__(self, neuron: NeuronSpec, task: TaskSpec, channel: Channel = HARD_MARGIN) -> None:
        scope.check(scope.SPHERE, neuron, task)
        assert isinstance(neuron.prior, Spherical)
        self.neuron, self.task, self.channel, self._levels = neuron, task, channel, []
        variance = neuron.prior.variance
        self.v = task.f_in * (1.0 - task.f_in)
        self.Q, self.slope_squared = variance / self.v, self.v  # the second is C'(0)
        for level in neuron.tree:
            self._levels.append(_Centred((level.nonlinearity, level.theta), variance))
            found = self._levels[-1].response(variance)
            self.slope_squared *= found.slope**2
            variance = found.variance
        (g, output), *upper = ((one.nonlinearity, one.threshold) for one in self._levels)
        self.population = Population(g, 0.0, task.f_in, 1.0, 1.0, output, math.inf, upper=tuple(upper))
        self.m = self._levels[0].response(neuron.prior.variance).mean

    def norm(self, m: float, Q: float, output: float | None = None) -> Norm:
        """Variance at the soma and gain of small differences."""
        variance, gain = self.v * Q, self.v
        for level in self._levels:
            found = level.response(variance)
            variance, gain = found.variance, gain * found.gain
        return Norm(0.0, 1.0, 0.0, variance, math.nan, math.nan, gain, math.nan, math.nan)

    def pair(self, dq: float) -> PairKernel:
        """Everything at the overlap Q - dq."""
        return composed(self._levels, self.v * self.Q, self.v * dq, self.v)

    def overlap(self, m: float, Q: float, dq: float, at_norm: Norm) -> Overlap:
        """The kernel at the overlap Q - dq."""
        pair, unused = self.pair(dq), math.nan
        # For nearly orthogonal replicas the small covariance is accurate, the difference is not.
        difference = pair.D1 if pair.D0 > 1e-6 * pair.D1 else at_norm.Gamma0 - pair.D0
        # C'(0) vanishes if E g' does; its logarithm is needed in any case.
        return Overlap(difference, unused, unused, max(pair.dD1_ddq, 1e-300), unused, unused, unused)

    @cached_property
    def at_norm(self) -> Norm:
        """`norm` at the norm of the weights."""
        return self.norm(self.m, self.Q)

    @cached_property
    def labels(self) -> LabelAverages:
        """Averages over labels at capacity."""
        return label_averages(self.task.f_out, self.task.kappa / math.sqrt(self.at_norm.Gamma0))

    @property
    def symmetric_capacity(self) -> float:
        """The load at which q reaches Q."""
        return self.Q * self.at_norm.Gamma1 / (self.at_norm.Gamma0 * self.labels.second)

    # Without breaking -------------------------------------------------------------------------------------------------

    def place(self, log_odds: float) -> Place:
        """The equations at ln q / (Q - q)."""
        dq = self.Q / (1.0 + math.exp(log_odds))
        q, pair = dq * math.exp(log_odds), self.pair(dq)
        shift = balanced_shift(pair, self.task, channel=self.channel)
        energetic = Energetic.at(pair, self.task, shift, channel=self.channel)
        gamma = pair.dD1_ddq**2 * energetic.f2_squared + pair.d2D0_dq2 * energetic.f1_squared
        load = q / (dq**2 * pair.dD1_ddq * energetic.f1_squared)
        return Place(q, dq, pair, energetic, shift, load, 1.0 / (dq**2 * gamma) if gamma > 0.0 else math.inf)

    def at(self, alpha: float) -> Place:
        """The solution at a load: where there are several, that with the smallest volume, as of all overlaps."""
        misses = [math.log(self.place(one).load / alpha) for one in PLACES]
        found = [
            self.place(bracketed_root(lambda at: math.log(self.place(at).load / alpha), *PLACES[i : i + 2]).at)
            for i in range(len(PLACES) - 1)
            if misses[i] * misses[i + 1] < 0.0
        ]
        if misses[0] > 0.0 or self.slope_squared < VANISHED:
            found.append(self.place(NOWHERE))
        if not found:
            raise NoSolution(f"no overlap solves the equations of {self.neuron} at alpha = {alpha:g}")
        return min(found, key=lambda place: place.free_entropy(alpha))

    def weights(self, **own: float) -> PopulationWeights:
        """The public description of the branches, whose weights are normal."""
        normal = Preactivation(0.0, math.sqrt(self.Q))
        synapses = SynapseWeights("of either sign", 1.0, self.task.f_in, 0.0, self.Q, weights=normal, **own)
        return PopulationWeights(self.population, self.m, (synapses,), b=0.0)


def first_unstable(sphere: Sphere) -> tuple[float, Place] | None:
    """The load at which replica symmetry becomes unstable, and the solution there; None if there is none."""

    def replicon(at: float) -> float:
        place = sphere.place(at)
        return 1.0 - place.load / place.stability_load

    place = sphere.place(NOWHERE)
    if sphere.slope_squared < VANISHED:  # q = 0 solves its equation from load 0 on
        load = place.stability_load
    else:
        signs = [replicon(at) < 0.0 for at in PLACES]
        if not any(signs):
            return None
        i = signs.index(True)
        place = sphere.place(bracketed_root(replicon, *PLACES[i - 1 : i + 1]).at if i else PLACES[0])
        load = place.load
    return (load, place) if load < sphere.symmetric_capacity else None
