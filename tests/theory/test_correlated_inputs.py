"""Inputs that are correlated within a branch: closed forms, reference values, potentials, simulation."""

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import norm

import dendrocap as dc
from dendrocap import (
    Branches,
    DendriticNeuron,
    InvalidParameter,
    Level,
    Linear,
    NeuronSpec,
    Polsky,
    ReLU,
    SaturatingReLU,
    TaskSpec,
    branch_stability,
    capacity,
    critical_capacity,
    finite_size,
    saddle_point,
    stability_limit,
)
from dendrocap.theory import zero_load
from dendrocap.theory.neuron_kernel import Population, PopulationKernel, populations_of
from tests.theory import potential

POLSKY = NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5)
ALONE = NeuronSpec(populations=[Branches(Polsky(), 0.5, 1.0)], theta_s=0.5)


def correlated(c0, **others):
    return TaskSpec(branch_correlation=c0, **others)


# Closed form and reference values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("c0", "alpha"),
    [(0.5, 0.871575569), (1.0, 0.782525174), (2.0, 0.662599811), (5.0, 0.479858601), (10.0, 0.348569167)],
)
def test_the_linear_neuron_in_closed_form(c0, alpha):
    """B = c0 I_1(B), alpha_c = 2 H(B), silent H(-B) [correlated-linear]."""
    B = brentq(lambda B: B - c0 * (norm.pdf(B) - B * norm.sf(B)), 0.0, 5.0, xtol=1e-15)
    for neuron in (NeuronSpec(Linear(), 0.5, 0.5), NeuronSpec(populations=[Branches(Linear(), 0.3, 1.0)], theta_s=0.2)):
        found = critical_capacity(neuron, correlated(c0, f_in=0.3))
        assert_allclose([found.alpha_c, found.silent_fraction], [2.0 * norm.sf(B), norm.cdf(B)], rtol=1e-12)
        assert_allclose(found.alpha_c, alpha, atol=5e-10)


def test_the_linear_neuron_on_short_branches():
    """c0 becomes c0 / (1 - c0/n): two inputs of a branch of n synapses have the correlation c0 / n."""
    neuron = NeuronSpec(Linear(), 0.5, 0.5)
    for c0, alpha in ((2.0, 0.6548), (5.0, 0.4589)):
        short = critical_capacity(neuron, correlated(c0), branch_size=50).alpha_c
        assert_allclose(short, alpha, atol=5e-5)
        assert_allclose(short, critical_capacity(neuron, correlated(c0 / (1.0 - c0 / 50))).alpha_c, rtol=1e-12)


@pytest.mark.parametrize(
    ("neuron", "c0", "symmetric", "one_step"),
    [
        (NeuronSpec(ReLU(), 0.5, 0.5), 0.0, 1.34306452, 1.2689662),
        (NeuronSpec(ReLU(), 0.5, 0.5), 1.0, 1.12623187, 1.0527296),
        (NeuronSpec(ReLU(), 0.5, 0.5), 5.0, 0.78170003, 0.7187792),
        (NeuronSpec(SaturatingReLU(), 0.5, 0.5), 0.0, 2.11596720, 1.5704207),
        (NeuronSpec(SaturatingReLU(), 0.5, 0.5), 1.0, 1.96848825, 1.3693300),
        (NeuronSpec(SaturatingReLU(), 0.5, 0.5), 5.0, 1.68066159, 1.0331645),
        (POLSKY, 0.0, 4.95131518, 2.1365736),
        (POLSKY, 1.0, 4.67457858, 1.8700497),
        (POLSKY, 5.0, 4.08231971, 1.4218041),
        (NeuronSpec(Polsky(), 0.05, 0.5), 0.0, 1.29971425, None),
        (NeuronSpec(Polsky(), 0.05, 0.5), 1.0, 1.07284315, None),
        (NeuronSpec(Polsky(), 0.05, 0.5), 5.0, 0.74049456, None),
    ],
)
def test_capacities_against_reference_values(neuron, c0, symmetric, one_step):
    assert_allclose(critical_capacity(neuron, correlated(c0)).alpha_c, symmetric, atol=6e-9)
    if one_step is not None:
        assert_allclose(critical_capacity(neuron, correlated(c0), rsb=1).alpha_c, one_step, atol=6e-8)
        alone = replace(ALONE, populations=[Branches(neuron.nonlinearity, neuron.theta_d, 1.0)])
        assert_allclose(critical_capacity(alone, correlated(c0), rsb=1).alpha_c, one_step, atol=6e-8)


