"""Cells from their reconstructions."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import InvalidParameter, Polsky, ReLU, TaskSpec, capacity, cell_from_morphology, plot
from dendrocap.datasets import example_cell
from dendrocap.errors import CorruptData
from dendrocap.fitting import group_shares

pytest.importorskip("morphio", reason="needs the extra morphology")

REAL = Path(os.environ.get("DENDROCAP_DATA", "nowhere")) / "morphology"
# What MorphIO 3.5 reads, as stated beside the files: sections and micrometres of basal and apical dendrite.
KNOWN = {"Hay_2011": (84, 5133, 109, 7441), "Park_2019": (7, 791, 43, 2507), "Smith_2013": (104, 8224, 0, 0)}


def swc(tmp_path, *rows, name="cell.swc"):
    path = tmp_path / name
    path.write_text("\n".join(rows) + "\n")
    return path


SOMA = "1 1 0 0 0 5 -1"


def test_branches_are_counted_and_measured_by_type():
    cell = cell_from_morphology(example_cell(), synapses_per_um=2.0)
    basal, trunk, tuft = cell.groups
    assert [group.name for group in cell.groups] == ["basal", "apical trunk", "apical tuft"]
    assert [group.n_branches for group in cell.groups] == [2, 1, 2]
    assert_allclose(basal.length_um, 2.0 * np.hypot(100.0, 40.0), rtol=1e-6)
    assert_allclose([trunk.length_um, tuft.length_um], [200.0, 200.0], rtol=1e-6)
    assert tuft.n_synapses == 400
    assert cell.n_inputs == sum(group.n_synapses for group in cell.groups)
    assert cell.n_branches == 5
    assert_allclose(sum(kind.fraction for kind in cell.spec.populations), 1.0)
    terminal = cell_from_morphology(example_cell(), branches="terminal", synapses_per_um=2.0)
    assert [group.name for group in terminal.groups] == ["basal", "apical tuft"]


def test_obliques_leave_the_trunk_and_the_tuft_begins_at_the_main_fork(tmp_path):
    rows = [SOMA, "2 4 0 5 0 1 1", "3 4 0 105 0 1 2"]
    rows += ["4 4 30 105 0 1 3"]  # a thin side branch: 30 um of more than 300
    rows += ["5 4 0 205 0 1 3", "6 4 80 265 0 1 5", "7 4 -80 265 0 1 5"]  # two daughters of the same length
    cell = cell_from_morphology(swc(tmp_path, *rows))
    assert {group.name: group.n_branches for group in cell.groups} == {
        "apical trunk": 2,
        "apical oblique": 1,
        "apical tuft": 2,
    }


def test_kinds_differ_in_what_they_are_given_and_reach_the_theory():
    kinds = {"apical tuft": {"theta_d": 0.2, "synapses_per_um": 4.0, "f_in": 0.3, "nonlinearity": ReLU()}}
    cell = cell_from_morphology(example_cell(), synapses_per_um=2.0, kinds=kinds)
    tuft = cell.groups[-1]
    assert (tuft.theta_d, tuft.f_in, tuft.n_synapses, tuft.nonlinearity) == (0.2, 0.3, 800, ReLU())
    assert cell.groups[0].nonlinearity == Polsky()
    population = cell.spec.populations[-1]
    assert (population.theta_d, population.f_in, population.length) == (0.2, 0.3, 400.0)


def test_capacity_takes_the_cell_and_without_a_group_it_stores_less():
    cell = cell_from_morphology(example_cell(), synapses_per_um=2.0)
    whole, shares = group_shares(cell, TaskSpec(f_in=0.4))
    assert whole.n_patterns == capacity(cell, TaskSpec(f_in=0.4), accuracy="fast").n_patterns
    for share, population in zip(shares, whole.populations, strict=True):
        assert share.silent_fraction == population.silent_fraction
        assert share.without.n_patterns < whole.n_patterns
        assert share.without.neuron.n_branches == cell.n_branches - share.group.n_branches
    figure = plot.cell(cell, whole, shares)
    assert "replica symmetric" in figure.get_suptitle()


def test_a_single_group_is_free_to_split(tmp_path):
    cell = cell_from_morphology(
        swc(tmp_path, SOMA, "2 3 5 0 0 1 1", "3 3 105 0 0 1 2", "4 3 0 5 0 1 1", "5 3 0 99 0 1 4")
    )
    assert not cell.spec.populations
    whole, (share,) = group_shares(cell)
    assert share.without is None
    assert share.silent_fraction == whole.silent_fraction
    with pytest.raises(InvalidParameter, match="cannot lose its only group"):
        cell.without("basal")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "cell.swc"),
        (["not a cell"], "cell.swc: line 1"),
        ([SOMA], "contains no dendrites"),
        ([SOMA, "2 2 5 0 0 1 1", "3 2 99 0 0 1 2"], "contains no dendrites, only axon.*type 3"),
        ([SOMA, "2 3 5 0 0 1 7", "3 3 99 0 0 1 2"], "cell.swc"),
        ([SOMA, "2 1 0 5 0 5 1", "3 1 5 0 0 5 2", "4 1 -5 0 0 5 2", "5 3 9 0 0 1 3", "6 3 99 0 0 1 5"],
         "line 2: the soma consists of points that fork.*single point.*Nothing was repaired"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused_in_words(tmp_path, rows, words):
    with pytest.raises(CorruptData, match=words):
        cell_from_morphology(swc(tmp_path, *rows))


def test_other_mistakes_name_the_value(tmp_path):
    for arguments, words in (
        ({"synapses_per_um": 0.001}, "synapses_per_um = 0.001"),
        ({"branches": "tips"}, "branches = 'tips'"),
        ({"kinds": {"dorsal": {}}}, "kind = 'dorsal'"),
        ({"kinds": {"basal": {"length": 1.0}}}, "'length'"),
        ({"kinds": {"apical oblique": {"theta_d": 0.1}}}, "no branches of kind apical oblique"),
        ({"theta_d": -1.0}, "theta_d = -1.0"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            cell_from_morphology(example_cell(), **arguments)
    with pytest.raises(InvalidParameter, match=r"cell\.txt.*\.swc"):
        cell_from_morphology(tmp_path / "cell.txt")
    with pytest.raises(CorruptData, match="there is no file"):
        cell_from_morphology(tmp_path / "cell.swc")


def test_what_the_reader_remarks_is_kept(tmp_path):
    rows = [SOMA, "2 3 5 0 0 1 1", "3 3 105 0 0 0 2", "4 3 0 5 0 1 -1", "5 3 0 99 0 1 4"]
    cell = cell_from_morphology(swc(tmp_path, *rows))
    assert cell.remarks
    assert all("\x1b" not in remark for remark in cell.remarks)


@pytest.mark.parametrize("name", KNOWN)
def test_real_reconstructions_have_the_sections_and_lengths_stated_beside_them(name):
    path = REAL / f"{name}.swc"
    if not path.exists():
        pytest.skip("needs the reconstructions: set DENDROCAP_DATA")
    groups = cell_from_morphology(path).groups
    n_basal, basal_um, n_apical, apical_um = KNOWN[name]
    basal = [group for group in groups if group.name == "basal"]
    apical = [group for group in groups if group.name != "basal"]
    assert sum(group.n_branches for group in basal) == n_basal
    assert sum(group.n_branches for group in apical) == n_apical
    assert_allclose(sum(group.length_um for group in basal), basal_um, atol=1.0)
    assert_allclose(sum(group.length_um for group in apical), apical_um, atol=1.0)


def test_a_soma_that_forks_is_refused_with_its_line():
    path = REAL / "Poirazi_2003.swc"
    if not path.exists():
        pytest.skip("needs the reconstructions: set DENDROCAP_DATA")
    with pytest.raises(CorruptData, match="line 3308: the soma consists of points that fork"):
        cell_from_morphology(path)
