"""Every command line that help texts and pages show, run with ``--json`` and compared with what it printed before.

Usage: python -m studies.examples [list | write FILE | check FILE] [--only WORD]

``write`` runs the lines and stores what each printed. ``check`` runs the stored lines again, tells what differs and
which lines no page shows any more or shows for the first time, and fails if there are any. Numbers of the theory may
differ by 1e-6, a best estimate by its error, what is learned from a seed not at all; times, iterations and residuals
are left out, and other words are told without failing. Each line runs in a folder of its own with the files of
`prepare`. Images are read from DENDROCAP_DATA.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer.main

from dendrocap.cli import app
from dendrocap.datasets import example_cell, song2005
from dendrocap.files import write_file
from studies.tables import ROOT

STORED = ROOT / "tests" / "data" / "examples.json"
PAGES = ("README.md", "docs/*.md", "docs/learn/*.md", "docs/theory/*.md", "docs/results/**/*.md")
BLOCK = re.compile(r"^ *(?:\$ )?(dendrocap (?:[^\n\\]|\\\n)*)", re.MULTILINE)
SENTENCE = re.compile(r"`(dendrocap [^`]*)`")
QUESTION = re.compile(r"^\| [^|]+ \| `(dendrocap [^`]*)` \|", re.MULTILINE)  # docs/which_function.md
HELP = re.compile(r"^Example: (dendrocap .*)", re.MULTILINE)
# Not run: servers, the network, clusters elsewhere, all figures, and lines with a word in place of a value.
NOT_RUN = re.compile(r" explore\b|--fetch\b|tcp:|tls:|--scheduler-file|reproduce --preset paper|\$|\.\.\.|P/N")
# Options appended to lines that take more than a minute, or processes that this takes no part of; the last one counts.
SMALLER = {
    r"--workers \d+": "--workers 1",
    r"--preset paper": "--preset quick",
    r"-N 999 -K 9,27,81": "-N 300 -K 9,27",
    r"-N 10000 -K 10:1000:7": "-N 300 -K 10,30 --theta-d 0.5 --accuracy fast",
    r"fit weights .*(--plot|-o )": "--accuracy fast --bootstrap 10",
    r"algorithmic-capacity": "-N 297 -K 9 --patience 100",
    r"solve --theta-d 0.5 --alpha 1.8": "--alpha 1.2 -N 333 -K 9",
}
# Sweeps of the size of a tutorial, by the names that pages give them.
LEARNING = """
job = "train"
seeds = 2
[parameters]
nonlinearity = "polsky"
theta_s = 0.5
n_inputs = 297
n_branches = 9
learning_rate = 0.1
patience = 100
max_epochs = 200
[grid]
theta_d = [0.05, 0.5]
"""
THEORY = """
job = "capacity"
[parameters]
theta_s = 0.5
[grid]
theta_d = [0.05, 0.2, 0.5]
"""
SEARCH = 'alpha = { find = "solved", level = 0.5, from = 0.1, to = 2.0, resolution = 0.1 }\n'
SWEEPS = {
    "sweep": THEORY + 'nonlinearity = ["polsky", "relu"]\n',
    "capacity": THEORY + "f_out = [0.5, 0.2]\n",
    "loads": LEARNING + "alpha = [0.4, 0.8]\n",
    "fig3": LEARNING + "alpha = [0.4, 0.8]\n",
    "curve": LEARNING + SEARCH,
    "search": LEARNING + SEARCH,
}
STORES = (
    "sweep.toml --store results.db", "capacity.toml --store capacity.db", "loads.toml --store loads.db",
    "curve.toml --store curve.db", "search.toml --store search.db", "fig3.toml --store fig3.db --shard 1/8",
    "fig3.toml --store fig3.db --shard 2/8", "loads.toml --store parts.db --shard 1/2",
    "loads.toml --store parts.db --shard 2/2",
)  # fmt: skip
LEARNED = ("train", "solve", "algorithmic-capacity", "perturb", "generalise")
# Names whose values depend on the machine or on the way to the result.
LEFT_OUT = re.compile(r"seconds|minutes|hours|host|environment|version|iterations|residual|evaluations|finished|path")
ROWS, LONG = 6, 40


class Line(NamedTuple):
    """A command line as it is shown, the words that call its command, and whether this takes ``--json``."""

    shown: str
    command: str
    takes_json: bool

    def words(self) -> list[str]:
        """What is run, without the name of the program."""
        extra = [options for pattern, options in SMALLER.items() if re.search(pattern, self.shown)]
        extra += ["--json"] * (self.takes_json and "--json" not in self.shown)
        return shlex.split(" ".join((self.shown, *extra)))[1:]


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The commands that run something, by the words that call them."""
    if not hasattr(command, "commands"):
        yield " ".join(path), command
    for name, child in getattr(command, "commands", {}).items():
        yield from leaves(child, (*path, name))