@pytest.mark.parametrize("neuron", [POLSKY, ALONE], ids=["alike", "population"])
def test_finite_load_against_reference_values(neuron):
    point = saddle_point(neuron, correlated(2.0), alpha=0.5)
    assert_allclose([point.free_entropy, point.Q, point.q], [0.405410534, 2.96752163, 2.01272666], rtol=2e-9)


def test_dendrites_gain_over_the_linear_neuron_as_correlations_grow():
    linear = NeuronSpec(Linear(), 0.5, 0.5)
    for c0, ratio in ((0.0, 2.14), (2.0, 2.57), (10.0, 3.40)):
        task = correlated(c0)
        found = critical_capacity(POLSKY, task, rsb=1).alpha_c / critical_capacity(linear, task).alpha_c
        assert_allclose(found, ratio, atol=0.005)


# The same theory by other ways ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [correlated(2.0), correlated(1.5, f_in=0.2, f_out=0.3, kappa=0.1)], ids=repr)
def test_a_population_of_like_branches_is_the_plain_neuron(task):
    for rsb in (0, 1, 2):
        alike, alone = (critical_capacity(neuron, task, rsb=rsb) for neuron in (POLSKY, ALONE))
        assert_allclose(alone.alpha_c, alike.alpha_c, rtol=1e-8)
        (branches,) = alone.populations
        assert_allclose(branches.preactivation_sd, alike.preactivation_sd, rtol=1e-6)
        assert_allclose(branches.common_variance, alike.common_variance, rtol=1e-12)
    one, other = (saddle_point(neuron, task, alpha=0.4) for neuron in (POLSKY, ALONE))
    assert_allclose([other.free_entropy, other.Q, other.q], [one.free_entropy, one.Q, one.q], rtol=1e-8)
    assert_allclose(other.stability, one.stability, rtol=1e-7)
    one, other = (stability_limit(neuron, task).alpha for neuron in (POLSKY, ALONE))
    assert_allclose(other, one, rtol=1e-8)


def test_long_branches_are_the_limit_of_short_ones():
    task, limit = correlated(3.0), critical_capacity(POLSKY, correlated(3.0), rsb=1).alpha_c
    away = [critical_capacity(POLSKY, task, rsb=1, branch_size=n).alpha_c - limit for n in (1e4, 1e6, 1e8)]
    assert_allclose([away[0] / away[1], away[1] / away[2]], 10.0, rtol=0.1)  # the mean input costs 1 / sqrt(n)
    phi = saddle_point(POLSKY, task, alpha=0.4).free_entropy
    away = [saddle_point(POLSKY, task, alpha=0.4, branch_size=n).free_entropy - phi for n in (1e4, 1e6, 1e8)]
    assert_allclose([away[0] / away[1], away[1] / away[2]], 10.0, rtol=0.1)


def test_a_longer_branch_has_more_in_common():
    """The correlation c0 K / N belongs to pairs of inputs, so that the common part grows with the branch."""
    kinds = [Branches(ReLU(), 0.5, 0.5, length=length) for length in (1.0, 3.0)]
    short, long = populations_of(NeuronSpec(populations=kinds, theta_s=0.5), correlated(2.0), 40)
    assert_allclose([short.common, long.common], [1.0, 3.0])
    assert_allclose([short.common / short.branch_size, long.common / long.branch_size], 2.0 / 40)


def test_more_steps_lower_the_capacity():
    found = critical_capacity(POLSKY, correlated(2.0), rsb="full")
    one, two, three = found.by_steps[1:4]
    assert one > two > three > found.alpha_c > 0.98 * two
    assert_allclose(critical_capacity(POLSKY, correlated(2.0), rsb=2).alpha_c, two, rtol=1e-9)


def test_equal_branches_part_under_correlated_inputs_too():
    found = branch_stability(POLSKY, correlated(2.0))
    assert not found.stable
    assert_allclose(found.alpha_c, critical_capacity(POLSKY, correlated(2.0), rsb=1).alpha_c, rtol=1e-9)


def test_nothing_is_drawn_yet():
    """At load 0 the branch input has the variance v (Q + c0 W_bar^2), which is 4 v W_bar^2 at c0 = 2."""
    start, point = zero_load(POLSKY, correlated(2.0)), saddle_point(POLSKY, correlated(2.0), alpha=0.0)
    assert_allclose([start.preactivation_sd, point.preactivation.std()], 1.0, rtol=1e-14)


