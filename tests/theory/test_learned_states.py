"""Learned states: the minimum of the cross-entropy at any load."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import dendrocap as dc
from dendrocap.errors import InvalidParameter
from dendrocap.learning import cross_entropy, soft_error
from dendrocap.theory._laws import equal_costs
from dendrocap.theory.learned import _Problem
from dendrocap.theory.patterns import CrossEntropy, NormalIntegral, effort, responses
from tests.naive import states as naive

LINEAR, RELU, POLSKY = (dc.NeuronSpec(g, 0.5, 0.5) for g in (dc.Linear(), dc.ReLU(), dc.Polsky()))
NEURONS = {"linear": LINEAR, "relu": RELU, "polsky": POLSKY}
FLIPS = (0.01, 0.05, 0.1)


def test_the_loss_is_that_of_the_learning_rule():
    x = np.linspace(-3.0, 3.0, 41)
    for gamma_ce in (0.3, 1.0, 30.0):
        loss = CrossEntropy(gamma_ce)
        assert_allclose(loss.value(x), cross_entropy(x, gamma_ce), rtol=1e-13)
        assert_allclose(loss.push(x, 0.0), soft_error(x, gamma_ce), rtol=1e-12)


@pytest.mark.parametrize("loss", [CrossEntropy(0.5), CrossEntropy(20.0), NormalIntegral()], ids=repr)
def test_pushes_are_derivatives_of_the_loss(loss):
    x, h = np.linspace(-1.0, 1.0, 9), 1e-5
    assert_allclose(loss.push(x, math.log(3.0)), -3.0 * (loss.value(x + h) - loss.value(x - h)) / (2.0 * h), rtol=1e-6)
    bend = loss.push(x - h, math.log(3.0)) - loss.push(x + h, math.log(3.0))
    assert_allclose(loss.stiffness(x, loss.push(x, math.log(3.0))), bend / (2.0 * h), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("gamma_ce", [0.3, 5.0, 300.0])
@pytest.mark.parametrize("tau", [0.01, 1.0, 100.0])
def test_averages_over_responses_equal_those_over_fields(gamma_ce, tau):
    """Averages over x with its density against averages over t with x found by bisection."""
    t = np.linspace(0.2 - 8.0 * 0.7, 0.2 + 8.0 * 0.7, 400_001)
    weight = np.exp(-0.5 * ((t - 0.2) / 0.7) ** 2)
    x = naive.Learned(LINEAR, 1.0, gamma_ce).response(t, tau)
    found = responses(CrossEntropy(gamma_ce), math.log(tau), 0.2, 0.7)
    assert_allclose(found.weight.sum(), 1.0, rtol=1e-9)
    for function in (lambda x, t: (x - t) ** 2, lambda x, t: np.cos(x)):
        expected = float(weight @ function(x, t)) / weight.sum()
        assert_allclose(found.weight @ function(found.margin, found.field), expected, rtol=1e-8)


@pytest.mark.parametrize("loss", [CrossEntropy(0.5), CrossEntropy(20.0), NormalIntegral()], ids=repr)
@pytest.mark.parametrize("log_tau", [-3.0, 1.0, 6.0])
def test_compiled_responses_equal_the_loss(loss, log_tau):
    """The nodes of the compiled average have the push and the stiffness of the loss, and so have its sums."""
    found = responses(loss, log_tau, 0.2, 1.7)
    push = loss.push(found.margin, log_tau)
    assert_allclose(found.push, push, rtol=1e-13)
    assert_allclose(found.stiffness, loss.stiffness(found.margin, push), rtol=1e-13, atol=1e-300)
    assert_allclose(found.weight.sum(), 1.0, rtol=1e-12)
    kept = 1.0 / (1.0 + found.stiffness)
    given = (push, push**2, kept * push, kept * push**2, kept * found.stiffness, kept * found.stiffness * push)
    assert_allclose(found.averages(), [found.weight @ one for one in given], rtol=1e-12)


@pytest.mark.parametrize("loss", [CrossEntropy(0.5), CrossEntropy(20.0), NormalIntegral()], ids=repr)
@pytest.mark.parametrize("log_tau", [-1.0, 1.5, 3.0, 10.0])
def test_effort_grows_with_tau_as_its_derivative_says(loss, log_tau):
    """For noise also where patterns jump: the jump moves, and those there are saved."""
    for mean, sd in ((0.0, 0.8), (0.3, 6.0)):
        square, growth = effort(loss, log_tau, mean, sd)
        above, below = (effort(loss, log_tau + h, mean, sd)[0] for h in (1e-4, -1e-4))
        assert_allclose(growth, (above - below) / 2e-4, rtol=1e-6)
        patterns = responses(loss, log_tau, mean, sd)
        assert_allclose(square, patterns.weight @ patterns.push**2, rtol=1e-13)


@pytest.mark.parametrize("tau", [4.2, 4.5, 7.0, 10.0, 20.0, 1e3, 1e4, 1e8, 1e40, 1e200])
def test_where_a_pattern_is_given_up_both_ways_cost_the_same(tau):
    given_up, saved = equal_costs(tau)
    loss, log_tau = NormalIntegral(), math.log(tau)
    # Where both answers are stationary, the pushes give the fields, which are one field.
    pushes = [float(loss.push(np.array(max(x, -1e100)), log_tau)) for x in (given_up, saved)]
    assert_allclose(saved - pushes[1], given_up - pushes[0], rtol=1e-12)
    costs = [
        float(loss.value(x)) + 0.5 * push * (push / tau) for x, push in zip((given_up, saved), pushes, strict=True)
    ]
    assert_allclose(costs[1], costs[0], rtol=1e-12)
    assert given_up < -1.0 < saved
    assert 1.0 + saved * pushes[1] > 0.0 < 1.0 + given_up * pushes[0]  # both stable


@pytest.mark.parametrize("gamma_ce", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("f_out", [0.05, 0.4])
def test_two_equations_at_once_equal_one_after_the_other(gamma_ce, f_out):
    """Newton's method from afar, against nested roots that are both monotone."""
    problem = _Problem(POLSKY, dc.TaskSpec(f_out=f_out), 0.7, CrossEntropy(gamma_ce))
    point = problem.point(0.5)
    sd = math.sqrt(point.tree.Gamma0)
    target = point.C * point.tree.Gamma1 / 0.7
    slow = problem.log_tau(0.0, lambda log_tau: problem.balanced(log_tau, 0.0, sd), sd, target)
    assert_allclose(point.log_tau, slow, rtol=1e-10, atol=1e-10)
    assert_allclose(point.shift, problem.balanced(slow, 0.0, sd), rtol=1e-9)


