"""The wheel in an empty environment: README's lines of Python, help, and one command of each kind.

Usage: python tests/wheel.py [--keep DIR]

Builds the wheel of this clone, installs it with its dependencies into a new environment and uses it from another
folder, so that nothing of the clone is found by accident. Ends with an error if anything differs from what README says.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = "import doctest, sys; sys.exit(doctest.testfile(sys.argv[1], module_relative=False).failed)"
TABLES = """
from pathlib import Path
import dendrocap
from dendrocap.reproduction import selected, stored_results
assert "site-packages" in dendrocap.__file__, dendrocap.__file__
assert len(selected(["fig9"])[0].read(stored_results("paper"))["fig9_slopes"]) == 3
assert (stored_results("studies") / "rsb_capacity.csv").is_file()
print(dendrocap.__version__, Path(dendrocap.__file__).parent)
"""
SWEEP = """
job = "capacity"
parameters = { nonlinearity = "linear", theta_s = 0.5 }
grid = { theta_d = [0.1, 0.5] }
"""


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints; it must end well."""
    print("$", *(str(word) for word in command), flush=True)
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # it may lead into a clone
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=own, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}ended with {done.returncode}")
    return done.stdout


def check(folder: Path) -> None:
    """Build, install, use."""
    folder.mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("dendrocap-*.whl")
    venv.create(folder / "venv", with_pip=True, clear=True)
    bin_folder = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python, dendrocap = bin_folder / "python", bin_folder / "dendrocap"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=folder)
    print(run(python, "-c", TABLES, cwd=folder))
    run(python, "-c", README, ROOT / "README.md", cwd=folder)
    assert "capacity" in run(dendrocap, "--help", cwd=folder)
    theory = json.loads(run(dendrocap, "capacity", "-g", "linear", "--theta-d", "0.5", "--json", cwd=folder))
    assert abs(theory[0]["alpha_c"] - 1.0) < 1e-9, theory  # the capacity of one layer, exactly
    neuron = ("--theta-d", "0.1", "-N", "99", "-K", "9", "--alpha", "0.3", "--learning-rate", "0.1")
    (trained,) = json.loads(run(dendrocap, "train", *neuron, "--json", cwd=folder))
    assert trained["solved"], trained
    (folder / "theory.toml").write_text(SWEEP, encoding="utf-8")
    (swept,) = json.loads(run(dendrocap, "sweep", "run", "theory.toml", "--workers", "1", "--json", cwd=folder))
    assert (swept["cells"], swept["done"]) == (2, 2), swept
    print(f"{wheel.name} works in an empty environment")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="folder for wheel and environment, which is not removed")
    kept = parser.parse_args().keep
    if kept is not None:
        check(kept.resolve())
    else:
        with tempfile.TemporaryDirectory() as scratch:
            check(Path(scratch))
