"""Typical solutions and students of a linear neuron whose many branches are short and have prescribed sums, in theory.

Usage: python -m studies.short_branches

The theory of the package is for long branches, for which it makes no difference whether the sum of the weights is
prescribed or its mean. On n synapses with a prescribed sum a branch has n - 1 directions left, and its weights lie on a
simplex. For many branches the soma of a linear neuron is normal at any n, so that only
the average over the weights of one branch changes: it is taken exactly here, by a Fourier integral over the sum, for
normal fields z that are drawn at random. Averages without prescribed sums are known and serve as a control. The command
fills short_branches.csv (random labels) and short_branches_students.csv (labels of a teacher) in two minutes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, wofz

from dendrocap import Linear, NeuronSpec, TaskSpec, saddle_point
from dendrocap.numerics import legendre_rule
from dendrocap.theory._laws import FIELD_STEP, taught_energy, typical_error
from dendrocap.theory.dendrite import BranchInput
from dendrocap.theory.noise import NODES, Noise, NoisySoma
from studies.tables import stored, write

NEURON, TASK = NeuronSpec(Linear(), 0.5, 0.5), TaskSpec()
LOAD, SIZES = 0.5, (20, 40)
TABLE, STUDENTS = Path(__file__).with_suffix(".csv"), Path(__file__).with_name("short_branches_students.csv")
Floats = NDArray[np.float64]


class Typical(NamedTuple):
    """Mean square of the weights, and overlap of two solutions, for a mean weight of one."""

    Q: float
    q: float


def conjugates(Q: float, q: float, load: float) -> tuple[float, float]:
    """A_hat and q_hat that the patterns ask for, with labels that are equally likely and without margin."""
    dq = Q - q
    x = np.linspace(-10.0, 10.0, 4001)
    weight = np.exp(-0.5 * x * x) * (x[1] - x[0]) / math.sqrt(2.0 * math.pi)
    a = math.sqrt(q / dq) * x
    R = np.exp(-0.5 * a * a - log_ndtr(-a)) / math.sqrt(2.0 * math.pi)
    bend = float(weight @ (R * (R - a)))
    return load * bend / dq, load * bend * Q / dq**2


def _norm(h: Floats, A: float) -> Floats:
    """The integral of exp(h w - A w^2 / 2) over w > 0, for real fields."""
    return np.asarray(math.sqrt(0.5 * math.pi / A) * erfcx(-h / math.sqrt(2.0 * A)))


def moments(z: Floats, A: float, q_hat: float, M_hat: float) -> tuple[Floats, Floats]:
    """Mean and mean square of each weight in the fields sqrt(q_hat) z + M_hat, without prescribed sums."""
    h = math.sqrt(q_hat) * z + M_hat
    first = (1.0 / _norm(h, A) + h) / A
    return first, (1.0 + h * first) / A


def on_simplex(z: Floats, A: float, q_hat: float, points: int = 81) -> tuple[Floats, Floats]:
    """The same for weights whose mean is one in each row of z.

    The density of the sum is a Fourier integral of the product of all integrals over single weights; it is taken along
    the line through the field M at which the sum has the required mean.
    """
    n = z.shape[1]
    first, second = np.empty_like(z), np.empty_like(z)
    for row, fields in enumerate(math.sqrt(q_hat) * z):
        M = brentq(lambda M: float(moments(fields, A, 1.0, M)[0].mean()) - 1.0, -40.0, 40.0, xtol=1e-10)  # noqa: B023
        mean, square = moments(fields, A, 1.0, M)
        sd = math.sqrt(float((square - mean**2).sum()))
        k = np.linspace(0.0, 14.0 / sd, points)
        h = fields[:, None] + M + 1j * k
        norm = math.sqrt(0.5 * math.pi / A) * wofz(-1j * h / math.sqrt(2.0 * A))
        log_ratio = np.log(norm / norm[:, :1]).sum(axis=0) - 1j * k * n
        weight = np.exp(log_ratio)
        weight[0] *= 0.5  # the other half of the line is the complex conjugate
        one = (1.0 / norm + h) / A
        two = (1.0 + h * one) / A
        total = weight.real.sum()
        first[row], second[row] = (one @ weight).real / total, (two @ weight).real / total
    return first, second


def _controlled(values: Floats, rows: Floats) -> float:
    """The mean of some values, without what they have in common with other columns whose mean is zero."""
    columns = np.column_stack([np.ones(len(values)), rows])
    return float(np.linalg.lstsq(columns, values, rcond=None)[0][0])


@lru_cache
def typical(n: int, load: float, samples: int = 500) -> Typical:
    """Q and q of typical solutions on many branches of n synapses with prescribed sums."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((samples, n))
    nodes, weights = legendre_rule(64)
    grid = np.concatenate([2.5 * (i + nodes) for i in (-3.0, -1.0, 1.0, 3.0)])
    density = np.tile(2.5 * weights, 4) * np.exp(-0.5 * grid**2) / math.sqrt(2.0 * math.pi)
    start = saddle_point(NEURON, alpha=load)
    now = Typical(start.Q, start.q)
    for _ in range(60):
        A, q_hat = conjugates(*now, load)
        M_hat = brentq(lambda M: float(density @ moments(grid, A, q_hat, M)[0]) - 1.0, -60.0, 60.0)  # noqa: B023
        every = moments(grid, A, q_hat, M_hat)
        plain, short = moments(z, A, q_hat, M_hat), on_simplex(z, A, q_hat)
        # Averages of each branch without prescribed sums, of which the expected values are known.
        known = [float(density @ one) for one in (every[0], every[1], every[0] ** 2)]
        rows = np.column_stack([one.mean(axis=1) for one in (plain[0], plain[1], plain[0] ** 2)]) - known
        Q, q = (_controlled(one.mean(axis=1), rows) for one in (short[1], short[0] ** 2))
        if max(abs(Q - now.Q), abs(q - now.q)) < 1e-6:
            break
        now = Typical(Q, q)
    return Typical(Q, q)


