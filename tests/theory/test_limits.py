"""The limits of the paper against the full solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from scipy.stats import norm

from dendrocap import (
    Custom,
    InvalidParameter,
    Level,
    Linear,
    NeuronSpec,
    NoSolution,
    Polsky,
    ReLU,
    SaturatingReLU,
    Step,
    TaskSpec,
)
from dendrocap.theory import (
    committee_ceiling,
    critical_capacity,
    large_margin_capacity,
    large_threshold_silent_fraction,
    large_threshold_slope,
    linear_margin,
    perceptron_limit,
    relu_large_threshold_capacity,
    saddle_point,
    silent_range,
    somatic_thresholds,
    sparse_labels_capacity,
    stability_limit,
    zero_load,
)

TWO_LEVELS = NeuronSpec(levels=[Level(ReLU(), 0.1)] * 2, theta_s=0.5)


def alpha(g, theta_d, theta_s=0.5, task=None):
    return critical_capacity(NeuronSpec(g, theta_d, theta_s), task).alpha_c


def test_published_and_derived_slopes_of_saturating_dendrites():
    # printed: 3.518, a fit; derived: 16 H(B) sqrt(v r(B)) I / (f_in sqrt(2 pi)) at (1/2 + B^2) H(B) = B G(B)
    assert_allclose(large_threshold_slope(SaturatingReLU()), 3.51820, atol=5e-6)
    assert_allclose(large_threshold_slope(Polsky()), 9.05761, atol=5e-6)
    assert_allclose(large_threshold_silent_fraction(), 0.82261, atol=5e-6)
    B = norm.ppf(large_threshold_silent_fraction())
    H, G = norm.sf(B), norm.pdf(B)
    assert_allclose((0.5 + B * B) * H, B * G, rtol=1e-12)
    r = ((1 + B * B) * H - B * G) / (G - B * H) ** 2
    squared_slope = 0.33 + 0.67**2 * 15 / 3
    assert_allclose(
        large_threshold_slope(Polsky()), 16 * H * np.sqrt(0.25 * r) * squared_slope / (0.5 * np.sqrt(2 * np.pi))
    )


@pytest.mark.parametrize(
    ("g", "theta_s", "task"),
    [
        (SaturatingReLU(), 0.5, TaskSpec()),
        (Polsky(), 0.5, TaskSpec()),
        (Polsky(0.2, 20.0), 0.3, TaskSpec(0.2, 0.3, 0.1)),
        (Custom(lambda x: 2 * ndtr(x) - 1, lambda x: 2 * norm.pdf(x), domain=(-9, 9)), 0.2, TaskSpec(f_in=0.7)),
    ],
)
def test_capacity_grows_with_the_derived_slope(g, theta_s, task):
    measured = (alpha(g, 2e4, theta_s, task) - alpha(g, 1e4, theta_s, task)) / 1e4
    # The next term is of relative order 1 / theta_d^2 in the slope.
    assert_allclose(measured, large_threshold_slope(g, theta_s, task), rtol=1e-6)
    silent = critical_capacity(NeuronSpec(g, 1e5, theta_s), task).silent_fraction
    assert_allclose(silent, large_threshold_silent_fraction(), atol=1e-4)


def test_relu_grows_with_the_logarithm_and_its_slope_rises_to_one():
    theta_d = 10.0 ** np.array([1.5, 3, 5, 8])
    slopes = [(alpha(ReLU(), t * 1.01) - alpha(ReLU(), t / 1.01)) / (2 * np.log(1.01)) for t in theta_d]
    assert np.all(np.diff(slopes) > 0)
    assert 0.79 < slopes[0] < 0.81
    assert 0.94 < slopes[-1] < 1.0
    # The asymptote misses terms that vanish like 1 / ln(theta_d), here with a small coefficient.
    gaps = np.array([alpha(ReLU(), t) - relu_large_threshold_capacity(t) for t in theta_d])
    assert np.all(np.diff(np.abs(gaps)) < 0)
    assert abs(gaps[-1]) < 0.01
    # Far beyond what the solver is asked for, the slope is 1 up to a few times 1 / ln(theta_d).
    for n in (50, 100, 150):
        far = (relu_large_threshold_capacity(10.0 ** (n + 1)) - relu_large_threshold_capacity(10.0**n)) / np.log(10)
        assert_allclose(far, 1.0, atol=2 / (n * np.log(10)))
    silent = [critical_capacity(NeuronSpec(ReLU(), t, 0.5)).silent_fraction for t in theta_d]
    assert np.all(np.diff(silent) < 0)
    assert 0.5 < silent[-1] < 0.52


@pytest.mark.parametrize("g", [ReLU(), SaturatingReLU(), Polsky(), Polsky(0.1, 60.0)], ids=repr)
def test_small_dendritic_thresholds_give_the_one_layer_neuron(g):
    task = TaskSpec(f_in=0.3, f_out=0.2)
    for theta_d in (1e-4, 1e-5):
        exact, limit = alpha(g, theta_d, 0.6, task), perceptron_limit(NeuronSpec(g, theta_d, 0.6), task).alpha_c
        # g is quadratic beyond its tangent, on the scale 1 / (its curvature): corrections are of order s^2 gamma^2.
        assert_allclose(exact, limit, rtol=20 * (theta_d * 60) ** 2)
    margin = TaskSpec(kappa=1e-4)
    exact, limit = alpha(g, 1e-4, 0.6, margin), perceptron_limit(NeuronSpec(g, 1e-4, 0.6), margin).alpha_c
    assert_allclose(exact, limit, rtol=1e-3)


def test_large_somatic_thresholds_give_the_one_layer_neuron_for_unbounded_g():
    task = TaskSpec(0.3, 0.2, 0.5)
    gaps = [
        alpha(ReLU(), 1.0, ts, task) / perceptron_limit(NeuronSpec(ReLU(), 1.0, ts), task).alpha_c - 1
        for ts in (3, 9, 27)
    ]
    assert np.all(np.diff(gaps) < 0)
    assert abs(gaps[-1]) < 1e-6
    one_layer = alpha(Linear(), 1.0, 0.5, task)
    assert_allclose(perceptron_limit(NeuronSpec(ReLU(), 1.0, 27.0), task).alpha_c, one_layer, rtol=1e-12)


def test_zero_load_is_the_exponential_distribution():
    limit = zero_load(NeuronSpec(Polsky(), 0.3, 0.5), TaskSpec(f_in=0.2))
    assert_allclose([limit.W_bar, limit.Q, limit.q], [1.5, 4.5, 2.25])
    assert_allclose(limit.free_entropy, 1 + np.log(1.5))  # entropy of an exponential variable of mean 1.5
    assert_allclose(limit.M_hat, -1 / 1.5)
    assert_allclose(limit.preactivation_sd, np.sqrt(0.16 * limit.Q))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: large_threshold_slope(ReLU()), NoSolution, ["ReLU", "saturate"]),
        (lambda: large_threshold_slope(Step()), NoSolution, ["Step", "continuously"]),
        (lambda: large_threshold_slope(Polsky(), 1.0), InvalidParameter, ["theta_s = 1.0", "(0, 1)"]),
        (lambda: perceptron_limit(NeuronSpec(Polsky(), 0.1, 1.5)), NoSolution, ["1.5", "range"]),
        (
            lambda: perceptron_limit(NeuronSpec(levels=[Level(ReLU(), 0.1)] * 2, theta_s=0.5)),
            InvalidParameter,
            ["n_levels = 2"],
        ),
        (lambda: zero_load(NeuronSpec(Polsky(), 0.0, 0.5)), InvalidParameter, ["theta_d = 0.0"]),
        (lambda: relu_large_threshold_capacity(-1.0), InvalidParameter, ["theta_d = -1.0"]),
    ],
)
def test_limits_that_do_not_exist_say_why(make, error, words):
    with pytest.raises(error) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_ceiling_of_a_committee_is_that_of_the_cited_result_with_the_natural_logarithm():
    assert_allclose([committee_ceiling(30), committee_ceiling(100)], [9.4, 10.9], atol=0.05)  # paper notes, item 15
    assert_allclose(committee_ceiling(np.e), 16.0 / np.pi, rtol=1e-15)
    with pytest.raises(InvalidParameter, match="n_branches"):
        committee_ceiling(0)


def test_without_a_task_labels_are_balanced_and_without_margin():
    neuron = NeuronSpec(Polsky(), 0.5, 0.3)
    weights = critical_capacity(neuron).weights
    assert saddle_point(neuron, alpha=0.4) == saddle_point(neuron, TaskSpec(), alpha=0.4)
    assert stability_limit(neuron) == stability_limit(neuron, TaskSpec())
    assert somatic_thresholds(Polsky(), weights) == somatic_thresholds(Polsky(), weights, TaskSpec())
    assert silent_range(Polsky(), 0.5) == silent_range(Polsky(), 0.5, TaskSpec())
    assert linear_margin(weights) == linear_margin(weights, TaskSpec())


@pytest.mark.parametrize("g", [Linear(), ReLU(), Polsky()])
def test_rare_labels_approach_their_limit(g):
    neuron, errors = NeuronSpec(g, 0.5, 0.5), []
    for f_out in (1e-3, 1e-6, 1e-12):
        exact = critical_capacity(neuron, TaskSpec(f_out=f_out)).alpha_c
        errors.append(exact / sparse_labels_capacity(neuron, f_out) - 1.0)
    assert errors[0] > errors[1] > errors[2] > 0.0  # corrections of order 1 / t^2 with t^2 up to 40
    assert errors[2] < 0.03


def test_large_margins_approach_their_limit():
    for g in (ReLU(), SaturatingReLU(), Polsky()):
        neuron = NeuronSpec(g, 0.5, 0.5)
        limit = large_margin_capacity(neuron)
        errors = [
            kappa**2 * critical_capacity(neuron, TaskSpec(kappa=kappa)).alpha_c / limit - 1.0 for kappa in (30, 300)
        ]
        assert abs(errors[1]) < 1e-4
        assert abs(errors[1]) < 0.02 * abs(errors[0])  # the correction is Gamma_0 / kappa^2
    with pytest.raises(NoSolution, match="without bound"):
        large_margin_capacity(NeuronSpec(Linear(), 0.5, 0.5))