LINEAR_STATES = {0.291: (0.758, 0.848), 0.971: (0.1127, 0.740), 2.912: (0.00628, 0.688)}


@pytest.mark.parametrize("gamma_ce", LINEAR_STATES)
def test_linear_neuron_at_half_load(gamma_ce):
    state = dc.learned_state(LINEAR, alpha=0.5, gamma_ce=gamma_ce)
    loss, silent = LINEAR_STATES[gamma_ce]
    assert_allclose(state.loss, loss, rtol=7e-4)
    assert_allclose(state.silent_fraction, silent, atol=6e-4)
    assert state.estimate == "exact"
    assert_allclose(state.margins.mean_loss(), state.loss, rtol=1e-10)
    assert_allclose(state.margins.cdf(0.0), state.training_error, rtol=1e-10)
    assert_allclose([state.weights.mean(), state.weights.second_moment()], [state.W_bar, state.Q], rtol=1e-12)


@pytest.mark.parametrize("name", NEURONS)
@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_the_equations_are_derivatives_of_the_loss(name, alpha):
    """Stationary in chi and in Q, below and above capacity, by a free energy that shares no code with the solver."""
    state = dc.learned_state(NEURONS[name], alpha=alpha, gamma_ce=3.0)
    slow = naive.Learned(NEURONS[name], alpha, 3.0)
    chi = math.exp(state.log_tau) / state.Gamma1
    h = 1e-3
    here = slow.free_energy(state.B, chi)
    assert_allclose(here, alpha * state.loss, rtol=1e-6)
    along_chi = slow.free_energy(state.B, chi * (1.0 + h)) - slow.free_energy(state.B, chi * (1.0 - h))
    bend_chi = (
        slow.free_energy(state.B, chi * (1.0 + h)) + slow.free_energy(state.B, chi * (1.0 - h)) - 2.0 * here
    ) / h**2
    assert abs(along_chi / (2.0 * h)) < 3e-6 * abs(bend_chi)
    assert bend_chi < 0.0  # a maximum
    h = 1e-2
    up, down = slow.at_best_compliance(state.B + h), slow.at_best_compliance(state.B - h)
    bend = (up + down - 2.0 * here) / h**2
    assert bend > 0.0  # a minimum
    assert abs(up - down) / (2.0 * h) < 2e-2 * h * bend + 1e-7


