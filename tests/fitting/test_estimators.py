"""Closed forms and one-dimensional roots against a likelihood written out and maximised blindly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import ndtri

from dendrocap.fitting.weights import (
    SHAPE_LIMITS,
    Histogram,
    Sample,
    Shape,
    candidates,
    fixed_p0,
    from_amplitudes,
    from_everything,
    from_histogram,
    from_tested,
)
from dendrocap.theory.weights import CapacityWeights

THRESHOLDS = [0.0, 0.25]


@pytest.fixture
def amplitudes(rng):
    weights = CapacityWeights(0.6, 1.3).rvs(2000, random_state=rng)
    return weights[weights > 0.0]


def naive_log_likelihood(amplitudes, threshold, B, W_star, n_tested=None):
    """Of amplitudes above the threshold and, if known, of the number of pairs in which nothing was seen."""
    model, seen = CapacityWeights(B, W_star), amplitudes[amplitudes > threshold]
    if n_tested is None:
        return np.sum(np.log(model.pdf(seen) / model.sf(threshold)))
    return np.sum(np.log(model.pdf(seen))) + (n_tested - seen.size) * np.log(model.cdf(threshold))


def naive_maximum(function, start):
    outcome = minimize(
        lambda p: -function(*p), start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxfev": 9000}
    )
    return outcome.x


def sample(amplitudes, threshold, n_tested=None):
    seen = amplitudes[amplitudes > threshold]
    return Sample.of(seen - threshold, 0 if n_tested is None else n_tested - seen.size)


# Blind maximisation finds the top of a parabola to the root of rounding: 1e-7 of the curvature's scale.
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_both_from_the_amplitudes(amplitudes, threshold):
    found = from_amplitudes(sample(amplitudes, threshold), threshold)
    B, W_star = naive_maximum(lambda B, W: naive_log_likelihood(amplitudes, threshold, B, W), [0.5, 1.0])
    assert_allclose([found.B, found.W_star], [B, W_star], rtol=1e-5)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_both_from_everything(amplitudes, threshold):
    found = from_everything(sample(amplitudes, threshold, 2000), threshold)
    B, W_star = naive_maximum(lambda B, W: naive_log_likelihood(amplitudes, threshold, B, W, 2000), [0.5, 1.0])
    assert_allclose([found.B, found.W_star], [B, W_star], rtol=1e-5)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("B", [-1.0, 0.7, 2.0])
def test_scale_for_a_given_silent_fraction(amplitudes, threshold, B):
    found = fixed_p0(sample(amplitudes, threshold), threshold, B)
    (W_star,) = naive_maximum(lambda W: naive_log_likelihood(amplitudes, threshold, B, W), [1.0])
    assert found.B == B
    assert_allclose(found.W_star, W_star, rtol=1e-6)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_silent_fraction_from_the_tested_pairs(amplitudes, threshold):
    found = from_tested(sample(amplitudes, threshold, 2000), threshold)
    # The fit expects exactly as many visible connections as were seen, and is the best of all that do.
    visible = np.mean(np.append(amplitudes, np.zeros(2000 - amplitudes.size)) > threshold)
    assert_allclose(CapacityWeights(found.B, found.W_star).sf(threshold), visible, rtol=1e-12)
    seen_shape = ndtri(1.0 - visible)
    (W_star,) = naive_maximum(
        lambda W: naive_log_likelihood(amplitudes, threshold, seen_shape - threshold / W, W), [1.0]
    )
    assert_allclose(found.W_star, W_star, rtol=1e-6)


def test_amplitudes_wider_than_an_exponential_stop_at_the_limit(rng):
    wide = Sample.of(rng.lognormal(0.0, 1.0, 500))
    found = from_amplitudes(wide, 0.0)
    assert found.at_limit
    assert pytest.approx(SHAPE_LIMITS[1]) == found.B
    # Nearly an exponential of the same mean, whose density at zero is 1 / mean; terms of order 1 / B^2 remain.
    model = CapacityWeights(found.B, found.W_star)
    assert_allclose(model.pdf(1e-12) / model.sf(0.0), 1.0 / wide.mean, rtol=0.05)
    narrow = Sample.of(1.0 + 1e-4 * rng.standard_normal(500))
    assert from_amplitudes(narrow, 0.0).at_limit


@pytest.mark.parametrize("start", THRESHOLDS)
@pytest.mark.parametrize("W_star", [0.3, 1.0, 4.0])
def test_an_exact_histogram_gives_its_scale_back_whatever_the_bins(start, W_star):
    model = CapacityWeights(0.7063, W_star)
    for width in (0.02, 0.4, 1.5):
        edges = start + width * W_star * np.arange(int(8.0 / width) + 1)
        density = np.diff(model.cdf(edges)) / np.diff(edges) / model.sf(start)
        assert_allclose(from_histogram(Histogram(edges, density), model.B).W_star, W_star, rtol=1e-6)


def test_a_histogram_holds_every_amplitude():
    values = np.array([0.05, 0.1, 0.3, 0.7000000001, 0.9])
    edges, density = Histogram.of(values, 0.0, 0.1)
    assert_allclose(np.sum(density * np.diff(edges)), 1.0, rtol=1e-12)
    assert edges[0] == 0.0
    assert edges[-1] >= 0.9


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_family_that_made_the_data_wins(rng, threshold):
    """Each candidate's likelihood is largest at its own estimate, and the true family has the smallest criterion."""
    made = {
        "lognormal": rng.lognormal(-0.7, 0.9, 4000),
        "exponential": rng.exponential(0.8, 4000),
        "capacity, free shape": CapacityWeights(-0.5, 1.0).rvs(6000, random_state=rng),
    }
    for name, values in made.items():
        seen = values[values > max(threshold, 1e-9)]
        best, *rest = candidates(seen, Shape(2.0, 1.0), threshold, n_fitted=1)
        assert best.name == name
        assert best.delta_aic == 0.0
        assert all(row.delta_aic > 0.0 for row in rest)


def test_the_lognormal_of_whole_data_is_the_textbook_one(rng):
    values = rng.lognormal(-0.7, 0.9, 500)
    (row,) = [row for row in candidates(values, Shape(1.0, 1.0), 0.0, 1) if row.name == "lognormal"]
    logs = np.log(values)
    assert row.parameters == (("mu", float(logs.mean())), ("sigma", float(logs.std())))
    textbook = np.sum(
        -logs - np.log(logs.std() * np.sqrt(2.0 * np.pi)) - 0.5 * ((logs - logs.mean()) / logs.std()) ** 2
    )
    assert_allclose(row.log_likelihood, textbook, rtol=1e-12)
    assert_allclose(row.aic, 4.0 - 2.0 * textbook, rtol=1e-12)
