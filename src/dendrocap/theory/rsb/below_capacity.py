"""The equations of k-step replica symmetry breaking at any load below capacity.

Solutions form clusters, and clusters of clusters: two of the same innermost cluster have the overlap q_k < Q, two
that separate at level i have q_{i-1}. The unknowns are those of the capacity, which are free of scales, and one more,
the ratio q_hat_k / A_hat. It is infinite at capacity, where the innermost clusters have shrunk to points. Everything
else follows explicitly: the mean weight gives A_hat, the cascade of the weights Q and all overlaps, and the equation
for q_hat_k the load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dendrocap.model import TaskSpec
from dendrocap.theory.labels import label_starts
from dendrocap.theory.rsb.cascade import FieldGrid
from dendrocap.theory.rsb.equations import Soma, Unknowns
from dendrocap.theory.rsb.smooth_cascade import smooth_cascade

__all__ = ["ClusterEquations", "ClusterState"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterState:
    """All order parameters at one point of the unknowns, solved or not.

    Attributes
    ----------
    load : float
        alpha at which the patterns require this q_hat_k.
    stationarity : array
        Residuals of the equations for q_hat_0 ... q_hat_{k-1}, for the norm and for the mean shift, relative to
        their terms.
    by_m : array
        d phi / d m_i relative to its terms; vanishes if the number of clusters is that of typical solutions.
    m : array
        Breaking parameters m_1 ... m_k, in (0, 1).
    q, q_hat : array
        Overlaps q_0 ... q_k and their conjugates.
    Q, dq : float
        Mean squared weight, and Q - q_k without cancellation.
    A_hat, M_hat, mean_shift : float
        q_hat_k - 2 Q_hat, the conjugate of the mean weight, and the mean of the somatic input.
    free_entropy : float
        phi, per weight.
    complexity : float
        -m_k^2 d phi / d m_k: logarithm of the number of innermost clusters per weight, of one step of breaking.
    """

    unknowns: Unknowns
    log_ratio: float
    load: float
    stationarity: Floats
    by_m: Floats
    m: Floats
    q: Floats
    q_hat: Floats
    Q: float
    dq: float
    A_hat: float
    M_hat: float
    mean_shift: float
    free_entropy: float
    complexity: float

    @property
    def internal_entropy(self) -> float:
        """Logarithm of the volume of an innermost cluster per weight: m phi = Sigma + m s [complexity]."""
        return self.free_entropy - self.complexity / float(self.m[-1])


class ClusterEquations:
    """The equations for non-negative weights, a task and k steps of breaking.

    Parameters
    ----------
    W_bar : float
        The mean weight.
    soma : Soma
        The dendrites.
    task : TaskSpec
        Coding level of the labels, and margin.
    k : int
        Steps of breaking, at least 1.
    grid : FieldGrid
        Resolution of the fields.
    """

    def __init__(self, W_bar: float, soma: Soma, task: TaskSpec, k: int, grid: FieldGrid | None = None) -> None:
        self.W_bar, self.soma, self.task, self.k = W_bar, soma, task, k
        self.grid = FieldGrid() if grid is None else grid
        self.with_shift = task.f_out != 0.5
        self.evaluations = 0

    def pack(self, unknowns: Unknowns, log_ratio: float) -> Floats:
        """The vector of unknowns for Newton's method; ln(q_hat_k / A_hat) is the last."""
        return np.append(unknowns.pack(True, self.with_shift), log_ratio)

    def state(self, x: Floats) -> ClusterState:
        """All quantities at one point of the unknowns."""
        self.evaluations += 1
        u, ratio = Unknowns.unpack(x[:-1], self.k, True), math.exp(x[-1])
        m = u.mu / ratio
        start = -u.b * math.sqrt(ratio)

        # Weights, in units of 1 / sqrt(A_hat).
        weights = smooth_cascade(1.0, np.array([start]), np.ones(1), u.delta * ratio, m, self.grid)
        A_hat = (weights.slope / self.W_bar) ** 2
        q, dq = weights.slope2 / A_hat, weights.curvature / A_hat
        Q = float(q[-1]) + dq
        q_hat = np.cumsum(u.delta) * ratio * A_hat

        # Patterns, in units of sqrt(C(Q) - C(q_k)).
        norm = self.soma.norm(Q)
        at = [self.soma.overlap(Q, dq + float(q[-1] - one)) for one in q]
        width2 = at[-1].D1
        delta = -np.diff([norm.Gamma0, *(one.D1 for one in at)]) / width2
        shift = u.shift * math.sqrt(norm.Gamma0)
        unit = math.sqrt(width2)
        starts, labels = label_starts(self.task.f_out, self.task.kappa / unit, shift / unit)
        patterns = smooth_cascade(-1.0, starts, labels, delta, m, self.grid)
        r2, curvature = patterns.slope2 / width2, patterns.curvature / width2
        load = float(q_hat[-1] / (at[-1].C_q * r2[-1]))  # [clusters-q] at level k

        stationarity = [  # [clusters-q]
            math.log(one.C_q * r2[i] / (at[-1].C_q * r2[-1]) / (q_hat[i] / q_hat[-1])) for i, one in enumerate(at[:-1])
        ]
        # [clusters-norm], with q_hat_k taken out of both sides: terms of order 1 / dq^2 have cancelled
        steps = np.diff(m, prepend=0.0)
        last = at[-1]
        last_D1_Q = norm.dGamma0 - last.C_Q - last.C_q
        terms = (
            -load * curvature * norm.dGamma0,
            -load * r2[-1] * last_D1_Q,
            -load * m[-1] * r2[-1] * last.C_Q,
            load * float(sum(steps[i] * r2[i] * one.C_Q for i, one in enumerate(at[:-1]))),
        )
        stationarity.append((sum(terms) - A_hat) / (abs(terms[0]) + abs(terms[1]) + A_hat))
        if self.with_shift:  # [clusters-shift]
            given = labels * patterns.slope_by_start
            stationarity.append(float((given[0] - given[1]) / (abs(given[0]) + abs(given[1]))))

        q_q_hat = q * q_hat
        split, gain = 0.5 * np.diff(q_q_hat), np.diff(weights.f + load * patterns.f)
        M_hat = start * math.sqrt(A_hat)
        free_entropy = (
            0.5 * (Q * A_hat - dq * q_hat[-1] - m[-1] * q_q_hat[-1] + float(steps @ q_q_hat[:-1]))
            - self.W_bar * M_hat + float(weights.f[0]) - 0.5 * math.log(A_hat) + load * float(patterns.f[0])
        )  # fmt: skip
        return ClusterState(
            unknowns=u,
            log_ratio=float(x[-1]),
            load=load,
            stationarity=np.array(stationarity),
            by_m=(gain / m - split) / split,  # [clusters-m]
            m=m,
            q=q,
            q_hat=q_hat,
            Q=Q,
            dq=dq,
            A_hat=A_hat,
            M_hat=M_hat,
            mean_shift=shift,
            free_entropy=float(free_entropy),
            complexity=float(m[-1] * (m[-1] * split[-1] - gain[-1])),  # [complexity]
        )
