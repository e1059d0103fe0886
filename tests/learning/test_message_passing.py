"""Message passing: its pieces against quadrature, its fixed points against a potential, its value against theory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import linregress

from dendrocap import (
    ConvergenceError,
    DendriticNeuron,
    InvalidParameter,
    NeuronSpec,
    Polsky,
    ReLU,
    TaskSpec,
    random_patterns,
    saddle_point,
)
from dendrocap.learning import _solver_kernels, bethe_free_entropy
from dendrocap.learning import message_passing as amp
from dendrocap.numerics import TruncatedNormal, trapezoidal_rule
from tests.naive.solvers import naive_belief, naive_channel

SMALL = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), n_inputs=303, n_branches=12)


def settled(neuron=SMALL, n_patterns=40, sweeps=200, seed=3):
    inputs, labels = random_patterns(n_patterns, neuron.n_inputs, rng=seed)
    messages = amp.Messages(neuron, inputs, np.where(labels, 1.0, -1.0))
    for _ in range(sweeps):
        residual = messages.sweep(0.5)
    assert residual < 1e-4
    return messages


@pytest.mark.parametrize("g", [Polsky(), ReLU()], ids=repr)
@pytest.mark.parametrize(("n_nodes", "tolerance"), [(81, 0.01), (641, 2e-4)])
def test_channel_equals_dense_sums(g, n_nodes, tolerance, rng):
    means, variances = rng.normal(0.35, 0.7, (4, 5)), rng.uniform(0.2, 1.0, 5)
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    response, curvature, log_norm = np.empty((4, 5)), np.empty((4, 5)), np.empty(4)
    _solver_kernels.channel(
        means,
        variances,
        signs,
        *trapezoidal_rule(n_nodes),
        np.sqrt(5) * 0.5,
        0.1,
        *g.kernel(),
        1e-9,
        response,
        curvature,
        log_norm,
    )
    for pattern in range(4):
        slow = naive_channel(g, means[pattern], variances, signs[pattern], 0.5, 0.1)
        # The rule's error at a kink goes like the square of the distance of nodes: 64 times less with 8 times as many.
        assert_allclose(response[pattern], slow[0], atol=tolerance)
        assert_allclose(curvature[pattern], slow[1], atol=3 * tolerance)
        assert_allclose(log_norm[pattern], slow[2], atol=tolerance)


def test_channel_survives_hopeless_patterns():
    """Fifty deviations on the wrong side: H underflows, its logarithm does not."""
    response, curvature, log_norm = np.empty((1, 4)), np.empty((1, 4)), np.empty(1)
    _solver_kernels.channel(
        np.full((1, 4), -3.0),
        np.full(4, 1e-3),
        np.array([1.0]),
        *trapezoidal_rule(41),
        1.0,
        0.0,
        *ReLU().kernel(),
        1e-9,
        response,
        curvature,
        log_norm,
    )
    assert np.all(np.isfinite(response))
    assert np.all(np.isfinite(curvature))
    assert log_norm[0] < -1e3


def test_a_settled_state_repeats_itself_in_the_slow_twin():
    """One undamped sweep, written with dense sums and adaptive quadrature, maps the fixed point onto itself."""
    messages = settled()
    neuron, sizes = SMALL, SMALL.branch_sizes
    for pattern in (0, 7, 21, 39):
        twin = naive_channel(
            neuron.nonlinearity, messages.cavity[pattern], messages.variance, messages.signs[pattern], 0.5
        )
        assert_allclose(twin[0], messages.response[pattern], atol=0.01)
    inputs, _ = random_patterns(40, 303, rng=3)
    for branch in (0, 11):
        start, size = neuron.branch_starts[branch], sizes[branch]
        part = inputs[:, start : start + size].astype(float)
        f = (part.sum(axis=0) + 0.5) / 41.0
        x = part - f
        curvature = messages.curvature[:, branch].sum()
        for i in (0, size - 1):
            precision = f[i] * (1 - f[i]) * curvature / size
            w = messages.beliefs.mean[branch, i]
            push = x[:, i] @ messages.response[:, branch] / np.sqrt(size) + precision * w
            mean, variance, _ = naive_belief(precision, push + messages.field[branch] * f[i])
            assert_allclose([w, messages.beliefs.variance[branch, i]], [mean, variance], rtol=1e-4)
        weights = messages.beliefs.mean[branch, :size]
        offset = f @ weights / np.sqrt(size) - np.sqrt(size) * 0.5
        assert_allclose(offset, messages.offset[branch], atol=1e-6)
        mean_input = x @ weights / np.sqrt(size) + offset
        assert_allclose(mean_input, messages.inputs_mean[:, branch], atol=1e-5)
        reaction = messages.variance[branch] * messages.response[:, branch]
        assert_allclose(messages.cavity[:, branch], mean_input - reaction, atol=1e-5)


def test_the_free_entropy_is_stationary_where_messages_settle():
    """Each kind of unknown is displaced while the others stay: ln Z / N changes in second order only."""
    messages = settled(sweeps=300)
    at_rest = messages.free_entropy()

    def changed(name, direction, size):
        old = getattr(messages, name)
        values = []
        for sign in (1.0, -1.0):
            setattr(messages, name, old + sign * size * direction)
            if name in ("push", "field", "precision"):
                beliefs = messages.beliefs
                moved = messages._beliefs(messages.field)
                # The norms follow A, B and h; w and its variance are unknowns of their own.
                messages.beliefs = TruncatedNormal(beliefs.mean, beliefs.variance, moved.log_norm)
                values.append(messages.free_entropy())
                messages.beliefs = beliefs
            setattr(messages, name, old)
        return (values[0] - values[1]) / (2.0 * size)

    rng = np.random.default_rng(1)
    for name, scale in (("push", 1.0), ("field", 1.0), ("precision", 1.0)):
        direction = scale * rng.standard_normal(getattr(messages, name).shape)
        if name == "precision":
            direction *= messages.precision
        if getattr(messages, name).shape == messages.real.shape:
            direction = direction * messages.real
        slope = changed(name, direction, 1e-3)
        # A term of the potential alone changes by this much; their sum must cancel.
        alone = np.sqrt(np.sum(direction**2)) * float(messages.beliefs.mean.mean()) / SMALL.n_inputs
        assert abs(slope) < 1e-3 * alone, name
    assert messages.free_entropy() == at_rest


def test_few_patterns_leave_the_volume_of_load_zero():
    """Load 0.05: below 1 + ln(mean weight) by about ln 2 per pattern."""
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), n_inputs=2000, n_branches=40)
    found = bethe_free_entropy(neuron, *random_patterns(100, 2000, rng=0))
    at_zero = 1.0 + np.log(found.mean_weight)
    assert at_zero - 2.0 * 0.05 * np.log(2.0) < found.free_entropy < at_zero - 0.5 * 0.05 * np.log(2.0)
    assert found.mean_square == pytest.approx(2.0 * found.mean_weight**2, rel=0.1)


def test_not_settling_is_said():
    inputs, labels = random_patterns(60, 303, rng=3)
    with pytest.raises(ConvergenceError, match="after 2 sweeps") as caught:
        bethe_free_entropy(SMALL, inputs, labels, max_iterations=2)
    assert not caught.value.last_iterate.converged
    assert not bethe_free_entropy(SMALL, inputs, labels, max_iterations=2, on_failure="return").converged


def test_prescribed_differences_between_branches_are_kept():
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), n_inputs=120, n_branches=6)
    inputs, labels = random_patterns(30, 120, rng=1)
    split = np.array([-0.5, 0.5] * 3)
    messages = amp.Messages(neuron, inputs, np.where(labels, 1.0, -1.0), split=split)
    for _ in range(100):
        messages.sweep(0.5)
    assert_allclose(messages.offset - messages.offset.mean(), split, atol=1e-12)
    weights = messages.beliefs.mean.sum(axis=1)
    assert weights[1::2].min() > weights[::2].max()  # a larger mean input needs larger weights
    found = bethe_free_entropy(neuron, inputs, labels, split=split)
    assert found.free_entropy == pytest.approx(messages.free_entropy(), abs=1e-4)
    alike = bethe_free_entropy(neuron, inputs, labels)
    assert bethe_free_entropy(neuron, inputs, labels, split=np.zeros(6)).free_entropy == alike.free_entropy
    with pytest.raises(InvalidParameter, match="one finite number for each of 6 branches"):
        bethe_free_entropy(neuron, inputs, labels, split=[0.1, -0.1])


def excess_at_zero_tilt(n_inputs, instances, alpha=0.2):
    """Bethe minus replica-symmetric free entropy for n = 50 synapses per branch, and its standard error.

    Positive weights make a task easy when the patterns to be answered by 1 happen to be the more active ones. This
    tilt has mean zero, so a regression on it takes its luck out of the average.
    """
    neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), n_inputs, n_branches=n_inputs // 50)
    tilts, excess = [], []
    for seed in range(instances):
        inputs, labels = random_patterns(round(alpha * n_inputs), n_inputs, rng=seed)
        found = bethe_free_entropy(neuron, inputs, labels)
        # The theory takes long branches; at finite length the mean weight is shifted, to the value found.
        spec = NeuronSpec(Polsky(), theta_d=0.5 * found.mean_weight, theta_s=0.5)
        excess.append(found.free_entropy - saddle_point(spec, TaskSpec(), alpha=alpha).free_entropy)
        tilts.append(np.where(labels, 1.0, -1.0) @ (inputs.sum(axis=1) - 0.5 * n_inputs))
    fit = linregress(tilts, excess)
    assert fit.rvalue > 0.7
    return fit.intercept, fit.intercept_stderr


@pytest.mark.slow
def test_free_entropy_tends_to_that_of_the_replica_theory():
    """Load 0.2, replica symmetry being stable up to 0.83: what is left at N = 500 and 1000 falls like 1/N to zero."""
    (small, small_error), (large, large_error) = excess_at_zero_tilt(500, 60), excess_at_zero_tilt(1000, 40)
    limit, error = 2.0 * large - small, np.hypot(2.0 * large_error, small_error)
    assert error < 0.004  # the free entropy itself is 0.91
    assert small < large - 2.0 * np.hypot(small_error, large_error)
    assert abs(limit) < 2.5 * error


def test_what_a_sweep_returns_is_the_largest_change_of_a_mean_weight_in_units_of_their_mean():
    neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.05, theta_s=0.5), n_inputs=60, n_branches=4)
    inputs, labels = random_patterns(20, 60, rng=0)
    messages = amp.Messages(neuron, np.asarray(inputs), np.where(labels, 1.0, -1.0), 0.0, split=np.zeros(4))
    before = messages.beliefs.mean.copy()
    residual = messages.sweep(0.5)
    assert 0.0 < before.mean() < 0.5  # no factor is one
    assert residual == pytest.approx(np.max(np.abs(messages.beliefs.mean - before)) / before.mean(), rel=1e-12)
