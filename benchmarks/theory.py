"""Theory: dendrocap against a plain SciPy script, in one process, interleaved. Prints a table of ratios.

Usage: python -m benchmarks.theory
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.plain_capacity import plain_capacity, polsky, polsky_slope
from benchmarks.plain_saddle_point import plain_saddle_point
from dendrocap import (
    Bounded,
    Linear,
    NeuronSpec,
    Nonlinearity,
    Polsky,
    Probit,
    ReLU,
    Ridge,
    SaturatingReLU,
    TaskSpec,
    Temperature,
    capacity_curve,
    critical_capacity,
    learned_state,
    least_noise_error,
    maximal_margin,
    noise_error,
    saddle_point,
    teacher_student,
)

PLAIN = {
    ReLU(): (lambda u: max(u, 0.0), lambda u: float(u > 0), (0.0,)),
    SaturatingReLU(): (lambda u: min(max(u, 0.0), 1.0), lambda u: float(0 < u < 1), (0.0, 1.0)),
    Polsky(): (polsky, polsky_slope, (0.0, 0.33)),
}


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, ours: Callable[[], object], plain: Callable[[], object], rounds: int = 3) -> None:
    """One line of the table: both sides take turns, ours many times in each of its turns."""
    ours()  # load compiled code
    mine, theirs = [], []
    for _ in range(rounds):
        mine += [timed(ours) for _ in range(50)]
        theirs.append(timed(plain))
    fast, slow = float(np.percentile(mine, 10)), min(theirs)
    print(f"{name:<36}{fast * 1e3:>10.3f} ms{slow * 1e3:>10.0f} ms{slow / fast:>9.0f} x")


def capacity(g: Nonlinearity) -> None:
    neuron = NeuronSpec(g, 0.5, 0.5)
    plain = plain_capacity(*PLAIN[g], 0.5, 0.5)
    ours = critical_capacity(neuron)
    print(f"  alpha_c {ours.alpha_c:.10f}, plain {plain[0]:.10f}; p0 {ours.silent_fraction:.8f}, plain {plain[1]:.8f}")
    compare(
        f"critical_capacity, {g.name}",
        lambda: critical_capacity(neuron),
        lambda: plain_capacity(*PLAIN[g], 0.5, 0.5),
    )


def finite_load(g: Nonlinearity, alpha: float) -> None:
    neuron, task = NeuronSpec(g, 0.5, 0.5), TaskSpec()
    ours = saddle_point(neuron, task, alpha=alpha)
    Q, q, phi = plain_saddle_point(*PLAIN[g], 0.5, 0.5, alpha)
    print(f"  Q {ours.Q:.10f}, plain {Q:.10f}; q {ours.q:.10f}, plain {q:.10f}; phi {ours.free_entropy:.9f}, {phi:.9f}")
    compare(
        f"saddle_point, {g.name}, alpha = {alpha:g}",
        lambda: saddle_point(neuron, task, alpha=alpha),
        lambda: plain_saddle_point(*PLAIN[g], 0.5, 0.5, alpha),
        rounds=1,
    )


def states() -> None:
    """Calls that no plain script is at hand for: their times alone."""
    neuron, other = NeuronSpec(Polsky(), 0.5, 0.5), NeuronSpec(Linear(), 0.5, 0.5)
    typical, wide = saddle_point(neuron, alpha=0.5), maximal_margin(neuron, alpha=0.5)
    for name, run in {
        "noise_error, typical": lambda: noise_error(typical, flips=0.05),
        "noise_error, largest margin": lambda: noise_error(wide, flips=0.05),
        "maximal_margin": lambda: maximal_margin(neuron, alpha=0.5),
        "least_noise_error": lambda: least_noise_error(neuron, alpha=0.5, flips=0.05),
        "learned_state": lambda: learned_state(neuron, alpha=0.5, gamma_ce=3.0),
        "learned_state, f_out = 0.3": lambda: learned_state(neuron, TaskSpec(f_out=0.3), alpha=0.5, gamma_ce=3.0),
        "teacher_student, matched": lambda: teacher_student(neuron, alpha=1.0),
        "teacher_student, linear student": lambda: teacher_student(other, alpha=1.0, teacher=neuron),
    }.items():
        run()
        print(f"{name:<36}{float(np.percentile([timed(run) for _ in range(20)], 10)) * 1e3:>10.3f} ms")


def priors_and_channels() -> None:
    """Other priors and channels beside the plain neuron, in turns: times and their ratios."""
    for g in (Linear(), Polsky()):
        plain = NeuronSpec(g, 0.5, 0.5)
        others: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {}
        for prior in (Bounded(3.0), Ridge(2.0)):
            own = replace(plain, prior=prior)
            others[f"critical_capacity, {g.name}, {type(prior).__name__}"] = (
                lambda own=own: critical_capacity(own),  # type: ignore[misc]
                lambda plain=plain: critical_capacity(plain),  # type: ignore[misc]
            )
            others[f"saddle_point, {g.name}, {type(prior).__name__}"] = (
                lambda own=own: saddle_point(own, alpha=0.5),  # type: ignore[misc]
                lambda plain=plain: saddle_point(plain, alpha=0.5),  # type: ignore[misc]
            )
        for channel in (Probit(0.1), Temperature(0.1)):
            others[f"saddle_point, {g.name}, {type(channel).__name__}"] = (
                lambda plain=plain, channel=channel: saddle_point(plain, alpha=0.5, channel=channel),  # type: ignore[misc]
                lambda plain=plain: saddle_point(plain, alpha=0.5),  # type: ignore[misc]
            )
        for name, (run, usual) in others.items():
            run()
            mine, theirs = [], []
            for _ in range(30):
                mine.append(timed(run))
                theirs.append(timed(usual))
            fast, other = min(mine), min(theirs)
            print(f"{name:<42}{fast * 1e3:>8.3f} ms, plain {other * 1e3:>8.3f} ms, ratio {fast / other:.2f}")


def main() -> None:
    print(f"{'warm, one core':<36}{'dendrocap':>13}{'plain SciPy':>13}{'ratio':>11}")
    for g in PLAIN:
        capacity(g)
    for g in PLAIN:
        finite_load(g, 0.5)
    neuron, theta_d = NeuronSpec(Polsky(), 0.5, 0.5), np.geomspace(0.01, 1, 200)
    times = [timed(lambda: capacity_curve(neuron, theta_d=theta_d)) for _ in range(10)]
    print(f"{'capacity curve, 200 points':<36}{float(np.percentile(times, 10)) * 1e3:>10.1f} ms")

    states()
    priors_and_channels()


if __name__ == "__main__":
    main()
