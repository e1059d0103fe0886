"""Solutions drawn at random at fixed branch sums, against the theory of noise and of teachers.

Usage: python -m studies.sampled_solutions {compute,mixing,table}

A Markov chain walks through the weights that make no error. It moves weight from one synapse of a branch to another, to
a place drawn evenly from all on that line without an error, so that in the end all solutions are equally likely.
``compute`` fills sampled_solutions.csv (random labels) and sampled_students.csv (labels of a teacher), one row per
neuron, size and task, an hour in all; ``mixing`` measures how fast chains forget; ``table`` prints the tables of
docs/theory/noise.md and docs/theory/generalisation.md.

Polsky branches are nearly steps, so that the soma adds up numbers close to 0 and 1, and the threshold lies on one of
the sums for even K and between two for odd K. Before any learning, K = 5 and K = 10 therefore have nearly the same
error, and K = 20 has another. No plane in 1 / n and 1 / K goes through such sizes. So what a neuron of this size does
with weights as in theory (`studies.one_more_pattern`, no chain) is subtracted first, and the plane goes through the
differences, which end at zero if theory holds. This was decided, with the sizes and numbers of tasks of all students,
before they were drawn; students with K = 5 are shown, and stay outside the plane. Of the solutions with random labels
five sizes had been drawn and seen before; then 20 branches of 20 synapses and more tasks of the two largest sizes were
added, and all sizes and tasks are used. That the plane allows for tasks with the same inputs was added at the end.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dendrocap import Linear, NeuronSpec, Polsky, TaskSpec, noise_error, saddle_point, teacher_student
from dendrocap.model._compiled import value
from dendrocap.theory import moments
from dendrocap.theory.dendrite import BranchInput
from dendrocap.theory.noise import Noise
from studies import short_branches
from studies.tables import Row, complete, markdown, stored

TABLES = {labels: Path(__file__).with_name(f"sampled_{name}.csv") for labels, name in
          (("random", "solutions"), ("teacher", "students"))}  # fmt: skip
NEURONS = {"linear": NeuronSpec(Linear(), 0.5, 0.5), "polsky": NeuronSpec(Polsky(), 0.5, 0.5)}
FLIPS, SYNAPTIC = (0.01, 0.05, 0.1), (0.2, 0.5)
NOISES = (*(f"flips_{level:g}" for level in FLIPS), *(f"synaptic_{level:g}" for level in SYNAPTIC), "Q")
# Random labels with Polsky's branches at a load at which a chain forgets its start within a few hundred sweeps.
LOADS = {("random", "linear"): 0.5, ("random", "polsky"): 0.3, ("teacher", "linear"): 0.5, ("teacher", "polsky"): 0.5}
# neuron, branches, synapses per branch, tasks; one branch has one prescribed sum only
SIZES = {
    "random": (
        ("linear", 1, 200, 100), ("linear", 10, 20, 100), ("linear", 5, 40, 100), ("linear", 20, 20, 10),
        ("polsky", 10, 20, 100), ("polsky", 5, 40, 100), ("polsky", 10, 40, 48), ("polsky", 20, 20, 40),
        ("polsky", 20, 40, 24), ("polsky", 10, 80, 20),
    ),
    "teacher": (
        ("linear", 10, 20, 32), ("linear", 5, 40, 32), ("linear", 10, 40, 24),
        ("polsky", 5, 40, 40), ("polsky", 10, 20, 160), ("polsky", 20, 20, 40), ("polsky", 10, 40, 40),
        ("polsky", 20, 40, 20), ("polsky", 10, 80, 8), ("polsky", 40, 20, 8),
    ),
}  # fmt: skip
# Sweeps left out at first, and those that count. Chains of a linear neuron with random labels forget their start more
# slowly the more synapses there are.
SWEEPS = {("linear", 200): (1500, 1000), ("linear", 400): (5000, 1500), ("polsky", None): (600, 600)}
SNAPSHOTS = 30
# Sweeps per synapse between two students that are compared at least, and more of them in a chain; students forget each
# other within 0.75 (10 branches of 40 synapses). Answers are to so many unseen patterns.
APART, LONGER, UNSEEN = 1.5, 3.0, 10_000
MIXING = Path(__file__).with_name("sampled_mixing.csv")
MIXED = (("random", "linear", 10, 20), ("random", "polsky", 10, 20), ("random", "polsky", 10, 40))
MARGINS = {"linear": 0.2, "polsky": 0.15}  # at which a chain starts from the other end

Floats = NDArray[np.float64]


@njit(cache=True)
def walk(
    weights: Any, inputs: Any, signs: Any, code: int, numbers: Any, means: Any, margin: float, step: float, beta: float,
    moves: int, rng: Any,
) -> tuple[int, float]:  # fmt: skip
    """Move weight within branches, at inverse temperature beta of what patterns lack to the margin: a first solution.

    Weights have the shape (K, n), inputs (P, K, n). Branch inputs are centred by f_in = 1/2; ``means`` holds their mean
    and theta_s. Returns the steps taken and the lack at the end.
    """
    m, theta_s = means
    patterns, branches, size = inputs.shape
    branch_input, soma = np.empty((patterns, branches)), np.empty(patterns)
    for p in range(patterns):
        soma[p] = -math.sqrt(branches) * theta_s
        for k in range(branches):
            total = 0.0
            for i in range(size):
                total += weights[k, i] * (inputs[p, k, i] - 0.5)
            branch_input[p, k] = total / math.sqrt(size) + m
            soma[p] += value(code, numbers, branch_input[p, k]) / math.sqrt(branches)
    lack = 0.0
    for p in range(patterns):
        lack += max(margin - signs[p] * soma[p], 0.0)
    accepted = 0
    change = np.empty(patterns)
    for _ in range(moves):
        k, i, j = rng.integers(0, branches), rng.integers(0, size), rng.integers(0, size)
        d = step * (2.0 * rng.random() - 1.0)
        if i == j or weights[k, i] + d < 0.0 or weights[k, j] - d < 0.0:
            continue
        rise = 0.0
        for p in range(patterns):
            change[p] = 0.0
            if inputs[p, k, i] == inputs[p, k, j]:
                continue
            old = branch_input[p, k]
            new = old + d * (inputs[p, k, i] - inputs[p, k, j]) / math.sqrt(size)
            change[p] = (value(code, numbers, new) - value(code, numbers, old)) / math.sqrt(branches)
            rise += max(margin - signs[p] * (soma[p] + change[p]), 0.0) - max(margin - signs[p] * soma[p], 0.0)
        if rise > 0.0 and rng.random() >= math.exp(-beta * rise):
            continue
        accepted += 1
        lack = max(lack + rise, 0.0)
        weights[k, i] += d
        weights[k, j] -= d
        for p in range(patterns):
            if inputs[p, k, i] != inputs[p, k, j]:
                branch_input[p, k] += d * (inputs[p, k, i] - inputs[p, k, j]) / math.sqrt(size)
                soma[p] += change[p]
        if lack < 1e-12:
            lack = 0.0
    return accepted, lack


@njit(cache=True)
def slide_curved(
    weights: Any, inputs: Any, signs: Any, code: int, numbers: Any, means: Any, moves: int, rng: Any
) -> None:
    """Draw solutions of a Polsky neuron: weight moves between two synapses of a branch to anywhere between the walls.

    Given the other branches, the output of one branch may be anything above what a pattern needs, or below. Its curve
    rises, so its input may be anything above or below a wall too, and the allowed places on the line are one interval.
    One of them is drawn evenly, so that no step is refused and all solutions are equally likely in the end. Inputs have
    the shape (K, n, P).
    """
    m, theta_s = means
    x_min, gamma = numbers[0], numbers[1]
    steepest = max(1.0, 0.5 * gamma * (1.0 - x_min))
    branches, size, patterns = inputs.shape
    root = math.sqrt(size)
    branch_input, output = np.empty((branches, patterns)), np.empty((branches, patterns))
    room = np.full(patterns, -branches * theta_s)  # by how much the outputs of all branches are on the right side
    for k in range(branches):
        for p in range(patterns):
            total = 0.0
            for i in range(size):
                total += weights[k, i] * (inputs[k, i, p] - 0.5)
            branch_input[k, p] = total / root + m
            output[k, p] = value(code, numbers, branch_input[k, p])
            room[p] += output[k, p]
    room *= signs
    moved, turn, close = np.empty(patterns + 1, np.int32), np.empty(patterns + 1), np.empty(patterns + 1, np.int32)
    for _ in range(moves):
        k, i, j = rng.integers(0, branches), rng.integers(0, size), rng.integers(0, size)
        if i == j:
            continue
        # how far the input of the branch may fall and rise, in patterns that have synapse i and not j
        low, high = -weights[k, i] / root, weights[k, j] / root
        one, other, own, out = inputs[k, i], inputs[k, j], branch_input[k], output[k]
        n_moved = 0
        for p in range(patterns):  # without a branch in the code, which no processor could guess
            moved[n_moved] = p
            n_moved += one[p] != other[p]
        n_close, reach = 0, steepest * max(-low, high)
        for c in range(n_moved):
            turn[c] = one[moved[c]] - other[moved[c]]
            close[n_close] = c
            n_close += room[moved[c]] < reach
        for c in range(n_close):
            p = moved[close[c]]
            falls = turn[close[c]] * signs[p] > 0.0  # negative steps are the dangerous ones
            left = -low if falls else high
            needed = out[p] - signs[p] * room[p]
            if room[p] >= left * steepest or needed >= 1.0 or needed < 0.0 or (needed == 0.0 and signs[p] > 0.0):
                continue
            wall = needed if needed <= x_min else x_min + 2.0 / gamma * math.atanh((needed - x_min) / (1.0 - x_min))
            free = abs(wall - own[p]) if room[p] > 0.0 else 0.0
            if free < left and falls:
                low = -free
            elif free < left:
                high = free
        d = low + (high - low) * rng.random()
        weights[k, i] = max(weights[k, i] + d * root, 0.0)
        weights[k, j] = max(weights[k, j] - d * root, 0.0)
        for c in range(n_moved):
            p = moved[c]
            own[p] += d * turn[c]
            new = value(code, numbers, own[p])
            room[p] += signs[p] * (new - out[p])
            out[p] = new


@njit(cache=True, fastmath={"nnan", "nsz", "reassoc"})
def slide(weights: Any, signed: Any, margin: Any, moves: int, rng: Any) -> None:
    """Draw solutions of a linear neuron: weight moves between two synapses of a branch to anywhere between the walls.

    Solutions are a convex body, of which each such line is cut by two walls; a place between them is drawn evenly, so
    that no step is refused. Inputs times labels have the shape (K, n, P). ``margin`` is that of each pattern, in units
    in which a synapse of weight one adds one, and is kept up to date.
    """
    branches, size, patterns = signed.shape
    for _ in range(moves):
        k, i, j = rng.integers(0, branches), rng.integers(0, size), rng.integers(0, size)
        if i == j:
            continue
        low, high = -weights[k, i], weights[k, j]
        one, other = signed[k, i], signed[k, j]
        for p in range(patterns):
            low = max(low, -margin[p] if one[p] > other[p] else -np.inf)
            high = min(high, margin[p] if one[p] < other[p] else np.inf)
        if high <= low:
            continue
        d = low + (high - low) * rng.random()
        weights[k, i] += d
        weights[k, j] -= d
        for p in range(patterns):
            margin[p] += d * (one[p] - other[p])


class Sampler:
    """Solutions of one task: random labels, or those of a teacher drawn at random."""

    def __init__(self, neuron: NeuronSpec, load: float, shape: tuple[int, int], seed: int, *, taught: bool) -> None:
        self.neuron, self.rng = neuron, np.random.default_rng(seed)
        self.shape, self.W_bar = shape, neuron.theta_d / 0.5
        n_patterns = round(load * shape[0] * shape[1])
        self.m = mean_input(neuron, 0.0 if taught else load)
        self.inputs = (self.rng.random((n_patterns, *self.shape)) < 0.5).astype(np.float64)
        self.teacher = self.drawn()
        self.weights = self.teacher.copy()
        random = np.where(self.rng.random(n_patterns) < 0.5, 1.0, -1.0)
        self.signs = np.sign(self.soma(self.teacher, self.inputs)) if taught else random

    @cached_property
    def columns(self) -> Any:
        """The inputs in the shape (K, n, P), a byte each."""
        return np.ascontiguousarray(np.moveaxis(self.inputs, 0, -1)).astype(np.int8)

    def drawn(self) -> Floats:
        """Weights drawn evenly from all with the given branch sums."""
        weights = self.rng.exponential(size=self.shape)
        return np.asarray(weights * (self.W_bar / weights.mean(axis=1, keepdims=True)))

    def soma(self, weights: Floats, inputs: Floats) -> Floats:
        """Somatic inputs of patterns."""
        branch = np.einsum("pki,ki->pk", inputs - 0.5, weights) / math.sqrt(self.shape[1]) + self.m
        g = self.neuron.nonlinearity
        return np.asarray((g(branch) - self.neuron.theta_s).sum(axis=1) / math.sqrt(self.shape[0]))

    def sweep(self, sweeps: int) -> None:
        """So many moves per synapse among the solutions."""
        moves, g = sweeps * self.weights.size, self.neuron.nonlinearity
        if isinstance(g, Linear):
            signed = self.columns * self.signs.astype(np.int8)
            margin = self.signs * self.soma(self.weights, self.inputs) * math.sqrt(self.weights.size)
            slide(self.weights, signed, margin, moves, self.rng)
        else:
            means = (self.m, self.neuron.theta_s)
            slide_curved(self.weights, self.columns, self.signs, *g.kernel(), means, moves, self.rng)

    def settle(self, margin: float = 0.0, rounds: int = 100) -> None:
        """Anneal until every pattern has the margin, or half of it and so on if this takes too long.

        Solutions of a linear neuron are one convex body, which needs no heat.
        """
        g, means, step = self.neuron.nonlinearity, (self.m, self.neuron.theta_s), 0.7 * self.W_bar
        moves = 10 * self.weights.size
        for beta in np.geomspace(1000.0 if isinstance(g, Linear) else 30.0, 3000.0, rounds):
            accepted, lack = walk(
                self.weights, self.inputs, self.signs, *g.kernel(), means, margin, step, beta, moves, self.rng
            )
            if lack == 0.0:
                return
            # About a fifth of the steps should be taken.
            step = min(step * math.exp(accepted / moves - 0.2), 2.0 * self.W_bar)
        if rounds > 2000:
            raise RuntimeError(f"no solution was found in {rounds} rounds")
        self.settle(0.5 * margin, 2 * rounds)

    def errors(self) -> dict[str, float]:
        """Errors of the present weights under noise, and their norm."""
        found = {}
        for level in FLIPS:
            flipped = np.abs(self.inputs - (self.rng.random(self.inputs.shape) < level))
            found[f"flips_{level:g}"] = self._wrong(self.soma(self.weights, flipped))
        for level in SYNAPTIC:
            found[f"synaptic_{level:g}"] = self._wrong(self._shaken(level))
        found["Q"] = float(np.mean(self.weights**2))
        return found

    def _wrong(self, soma: Floats) -> float:
        return float(np.mean(self.signs * soma < 0.0))

    def _shaken(self, level: float) -> Floats:
        """Somatic inputs with shaken synapses."""
        weights, offset, mean = shaken(self.neuron, self.m, self.weights, level, self.rng)
        branch = np.einsum("pki,ki->pk", self.inputs - 0.5, weights) / math.sqrt(self.shape[1]) + offset
        return np.asarray((self.neuron.nonlinearity(branch) - mean).sum(axis=1) / math.sqrt(self.shape[0]))


def mean_input(neuron: NeuronSpec, load: float) -> float:
    """The mean input of a branch in theory, which has it as a correction to the mean weight."""
    return float(saddle_point(neuron, alpha=load).preactivation.mu)


def shaken(
    neuron: NeuronSpec, m: float, weights: Floats, level: float, rng: np.random.Generator
) -> tuple[Floats, Floats, float]:
    """Shaken synapses of neurons (..., K, n); thresholds of branches and soma follow the drift of the means.

    Returns weights, offsets of the centred branch inputs (..., K), and the mean output of a branch.
    """
    Q = float(np.mean(weights**2))
    noisy, scale = Noise(0.0, level).on_branch(neuron, TaskSpec(), BranchInput(m, math.sqrt(0.25 * Q)), Q)
    found = np.maximum(weights * (1.0 + level * rng.standard_normal(weights.shape)), 0.0)
    offset = 0.5 * (found - scale * weights).sum(axis=-1) / math.sqrt(weights.shape[-1]) + noisy.mean
    return found, offset, moments(neuron.nonlinearity, 0.0, noisy.sd, noisy.mean).mean


def chain(sampler: Sampler, sweeps: tuple[int, int]) -> dict[str, float]:
    """Averages over one chain from its present weights on, its first sweeps left out."""
    before, counted = sweeps
    sampler.sweep(before)
    found = []
    for _ in range(SNAPSHOTS):
        sampler.sweep(max(counted // SNAPSHOTS, 1))
        found.append(sampler.errors())
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def students(sampler: Sampler, sweeps: tuple[int, int]) -> dict[str, float]:
    """How often two students of a teacher differ on unseen patterns, and their norm, along one chain from the teacher.

    A teacher is one of its students, drawn evenly like all others: the chain is in equilibrium from the beginning, and
    any two of its members that are far enough apart are like a student and its teacher.
    """
    apart, longer = sweeps
    every = max(longer // SNAPSHOTS, 1)
    unseen = (sampler.rng.random((UNSEEN, *sampler.shape), dtype=np.float32) < 0.5).astype(np.float32)
    answers, norms = [sampler.soma(sampler.weights, unseen) > 0.0], []
    for _ in range((apart + longer) // every):
        sampler.sweep(every)
        answers.append(sampler.soma(sampler.weights, unseen) > 0.0)
        norms.append(float(np.mean(sampler.weights**2)))
    apart_enough = np.triu_indices(len(answers), -(-apart // every))
    error = differ(2.0 * np.array(answers, dtype=np.float32) - 1.0)[apart_enough].mean()
    return {"error": float(error), "Q": float(np.mean(norms))}


def differ(answers: Any) -> Any:
    """How often each two neurons differ in their answers, which are 1 and -1 in the shape (neurons, patterns)."""
    return 0.5 - 0.5 * (answers @ answers.T) / answers.shape[1]


def sweeps_of(labels: str, name: str, n_inputs: int) -> tuple[int, int]:
    """Sweeps left out, and sweeps that count."""
    if labels == "teacher":
        return round(APART * n_inputs), round(LONGER * n_inputs)
    return SWEEPS[name, n_inputs if name == "linear" else None]


def measured(
    labels: str, name: str, n_branches: int, branch_size: int, seed: int, sweeps: tuple[int, int] | None = None
) -> dict[str, float]:
    """Averages over the chains of one task, and how far two chains from different ends are apart.

    Random labels are taken twice, once with all of them reversed. What a set of labels has by chance in common with the
    activity of its patterns changes sign then, and most of the difference between tasks is gone. The first chain starts
    at a solution that is just one, the second at one with a margin.
    """
    sampler = Sampler(NEURONS[name], LOADS[labels, name], (n_branches, branch_size), seed, taught=labels == "teacher")
    sweeps = sweeps or sweeps_of(labels, name, n_branches * branch_size)
    if labels == "teacher":
        return students(sampler, sweeps)
    sampler.settle()
    one = chain(sampler, sweeps)
    sampler.signs, sampler.weights = -sampler.signs, sampler.drawn()
    sampler.settle(MARGINS[name])
    other = chain(sampler, sweeps)
    apart = {f"{key} apart": one[key] - other[key] for key in ("flips_0.1", "Q")}
    return {key: 0.5 * (one[key] + other[key]) for key in NOISES} | apart


def compute() -> None:
    """The rows that the tables lack."""
    for labels, path in reversed(TABLES.items()):
        sizes = ((name, K, n, seed) for name, K, n, tasks in SIZES[labels] for seed in range(tasks))
        complete(path, row, sizes, labels=labels)


def row(neuron: str, K: int, n: int, seed: int, labels: str = "random") -> Row:
    """One row of a table."""
    return _rounded(measured(labels, neuron, K, n, seed))


def _rounded(found: dict[str, float]) -> dict[str, str]:
    return {key: f"{value:.5g}" for key, value in found.items()}


def mixing(labels: str, name: str, n_branches: int, branch_size: int) -> dict[str, float]:
    """Autocorrelation times of a long chain, in sweeps: of the norm, and of the error for flips that stay the same."""
    sampler = Sampler(NEURONS[name], LOADS[labels, name], (n_branches, branch_size), 0, taught=labels == "teacher")
    if labels == "random":
        sampler.settle()
    sampler.sweep(sweeps_of(labels, name, n_branches * branch_size)[0])
    flipped = np.abs(sampler.inputs - (sampler.rng.random(sampler.inputs.shape) < 0.1))
    norm, error = [], []
    for _ in range(600):
        sampler.sweep(10)
        norm.append(float(np.mean(sampler.weights**2)))
        error.append(sampler._wrong(sampler.soma(sampler.weights, flipped)))
    return {"norm": 10.0 * correlation_time(norm), "error": 10.0 * correlation_time(error)}


def mixing_row(labels: str, neuron: str, K: int, n: int) -> Row:
    """One row of the table of autocorrelation times."""
    return _rounded(mixing(labels, neuron, K, n))


def correlation_time(values: Sequence[float]) -> float:
    """One plus twice the sum of the autocorrelations, up to five times of it (Sokal's window)."""
    away = np.asarray(values) - np.mean(values)
    spectrum = np.fft.rfft(away, 2 * len(away))
    correlation = np.fft.irfft(spectrum * spectrum.conj())[: len(away)]
    correlation /= correlation[0]
    time = 1.0
    for lag in range(1, len(away)):
        time += 2.0 * correlation[lag]
        if lag > 5.0 * time:
            break
    return float(time)


def averages(rows: Sequence[Row], name: str) -> tuple[float, float]:
    """Mean over tasks and its standard error."""
    values = [float(row[name]) for row in rows]
    return float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))


