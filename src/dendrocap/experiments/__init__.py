"""Experiments: theory, learning and data put together, and sweeps of them on one machine or a cluster."""

from dendrocap.experiments.executors import DaskExecutor, Executor, ProcessExecutor, SerialExecutor
from dendrocap.experiments.runner import Progress, SweepReport, run_sweep, run_sweeps
from dendrocap.experiments.store import Counts, Record, Store
from dendrocap.experiments.sweep import Cell, Sweep, read_sweep

__all__ = [
    "Cell",
    "Counts",
    "DaskExecutor",
    "Executor",
    "ProcessExecutor",
    "Progress",
    "Record",
    "SerialExecutor",
    "Store",
    "Sweep",
    "SweepReport",
    "read_sweep",
    "run_sweep",
    "run_sweeps",
]
