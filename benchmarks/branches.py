"""Populations, short branches and the front door, against the paper's case in the same process.

Usage: python -m benchmarks.branches
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks import forget
from dendrocap import (
    Branches,
    DendriticNeuron,
    Inhibition,
    NeuronSpec,
    Polsky,
    ReLU,
    SaturatingReLU,
    TaskSpec,
    capacity,
    critical_capacity,
    saddle_point,
)

ALIKE = NeuronSpec(Polsky(), 0.5, 0.5)
INHIBITED = NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(share=0.2, drive=0.25))
CORRELATED = TaskSpec(branch_correlation=2.0)


def halves(output: float) -> NeuronSpec:
    kinds = tuple(Branches(Polsky(), 0.5, 0.5, mean_output=t) for t in (output, 1.0 - output))
    return NeuronSpec(populations=kinds, theta_s=0.5)


BASAL_APICAL = NeuronSpec(
    populations=(Branches(Polsky(), 0.25, 0.5), Branches(SaturatingReLU(), 0.5, 0.5)), theta_s=0.5
)


def fastest(run: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        forget()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.percentile(times, 10))


def line(name: str, seconds: float, against: float | None = None) -> None:
    ratio = "" if against is None else f"{seconds / against:>8.2f} x"
    print(f"{name:<56}{seconds * 1e3:>10.2f} ms{ratio}")


def main() -> None:
    for g in (ReLU(), SaturatingReLU(), Polsky()):
        neuron = NeuronSpec(g, 0.5, 0.5)
        twins = NeuronSpec(populations=(Branches(g, 0.5, 0.5), Branches(g, 0.4, 0.5)), theta_s=0.5)
        runs = (
            lambda neuron=neuron: critical_capacity(neuron),
            lambda neuron=neuron: critical_capacity(neuron, branch_size=37),
            lambda twins=twins: critical_capacity(twins),
        )
        for run in runs:
            run()
        paper, short, two = (fastest(run, 100) for run in runs)
        line(f"replica symmetric, {g.name}: the paper's case", paper)
        line("  branches of 37 synapses", short, paper)
        line("  two populations", two, paper)
    cases = {
        "independent inputs": (ALIKE, TaskSpec()),
        "correlated": (ALIKE, CORRELATED),
        "inhibition": (INHIBITED, None),
    }
    questions = {
        "replica symmetric": lambda *at: critical_capacity(*at),
        "load 0.5": lambda *at: saddle_point(*at, alpha=0.5),
        "one step": lambda *at: critical_capacity(*at, rsb=1),
    }
    for question, ask in questions.items():
        for run in cases.values():
            ask(*run)
        times = {name: fastest(lambda run=run, ask=ask: ask(*run), 20) for name, run in cases.items()}
        for name, seconds in times.items():
            line(f"{question}, {name}", seconds, times["independent inputs"])
    line("one step, 37 synapses per branch", fastest(lambda: critical_capacity(ALIKE, rsb=1, branch_size=37), 10))
    near = critical_capacity(halves(0.2), rsb=1)
    line("one step, two populations, cold", fastest(lambda: critical_capacity(halves(0.1), rsb=1), 10))
    line("  from a neighbour", fastest(lambda: critical_capacity(halves(0.19), rsb=1, start=near), 10))
    line("one step, two populations with different g, cold", fastest(lambda: critical_capacity(BASAL_APICAL, rsb=1), 5))
    line("  37 synapses per branch", fastest(lambda: critical_capacity(BASAL_APICAL, rsb=1, branch_size=37), 5))
    line("two steps, two populations, cold", fastest(lambda: critical_capacity(halves(0.1), rsb=2), 3))
    cell = DendriticNeuron(ALIKE, 999, 27)
    line("capacity, accuracy='fast', N = 999, K = 27", fastest(lambda: capacity(cell, accuracy="fast"), 10))
    for theta_d in (0.05, 0.1, 0.5, 1.0):
        start = time.perf_counter()
        found = capacity(DendriticNeuron(NeuronSpec(Polsky(), theta_d, 0.5), 999, 27))
        statistical = found.error / found.alpha_c - 0.03
        print(
            f"capacity, theta_d = {theta_d:g}: {found.answer}, statistical error {statistical:.1%}, "
            f"{time.perf_counter() - start:.1f} s"
        )


if __name__ == "__main__":
    main()
