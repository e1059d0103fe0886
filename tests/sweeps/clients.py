"""Sweeps run by real processes, to be killed, starved and interrupted."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.sweeps.some_jobs import PAUSE

ROOT = Path(__file__).parents[2]
# Guards against hanging, never a measure of speed.
PATIENCE = 120.0


def sweep_file(folder, sweep):
    """A TOML file of a sweep; JSON's numbers, texts and lists are TOML's too."""
    definition = sweep.definition
    lines = [f"{key} = {json.dumps(definition[key])}" for key in ("job", "seeds")]
    for table in ("parameters", "grid"):
        lines += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in definition[table].items())]
    path = folder / "sweep.toml"
    path.write_text("\n".join(lines))
    return path


def environment(pause=0.01):
    """Of processes in which cells take a moment."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))), PAUSE: str(pause)}


def client(*arguments, pause=0.01, command="run", **options):
    """``dendrocap sweep run`` as a process of its own."""
    command = [sys.executable, "-m", "dendrocap", "sweep", command, *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment(pause), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def finished(process):
    """Wait for a client: exit code, stdout, stderr."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def wait_until(condition, process=None):
    """Wait for something to become true, as long as a process lives."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if process is not None and process.poll() is not None:
            return
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