def theory(labels: str, name: str) -> dict[str, float]:
    """What infinitely many long branches have."""
    load = LOADS[labels, name]
    if labels == "teacher":
        found = teacher_student(NEURONS[name], alpha=load)
        return {"error": found.gibbs_error, "Q": found.Q}
    state = saddle_point(NEURONS[name], alpha=load)
    flips = {f"flips_{level:g}": noise_error(state, flips=level) for level in FLIPS}
    return flips | {f"synaptic_{level:g}": noise_error(state, synaptic=level) for level in SYNAPTIC} | {"Q": state.Q}


def by_size(rows: Sequence[Row], name: str) -> dict[tuple[int, int], list[Row]]:
    """The tasks of a neuron by branches and synapses per branch."""
    found: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        if row["neuron"] == name:
            found.setdefault((int(row["K"]), int(row["n"])), []).append(row)
    return dict(sorted(found.items()))


def table(rows: Sequence[Row], labels: str, name: str) -> list[str]:
    """The table of a page: sampled neurons by size, and theory."""
    shown = NOISES if labels == "random" else ("error", "Q")
    lines = []
    for (K, n), own in by_size(rows, name).items():
        cells = (averages(own, key) for key in shown)
        lines.append((f"{K}, {n}", str(len(own)), *(f"{value:.4f} ± {error:.4f}" for value, error in cells)))
    expected = theory(labels, name)
    lines.append(("theory", "", *(f"{expected[key]:.4f}" for key in shown)))
    return markdown(("K, n", "tasks", *(key.replace("_", " ") for key in shown)), lines)


