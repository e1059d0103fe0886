"""The replica-symmetric free entropy and its derivatives, at any order parameters.

``phi = q q_hat / 2 - Q Q_hat - W_bar M_hat + G_S + alpha G_E`` [free-entropy]. The entropic term G_S describes a
weight in the random field of the other weights and the patterns, the energetic term G_E a pattern. The saddle-point
solver uses a reduced form of the equations; here they have their printed form, one derivative each, so that the two
can be checked against each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dendrocap.model.neuron import NeuronSpec, TaskSpec
from dendrocap.theory.channels import HARD_MARGIN, Channel
from dendrocap.theory.kernels import NODES, PairKernel, TreeKernel
from dendrocap.theory.roots import monotone_root

__all__ = ["Energetic", "Entropic", "OrderParameters", "free_entropy", "free_entropy_gradient"]

Floats = NDArray[np.float64]

FIELD_STEP = 0.12  # of the averages over the field, see `field_nodes`


class SomaticCovariance(Protocol):
    """Somatic covariances for averages over patterns: covariance of two replicas, and the remaining variance."""

    @property
    def D0(self) -> float:
        """Covariance."""

    @property
    def D1(self) -> float:
        """Variance beyond the covariance."""


@dataclass(frozen=True)
class OrderParameters:
    """Order parameters of the cloud of solutions, with their conjugates.

    Attributes
    ----------
    Q, q : float
        Mean square of the weights, and overlap of two solutions.
    mean_shift : float
        Shift of the mean somatic input by the deviation dM of the weights from their balance.
    Q_hat, q_hat, M_hat : float
        Conjugates of Q, q, and of the balance of the mean weight.
    """

    Q: float
    q: float
    mean_shift: float
    Q_hat: float
    q_hat: float
    M_hat: float


@dataclass(frozen=True)
class Entropic:
    """Averages over the random field of a weight with density exp(-A_hat W^2 / 2 + (M_hat + sqrt(q_hat) z) W).

    Attributes
    ----------
    term : float
        G_S, the average logarithm of the density's integral over W > 0, or up to the largest weight.
    mean, mean_squared, variance, variance_squared : float
        Averages of <W>, <W>^2, <W^2> - <W>^2, and of the square of the latter.
    """

    term: float
    mean: float
    mean_squared: float
    variance: float
    variance_squared: float

    @classmethod
    def at(
        cls, A_hat: float, q_hat: float, M_hat: float, step: float = FIELD_STEP, w_max: float = math.inf
    ) -> Entropic:
        """With A_hat = q_hat - 2 Q_hat, plus the strength of a ridge; positive unless weights are bounded."""
        from dendrocap.theory._kernels import entropic_averages

        if w_max < math.inf:
            return cls._bounded(A_hat, q_hat, M_hat, step, w_max)
        root = math.sqrt(A_hat)
        log_norm, mean, mean_squared, variance, variance_squared = entropic_averages(M_hat / root, q_hat / A_hat, step)
        return cls(
            term=log_norm - 0.5 * math.log(A_hat),
            mean=mean / root,
            mean_squared=mean_squared / A_hat,
            variance=variance / A_hat,
            variance_squared=variance_squared / A_hat**2,
        )

    @classmethod
    def _bounded(cls, A_hat: float, q_hat: float, M_hat: float, step: float, w_max: float) -> Entropic:
        from dendrocap.theory.saturation._kernels import bounded_averages

        log_norm, mean, mean_squared, variance, variance_squared = bounded_averages(
            A_hat * w_max**2, q_hat * w_max**2, M_hat * w_max, step
        )
        return cls(
            term=log_norm + math.log(w_max),
            mean=mean * w_max,
            mean_squared=mean_squared * w_max**2,
            variance=variance * w_max**2,
            variance_squared=variance_squared * w_max**4,
        )


@dataclass(frozen=True)
class Energetic:
    """Averages over patterns of f(h) = ln H(h / sqrt(D1)) at h = kappa - sigma mean_shift + sqrt(D0) z.

    Through another channel, f is the logarithm of the average weight of a pattern over what solutions do not share
    [channel-average]: noise adds to D1, and a temperature makes H to eps + (1 - eps) H.

    Attributes
    ----------
    term : float
        G_E, the average of f.
    push : float
        E sigma f', which vanishes at the saddle point; it is -dG_E / d mean_shift.
    f1_squared, f2, f2_squared : float
        Averages of f'^2, f'' and f''^2.
    """

    term: float
    push: float
    f1_squared: float
    f2: float
    f2_squared: float

    @classmethod
    def at(
        cls,
        kernel: SomaticCovariance,
        task: TaskSpec,
        mean_shift: float,
        step: float = FIELD_STEP,
        channel: Channel = HARD_MARGIN,
    ) -> Energetic:
        """For the overlaps of ``kernel``."""
        variance = kernel.D1 + channel.noise**2
        sd = math.sqrt(variance)
        steepness = math.sqrt(kernel.D0) / sd
        up = _pattern_averages(channel, steepness, (task.kappa - mean_shift) / sd, step)
        down = up
        if mean_shift != 0.0:
            down = _pattern_averages(channel, steepness, (task.kappa + mean_shift) / sd, step)
        mixed = task.f_out * up + (1.0 - task.f_out) * down
        log_tail, _, second, curvature, curvature_squared = (float(average) for average in mixed)
        return cls(
            term=log_tail,
            push=-float(task.f_out * up[1] - (1.0 - task.f_out) * down[1]) / sd,
            f1_squared=second / variance,
            f2=-curvature / variance,
            f2_squared=curvature_squared / variance**2,
        )


def _pattern_averages(channel: Channel, steepness: float, shift: float, step: float) -> Floats:
    """Averages over patterns of one label."""
    if channel.temperature > 0.0:
        from dendrocap.theory._kernels import tempered_averages

        return tempered_averages(steepness, shift, 1.0 / channel.temperature, step)[:5]
    from dendrocap.theory._kernels import energetic_averages

    return energetic_averages(steepness, shift, step)


def balanced_shift(
    kernel: SomaticCovariance,
    task: TaskSpec,
    guess: float = 0.0,
    step: float = FIELD_STEP,
    channel: Channel = HARD_MARGIN,
) -> float:
    """The mean shift at which both classes push equally hard, ``E sigma f' = 0``.

    G_E is concave in the shift, so there is one solution; by symmetry it is 0 if half of the labels are 1.
    """
    if task.f_out == 0.5:
        return 0.0
    sd = math.sqrt(kernel.D1 + channel.noise**2)

    def push(shift: float) -> tuple[float, float]:
        energetic = Energetic.at(kernel, task, shift, step, channel)
        return energetic.push * sd, -energetic.f2 * sd

    # The variance of what solutions do not share sets the scale on which the push of a class changes.
    return monotone_root(push, guess, sd).at


def free_entropy(
    neuron: NeuronSpec,
    task: TaskSpec,
    alpha: float,
    order: OrderParameters,
    *,
    nodes: int = NODES,
    channel: Channel = HARD_MARGIN,
) -> float:
    """phi: logarithm of the volume of solutions per weight, at given order parameters [free-entropy]."""
    entropic, energetic, _ = _terms(neuron, task, order, nodes, channel)
    W_bar = neuron.with_usual_prior.tree[0].theta / task.f_in
    return (
        0.5 * order.q * order.q_hat
        - order.Q * order.Q_hat
        - W_bar * order.M_hat
        + entropic.term
        + alpha * energetic.term
    )


def free_entropy_gradient(
    neuron: NeuronSpec,
    task: TaskSpec,
    alpha: float,
    order: OrderParameters,
    *,
    nodes: int = NODES,
    channel: Channel = HARD_MARGIN,
) -> OrderParameters:
    """Derivatives of the free entropy, all zero at the saddle point [sp-1] to [sp-6].

    Each attribute of the result is the derivative with respect to the order parameter of that name.
    """
    entropic, energetic, kernel = _terms(neuron, task, order, nodes, channel)
    W_bar = neuron.with_usual_prior.tree[0].theta / task.f_in
    # G_E obeys dG_E/dD0 = E f''/2 and dG_E/dD1 = E (f'' + f'^2)/2. Then at fixed dq = Q - q the variance D0 + D1
    # enters with E f''/2, and D1 at fixed variance with E f'^2/2.
    along_dq = 0.5 * energetic.f1_squared * kernel.dD1_ddq
    along_Q = 0.5 * (energetic.f2 * kernel.dGamma0_dQ + energetic.f1_squared * kernel.dD1_dQ)
    return OrderParameters(
        Q=-order.Q_hat + alpha * (along_Q + along_dq),
        q=0.5 * order.q_hat - alpha * along_dq,
        mean_shift=-alpha * energetic.push,
        Q_hat=-order.Q + entropic.mean_squared + entropic.variance,
        q_hat=0.5 * (order.q - entropic.mean_squared),
        M_hat=-W_bar + entropic.mean,
    )


def _terms(
    neuron: NeuronSpec, task: TaskSpec, order: OrderParameters, nodes: int, channel: Channel
) -> tuple[Entropic, Energetic, PairKernel]:
    step = FIELD_STEP * NODES / nodes
    kernel = TreeKernel(neuron.with_usual_prior, task, nodes).at(order.Q, order.Q - order.q)
    precision = order.q_hat - 2.0 * order.Q_hat + neuron.prior.strength
    entropic = Entropic.at(precision, order.q_hat, order.M_hat, step, neuron.prior.w_max)
    return entropic, Energetic.at(kernel, task, order.mean_shift, step, channel), kernel
