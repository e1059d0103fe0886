"""Distributions at capacity: normalisation, moments, quantiles, and random draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import kstest, norm

from dendrocap import InvalidParameter, NeuronSpec, Polsky, TaskSpec
from dendrocap.theory import CapacityWeights, Preactivation, critical_capacity

SOLUTION = critical_capacity(NeuronSpec(Polsky(), 0.3, 0.4), TaskSpec(f_in=0.3, f_out=0.6, kappa=0.1))


def test_normalised_with_the_moments_of_the_solution():
    weights = SOLUTION.weights
    scale = SOLUTION.W_star
    pieces = [(a * scale, b * scale) for a, b in [(0, 1), (1, 3), (3, 9), (9, 20)]]
    mass, first, second = (
        sum(quad(lambda w, n=n: w**n * weights.pdf(w), a, b, epsabs=0, epsrel=1e-12)[0] for a, b in pieces)
        for n in range(3)
    )
    assert_allclose(mass + weights.silent_fraction, 1.0, rtol=1e-11)
    assert_allclose(weights.silent_fraction, SOLUTION.silent_fraction, rtol=1e-13)
    assert_allclose([first, second], [SOLUTION.W_bar, SOLUTION.Q], rtol=1e-10)
    assert_allclose([weights.mean(), weights.second_moment()], [SOLUTION.W_bar, SOLUTION.Q], rtol=1e-11)
    assert_allclose(weights.var(), SOLUTION.Q - SOLUTION.W_bar**2, rtol=1e-10)
    assert_allclose(weights.std() ** 2, weights.var(), rtol=1e-12)


@given(st.floats(-3, 3), st.floats(0.01, 100), st.floats(0.0, 1.0))
def test_quantiles_invert_the_distribution_function(B, W_star, p):
    weights = CapacityWeights(B, W_star)
    w = weights.ppf(p)
    if p <= weights.silent_fraction:
        assert w == 0.0
    elif p < 1 - 1e-12:
        assert_allclose(weights.cdf(w), p, atol=1e-12)
    assert_allclose(weights.sf(w), 1 - weights.cdf(w), atol=1e-14)


def test_edges():
    for B in np.linspace(-3, 3, 101):
        silent = CapacityWeights(B, 2.0)
        assert silent.ppf(silent.silent_fraction) == 0.0
    weights = CapacityWeights(0.5, 2.0)
    assert weights.cdf(-1e-9) == 0.0
    assert weights.cdf(0.0) == pytest.approx(weights.silent_fraction)
    assert weights.pdf([-1.0, 0.0]).tolist() == [0.0, 0.0]
    assert np.isnan(weights.ppf(1.5))
    with pytest.raises(InvalidParameter, match=r"W_star = 0\.0"):
        CapacityWeights(0.0, 0.0)


def test_random_weights_follow_the_distribution(rng):
    weights = SOLUTION.weights
    sample = weights.rvs(20_000, random_state=rng)
    silent = (sample == 0.0).mean()
    assert abs(silent - weights.silent_fraction) < 5 * np.sqrt(silent * (1 - silent) / sample.size)
    positive = sample[sample > 0]

    def conditional(w):
        return (weights.cdf(w) - weights.silent_fraction) / (1 - weights.silent_fraction)

    assert kstest(positive, conditional).pvalue > 1e-4


def test_preactivation_is_the_normal_distribution_of_scipy(rng):
    ours, theirs = SOLUTION.preactivation, norm(SOLUTION.preactivation_mean, SOLUTION.preactivation_sd)
    assert_allclose(ours.std(), np.sqrt(0.21 * SOLUTION.Q), rtol=1e-13)
    assert_allclose(ours.mean(), 0.3 * SOLUTION.M_bar, rtol=1e-13)
    x = np.linspace(-3, 3, 31)
    for method in ("pdf", "cdf"):
        assert_allclose(getattr(ours, method)(x), getattr(theirs, method)(x), rtol=1e-13)
    assert_allclose(ours.ppf([0.1, 0.9]), theirs.ppf([0.1, 0.9]), rtol=1e-12)
    assert ours.var() == pytest.approx(theirs.var())
    assert kstest(Preactivation(0.3, 2.0).rvs(5000, rng), norm(0.3, 2.0).cdf).pvalue > 1e-4
