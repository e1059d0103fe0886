"""
Capacity with broken replica symmetry
=====================================

What the paper calls technically very challenging: 0, 1 and many steps of breaking, the load at which replica
symmetry becomes unstable, and what a surrogate gradient learns. Stored results of ``python -m
benchmarks.rsb_curves FILE``; :doc:`derivation and checks </rsb>`.
"""

import csv
from pathlib import Path

from dendrocap import plot

results = Path("../../results")
rows = list(csv.DictReader((results / "rsb_capacity.csv").open()))
learned = list(csv.DictReader((results / "rsb_learned.csv").open()))
figure = plot.breaking(rows, learned)
