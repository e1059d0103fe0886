"""Thresholds and margins that realise given weights, checked against the forward solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtri

from dendrocap import Linear, NeuronSpec, NoSolution, Polsky, ReLU, SaturatingReLU, Tabulated, TaskSpec
from dendrocap import critical_capacity as capacity
from dendrocap.theory.inverse import dendritic_threshold, linear_margin, silent_range, somatic_thresholds
from dendrocap.theory.weights import CapacityWeights

SPARSE = TaskSpec(f_in=0.05, f_out=0.05)
PAPER_FIT = Polsky(x_min=0.2, gamma=20.0)
CASES = [
    (PAPER_FIT, 0.04, 0.3, SPARSE),
    (PAPER_FIT, 0.04, 0.8, TaskSpec(0.05, 0.1, kappa=0.2)),
    (Polsky(), 0.5, 0.3, TaskSpec()),
    (SaturatingReLU(), 2.0, 0.6, TaskSpec(0.5, 0.2)),
    (ReLU(), 0.5, 0.5, TaskSpec()),
    (Tabulated([0.0, 0.3, 0.6, 1.0], [0.0, 0.2, 0.9, 1.0]), 0.1, 0.4, TaskSpec(0.2, 0.2)),
]


@pytest.mark.parametrize(("g", "theta_d", "theta_s", "task"), CASES)
def test_inverse_undoes_the_capacity(g, theta_d, theta_s, task):
    solution = capacity(NeuronSpec(g, theta_d, theta_s), task)
    assert_allclose(dendritic_threshold(solution.weights, task.f_in), theta_d, rtol=1e-12)
    found = somatic_thresholds(g, solution.weights, task)
    assert_allclose(min(found, key=lambda t: abs(t - theta_s)), theta_s, rtol=1e-8)
    # Every other threshold gives the very same weights.
    for other in found:
        same = capacity(NeuronSpec(g, theta_d, other), task)
        assert_allclose([same.B, same.W_star], [solution.B, solution.W_star], rtol=1e-8)


def thresholds_for(p0, theta_d):
    B = float(ndtri(p0))
    scale = theta_d / SPARSE.f_in / CapacityWeights(B, 1.0).mean()
    return somatic_thresholds(PAPER_FIT, CapacityWeights(B, scale), SPARSE)


def test_the_range_of_silent_fractions_is_where_thresholds_exist():
    theta_d = 0.0393
    reach = silent_range(PAPER_FIT, theta_d, SPARSE)
    # Outside number, paper notes on the fit: at this theta_d no theta_s gives more than 0.7549.
    assert_allclose(reach.high, 0.7549, atol=5e-5)
    assert len(thresholds_for(reach.high - 1e-6, theta_d)) == 2
    assert thresholds_for(reach.high + 1e-6, theta_d) == ()
    assert 0.76 not in reach
    assert len(thresholds_for(reach.low + 1e-6, theta_d)) == 1
    assert thresholds_for(reach.low - 1e-6, theta_d) == ()
    for p0, theta_s in ((reach.low, reach.theta_s_low), (reach.high, reach.theta_s_high)):
        assert p0 in reach
        assert_allclose(capacity(NeuronSpec(PAPER_FIT, theta_d, theta_s), SPARSE).silent_fraction, p0, rtol=1e-10)


def test_of_a_linear_neuron_no_threshold_is_special():
    assert somatic_thresholds(Linear(), CapacityWeights(0.0, 1.0), TaskSpec()) == ()
    assert somatic_thresholds(Linear(), CapacityWeights(0.7, 1.0), TaskSpec()) == ()
    reach = silent_range(Linear(), 0.5, TaskSpec())
    assert_allclose([reach.low, reach.high], 0.5, atol=1e-12)


@pytest.mark.parametrize("B", [0.0, 0.3, 0.7063, 1.1965, 3.0])
@pytest.mark.parametrize("task", [SPARSE, TaskSpec(), TaskSpec(0.2, 0.4)])
def test_a_margin_gives_the_linear_neuron_the_same_weights(B, task):
    solution = linear_margin(CapacityWeights(B, 5.56), task)
    assert_allclose([solution.B, solution.W_star], [B, 5.56], rtol=1e-9, atol=1e-12)
    assert solution.neuron.nonlinearity == Linear()
    assert (solution.task.kappa > 0.0) == (B > 0.0)


def test_a_margin_grows_with_the_silent_fraction_and_costs_capacity():
    unit_mean = [CapacityWeights(B, 1.0 / CapacityWeights(B, 1.0).mean()) for B in (0.1, 0.5, 1.0)]
    solutions = [linear_margin(weights, SPARSE) for weights in unit_mean]
    assert np.all(np.diff([solution.task.kappa for solution in solutions]) > 0.0)
    assert np.all(np.diff([solution.alpha_c for solution in solutions]) < 0.0)


@pytest.mark.parametrize(("B", "words"), [(-0.2, "0.5 without a margin"), (8.0, "no margin reaches")])
def test_silent_fractions_beyond_the_linear_neuron_are_said_to_be(B, words):
    with pytest.raises(NoSolution, match=words):
        linear_margin(CapacityWeights(B, 1.0), SPARSE)
