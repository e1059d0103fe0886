"""Replica symmetry breaking: seconds per capacity from nothing and from a neighbour, against what was aimed at.

Usage: python -m benchmarks.rsb
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import forget
from dendrocap import NeuronSpec, Polsky, ReLU, SaturatingReLU, capacity_curve, critical_capacity

COLD, WARM = {1: 1.0, 2: 4.0, 3: 15.0}, {1: 0.1, 2: 1.0, 3: 4.0}  # seconds aimed at


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    forget()
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def main() -> None:
    critical_capacity(NeuronSpec(ReLU(), 1.0, 0.5), rsb=2)  # load compiled code
    print(f"{'':<28}{'k':>3}{'alpha_c':>13}{'cold':>9}{'aim':>6}{'warm':>9}{'aim':>6}  quadrature")
    for g, theta_d in ((ReLU(), 0.5), (ReLU(), 2.0), (SaturatingReLU(), 1.0), (Polsky(), 0.1), (Polsky(), 1.0)):
        for k in (1, 2, 3):
            cold, near = timed(lambda g=g, theta_d=theta_d, k=k: critical_capacity(NeuronSpec(g, theta_d, 0.5), rsb=k))
            warm, found = timed(
                lambda g=g, theta_d=theta_d, k=k, near=near: critical_capacity(
                    NeuronSpec(g, 1.03 * theta_d, 0.5), rsb=k, start=near
                )
            )
            name = f"{g.name}, theta_d = {theta_d:g}"
            print(
                f"{name:<28}{k:>3}{near.alpha_c:>13.8f}{cold:>7.2f} s{COLD[k]:>4.0f} s{warm:>7.3f} s{WARM[k]:>5.1f} s"
                f"  {found.quadrature_error:.0e}",
                flush=True,
            )
    for g in (ReLU(), SaturatingReLU(), Polsky()):
        theta_d = np.geomspace(0.1, 5.0, 40)
        neuron = NeuronSpec(g, 0.5, 0.5)
        seconds, curve = timed(lambda neuron=neuron, x=theta_d: capacity_curve(neuron, theta_d=x, rsb=[1]))
        missing = int(np.isnan(curve.alpha_c).sum())
        print(f"40 points with one step, {g.name:<20}{seconds:>6.2f} s, aim 4 s; {missing} without an answer")


if __name__ == "__main__":
    main()
