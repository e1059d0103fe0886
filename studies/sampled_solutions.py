"""Solutions drawn at random at fixed branch sums, against the theory of noise and of teachers.

Usage: python -m studies.sampled_solutions {compute,table}

A Markov chain walks through the weights that make no error: it moves weight from one synapse of a branch to another,
and takes no step that makes a pattern wrong, so that in the end all solutions are equally likely. Its first solution
comes from annealing, or is the teacher. ``compute`` fills sampled_solutions.csv, one row per neuron, size and seed, in
up to a minute each; ``table`` prints the tables of docs/theory/noise.md and docs/theory/generalisation.md, and
``sizes`` what the linear neuron becomes for infinitely many synapses.
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
from dendrocap.theory.mixed_kernel import BranchInput
from dendrocap.theory.states.noise import Noise
from studies.tables import Row, complete, markdown, stored, straight_line

TABLE = Path(__file__).with_suffix(".csv")
NEURONS = {"linear": NeuronSpec(Linear(), 0.5, 0.5), "polsky": NeuronSpec(Polsky(), 0.5, 0.5)}
FLIPS, SYNAPTIC = (0.01, 0.05, 0.1), (0.2, 0.5)
LOAD = 0.5
# neuron, branches, synapses per branch, tasks
SIZES = (
    ("linear", 1, 200, 100),  # one prescribed sum only
    ("linear", 10, 20, 34),
    ("linear", 10, 40, 32),
    ("linear", 20, 40, 20),
    ("polsky", 16, 40, 4),
)
TAUGHT = (("linear", 10, 40, 4), ("polsky", 20, 40, 4))
# Sweeps left out at first, and those that count. Weights that begin with the norm of exponential ones take some 1000
# sweeps to widen; a chain that starts at its teacher is in equilibrium at once.
SWEEPS = {"linear": (2000, 2000), "polsky": (160, 800)}
SNAPSHOTS = 40
MEASURED = (*(f"flips_{level:g}" for level in FLIPS), *(f"synaptic_{level:g}" for level in SYNAPTIC), "Q", "error")

Floats = NDArray[np.float64]


@njit(cache=True)
def walk(
    weights: Any, inputs: Any, signs: Any, code: int, numbers: Any, means: Any, step: float, beta: float, moves: int,
    rng: Any,
) -> tuple[int, float]:  # fmt: skip
    """Move weight within branches, at inverse temperature beta of what wrong patterns lack; infinite: no step back.

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
        lack += max(-signs[p] * soma[p], 0.0)
    accepted = 0
    change = np.empty(patterns)
    for _ in range(moves):
        k, i, j = rng.integers(0, branches), rng.integers(0, size), rng.integers(0, size)
        d = step * (2.0 * rng.random() - 1.0)
        if i == j or weights[k, i] + d < 0.0 or weights[k, j] - d < 0.0:
            continue
        rise, fine = 0.0, True
        for p in range(patterns):
            change[p] = 0.0
            if inputs[p, k, i] == inputs[p, k, j]:
                continue
            old = branch_input[p, k]
            new = old + d * (inputs[p, k, i] - inputs[p, k, j]) / math.sqrt(size)
            change[p] = (value(code, numbers, new) - value(code, numbers, old)) / math.sqrt(branches)
            rise += max(-signs[p] * (soma[p] + change[p]), 0.0) - max(-signs[p] * soma[p], 0.0)
            if math.isinf(beta) and lack == 0.0 and rise > 0.0:
                fine = False
                break
        if not fine or (rise > 0.0 and rng.random() >= math.exp(-beta * rise)):
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

    def __init__(self, neuron: NeuronSpec, n_branches: int, branch_size: int, seed: int, *, taught: bool) -> None:
        self.neuron, self.rng = neuron, np.random.default_rng(seed)
        self.shape = (n_branches, branch_size)
        n_patterns = round(LOAD * n_branches * branch_size)
        # The mean input is that of the theory, which has it as a correction to the mean weight.
        state = saddle_point(neuron, alpha=LOAD) if not taught else saddle_point(neuron, alpha=0.0)
        self.m, self.W_bar = state.preactivation.mu, neuron.theta_d / 0.5
        self.inputs = (self.rng.random((n_patterns, *self.shape)) < 0.5).astype(np.float64)
        self.weights = self.rng.exponential(size=self.shape)
        self.weights *= self.W_bar / self.weights.mean(axis=1, keepdims=True)
        self.teacher = self.weights.copy()
        random = np.where(self.rng.random(n_patterns) < 0.5, 1.0, -1.0)
        self.signs = np.sign(self.soma(self.weights, self.inputs)) if taught else random
        self.step = 0.7 * self.W_bar

    @cached_property
    def signed(self) -> NDArray[np.int8]:
        """Inputs times labels, with patterns last."""
        return np.ascontiguousarray(np.moveaxis(self.inputs * self.signs[:, None, None], 0, -1)).astype(np.int8)

    def soma(self, weights: Floats, inputs: Floats) -> Floats:
        """Somatic inputs of patterns; inputs may be shaken products of weights and inputs already."""
        branch = np.einsum("pki,ki->pk", inputs - 0.5, weights) / math.sqrt(self.shape[1]) + self.m
        g = self.neuron.nonlinearity
        return np.asarray((g(branch) - self.neuron.theta_s).sum(axis=1) / math.sqrt(self.shape[0]))

    def sweep(self, sweeps: int, beta: float = math.inf) -> float:
        """So many attempts per synapse; what wrong patterns lack afterwards."""
        moves, g = sweeps * self.weights.size, self.neuron.nonlinearity
        if isinstance(g, Linear) and math.isinf(beta):
            margin = self.signs * self.soma(self.weights, self.inputs) * math.sqrt(self.weights.size)
            slide(self.weights, self.signed, margin, moves, self.rng)
            return 0.0
        means = (self.m, self.neuron.theta_s)
        accepted, lack = walk(
            self.weights, self.inputs, self.signs, *g.kernel(), means, self.step, beta, moves, self.rng
        )
        # About a fifth of the steps should be taken.
        self.step = min(self.step * math.exp(accepted / moves - 0.2), 2.0 * self.W_bar)
        return float(lack)

    def settle(self, rounds: int = 300) -> None:
        """Anneal until no pattern is wrong; solutions of a linear neuron are one convex body, which needs no heat."""
        hottest = 1000.0 if isinstance(self.neuron.nonlinearity, Linear) else 3.0
        for beta in np.geomspace(hottest, 3000.0, rounds):
            if self.sweep(10, beta) == 0.0:
                return
        raise RuntimeError(f"no solution was found in {rounds} rounds")

    def errors(self) -> dict[str, float]:
        """Errors of the present weights under noise, their norm, and errors on patterns of the teacher never seen."""
        found = {}
        for level in FLIPS:
            flipped = np.abs(self.inputs - (self.rng.random(self.inputs.shape) < level))
            found[f"flips_{level:g}"] = self._wrong(self.soma(self.weights, flipped))
        for level in SYNAPTIC:
            found[f"synaptic_{level:g}"] = self._wrong(self._shaken(level))
        found["Q"] = float(np.mean(self.weights**2))
        unseen = (self.rng.random((400, *self.shape)) < 0.5).astype(np.float64)
        answers = self.soma(self.weights, unseen) * self.soma(self.teacher, unseen)
        found["error"] = float(np.mean(answers < 0.0))
        return found

    def _wrong(self, soma: Floats) -> float:
        return float(np.mean(self.signs * soma < 0.0))

    def _shaken(self, level: float) -> Floats:
        """Somatic inputs with shaken synapses; thresholds of branches and soma follow the drift of the means."""
        Q = float(np.mean(self.weights**2))
        clean = BranchInput(self.m, math.sqrt(0.25 * Q))
        noisy, scale = Noise(0.0, level).on_branch(self.neuron, TaskSpec(), clean, Q)
        shaken = np.maximum(self.weights * (1.0 + level * self.rng.standard_normal(self.shape)), 0.0)
        offset = 0.5 * (shaken - scale * self.weights).sum(axis=1) / math.sqrt(self.shape[1]) + noisy.mean
        branch = np.einsum("pki,ki->pk", self.inputs - 0.5, shaken) / math.sqrt(self.shape[1]) + offset
        g = self.neuron.nonlinearity
        mean = moments(g, 0.0, noisy.sd, noisy.mean).mean
        return np.asarray((g(branch) - mean).sum(axis=1) / math.sqrt(self.shape[0]))


