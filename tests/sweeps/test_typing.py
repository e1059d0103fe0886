"""What the pages show is what a type checker accepts."""

import subprocess
import sys

import pytest

CODE = """
from pathlib import Path
import numpy as np
import dendrocap as dc
from dendrocap.sweeps import crossings, merge_stores

def job(x: float, seed: int) -> float:
    return x

sweep = dc.Sweep(job, grid={"x": [0.1, 0.2]}, seeds=3)
dc.Sweep("capacity", grid={"theta_d": np.linspace(0.1, 0.5, 3), "gamma": range(3)}, seeds=range(4), timeout=2)
dc.Sweep("train", {"alpha": {"find": "solved", "level": 0.5, "from": 0.1, "to": 2.0, "resolution": 0.1}})
report = dc.run_sweep(sweep, "r.db", workers=1, timeout=3.0, max_failures="5%", shard="1/2", notify=print)
merge_stores([Path("r.db")], "all.db")
with dc.Store("all.db") as store:
    crossings(sweep, store.records())
"""


@pytest.mark.slow
def test_mypy_accepts_a_function_and_a_number_of_seeds(tmp_path):
    (tmp_path / "user.py").write_text(CODE)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
