"""Experiments that combine theory, learning and data, and sweeps of them on one machine or a cluster."""

from dendrocap.solving import Outlook, random_task, solve, solver_by_theory, solving_outlook
from dendrocap.sweeps.dask import DaskExecutor
from dendrocap.sweeps.plan import Crossing, crossings
from dendrocap.sweeps.process import Environment, Executor, ProcessExecutor, SerialExecutor
from dendrocap.sweeps.runner import Progress, SweepReport, run_sweep, run_sweeps
from dendrocap.sweeps.store import Counts, Record, Store
from dendrocap.sweeps.store_care import merge_stores, salvage_store, verify_store
from dendrocap.sweeps.sweep import Cell, Search, Sweep, read_sweep

__all__ = [
    "Cell",
    "Counts",
    "Crossing",
    "DaskExecutor",
    "Environment",
    "Executor",
    "Outlook",
    "ProcessExecutor",
    "Progress",
    "Record",
    "Search",
    "SerialExecutor",
    "Store",
    "Sweep",
    "SweepReport",
    "crossings",
    "merge_stores",
    "random_task",
    "read_sweep",
    "run_sweep",
    "run_sweeps",
    "salvage_store",
    "solve",
    "solver_by_theory",
    "solving_outlook",
    "verify_store",
]
