"""Branches of few synapses with binary inputs: moments by hand, kernels in the Gaussian limit, published factors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dendrocap as dc
from dendrocap.finite_size.branch_law import (
    SynapseState,
    _weights,
    active_inputs,
    exact_branch_law,
    input_skewness,
    synapse_state,
)
from dendrocap.theory import CapacityWeights
from dendrocap.theory.broken import TreeSoma

SPEC = {theta_d: dc.NeuronSpec(dc.Polsky(), theta_d=theta_d, theta_s=0.5) for theta_d in (0.1, 0.5)}


def law(theta_d, branch_size, **options):
    solution = dc.critical_capacity(SPEC[theta_d], rsb=1)
    q_0 = solution.overlaps[0]
    D1 = TreeSoma(solution.neuron, solution.task).overlap(solution.Q, solution.Q - q_0).D1
    kernels = (solution.Gamma0, solution.Gamma0 - D1, solution.Gamma1)
    found = exact_branch_law(
        dc.Polsky(), options.pop("synapses", synapse_state(solution)), solution.task, alpha=solution.alpha_c,
        mu=solution.breaking_points[0], kernels=kernels, theta_s=0.5, branch_size=branch_size, **options,
    )  # fmt: skip
    return solution, kernels, found


def test_skewness_by_hand(rng):
    weights = CapacityWeights(B=0.3, W_star=2.0)
    w = np.maximum(2.0 * (rng.standard_normal(400_000) - 0.3), 0.0)
    expected = 0.9 * np.mean(w**3) / np.mean(w**2) ** 1.5 / np.sqrt(100 * 0.05 * 0.95)
    assert_allclose(input_skewness(weights, 0.05, 100), expected, rtol=0.02)
    assert input_skewness(weights, 0.5, 100) == 0.0
    assert_allclose(input_skewness(weights, 0.05, 400), 0.5 * input_skewness(weights, 0.05, 100), rtol=1e-12)
    assert active_inputs(0.05, 100) == pytest.approx(5.0)


def test_skewness_at_the_biological_point():
    # 0.300 at n = 1000, theta_s = 0.042 with the saddle of that n; the weights of long branches are nearly the same.
    spec = dc.NeuronSpec(dc.Polsky(0.2, 20.0), theta_d=0.04, theta_s=0.042)
    solution = dc.critical_capacity(spec, dc.TaskSpec(f_in=0.05, f_out=0.05), rsb=1)
    assert input_skewness(solution.weights, 0.05, 1000) == pytest.approx(0.300, rel=0.05)


def test_weights_have_the_moments_of_the_saddle(rng):
    solution = dc.critical_capacity(SPEC[0.5], rsb=1)
    state, mu = synapse_state(solution), solution.breaking_points[0]
    outer = -state.b + np.sqrt(state.c_0) * rng.standard_normal(400_000)
    first, second = (_weights(outer, state, mu, rng) for _ in range(2))
    for sample, expected in (
        (first, solution.W_bar),
        (first**2, solution.Q),
        (first * second, solution.overlaps[0]),
        (first == 0.0, solution.silent_fraction),
    ):
        assert abs(np.mean(sample) - expected) < 4.5 * np.std(sample) / np.sqrt(sample.size)


def test_long_branches_are_gaussian():
    solution, kernels, found = law(0.5, 400, n_branches=96, n_patterns=1024)
    for measured, kernel in zip((found.Gamma0, found.C, found.Gamma1), kernels, strict=True):
        assert abs(measured.value - kernel) < 4.5 * measured.standard_error + 5e-3 * kernel
    assert found.alpha.standard_error < 0.02 * solution.alpha_c
    assert abs(found.alpha.value - solution.alpha_c) < 4.5 * found.alpha.standard_error + 5e-3 * solution.alpha_c


@pytest.mark.parametrize(
    ("theta_d", "branch_size", "factor", "error"),
    [
        (0.1, 37, 1.49 / 1.498, 0.007),
        (0.5, 37, 2.19 / 2.202, 0.0045),
        (0.1, 12, 1.60 / 1.604, 0.0125),
        (0.5, 12, 2.24 / 2.248, 0.009),
    ],
)
def test_factor_of_short_branches(theta_d, branch_size, factor, error):
    # The notes' factors are at the saddle of this branch size, ours at that of long branches with the mean weight held.
    solution, _, found = law(theta_d, branch_size, mean_weight_follows=False)
    assert found.alpha.standard_error < 0.015 * solution.alpha_c
    distance = abs(found.alpha.value / solution.alpha_c - factor)
    assert distance < 3.5 * np.hypot(found.alpha.standard_error / solution.alpha_c, error)


def test_two_equal_populations_are_one():
    solution = dc.critical_capacity(SPEC[0.5], rsb=1)
    state = synapse_state(solution)
    halves = [SynapseState(**{**vars(state), "fraction": share}) for share in (0.3, 0.7)]
    *_, whole = law(0.5, 37, n_branches=256, n_patterns=256)
    *_, parts = law(0.5, 37, n_branches=256, n_patterns=256, synapses=halves)
    error = np.hypot(whole.alpha.standard_error, parts.alpha.standard_error)
    assert abs(whole.alpha.value - parts.alpha.value) < 4.5 * error
    *_, again = law(0.5, 37, n_branches=256, n_patterns=256)
    assert again == whole


def test_fractions_must_sum_to_one():
    state = synapse_state(dc.critical_capacity(SPEC[0.5], rsb=1))
    with pytest.raises(dc.InvalidParameter, match="fraction"):
        law(0.5, 37, synapses=[SynapseState(**{**vars(state), "fraction": 0.4})])
    with pytest.raises(dc.InvalidParameter, match="effective_levels"):
        synapse_state(dc.critical_capacity(SPEC[0.5], rsb=2))
