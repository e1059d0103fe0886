"""
Capacity with broken replica symmetry
=====================================

What the paper calls technically very challenging: 0, 1 and many steps of breaking, the load at which replica
symmetry becomes unstable, and what a surrogate gradient learns. Stored results of ``python -m
studies.rsb_capacity compute``; :doc:`derivation and checks </rsb>`.
"""

import pandas as pd

from dendrocap import plot
from dendrocap.reproduction import stored_results

loads, learned = (
    pd.read_csv(stored_results("studies") / name).to_dict("records") for name in ("rsb_capacity.csv", "rsb_learned.csv")
)
figure = plot.breaking(loads, learned)
