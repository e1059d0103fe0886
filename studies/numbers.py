"""Headline numbers, one source for README and documentation: collected from stored tables, quoted by their names.

Usage: python -m studies.numbers [write,show]

``write`` collects docs/numbers.json from the stored tables and brings every quotation up to date; ``show`` prints the
numbers. A quotation is a number with a comment behind it that names its source, which no reader sees:
``2.35(9)<!--=best 0.5-->``. It keeps the digits, brackets and per cent that its author chose. ``tests/documentation``
fails where a page, or README, says anything else than the tables.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from dendrocap.display import with_digits, with_error
from dendrocap.files import write_file
from dendrocap.numerics import standard_error
from dendrocap.reproduction import Reproduction, read_tables
from dendrocap.reproduction import stored as stored_reproduction
from dendrocap.reproduction.claims import CANNOT, DIFFERS, NOT_RUN, REPRODUCED, UNDECIDED
from studies import breaking_by_steps, classifiers
from studies import capacity_of_a_real_neuron as real_neuron
from studies.tables import ROOT, loads_reached, stored

NUMBERS = ROOT / "docs" / "numbers.json"
PAPER = ROOT / "docs" / "results" / "paper"
QUOTING = ("README.md", "docs/*.md", "docs/learn/*.md", "docs/results/*.md", "docs/theory/*.md")
GENERATED = ("what_holds.md", "changelog.md")  # written from the tables themselves, or about the past
MINUS = "\N{MINUS SIGN}"
# A number, perhaps with an error and per cent, and the comment that names it.
NUMBER = (
    rf"(?P<value>[{MINUS}-]?\d[\d,]*(?:\.(?P<decimals>\d+))?)"
    r"(?P<error>\(\d+\)| ± \d+(?:\.\d+)?)?(?P<percent> ?%)?"
)
QUOTED = re.compile(NUMBER + r"<!--=(?P<name>[^>]+)-->")


@dataclass(frozen=True)
class Number:
    """A headline number: what it is, how it is printed, and where it comes from."""

    value: float
    error: float
    printed: str
    table: str
    command: str


def number(value: float, table: str, command: str, error: float = 0.0) -> Number:
    """A number that is printed with the digits that its error allows, or with five if it has none."""
    printed = with_error(value, error) if error else with_digits(value, 5)
    return Number(float(value), float(error), printed, table, command)


@cache
def reproduction() -> Reproduction:
    """The stored full-size results with their verdicts."""
    return stored_reproduction(PAPER, "paper")


def collect() -> dict[str, Number]:
    """All headline numbers by their names."""
    return {**_claims(), **_breaking(), **_real_neuron(), **_paper_tables(), **_classifiers(), **_images(), **_speed()}


def _claims() -> dict[str, Number]:
    """How many claims ended how, and what was measured for each."""
    found = {}
    judged = reproduction().judged
    counts = Counter(one.verdict for one in judged)
    command = "dendrocap reproduce --preset paper"
    found["claims"] = number(len(judged), "docs/results/paper/report.md", command)
    for verdict in (REPRODUCED, DIFFERS, CANNOT, UNDECIDED, NOT_RUN):
        found[f"claims {verdict}"] = number(counts[verdict], "docs/results/paper/report.md", command)
    outcomes = {outcome.name: outcome for outcome in reproduction().outcomes}
    for name, outcome in outcomes.items():
        if (seeds := re.search(r"(\d+) seeds", outcome.settings)) and outcome.status == "done":
            found[f"seeds {name}"] = number(float(seeds[1]), f"docs/results/paper/{name}.json", outcome.command)
    for one in judged:
        if one.measured is not None and np.isfinite(one.measured.value):
            outcome = outcomes[one.claim.figure]
            listed = f"docs/results/paper/{outcome.name}.json"  # names the figure's tables
            error = one.measured.error if np.isfinite(one.measured.error) else 0.0
            found[f"claim {one.claim.id}"] = number(one.measured.value, listed, outcome.command, error)
    return found


def _breaking() -> dict[str, Number]:
    """Infinitely many long, equal branches: capacity and silent fraction by steps of symmetry breaking."""
    found = {}
    table, command = "studies/breaking_by_steps.csv", "python -m studies.breaking_by_steps compute"
    names = {"paper": "alpha_0", "one step": "alpha_1", "two steps": "alpha_2"}
    names |= {"silent paper": "silent_0", "silent one step": "silent_1", "silent four steps": "silent_4"}
    names |= {"unstable": "unstable"}
    for row in stored(breaking_by_steps.TABLE):
        at = f"{row['nonlinearity']} {row['theta_d']}".removeprefix("polsky ")
        for name, column in names.items():
            found[f"{name} {at}"] = number(float(row[column]), table, command)
        found[f"many steps {at}"] = number(float(row["alpha_full"]), table, command, float(row["full_error"]))
    return found


def _real_neuron() -> dict[str, Number]:
    """999 synapses on 27 branches: best estimates, loads reached by `solve`, and their share."""
    found: dict[str, Number] = {}
    table, command = "studies/capacity_of_a_real_neuron.csv", "python -m studies.capacity_of_a_real_neuron compute"
    reached = loads_reached()
    rows = {row["theta_d"]: row for row in stored(real_neuron.TABLE)}
    for theta_d, row in rows.items():
        best, silent = float(row["best"]), float(row["silent_fraction"])
        found[f"best {theta_d}"] = number(best, table, command, float(row["error"]))
        found[f"silent best {theta_d}"] = number(silent, table, command, float(row["silent_error"]))
        found.setdefault(f"paper {theta_d}", number(float(row["replica_symmetric"]), table, command))
    measured = "python -m studies.solvers capacity"
    over_paper, shares = [], []
    for theta_d, load in reached.items():
        row = rows[f"{theta_d:g}"]
        found[f"solved {theta_d:g}"] = number(load, "studies/solvers.csv", measured)
        over_paper.append(load - float(row["replica_symmetric"]))
        shares.append(load / float(row["best"]))
        found[f"share {theta_d:g}"] = number(shares[-1], table, command)
    found["solved above paper"] = number(max(over_paper), "studies/solvers.csv", measured)
    found["share least"] = number(min(shares), table, command)
    found["share most"] = number(max(shares), table, command)
    found["left least"] = number(1.0 - max(shares), table, command)
    found["left most"] = number(1.0 - min(shares), table, command)
    found["nearest optimum 0.01"] = number(float(rows["0.01"]["nearest"]), table, command)
    largest = rows["1"]
    over = float(largest["replica_symmetric"]) / float(largest["best"])
    found["paper over best 1"] = number(over, table, command, over * float(largest["error"]) / float(largest["best"]))
    return found


def _paper_tables() -> dict[str, Number]:
    """Numbers of the stored reproduction that no claim has: slopes of the ReLU, distances to a lognormal."""
    found = {}
    tables = read_tables(PAPER, ["fig9", "fig9_rsb", "fig9_slopes", "fig6_rivals", "fig6_fit"])
    relu = tables["fig9"][tables["fig9"].nonlinearity == "relu"]
    slope = np.gradient(relu.alpha_c.to_numpy(), np.log(relu.theta_d.to_numpy()))
    for name, theta_d in (("30", 30.0), ("1e3", 1e3), ("1e5", 1e5), ("1e8", 1e8)):
        at = float(np.interp(np.log(theta_d), np.log(relu.theta_d), slope))
        found[f"relu slope {name}"] = _of_figure(at, "fig9")
    broken = tables["fig9_rsb"].set_index("nonlinearity")
    for name, own, height in (
        ("relu slope broken", broken.loc["relu"], broken.loc["relu"].alpha_c),
        ("growth exponent broken", broken.loc["saturating_relu"], np.log(broken.loc["saturating_relu"].alpha_c)),
    ):
        # The error is the spread of the local slopes: how far the law is from a straight line.
        local = np.gradient(height, np.log(own.theta_d))
        found[name] = _of_figure(float(local.mean()), "fig9", "fig9_rsb", float(local.std(ddof=1)))
        found[f"{name}, last over first"] = _of_figure(float(local[-1] / local[0]), "fig9", "fig9_rsb")
    slopes = tables["fig9_slopes"].set_index("nonlinearity")
    found["relu slope fitted"] = _of_figure(slopes.fitted["relu"], "fig9", "fig9_slopes")
    found["slope saturating"] = _of_figure(slopes.exact["saturating_relu"], "fig9", "fig9_slopes")
    found["slope polsky"] = _of_figure(slopes.exact["polsky"], "fig9", "fig9_slopes")
    rivals = tables["fig6_rivals"]
    behind = rivals[rivals.name == "capacity"].set_index("fit").delta_aic
    labels = ("least squares", "likelihood", "tested pairs")
    for label, units in zip(labels, behind, strict=True):
        found[f"aic {label}"] = _of_figure(units, "fig6", "fig6_rivals")
    fit = tables["fig6_fit"].iloc[0]
    found["W_star"] = _of_figure(fit.W_star, "fig6", "fig6_fit")
    found["W_star mV"] = _of_figure(fit.W_star_mv, "fig6", "fig6_fit")
    return found


def _of_figure(value: float, figure: str, table: str = "", error: float = 0.0) -> Number:
    command = next(outcome.command for outcome in reproduction().outcomes if outcome.name == figure)
    return number(value, f"docs/results/paper/{table or figure}.csv", command, error)


def _classifiers() -> dict[str, Number]:
    """Test errors of the classifier beside others, 10,000 images of MNIST."""
    found = {}
    rows = [row for row in stored(classifiers.TABLE) if row["data"] == "mnist"]
    for which in dict.fromkeys(row["classifier"] for row in rows):
        errors = np.array([float(row["error"]) for row in rows if row["classifier"] == which])
        name = f"mnist {which}"
        command = "python -m studies.classifiers compute mnist"
        found[name] = number(float(errors.mean()), "studies/classifiers.csv", command, standard_error(errors))
    return found


def _images() -> dict[str, Number]:
    """Dendritic and linear neuron on images, with settings chosen on held-out ones: errors after the last epoch."""
    found = {}
    table, command = "studies/generalisation.csv", "python -m studies.generalisation"
    rows = stored(ROOT / table)
    last = {row["task"]: max(int(one["epoch"]) for one in rows if one["task"] == row["task"]) for row in rows}
    for row in rows:
        if int(row["epoch"]) == last[row["task"]]:
            kind = row["neuron"].partition(",")[0]
            at = f"images {row['task']} {row['K']} {kind}"
            for name, column in ((at, "test_error"), (f"{at} balanced", "balanced_test_error")):
                found[name] = number(float(row[column]), table, command, float(row[f"{column}_se"]))
    return found


def _speed() -> dict[str, Number]:
    """Nanoseconds per training step, from the table that the benchmark printed."""
    table, command = "docs/results/learning_speed.md", "python benchmarks/learning.py --rounds 100 --only step"
    rows = re.findall(
        r"^\| (dendrocap|C|JAX scan in our layout|JAX scan|PyTorch loop)[^|]*\| ([\d,]+)", read_text(table), re.M
    )
    return {f"step {name}": number(float(ns.replace(",", "")), table, command) for name, ns in reversed(rows)}


def read_text(page: str) -> str:
    """A page of the repository."""
    return (ROOT / page).read_text(encoding="utf-8")


def as_json(numbers: Mapping[str, Number]) -> str:
    """The file of numbers: seven significant digits, so that it is the same on every machine."""
    rounded = {
        name: {**asdict(one), "value": _short(one.value), "error": _short(one.error)} for name, one in numbers.items()
    }
    return json.dumps(rounded, indent=1, ensure_ascii=False) + "\n"


def _short(value: float) -> float:
    return float(f"{value:.7g}")


def read() -> dict[str, Number]:
    """The stored numbers."""
    return {name: Number(**entry) for name, entry in json.loads(NUMBERS.read_text(encoding="utf-8")).items()}


def pages() -> Iterator[Path]:
    """README and the pages that may quote."""
    for pattern in QUOTING:
        yield from (page for page in sorted(ROOT.glob(pattern)) if page.name not in GENERATED)


def up_to_date(text: str, numbers: Mapping[str, Number]) -> str:
    """A page whose quotations say what the numbers are, with the digits that they had."""

    def said(match: re.Match[str]) -> str:
        if match["name"] not in numbers:
            raise KeyError(f"{match[0]} names no number; `python -m studies.numbers show` lists them")
        one = numbers[match["name"]]
        return in_the_manner_of(match, one) + f"<!--={match['name']}-->"

    return QUOTED.sub(said, text)


def in_the_manner_of(match: re.Match[str], one: Number) -> str:
    """A number with the decimals of a quotation, its error in brackets, behind ± or not at all, in per cent or not."""
    decimals = len(match["decimals"] or "")
    scale = 100.0 if match["percent"] else 1.0
    grouped = "," if "," in match["value"] else ""
    text = f"{scale * one.value:{grouped}.{decimals}f}".replace("-", MINUS if MINUS in match["value"] else "-")
    if match["error"]:
        error = f"{scale * one.error:.{decimals}f}"
        text += f" ± {error}" if "±" in match["error"] else f"({round(scale * one.error * 10**decimals)})"
    return text + (match["percent"] or "")


def write() -> None:
    """Collect the numbers and bring all quotations up to date."""
    numbers = collect()
    write_file(NUMBERS, as_json(numbers))
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (new := up_to_date(text, numbers)) != text:
            write_file(page, new)
            print("quotations changed:", page.relative_to(ROOT))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("write", "show"), nargs="?", default="write")
    if parser.parse_args().part == "write":
        write()
    else:
        for name, one in collect().items():
            print(f"{name:45} {one.printed:>20}   {one.table}")


if __name__ == "__main__":
    main()