@pytest.mark.parametrize("name", ["linear", "polsky"])
def test_slow_twin_finds_the_same_state(name):
    state = dc.learned_state(NEURONS[name], alpha=0.8, gamma_ce=2.0)
    B, loss = naive.Learned(NEURONS[name], 0.8, 2.0).minimum(state.B - 0.6, state.B + 0.5)
    assert_allclose(state.B, B, atol=1e-3)  # a minimum is known to the root of the error of its depth
    assert_allclose(state.loss, loss, rtol=1e-6)


def test_a_steep_loss_leads_to_the_largest_margin():
    limit = [dc.noise_error(dc.maximal_margin(LINEAR, alpha=0.5), flips=flips) for flips in FLIPS]
    gaps = []
    for gamma_ce in (300.0, 3000.0):
        state = dc.learned_state(LINEAR, alpha=0.5, gamma_ce=gamma_ce)
        gaps.append(np.array([dc.noise_error(state, flips=flips) for flips in FLIPS]) - limit)
    # Corrections are of order ln(gamma_ce) / gamma_ce.
    ratio = math.log(3000.0) / 3000.0 / (math.log(300.0) / 300.0)
    assert np.all(np.abs(gaps[1]) < 1.2 * ratio * np.abs(gaps[0]))
    assert np.all(np.abs(gaps[1]) < 5e-5)


def test_flat_loss_gives_the_hebbian_limit():
    """A small gamma_ce makes the loss -x / 2: all patterns pull alike, by tau / 2."""
    state = dc.learned_state(LINEAR, alpha=2.0, gamma_ce=1e-4)
    steepest = max(
        (naive.Learned(LINEAR, 2.0, 1.0).norm(B)[1] / naive.Learned(LINEAR, 2.0, 1.0).norm(B)[0], B)
        for B in np.linspace(-3.0, 3.0, 601)
    )
    # the mean margin, tau / 2 = sqrt(C Gamma_1 / alpha), grows with C for ever; the curvature of the loss ends it
    assert 10.0 * naive.Learned(LINEAR, 2.0, 1.0).norm(steepest[1])[0] < state.Q
    assert_allclose(state.loss, math.log(2.0) / 2e-4 - 0.5 * state.margins.mean(), rtol=0.2)


@pytest.mark.parametrize("name", NEURONS)
def test_without_noise_the_error_is_that_of_training(name):
    state = dc.learned_state(NEURONS[name], alpha=2.0, gamma_ce=2.0)
    assert dc.noise_error(state) == state.training_error
    weak = dc.noise_error(state, flips=1e-12)  # of a g with kinks, errors grow like the root of it
    assert_allclose(weak, state.training_error, rtol=1e-3)
    assert dc.noise_error(state, flips=0.1) > state.training_error


@pytest.mark.parametrize("f_out", [0.2, 0.5])
def test_labels_balance_and_swap(f_out):
    task = dc.TaskSpec(f_out=f_out)
    state = dc.learned_state(RELU, task, alpha=1.0, gamma_ce=3.0)
    loss = CrossEntropy(3.0)
    sd = math.sqrt(state.Gamma0)
    up = responses(loss, state.log_tau, state.mean_shift, sd)
    down = responses(loss, state.log_tau, -state.mean_shift, sd)
    assert_allclose(f_out * (up.weight @ up.push), (1.0 - f_out) * (down.weight @ down.push), rtol=1e-9)
    other = dc.learned_state(RELU, dc.TaskSpec(f_out=1.0 - f_out), alpha=1.0, gamma_ce=3.0)
    assert_allclose([other.loss, other.mean_shift], [state.loss, -state.mean_shift], rtol=1e-8, atol=1e-12)