def short(rows: Sequence[Row]) -> list[str]:
    """The linear neuron beside the theory of short branches."""
    lines = []
    keys = ("flips_0.1", *NOISES[3:])
    for n, expected in short_branches.table().items():
        for (K, size), own in by_size(rows, "linear").items():
            if size == n:
                cells = (averages(own, key) for key in keys)
                lines.append((f"{K}, {n}", *(f"{value:.4f} ± {error:.4f}" for value, error in cells)))
        lines.append((f"many, {n}: theory", *(f"{expected[key]:.4f}" for key in keys)))
    return markdown(("K, n", *(key.replace("_", " ") for key in keys)), lines)


def short_students(rows: Sequence[Row]) -> list[str]:
    """Linear students beside the theory of short branches."""
    lines = []
    for one in stored(short_branches.STUDENTS):
        for (K, n), own in by_size(rows, "linear").items():
            if n == int(one["n"]):
                lines.append((f"{K}, {n}", "{:.4f} ± {:.4f}".format(*averages(own, "error"))))
        lines.append((f"many, {one['n']}: theory", f"{float(one['error']):.4f} ± {float(one['uncertain']):.4f}"))
    return markdown(("K, n", "error"), lines)


def ends(rows: Sequence[Row]) -> list[str]:
    """How far chains from different ends are apart, over all tasks of a size."""
    lines = []
    for name in NEURONS:
        for (K, n), own in by_size(rows, name).items():
            cells = (averages(own, f"{key} apart") for key in ("flips_0.1", "Q"))
            lines.append((name, f"{K}, {n}", *(f"{value:+.4f} ± {error:.4f}" for value, error in cells)))
    return markdown(("neuron", "K, n", "flips 0.1", "Q"), lines)


def chains(rows: Sequence[Row]) -> list[str]:
    """Autocorrelation times and independent samples per chain."""
    lines = []
    for row in rows:
        counted = sweeps_of(row["labels"], row["neuron"], int(row["K"]) * int(row["n"]))[1]
        times = [float(row[key]) for key in ("norm", "error")]
        cells = (f"{time:.0f}" for time in times)
        independent = (f"{counted / time:.0f}" for time in times)
        lines.append((row["labels"], row["neuron"], f"{row['K']}, {row['n']}", *cells, *independent))
    return markdown(("labels", "neuron", "K, n", "sweeps, Q", "sweeps, error", "samples per chain, Q", "error"), lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "mixing", "table"))
    part = parser.parse_args().part
    if part == "compute":
        compute()
    elif part == "mixing":
        complete(MIXING, mixing_row, MIXED)
    else:
        found = {labels: stored(path) for labels, path in TABLES.items()}
        tables = [table(found[labels], labels, name) for labels in found for name in NEURONS]
        tables += [short(found["random"]), short_students(found["teacher"])]
        tables += [ends(found["random"]), chains(stored(MIXING))]
        print("\n\n".join("\n".join(one) for one in tables))


if __name__ == "__main__":
    main()
