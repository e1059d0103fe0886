"""Theory: dendrocap against a plain SciPy script, in one process, interleaved. Prints a table of ratios.

Usage: python -m benchmarks.theory
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from benchmarks import forget
from benchmarks.plain_capacity import plain_capacity, polsky, polsky_slope
from benchmarks.plain_saddle_point import plain_saddle_point
from dendrocap import (
    Bounded,
    Inhibition,
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


GRID = {
    **{g.name: NeuronSpec(g, 0.5, 0.5) for g in (Linear(), ReLU(), SaturatingReLU())},
    **{f"polsky {theta_d:g}": NeuronSpec(Polsky(), theta_d, 0.5) for theta_d in (0.05, 0.2, 0.5, 1.0)},
    "relu 0.1": NeuronSpec(ReLU(), 0.1, 0.5),
    "polsky, theta_s = 0.3": NeuronSpec(Polsky(), 0.5, 0.3),
}
NOISES: tuple[dict[str, float], ...] = ({"flips": 0.01}, {"flips": 0.1}, {"synaptic": 0.2}, {"synaptic": 1.0})


def grid_of_calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls of the extensions over a grid of neurons, loads and their own parameters."""
    for neuron, alpha in product(GRID.values(), (0.1, 0.5, 0.8)):
        states = {"typical": saddle_point(neuron, alpha=alpha), "widest": maximal_margin(neuron, alpha=alpha)}
        for noise in NOISES:
            for name, state in states.items():
                yield f"noise_error, {name}", partial(noise_error, state, **noise)
            yield "least_noise_error", partial(least_noise_error, neuron, alpha=alpha, **noise)
    for neuron, alpha, gamma_ce, f_out in product(GRID.values(), (0.1, 1.0, 5.0), (0.3, 3.0, 10.0), (0.5, 0.3, 0.1)):
        task = TaskSpec(f_out=f_out)
        yield f"learned_state, f_out = {f_out:g}", partial(learned_state, neuron, task, alpha=alpha, gamma_ce=gamma_ce)
    for neuron, teacher, alpha in product(GRID.values(), GRID.values(), (0.1, 0.5, 1.5)):
        kind = "teacher_student, matched" if neuron == teacher else "teacher_student, another form"
        yield kind, partial(teacher_student, neuron, alpha=alpha, teacher=teacher)
    for neuron in GRID.values():
        correlated = [(neuron, TaskSpec(branch_correlation=c0)) for c0 in (0.5, 5.0)]
        drives = [drive for drive in (0.1, 0.25, 0.5) if drive <= neuron.theta_d]
        inhibited = [(replace(neuron, inhibition=Inhibition(share=0.2, drive=drive)), TaskSpec()) for drive in drives]
        for kind, cases in (("correlated", correlated), ("inhibitory", inhibited)):
            for one, task in cases:
                yield f"critical_capacity, {kind}", partial(critical_capacity, one, task)
                yield f"  with one step, {kind}", partial(critical_capacity, one, task, rsb=1)
                for part in (0.1, 0.5, 0.9):
                    alpha = part * critical_capacity(one, task).alpha_c
                    yield f"saddle_point, {kind}", partial(saddle_point, one, task, alpha=alpha)


def extensions() -> None:
    """CPU times of each call over the grid, the smallest of three: median, 95 % and largest."""
    times: dict[str, list[float]] = {}
    for name, run in grid_of_calls():
        run()
        spent = []
        for _ in range(3):
            forget()
            start = time.process_time()
            run()
            spent.append(time.process_time() - start)
        times.setdefault(name, []).append(1e3 * min(spent))
    print(f"{'CPU time over a grid':<36}{'calls':>7}{'median':>10}{'95 %':>10}{'largest':>10}  ms")
    for name, spent in times.items():
        print(f"{name:<36}{len(spent):>7}{np.median(spent):>10.2f}{np.percentile(spent, 95):>10.2f}{max(spent):>10.2f}")


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
    extensions()
    priors_and_channels()


if __name__ == "__main__":
    main()
