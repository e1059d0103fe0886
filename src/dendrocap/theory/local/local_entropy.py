"""Local entropy: how many solutions lie at a distance from a typical one, replica symmetric.

The reference is a typical solution of the task, or of the same task with a larger margin. The potential of Franz and
Parisi is the logarithm of the volume of solutions at a given distance from it, averaged over references and patterns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.model.neuron import NeuronSpec, TaskSpec, check_spec
from dendrocap.theory.estimates import SYMMETRIC
from dendrocap.theory.local.curve import CLOSEST, LocalCurve
from dendrocap.theory.saddle_point import SaddlePoint
from dendrocap.validation import real_number

__all__ = ["LocalEntropy", "local_entropy"]

Floats = NDArray[np.float64]

DEFAULT_POINTS, DEFAULT_CLOSEST = 24, 0.02  # of the curve if no distance is given, in units of the typical distance


@dataclass(frozen=True)
class LocalEntropy(Displayed):
    """Solutions around a typical one, by their distance from it.

    Attributes
    ----------
    distance : array
        Squared distance from the reference, ``|W - W_ref|^2 / |W_ref|^2``, in the order asked for.
    entropy : array
        Logarithm of the volume of solutions at this distance, per synapse.
    ball_entropy : array
        The same of all weights with the prescribed means, whether they solve the task or not.
    log_fraction : array
        ``entropy - ball_entropy``: logarithm of the share of solutions among those weights, per synapse. It does not
        depend on the unit of weights, so that neurons can be compared by it.
    coupling : array
        gamma = 2 d entropy / d (squared distance per synapse), the field that holds solutions at this distance.
    stability : array
        The replicon of the solutions counted: negative where replica symmetry is broken.
    physical : array of bool
        Whether replica symmetry is stable, for the reference and the solutions counted. Where it is not, numbers are
        rough, and may even exceed ``typical_entropy``, which is impossible.
    Q, q, S, t : array
        Mean squared weight, overlap of two solutions at this distance, with the reference, and with other solutions of
        the reference's kind.
    typical_distance, typical_entropy : float
        Where the entropy is largest, and its value there: the free entropy of all solutions.
    residual : float
        Largest relative mismatch of the equations.
    alpha : float
        Patterns per synapse.
    reference : SaddlePoint
        Of whose typical solutions one is the reference.
    neuron, task
        The inputs; solutions that are counted have the margin ``task.kappa``.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, local_entropy
    >>> found = local_entropy(NeuronSpec(Polsky(), 0.5, 0.5), alpha=0.5, distance=[0.1, 0.2])
    >>> found.log_fraction.round(4).tolist(), found.estimate
    ([-0.1872, -0.2617], 'replica symmetric')
    """

    _displayed = ("alpha", "typical_distance", "typical_entropy", "estimate", "residual")

    distance: Floats
    entropy: Floats
    ball_entropy: Floats
    coupling: Floats
    stability: Floats
    Q: Floats
    q: Floats
    S: Floats
    t: Floats
    typical_distance: float
    typical_entropy: float
    residual: float
    alpha: float
    reference: SaddlePoint
    neuron: NeuronSpec
    task: TaskSpec

    @property
    def log_fraction(self) -> Floats:
        """Logarithm of the share of solutions among all weights at the same distance, per synapse."""
        return self.entropy - self.ball_entropy

    @property
    def physical(self) -> NDArray[np.bool_]:
        """Where replica symmetry is stable."""
        return (self.stability > 0.0) & (self.reference.stability > 0.0)

    @property
    def estimate(self) -> str:
        """What this estimate is called, and where it is not stable."""
        unstable = int(np.count_nonzero(~self.physical))
        return f"{SYMMETRIC}, unstable at {unstable} of {self.physical.size} distances" if unstable else SYMMETRIC


def local_entropy(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    alpha: float,
    distance: ArrayLike | None = None,
    reference_kappa: float | None = None,
) -> LocalEntropy:
    """Entropy of the solutions at a distance from a typical solution: the Franz-Parisi potential.

    Parameters
    ----------
    neuron : NeuronSpec
        With one level of equal branches and a g that never falls.
    task : TaskSpec, optional
        Coding levels and margin; 1/2, 1/2 and 0 if not given.
    alpha : float
        Patterns per synapse, from 0 up to the capacity.
    distance : float or sequence of float, optional
        Squared distances relative to the squared norm of the reference, from 1e-5 up to the typical distance. Two dozen
        of them, evenly spaced in the logarithm, if not given.
    reference_kappa : float, optional
        Margin of the reference, a typical solution of the task with this margin; ``task.kappa`` if not given.

    Raises
    ------
    NoSolution
        If ``alpha`` is not below the capacity of the task or of the reference's, or a distance is larger than the
        typical one.
    ConvergenceError
        Where the equations have no solution that could be found; where replica symmetry is unstable there may be none.

    Notes
    -----
    Solves [fp-weights] and [fp-patterns], stationary points of [fp-potential]. Replica symmetric: above the load of
    `stability_limit` it is an approximation, and ``stability`` shows at which distances.

    Examples
    --------
    >>> from dendrocap import Linear
    >>> linear = NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5)
    >>> found = local_entropy(linear, alpha=0.5, distance=[0.1, 0.2])
    >>> found.log_fraction.round(4).tolist()
    [-0.2361, -0.3452]
    >>> wide = local_entropy(linear, alpha=0.5, distance=[0.1, 0.2], reference_kappa=0.3)  # a solution with a margin
    >>> bool((wide.log_fraction > found.log_fraction).all())
    True
    """
    check_spec(neuron)
    task = TaskSpec() if task is None else task
    return on_curve(LocalCurve(neuron, task, alpha, reference_kappa), distance)


def on_curve(curve: LocalCurve, distance: ArrayLike | None = None) -> LocalEntropy:
    """The local entropy at some distances on a curve that is known."""
    if distance is None:
        asked = curve.typical_distance * np.geomspace(DEFAULT_CLOSEST, 1.0, DEFAULT_POINTS)
    else:
        asked = np.array(
            [real_number("distance", one, CLOSEST) for one in np.atleast_1d(np.asarray(distance)).tolist()]
        )
    found = np.empty((asked.size, 9))
    for i in np.argsort(-asked, kind="stable"):  # inwards, each from the one before
        found[i] = curve.at(float(asked[i]))
    entropy, ball_entropy, coupling, stability, Q, q, S, t, residual = found.T
    return LocalEntropy(
        distance=asked,
        entropy=entropy,
        ball_entropy=ball_entropy,
        coupling=coupling,
        stability=stability,
        Q=Q,
        q=q,
        S=S,
        t=t,
        typical_distance=curve.typical_distance,
        typical_entropy=curve.typical.free_entropy,
        residual=float(np.max(residual)),
        alpha=curve.alpha,
        reference=curve.reference,
        neuron=curve.neuron,
        task=curve.task,
    )