def commands() -> dict[str, Any]:
    """All commands that run something."""
    return dict(leaves(typer.main.get_command(app)))


def as_line(shown: str, known: dict[str, Any]) -> Line:
    """A line with its command, which is empty if there is none of this name."""
    for name, command in known.items():
        if f"{shown} ".startswith(f"dendrocap {name} "):
            return Line(shown, name, any("--json" in parameter.opts for parameter in command.params))
    return Line(shown, "", False)


def shown_lines() -> dict[str, Line]:
    """The lines of questions, help texts and pages that can be run, each once."""
    known = commands()
    texts = [line for command in known.values() for line in HELP.findall(command.help or "")]
    for page in (page for pattern in PAGES for page in sorted(ROOT.glob(pattern))):
        text = page.read_text(encoding="utf-8")
        texts += BLOCK.findall(text) + QUESTION.findall(text)
        texts += (found for found in SENTENCE.findall(text) if len(found.split()) > 3)  # fewer words name a command
    lines = [" ".join(re.sub(r"\s{2,}#.*", "", text.replace("\\\n", " ")).split()) for text in texts]
    found = {line: as_line(line, known) for line in lines if not NOT_RUN.search(line)}
    return {shown: line for shown, line in found.items() if line.command}


def prepare(folder: Path) -> None:
    """The files that lines name."""
    rng = np.random.default_rng(4)
    expected = np.arange(1.0, 25.0, 1.2)
    u = expected / 15
    recorded = 15 * np.where(u < 0.3, u, 0.3 + 0.7 * np.tanh(6 * (u - 0.3))) + 0.6 * rng.standard_normal(u.size)
    rows = "".join(f"{x:.2f},{y:.2f},0.60\n" for x, y in zip(expected, recorded, strict=True))
    (folder / "curve.csv").write_text(f"expected (mV),recorded (mV),SEM (mV)\n{rows}")
    np.savetxt(folder / "epsp.csv", song2005().amplitudes_mv, header="epsp (mV)", comments="", fmt="%.4f")
    shutil.copy(example_cell(), folder / "cell.swc")
    for name, text in SWEEPS.items():
        (folder / f"{name}.toml").write_text(text)
    for sweep in STORES:
        run(folder, ["sweep", "run", *sweep.split(), "--workers", "1"])
    run(folder, ["train", "--theta-d", "0.05", "--alpha", "0.6", "-N", "297", "-K", "9", "--save", "run.npz"])


