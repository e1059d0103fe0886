"""No output shows a capacity or a silent fraction of the replica-symmetric theory without its name.

The replica-symmetric numbers are computed here and then looked for in what users see: outputs of commands, texts of
figures, reprs of results, and the documentation. Where one is found, a name must stand beside it.
"""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import typer.main
from matplotlib.text import Text
from typer.testing import CliRunner

import dendrocap as dc
from dendrocap import plot, theory
from dendrocap.cli import app
from dendrocap.reproduction import selected
from tests.documentation.sources import DOCS, ROOT

NAMES = re.compile(r"replica[- ]symmetr|\bpaper|\bRS\b", re.IGNORECASE)
HALF, ONE = (dc.NeuronSpec(dc.Polsky(), theta_d, 0.5) for theta_d in (0.5, 1.0))
SWEEP = 'job = "capacity"\n[parameters]\ntheta_s = 0.5\n[grid]\ntheta_d = [0.5, 1.0]\n'


@cache
def symmetric():
    """The numbers that must not be shown without a name, for the neurons of the outputs below."""
    solutions = [dc.critical_capacity(neuron) for neuron in (HALF, ONE)]
    return tuple(number for one in solutions for number in (one.alpha_c, one.silent_fraction))


def shown_numbers(text):
    """Replica-symmetric numbers in a text, as they are written there: three digits or more, or silent per cent."""
    found = []
    silence = re.search(r"silent|p_?0", text)
    for match in re.finditer(r"(?<![\d.])(\d+(?:\.(\d+))?)(?![\d.]*\d)(\s?\\?%)?", text):
        written, decimals, percent = match[1], len(match[2] or ""), bool(match[3])
        if percent and not silence:  # a share of something else
            continue
        digits = len(written.replace(".", "").lstrip("0"))
        for number in symmetric():
            value = 100.0 * number if percent else number
            if digits >= (2 if percent else 3) and f"{value:.{decimals}f}" == written:
                found.append(match[0])
    return found


def unnamed(text):
    """The same, if no name stands beside them."""
    return [] if NAMES.search(text) else shown_numbers(text)


def test_the_search_finds_what_it_looks_for():
    assert unnamed("capacity 4.95, silent 0.787") == ["4.95", "0.787"]
    assert unnamed("capacity 4.951315, 79 % silent or 78.7% of 9.457") == ["4.951315", "79 %", "78.7%", "9.457"]
    assert not unnamed("replica symmetric: 4.9513, 79 %")
    assert not unnamed("capacity 2.35, silent 17 %, 14.95, 4.957, 4.9 and 79 patterns")
    assert not unnamed("solved by 79 % of the seeds")


# Commands ----------------------------------------------------------------------------------------------------------

# Those that know capacities or silent fractions of the theory, with small settings; {} is a folder with a sweep.
SHOWING = {
    "capacity": [
        "capacity --theta-d 0.5,1 --accuracy fast",
        "capacity --theta-d 0.5 -N 999 -K 27 --accuracy fast --estimates",
        "capacity --theta-d 0.5,1 --rsb 0",
        "capacity --theta-d 0.5 --rsb 0,1",
        "capacity --theta-d 0.5,1 --accuracy fast --plot {}/best.svg",
        "capacity --theta-d 0.5,1 --rsb 0 --plot {}/certain.svg",
    ],
    "best-dendrite": ["best-dendrite --rsb 0 --plot {}/dendrite.svg"],
    "saddle-point": ["saddle-point --alpha 0.5 --theta-d 0.5", "saddle-point --alpha 6 --theta-d 0.5"],
    "noise": [
        "noise --alpha 0.5,6 --theta-d 0.5",
        "noise --theta-d 0.5 --plot {}/noise.svg",
        "noise --alpha 6 --flips 0.01 --theta-d 0.5",
    ],
    "learned-state": [
        "learned-state --alpha 4.951315,9 --theta-d 0.5",
        "learned-state --alpha 0.5,6 --theta-d 0.5 --quantity silent_fraction --plot {}/learned.svg",
    ],
    "local-entropy": [
        "local-entropy --alpha 0.5 --theta-d 0.5 --distance 0.1",
        "local-entropy --alpha 0.5,6 --theta-d 0.5 --distance 0.01,0.1 --plot {}/local.svg",
    ],
    "teacher-student": [
        "teacher-student --alpha 1 --theta-d 0.5",
        "teacher-student -g linear --teacher polsky --alpha 0.5,1 --plot {}/teacher.svg",
    ],
    "sweep run": ["sweep run {}/capacity.toml --store {}/results.db"],
    "sweep export": [
        "sweep export {}/sweep.svg --x theta_d --y alpha_c --store {}/results.db",
        "sweep export {}/sweep.csv --store {}/results.db",
    ],
}
# Those that do not: they measure, draw g, or handle files. The explorer's page has tests of its own in tests/explorer.
SILENT = {
    "train", "solve", "algorithmic-capacity", "generalise", "explore", "datasets", "sweep status",
    "sweep salvage", "sweep merge", "sweep jobs", "perturb",
}  # fmt: skip
# Those whose outputs are searched elsewhere: figures of the paper below, fits in tests/fitting and tests/cli.
ELSEWHERE = {"reproduce", "fit nonlinearity", "fit weights", "cell"}


