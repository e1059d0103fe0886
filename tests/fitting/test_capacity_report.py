"""What the fitted neuron stores, and how well that is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import (
    ConvergenceError,
    DendriticNeuron,
    NeuronSpec,
    Polsky,
    TaskSpec,
    Units,
    capacity,
    capacity_report,
    critical_capacity,
    fit_nonlinearity,
    fit_weights,
)
from dendrocap.answers import binary_entropy
from dendrocap.fitting import report as report_module
from dendrocap.fitting.weights import Interval
from dendrocap.theory.weights import CapacityWeights

TASK = TaskSpec(0.05, 0.05)


@pytest.fixture
def coarse(monkeypatch):
    """Three thresholds in each interval that the data allow, both ends and the middle, and fewer curves."""
    monkeypatch.setattr(report_module, "N_THRESHOLDS", 3)
    monkeypatch.setattr(report_module, "N_CURVES", 12)


def fitted(B, **options):
    weights_mv = CapacityWeights(B, 1.0).ppf((np.arange(20_000) + 0.5) / 20_000)
    given = {"nonlinearity": Polsky(0.2, 20.0), "n_bootstrap": 0, **options}
    return fit_weights(weights_mv[weights_mv > 0.0], 20_000, **given)


def test_numbers_are_those_of_the_neuron_at_capacity():
    units, task = Units(n_inputs=6400, n_branches=80, scale_mv=12.0), TaskSpec(f_in=0.05, f_out=0.1)
    fit = fitted(0.68, units=units, task=task)
    report = capacity_report(fit, accuracy="fast")
    assert fit.dendrites.reachable
    solution = critical_capacity(fit.dendrites.solution.neuron, task)
    best = capacity(DendriticNeuron(solution.neuron, 6400, 80), task, accuracy="fast")
    assert report.alpha_c.value == best.alpha_c
    assert report.paper_alpha_c == solution.alpha_c > best.alpha_c
    assert_allclose(report.n_patterns.value, 6400 * best.alpha_c)
    assert_allclose(report.bits_per_synapse.value, best.alpha_c * 0.4689955935892812, rtol=1e-12)  # h2(0.1)
    assert_allclose(report.paper_silent_fraction, fit.silent_fraction.value, rtol=1e-8)
    assert report.silent_fraction.value == best.silent_fraction
    assert_allclose(report.preactivation_mv.mean(), 12.0 * solution.preactivation_mean)
    assert_allclose(report.preactivation_mv.std(), 12.0 * solution.preactivation_sd)
    assert_allclose(report.as_row()["inactive_branches"], report.preactivation_mv.cdf(0.0), rtol=1e-12)
    # A branch driven like this has the mean output theta_s.
    inputs = report.preactivation_mv.ppf((np.arange(200_000) + 0.5) / 200_000)
    mean_output_mv = np.mean(12.0 * fit.nonlinearity(inputs / 12.0))
    assert_allclose(fit.theta_s_mv.value, np.sqrt(80) * mean_output_mv, rtol=1e-4)  # attenuated
    assert_allclose(report.local_theta_d_mv, np.sqrt(80) * fit.theta_d_mv.value, rtol=1e-12)
    assert report.linear_alpha_c == fit.linear.solution.alpha_c


def drawn(rng, n_tested=4000, theta_d=0.045, theta_s=0.1, **options):
    """A fit to amplitudes of a neuron at capacity."""
    truth = critical_capacity(NeuronSpec(Polsky(0.2, 20.0), theta_d, theta_s), TASK)
    weights_mv = Units().weight_mv(truth.weights.rvs(n_tested, random_state=rng))
    given = {"nonlinearity": Polsky(0.2, 20.0), "task": TASK, "n_bootstrap": 100, "rng": rng, **options}
    return fit_weights(weights_mv[weights_mv > 0.0], n_tested, **given)


def test_the_interval_holds_the_capacity_at_every_threshold_that_the_data_allow(rng, coarse):
    fit = drawn(rng)
    report = capacity_report(fit, accuracy="fast")
    assert report.alpha_c.low < report.alpha_c.high
    for low, high in fit.theta_s_sets:
        for theta_s in (low, 0.5 * (low + high), high):
            spec = NeuronSpec(fit.nonlinearity, fit.dendrites.theta_d, theta_s)
            try:
                other = critical_capacity(spec, TASK, rsb=1, branch_size=100.0)
            except ConvergenceError:  # close to the ends of g there is no capacity with broken symmetry
                continue
            assert report.alpha_c.covers(other.alpha_c)
            assert report.silent_fraction.low - 1e-9 <= other.silent_fraction <= report.silent_fraction.high + 1e-9
    assert str(report.alpha_c) in report.title
    assert "replica-symmetric" in report.in_words


def test_a_measured_curve_widens_the_interval(rng, coarse):
    x = np.linspace(0.5, 22.0, 24)
    curve = fit_nonlinearity(x, 15.0 * Polsky(0.2, 20.0)(x / 15.0) + 0.7 * rng.standard_normal(x.size))
    fit = drawn(rng, nonlinearity=curve.nonlinearity, units=Units(scale_mv=curve.scale))
    told = []
    without, with_curve = (
        capacity_report(fit, given, accuracy="fast", callback=lambda share, _: told.append(share))
        for given in (None, curve)
    )
    starts = [at for at in range(1, len(told)) if told[at] < told[at - 1]]
    assert len(starts) == 1  # of the second report; within a report the share done only grows
    assert 0.0 <= min(told) < max(told) == told[-1] == 1.0
    assert with_curve.alpha_c.value == without.alpha_c.value
    assert with_curve.alpha_c.low < without.alpha_c.low
    assert with_curve.alpha_c.high > without.alpha_c.high
    assert set(with_curve.sources) - set(without.sources) == {"the dendritic curve"}


def test_without_a_bootstrap_only_the_error_of_the_estimate_is_known():
    report = capacity_report(fitted(0.68), accuracy="fast")
    assert report.alpha_c.low == report.alpha_c.value == report.alpha_c.high
    assert "[" not in str(report.alpha_c)


@pytest.mark.slow
def test_the_best_estimate_has_its_own_error(rng):
    report = capacity_report(drawn(rng), accuracy="best")
    assert report.sources["the estimate itself"][1] > 1.0
    assert report.alpha_c.low < report.capacity.alpha_c - report.capacity.error


def test_data_of_a_reachable_neuron_are_rarely_called_out_of_reach():
    # theta_s = 0.3 has nearly the largest silent fraction: half of all data sets have a larger one.
    fits = [drawn(np.random.default_rng(seed), theta_s=0.3) for seed in range(12)]
    assert sum(fit.dendrites.reachable for fit in fits) < 11
    # Of tests at 5 %, three or more of twelve fail by chance once in fifty times.
    assert sum(fit.compatible for fit in fits) >= 10
    for fit in fits:
        assert fit.compatible == (fit.p_value >= 0.05) or fit.dendrites.reachable
        assert ("out of reach" in fit.verdict) == (not fit.compatible)


def test_a_fraction_out_of_reach_is_reported_for_the_nearest_neuron():
    fit = fitted(1.3, n_bootstrap=100)
    report = capacity_report(fit, accuracy="fast")
    assert not fit.dendrites.reachable
    assert not fit.compatible
    assert fit.p_value == pytest.approx(2.0 / 101.0)
    assert "p < 0.02" in report.verdict
    assert report.paper_silent_fraction < CapacityWeights(1.3, 1.0).silent_fraction


def test_where_the_nearest_threshold_has_no_capacity_the_nearest_that_has_one_is_named():
    fit = fitted(1.3)
    end = critical_capacity(NeuronSpec(Polsky(0.2, 20.0), fit.dendrites.theta_d, 0.9999), TASK)
    moved = replace(fit, dendrites=replace(fit.dendrites, solution=end))
    with pytest.raises(ConvergenceError):
        capacity(DendriticNeuron(end.neuron, 10_000, 100), TASK, accuracy="fast")
    report = capacity_report(moved, accuracy="fast")
    assert report.alpha_c.value == report.capacity.alpha_c
    assert report.capacity.neuron.spec.theta_s < 0.9999
    assert "no capacity at theta_s = 1" in report.reason
    assert report.reason in report.in_words
    assert report.paper_alpha_c == report.capacity.paper_alpha_c  # both at the same threshold
    assert str(replace(report, capacity=None).in_words).startswith("no best estimate")
    assert "(replica symmetric: " in replace(report, capacity=None).title


def test_without_a_linear_alternative_its_numbers_are_missing():
    fit = fitted(-0.3)
    report = capacity_report(fit, accuracy="fast")
    assert math.isnan(report.linear_alpha_c)
    assert math.isnan(fit.linear.kappa_mv)
    assert "margin" in fit.linear.reason


def test_entropy_of_a_fair_label_is_one_bit():
    assert binary_entropy(0.5) == 1.0
    assert_allclose(binary_entropy(0.05), binary_entropy(0.95), rtol=1e-12)


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(16.2339, 9.9, 23.7), "16 [10, 24]"),
        (Interval(0.76, 0.7434, 0.7712), "0.760 [0.743, 0.771]"),
        (Interval(72_360.0, 49_000.0, 101_000.0), "70,000 [50,000, 100,000]"),
        (Interval(1.0, 1.0, 1.0), "1"),
        (Interval(2.5, math.nan, math.nan), "2.5"),
        (Interval(math.nan, math.nan, math.nan), "unknown"),
    ],
)
def test_digits_follow_the_width_of_the_interval(interval, text):
    assert str(interval) == text