def run(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """A command in a folder; a star stands for the files of this pattern, as in a shell."""
    command = [sys.executable, "-m", "dendrocap"]
    for word in words:
        command += sorted(file.name for file in folder.glob(word)) if "*" in word else [word]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def outcome(line: Line, inputs: Path) -> dict[str, Any]:
    """What a line printed and which files it made: its JSON, or else its exit code and first words."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in inputs.iterdir():
            if not (
                line.command == "sweep run" and ".db" in file.name
            ):  # a store of its own, or nothing is left to run
                shutil.copy2(file, folder)
        before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
        done = run(folder, line.words())
        made = [file for file in sorted(folder.iterdir()) if before.get(file) != file.stat().st_mtime_ns]
        told: dict[str, Any] = {"run": shlex.join(line.words()), "exit": done.returncode}
        printed = done.stdout + done.stderr * (done.returncode > 0 or not line.takes_json)
        for place in (name, os.environ.get("DENDROCAP_DATA")):
            printed = printed.replace(place, "FOLDER") if place else printed
        if done.returncode == 0 and line.takes_json:
            told["json"] = short(json.loads(printed))
        else:
            told["says"] = next(iter(printed.splitlines()), "")
        if made:
            told["files"] = {file.name: table(file) if file.suffix == ".csv" else None for file in made}
        return told


def table(path: Path) -> Any:
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return short([{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)])


def number(text: str) -> Any:
    """A number, or the text itself."""
    try:
        return float(text)
    except ValueError:
        return text


def short(value: Any) -> Any:
    """The value with 12 digits, tables by columns, and of long lists the length, the sum and the first items."""
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items() if not LEFT_OUT.search(key)}
    if not isinstance(value, list):
        return value
    if len(value) > ROWS and all(isinstance(row, dict) and row.keys() == value[0].keys() for row in value):
        columns = {key: [row[key] for row in value] for key in value[0]}
        told = {
            key: column[0] if all(one == column[0] for one in column) else column for key, column in columns.items()
        }
        return {"rows": len(value), **short(told)}
    if len(value) > LONG:
        numbers = [item for item in value if isinstance(item, int | float)]
        return {"length": len(value), "sum": short(float(sum(numbers))), "first": short(value[:10])}
    return [short(item) for item in value]


def differences(old: Any, new: Any, rtol: float, where: str = "") -> Iterator[str]:
    """Where two outcomes differ by more than they may; other words are told, too, after the sign ~."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if key not in old or key not in new:
                yield f"{where}.{key} is {'new' if key not in old else 'gone'}"
            else:
                yield from differences(old[key], new[key], tolerance(old, key, rtol), f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, rtol, f"{where}[{index}]")
    elif isinstance(old, str) and isinstance(new, str) and " " in old + new:
        if old != new:
            yield f"~{where}: {old!r} -> {new!r}"
    elif isinstance(old, int | float) and isinstance(new, int | float):
        if not math.isclose(old, new, rel_tol=rtol, abs_tol=1e-10):
            yield f"{where}: {old} -> {new}"
    elif old != new:
        yield f"{where}: {old!r} -> {new!r}"


def tolerance(row: dict[str, Any], key: str, rtol: float) -> float:
    """The relative tolerance of a value: in rows of best estimates, which have errors, only the theory is exact."""
    if key.startswith(("paper", "replica", "broken", "theta", "n_inputs", "n_branches")):
        return min(rtol, 1e-6)
    if row.get("accuracy") != "best" or not isinstance(row.get("error"), float):
        return rtol
    if key == "silent_fraction" and row[key]:
        return float(row["silent_error"] / row[key])
    return float(row["error"] / row["alpha_c"])


def outcomes(lines: dict[str, Line]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The outcome of each line."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        for count, (shown, line) in enumerate(lines.items(), 1):
            start = resource.getrusage(resource.RUSAGE_CHILDREN)
            told = outcome(line, Path(folder))
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
            words = f"{count}/{len(lines)}  {seconds:5.1f} s of CPU, exit {told['exit']}: {told['run']}"
            print(words, file=sys.stderr, flush=True)
            yield shown, told


def check(stored: dict[str, Any], lines: dict[str, Line]) -> bool:
    """Whether all stored lines are still shown and print the same; tell where not."""
    known, wrong = commands(), 0
    for shown in sorted(lines.keys() ^ stored.keys()):
        wrong += 1
        print(f"{'NOT STORED' if shown in lines else 'NOT SHOWN ANY MORE'}  {shown}")
    for shown, new in outcomes({shown: as_line(shown, known) for shown in stored}):
        rtol = 1e-11 if shown.split()[1] in LEARNED else 1e-6
        found = sorted(differences(stored[shown], new, rtol))
        wrong += any(not one.startswith("~") for one in found)
        for one in found:
            print(f"{'WORDS' if one.startswith('~') else 'DIFFERS'}  {shown}  {one}")
    print(f"{len(stored)} lines, {wrong} differ, are missing or new")
    return not wrong


def main() -> None:
    """``python -m studies.examples``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["list", "write", "check"])
    parser.add_argument("file", nargs="?", type=Path, default=STORED)
    parser.add_argument("--only", default="", metavar="WORD", help="only lines with this; write keeps the others")
    asked = parser.parse_args()
    lines = shown_lines()
    some = {shown: line for shown, line in lines.items() if asked.only in shown}
    stored = json.loads(asked.file.read_text(encoding="utf-8")) if asked.file.exists() else {}
    if asked.what == "list":
        print("\n".join(shlex.join(("dendrocap", *line.words())) for line in some.values()))
    elif asked.what == "write":
        told = {shown: one for shown, one in {**stored, **dict(outcomes(some))}.items() if shown in lines}
        text = ",\n".join(f"{json.dumps(shown)}: {json.dumps(told[shown])}" for shown in sorted(told))
        write_file(asked.file, f"{{\n{text}\n}}\n".encode())
    else:
        sys.exit(not check({shown: told for shown, told in stored.items() if asked.only in shown}, some))


if __name__ == "__main__":
    main()
