"""The drawn fits are the computed ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dendrocap import Polsky, capacity_report, fit_nonlinearity, fit_weights, plot
from dendrocap.theory import CapacityWeights


@pytest.fixture(scope="module")
def fit():
    weights_mv = CapacityWeights(0.7, 1.0).ppf((np.arange(4000) + 0.5) / 4000)
    return fit_weights(weights_mv[weights_mv > 0.0], 4000, nonlinearity=Polsky(0.2, 20.0), n_bootstrap=30)


def test_bar_histogram_density_and_band_are_those_of_the_fit(fit):
    report = capacity_report(fit, accuracy="fast")
    other = CapacityWeights(0.7, 2.0)
    figure = plot.weight_fit(fit, report, others=[("wider", other)], caption="a caption")
    silent, density, branches, *_ = figure.axes
    assert silent.patches[0].get_height() == fit.silent_fraction.value
    (stairs,) = [patch for patch in density.patches if hasattr(patch, "get_data")]
    assert_array_equal(stairs.get_data().values, fit.histogram.density)
    curve, dashed = density.lines
    assert_array_equal(curve.get_ydata(), fit.weights_mv.pdf(curve.get_xdata()))
    assert_array_equal(dashed.get_ydata(), other.pdf(dashed.get_xdata()))
    (band,) = density.collections
    _, high = fit.density_band(curve.get_xdata())
    assert_allclose(band.get_paths()[0].get_extents().ymax, high.max())
    g = branches.lines[0]
    assert_array_equal(g.get_ydata(), 15.0 * fit.nonlinearity(np.asarray(g.get_xdata()) / 15.0))
    assert all(axes.get_ylabel() for axes in (silent, density, branches))


def test_points_and_curve_are_those_of_the_fit():
    x = np.linspace(0.5, 24.0, 20)
    for kind in ("polsky", "tabulated"):
        fit = fit_nonlinearity(x, 15.0 * Polsky(0.3, 10.0)(x / 15.0), kind)
        top, bottom = plot.nonlinearity_fit(fit).axes
        _, curve, points = top.lines
        assert_array_equal(curve.get_ydata(), fit.predict(curve.get_xdata()))
        assert_array_equal(points.get_ydata(), fit.y)
        assert_array_equal(bottom.lines[1].get_ydata(), fit.y - fit.predict(fit.x))
