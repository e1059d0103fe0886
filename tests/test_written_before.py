"""Files of earlier versions are read with what they held: tests/data/written_before.py wrote them."""

import json
import shutil

import pytest

import dendrocap as dc
from tests.data.written_before import HERE, SWEEPS, classifier_as_read, resumed, run_as_read, sweep_as_read

EXPECTED = json.loads((HERE / "written_before.json").read_text(encoding="utf-8"))


def same(found, expected):
    """Equality, with the last digits of numbers left open."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found == (pytest.approx(expected, rel=1e-11, abs=1e-13) if isinstance(expected, float) else expected)


@pytest.mark.parametrize("name", EXPECTED["runs"])
def test_a_run_is_read(name):
    assert same(run_as_read(HERE / name), EXPECTED["runs"][name])


def test_a_run_is_resumed():
    assert resumed().error_history.tolist() == EXPECTED["resumed"]


@pytest.mark.parametrize("name", EXPECTED["classifiers"])
def test_a_classifier_answers_as_before(name):
    assert same(classifier_as_read(HERE / name), EXPECTED["classifiers"][name])


@pytest.mark.parametrize("name", EXPECTED["sweeps"])
def test_a_store_is_read_and_its_finished_cells_are_not_run_again(name, tmp_path):
    path = shutil.copy(HERE / "results.db", tmp_path)
    assert same(sweep_as_read(path, name), EXPECTED["sweeps"][name])
    with dc.Store(path) as store:
        before = store.counts(SWEEPS[name])
    assert before.failed == (name == "capacity")
    assert before.done + before.failed == before.cells == len(EXPECTED["sweeps"][name]["cells"])
