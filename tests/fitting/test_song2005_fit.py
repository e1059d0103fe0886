"""The paper's fit to Song et al. (2005): printed numbers, their readings, and the raw data."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap.datasets import song2005
from dendrocap.fitting.song2005 import PRINTED, compare_with_paper, printed_readings
from dendrocap.theory import CapacityWeights, dendritic_threshold

B_PRINTED = 0.7063025628400874  # p0 = 0.76


@pytest.fixture(scope="module")
def comparison():
    return compare_with_paper(n_bootstrap=50)


def test_printed_thresholds_give_these_silent_fractions():
    """Fig. 6: theta_d = 0.6 mV with theta_s = 63, as K theta_s and as 15 K theta_s; digits by an independent script."""
    by_k, by_millivolts, attenuated, literal = printed_readings()
    assert_allclose([by_k.theta_s, by_millivolts.theta_s, attenuated.theta_s], [0.63, 0.042, 0.42], rtol=1e-12)
    assert_allclose(attenuated.silent_fraction, 0.7557, atol=5e-5)
    assert_allclose(attenuated.theta_s_mv, PRINTED.theta_s_mv, rtol=1e-12)  # all in one system
    assert_allclose(attenuated.theta_d_mv, PRINTED.theta_d_mv, rtol=1e-12)
    assert_allclose(by_k.silent_fraction, 0.7563, atol=5e-5)
    assert_allclose(by_millivolts.silent_fraction, 0.745, atol=5e-4)
    assert not by_k.reached
    # In millivolts, W_star = 5.56 would put theta_d at 3.9 mV, not at the printed 0.6.
    assert literal.theta_d_mv > 6.0 * PRINTED.theta_d_mv


def test_the_printed_scale_in_model_units_gives_the_printed_dendritic_threshold():
    """Appendix on biological parameters: W_star = 5.56 corresponds to theta_d = 0.6 mV (0.59 before rounding)."""
    weights = CapacityWeights(B_PRINTED, PRINTED.W_star)
    assert_allclose(weights.silent_fraction, PRINTED.p0, rtol=1e-12)
    assert_allclose(PRINTED.units.theta_d_mv(dendritic_threshold(weights, 0.05)), 0.59, atol=0.005)


def test_least_squares_on_the_raw_histogram_is_the_best_scale(comparison):
    """Our fit in the paper's way, against a plain search over the scale."""
    data, width = song2005().amplitudes_mv, 0.1
    counts, edges = np.histogram(data, np.arange(0.0, data.max() + width, width))
    scales = np.linspace(0.8, 1.6, 8001)
    density = counts / (data.size * width)
    models = (CapacityWeights(B_PRINTED, scale) for scale in scales)
    misfits = [np.sum((density - np.diff(model.cdf(edges)) / (0.24 * width)) ** 2) for model in models]
    assert_allclose(comparison.paper_way.W_star_mv.value, scales[np.argmin(misfits)], atol=1e-4)


def test_readings_of_fits_hold_what_the_fits_found(comparison):
    fits = (comparison.paper_way, comparison.likelihood, comparison.tested)
    for reading, fit in zip(comparison.readings[-3:], fits, strict=True):
        assert reading.W_star_mv == pytest.approx(fit.W_star_mv.value)
        assert reading.theta_d_mv == pytest.approx(fit.theta_d_mv.value)
        assert reading.reached == fit.dendrites.reachable
        assert reading.silent_fraction == pytest.approx(fit.dendrites.solution.silent_fraction)
    # The observed connection probability is out of reach, as the paper says.
    assert comparison.tested.silent_fraction.value == pytest.approx(1.0 - 931 / 8050)
    assert not comparison.tested.dendrites.reachable
    # The amplitudes prefer a lognormal, whatever the silent fraction.
    assert all(fit.comparison[0].name == "lognormal" for fit in fits)


def test_the_table_in_the_documents_is_the_computed_one(comparison):
    text = (Path(__file__).parents[2] / "docs" / "biology.md").read_text(encoding="utf-8")
    for reading in comparison.readings:
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {reading.label} |")]
        assert line == (
            f"| {reading.label} | {reading.p0:.3f} | {reading.W_star:.2f} | {reading.W_star_mv:.3f} | "
            f"{reading.theta_d_mv:.3f} | {reading.theta_s:.4f} | {reading.theta_s_mv:.1f} | "
            f"{reading.silent_fraction:.4f} |"
        )
