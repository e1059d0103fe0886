"""Experiments that combine theory, learning and data, and sweeps of them on one machine or a cluster."""

from dendrocap.experiments.crossings import Crossing, crossings
from dendrocap.experiments.environment import Environment
from dendrocap.experiments.executors import DaskExecutor, Executor, ProcessExecutor, SerialExecutor
from dendrocap.experiments.runner import Progress, SweepReport, run_sweep, run_sweeps
from dendrocap.experiments.search import Search
from dendrocap.experiments.solving import Outlook, random_task, solve, solver_by_theory, solving_outlook
from dendrocap.experiments.store import Counts, Record, Store
from dendrocap.experiments.store_care import merge_stores, salvage_store, verify_store
from dendrocap.experiments.sweep import Cell, Sweep, read_sweep

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