# Derivatives of the potential -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("branch_size", [math.inf, 40.0])
@pytest.mark.parametrize("g", [Polsky(), ReLU()], ids=repr)
def test_partial_derivatives_are_those_of_the_values(g, branch_size):
    kernel = PopulationKernel(Population(g, 0.5, 0.3, 1.0, 1.0, 0.5, branch_size, common=3.0))
    m, Q, dq, h = 0.4, 2.5, 0.7, 1e-5

    def values(m, Q, dq):
        norm = kernel.norm(m, Q)
        at = kernel.overlap(m, Q, dq, norm)
        return np.array([norm.output, norm.Gamma0, norm.Gamma1, at.D1, norm.Gamma0 - at.D1])

    by_m = (values(m + h, Q, dq) - values(m - h, Q, dq)) / (2 * h)
    by_Q = (values(m, Q + h, dq) - values(m, Q - h, dq)) / (2 * h)
    by_Q_at_fixed_q = (values(m, Q + h, dq + h) - values(m, Q - h, dq - h)) / (2 * h)
    norm = kernel.norm(m, Q)
    at = kernel.overlap(m, Q, dq, norm)
    assert_allclose([norm.output_m, norm.Gamma0_m, norm.Gamma1_m, at.D1_m, at.C_m], by_m, rtol=2e-7, atol=1e-9)
    assert_allclose([norm.output_Q, norm.Gamma0_Q, norm.Gamma1_Q, at.D1_Q], by_Q[:4], rtol=2e-7, atol=1e-9)
    assert_allclose(at.C_Q, by_Q_at_fixed_q[4], rtol=2e-7)


def test_the_saddle_point_is_one_of_the_potential():
    neuron, task, alpha = NeuronSpec(ReLU(), 0.5, 0.5), correlated(2.0, f_in=0.3, f_out=0.3, kappa=0.1), 0.3
    point = saddle_point(neuron, task, alpha=alpha)
    order = potential.order_parameters(point)
    assert_allclose(potential.free_entropy(neuron, task, alpha, order), point.free_entropy, rtol=1e-10)
    for name in ("Q", "q", "mean_shift", "Q_hat", "q_hat", "M_hat"):
        h = 1e-5 * max(abs(getattr(order, name)), 0.1)
        up, down = (
            potential.free_entropy(neuron, task, alpha, replace(order, **{name: getattr(order, name) + step}))
            for step in (h, -h)
        )
        away = potential.free_entropy(
            neuron, replace(task, branch_correlation=2.2), alpha, replace(order, **{name: getattr(order, name) + h})
        )
        assert abs(up - down) / (2 * h) < 1e-6, name
        assert abs(away - up) > 1e-4  # another correlation is another potential
    h = 1e-3
    up, down = (saddle_point(neuron, task, alpha=alpha + step).free_entropy for step in (h, -h))
    assert_allclose((up - down) / (2 * h), point.energetic_term, rtol=1e-5)


def test_the_load_is_stationary_in_the_norm():
    """alpha(B) of the equation for C, with the kernel of populations, is largest at the capacity."""
    task = correlated(2.0, f_in=0.3)
    found, v, W_bar = critical_capacity(POLSKY, task), 0.21, 0.5 / 0.3

    def load(B):
        i0, i1 = norm.sf(B), norm.pdf(B) - B * norm.sf(B)
        i2 = (1 + B * B) * i0 - B * norm.pdf(B)
        Q, C = W_bar**2 * i2 / i1**2, (i0 * W_bar / i1) ** 2
        kernel = PopulationKernel(populations_of(POLSKY, task, None)[0])
        at = kernel.norm(kernel.mean_input(Q / W_bar**2), Q)
        return 2.0 * C * at.Gamma1 / at.Gamma0

    around = [load(found.B + step) for step in np.linspace(-0.02, 0.02, 9)]
    assert_allclose(max(around), found.alpha_c, rtol=1e-12)
    assert around[4] == max(around)
    assert found.preactivation_sd**2 == pytest.approx(v * found.Q + 2.0 * v * W_bar**2)


# Simulation -----------------------------------------------------------------------------------------------------------


def common_mode(rng, shape, f_in, correlation):
    """Bits with a random probability for each branch: pairs of a branch have exactly this correlation."""
    a = (1.0 / correlation - 1.0) * f_in
    p = rng.beta(a, a * (1.0 - f_in) / f_in, size=shape[:-1])
    return (rng.random(shape) < p[..., None]).astype(np.float64)


