"""The figure of a sweep shows what it was given."""

import math

import numpy as np

from dendrocap import plot
from dendrocap.figures.style import PALETTE
from dendrocap.sweeps.tables import Average


def test_one_line_per_value_with_the_given_points():
    points = [
        Average(line, x, x**2, 0.1 if line == "polsky" else math.nan, 3)
        for line in ("polsky", "linear")
        for x in (1.0, 2.0)
    ]
    (axes,) = plot.averages(points, "theta_d", "alpha_c", "nonlinearity").axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "nonlinearity = polsky",
        "nonlinearity = linear",
    ]
    for container, name in zip(axes.containers, ("polsky", "linear"), strict=True):
        line = container.lines[0]
        np.testing.assert_array_equal(line.get_xydata(), [[1.0, 1.0], [2.0, 4.0]])
        assert line.get_color() == PALETTE[name]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("theta d", "alpha c")


def test_a_single_line_needs_no_legend():
    (axes,) = plot.averages([Average(None, "a", 1.0, 0.1, 2), Average(None, "b", 2.0, 0.1, 2)], "kind", "y").axes
    assert axes.get_legend() is None