def commands(command=None, path=()):
    command = typer.main.get_command(app) if command is None else command
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path)
    else:
        for name, child in below.items():
            yield from commands(child, (*path, name))


def test_every_command_was_thought_of():
    assert set(commands()) == {*SHOWING, *SILENT, *ELSEWHERE}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a sweep that was run."""
    path = tmp_path_factory.mktemp("sweep")
    (path / "capacity.toml").write_text(SWEEP)
    run("sweep run {}/capacity.toml --store {}/results.db", path)
    return path


def run(words, folder):
    return CliRunner().invoke(app, [word.replace("{}", str(folder)) for word in words.split()])


@pytest.mark.parametrize("words", [words for listed in SHOWING.values() for words in listed])
def test_commands_name_what_they_print_and_draw(words, folder):
    outcome = run(words, folder)
    assert not unnamed(outcome.stdout + outcome.stderr)
    for target in re.findall(r"\{\}/(\S+\.(?:svg|csv))", words):
        assert not unnamed(re.sub(r"<path.*?/>|<defs>.*?</defs>", "", (folder / target).read_text(), flags=re.DOTALL))
        assert NAMES.search((folder / target).read_text())


def cells(printed):
    """The cells of all tables in a terminal's output: the heading of its column, the row, and the cell."""
    heading = []
    for line in printed.splitlines():
        if line.startswith("┏"):
            heading = []
        parts = [part.strip() for part in re.split("[┃│]", line)[1:-1]]
        if line.startswith("┃"):
            heading = [" ".join(pair) for pair in zip(heading, parts, strict=True)] if heading else parts
        elif line.startswith("│"):
            yield from ((title, line, part) for title, part in zip(heading, parts, strict=True))


@pytest.mark.parametrize("words", [words for words in SHOWING["capacity"] if "--estimates" not in words])
def test_tables_name_the_column_or_the_row(words, folder):
    met = [
        (title, row)
        for title, row, cell in cells(run(words, folder).stdout)
        if shown_numbers(f"{cell}{' silent' if '%' in cell else ''}")
    ]
    assert met
    assert all(NAMES.search(title + row) for title, row in met)


def test_the_numbers_are_there_to_be_found(folder):
    for words in ("capacity --theta-d 0.5 --accuracy fast", "capacity --theta-d 0.5 --rsb 0"):
        assert shown_numbers(run(words, folder).stdout)
    assert shown_numbers(run("saddle-point --alpha 6 --theta-d 0.5", folder).stderr)


