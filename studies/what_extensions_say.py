"""The five figures of docs/theory/extensions.md: gallery figures with simulations from stored tables beside them.

Usage: python -m studies.what_extensions_say

Lines are the theory, drawn by the scripts of docs/gallery/beyond. Marks are simulations: linear programming
(linear_programming.csv), solutions and students drawn at random (sampled_solutions.csv, students.csv) and trained
neurons (trained_states.csv).
"""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from dendrocap.figures.style import PALETTE
from studies.tables import IMAGES, ROOT, stored

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = IMAGES / "extensions"
MARK: dict[str, Any] = {"fmt": "o", "ms": 3.5, "capsize": 2, "lw": 1.0, "ls": "none"}


def rows(name: str, **wanted: Any) -> list[dict[str, str]]:
    """The rows of a stored table of this folder that have these values; at least one."""
    table = stored(Path(__file__).parent / f"{name}.csv")
    found = [row for row in table if all(_same(row[key], value) for key, value in wanted.items())]
    if not found:
        raise LookupError(f"{name}.csv has no row with {wanted}")
    return found


def _same(text: str, value: Any) -> bool:
    return text == value if isinstance(value, str) else float(text) == value


def mean(values: list[float]) -> tuple[float, float]:
    """Mean, and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def correlated_inputs(figure: Figure) -> None:
    """Linear programming, 500 inputs on 2 branches."""
    for c0 in (2.0, 5.0):
        found = rows("linear_programming", n_inputs=500.0, branch_correlation=c0, share=0.0)
        loads = [int(row["n_patterns"]) / 500 for row in found]
        label = "linear programming" if c0 == 2.0 else None
        figure.axes[0].errorbar(c0, *mean(loads), **MARK, color=PALETTE["linear"], label=label)
    figure.axes[0].legend(fontsize=6.5)


def inhibition(figure: Figure) -> None:
    """The same with inhibition."""
    found = rows("linear_programming", n_inputs=500.0, branch_correlation=0.0, share=0.2, drive=0.25)
    loads = [int(row["n_patterns"]) / 500 for row in found]
    figure.axes[0].errorbar(0.25, *mean(loads), **MARK, color=PALETTE["linear"], label="linear programming")
    _again(figure, 3)


def noise(figure: Figure) -> None:
    """Solutions of the linear neuron drawn at random, 400 synapses on branches of 20; others have another load."""
    found = rows("sampled_solutions", neuron="linear", K=20.0, n=20.0)
    for flips in ("0.01", "0.05", "0.1"):
        errors = [float(row[f"flips_{flips}"]) for row in found]
        label = "drawn at random" if flips == "0.01" else None
        figure.axes[0].errorbar(float(flips), *mean(errors), **MARK, color="#0072B2", label=label)
    figure.axes[0].legend(fontsize=6.5, title="replica symmetric", title_fontsize=6.5)


def learned_states(figure: Figure) -> None:
    """Gradient descent to the end, 999 synapses on 27 branches."""
    for neuron, colour in (("linear", PALETTE["linear"]), ("Polsky 0.5", PALETTE["polsky"])):
        for alpha in (0.5, 2.0):
            for gamma_ce, size in ((0.3, 2.5), (1.0, 4.5)):
                found = rows("trained_states", neuron=neuron, alpha=alpha, gamma_ce=gamma_ce)
                first = (neuron, alpha, gamma_ce) == ("linear", 0.5, 1.0)
                look = {**MARK, "ms": size, "color": colour, "label": "trained" if first else None}
                for axes, name, unit in zip(figure.axes, ("training_error", "silent_fraction"), (1, 100), strict=True):
                    axes.errorbar(alpha, *mean([unit * float(row[name]) for row in found]), **look)
    _again(figure, 2)


def _again(figure: Figure, columns: int) -> None:
    """The legend below a figure, with the marks."""
    figure.legends[0].remove()
    labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside lower center", ncols=columns, fontsize=6.5)


def teacher_student(figure: Figure) -> None:
    """Students drawn at random, 800 synapses on 20 branches."""
    for student in ("linear", "polsky"):
        for alpha in (0.5, 1.0, 1.5):
            errors = [float(row["error"]) for row in rows("students", student=student, alpha=alpha)]
            label = "drawn at random" if (student, alpha) == ("polsky", 0.5) else None
            figure.axes[0].errorbar(alpha, *mean(errors), **MARK, color=PALETTE[student], label=label)
    figure.axes[0].legend(fontsize=7, loc="lower left")


FIGURES: tuple[Callable[[Figure], None], ...] = (correlated_inputs, inhibition, noise, learned_states, teacher_student)


def main() -> None:
    """Draw all figures."""
    mpl.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    for add in FIGURES:
        figure = runpy.run_path(str(ROOT / "docs" / "gallery" / "beyond" / f"plot_{add.__name__}.py"))["figure"]
        add(figure)
        figure.savefig(FOLDER / f"{add.__name__}.png", dpi=140)
        print(FOLDER / f"{add.__name__}.png")


if __name__ == "__main__":
    main()
