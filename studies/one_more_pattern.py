"""One pattern before a neuron of K branches of n synapses that has weights as in theory: what small size does.

Usage: python -m studies.one_more_pattern {compute,table}

The theory of the package is for many long branches, whose somatic inputs are normal. Of few branches they are not: the
outputs of Polsky's are mostly close to 0 or 1, and so is what a rare flip changes. All of this is seen by one pattern.
In replica symmetry the solutions of all other patterns have independent weights, each in a field of its own. A pattern
that has been learned leaves those of them that answer it as they should; one that has not is answered by any of
them. Here fields, weights, binary patterns and noise are drawn, and nothing is taken to be normal. The distribution of
the fields remains that of the infinitely large neuron; the weights of a branch are scaled to their prescribed sum.
Branches so long that their inputs are normal (n = 0 in the table) show that many of them are the theory, under flips.

``compute`` fills one_more_pattern.csv in eight minutes. ``table`` prints what solutions drawn by Markov chains
(`studies.sampled_solutions`) have beyond that: a plane in 1 / n and 1 / K through the differences, which ends at zero
if the theory of infinitely many long branches is right.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from dendrocap import NeuronSpec, saddle_point, teacher_student
from studies import sampled_solutions as sampled
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
NEURON = "polsky"
KEYS = {"random": sampled.NOISES, "teacher": ("error",)}
FEWEST = {"random": 5, "teacher": 10}  # branches of a neuron that the plane goes through
# sets of fields, neurons in each, patterns before each of them
DRAWS = {"random": (1500, 300, 50), "teacher": (1500, 8, 1000), "long": (500, 300, 50)}
LONG = (20, 40, 80, 160)  # branches, if they are long

Floats = NDArray[np.float64]


def in_fields(h: Floats, A: float, replicas: int, W_bar: float, rng: np.random.Generator) -> Floats:
    """So many weights in each field, of the density exp(h w - A w^2 / 2) over w > 0, with prescribed branch sums."""
    at = h / math.sqrt(A)
    weights = at - ndtri(rng.random((replicas, *h.shape)) * ndtr(at))
    return np.asarray(weights * (W_bar / weights.mean(axis=-1, keepdims=True)))


def somas(neuron: NeuronSpec, weights: Floats, inputs: Floats, offset: Any, mean: float) -> Floats:
    """Somatic inputs of neurons (S, K, n) to patterns (P, K, n), in the shape (S, P)."""
    branch = np.matmul(np.moveaxis(weights, 1, 0), np.moveaxis(inputs - 0.5, 0, 2)) / math.sqrt(weights.shape[-1])
    branch += offset
    return np.asarray((neuron.nonlinearity(branch) - mean).sum(axis=0) / math.sqrt(weights.shape[1]))


def binary(rng: np.random.Generator, *shape: int) -> Floats:
    """Inputs of which half are active."""
    return (rng.random(shape) < 0.5).astype(np.float64)


def differing(K: int, n: int, rng: np.random.Generator) -> Iterator[tuple[float, ...]]:
    """How often two students of a teacher differ on unseen patterns, for one set of fields and the next."""
    neuron = sampled.NEURONS[NEURON]
    state, m = teacher_student(neuron, alpha=sampled.LOADS["teacher", NEURON]), sampled.mean_input(neuron, 0.0)
    W_bar = neuron.theta_d / 0.5
    _, replicas, patterns = DRAWS["teacher"]
    while True:
        z = rng.standard_normal((K, n))
        h = state.q_hat * rng.exponential(W_bar, (K, n)) + math.sqrt(state.q_hat) * z + state.M_hat
        weights = in_fields(h, state.A_hat, replicas, W_bar, rng)
        signs = np.sign(somas(neuron, weights, binary(rng, patterns, K, n), m, neuron.theta_s))
        yield (float(sampled.differ(signs)[np.triu_indices(replicas, 1)].mean()),)


def failing(K: int, n: int, rng: np.random.Generator) -> Iterator[tuple[float, ...]]:
    """How often noise makes a learned pattern fail, by kind, and the norm, for one set of fields and the next."""
    neuron = sampled.NEURONS[NEURON]
    load = sampled.LOADS["random", NEURON]
    state, m, W_bar = saddle_point(neuron, alpha=load), sampled.mean_input(neuron, load), neuron.theta_d / 0.5
    _, replicas, patterns = DRAWS["random"]
    while True:
        h = math.sqrt(state.q_hat) * rng.standard_normal((K, n)) + state.M_hat
        weights, inputs = in_fields(h, state.A_hat, replicas, W_bar, rng), binary(rng, patterns, K, n)
        clean = somas(neuron, weights, inputs, m, neuron.theta_s)
        noisy = []
        for level in sampled.FLIPS:
            flipped = np.abs(inputs - (rng.random(inputs.shape) < level))
            noisy.append(somas(neuron, weights, flipped, m, neuron.theta_s))
        for level in sampled.SYNAPTIC:
            shaken, offset, mean = sampled.shaken(neuron, m, weights, level, rng)
            noisy.append(somas(neuron, shaken, inputs, offset.T[:, :, None], mean))
        errors = (0.5 * (wrong(clean, one) + wrong(-clean, -one)) for one in noisy)
        yield (*errors, float(np.mean(weights**2)))


def failing_on_long_branches(K: int, rng: np.random.Generator) -> Iterator[tuple[float, ...]]:
    """How often flips make a learned pattern fail if branch inputs are normal, for some patterns and the next.

    Of the clean and of the flipped input, one part is shared by all neurons and the other is their own.
    """
    neuron = sampled.NEURONS[NEURON]
    load = sampled.LOADS["random", NEURON]
    state, m = saddle_point(neuron, alpha=load), sampled.mean_input(neuron, load)
    _, replicas, patterns = DRAWS["long"]

    def soma(shared: Floats, own: Floats) -> Floats:
        inputs = m + math.sqrt(0.25 * state.q) * shared + math.sqrt(0.25 * (state.Q - state.q)) * own
        return np.asarray((neuron.nonlinearity(inputs) - neuron.theta_s).sum(axis=0))

    def flipped(part: Floats, level: float) -> Floats:
        kept = 1.0 - 2.0 * level
        return np.asarray(kept * part + math.sqrt(1.0 - kept**2) * rng.standard_normal(part.shape))

    while True:
        parts = rng.standard_normal((K, 1, patterns)), rng.standard_normal((K, replicas, patterns))
        clean, noisy = soma(*parts), [soma(*(flipped(part, level) for part in parts)) for level in sampled.FLIPS]
        yield tuple(0.5 * (wrong(clean, one) + wrong(-clean, -one)) for one in noisy)


def wrong(clean: Floats, noisy: Floats) -> float:
    """Mean over patterns of the fraction of negative noisy inputs among the neurons whose clean input is positive.

    If a pattern has no such neuron, that with the largest input is taken to be just at the threshold.
    """
    lack = np.minimum(clean.max(axis=0), 0.0)
    right = clean >= lack
    return float(np.mean((right & (noisy < lack)).sum(axis=0) / right.sum(axis=0)))


class Estimate(NamedTuple):
    """A number and its standard error."""

    value: float
    error: float


def expected(labels: str, K: int, n: int, sets: int | None = None) -> dict[str, Estimate]:
    """What one pattern says of a neuron of this size, with standard errors over sets of fields."""
    rng = np.random.default_rng([K, n])
    if n == 0:
        draw, keys, usual = failing_on_long_branches(K, rng), sampled.NOISES[: len(sampled.FLIPS)], DRAWS["long"][0]
    else:
        draw, keys, usual = (failing if labels == "random" else differing)(K, n, rng), KEYS[labels], DRAWS[labels][0]
    found = np.array([next(draw) for _ in range(sets or usual)])
    error = found.std(axis=0, ddof=1) / math.sqrt(len(found))
    return {key: Estimate(*one) for key, *one in zip(keys, found.mean(axis=0), error, strict=True)}


def row(labels: str, K: int, n: int) -> Row:
    """The rows of one size, a row for each kind of error."""
    found = expected(labels, K, n)
    values, errors = ([f"{one[i]:.6f}" for one in found.values()] for i in (0, 1))
    return {"key": list(found), "value": values, "error": errors}


def sizes() -> list[tuple[str, int, int]]:
    """All sizes at which solutions are drawn by chains, and numbers of long branches."""
    drawn = [(labels, K, n) for labels in KEYS for name, K, n, _ in sampled.SIZES[labels] if name == NEURON]
    return [*drawn, *(("random", K, 0) for K in LONG)]


def table_of(labels: str, key: str) -> dict[tuple[int, int], Estimate]:
    """The stored numbers of all sizes."""
    found = {(int(row["K"]), int(row["n"])): Estimate(float(row["value"]), float(row["error"]))
             for row in stored(TABLE) if (row["labels"], row["key"]) == (labels, key)}  # fmt: skip
    return dict(sorted(found.items()))


def beyond(labels: str, key: str) -> dict[tuple[int, int], Estimate]:
    """By size, what drawn solutions have more than one pattern says."""
    one, found = table_of(labels, key), {}
    for size, rows in sampled.by_size(stored(sampled.TABLES[labels]), NEURON).items():
        value, error = sampled.averages(rows, key)
        found[size] = Estimate(value - one[size].value, math.hypot(error, one[size].error))
    return found


Sizes = tuple[tuple[int, int], tuple[int, int]]


def in_common(labels: str, key: str) -> dict[Sizes, float]:
    """Covariance of the averages of two sizes with as many synapses: tasks of one seed have the same inputs."""
    drawn, found = sampled.by_size(stored(sampled.TABLES[labels]), NEURON), {}
    for (one, rows), (other, more) in combinations(drawn.items(), 2):
        if math.prod(one) == math.prod(other):
            first, second = ({row["seed"]: float(row[key]) for row in own} for own in (rows, more))
            pairs = [(first[seed], second[seed]) for seed in first if seed in second]
            found[one, other] = float(np.cov(np.transpose(pairs))[0, 1]) * len(pairs) / (len(rows) * len(more))
    return found


class Plane(NamedTuple):
    """A plane in 1 / n and 1 / K: infinitely many long branches, chi^2, and how many numbers are free for it."""

    limit: Estimate
    chi2: float
    free: int


def plane(found: dict[tuple[int, int], Estimate], fewest: int, common: dict[Sizes, float]) -> Plane:
    """The plane through all sizes of enough branches, by generalised least squares."""
    used = {size: one for size, one in found.items() if size[0] >= fewest}
    covariance = np.diag([one.error**2 for one in used.values()])
    for (i, one), (j, other) in permutations(enumerate(used), 2):
        covariance[i, j] = common.get((one, other), common.get((other, one), 0.0))
    inverse, values = np.linalg.inv(covariance), np.array([one.value for one in used.values()])
    columns = np.array([(1.0, 1.0 / n, 1.0 / K) for K, n in used])
    of_fit = np.linalg.inv(columns.T @ inverse @ columns)
    fitted = of_fit @ columns.T @ inverse @ values
    rest = values - columns @ fitted
    return Plane(Estimate(float(fitted[0]), math.sqrt(of_fit[0, 0])), float(rest @ inverse @ rest), len(used) - 3)


def limit(labels: str, key: str) -> Plane:
    """What infinitely many long branches have more than in theory."""
    return plane(beyond(labels, key), FEWEST[labels], in_common(labels, key))


def table(labels: str) -> list[str]:
    """The table of a page: what one pattern says, what drawn solutions have beyond it, and the plane through that."""
    keys = KEYS[labels]
    one, more = ({key: of(labels, key) for key in keys} for of in (table_of, beyond))
    planes = [limit(labels, key) for key in keys]
    limits = [sampled.theory(labels, NEURON)[key] for key in keys]
    sizes = list(more[keys[0]])
    lines = [("one pattern", f"{K}, {n}", *(f"{one[key][K, n].value:.4f}" for key in keys)) for K, n in sizes]
    lines.append(("", "∞, ∞", *(f"{value:.4f}" for value in limits)))
    for K, n in sizes:
        lines.append(("sampled, less one pattern", f"{K}, {n}", *(_signed(more[key][K, n]) for key in keys)))
    lines.append(("", "plane: ∞, ∞", *(_signed(found.limit) for found in planes)))
    lines.append((f"χ² of the plane, {planes[0].free} free", "", *(f"{found.chi2:.1f}" for found in planes)))
    return markdown(("", "K, n", *(key.replace("_", " ") for key in keys)), _once(lines))


def long_branches() -> list[str]:
    """The table of a page: one pattern before neurons with long branches."""
    keys = sampled.NOISES[: len(sampled.FLIPS)]
    found, limits = [table_of("random", key) for key in keys], sampled.theory("random", NEURON)
    lines = [(str(K), *(f"{one[K, 0].value:.4f} ± {one[K, 0].error:.4f}" for one in found)) for K in LONG]
    lines.append(("theory", *(f"{limits[key]:.4f}" for key in keys)))
    return markdown(("K", *(key.replace("_", " ") for key in keys)), lines)


def _signed(found: Estimate) -> str:
    return f"{found.value:+.4f} ± {found.error:.4f}"


def _once(lines: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Lines whose first cell is empty if it repeats that of the line before."""
    before = ""
    for line in lines:
        yield ("" if line[0] == before else line[0], *line[1:])
        before = line[0]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table"))
    if parser.parse_args().part == "compute":
        complete(TABLE, row, sizes())
    else:
        print("\n\n".join("\n".join(lines) for lines in (*(table(labels) for labels in KEYS), long_branches())))


if __name__ == "__main__":
    main()
