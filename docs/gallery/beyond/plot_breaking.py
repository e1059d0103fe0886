"""
Capacity with broken replica symmetry
=====================================

What the paper calls technically very challenging: 0, 1 and many steps of breaking. Stored results of ``python -m
studies.rsb_capacity compute``; :doc:`derivation and checks </rsb>`, also with what is learned.
"""

import pandas as pd

from dendrocap import plot
from dendrocap.reproduction import stored_results

columns = {"alpha_rs": "replica symmetric", "alpha_1": "broken symmetry k = 1", "alpha_full": "broken symmetry full"}
table = pd.read_csv(stored_results("studies") / "rsb_capacity.csv").rename(columns=columns)
rows = table.melt(["nonlinearity", "theta_d"], list(columns.values()), "estimate", "alpha_c")
figure = plot.curves(rows, "theta_d", "alpha_c", log=True)
