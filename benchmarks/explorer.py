"""The explorer: from a slider's event to new figures at the server, ten tabs at once, and memory. Prints a table.

The comparison is what one would do without it: solve the paper's curve with the plain SciPy script and draw it again
with Matplotlib. Both sides run in one process, and the time of the script is scaled to as many points as a move has.

Usage: python -m benchmarks.explorer [--plain-points 12]
"""

from __future__ import annotations

import argparse
import gc
import io
import time
from collections.abc import Callable

import numpy as np
import psutil
from bokeh.document import Document
from bokeh.protocol import Protocol
from matplotlib.figure import Figure

from benchmarks.plain_capacity import plain_capacity, polsky, polsky_slope
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.session import Session
from dendrocap.explorer.views import DETAILS

TARGET_MS = 150.0
CURVE_POINTS = DETAILS["draft"]  # of the paper's curve while a slider moves


class Tab:
    """A session with its document, whose changes are turned into the message that a browser would be sent."""

    def __init__(self) -> None:
        self.session, self.document = Session(Parameters()), Document()
        for plot in self.session.plots.values():
            self.document.add_root(plot.figure)
        self.events: list[object] = []
        self.document.callbacks.on_change(self.events.append)
        self.session.handle({"kind": "hello"})

    def move(self, **changes: float) -> tuple[float, float]:
        """Milliseconds from the event to the message with the new figures: on the clock, and of this process."""
        self.events.clear()
        start, busy = time.perf_counter(), time.process_time()
        self.session.handle({"kind": "change", "changes": changes})
        message = Protocol().create("PATCH-DOC", self.events)
        len(message.content_json)
        return 1e3 * (time.perf_counter() - start), 1e3 * (time.process_time() - busy)


def line(name: str, times: list[tuple[float, float]]) -> float:
    """One line of the table; the median on the clock."""
    clock, busy = np.array(times).T
    median, worst = float(np.median(clock)), float(np.percentile(clock, 95))
    # The clock also counts what other programs do on a busy machine; on an idle one the two columns agree.
    verdict = f"{'below' if np.percentile(busy, 95) < TARGET_MS else 'ABOVE'} {TARGET_MS:.0f} ms of processor time"
    print(f"{name:<52}{median:>9.1f} ms{worst:>9.1f} ms{np.median(busy):>9.1f} ms   {verdict}")
    return median


def moves(rng: np.random.Generator) -> list[tuple[str, Callable[[], dict[str, float]]]]:
    """Moves of a slider, each to a value that was not there before."""
    return [
        ("theta_d along its own axis (curve stays)", lambda: {"theta_d": float(rng.uniform(0.02, 1.9))}),
        ("gamma (new curve)", lambda: {"gamma": float(rng.uniform(2, 50))}),
        ("theta_s (new curve)", lambda: {"theta_s": float(rng.uniform(0.2, 0.8))}),
        ("f_in (new curve, new line of one layer)", lambda: {"f_in": float(rng.uniform(0.2, 0.8))}),
        ("f_out (new curve, new line of one layer)", lambda: {"f_out": float(rng.uniform(0.2, 0.8))}),
        ("kappa (new curve, one layer solved at 40 points)", lambda: {"kappa": float(rng.uniform(0.1, 1.0))}),
        ("K (the curve stays)", lambda: {"n_branches": int(rng.integers(5, 1000))}),
        ("K along its own axis", lambda: {"axis": "n_branches", "n_branches": int(rng.integers(5, 1000))}),
        ("flips (the curve stays)", lambda: {"flips": float(rng.uniform(0.001, 0.4))}),
        (
            "share of inhibition (new curve)",
            lambda: {"inhibitory_share": float(rng.uniform(0.05, 0.5))},
        ),
        (
            "theta_d of the apical of two kinds of branches",
            lambda: {"populations": "2", "theta_d_2": float(rng.uniform(0.02, 1.9))},
        ),
    ]


def one_tab(tab: Tab, rng: np.random.Generator, rounds: int = 25) -> float:
    everything: list[tuple[float, float]] = []
    print(f"{'slider, ' + str(CURVE_POINTS) + ' points':<52}{'median':>12}{'95 %':>12}{'processor':>12}")
    medians = {}
    for name, changes in moves(rng):
        tab.session.parameters = Parameters()
        times = [tab.move(**changes()) for _ in range(rounds)]
        medians[name] = line(name, times)
        everything += times
    line("all of these", everything)
    return medians["gamma (new curve)"]


def uploaded(tab: Tab, rng: np.random.Generator) -> None:
    for n in (10, 30, 64):
        x = np.linspace(0.0, 1.0, n)
        points = tuple((float(a), float(a**2)) for a in x)
        tab.session.parameters = Parameters(nonlinearity="tabulated", curve=points)
        times = [tab.move(theta_s=float(rng.uniform(0.2, 0.8))) for _ in range(8)]
        drawn = len(tab.session.capacity["theta_d"].paper.data["x"])
        line(f"theta_s, uploaded curve of {n} points ({drawn} solved)", times)


def ten_tabs(rng: np.random.Generator) -> None:
    """All ten move a slider at the same moment, again and again: one server answers them in turn, with drafts."""
    tabs = [Tab() for _ in range(10)]
    waits = []
    for _ in range(5):
        start = time.perf_counter()
        for tab in tabs:
            tab.move(gamma=float(rng.uniform(2, 50)))
            waits.append(1e3 * (time.perf_counter() - start))
    print(f"\nten tabs, all moving at once: half wait below {np.median(waits):.0f} ms, the last {np.max(waits):.0f} ms")
    same = []
    for _ in range(5):
        gamma, start = float(rng.uniform(2, 50)), time.perf_counter()
        for tab in tabs:
            tab.move(gamma=gamma)
        same.append(1e3 * (time.perf_counter() - start))
    print(f"ten tabs that look at the same neuron: all ten have it after {np.median(same):.0f} ms")


def memory(rng: np.random.Generator, n_moves: int = 500) -> None:
    tab, process = Tab(), psutil.Process()
    sizes = []
    for count in range(2 * n_moves + 1):
        if count % n_moves == 0:
            gc.collect()
            sizes.append(process.memory_info().rss / 1e6)
        tab.move(gamma=float(rng.uniform(2, 50)))
    first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
    print(f"memory: {sizes[0]:.0f} MB, after {n_moves} moves {first:+.1f} MB, after {n_moves} more {second:+.1f} MB")


def instead(ours_ms: float, plain_points: int) -> None:
    def redraw() -> None:
        theta_d = np.geomspace(0.05, 1.0, plain_points)
        alpha = [plain_capacity(polsky, polsky_slope, (0.0, 0.33), theta, 0.5)[0] for theta in theta_d]
        figure = Figure()
        axes = figure.subplots()
        axes.loglog(theta_d, alpha)
        figure.savefig(io.BytesIO(), format="png")

    start = time.perf_counter()
    redraw()
    plain_ms = 1e3 * (time.perf_counter() - start) * CURVE_POINTS / plain_points
    print(
        f"\nplain SciPy and Matplotlib: {plain_ms / 1e3:.1f} s for {CURVE_POINTS} points (from {plain_points} of them)"
    )
    print(f"ratio to a move that needs a new curve: {plain_ms / ours_ms:.0f} x")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain-points", type=int, default=12)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    tab = Tab()  # one for all: several within two seconds would be a crowd, and get drafts
    ours = one_tab(tab, rng)
    uploaded(tab, rng)
    ten_tabs(rng)
    memory(rng)
    instead(ours, options.plain_points)


if __name__ == "__main__":
    main()
