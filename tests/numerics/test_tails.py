"""Gaussian tails against arbitrary precision."""

import pytest
from mpmath import mp
from numpy.testing import assert_allclose

from dendrocap.numerics._compiled import UNDERFLOW, density, log_tail, mills, tail

EVERYWHERE = [-8.0, -3.0, -1.0, -0.3, 0.0, 0.7, 1.9, 2.5, 2.999, 3.0, 4.0, 9.0, 29.9, UNDERFLOW, 40.0, 1e3, 1e6]


@pytest.mark.parametrize("t", [-6.0, -1.0, 0.0, 0.7, 2.99, 3.0, 3.01, 3.5, 5.0, 9.0, 14.0, 30.0])
def test_tail_moments_equal_arbitrary_precision(t):
    with mp.workdps(60):
        G, H = mp.npdf(t), mp.erfc(t / mp.sqrt(2)) / 2
        exact = [H, G - t * H, (1 + t**2) * H - t * G]
        assert_allclose(tail(t), [float(value) for value in exact], rtol=5e-14)


def many_digits(y):
    """ln H, R, R - y and 1 - R (R - y), with 60 digits beyond those that cancel."""
    with mp.workdps(80):
        y = mp.mpf(y)
        # In units of exp(-y^2/2) nothing underflows: sqrt(2 pi) exp(y^2/2) H(y) is a confluent function.
        scaled = mp.sqrt(mp.pi / 2) * mp.hyperu(mp.mpf(1) / 2, mp.mpf(1) / 2, y * y / 2) / mp.sqrt(mp.pi)
        if y < 0:
            scaled = mp.sqrt(2 * mp.pi) * mp.exp(y * y / 2) - scaled
        R = 1 / scaled
        log_tail = -y * y / 2 - mp.log(2 * mp.pi) / 2 + mp.log(scaled)
        return [float(value) for value in (log_tail, R, R - y, 1 - R * (R - y))]


@pytest.mark.parametrize("y", EVERYWHERE)
def test_mills_ratio_has_all_its_digits(y):
    # 1 - R (R - y) is the difference of numbers of order 1 below y = 3, where it exceeds 0.07.
    assert_allclose(mills(y), many_digits(y), rtol=2e-13)


@pytest.mark.parametrize("y", EVERYWHERE)
def test_logarithm_of_the_tail_has_all_its_digits(y):
    # The rounding of y / sqrt(2) alone changes erfc by y^2 units of the last digit.
    assert_allclose(log_tail(y), many_digits(y)[0], rtol=1.2e-16 * (4.0 + y * y) if y < 0.0 else 1e-15)


def test_density_is_the_derivative_of_the_tail():
    assert_allclose((tail(0.7 - 1e-5)[0] - tail(0.7 + 1e-5)[0]) / 2e-5, density(0.7), rtol=1e-9)
