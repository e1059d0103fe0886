"""Learning: the paper's stochastic gradient descent, its variants, and measurements of learned neurons."""

from dendrocap.loading import load_on_use

load_on_use(__name__)
