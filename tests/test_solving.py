"""Searches that ask theory first: the capacity, what the load means beside it, and which solver suits it."""

import numpy as np
import pytest

from dendrocap import (
    DendriticNeuron,
    InvalidParameter,
    LinearNeuron,
    NeuronSpec,
    NoSolution,
    Polsky,
    TaskSpec,
    capacity,
    pack_patterns,
    random_patterns,
    solve,
    solving,
    solving_outlook,
)
from dendrocap.model import Patterns
from dendrocap.solving import Outlook, random_task, solver_by_theory

NEURON = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), n_inputs=999, n_branches=27)


def test_far_below_capacity_the_fast_estimate_suffices():
    outlook = solving_outlook(NEURON, 999)
    assert outlook.capacity == capacity(NEURON, accuracy="fast").alpha_c
    assert outlook.share == pytest.approx(1.0 / outlook.capacity)
    assert outlook.chance > 0.99
    assert outlook.words == "load 1 is 45 % of the capacity of equal branches, about 2.2: success is expected"


def test_chances_fall_with_the_load_and_end_above_capacity():
    linear = LinearNeuron(0.5, 200)
    outlooks = [solving_outlook(linear, n) for n in (100, 150, 162, 190, 260)]
    chances = [outlook.chance for outlook in outlooks]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.99
    assert 0.05 < chances[2] < 0.95
    assert [outlook.hopeless for outlook in outlooks] == [False, False, False, False, True]
    assert outlooks[-1].capacity == pytest.approx(capacity(linear).alpha_c)


@pytest.mark.parametrize(
    ("load", "said"),
    [(1.0, "50 % of the capacity, 2.00 ± 0.10: success"), (1.6, "about 50 %"), (2.2, "no weights without errors")],
)
def test_words_follow_the_numbers(load, said):
    assert said in Outlook(load, 2.0, 0.1, chance=min(1.0, 2.1 - load)).words


def test_no_patterns_have_no_outlook():
    with pytest.raises(InvalidParameter, match="n_patterns = 0"):
        solving_outlook(NEURON, 0)


@pytest.mark.parametrize("theta_d", [0.01, 0.05, 0.1])
def test_theory_chooses_by_the_capacity_of_equal_branches(theta_d):
    neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d, 0.5), n_inputs=999, n_branches=27)
    equal = capacity(neuron, accuracy="fast").alpha_c
    shares = (0.2, 0.52, 0.54, 0.79, 0.81, 1.1)
    chosen = [solver_by_theory(neuron, round(share * equal * 999)).name for share in shares]
    assert chosen == ["sgd", "sgd", "surrogate", "surrogate", "polished", "polished"]


def test_the_margin_changes_the_choice():
    """A margin lowers the capacity, so that the same load is closer to it."""
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=999, n_branches=27)
    assert solver_by_theory(neuron, 600).name == "sgd"
    assert solver_by_theory(neuron, 600, TaskSpec(kappa=0.3)).name != "sgd"


def test_a_load_above_the_capacity_is_refused_in_words_unless_the_search_is_wanted_anyway():
    linear = LinearNeuron(0.5, 200)
    patterns = random_patterns(300, 200, rng=0)
    with pytest.raises(NoSolution, match=r"load 1\.5 is 150 % of the capacity.*anyway=True"):
        solve(linear, *patterns, seed=0)
    for asked in ({"anyway": True}, {"solver": "sgd"}):
        result = solve(linear, *patterns, seed=0, max_epochs=3, time_limit=None, **asked)
        assert result.epochs == 3
        assert result.errors > 0


def test_an_unknown_solver_is_refused_with_all_names():
    with pytest.raises(InvalidParameter, match=r"solver = 'magic'.*'auto', 'sgd'.*'polished'"):
        solve(NEURON, *random_patterns(10, 999, rng=0), solver="magic")


def test_labels_of_a_teacher_are_not_refused_above_the_capacity():
    teacher = LinearNeuron(0.5, 200)
    patterns = random_patterns(400, 200, rng=3, teacher=teacher)
    assert random_task(patterns) is None
    assert solve(teacher, *patterns, seed=0, max_epochs=2, time_limit=None).algorithm.name == "sgd"


def test_the_best_estimate_is_computed_only_above_the_capacity_of_equal_branches(monkeypatch):
    asked = []

    def recorded(neuron, n_patterns, task, **options):
        asked.append(options)
        return Outlook(1.0, 2.0, 0.1, 1.0)

    monkeypatch.setattr(solving, "solving_outlook", recorded)
    small = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), n_inputs=150, n_branches=9)
    patterns = random_patterns(60, 150, rng=0)
    solve(small, *patterns, seed=0, max_epochs=1)
    assert asked == [{"closely": 1.0}]
    solve(small, *patterns, seed=0, max_epochs=1, solver="sgd")
    assert len(asked) == 1


def test_a_neuron_unknown_to_theory_is_searched_all_the_same(monkeypatch):
    def unknown(*args, **options):
        raise NoSolution("no capacity here")

    monkeypatch.setattr("dendrocap.answers.capacity", unknown)
    small = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=150, n_branches=9)
    assert solver_by_theory(small, 60).name == "sgd"
    assert solve(small, *random_patterns(60, 150, rng=0), seed=0).solved


@pytest.mark.parametrize("seed", range(20))
def test_random_patterns_look_random(seed):
    assert random_task(random_patterns(300, 120, rng=seed)) == TaskSpec()
    sparse = random_task(random_patterns(3000, 120, f_in=0.1, f_out=0.2, rng=seed), kappa=0.1)
    assert sparse.f_in == pytest.approx(0.1, abs=5 * 0.3 / 600)
    assert sparse.f_out == pytest.approx(0.2, abs=5 * 0.4 / np.sqrt(3000))
    assert sparse.kappa == 0.1


def test_packed_patterns_are_judged_like_unpacked_ones(monkeypatch):
    monkeypatch.setattr(solving, "BLOCK", 1000)  # several blocks
    for f_in in (0.5, 0.3):
        inputs, labels = random_patterns(300, 120, f_in=f_in, rng=1)
        assert random_task(Patterns(pack_patterns(inputs), labels)) == random_task(Patterns(inputs, labels))


@pytest.mark.parametrize("what", ["inputs", "patterns", "labels", "one label", "empty"])
def test_other_patterns_do_not(what, rng):
    inputs, labels = random_patterns(300, 120, rng=rng)
    if what == "inputs":  # some are active more often
        inputs |= random_patterns(300, 120, f_in=np.linspace(0.01, 0.4, 120), rng=rng).inputs
    elif what == "patterns":  # some have more active inputs
        inputs = random_patterns(300, 120, branch_correlation=40.0, n_branches=1, rng=rng).inputs
    elif what == "labels":
        labels = (inputs.sum(axis=1) > 60).astype(np.uint8)
    elif what == "one label":
        labels = np.ones_like(labels)
    else:
        inputs = np.zeros_like(inputs)
    assert random_task(Patterns(inputs, labels)) is None