def test_margins_are_a_distribution():
    margins = dc.learned_state(RELU, dc.TaskSpec(f_out=0.3), alpha=1.5, gamma_ce=3.0).margins
    x = np.linspace(-4.0, 6.0, 20001)
    assert_allclose(np.trapezoid(margins.pdf(x), x), 1.0, rtol=1e-8)
    assert_allclose(np.trapezoid(x * margins.pdf(x), x), margins.mean(), rtol=1e-8)
    low, high = 0.1, 0.4
    inside = np.linspace(low, high, 4001)
    assert_allclose(np.trapezoid(margins.pdf(inside), inside), margins.cdf(high) - margins.cdf(low), rtol=1e-5)


def test_only_a_linear_neuron_is_exact():
    assert "replica symmetric" in repr(dc.learned_state(RELU, alpha=0.5, gamma_ce=1.0))
    assert "exact" in repr(dc.learned_state(LINEAR, alpha=0.5, gamma_ce=1.0))


def test_what_is_refused_says_why():
    with pytest.raises(InvalidParameter, match="knows no margin"):
        dc.learned_state(RELU, dc.TaskSpec(kappa=0.1), alpha=0.5, gamma_ce=1.0)
    with pytest.raises(InvalidParameter, match="gamma_ce"):
        dc.learned_state(RELU, alpha=0.5, gamma_ce=0.0)
    with pytest.raises(dc.NoSolution, match="jumps"):
        dc.learned_state(dc.NeuronSpec(dc.Step(), 0.5, 0.5), alpha=0.5, gamma_ce=1.0)


def fixed_sum_minimum(inputs, signs, gamma_ce, theta):
    """Weights >= 0 of mean 2 theta that minimise the cross-entropy, by L-BFGS-B on weights before normalisation."""
    n = inputs.shape[1]
    centred = inputs - 0.5  # at a fixed sum only deviations from f_in matter

    def loss_and_slope(u):
        scale = 2.0 * theta / u.mean()
        margins = signs * (centred @ u) * scale / math.sqrt(n)
        slope = centred.T @ (-soft_error(margins, gamma_ce) * signs) * scale / math.sqrt(n)
        return cross_entropy(margins, gamma_ce).sum(), slope - (slope @ u) / u.sum()

    found = minimize(
        loss_and_slope,
        np.full(n, 2.0 * theta),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n,
        options={"maxiter": 4000, "maxfun": 8000, "ftol": 1e-13, "gtol": 1e-7},
    )
    return found.x * 2.0 * theta / found.x.mean()


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "gamma_ce"), [(0.5, 0.971), (2.0, 1.0)])
def test_linear_neuron_against_direct_minimisation(alpha, gamma_ce, rng):
    """Exact theory, below and above capacity, against L-BFGS-B on random patterns of 800 inputs."""
    n, runs = 800, 6
    state = dc.learned_state(LINEAR, alpha=alpha, gamma_ce=gamma_ce)
    found = []
    for _ in range(runs):
        inputs = (rng.random((int(alpha * n), n)) < 0.5).astype(float)
        signs = rng.choice([-1.0, 1.0], len(inputs))
        w = fixed_sum_minimum(inputs, signs, gamma_ce, 0.5)
        margins = signs * ((inputs - 0.5) @ w) / math.sqrt(n)
        flipped = np.where(rng.random(inputs.shape) < 0.05, 1.0 - inputs, inputs)
        noisy = np.mean(signs * ((flipped - 0.5) @ w) < 0.0)
        found.append(
            [cross_entropy(margins, gamma_ce).mean(), np.mean(margins < 0.0), np.mean(w < 1e-6), np.mean(w**2), noisy]
        )
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(runs)
    expected = [
        state.loss,
        state.training_error,
        state.silent_fraction,
        state.Q,
        dc.noise_error(state, flips=0.05),
    ]
    # 4 standard errors, each known from 6 runs to a third, and 1 / N of finite size
    assert np.all(np.abs(mean - expected) < 5.0 * error + 2.0 / n * np.abs(expected)), (mean, error, expected)


def test_every_norm_has_one_compliance():
    """The push grows with tau, so that [learned-C] has one root; the solver's point lies on it."""
    problem = _Problem(POLSKY, dc.TaskSpec(), 0.7, CrossEntropy(2.0))
    for B in (-1.0, 0.5, 2.0):
        point = problem.point(B)
        found = responses(CrossEntropy(2.0), point.log_tau, 0.0, math.sqrt(point.tree.Gamma0))
        assert_allclose(0.7 * (found.weight @ found.push**2), point.C * point.tree.Gamma1, rtol=1e-9)
