"""The whole fit: what it estimates, what it explains, and what it refuses."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtri

from dendrocap import (
    InvalidParameter,
    NeuronSpec,
    NoSolution,
    Polsky,
    Step,
    Tabulated,
    TaskSpec,
    Units,
    critical_capacity,
    fit_weights,
)
from dendrocap.fitting.weights import compatible_thresholds, interval
from dendrocap.theory.weights import CapacityWeights

SPARSE, PAPER_FIT, UNITS = TaskSpec(f_in=0.05, f_out=0.05), Polsky(x_min=0.2, gamma=20.0), Units()


def quantiles_mv(B, W_star_mv, n):
    """n tested pairs without chance: the quantiles of the distribution, zeros included."""
    return CapacityWeights(B, W_star_mv).ppf((np.arange(n) + 0.5) / n)


def fitted(weights_mv, **options):
    given = {"nonlinearity": PAPER_FIT, "task": SPARSE, "n_bootstrap": 0, **options}
    return fit_weights(weights_mv[weights_mv > 0.0], len(weights_mv), **given)


def test_a_neuron_at_capacity_is_found_from_its_weights_in_millivolts():
    truth = critical_capacity(NeuronSpec(PAPER_FIT, theta_d=0.045, theta_s=0.1), SPARSE)
    fit = fitted(quantiles_mv(truth.B, UNITS.weight_mv(truth.W_star), 400_000), p0=truth.silent_fraction)
    # Midpoint quantiles have the moments of the distribution up to the tail beyond the last one, about 1 / n.
    assert_allclose(fit.W_star, truth.W_star, rtol=1e-4)
    assert_allclose(fit.theta_d_mv.value, UNITS.theta_d_mv(0.045), rtol=1e-4)
    assert fit.dendrites.reachable
    # theta_s is steep in the mean weight: d ln theta_s / d ln theta_d is about -20 here.
    assert_allclose(fit.dendrites.theta_s, 0.1, rtol=5e-3)
    assert_allclose(fit.dendrites.solution.alpha_c, truth.alpha_c, rtol=1e-3)
    for theta_s in fit.dendrites.theta_s_solutions:
        solution = critical_capacity(NeuronSpec(PAPER_FIT, fit.dendrites.theta_d, theta_s), SPARSE)
        assert_allclose(solution.silent_fraction, fit.silent_fraction.value, rtol=1e-9)


def test_both_explanations_have_the_fitted_weights():
    fit = fitted(quantiles_mv(0.72, 1.0, 20_000))
    assert fit.linear.solution is not None
    for solution in (fit.dendrites.solution, fit.linear.solution):
        assert_allclose([solution.B, solution.W_star], [fit.B, fit.W_star], rtol=1e-8)
    assert_allclose(fit.linear.kappa_mv, fit.linear.kappa * 15.0, rtol=1e-12)
    assert fit.linear.kappa > 0.0
    # The contrast of the paper: dendrites buy sparse synapses without a margin, and more capacity.
    assert fit.dendrites.solution.alpha_c > 5.0 * fit.linear.solution.alpha_c


def test_a_silent_fraction_out_of_reach_is_said_to_be_with_interval_and_nearest_solution():
    fit = fitted(quantiles_mv(1.2, 1.7, 20_000))
    explained = fit.dendrites
    assert not explained.reachable
    assert explained.theta_s_solutions == ()
    assert fit.silent_fraction.value > explained.reach.high
    assert explained.solution.silent_fraction == explained.reach.high
    assert explained.theta_s == explained.reach.theta_s_high
    assert "out of reach" in fit.verdict
    assert f"{explained.reach.high:.3f}" in fit.verdict
    low = fitted(quantiles_mv(0.4, 1.7, 20_000)).dendrites
    assert not low.reachable
    assert low.theta_s == low.reach.theta_s_low


def test_bootstrap_is_reproducible_counts_its_steps_and_brackets_the_estimate(rng):
    weights_mv = CapacityWeights(0.72, 1.0).rvs(3000, random_state=rng)
    steps = []
    options = {"n_bootstrap": 40, "rng": 7}
    fit = fitted(weights_mv, **options, callback=lambda: steps.append(1))
    assert len(steps) == 40
    again = fitted(weights_mv, **options)
    for name in ("silent_fraction", "W_star_mv", "theta_d_mv", "theta_s_mv"):
        found = getattr(fit, name)
        assert found == getattr(again, name)
        assert found.low <= found.value <= found.high
    assert (fit.theta_s_mv.low, fit.theta_s_mv.high) in fit.theta_s_sets_mv
    w = np.linspace(0.05, 3.0, 5)
    low, high = fit.density_band(w)
    assert np.all((low <= fit.weights_mv.pdf(w)) & (fit.weights_mv.pdf(w) <= high))


def test_somatic_thresholds_are_kept_exactly_where_the_equations_agree_with_the_replicates():
    """Replicates without scatter in theta_d: the set is where the silent fraction lies between their quantiles."""
    theta_d, p0 = 0.045, np.linspace(0.745, 0.76, 201)
    shapes = [CapacityWeights(float(ndtri(p)), 1.0) for p in p0]
    replicates = [CapacityWeights(shape.B, theta_d / SPARSE.f_in / shape.mean()) for shape in shapes]
    found_sets = compatible_thresholds(PAPER_FIT, replicates, SPARSE, 0.9)
    sets = found_sets.sets
    assert found_sets.p_value > 0.9  # some threshold lies in the middle of the replicates
    low, high = np.quantile(p0, (0.05, 0.95))
    assert len(sets) == 2  # below and above the maximum
    for theta_s, expected in zip(sets[0] + sets[1][::-1], (low, high, low, high), strict=True):
        found = critical_capacity(NeuronSpec(PAPER_FIT, theta_d, theta_s), SPARSE).silent_fraction
        # Ends are interpolated in a grid of 41 thresholds.
        assert_allclose(found, expected, atol=5e-4)
    beyond = [CapacityWeights(1.2, 5.0 + 0.01 * number) for number in range(20)]
    none = compatible_thresholds(PAPER_FIT, beyond, SPARSE, 0.9)
    assert none.sets == ()
    assert none.p_value == pytest.approx(2.0 / 21.0)
    assert compatible_thresholds(PAPER_FIT, [], SPARSE, 0.9).sets == ()


def test_without_bootstrap_there_are_estimates_but_no_intervals():
    fit = fitted(quantiles_mv(0.72, 1.0, 2000))
    assert math.isfinite(fit.W_star_mv.value)
    assert math.isnan(fit.W_star_mv.low)
    assert fit.theta_s_sets_mv == ()
    assert math.isnan(fit.theta_s_mv.low)
    assert np.isnan(fit.density_band([1.0])).all()


def test_intervals_are_percentiles_of_symmetric_replicates_and_shift_against_a_bias():
    replicates = np.linspace(-1.0, 1.0, 2001)
    assert_allclose(interval(0.0, replicates, 0.9), (0.0, -0.9, 0.9), atol=1e-9)
    biased = interval(-0.2, replicates, 0.9)
    assert biased.low < -0.9
    assert biased.high < 0.9
    assert interval(0.5, [np.nan, np.nan], 0.9)[1:] != (0.5, 0.5)


def test_curves_that_are_not_monotone_do_not_stop_the_fit():
    hump = Tabulated((0.1, 0.5, 1.0), (0.1, 0.9, 0.4))
    fit = fitted(quantiles_mv(0.7, 1.0, 2000), nonlinearity=hump, task=TaskSpec(0.36, 0.3), n_bootstrap=10)
    assert fit.dendrites.reach.low <= fit.dendrites.solution.silent_fraction <= fit.dendrites.reach.high
    with pytest.raises(NoSolution, match="g jumps"):
        fitted(quantiles_mv(0.7, 1.0, 2000), nonlinearity=Step())


def test_few_pairs_with_hardly_a_silent_one_are_fitted():
    fit = fit_weights([0.3, 0.5, 0.9], n_tested=4, n_bootstrap=100)
    assert fit.silent_fraction.value == pytest.approx(0.25)
    assert fit.silent_fraction.low <= 0.25 <= fit.silent_fraction.high


def test_hidden_connections_are_counted_and_corrected_for():
    weights_mv = quantiles_mv(0.7, 1.0, 50_000)
    plain, hidden = fitted(weights_mv), fitted(weights_mv, detection_threshold_mv=0.3)
    assert hidden.n_hidden == np.sum((weights_mv > 0.0) & (weights_mv <= 0.3))
    assert_allclose(hidden.detected_fraction, hidden.observed_fraction, rtol=1e-12)
    assert hidden.observed_fraction < plain.observed_fraction
    # What the threshold hides is inferred from the rest.
    assert_allclose(hidden.silent_fraction.value, plain.silent_fraction.value, rtol=1e-3)
    assert_allclose(hidden.W_star_mv.value, plain.W_star_mv.value, rtol=1e-3)


def test_the_histogram_of_a_fit_integrates_to_what_the_fit_expects_to_see():
    fit = fitted(quantiles_mv(0.7, 1.0, 2000), p0=0.6, bin_width_mv=0.2)
    edges, density = fit.histogram
    assert_allclose(np.sum(density * np.diff(edges)), 0.4, rtol=1e-12)


def test_wide_amplitudes_alone_do_not_give_a_silent_fraction(rng):
    wide = rng.lognormal(0.0, 1.2, 400)
    with pytest.raises(NoSolution, match="n_tested"):
        fit_weights(wide, p0="free", n_bootstrap=0)
    assert fit_weights(wide, 4000, p0="free", n_bootstrap=0).silent_fraction.value > 0.5


@pytest.mark.parametrize(
    ("amplitudes", "options", "words"),
    [
        ([], {}, "amplitudes_mv.shape"),
        ([[1.0, 2.0]], {}, "amplitudes_mv.shape"),
        (["a", "b"], {}, "numbers > 0"),
        ([0.5, float("nan"), 1.0], {}, r"amplitudes_mv\[1\] = nan"),
        ([0.5, 1.0, -0.2], {}, r"amplitudes_mv\[2\] = -0.2"),
        ([0.5, 0.0, 1.0], {}, "counted by n_tested"),
        ([0.7, 0.7, 0.7], {}, "two different"),
        ([0.7], {}, "two different"),
        ([0.1, 0.2, 0.9], {"detection_threshold_mv": 0.5}, "above 0.5 mV"),
        ([0.5, 1.0], {"n_tested": 2}, "n_tested = 2"),
        ([0.5, 1.0], {"n_tested": None}, "without n_tested"),
        ([0.5, 1.0], {"p0": 1.0}, "p0 = 1.0"),
        ([0.5, 1.0], {"p0": "guess"}, "p0 = 'guess'"),
        ([0.5, 1.0], {"p0": "free", "method": "histogram"}, "fits only the scale"),
        ([0.5, 1.0], {"method": "histogram", "detection_threshold_mv": 0.1}, "above a detection threshold"),
        ([0.5, 1.0], {"method": "eye"}, "method = 'eye'"),
        ([0.5, 1.0], {"bin_width_mv": 0.0}, "bin_width_mv = 0.0"),
        ([0.5, 1.0], {"level": 1.0}, "level = 1.0"),
        ([0.5, 1.0], {"n_bootstrap": -1}, "n_bootstrap = -1"),
    ],
)
def test_bad_data_and_options_are_refused(amplitudes, options, words):
    with pytest.raises(InvalidParameter, match=words):
        fit_weights(amplitudes, **{"n_tested": 100, "n_bootstrap": 0, **options})


def test_replicates_equal_to_the_estimate_count_half_on_either_side():
    plain = interval(1.0, [0.0, 1.0, 1.0, 1.0, 2.0], 0.5)
    assert_allclose(plain, (1.0, 1.0, 1.0))
    low, high = interval(1.0, [0.0, 0.2, 1.0, 1.0, 1.8, 2.0], 0.8)[1:]
    assert_allclose([low + high, low], [2.0, np.quantile([0.0, 0.2, 1.0, 1.0, 1.8, 2.0], 0.1)], rtol=1e-12)
