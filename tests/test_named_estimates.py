"""No output shows a capacity or a silent fraction of the replica-symmetric theory without its name.

The replica-symmetric numbers are computed here and then looked for in what users see: outputs of commands with their
figures, and reprs of results. Where one is found, a name must stand beside it. tests/explorer does so for the page.
"""

import json
import re
from functools import cache

import pytest
from typer.testing import CliRunner

import dendrocap as dc
from dendrocap.cli import app

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


# Commands that know capacities or silent fractions of the theory, with small settings; {} is a folder with a sweep.
SHOWING = [
    "capacity --theta-d 0.5 -N 999 -K 27 --accuracy fast --estimates",
    "capacity --theta-d 0.5 --rsb 0,1",
    "capacity --theta-d 0.5,1 --accuracy fast --plot {}/best.svg",
    "capacity --theta-d 0.5,1 --rsb 0 --plot {}/certain.svg",
    "saddle-point --alpha 6 --theta-d 0.5",
    "noise --theta-d 0.5 --plot {}/noise.svg",
    "learned-state --alpha 0.5,6 --theta-d 0.5 --quantity silent_fraction --plot {}/learned.svg",
    "local-entropy --alpha 0.5,6 --theta-d 0.5 --distance 0.01,0.1 --plot {}/local.svg",
    "teacher-student -g linear --teacher polsky --alpha 0.5,1 --plot {}/teacher.svg",
    "sweep export {}/sweep.svg --x theta_d --y alpha_c --store {}/results.db",
    "sweep export {}/sweep.csv --store {}/results.db",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a sweep that was run."""
    path = tmp_path_factory.mktemp("sweep")
    (path / "capacity.toml").write_text(SWEEP)
    run("sweep run {}/capacity.toml --store {}/results.db", path)
    return path


def run(words, folder):
    return CliRunner().invoke(app, [word.replace("{}", str(folder)) for word in words.split()])


@pytest.mark.parametrize("words", SHOWING)
def test_commands_name_what_they_print_and_draw(words, folder):
    outcome = run(words, folder)
    assert not unnamed(outcome.stdout + outcome.stderr)
    for target in re.findall(r"\{\}/(\S+\.(?:svg|csv))", words):
        assert not unnamed(re.sub(r"<path.*?/>|<defs>.*?</defs>", "", (folder / target).read_text(), flags=re.DOTALL))
        assert NAMES.search((folder / target).read_text())


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


@pytest.mark.parametrize("more", [{}, {"rsb": 1}, {"branch_size": 1e12}], ids=str)
def test_reprs_name_their_estimate(more):
    result = dc.critical_capacity(HALF, **more)
    assert not unnamed(repr(result))
    assert not unnamed(result._repr_html_())
    assert shown_numbers(result._repr_html_())  # otherwise this test says nothing
