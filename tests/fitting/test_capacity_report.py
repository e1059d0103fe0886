"""What the fitted neuron stores."""

import math

import numpy as np
from numpy.testing import assert_allclose

from dendrocap import Polsky, TaskSpec, Units, capacity_report, critical_capacity, fit_weights
from dendrocap.theory import binary_entropy
from dendrocap.theory.weight_distributions import CapacityWeights


def fitted(B, **options):
    weights_mv = CapacityWeights(B, 1.0).ppf((np.arange(20_000) + 0.5) / 20_000)
    given = {"nonlinearity": Polsky(0.2, 20.0), "n_bootstrap": 0, **options}
    return fit_weights(weights_mv[weights_mv > 0.0], 20_000, **given)


def test_numbers_are_those_of_the_neuron_at_capacity():
    units, task = Units(n_inputs=6400, n_branches=80, scale_mv=12.0), TaskSpec(f_in=0.05, f_out=0.1)
    fit = fitted(0.68, units=units, task=task)
    report = capacity_report(fit)
    assert report.reachable
    solution = critical_capacity(fit.dendrites.solution.neuron, task)
    assert report.alpha_c == solution.alpha_c
    assert report.n_patterns == 6400 * solution.alpha_c
    assert_allclose(report.bits_per_synapse, solution.alpha_c * 0.4689955935892812, rtol=1e-12)  # h2(0.1)
    assert_allclose(report.silent_fraction, fit.silent_fraction.value, rtol=1e-8)
    assert_allclose(report.preactivation_mv.mean(), 12.0 * solution.preactivation_mean)
    assert_allclose(report.preactivation_mv.std(), 12.0 * solution.preactivation_sd)
    assert_allclose(report.inactive_branches, report.preactivation_mv.cdf(0.0), rtol=1e-12)
    # A branch driven like this has the mean output theta_s.
    inputs = report.preactivation_mv.ppf((np.arange(200_000) + 0.5) / 200_000)
    assert_allclose(np.mean(12.0 * fit.nonlinearity(inputs / 12.0)), report.mean_output_mv, rtol=1e-4)
    assert_allclose(report.theta_s_mv, np.sqrt(80) * report.mean_output_mv, rtol=1e-12)  # attenuated
    assert report.linear_alpha_c == fit.linear.solution.alpha_c


def test_a_fraction_out_of_reach_is_reported_for_the_nearest_neuron():
    report = capacity_report(fitted(1.3))
    assert not report.reachable
    assert report.silent_fraction < CapacityWeights(1.3, 1.0).silent_fraction


def test_without_a_linear_alternative_its_numbers_are_missing():
    fit = fitted(-0.3)
    report = capacity_report(fit)
    assert math.isnan(report.linear_alpha_c)
    assert math.isnan(report.linear_kappa_mv)
    assert "margin" in fit.linear.reason


def test_entropy_of_a_fair_label_is_one_bit():
    assert binary_entropy(0.5) == 1.0
    assert_allclose(binary_entropy(0.05), binary_entropy(0.95), rtol=1e-12)
