"""Sweeps: the same task on a grid of parameters, on one machine or a cluster, resumable."""

from dendrocap.experiments.sweep import Cell, Sweep, read_sweep

__all__ = ["Cell", "Sweep", "read_sweep"]
