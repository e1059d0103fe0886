"""The continuation of solutions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from dendrocap.theory.solver import bracketed_root, followed


@pytest.mark.parametrize("xtol", [1e-13, 1e-3])
@pytest.mark.parametrize(
    "function",
    [math.atan, lambda x: x**3 - 2.0, lambda x: math.exp(x) - 5.0, lambda x: math.copysign(1.0, x - 0.3)],
)
def test_a_bracketed_root_is_that_of_scipy_after_the_same_steps(function, xtol):
    wanted, outcome = brentq(function, -4.0, 3.5, xtol=xtol, rtol=1e-14, full_output=True)
    assert bracketed_root(function, -4.0, 3.5, xtol) == (wanted, outcome.function_calls)
    with pytest.raises(ValueError, match="no bracketed root"):
        bracketed_root(function, 3.0, 3.5)


def test_a_path_arrives_and_ends_where_solutions_end():
    def family(s):
        return lambda x: np.array([x[0] ** 2 + x[1] ** 2 - 1.0, x[1] - s * x[0]])

    *_, last = followed(family, np.array([1.0, 0.0]), 0.0, 3.0, first=0.2)
    assert last.at == 3.0
    assert_allclose(last.x, [1.0 / math.sqrt(10.0), 3.0 / math.sqrt(10.0)], rtol=1e-12)
    # x^2 = 1 - s has no solution beyond s = 1; the path stops close to it
    *_, last = followed(lambda s: lambda x: x**2 - 1.0 + s, np.array([1.0]), 0.0, 2.0, first=0.3, reach=0.5)
    assert 0.9 < last.at <= 1.001


def test_a_path_with_a_slope_and_a_condition():
    path = list(
        followed(
            lambda s: lambda x: x - np.exp(s), np.array([1.0]), 0.0, 2.0, slope=1.0, accepted=lambda one: one.x[0] < 4.0
        )
    )
    assert all(np.diff([one.at for one in path]) > 0.0)
    assert path[0].at == 0.0
    assert 1.3 < path[-1].at < math.log(4.0) + 1e-3
