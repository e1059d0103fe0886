"""Distribution of weights below capacity: normalised, with the moments of the saddle point, and consistent."""

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import kstest

from dendrocap import InvalidParameter, NeuronSpec, Polsky, ReLU, TaskSpec, critical_capacity
from dendrocap.theory.saddle_point import saddle_point
from dendrocap.theory.weights import Weights

NEURON, TASK = NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(0.4, 0.3, 0.1)
LOADS = [0.0, 1e-6, 0.3, 2.0, 3.4]


def integral(function, scale):
    """From 0 to infinity, cut at powers of ten so that a peak near zero is not missed."""
    edges = [0.0, *(scale * 10.0**k for k in range(-6, 1)), 3.0 * scale, 8.0 * scale, 20.0 * scale, 60.0 * scale]
    return sum(quad(function, a, b, epsabs=0.0, epsrel=1e-11)[0] for a, b in pairwise(edges))


@pytest.mark.parametrize("alpha", LOADS)
def test_normalised_with_the_moments_of_the_saddle_point(alpha):
    point = saddle_point(NEURON, TASK, alpha=alpha)
    weights, W_bar = point.weights, 0.5 / 0.4
    assert_allclose(integral(weights.pdf, W_bar), 1.0, rtol=1e-9)
    assert_allclose(integral(lambda w: w * weights.pdf(w), W_bar), W_bar, rtol=1e-9)
    assert_allclose(integral(lambda w: w * w * weights.pdf(w), W_bar), point.Q, rtol=1e-9)
    assert_allclose([weights.mean(), weights.second_moment()], [W_bar, point.Q], rtol=1e-12)
    assert_allclose([weights.var(), weights.std() ** 2], point.Q - W_bar**2, rtol=1e-11)
    assert weights.silent_fraction == 0.0


@pytest.mark.parametrize("alpha", LOADS)
def test_cdf_is_the_integral_of_the_density(alpha):
    weights = saddle_point(NEURON, TASK, alpha=alpha).weights
    for low, high in ((0.0, 1e-4), (1e-4, 0.1), (0.1, 1.0), (1.0, 5.0)):
        mass = quad(weights.pdf, low, high, epsabs=0.0, epsrel=1e-12)[0]
        assert_allclose(weights.cdf(high) - weights.cdf(low), mass, rtol=1e-9)
        assert_allclose(weights.sf(low) - weights.sf(high), mass, rtol=1e-9)


@pytest.mark.parametrize("alpha", LOADS)
def test_quantiles_invert_the_cdf(alpha):
    weights = saddle_point(NEURON, TASK, alpha=alpha).weights
    p = np.array([1e-12, 1e-3, 0.3, 0.5, 0.9])
    assert_allclose(weights.cdf(weights.ppf(p)), p, rtol=1e-10)
    assert_allclose(weights.sf(weights.ppf(1.0 - 1e-9)), 1e-9, rtol=1e-6)
    tiny = np.array([1e-300, 1e-17, 1e-12])  # there the density is that at zero
    assert_allclose(weights.ppf(tiny) * weights.pdf(0.0), tiny, rtol=1e-10)
    assert weights.ppf(0.0) == 0.0
    assert weights.ppf(1.0) == math.inf
    assert np.isnan(weights.ppf([-0.1, 1.1, math.nan])).all()


@pytest.mark.parametrize("alpha", LOADS)
def test_random_weights_follow_the_distribution(alpha, rng):
    weights = saddle_point(NEURON, TASK, alpha=alpha).weights
    sample = weights.rvs((50, 40), random_state=rng)
    assert sample.shape == (50, 40)
    assert np.all(sample >= 0.0)
    assert kstest(sample.ravel(), weights.cdf).pvalue > 1e-6


def test_values_outside_the_support():
    weights = saddle_point(NEURON, TASK, alpha=0.3).weights
    assert_allclose(weights.pdf([-1.0, math.inf]), 0.0)
    assert_allclose(weights.cdf([-1.0, 0.0, math.inf]), [0.0, 0.0, 1.0])
    assert_allclose(weights.sf([-1.0, 0.0, math.inf]), [1.0, 1.0, 0.0], rtol=1e-13)
    assert math.isnan(weights.cdf(math.nan))
    assert weights.pdf(np.ones((2, 3))).shape == (2, 3)


def test_load_zero_is_exponential():
    weights = saddle_point(NEURON, TASK, alpha=0.0).weights
    w = np.array([0.0, 0.3, 4.0])
    assert_allclose(weights.pdf(w), 0.8 * np.exp(-0.8 * w), rtol=1e-15)
    nearby = saddle_point(NEURON, TASK, alpha=1e-9).weights
    assert_allclose(nearby.pdf(w), weights.pdf(w), rtol=1e-6)


def test_becomes_the_distribution_at_capacity():
    capacity = critical_capacity(NEURON, TASK)
    w = np.array([0.5, 2.0, 6.0])
    last = math.inf
    for part in (0.99, 0.999, 0.9999):
        weights = saddle_point(NEURON, TASK, alpha=part * capacity.alpha_c).weights
        distance = np.max(np.abs(weights.cdf(w) - capacity.weights.cdf(w)))
        assert distance < 0.5 * last
        last = distance
    assert last < 2e-3


@pytest.mark.parametrize(
    "conjugates", [(-1.0, 1.0, 0.0), (1.0, -1.0, 0.0), (0.0, 1.0, -1.0), (0.0, 0.0, 1.0), (1.0, 1.0, math.nan)]
)
def test_impossible_conjugates_are_refused(conjugates):
    with pytest.raises(InvalidParameter):
        Weights(*conjugates)


def test_equal_weights_are_equal():
    neuron = NeuronSpec(ReLU(), 1.0, 0.5)
    for made in (lambda: saddle_point(neuron, alpha=0.4), lambda: critical_capacity(neuron, rsb=1)):
        one, other = made().weights, made().weights
        assert one == other
        assert hash(one) == hash(pickle.loads(pickle.dumps(one))) == hash(other)
        assert one != Weights(0.0, 0.0, -1.0)
