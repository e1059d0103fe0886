"""The linear neuron against linear programming."""

import numpy as np
import pytest

from dendrocap import DendriticNeuron, InvalidParameter, LinearNeuron, NeuronSpec, Polsky, random_patterns
from dendrocap.learning import SGD, HalveOnPlateau, linear_feasibility, patterns_at_load, train


def test_margins_of_a_task_that_can_be_done_by_hand():
    # One input, wanted on: W / 1 - theta grows without bound; wanted off: W = 0 leaves theta.
    neuron = LinearNeuron(theta_d=0.5, n_inputs=1)
    assert linear_feasibility(neuron, [[1]], [1]).feasible
    off = linear_feasibility(neuron, [[1]], [0])
    assert off.feasible
    assert off.margin == pytest.approx(0.5, abs=1e-6)
    assert off.weights.shape == (1, 1)
    # Two inputs, one on and one off: W = (w, 0), margins (w / sqrt 2 - sqrt(2)/2) and sqrt(2)/2.
    both = linear_feasibility(LinearNeuron(0.5, 2), [[1, 0], [0, 1]], [1, 0])
    assert both.margin == pytest.approx(np.sqrt(0.5), abs=1e-6)
    # A silent pattern can never be on.
    assert linear_feasibility(neuron, [[0]], [1]).margin == pytest.approx(-0.5, abs=1e-6)


def test_margin_asked_for_decides():
    task = random_patterns(20, 60, rng=3)
    neuron = LinearNeuron(0.5, 60)
    widest = linear_feasibility(neuron, *task).margin
    assert widest > 0.0
    assert linear_feasibility(neuron, *task, kappa=0.9 * widest).feasible
    assert not linear_feasibility(neuron, *task, kappa=1.1 * widest).feasible


def test_the_margin_reported_is_that_of_the_weights():
    inputs, labels = random_patterns(40, 60, rng=4)
    neuron = LinearNeuron(0.5, 60)
    found = linear_feasibility(neuron, inputs, labels)
    signs = np.where(labels, 1.0, -1.0)
    assert np.min(signs * neuron.somatic_input(found.weights, inputs)) == found.margin
    assert np.all(found.weights >= 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_training_solves_easy_tasks_and_never_claims_an_impossible_one(seed):
    neuron = LinearNeuron(0.5, 199)
    for alpha in (0.6, 1.1, 1.4):
        inputs, labels = patterns_at_load(neuron, alpha, seed)
        possible = linear_feasibility(neuron, inputs, labels).feasible
        result = train(
            neuron, inputs, labels, algorithm=SGD(0.1), schedule=HalveOnPlateau(50), max_epochs=3000, seed=seed
        )
        assert possible or not result.solved
        if alpha == 0.6:
            assert possible
            assert result.solved


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_training_solves_what_is_solvable_at_nine_tenths_of_capacity(seed):
    neuron = LinearNeuron(0.5, 999)
    inputs, labels = patterns_at_load(neuron, 0.9, seed)
    assert linear_feasibility(neuron, inputs, labels).feasible
    result = train(
        neuron, inputs, labels, algorithm=SGD(0.1), schedule=HalveOnPlateau(1000), max_epochs=20_000, seed=seed
    )
    assert result.solved
    # Capacity 1 is a limit of large N; at N = 999 the transition is about N^(-1/2) wide.
    impossible = patterns_at_load(neuron, 1.15, seed)
    assert not linear_feasibility(neuron, *impossible).feasible
    assert not train(
        neuron, *impossible, algorithm=SGD(0.1), schedule=HalveOnPlateau(20), max_epochs=500, seed=seed
    ).solved


def test_only_the_linear_neuron_is_accepted():
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 4, 2)
    with pytest.raises(InvalidParameter, match="a LinearNeuron"):
        linear_feasibility(neuron, [[1, 0, 0, 1]], [1])
