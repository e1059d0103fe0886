"""The drawn curve is the computed one."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dendrocap import Custom, Linear, Polsky, ReLU, SaturatingReLU, Step, Tabulated, plot


@pytest.mark.parametrize(
    "g", [Polsky(), ReLU(), SaturatingReLU(), Linear(), Tabulated([0, 1], [0, 1]), Custom(np.tanh)]
)
def test_lines_hold_value_and_slope(g):
    top, bottom = plot.nonlinearity(g).axes
    for axes, expected in ((top, g), (bottom, g.derivative)):
        line = axes.lines[0]
        assert_array_equal(line.get_ydata(), expected(line.get_xdata()))
        assert axes.get_ylabel()
    assert bottom.get_xlabel()


def test_a_jump_is_a_gap_in_the_line():
    line = plot.nonlinearity(Step()).axes[0].lines[0]
    assert np.isnan(np.asarray(line.get_ydata())[line.get_xdata() == 0.0]).all()
