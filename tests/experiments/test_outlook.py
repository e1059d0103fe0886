"""What is said before a search: theory's capacity, and what the load means beside it."""

import pytest

from dendrocap import DendriticNeuron, InvalidParameter, LinearNeuron, NeuronSpec, Polsky, capacity, solving_outlook
from dendrocap.experiments import Outlook

NEURON = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), n_inputs=999, n_branches=27)


def test_far_below_capacity_the_fast_estimate_suffices():
    outlook = solving_outlook(NEURON, 999)
    assert outlook.capacity == capacity(NEURON, accuracy="fast").alpha_c
    assert outlook.share == pytest.approx(1.0 / outlook.capacity)
    assert outlook.chance > 0.99
    assert "success is expected" in outlook.words


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
