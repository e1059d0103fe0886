"""Branches of few synapses with binary inputs: moments by hand, kernels in the Gaussian limit, published factors."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dendrocap as dc
from dendrocap.finite_size.branch_law import _weights, exact_branch_law, input_skewness
from dendrocap.theory import CapacityWeights
from dendrocap.theory.neuron_kernel import populations_of
from dendrocap.theory.search import broken_state

SPEC = {theta_d: dc.NeuronSpec(dc.Polsky(), theta_d=theta_d, theta_s=0.5) for theta_d in (0.1, 0.5)}


def long_branches(theta_d, shares=(1.0,)):
    """The one-step state of long branches, in as many like populations as there are shares."""
    (population,) = populations_of(SPEC[theta_d], dc.TaskSpec(), None)
    populations = [replace(population, fraction=share) for share in shares]
    return broken_state(populations, 0.5, dc.TaskSpec(), 1).state, populations


def law(theta_d, branch_size, shares=(1.0,), **options):
    state, populations = long_branches(theta_d, shares)
    return state, exact_branch_law(state, populations, dc.TaskSpec(), branch_size, **options)


def test_skewness_by_hand(rng):
    weights = CapacityWeights(B=0.3, W_star=2.0)
    w = np.maximum(2.0 * (rng.standard_normal(400_000) - 0.3), 0.0)
    expected = 0.9 * np.mean(w**3) / np.mean(w**2) ** 1.5 / np.sqrt(100 * 0.05 * 0.95)
    assert_allclose(input_skewness(weights, 0.05, 100), expected, rtol=0.02)
    assert input_skewness(weights, 0.5, 100) == 0.0
    assert_allclose(input_skewness(weights, 0.05, 400), 0.5 * input_skewness(weights, 0.05, 100), rtol=1e-12)


def test_skewness_at_the_biological_point():
    # 0.300 at n = 1000, theta_s = 0.042 with the saddle of that n; the weights of long branches are nearly the same.
    spec = dc.NeuronSpec(dc.Polsky(0.2, 20.0), theta_d=0.04, theta_s=0.042)
    solution = dc.critical_capacity(spec, dc.TaskSpec(f_in=0.05, f_out=0.05), rsb=1)
    assert input_skewness(solution.weights, 0.05, 1000) == pytest.approx(0.300, rel=0.05)


def test_weights_have_the_moments_of_the_saddle(rng):
    state, _ = long_branches(0.5)
    (side,) = state.sides
    outer = -side.b + np.sqrt(side.c[0]) * rng.standard_normal(400_000)
    first, second = (_weights(outer, side, float(state.mu[0]), rng) for _ in range(2))
    for sample, expected in (
        (first, side.W_bar),
        (first**2, side.Q),
        (first * second, side.q[0]),
        (first == 0.0, 1.0 - side.active),
    ):
        assert abs(np.mean(sample) - expected) < 4.5 * np.std(sample) / np.sqrt(sample.size)


def test_long_branches_are_gaussian():
    state, found = law(0.5, 400, n_branches=96, n_patterns=1024)
    kernels = (state.Gamma0, state.Gamma0 - state.sides[0].overlaps[0].D1, state.Gamma1)
    for measured, kernel in zip((found.Gamma0, found.C, found.Gamma1), kernels, strict=True):
        assert abs(measured.value - kernel) < 4.5 * measured.standard_error + 5e-3 * kernel
    assert found.alpha.standard_error < 0.02 * state.alpha
    assert abs(found.alpha.value - state.alpha) < 4.5 * found.alpha.standard_error + 5e-3 * state.alpha


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
    state, found = law(theta_d, branch_size)
    assert found.alpha.standard_error < 0.015 * state.alpha
    distance = abs(found.alpha.value / state.alpha - factor)
    assert distance < 3.5 * np.hypot(found.alpha.standard_error / state.alpha, error)


def test_two_equal_populations_are_one():
    _, whole = law(0.5, 37, n_branches=256, n_patterns=256)
    _, parts = law(0.5, 37, n_branches=256, n_patterns=256, shares=(0.3, 0.7))
    error = np.hypot(whole.alpha.standard_error, parts.alpha.standard_error)
    assert abs(whole.alpha.value - parts.alpha.value) < 4.5 * error
    _, again = law(0.5, 37, n_branches=256, n_patterns=256)
    assert again == whole