def measured(
    name: str, n_branches: int, branch_size: int, seed: int, *, taught: bool, sweeps: tuple[int, int] | None = None
) -> dict[str, float]:
    """Averages over one chain, its first sweeps left out."""
    before, counted = sweeps or SWEEPS[name]
    sampler = Sampler(NEURONS[name], n_branches, branch_size, seed, taught=taught)
    sampler.settle()
    sampler.sweep(before)
    found = []
    for _ in range(SNAPSHOTS):
        sampler.sweep(max(counted // SNAPSHOTS, 1))
        found.append(sampler.errors())
    return {name: float(np.mean([one[name] for one in found])) for name in MEASURED}


def chain(labels: str, neuron: str, K: int, n: int, seed: int) -> Row:
    """One row of the table."""
    found = measured(neuron, K, n, seed, taught=labels == "teacher")
    return {key: f"{value:.5g}" for key, value in found.items()}


def averages(rows: Sequence[Row], name: str) -> tuple[float, float]:
    """Mean over seeds and its standard error."""
    values = [float(row[name]) for row in rows]
    return float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))


def theory(labels: str, name: str, load: float = LOAD) -> dict[str, float]:
    """What infinitely many long branches have."""
    if labels == "teacher":
        found = teacher_student(NEURONS[name], alpha=load)
        return {"error": found.gibbs_error, "Q": found.Q}
    state = saddle_point(NEURONS[name], alpha=load)
    flips = {f"flips_{level:g}": noise_error(state, flips=level) for level in FLIPS}
    return flips | {f"synaptic_{level:g}": noise_error(state, synaptic=level) for level in SYNAPTIC} | {"Q": state.Q}