def walk(value, path=(), row=None):
    """Each number of a JSON value with the keys that lead to it and the row that it stands in."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, (*path, key), value if row is None else row)
    elif isinstance(value, list):
        for item in value:
            yield from walk(item, path, row)
    elif isinstance(value, float):
        yield value, " ".join(path), row


@pytest.mark.parametrize(
    "words",
    [
        "capacity --theta-d 0.5,1 --accuracy fast --json",
        "capacity --theta-d 0.5 -N 999 -K 27 --accuracy fast --json",
        "capacity --theta-d 0.5,1 --rsb 0,1 --json",
        "sweep export {}/again.svg --x theta_d --y alpha_c --store {}/results.db --json",
    ],
)
def test_json_has_a_name_on_the_way_to_every_number(words, folder):
    rows = json.loads(run(words, folder).stdout)
    met = 0
    for number, keys, row in walk(rows):
        if any(abs(number - known) < 1e-6 for known in symmetric()):
            met += 1
            assert NAMES.search(keys) or NAMES.search(str(row.get("estimate", ""))), keys
    assert met


# Figures ------------------------------------------------------------------------------------------------------------


def texts(figure):
    return " | ".join(text.get_text() for text in figure.findobj(Text) if text.get_text())


def rows(**more):
    return [{"nonlinearity": "polsky", "theta_d": n.theta_d, **values(n), **more} for n in (HALF, ONE)]


def values(neuron):
    found = dc.critical_capacity(neuron)
    return {"alpha_c": found.alpha_c, "silent_fraction": found.silent_fraction}


def best():
    return [
        {"nonlinearity": "polsky", "theta_d": n.theta_d, **dc.capacity(n, accuracy="fast").as_row()}
        for n in (HALF, ONE)
    ]


def at_capacity():
    answer = dc.capacity(HALF, accuracy="fast")
    x = np.array([0.5, 1.0])
    curve = {theory.results.SYMMETRIC: (x, symmetric()[::2])}
    return plot.neuron_at_capacity(answer, curve, "theta_d", dc.Units(999, 27))


PLOTS = {
    "curves": [
        lambda: plot.curves(rows(), "theta_d", "alpha_c"),
        lambda: plot.curves(rows(), "theta_d", "alpha_c", legend=False),
        lambda: plot.curves(rows(rsb=0), "theta_d", "silent_fraction"),
        lambda: plot.curves([*rows(rsb=0), *rows(rsb=1)], "theta_d", "alpha_c"),
        lambda: plot.curves(rows(estimate="replica symmetric"), "theta_d", "alpha_c"),
        lambda: plot.curves(best(), "theta_d", "alpha_c"),
        lambda: plot.curves(best(), "theta_d", "silent_fraction"),
    ],
    "neuron_at_capacity": [at_capacity],
    "best_dendrite": [
        lambda: plot.best_dendrite(dc.best_dendrite(5.0, 0.5, task=dc.TaskSpec(kappa=0.2), rsb=0), {"g": dc.Polsky()})
    ],
    "states": [
        lambda: plot.states(rows(estimate="replica symmetric"), "theta_d", {"silent_fraction": "silent"}, "silent")
    ],
}
# Plots without a capacity of the theory, of measurements, or, in the last three, of fits, whose tests are elsewhere.
OTHER_PLOTS = {
    "averages", "error_curve", "generalisation", "nonlinearity", "robustness", "save", "training",
    "perturbations", "branch_weights", "receptive_fields", "cell", "nonlinearity_fit", "weight_fit",
}  # fmt: skip


def test_every_plot_was_thought_of():
    assert set(plot.__all__) == {*PLOTS, *OTHER_PLOTS}


@pytest.mark.parametrize(("name", "place"), [(name, i) for name, listed in PLOTS.items() for i in range(len(listed))])
def test_plots_name_their_estimate(name, place):
    assert re.search("replica symmetric", texts(PLOTS[name][place]()))


@pytest.mark.parametrize("name", [*(figure.name for figure in selected() if figure.kind == "theory"), "fig3"])
def test_figures_of_the_paper_name_their_estimate_in_every_panel_or_their_legend(name):
    (figure,) = selected([name])
    drawn = figure.draw(figure.read(DOCS / "results" / "paper"))
    if drawn.legends and any(re.search("replica symmetric", t.get_text()) for t in drawn.legends[0].get_texts()):
        return  # one legend for all panels
    learned = 2 if name == "fig3" else 0  # training errors, and the loads learned by three readings: no theory
    for axes in drawn.axes[learned:]:
        assert re.search("replica symmetric", " ".join(t.get_text() for t in axes.findobj(Text))), axes


# Results ------------------------------------------------------------------------------------------------------------

RESULTS = {
    "capacity": lambda: dc.capacity(HALF, accuracy="fast"),
    "critical_capacity": lambda: dc.critical_capacity(HALF),
    "broken": lambda: dc.critical_capacity(HALF, rsb=1),
    "weights": lambda: dc.critical_capacity(HALF).weights,
    "populations": lambda: dc.critical_capacity(HALF, branch_size=1e12),
}


@pytest.mark.parametrize("name", RESULTS)
def test_reprs_name_their_estimate(name):
    result = RESULTS[name]()
    for text in (repr(result), str(result), result._repr_html_()):
        assert not unnamed(text)
    assert shown_numbers(result._repr_html_())  # otherwise this test says nothing


# Documentation --------------------------------------------------------------------------------------------------------

PAGES = sorted(
    [ROOT / "README.md", *DOCS.rglob("*.md"), *(DOCS / "gallery").rglob("*.py"), *(DOCS / "gallery").rglob("*.rst")]
)


def paragraphs(text):
    """The paragraphs of a page, each with the one that introduces it."""
    listed = re.split(r"\n\s*\n", text)
    return ["\n".join(pair) for pair in zip(["", *listed], listed, strict=False)]


@pytest.mark.parametrize(
    "page", [p for p in PAGES if "_build" not in p.parts and "auto_gallery" not in p.parts], ids=lambda p: p.name
)
def test_pages_name_the_numbers_that_they_quote(page: Path):
    found = [(numbers, text) for text in paragraphs(page.read_text(encoding="utf-8")) if (numbers := unnamed(text))]
    assert not found


def test_the_documentation_quotes_such_numbers():
    assert shown_numbers((ROOT / "README.md").read_text(encoding="utf-8"))


# Explorer: texts of its page, exports and scripts belong to tests/explorer, which may use `unnamed` on them. ---------
