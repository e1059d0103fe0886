"""Protocols: capacity, speed, noise and weights, on tasks small enough to check by hand or by another way."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from dendrocap import (
    DendriticNeuron,
    InvalidParameter,
    LinearNeuron,
    NeuronSpec,
    Polsky,
    SaturatingReLU,
    TaskSpec,
    perturb,
    random_patterns,
    solve,
)
from dendrocap.learning import (
    SGD,
    Constant,
    HalveOnPlateau,
    LoadPoint,
    Recipe,
    algorithmic_capacity,
    learning_speed,
    linear_feasibility,
    noise_robustness,
    patterns_at_load,
    train,
    training_error_curve,
    weight_statistics,
)
from dendrocap.learning.learned import _flatter
from dendrocap.learning.protocols import _bisect, _largest_solved, _scan
from dendrocap.learning.training import Trial

LINEAR = LinearNeuron(0.5, 199)
RECIPE = Recipe(SGD(0.2, 100.0), HalveOnPlateau(20), max_epochs=2000)
HOW = {"recipe": RECIPE}


def trial(alpha, errors):
    return Trial(alpha, 0, 100, errors, 10, 10, "solved" if errors == 0 else "max_epochs reached")


def test_error_curve_rises_with_the_load_and_repeats():
    curve = training_error_curve(LINEAR, [0.3, 1.6], seeds=[1, 2, 3], **HOW)
    low, high = curve.points
    assert (low.solved, high.solved) == (3, 0)
    assert low.mean_error == 0.0 < high.mean_error
    assert high.error_of_mean > 0.0
    assert_array_equal(curve.alphas, [0.3, 1.6])
    assert_array_equal(curve.mean_errors, [low.mean_error, high.mean_error])
    again = training_error_curve(LINEAR, [1.6], seeds=[1, 2, 3], workers=1, **HOW)
    assert again.points[0].trials == high.trials


def test_a_trial_is_the_run_one_gets_by_hand():
    inputs, labels = patterns_at_load(LINEAR, 0.5, seed=4, task=TaskSpec(f_in=0.3, f_out=0.2))
    assert inputs.shape == (100, 199)
    curve = training_error_curve(LINEAR, [0.5], seeds=[4], task=TaskSpec(f_in=0.3, f_out=0.2), **HOW)
    result = train(LINEAR, inputs, labels, RECIPE, seed=4)
    assert curve.points[0].trials[0].epochs == result.epochs
    assert curve.points[0].trials[0].errors == result.errors
    assert np.isnan(curve.points[0].error_of_mean)


@pytest.mark.parametrize("method", ["bisection", "scan"])
def test_capacity_of_the_linear_neuron_is_below_what_linear_programming_allows(method):
    neuron = LinearNeuron(0.5, 99)
    found = algorithmic_capacity(
        neuron, limits=(0.2, 1.6), resolution=0.2, method=method, seeds=[0, 1, 2], workers=2, **HOW
    )
    assert found.all_solved <= found.alpha <= max(found.largest_solved)
    half = stats.t.ppf(0.975, 2) * stats.sem(found.largest_solved)
    assert found.interval == pytest.approx((max(0.0, found.alpha - half), found.alpha + half))
    assert not found.reaches_limit
    assert found.alpha >= 0.4
    for point in found.points:
        for one in point.trials:
            if one.error == 0.0:
                assert linear_feasibility(neuron, *patterns_at_load(neuron, one.alpha, one.seed)).feasible


def test_capacity_counts_tolerance_and_ends():
    always = algorithmic_capacity(LINEAR, limits=(0.2, 0.4), resolution=0.1, seeds=[0], tolerance=1.0, **HOW)
    assert always.largest_solved == (0.4,)
    assert always.reaches_limit
    assert always.interval == (0.0, np.inf)
    never = algorithmic_capacity(
        LINEAR, limits=(3.0, 3.2), resolution=0.1, seeds=[0], recipe=replace(RECIPE, max_epochs=3)
    )
    assert never.largest_solved == (0.0,)
    assert not never.reaches_limit


def test_bisection_and_scan_find_the_threshold_of_a_monotone_test():
    for n_loads in range(1, 12):
        for threshold in range(n_loads + 1):
            for method in (_bisect, _scan):
                tried = {}

                def solves(index, threshold=threshold, tried=tried):
                    tried[index] = index < threshold
                    return tried[index]

                method(solves, n_loads)
                trials = [trial(1.0 + index, 0 if good else 1) for index, good in tried.items()]
                assert _largest_solved(trials, 0.0) == (threshold if threshold else 0.0)


def test_a_load_solved_above_a_failure_does_not_count():
    assert _largest_solved([trial(1.0, 0), trial(2.0, 3), trial(3.0, 0)], 0.0) == 1.0
    assert _largest_solved([trial(1.0, 0), trial(2.0, 3), trial(3.0, 0)], 0.03) == 3.0


def rated(successes, trials):
    runs = [trial(1.0, 0)] * successes + [trial(1.0, 1)] * (trials - successes)
    return LoadPoint(1.0, tuple(runs), tolerance=0.0).success_interval


def test_learning_speed_is_the_length_of_its_runs():
    speed = learning_speed(LINEAR, recipe=Recipe(SGD(1.0), Constant(), 300), alpha=0.3, seeds=range(4))
    assert speed.solved == 4
    assert speed.median_epochs == np.median(speed.epochs)
    assert len(speed.mean_error) == speed.epochs.max()
    assert speed.mean_error[-1] == 0.0 < speed.mean_error[0]
    hopeless = learning_speed(LINEAR, recipe=Recipe(SGD(1.0), Constant(), 2), alpha=2.0, seeds=[0])
    assert (hopeless.solved, hopeless.median_epochs) == (0, np.inf)


def test_noise_of_no_strength_changes_nothing_and_strong_noise_ruins():
    inputs, labels = random_patterns(60, 100, rng=1)
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 100, 7)
    result = train(neuron, inputs, labels, algorithm=SGD(0.1), seed=0)
    noise = noise_robustness(
        neuron, result.weights, inputs, labels, flip_probabilities=[0, 0.02, 0.5], noise_amplitudes=[0, 0.3, 3], seed=0
    )
    assert noise.baseline == result.error == 0.0
    for points in (noise.input_flips, noise.synaptic_noise):
        assert points[0].error == points[0].increase == points[0].standard_error == 0.0
        assert points[0].error < points[1].error < points[2].error
    # Inputs flipped with probability 1/2 are new random patterns: half of them are wrong, up to the bias of the
    # neuron's answers; 20 samples of 60 patterns have a standard deviation of 0.015.
    assert noise.input_flips[2].error == pytest.approx(0.5, abs=0.06)


def test_flipping_every_input_is_the_complement():
    neuron, inputs, labels = LinearNeuron(0.5, 30), *random_patterns(40, 30, rng=2)
    weights = neuron.initial_weights(0.5, 3)
    noise = noise_robustness(
        neuron, weights, inputs, labels, flip_probabilities=[1.0], noise_amplitudes=[], samples=2, seed=0
    )
    assert noise.input_flips[0].error == np.mean(neuron.predict(weights, 1 - inputs) != labels)


def test_synaptic_noise_is_multiplicative_and_clipped():
    # One synapse that must exceed 1: W = 2 fails when 1 + amplitude z < 1/2, so with probability H(1/2) at amplitude 1.
    neuron = LinearNeuron(theta_d=1.0, n_inputs=1)
    noise = noise_robustness(
        neuron, [2.0], [[1]], [1], flip_probabilities=[], noise_amplitudes=[1.0], samples=20_000, seed=0
    )
    # H(1/2) = 0.308538; the standard deviation of the mean is 0.0033.
    assert noise.synaptic_noise[0].error == pytest.approx(0.308538, abs=0.014)
    assert noise.synaptic_noise[0].standard_error == pytest.approx(0.0033, rel=0.05)
    silent = noise_robustness(neuron, [0.0], [[1]], [0], noise_amplitudes=[5.0], flip_probabilities=[], seed=0)
    assert silent.synaptic_noise[0].error == 0.0


def test_weight_statistics_count_both_kinds_of_silence(rng):
    weights = np.concatenate([np.zeros(10), np.full(20, 1e-5), rng.exponential(size=70)])
    statistics = weight_statistics(weights, bins=7)
    assert statistics.exact_zeros == 0.1
    assert statistics.near_zeros == pytest.approx(np.mean(weights < 1e-3 * weights.mean()), abs=0)
    assert np.sum(statistics.density * np.diff(statistics.edges)) == pytest.approx(1.0 - statistics.near_zeros)
    assert statistics.second_moment == pytest.approx(statistics.mean**2 + statistics.standard_deviation**2)
    assert weight_statistics([0.0, 0.0]).exact_zeros == 1.0


def test_weights_are_compared_with_a_distribution_of_half_silent_synapses(rng):
    weights = np.where(rng.random(4000) < 0.5, 0.0, rng.exponential(size=4000))
    right = SimpleNamespace(cdf=lambda w: 1.0 - 0.5 * np.exp(-np.asarray(w)))
    wrong = SimpleNamespace(cdf=lambda w: 1.0 - 0.5 * np.exp(-2.0 * np.asarray(w)))
    comparison = weight_statistics(weights).compare(right)
    # Kolmogorov's 99.9 % point is 1.95 / sqrt(n).
    assert comparison.largest_distance < 1.95 / np.sqrt(4000)
    assert comparison.silent_theory == 0.5
    assert comparison.silent_learned == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(4000))
    # sup |exp(-w) - exp(-2 w)| / 2 = 1/8, at w = ln 2.
    assert weight_statistics(weights).compare(wrong).largest_distance == pytest.approx(0.125, abs=0.04)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: training_error_curve(LINEAR, [0.5], seeds=[], **HOW), "seeds"),
        (lambda: training_error_curve(LINEAR, [0.0], **HOW), "alpha = 0.0"),
        (lambda: algorithmic_capacity(LINEAR, method="guess", **HOW), "method = 'guess'"),
        (lambda: algorithmic_capacity(LINEAR, limits=(1.0, 0.5), **HOW), r"limits\[1\] = 0.5"),
        (lambda: algorithmic_capacity(LINEAR, resolution=0.0, **HOW), "resolution = 0.0"),
        (lambda: algorithmic_capacity(LINEAR, tolerance=2.0, **HOW), "tolerance = 2.0"),
        (lambda: noise_robustness(LINEAR, np.ones(199), np.ones((1, 199)), [1], samples=1), "samples = 1"),
        (lambda: weight_statistics([-1.0]), "finite numbers >= 0"),
        (lambda: weight_statistics([1.0], bins=0), "bins = 0"),
    ],
)
def test_bad_requests_are_named(call, said):
    with pytest.raises(InvalidParameter, match=said):
        call()


def test_the_distance_of_weights_from_a_law_is_that_of_kolmogorov_and_smirnov():
    law = SimpleNamespace(cdf=lambda w: 0.85 + 0.05 * np.asarray(w))
    found = weight_statistics([1.0, 2.0]).compare(law)  # below the first weight no weight lies, and 0.9 of the law
    assert found.largest_distance == pytest.approx(0.9)
    assert (found.silent_theory, found.silent_learned) == (pytest.approx(0.85), 0.0)


# Interventions on a trained neuron.


NEURON = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.2, theta_s=0.5), n_inputs=99, n_branches=9)
PATTERNS = random_patterns(80, 99, rng=0)


@pytest.fixture(scope="module")
def result():
    return solve(NEURON, *PATTERNS, seed=0)


def test_nothing_changes_nothing(result):
    found = perturb(result, *PATTERNS)
    assert result.solved
    assert (found.misses, found.false_alarms) == (found.misses_before, found.false_alarms_before) == (0.0, 0.0)
    assert found.words == "nothing"


def test_rates_are_those_of_the_changed_neuron(result):
    changed = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.15, theta_s=0.5), 99, 9)
    fires = changed.predict(result.weights, PATTERNS.inputs).astype(bool)
    labels = PATTERNS.labels.astype(bool)
    found = perturb(result, *PATTERNS, theta_d=-0.25)
    assert found.misses == np.mean(~fires[labels])
    assert found.false_alarms == np.mean(fires[~labels])
    assert found.standard_error == 0.0


def test_less_inhibition_brings_false_alarms_and_failures_bring_misses(result):
    for arguments in ({"theta_d": -0.5}, {"theta_s": -0.5}):
        found = perturb(result, *PATTERNS, **arguments)
        assert found.false_alarms > 0.1
        assert found.misses <= found.false_alarms
    failing = perturb(result, *PATTERNS, failures=0.1, seed=1)
    assert failing.misses > failing.false_alarms
    assert failing.standard_error > 0.0
    silent = perturb(result, *PATTERNS, failures=1.0, seed=1)
    assert (silent.misses, silent.false_alarms) == (1.0, 0.0)


def test_without_nmda_branches_add_up_and_saturate(result):
    x = np.linspace(-1.0, 2.0, 301)
    np.testing.assert_allclose(_flatter(Polsky(), 1.0)(x), SaturatingReLU()(x), atol=1e-12)
    np.testing.assert_allclose(_flatter(Polsky(), 0.5)(x), 0.5 * (Polsky()(x) + SaturatingReLU()(x)), atol=1e-12)
    found = perturb(result, *PATTERNS, nmda_block=1.0)
    assert found.misses > 0.1  # the flatter g gives less output to the same input


def test_impossible_interventions_are_refused(result):
    for arguments, words in (
        ({"theta_d": -1.5}, "theta_d = -1.5"),
        ({"failures": 1.5}, "failures = 1.5"),
        ({"nmda_block": -0.1}, "nmda_block = -0.1"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            perturb(result, *PATTERNS, **arguments)
    with pytest.raises(InvalidParameter, match="both 0 and 1"):
        perturb(result, PATTERNS.inputs, np.ones(80, dtype=np.uint8))
    linear = solve(LinearNeuron(0.5, 99), *random_patterns(30, 99, rng=1), seed=1)
    assert perturb(linear, *random_patterns(30, 99, rng=1), theta_d=-0.9).false_alarms > 0.0
    with pytest.raises(InvalidParameter, match="without dendrites"):
        perturb(linear, *random_patterns(30, 99, rng=1), theta_s=-0.1)


# The linear neuron against linear programming.


def test_margins_of_a_task_that_can_be_done_by_hand():
    # One input, wanted on: W / 1 - theta grows without bound; wanted off: W = 0 leaves theta.
    neuron = LinearNeuron(theta_d=0.5, n_inputs=1)
    assert linear_feasibility(neuron, [[1]], [1]).feasible
    off = linear_feasibility(neuron, [[1]], [0])
    assert off.feasible
    assert off.margin == pytest.approx(0.5, abs=1e-6)
    assert off.weights.shape == (1, 1)
    # Two inputs, one on and one off: W = (w, 0), margins (w / sqrt 2 - sqrt(2)/2) and sqrt(2)/2.
    both = linear_feasibility(LinearNeuron(0.5, 2), [[1, 0], [0, 1]], [1, 0])
    assert both.margin == pytest.approx(np.sqrt(0.5), abs=1e-6)
    # A silent pattern can never be on.
    assert linear_feasibility(neuron, [[0]], [1]).margin == pytest.approx(-0.5, abs=1e-6)


def test_margin_asked_for_decides():
    task = random_patterns(20, 60, rng=3)
    neuron = LinearNeuron(0.5, 60)
    widest = linear_feasibility(neuron, *task).margin
    assert widest > 0.0
    assert linear_feasibility(neuron, *task, kappa=0.9 * widest).feasible
    assert not linear_feasibility(neuron, *task, kappa=1.1 * widest).feasible


def test_the_margin_reported_is_that_of_the_weights():
    inputs, labels = random_patterns(40, 60, rng=4)
    neuron = LinearNeuron(0.5, 60)
    found = linear_feasibility(neuron, inputs, labels)
    signs = np.where(labels, 1.0, -1.0)
    assert np.min(signs * neuron.somatic_input(found.weights, inputs)) == found.margin
    assert np.all(found.weights >= 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_training_solves_easy_tasks_and_never_claims_an_impossible_one(seed):
    neuron = LinearNeuron(0.5, 199)
    for alpha in (0.6, 1.1, 1.4):
        inputs, labels = patterns_at_load(neuron, alpha, seed)
        possible = linear_feasibility(neuron, inputs, labels).feasible
        result = train(
            neuron, inputs, labels, algorithm=SGD(0.1), schedule=HalveOnPlateau(50), max_epochs=3000, seed=seed
        )
        assert possible or not result.solved
        if alpha == 0.6:
            assert possible
            assert result.solved


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_training_solves_what_is_solvable_at_nine_tenths_of_capacity(seed):
    neuron = LinearNeuron(0.5, 999)
    inputs, labels = patterns_at_load(neuron, 0.9, seed)
    assert linear_feasibility(neuron, inputs, labels).feasible
    result = train(
        neuron, inputs, labels, algorithm=SGD(0.1), schedule=HalveOnPlateau(1000), max_epochs=20_000, seed=seed
    )
    assert result.solved
    # Capacity 1 is a limit of large N; at N = 999 the transition is about N^(-1/2) wide.
    impossible = patterns_at_load(neuron, 1.15, seed)
    assert not linear_feasibility(neuron, *impossible).feasible
    assert not train(
        neuron, *impossible, algorithm=SGD(0.1), schedule=HalveOnPlateau(20), max_epochs=500, seed=seed
    ).solved


def test_only_the_linear_neuron_is_accepted():
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 4, 2)
    with pytest.raises(InvalidParameter, match="a LinearNeuron"):
        linear_feasibility(neuron, [[1, 0, 0, 1]], [1])
