"""Experiments that combine theory, learning and data, and sweeps of them on one machine or a cluster."""

from dendrocap.loading import load_on_use

load_on_use(__name__)
