"""What must be equal in two stores, whatever happened while they were filled."""

import json
import sqlite3

from dendrocap.sweeps import Store, Sweep

JOBS = "tests.sweeps.some_jobs"


def draws(cells):
    """A sweep of random numbers with so many cells."""
    return Sweep(
        f"{JOBS}:draw",
        grid={"mean": [0.5, 1.5], "scale": [1.0, 0.25]},
        seeds=cells // 4,
    )


# Compiled learning, in which a different number of threads or another order of sums would show.
TRAININGS = Sweep(
    "train",
    grid={"theta_d": [0.1, 0.3], "alpha": [0.2, 0.6]},
    parameters={"theta_s": 0.5, "n_inputs": 120, "n_branches": 9, "max_epochs": 60, "learning_rate": 0.1},
    seeds=3,
)


def contents(path, sweep):
    """Everything about a sweep's cells that may not depend on how they were run; texts, so that NaN equals NaN."""
    with Store(path) as store:
        return [(r.key, r.parameters, r.seed, r.status, r.reason, json.dumps(r.metrics)) for r in store.records(sweep)]


def stored(path):
    """Number of rows in a store that another process may be writing or creating."""
    try:
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    except sqlite3.Error:
        return 0
    try:
        return database.execute("SELECT count(*) FROM cells").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        database.close()
