"""Channels: patterns that may be wrong or noisy. Potential, limits, slow twins, Monte Carlo, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, ndtr

import dendrocap as dc
from dendrocap import (
    Bounded,
    Branches,
    Custom,
    Inhibition,
    InvalidParameter,
    Linear,
    NeuronSpec,
    NonNegative,
    NoSolution,
    Polsky,
    Probit,
    ReLU,
    Ridge,
    TaskSpec,
    Temperature,
    critical_capacity,
    saddle_point,
)
from dendrocap.numerics import legendre_rule
from dendrocap.theory import HardMargin, OwnChannel
from dendrocap.theory._laws import energetic_averages, given_up_at
from dendrocap.theory.neuron_kernel import TreeKernel
from dendrocap.theory.patterns import Energetic, _clean_error
from tests.naive.finite_load import DZ, Z
from tests.naive.priors import naive_energetic
from tests.naive.sampling import gibbs_sample
from tests.theory.potential import OrderParameters, free_entropy, free_entropy_gradient, order_parameters
from tests.theory.test_priors import differences, scales

SPARSE = TaskSpec(f_in=0.2, f_out=0.1, kappa=0.3)
CHANNELS = [Temperature(0.05), Temperature(0.5), Probit(0.02), Probit(0.5)]

LOGISTIC = Custom(
    lambda x: expit(6.68 * (np.asarray(x) - 1.45)),
    lambda x: 6.68 * expit(6.68 * (np.asarray(x) - 1.45)) * expit(6.68 * (1.45 - np.asarray(x))),
    domain=(-6.0, 8.0),
)


def neuron(g=None, prior=None):
    return NeuronSpec(g or ReLU(), 0.5, 0.5, prior=prior or NonNegative())


# The average over patterns --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [*CHANNELS, Temperature(0.02), Temperature(20.0), HardMargin()], ids=repr)
def test_the_energetic_term_against_the_naive_average(channel):
    kernel = TreeKernel(neuron(), SPARSE).at(7.0, 0.6)
    for f_out, shift in ((0.5, 0.0), (0.1, -0.4)):
        task = replace(SPARSE, f_out=f_out)
        found = Energetic.at(kernel, task, shift, channel=channel)
        naive = naive_energetic(channel, kernel.D0, kernel.D1, task.kappa, shift, f_out)
        assert_allclose(found.term, naive, rtol=1e-9)


@pytest.mark.parametrize("penalty", [0.5, 6.0, 7.5, 40.0, 900.0])
def test_tempered_averages_do_not_depend_on_the_step(penalty):
    for steepness, shift in ((0.7, 0.2), (30.0, -1.0), (1e4, 3.0)):
        found, fine = (energetic_averages(steepness, shift, step, penalty) for step in (0.12, 0.04))
        assert_allclose(found, fine, rtol=1e-9, atol=1e-13)
    a = given_up_at(penalty)
    kept = -math.expm1(-penalty)
    assert a == 0.0 or abs(math.log(kept) + math.log(max(ndtr(-a), 1e-300)) + penalty) < 1e-9 or penalty > 600.0


def test_derivatives_of_the_average_over_patterns():
    """f' and f'' are those of the logarithm, through any channel: E f' from differences in the margin, E f'' twice."""
    kernel = TreeKernel(neuron(), TaskSpec()).at(3.0, 0.4)
    for channel in CHANNELS:
        h = 1e-3
        up, here, down = (Energetic.at(kernel, TaskSpec(kappa=0.1 + d), 0.0, channel=channel) for d in (h, 0.0, -h))
        assert_allclose(here.f2, (up.term - 2.0 * here.term + down.term) / h**2, rtol=1e-4)


# Saddle points --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
@pytest.mark.parametrize(
    ("g", "prior", "alpha"),
    [(ReLU(), None, 0.6), (Polsky(), None, 6.0), (Polsky(), Bounded(2.5), 4.0), (ReLU(), Ridge(2.0), 2.5)],
    ids=["below", "above", "bounded", "ridge"],
)
def test_the_saddle_point_is_one_of_the_free_entropy(channel, g, prior, alpha):
    cell = neuron(g, prior)
    task = TaskSpec() if isinstance(channel, Temperature) else replace(SPARSE, f_in=0.5, kappa=0.02)
    point = saddle_point(cell, task, alpha=alpha, channel=channel)
    assert point.error < 1e-9
    order, units = order_parameters(point), scales(point)

    def potential(at):
        return free_entropy(cell, task, alpha, at, channel=channel)

    assert_allclose(potential(order), point.free_entropy, rtol=1e-9, atol=1e-9)
    moved = {name: getattr(order, name) + 0.05 * getattr(units, name) for name in ("Q", "M_hat", "q_hat")}
    for at, vanish in ((order, True), (replace(order, **moved), False)):
        gradient = free_entropy_gradient(cell, task, alpha, at, channel=channel)
        measured = differences(potential, at, units)
        for name in OrderParameters.__dataclass_fields__:
            unit = getattr(units, name)
            assert_allclose(unit * getattr(gradient, name), unit * getattr(measured, name), rtol=1e-5, atol=1e-7)
            assert abs(unit * getattr(gradient, name)) < 1e-8 or not vanish


@pytest.mark.parametrize(
    ("cell", "task", "channel", "alpha"),
    [
        (NeuronSpec(LOGISTIC, 0.078, 0.029), TaskSpec(0.123, kappa=0.175), Probit(0.088), 0.102),
        (NeuronSpec(Polsky(0.684, 6.73), 0.0409, 0.575), TaskSpec(0.56, kappa=1.6), Probit(0.05), 0.05),
    ],
    ids=["logistic", "steep"],
)
def test_weak_noise_where_few_patterns_favour_large_weights(cell, task, channel, alpha):
    """No expansion at load 0 and no capacity to start from: followed from much noise, where there is one."""
    point = saddle_point(cell, task, alpha=alpha, channel=channel)
    assert point.error < 1e-9
    gradient = free_entropy_gradient(cell, task, alpha, order_parameters(point), channel=channel)
    assert_allclose([gradient.Q * point.Q, gradient.q * point.q, gradient.Q_hat / point.Q], 0.0, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.6, 3.0])
@pytest.mark.parametrize("T", [0.05, 0.4, 3.0])
def test_the_training_error_is_a_derivative_of_the_free_entropy(alpha, T):
    """d phi / d(1/T) = -alpha error: the Gibbs measure counts errors."""
    h = 1e-4 / T
    up, down = (saddle_point(neuron(), alpha=alpha, channel=Temperature(1.0 / (1.0 / T + s))) for s in (h, -h))
    error = saddle_point(neuron(), alpha=alpha, channel=Temperature(T)).training_error
    assert_allclose(-(up.free_entropy - down.free_entropy) / (2.0 * h) / alpha, error, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("channel", [Temperature(0.2), Probit(0.1)], ids=repr)
def test_the_free_entropy_falls_by_the_energetic_term(channel):
    h = 1e-4
    up, down = (saddle_point(neuron(), alpha=2.0 + s, channel=channel).free_entropy for s in (h, -h))
    point = saddle_point(neuron(), alpha=2.0, channel=channel)
    assert_allclose((up - down) / (2.0 * h), point.energetic_term, rtol=1e-6)


@pytest.mark.parametrize("sigma", [0.02, 0.2, 1.0])
def test_errors_with_output_noise_against_the_naive_average(sigma):
    """The first answer, with noise, was right; without noise it is wrong, or with another noise."""
    task = TaskSpec(kappa=0.1)
    point = saddle_point(neuron(), task, alpha=0.6, channel=Probit(sigma))
    kernel = TreeKernel(neuron(), task).at(point.Q, point.dq)
    x = np.linspace(-30.0, 30.0, 6001)  # far out, where hardly any answer is right, these are all that counts
    weight = np.exp(-0.5 * x * x)
    right = ndtr((-0.1 - math.sqrt(kernel.D0) * Z[::20, None] + math.sqrt(kernel.D1) * x) / sigma)
    again = 1.0 - (right**2 @ weight) / (right @ weight)
    assert_allclose(point.noisy_error, 20.0 * DZ[::20] @ again, rtol=1e-8)
    # Without noise the answer is wrong below the threshold: by t deviations, on panels that begin there.
    nodes, weights = legendre_rule(40)
    ends = np.array([0.0, 0.05, 0.2, 0.8, 2.0, 5.0, 10.0, 20.0, 40.0])
    half = 0.5 * np.diff(ends)[:, None]
    t, part = (ends[:-1, None] + half * (1.0 + nodes)).ravel(), (half * weights).ravel()
    edge = (0.1 + math.sqrt(kernel.D0) * Z[::20, None]) / math.sqrt(kernel.D1)
    missed = ndtr(-t * math.sqrt(kernel.D1) / sigma) * np.exp(-0.5 * (edge - t) ** 2) @ part
    clean = missed / (right @ weight * (x[1] - x[0]))
    assert_allclose(point.training_error, 20.0 * DZ[::20] @ clean, rtol=1e-8)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
def test_a_clean_answer_is_wrong_as_often_as_a_wedge_has_mass(share):
    """Given its noise, near and far from the threshold: by quadrature over the input and its noise."""
    a = np.array([-3.0, -0.5, 0.0, 1.0, 6.0, 19.9, 20.1, 26.0])
    noise, sd = math.sqrt(1.0 - share), math.sqrt(share)
    expected = []
    for one in a:
        # in units of the density at a, with y = a + t the input and its noise, of which the input has the mean share y
        def given(t, one=one):
            return math.exp(-t * one - 0.5 * t * t)

        def wrong(t, one=one):
            return given(t) * ndtr((one - share * (one + t)) / (sd * noise))

        top = 40.0 / max(one, 1.0) + max(-one, 0.0)
        expected.append(quad(wrong, 0.0, top, epsrel=1e-11)[0] / quad(given, 0.0, top, epsrel=1e-11)[0])
    # Where hardly any is wrong, two probabilities near one are subtracted.
    assert_allclose(_clean_error(a, share), expected, rtol=1e-8, atol=1e-16)


def test_little_noise_above_capacity_leaves_half_of_the_patterns_wrong():
    """It weights squared violations: a pattern whose field is below the threshold stays there, by however little."""
    errors = [saddle_point(neuron(Linear()), alpha=2.0, channel=Probit(sigma)) for sigma in (0.3, 0.1, 0.03, 0.01)]
    assert np.all(np.diff([point.training_error for point in errors]) > 0.0)
    assert_allclose(errors[-1].training_error, 0.5, atol=0.02)
    # A second noise may also save a wrong pattern, or spoil a right one.
    for point in errors:
        assert 0.0 < abs(point.noisy_error - point.training_error) < 0.1
    at_a_temperature = saddle_point(neuron(Linear()), alpha=2.0, channel=Temperature(0.2))
    assert at_a_temperature.noisy_error == at_a_temperature.training_error


# Limits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [Temperature(0.0), Temperature(0.01), Probit(0.0), Probit(1e-7)], ids=repr)
def test_strict_channels_are_the_hard_margin_below_capacity(channel):
    hard, strict = saddle_point(neuron(), alpha=0.6), saddle_point(neuron(), alpha=0.6, channel=channel)
    assert_allclose([strict.Q, strict.q, strict.free_entropy], [hard.Q, hard.q, hard.free_entropy], rtol=1e-6)
    assert strict.training_error < 1e-6
    assert (hard.training_error, hard.channel) == (0.0, HardMargin())


def test_lenient_channels_learn_nothing():
    for channel in (Temperature(1e5), Probit(1e4)):
        point = saddle_point(neuron(), alpha=3.0, channel=channel)
        assert_allclose(point.training_error, 0.5, atol=1e-4)
        assert_allclose([point.Q, point.q], [2.0, 1.0], rtol=1e-3)
    free = saddle_point(neuron(), alpha=0.0, channel=Temperature(0.3))
    assert (free.Q, free.q, free.free_entropy) == (2.0, 1.0, 1.0)
    # Weights that have not seen a pattern are wrong every other time, before they are selected for one.
    assert 0.0 < free.training_error < 0.5


@pytest.mark.parametrize("alpha", [1.5, 4.0])
def test_the_least_error_of_a_linear_neuron(alpha):
    """At T = 0 the weights are those of the capacity, and alpha int_0^u x^2 G = 1/2 with the error H(u)."""

    def second(u):
        return ndtr(u) - 0.5 - u * math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)

    u = brentq(lambda u: alpha * second(u) - 0.5, 1e-3, 30.0)
    cold = [saddle_point(neuron(Linear()), alpha=alpha, channel=Temperature(T)) for T in (1e-3, 1e-4, 1e-5)]
    misses = [point.training_error - ndtr(-u) for point in cold]
    assert misses[0] > misses[1] > misses[2] > 0.0
    assert misses[2] < 2e-5
    assert_allclose(cold[2].Q, critical_capacity(neuron(Linear())).Q, rtol=1e-3)
    # The free entropy is minus the number of errors over T, but for some nats, and replica symmetry is broken.
    assert_allclose(-1e-5 * cold[2].free_entropy / alpha, ndtr(-u), rtol=0.0, atol=20.0 * 1e-5)
    assert cold[2].stability < 0.0


def test_errors_grow_with_load_and_temperature():
    def error(T, alpha):
        return saddle_point(neuron(), alpha=alpha, channel=Temperature(T)).training_error

    errors = np.array([[error(T, alpha) for alpha in (0.5, 1.5, 4.0)] for T in (0.1, 1.0)])
    assert np.all(np.diff(errors, axis=0) > 0.0)
    assert np.all(np.diff(errors, axis=1) > 0.0)
    assert np.all(errors < 0.5)


def test_jumps_and_other_labels():
    step = saddle_point(NeuronSpec(dc.Step(), 0.5, 0.5), alpha=1.0, channel=Temperature(0.2))
    assert step.error < 1e-9
    noisy = saddle_point(neuron(), SPARSE, alpha=0.1, channel=Probit(0.05))
    assert noisy.error < 1e-9
    assert 0.0 < noisy.training_error < 0.1


# Simulation -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("prior", [NonNegative(), Bounded(2.0), Ridge(1.0)], ids=repr)
def test_monte_carlo_at_a_temperature(prior):
    """100 synapses of a linear neuron that learn 150 patterns, half more than they can, at T = 0.5."""
    n, n_patterns, T = 100, 150, 0.5
    found = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        fields = ((rng.random((n, n_patterns)) < 0.5) - 0.5) * rng.choice([-1.0, 1.0], size=n_patterns) / math.sqrt(n)
        w = np.ones(n)
        gibbs_sample(w, fields, T, prior.w_max, prior.strength, 3000, rng)
        visited = []
        for _ in range(60):
            error = gibbs_sample(w, fields, T, prior.w_max, prior.strength, 50, rng)
            visited.append((error, np.mean(w**2)))
        found.append(np.mean(visited, axis=0))
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(len(found))
    point = saddle_point(NeuronSpec(Linear(), 0.5, 0.0, prior=prior), alpha=1.5, channel=Temperature(T))
    assert np.all(np.abs(mean - [point.training_error, point.Q]) < 3.0 * spread)


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: saddle_point(neuron(), alpha=0.5, channel=0.1), r"channel = 0.1 is not allowed"),
        (lambda: saddle_point(neuron(), SPARSE, alpha=0.1, channel=Temperature(0.1)), r"task.f_out = 0.1 .* Probit"),
        (
            lambda: saddle_point(neuron(), alpha=0.5, branch_size=37, channel=Temperature(0.1)),
            "channel = Temperature.* branch_size",
        ),
        (
            lambda: saddle_point(
                NeuronSpec(ReLU(), 0.5, 0.5, inhibition=Inhibition(0.2, 0.1)), alpha=0.5, channel=Probit(0.1)
            ),
            "channel = Probit.* inhibition",
        ),
        (
            lambda: saddle_point(
                NeuronSpec(populations=[Branches(ReLU(), 0.5, 1.0)], theta_s=0.5), alpha=0.5, channel=Probit(0.1)
            ),
            "channel = Probit",
        ),
        (
            lambda: saddle_point(NeuronSpec(dc.Custom(lambda x: x**2), 0.5, 2.0), alpha=0.1, channel=Probit(0.1)),
            "a g that falls",
        ),
        (
            lambda: dc.noise_error(saddle_point(neuron(), alpha=0.5, channel=Temperature(0.3)), flips=0.05),
            r"channel = Temperature\(T=0.3\) is not allowed",
        ),
        (lambda: Temperature(-1.0), r"T = -1.0 is not allowed"),
        (lambda: Probit(math.nan), r"sigma = nan is not allowed"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()


class OwnTemperature(OwnChannel):
    def energy(self, margin):
        return 5.0 * (margin < 0.0)


class OwnProbit(OwnChannel):
    def energy(self, margin):
        return -log_ndtr(margin / 0.1)


@pytest.mark.parametrize(
    ("own", "built_in", "task"),
    [(OwnTemperature(), Temperature(0.2), TaskSpec(kappa=0.1)), (OwnProbit(), Probit(0.1), TaskSpec(f_out=0.3))],
    ids=["temperature", "probit"],
)
@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_a_users_own_channel_is_as_good_as_a_built_in_one(own, built_in, task, alpha):
    mine, usual = (saddle_point(neuron(), task, alpha=alpha, channel=one) for one in (own, built_in))
    for name in ("Q", "q", "M_hat", "free_entropy", "stability", "mean_shift", "training_error"):
        assert_allclose(getattr(mine, name), getattr(usual, name), rtol=2e-8, atol=1e-12, err_msg=name)


def test_noise_and_temperature_together_are_refused():
    class Both:
        noise, temperature = 0.1, 0.1

    with pytest.raises(InvalidParameter, match="not both"):
        saddle_point(neuron(), alpha=0.5, channel=Both())


def test_the_way_out_above_capacity_is_named():
    with pytest.raises(NoSolution, match=r"channel=Temperature\(T\) allows for wrong patterns"):
        saddle_point(neuron(), alpha=2.0)


def test_the_result_says_its_channel():
    warm = saddle_point(neuron(), alpha=2.0, channel=Temperature(0.2))
    assert "training_error=0.123681, channel=Temperature(T=0.2)" in repr(warm)
    assert "channel" not in repr(saddle_point(neuron(), alpha=0.5))
