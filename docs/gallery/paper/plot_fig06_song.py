"""
Fig. 6: measured synaptic strengths
===================================

The 931 EPSP amplitudes of Song et al. (2005), fitted in the paper's way with the paper's silent fraction
(quick: 100 bootstrap replicates). The middle panel shows what the fit does not: the tail of the data is
heavier, and a lognormal describes them better. See :doc:`the guide </biology>` for the units, which the print
mixes.
"""

import dendrocap as dc
from dendrocap.datasets import song2005
from dendrocap.figures.weight_fit import draw_weight_fit

data = song2005()
fit = dc.fit_weights(
    data.amplitudes_mv, data.n_tested, p0=0.76, method="histogram", nonlinearity=dc.Polsky(0.2, 20), n_bootstrap=100
)
report = dc.capacity_report(fit)
figure = draw_weight_fit(fit, report)
