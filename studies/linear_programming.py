"""Capacity of linear branches with correlated inputs and with inhibition: linear programming against theory.

Usage: python -m studies.linear_programming {compute,table,sizes}

500 synapses on 2 branches, binary inputs; with inhibition also fewer. Strengths are non-negative, and the sum of each
type of synapses on each branch is what the thresholds ask for. Patterns are added until no strengths classify them;
linear programming decides. ``compute`` fills linear_programming.csv, one row per task, some seconds each; ``table`` and
``sizes`` print the tables of docs/theory/inhibition.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from dendrocap import Inhibition, Linear, NeuronSpec, TaskSpec, critical_capacity
from studies.tables import Row, complete, markdown, stored, straight_line

TABLE = Path(__file__).with_suffix(".csv")
N, K, THETA, F_IN = 500, 2, 0.5, 0.5
KEYS = ("branch_correlation", "share", "drive")
# Tasks by number of synapses: several sizes where the theory is for long branches only.
SETTINGS = {
    (2.0, 0.0, 0.0): {N: 24},
    (5.0, 0.0, 0.0): {N: 24},
    (0.0, 0.2, 0.25): {120: 240, 250: 200, N: 24},
    (2.0, 0.2, 0.25): {120: 240, 250: 200, N: 89},
}

Floats = NDArray[np.float64]
Setting = tuple[float, float, float]


def inputs(rng: np.random.Generator, n_patterns: int, n_branches: int, n: int, correlation: float) -> Floats:
    """Bits of each pattern and branch; the probability of a branch is drawn from a Beta distribution for each pattern.

    Two bits of a branch then have exactly this correlation, whatever their number.
    """
    p = np.full((n_patterns, n_branches), F_IN)
    if correlation > 0.0:
        a = (1.0 / correlation - 1.0) * F_IN
        p = rng.beta(a, a * (1.0 - F_IN) / F_IN, size=p.shape)
    return (rng.random((n_patterns, n_branches, n)) < p[..., None]).astype(np.float64)


def feasible(
    centred: Floats, signs: Floats, kinds: Floats, sums: Sequence[float] | Floats, largest: float | None = None
) -> bool:
    """Whether strengths from 0 to the largest with given sums, one for each row of ``kinds``, classify all patterns."""
    outcome = linprog(
        np.zeros(centred.shape[1]),
        A_ub=-signs[:, None] * centred,
        b_ub=np.zeros(len(signs)),
        A_eq=kinds,
        b_eq=sums,
        bounds=(0.0, largest),
        method="highs",
    )
    return bool(outcome.status == 0)


def stored_patterns(
    seed: int, correlation: float, share: float, drive: float, n_inputs: int = N, n_branches: int = K
) -> int:
    """How many random patterns, one after the other, can be classified."""
    rng = np.random.default_rng([seed, round(1000 * correlation), round(1000 * share), round(1000 * drive)])
    n = n_inputs // n_branches
    n_inhibitory = round(share * n)
    expected = theory(correlation, share, drive, n) * n_inputs
    most = round(1.5 * expected)
    bits = inputs(rng, most, n_branches, n, correlation / n) - F_IN
    bits[..., :n_inhibitory] *= -1.0
    signs = rng.choice([-1.0, 1.0], size=most)
    own = np.arange(n_branches)[:, None] == np.repeat(np.arange(n_branches), n)[None, :]
    inhibitory = np.tile(np.arange(n) < n_inhibitory, n_branches)
    kinds = [own & ~inhibitory] + ([own & inhibitory] if n_inhibitory else [])
    sums = [[n * THETA / F_IN] * n_branches] + ([[n * drive / F_IN] * n_branches] if n_inhibitory else [])
    flat, rows, totals = bits.reshape(most, -1), np.concatenate(kinds).astype(np.float64), np.concatenate(sums)
    return largest_number(lambda at: feasible(flat[:at], signs[:at], rows, totals), expected, most)


def largest_number(works: Callable[[int], bool], expected: float, most: int) -> int:
    """The largest number of patterns that can be classified, looked for where it is expected first."""
    low, high = 0, most
    at = round(expected)
    while high - low > 1:
        low, high = (at, high) if works(at) else (low, at)
        # First next to where it is expected, then by halves.
        step = max(round(0.06 * expected), 1)
        at = min(low + step, (low + high + 1) // 2) if high == most else (low + high) // 2
        at = max(at, high - step) if low == 0 else at
    return low


def measured(seed: int, n_inputs: int, branch_correlation: float, share: float, drive: float) -> Row:
    """One task."""
    return {"n_patterns": stored_patterns(seed, branch_correlation, share, drive, n_inputs)}


def theory(correlation: float, share: float, drive: float, branch_size: float = N / K) -> float:
    """Patterns per synapse; exact for linear branches, and with inhibition for long ones."""
    linear, task = NeuronSpec(Linear(), THETA, 0.0), TaskSpec(F_IN, branch_correlation=correlation)
    if share == 0.0:
        return critical_capacity(linear, task, branch_size=branch_size).alpha_c
    # c0 / (1 - c) is what is left of the length of a branch without a margin.
    task = TaskSpec(F_IN, branch_correlation=correlation / (1.0 - correlation / branch_size))
    inhibited = NeuronSpec(Linear(), THETA, 0.0, inhibition=Inhibition(share, drive))
    return critical_capacity(inhibited, task).alpha_c


def at_finite_size(correlation: float, share: float, drive: float, n_inputs: int = N, n_branches: int = K) -> float:
    """The same without the directions that prescribed sums take from the weights, one each; the scale is free."""
    lost = n_branches * (2 if share > 0.0 else 1) - 1
    return theory(correlation, share, drive, n_inputs / n_branches) * (1.0 - lost / n_inputs)


def average(rows: Sequence[Row], setting: Setting, n_inputs: int = N) -> tuple[float, float, int]:
    """Mean load of a setting, its standard error, and the number of tasks."""
    own = [
        row for row in rows if tuple(float(row[key]) for key in KEYS) == setting and int(row["n_inputs"]) == n_inputs
    ]
    loads = [int(row["n_patterns"]) / n_inputs for row in own]
    return float(np.mean(loads)), float(np.std(loads, ddof=1)) / math.sqrt(len(loads)), len(loads)


def extrapolated(rows: Sequence[Row], setting: Setting) -> tuple[float, float]:
    """What a straight line in 1 / N has for infinitely many synapses, with its standard error."""
    sizes = list(SETTINGS[setting])
    loads, errors, _ = zip(*(average(rows, setting, size) for size in sizes), strict=True)
    return straight_line([1.0 / size for size in sizes], loads, errors)


def sizes(rows: Sequence[Row]) -> list[str]:
    """The table of sizes: each with its own theory, and infinitely many synapses with that of long branches."""
    lines = []
    for setting, tasks in SETTINGS.items():
        if len(tasks) == 1:
            continue
        for size in tasks:
            mean, error, count = average(rows, setting, size)
            finite = at_finite_size(*setting, size)
            cells = (f"{size}", f"{count}", f"{mean:.4f} ± {error:.4f}", f"{finite:.4f}")
            lines.append((f"{setting[0]:g}", *cells, f"{(mean - finite) / error:+.1f}"))
        mean, error = extrapolated(rows, setting)
        expected = theory(*setting, math.inf)
        cells = ("infinite", "", f"{mean:.4f} ± {error:.4f}", f"{expected:.4f}")
        lines.append((f"{setting[0]:g}", *cells, f"{(mean - expected) / error:+.1f}"))
    return markdown(
        ("$c_0$", "synapses", "tasks", "linear programming", "theory at this size", "standard errors apart"), lines
    )


def table(rows: Sequence[Row]) -> list[str]:
    """The table of the page."""
    header = (
        "$c_0$",
        "inhibitory share",
        "drive",
        "linear programming",
        "theory",
        "at 500 synapses",
        "standard errors apart",
    )
    lines = []
    for setting in SETTINGS:
        mean, error, _ = average(rows, setting)
        expected = theory(*setting)
        cells = [f"{value:g}" for value in setting] + [f"{mean:.4f} ± {error:.4f}", f"{expected:.4f}"]
        finite = at_finite_size(*setting)
        apart = [f"{(mean - number) / error:+.1f}" for number in (expected, finite)]
        lines.append((*cells, f"{finite:.4f}", ", ".join(apart)))
    return markdown(header, lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table", "sizes"))
    part = parser.parse_args().part
    if part == "compute":
        asked = [
            (seed, size, *setting)
            for setting, tasks in SETTINGS.items()
            for size in tasks
            for seed in range(tasks[size])
        ]
        complete(TABLE, measured, asked)
    else:
        print("\n".join((sizes if part == "sizes" else table)(stored(TABLE))))


if __name__ == "__main__":
    main()