def test_kernel_against_correlated_bits(rng):
    """Two weight vectors with a known overlap, 400 synapses, Polsky: Monte Carlo of the covariance of their outputs."""
    n, c0, f_in = 400, 4.0, 0.5
    first = rng.exponential(1.0, n)
    other = np.where(rng.random(n) < 0.5, first, rng.exponential(1.0, n))
    weights = np.stack([first, other]) / np.array([first.mean(), other.mean()])[:, None]
    Q, q = float(np.mean(weights**2)), float(np.mean(weights[0] * weights[1]))
    population = Population(Polsky(), 0.5, f_in, 1.0, 1.0, 0.5, float(n), common=c0)
    m = 0.4  # thresholds are where they must be for this mean
    kernel = PopulationKernel(replace(population, theta_d=f_in - m / math.sqrt(n)))  # mean weight 1
    norm = kernel.norm(m, Q)
    expected = norm.Gamma0 - kernel.overlap(m, Q, Q - q, norm).D1
    samples = []
    for _ in range(30):
        bits = common_mode(rng, (4000, n), f_in, c0 / n)
        one, two = Polsky()((bits - f_in) @ weights.T / math.sqrt(n) + m).T
        samples.append(np.mean((one - norm.output) * (two - norm.output)))
    error = np.std(samples, ddof=1) / math.sqrt(len(samples))
    # Bits are no Gaussian: the fourth cumulant of 400 of them moves the covariance by a few tenths of a percent.
    assert abs(np.mean(samples) - expected) < 3.5 * error + 0.004 * expected
    blind = PopulationKernel(replace(kernel.population, common=0.0))
    apart = blind.norm(m, Q).Gamma0 - blind.overlap(m, Q, Q - q, blind.norm(m, Q)).D1
    assert abs(np.mean(samples) - apart) > 20 * error  # without correlation the kernel is another


# What takes correlated inputs, and what refuses them ------------------------------------------------------------------

TASK = correlated(2.0)
SIZED = DendriticNeuron(POLSKY, 999, 27)


def changes(call, of):
    """An answer that takes notice of correlations."""
    assert abs(of(call(TASK)) / of(call(TaskSpec())) - 1.0) > 1e-3


def refused(call, of=None):
    with pytest.raises(InvalidParameter, match=r"branch_correlation = 2.0 is not allowed: it must be 0"):
        call(TASK)


# Every public function with a parameter ``task``, and those of the theory that fits lean on.
TAKEN = {
    "critical_capacity": (changes, lambda task: critical_capacity(POLSKY, task), lambda found: found.alpha_c),
    "saddle_point": (changes, lambda task: saddle_point(POLSKY, task, alpha=0.4), lambda found: found.free_entropy),
    "stability_limit": (changes, lambda task: stability_limit(POLSKY, task), lambda found: found.alpha),
    "branch_stability": (changes, lambda task: branch_stability(POLSKY, task), lambda found: found.alpha_c),
    "capacity": (changes, lambda task: capacity(NeuronSpec(ReLU(), 1.0, 0.5), task), lambda found: found.alpha_c),
    "capacity_curve": (
        changes, lambda task: dc.capacity_curve(POLSKY, task, theta_d=[0.5]), lambda found: float(found.alpha_c[0]),
    ),
    "saddle_point_curve": (
        changes, lambda task: dc.saddle_point_curve(POLSKY, task, alpha=[0.4]), lambda found: float(found.Q[0]),
    ),
    "learned_state": (
        changes, lambda task: dc.learned_state(POLSKY, task, alpha=0.5, gamma_ce=1.0), lambda found: found.Q,
    ),
    "maximal_margin": (changes, lambda task: dc.maximal_margin(POLSKY, task, alpha=0.5), lambda found: found.kappa),
    "broken_saddle_point": (
        changes, lambda task: dc.broken_saddle_point(POLSKY, task, alpha=1.0), lambda found: found.free_entropy,
    ),
    "teacher_student": (refused, lambda task: dc.teacher_student(POLSKY, task, alpha=0.5), None),
    "crossing_load": (refused, lambda task: dc.crossing_load(POLSKY, task), None),
    "complexity_curve": (
        changes,
        lambda task: dc.theory.complexity_curve(POLSKY, task, alpha=1.0, m=[0.5]),
        lambda found: float(found.complexity[0]),
    ),
    "least_noise_error": (
        changes, lambda task: dc.theory.least_noise_error(POLSKY, task, alpha=0.5, flips=0.05), float,
    ),
    "local_entropy": (
        changes,
        lambda task: dc.local_entropy(POLSKY, task, alpha=0.3, distance=[0.1]),
        lambda found: float(found.entropy[0]),
    ),
    "best_dendrite": (
        changes,
        lambda task: dc.best_dendrite(5.0, 0.5, task=replace(task, kappa=0.5), theta_s=0.5, rsb=0),
        lambda found: found.alpha_c,
    ),
    "solving_outlook": (changes, lambda task: dc.solving_outlook(SIZED, 99, task), lambda found: found.capacity),
    "fit_weights": (refused, lambda task: dc.fit_weights([0.5, 1.0, 2.0], n_tested=20, task=task), None),
    "theory.zero_load": (changes, lambda task: zero_load(POLSKY, task), lambda found: found.preactivation_sd),
    "theory.perceptron_limit": (
        changes, lambda task: dc.theory.perceptron_limit(POLSKY, task), lambda found: found.alpha_c,
    ),
    "theory.best_inhibition": (
        changes,
        lambda task: dc.theory.best_inhibition(NeuronSpec(ReLU(), 1.0, 0.5), task, share=0.2),
        lambda found: found.alpha_c,
    ),
    "theory.large_margin_capacity": (changes, lambda task: dc.theory.large_margin_capacity(POLSKY, task), float),
    "theory.large_threshold_slope": (
        refused, lambda task: dc.theory.large_threshold_slope(Polsky(), task=task), None,
    ),
    "theory.somatic_thresholds": (
        refused, lambda task: dc.theory.somatic_thresholds(Polsky(), dc.critical_capacity(POLSKY).weights, task), None,
    ),
    "theory.linear_margin": (
        refused, lambda task: dc.theory.linear_margin(dc.critical_capacity(POLSKY).weights, task), None,
    ),
    "theory.silent_range": (
        changes, lambda task: dc.theory.silent_range(ReLU(), 0.5, task), lambda found: found.high,
    ),
    "fitting.group_shares": (refused, lambda task: capacity(SIZED, task), None),  # a capacity of a sized cell
}  # fmt: skip
# The learning engine draws patterns with this correlation, see tests of `random_patterns`.
ELSEWHERE = {"algorithmic_capacity", "learning_speed", "training_error_curve", "train_many"}