def table(rows: Sequence[Row], labels: str) -> list[str]:
    """The table of the page: sampled neurons, and theory below each kind."""
    shown = MEASURED[:-1] if labels == "random" else ("error", "Q")
    lines = []
    for name in NEURONS:
        own = [row for row in rows if row["labels"] == labels and row["neuron"] == name]
        for K, n in sorted({(int(row["K"]), int(row["n"])) for row in own}):
            sized = [row for row in own if (row["K"], row["n"]) == (str(K), str(n))]
            cells = (averages(sized, key) for key in shown)
            lines.append((name, f"{K}, {n}", *(f"{value:.4f} ± {error:.4f}" for value, error in cells)))
        expected = theory(labels, name)
        lines.append((name, "theory", *(f"{expected[key]:.4f}" for key in shown)))
    return markdown(("neuron", "K, n", *(key.replace("_", " ") for key in shown)), lines)


def extrapolated(rows: Sequence[Row], key: str) -> tuple[float, float]:
    """The linear neuron with many branches for infinitely many synapses: a straight line in 1 / N, with its error."""
    sized = {(K, n): _sized(rows, "linear", K, n) for name, K, n, _ in SIZES if name == "linear" and K > 1}
    values, errors = zip(*(averages(own, key) for own in sized.values()), strict=True)
    return straight_line([1.0 / (K * n) for K, n in sized], values, errors)


def _sized(rows: Sequence[Row], name: str, n_branches: int, branch_size: int) -> list[Row]:
    place = ("random", name, str(n_branches), str(branch_size))
    return [row for row in rows if tuple(row[key] for key in ("labels", "neuron", "K", "n")) == place]


def sizes(rows: Sequence[Row]) -> list[str]:
    """The linear neuron for infinitely many synapses, beside the theory."""
    expected, lines = theory("random", "linear"), []
    for key in MEASURED[:-1]:
        value, error = extrapolated(rows, key)
        apart = (value - expected[key]) / error
        lines.append((key.replace("_", " "), f"{value:.4f} ± {error:.4f}", f"{expected[key]:.4f}", f"{apart:+.1f}"))
    return markdown(("linear neuron", "infinitely many synapses", "theory", "standard errors apart"), lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table", "sizes"))
    part = parser.parse_args().part
    if part == "compute":
        sizes_of = {"random": SIZES, "teacher": TAUGHT}
        asked = [(labels, *size, seed) for labels, sizes in sizes_of.items() for *size, n in sizes for seed in range(n)]
        complete(TABLE, chain, asked)
    elif part == "sizes":
        print("\n".join(sizes(stored(TABLE))))
    else:
        print("\n".join([*table(stored(TABLE), "random"), "", *table(stored(TABLE), "teacher")]))


if __name__ == "__main__":
    main()
