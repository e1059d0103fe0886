"""A Gaussian kept positive, against quadrature and in its limits."""

import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose

from dendrocap.numerics import truncated_normal
from dendrocap.numerics._compiled import mills
from tests.naive.solvers import naive_belief


@pytest.mark.parametrize("precision", [1e-4, 0.3, 5.0])
@pytest.mark.parametrize("field", [-30.0, -1.0, 0.0, 2.0])
def test_moments_equal_quadrature(precision, field):
    found = truncated_normal(np.array([precision]), np.array([field]))
    mean, variance, log_norm = naive_belief(precision, field)
    assert_allclose(found.mean, mean, rtol=1e-7)
    assert_allclose(found.variance, variance, rtol=1e-5)
    assert_allclose(found.log_norm, log_norm, rtol=1e-7, atol=1e-7)


def test_far_out_it_is_the_exponential():
    found = truncated_normal(np.array([1e-10]), np.array([-4.0]))
    assert_allclose([found.mean[0], found.variance[0], found.log_norm[0]], [0.25, 0.0625, -np.log(4.0)], rtol=1e-8)


@pytest.mark.parametrize("field", [-900.0, -100.0, -4.0, 0.0, 4.0, 50.0])
def test_moments_keep_their_digits_in_any_field(field):
    """Far below zero the variance is a difference of numbers a million times larger."""
    with mp.workdps(60):
        x = mp.mpf(field)
        # With H(-x) = erfc(-x / sqrt 2) / 2 the hazard is G / H.
        hazard = mp.npdf(x) / (mp.erfc(-x / mp.sqrt(2)) / 2)
        exact = [float(value) for value in (x + hazard, 1 - hazard * (x + hazard), mp.log(1 / hazard))]
    found = truncated_normal(1.0, field)
    assert_allclose([found.mean, found.variance], exact[:2], rtol=2e-13)
    assert_allclose(found.log_norm, exact[2], rtol=1e-13, atol=1e-15)


def test_arrays_of_any_shape_are_elementwise_and_scale(rng):
    precision, field = rng.uniform(0.1, 10.0, (3, 4)), rng.normal(0.0, 3.0, (3, 4))
    found = truncated_normal(precision, field)
    for at in np.ndindex(3, 4):
        root = np.sqrt(precision[at])
        _, _, mean, variance = mills(-field[at] / root)
        assert_allclose([found.mean[at], found.variance[at]], [mean / root, variance / root**2], rtol=1e-14)
