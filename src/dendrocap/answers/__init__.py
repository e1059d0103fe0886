"""The best estimate of a capacity, and how it is told."""

from dendrocap.loading import load_on_use

load_on_use(__name__)