@pytest.mark.parametrize("name", TAKEN)
def test_correlations_are_taken_or_refused(name):
    check, call, of = TAKEN[name]
    check(call, of)


def test_no_function_is_left_out():
    """Public functions, and those of the theory, with a parameter that is a TaskSpec."""
    found = set()
    for prefix, module in (
        ("", dc),
        ("theory.", dc.theory),
        ("finite_size.", finite_size),
        ("fitting.", dc.fitting),
    ):
        public = dir(dc) if module is dc else module.__all__
        for name in public:
            thing = getattr(module, name)
            if not inspect.isfunction(thing) or "task" not in inspect.signature(thing).parameters:
                continue
            if not (prefix and hasattr(dc, name)):
                found.add(prefix + name)
    assert found - ELSEWHERE == set(TAKEN)


def test_the_number_of_branches_is_taken_as_infinite_or_refused():
    refused(lambda task: capacity(SIZED, task))
    fast = capacity(SIZED, TASK, accuracy="fast")
    assert_allclose(fast.alpha_c, critical_capacity(POLSKY, TASK, rsb=1, branch_size=37).alpha_c, rtol=1e-12)
    exact = capacity(DendriticNeuron(NeuronSpec(Linear(), 0.5, 0.5), 500, 10), TASK)
    assert_allclose(exact.alpha_c, 0.6548, atol=5e-5)
    single = capacity(DendriticNeuron(POLSKY, 50, 1), TASK)
    assert_allclose(single.alpha_c, exact.alpha_c, rtol=1e-9)  # one branch decides as a linear neuron does


def test_a_correlation_above_one_is_refused():
    with pytest.raises(InvalidParameter, match=r"branch_correlation = 20.0 .* below branch_size = 10"):
        critical_capacity(POLSKY, correlated(20.0), branch_size=10)


def test_deep_trees_take_correlations_of_their_first_level():
    tree = NeuronSpec(levels=[Level(Linear(), 0.5), Level(Linear(), 0.3)], theta_s=0.5)
    assert_allclose(critical_capacity(tree, TASK).alpha_c, 0.662599811, atol=5e-10)
    deep = NeuronSpec(levels=[Level(ReLU(), 0.5), Level(Polsky(), 0.4)], theta_s=0.5)
    rs, broken = (critical_capacity(deep, TASK, rsb=rsb).alpha_c for rsb in (0, 1))
    assert broken < rs < critical_capacity(deep).alpha_c
