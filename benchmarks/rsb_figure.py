"""The figure of docs/rsb.md from its stored tables.

Usage: python -m benchmarks.rsb_figure docs/images/rsb.png
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from dendrocap import plot

RESULTS = Path(__file__).parent.parent / "docs" / "results"


def table(name: str) -> list[dict[str, str]]:
    with (RESULTS / name).open(newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    plot.save(plot.breaking(table("rsb_capacity.csv"), table("rsb_learned.csv")), Path(sys.argv[1]))