class Student(NamedTuple):
    """Errors on patterns of the teacher, the standard error of this, and the overlap, for a mean weight of one."""

    error: float
    uncertain: float
    q: float


def student(n: int, load: float, samples: int = 1500) -> Student:
    """Students of teachers on many branches of n synapses with prescribed sums [nishimori].

    The teacher's weights w are drawn evenly, and a student's are in the fields q_hat w + sqrt(q_hat) z. Mean squares
    and products of w and z, of which the expected values are known, serve as a control.
    """
    rng = np.random.default_rng(0)
    w, z = n * rng.dirichlet(np.ones(n), samples), rng.standard_normal((samples, n))
    Q, q = 2.0 * n / (n + 1.0), 1.2
    known = np.column_stack([one.mean(axis=1) for one in (w * w, w * z, z * z, w**3, w * w * z, w * z * z)])
    known -= [Q, 0.0, 1.0, 6.0 * n * n / ((n + 1.0) * (n + 2.0)), 0.0, 1.0]
    for _ in range(30):
        steepness = math.sqrt(q / (Q - q))
        q_hat = load * float(taught_energy(steepness, steepness, FIELD_STEP)[2]) / (Q - q)
        first, _ = on_simplex(z + math.sqrt(q_hat) * w, q_hat, q_hat)
        overlaps = 0.5 * (first * (first + w)).mean(axis=1)  # with another student, and with the teacher
        before, q = q, _controlled(overlaps, known)
        if abs(q - before) < 1e-5:
            break
    columns = np.column_stack([np.ones(samples), known])
    rest = overlaps - columns @ np.linalg.lstsq(columns, overlaps, rcond=None)[0]
    slope = 1.0 / (math.pi * math.sqrt(Q * Q - q * q))
    return Student(math.acos(q / Q) / math.pi, slope * float(rest.std()) / math.sqrt(samples), q)


def noise_error(state: Typical, flips: float = 0.0, synaptic: float = 0.0) -> float:
    """Errors under noise of typical solutions with this norm and overlap [noise-typical]."""
    V, V_shared = 0.25 * state.Q, 0.25 * state.q
    clean = BranchInput(NEURON.theta_s, math.sqrt(V))
    soma = NoisySoma(NEURON, TASK, Noise(flips, synaptic), state.Q, clean)
    shared, own = soma.fraction * V_shared, soma.fraction * (V - V_shared)
    along, across = shared / math.sqrt(V_shared), own / math.sqrt(V - V_shared)
    sd = math.sqrt(soma.variance - along**2 - across**2)
    steepness = math.sqrt(V_shared / (V - V_shared))
    return float(typical_error(steepness, 0.0, 0.0, along, across, sd, legendre_rule(NODES)))


def table() -> dict[int, dict[str, float]]:
    """What typical solutions on branches of n synapses have, by n."""
    found = {}
    for row in stored(TABLE):
        state = Typical(float(row["Q"]), float(row["q"]))
        errors = {f"flips_{level:g}": noise_error(state, flips=level) for level in (0.01, 0.05, 0.1)}
        errors |= {f"synaptic_{level:g}": noise_error(state, synaptic=level) for level in (0.2, 0.5)}
        found[int(row["n"])] = errors | {"Q": state.Q}
    return found


def _rows(found: dict[int, Typical] | dict[int, Student]) -> list[dict[str, object]]:
    return [{"n": n, **{key: f"{value:.6f}" for key, value in one._asdict().items()}} for n, one in found.items()]


if __name__ == "__main__":
    write(TABLE, _rows({n: typical(n, LOAD) for n in SIZES}))
    write(STUDENTS, _rows({n: student(n, LOAD) for n in SIZES}))
