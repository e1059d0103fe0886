"""The replica-symmetric Franz-Parisi potential: solutions at a distance from a reference solution, and its derivatives.

Both sides of the calculation have one form. A reference x, a weight of the reference solution or the distance of a
pattern from its margin, is a unit Gaussian kept positive in a random field z that all references share. The solutions
counted see the field h = a_0 + a z + b x + c y, in which y is what they share beyond the reference [fp-fields].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import ConvergenceError
from dendrocap.model.neuron import TaskSpec
from dendrocap.numerics.quadrature import legendre_rule
from dendrocap.theory.kernels import BranchKernel, PairKernel, TreeKernel
from dendrocap.theory.mixed_kernel import BranchInput, MixedPair, mixed_pair
from dendrocap.theory.response import common_variance
from dendrocap.theory.saddle_point import SaddlePoint

__all__ = ["Conjugates", "FranzParisi", "Overlaps", "PatternSide", "WeightSide"]

Floats = NDArray[np.float64]

NODES = 8  # per Gauss-Legendre panel


class Overlaps(NamedTuple):
    """Order parameters of the solutions counted.

    Q is their mean squared weight, dq = Q - q what two of them do not share, S the overlap with the reference, t that
    with other solutions of the reference's kind, mean_shift the mean of the somatic input.
    """

    Q: float
    dq: float
    S: float
    t: float
    mean_shift: float = 0.0


class Conjugates(NamedTuple):
    """Conjugates: A_hat = q_hat - 2 Q_hat, rest = q_hat - t_hat^2 / q_hat of the reference, pull = S_hat - t_hat."""

    A_hat: float
    rest: float
    pull: float
    t_hat: float
    M_hat: float


@dataclass(frozen=True)
class WeightSide:
    """Averages over the weights of reference and counted solutions, at given conjugates [fp-weights].

    Attributes
    ----------
    term : float
        G_S.
    mean, Q, dq, S, t : float
        Mean weight and overlaps.
    variance_squared : float
        Mean square of the variance of a weight, for the replicon.
    """

    term: float
    mean: float
    Q: float
    dq: float
    S: float
    t: float
    variance_squared: float


@dataclass(frozen=True)
class PatternSide:
    """Averages over patterns, at given overlaps [fp-patterns], with what they ask of the conjugates at unit load.

    Attributes
    ----------
    term : float
        G_E.
    push : float
        dG_E / d mean_shift, in units of the deviation of the counted solutions.
    A_hat, q_hat, S_hat, t_hat : float
        -2 dG_E/dQ at fixed Q - q, -2 dG_E/dq, dG_E/dS and -dG_E/dt.
    gamma_E : float
        What the patterns add to the replicon, as in [at].
    """

    term: float
    push: float
    A_hat: float
    q_hat: float
    S_hat: float
    t_hat: float
    gamma_E: float


class FranzParisi:
    """The potential around one reference.

    Parameters
    ----------
    reference : SaddlePoint
        Of whose typical solutions one is the reference, at a load above zero.
    task : TaskSpec
        What the solutions counted must do; it differs from the reference's in the margin alone.
    nodes : int
        Gauss-Legendre nodes per panel.
    """

    def __init__(self, reference: SaddlePoint, task: TaskSpec, nodes: int = NODES) -> None:
        neuron = reference.neuron
        self.reference, self.task = reference, task
        self.W_bar = neuron.tree[0].theta / task.f_in
        self.v = task.f_in * (1.0 - task.f_in)
        self._chi = common_variance(neuron, task)
        self._rule = legendre_rule(nodes)
        self._tree = TreeKernel(neuron, task)
        self._branch = BranchKernel(neuron.tree[0].nonlinearity, neuron.theta_s)
        self.kernel = self._tree.at(reference.Q, reference.dq)
        self._input = self._branch_input(reference.Q, self.kernel)

    def _branch_input(self, Q: float, kernel: PairKernel) -> BranchInput:
        return BranchInput(kernel.means[0], math.sqrt(self.v * Q + self._chi))

    def weights(self, at: Conjugates) -> WeightSide:
        """What weights with these conjugates have in common."""
        from dendrocap.theory.local._kernels import coupled_averages

        own = self.reference
        root, other = math.sqrt(at.A_hat), math.sqrt(own.A_hat)
        field = (
            at.M_hat / root,
            at.t_hat / (math.sqrt(own.q_hat) * root),
            at.pull / (root * other),
            math.sqrt(max(at.rest, 0.0)) / root,  # negative on the way to a solution only
        )
        log_norm, mean, squared, variance, variance_squared, product, separate, _ = coupled_averages(
            own.M_hat / other, math.sqrt(own.q_hat) / other, field, True, self._rule
        ).tolist()
        return WeightSide(
            term=log_norm - 0.5 * math.log(at.A_hat),
            mean=mean / root,
            Q=(squared + variance) / at.A_hat,
            dq=variance / at.A_hat,
            variance_squared=variance_squared / at.A_hat**2,
            S=product / (root * other),
            t=separate / (root * other),
        )

    def patterns(self, at: Overlaps) -> PatternSide:
        """What patterns ask of weights with these overlaps, per unit of load."""
        kernel = self._tree.at(at.Q, at.dq)
        mine = self._branch_input(at.Q, kernel)
        with_reference, with_others = (self._pair(mine, overlap) for overlap in (at.S, at.t))
        S_soma, t_soma = with_reference.covariance, with_others.covariance
        sd, sd_reference = math.sqrt(kernel.D1), math.sqrt(self.kernel.D1)
        beyond = (S_soma - t_soma) / sd_reference
        # What counted solutions share beyond the reference; by Bessel's inequality it is not negative.
        rest = max(kernel.D0 - t_soma**2 / self.kernel.D0 - beyond**2, 0.0)
        steepness = math.sqrt(self.kernel.D0) / sd_reference
        along = t_soma / math.sqrt(self.kernel.D0) - beyond * steepness
        averages, push = np.zeros(8), 0.0
        for sign, share in self._labels():
            centre = (sign * self.reference.mean_shift - self.reference.task.kappa) / sd_reference
            start = sign * at.mean_shift - self.task.kappa - beyond * centre
            found = self._averages(centre, steepness, (start, along, beyond, math.sqrt(rest)), sd)
            averages += share * found
            push += share * sign * float(found[1])
        term, _, squared, bend, bend_squared, product, separate, centred = averages.tolist()
        f1_squared, f2 = squared / kernel.D1, bend / kernel.D1
        # Labels of the reference change where it touches its margin [fp-S]; other references push on average [fp-t].
        along_S = (product - centred - beyond / sd * bend) / (sd * sd_reference)
        along_t = -(separate - centred) / (sd * sd_reference)
        d_mean = self._branch.response(self.v * at.Q + self._chi).d_mean
        S_Q, t_Q = (self.v * (0.5 * pair.curvature + d_mean * pair.cross) for pair in (with_reference, with_others))
        return PatternSide(
            term=term,
            push=push / sd,
            A_hat=-(f2 * kernel.dGamma0_dQ + f1_squared * kernel.dD1_dQ) - 2.0 * (along_S * S_Q + along_t * t_Q),
            q_hat=f1_squared * kernel.dD1_ddq,
            S_hat=along_S * self.v * with_reference.slopes,
            t_hat=-along_t * self.v * with_others.slopes,
            gamma_E=(kernel.dD1_ddq / kernel.D1) ** 2 * bend_squared + kernel.d2D0_dq2 * f1_squared,
        )

    def _labels(self) -> list[tuple[float, float]]:
        """Signs of labels and their shares; one is enough where both look the same."""
        if self.task.f_out == 0.5:
            return [(1.0, 1.0)]
        return [(1.0, self.task.f_out), (-1.0, 1.0 - self.task.f_out)]

    def _averages(self, centre: float, steepness: float, field: tuple[float, ...], sd: float) -> Floats:
        from dendrocap.theory.local._kernels import coupled_averages

        a0, a, b, c = (one / sd for one in field)
        return np.asarray(coupled_averages(centre, steepness, (a0, a, b, c), False, self._rule))

    def _pair(self, mine: BranchInput, overlap: float) -> MixedPair:
        if not overlap > 0.0:
            raise ConvergenceError("solutions of one task cannot have a negative overlap", overlap)
        return mixed_pair(self._branch, mine, self._branch, self._input, self.v * overlap + self._chi)

    def entropy(self, alpha: float, overlaps: Overlaps, conjugates: Conjugates) -> float:
        """The potential at any order parameters; its stationary point is the local entropy [fp-potential]."""
        return self.value(alpha, conjugates, overlaps, self.weights(conjugates), self.patterns(overlaps))

    def value(
        self, alpha: float, conjugates: Conjugates, overlaps: Overlaps, weights: WeightSide, patterns: PatternSide
    ) -> float:
        """The same, where both sides are known."""
        q_hat = conjugates.rest + conjugates.t_hat**2 / self.reference.q_hat
        return (
            0.5 * (overlaps.Q * conjugates.A_hat - overlaps.dq * q_hat)
            - (conjugates.pull + conjugates.t_hat) * overlaps.S
            + conjugates.t_hat * overlaps.t
            - self.W_bar * conjugates.M_hat
            + weights.term
            + alpha * patterns.term
        )
