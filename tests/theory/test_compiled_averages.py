"""Averages over the field against adaptive quadrature."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import erfcx, log_ndtr

from dendrocap.numerics import legendre_rule
from dendrocap.numerics._compiled import mills
from dendrocap.theory._laws import centre, energetic_averages, entropic_averages

STEP = 0.12


def field_average(function, bend):
    def integrand(z):
        return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * function(z)

    cuts = sorted({-12.0, 12.0, *(min(max(bend + d, -12.0), 12.0) for d in (-3.0, -0.3, 0.0, 0.3, 3.0))})
    return sum(quad(integrand, a, b, epsabs=0.0, epsrel=1e-12, limit=400)[0] for a, b in pairwise(cuts))


@pytest.mark.parametrize(
    ("eta", "xi"), [(-300.0, 2.0), (-10.0, 0.01), (-1.4, 2.0), (0.5, 30.0), (2.0, 1.0), (-60.0, 900.0)]
)
def test_entropic_averages_equal_adaptive_quadrature(eta, xi):
    def mean(z):
        x = eta + math.sqrt(xi) * z
        return mills(-x)[2]

    def variance(z):
        return mills(-eta - math.sqrt(xi) * z)[3]

    def log_norm(z):
        x = eta + math.sqrt(xi) * z
        if x < 0.0:
            return math.log(0.5 * erfcx(-x / math.sqrt(2.0))) + 0.5 * math.log(2.0 * math.pi)
        return 0.5 * x * x + 0.5 * math.log(2.0 * math.pi) + log_ndtr(x)

    bend = -eta / math.sqrt(xi)
    expected = [
        field_average(f, bend) for f in (log_norm, mean, lambda z: mean(z) ** 2, variance, lambda z: variance(z) ** 2)
    ]
    assert_allclose(entropic_averages(eta, xi, STEP), expected, rtol=1e-11)


@pytest.mark.parametrize(("steepness", "shift"), [(0.3, 0.0), (1.0, 1.0), (1.0, -4.0), (30.0, 3.0), (0.01, 200.0)])
def test_energetic_averages_equal_adaptive_quadrature(steepness, shift):
    def ratio(z):
        a = steepness * z + shift
        return math.sqrt(2.0 / math.pi) / erfcx(a / math.sqrt(2.0))

    def bend(z):
        return ratio(z) * (ratio(z) - steepness * z - shift)

    functions = (
        lambda z: float(log_ndtr(-steepness * z - shift)),
        ratio,
        lambda z: ratio(z) ** 2,
        bend,
        lambda z: bend(z) ** 2,
    )
    expected = [field_average(function, -shift / steepness) for function in functions]
    assert_allclose(energetic_averages(steepness, shift, STEP, np.inf)[:5], expected, rtol=1e-10)


@pytest.mark.parametrize("mean", [1e-4, 1e-2, 0.5, 3.0, 100.0])
@pytest.mark.parametrize("xi", [1e-3, 1.0, 1e3, 1e8, 1e13])
def test_centre_gives_the_mean_asked_for(mean, xi):
    eta = centre(mean, np.inf, xi, 0.0, np.nan, STEP, legendre_rule(16))
    assert_allclose(entropic_averages(eta, xi, STEP)[1], mean, rtol=1e-13)


@pytest.mark.parametrize("function", [entropic_averages, energetic_averages])
def test_half_the_step_changes_nothing(function):
    for first in (-3e6, -500.0, -3.0, 0.5, 30.0) if function is entropic_averages else (1e-2, 0.5, 30.0, 3e6):
        for second in (1e-3, 1.0, 1e5, 1e13) if function is entropic_averages else (-1e6, -3.0, 0.0, 2000.0):
            with np.errstate(all="ignore"):
                penalty = () if function is entropic_averages else (np.inf,)
                usual, finer = (np.array(function(first, second, step, *penalty)) for step in (STEP, STEP / 2.0))
            assert_allclose(usual, finer, rtol=1e-12, atol=1e-300)
