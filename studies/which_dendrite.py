"""Which dendrite stores most, at six margins, beside others under the same limits.

Usage: python -m studies.which_dendrite {compute,table}

``compute`` fills which_dendrite.csv, half a minute for each margin; ``table`` prints the table of
docs/theory/best_dendrite.md. Slope limit 5, theta_d = f_in = f_out = 1/2, theta_s the best for each dendrite.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dendrocap import Polsky, SaturatingReLU, Smooth, TaskSpec, best_dendrite
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
MARGINS = (0.05, 0.1, 0.15, 0.2, 0.5, 1.0)
SLOPE, THETA_D = 5.0, 0.5


def measured_curve() -> Smooth:
    """The simulated recording of the gallery page."""
    noise = np.random.default_rng(3).standard_normal(17) / 30
    x = np.linspace(0, 1.6, 17)
    return Smooth(tuple(x), tuple(Polsky(0.3, 10)(x) + noise), sem=1 / 30)  # type: ignore[arg-type]


def computed(kappa: float, rises: int = 2, steps: int = 2) -> Row:
    """The best dendrite at one margin, and what others store there."""
    task = TaskSpec(kappa=kappa)
    best = best_dendrite(SLOPE, THETA_D, task=task, rises=rises)
    symmetric = best_dendrite(SLOPE, THETA_D, task=task, rsb=0)
    x = np.array(best.nonlinearity.x)
    numbers = {
        "theta_s": best.theta_s,
        "alpha_c": best.alpha_c,
        "further_rise": best.further_rise,
        "saturating": best.capacity_of(SaturatingReLU()),
        "polsky": best.capacity_of(Polsky()),
        "measured": best.capacity_of(measured_curve()),
        "more_steps": best_dendrite(SLOPE, THETA_D, task=task, rsb=steps).alpha_c,
        "symmetric": symmetric.alpha_c,
        "symmetric_height": symmetric.height,
        "kappa_c": best.branch_stability().kappa_c,
    }
    heights, gaps = SLOPE * np.diff(x)[::2], np.diff(x)[1::2]
    shape = {"heights": " ".join(f"{h:.3f}" for h in heights), "gaps": " ".join(f"{gap:.3f}" for gap in gaps)}
    return {**shape, **{name: f"{number:.6g}" for name, number in numbers.items()}}


def table(rows: Sequence[Row]) -> list[str]:
    """The table of the page."""
    header = (
        "$\\kappa$", "best: rises by", "flat between", "its $\\theta_s$", "$\\alpha_c$, one step",
        "one rise, two steps", "saturating ReLU", "Polsky", "measured curve", "$\\kappa_c$",
        "replica symmetric, one rise",
    )  # fmt: skip
    shown = ("alpha_c", "more_steps", "saturating", "polsky", "measured", "kappa_c")
    lines = []
    for row in sorted(rows, key=lambda row: float(row["kappa"])):
        value = {name: float(row[name]) for name in row if name not in ("heights", "gaps")}
        lines.append(
            (
                row["kappa"], " and ".join(f"{float(h):.2f}" for h in row["heights"].split()),
                ", ".join(f"{float(gap):.2f}" for gap in row["gaps"].split()) or "-", f"{value['theta_s']:.2f}",
                *(f"{value[name]:.3f}" for name in shown),
                f"{value['symmetric']:.2f}, height {value['symmetric_height']:.2f}",
            )
        )  # fmt: skip
    return markdown(header, lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table"))
    if parser.parse_args().part == "compute":
        complete(TABLE, computed, [(kappa,) for kappa in MARGINS])
    else:
        print("\n".join(table(stored(TABLE))))


if __name__ == "__main__":
    main()
