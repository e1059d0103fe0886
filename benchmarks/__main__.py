"""Every benchmark of this folder, one after another, each with its table.

Usage: python -m benchmarks [NAME ...]

Each runs in a process of its own, with its usual settings (`python -m benchmarks.NAME --help` where it has some). One
that fails does not keep the others from running; the command then ends with 1 and names it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def names() -> list[str]:
    """The modules that are benchmarks: those with a function main."""
    found = (path for path in HERE.glob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8"))
    return sorted(path.stem for path in found if path.stem != "__main__")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}; by default all")
    wanted = parser.parse_args().names or names()
    unknown = sorted(set(wanted) - set(names()))
    if unknown:
        parser.error(f"{unknown[0]} is no benchmark: there are {', '.join(names())}")
    failed = []
    for name in wanted:
        print(f"\n# python -m benchmarks.{name}\n", flush=True)
        start = time.perf_counter()
        code = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=HERE.parent).returncode
        print(f"\n({name}: {time.perf_counter() - start:.0f} s)", flush=True)
        failed += [name] if code else []
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
