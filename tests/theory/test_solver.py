"""The continuation of solutions."""

from __future__ import annotations

import math

import numpy as np
from numpy.testing import assert_allclose

from dendrocap.theory.solver import followed


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
