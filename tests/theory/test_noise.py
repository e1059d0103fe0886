"""Noise: mixed kernel, typical and point states, the largest margin, the least error."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm as normal

import dendrocap as dc
from dendrocap.errors import InvalidParameter, NoSolution
from dendrocap.theory import dendrite, moments
from dendrocap.theory.dendrite import BranchInput, BranchKernel, mixed_pair, tree_response
from dendrocap.theory.neuron_kernel import TreeKernel
from dendrocap.theory.noise import (
    Clusters,
    Noise,
    NoisyBranches,
    NoisySoma,
    _LeastError,
    branches_of,
    clusters_of,
    error_of,
)
from dendrocap.theory.patterns import label_averages
from tests.naive import states as naive

POLSKY = {theta_d: dc.NeuronSpec(dc.Polsky(), theta_d, 0.5) for theta_d in (0.05, 0.1, 0.3, 0.5)}
LINEAR, RELU = (dc.NeuronSpec(g, 0.5, 0.5) for g in (dc.Linear(), dc.ReLU()))
NEURONS = {"linear": LINEAR, "relu": RELU, **{f"polsky {theta_d}": one for theta_d, one in POLSKY.items()}}
FLIPS, SYNAPTIC = (0.01, 0.05, 0.1), (0.2, 0.5, 1.0)
TASK = dc.TaskSpec()

CURVES = [dc.Linear(), dc.ReLU(), dc.SaturatingReLU(), dc.Polsky()]


@pytest.mark.parametrize("g", CURVES, ids=repr)
@pytest.mark.parametrize("covariance", [0.3, 0.02, -0.2])
def test_mixed_kernel_equals_the_conditional_average(g, covariance):
    pair = mixed_pair(
        BranchKernel(g, 0.5), BranchInput(0.3, 0.5), BranchKernel(dc.Polsky(), 0.5), BranchInput(0.1, 0.7), covariance
    )
    slow = naive.mixed_covariance(g, 0.3, 0.5, dc.Polsky(), 0.1, 0.7, covariance)
    assert_allclose(pair.covariance, slow, rtol=2e-9)


@pytest.mark.parametrize("g", CURVES, ids=repr)
def test_mixed_kernel_gives_its_own_derivatives(g):
    one, other = BranchKernel(g, 0.5), BranchKernel(dc.SaturatingReLU(), 0.5)

    def covariance(mean=0.3, variance=0.25, c=0.2):
        return mixed_pair(one, BranchInput(mean, math.sqrt(variance)), other, BranchInput(0.1, 0.7), c).covariance

    pair = mixed_pair(one, BranchInput(0.3, 0.5), other, BranchInput(0.1, 0.7), 0.2)
    h = 1e-4
    for found, high, low in (
        (pair.slopes, covariance(c=0.2 + h), covariance(c=0.2 - h)),
        (pair.cross, covariance(mean=0.3 + h), covariance(mean=0.3 - h)),
        (0.5 * pair.curvature, covariance(variance=0.25 + h), covariance(variance=0.25 - h)),
    ):
        assert_allclose(found, (high - low) / (2.0 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("g", [*CURVES, dc.Step(), dc.Custom(np.tanh)], ids=repr)
@pytest.mark.parametrize("correlation", [-0.8, -0.3, 0.0, 0.1, 0.55, 0.8])
def test_the_series_of_the_mixed_kernel_equals_the_average_over_the_common_part(g, correlation, monkeypatch):
    """Weakly correlated inputs use a series; here both ways are taken for the same pair."""
    at, other = BranchInput(0.3, 0.5), BranchInput(0.1, 0.07)
    pair = (BranchKernel(g, 0.5), at, BranchKernel(dc.Polsky(), 0.5), other)
    near = correlation or 1e-9  # the common part needs some correlation
    series = mixed_pair(*pair, near * at.sd * other.sd)
    monkeypatch.setattr(dendrite, "WEAK", -1.0)
    assert_allclose(series, mixed_pair(*pair, near * at.sd * other.sd), rtol=1e-10, atol=1e-11)


def test_mixed_kernel_of_equal_inputs_is_the_kernel_of_two_replicas():
    kernel = BranchKernel(dc.Polsky(), 0.5)
    own, pair = kernel.at(0.4, 0.1)
    at = BranchInput(own.mean, math.sqrt(0.4))
    mixed = mixed_pair(kernel, at, kernel, at, 0.3)
    assert_allclose([mixed.covariance, mixed.slopes], [pair.D0, pair.dD1_ddV], rtol=1e-11)


@pytest.mark.parametrize(("flips", "synaptic", "f_in"), [(0.1, 0.0, 0.3), (0.0, 0.7, 0.3), (0.2, 0.5, 0.5)])
def test_noise_on_a_branch_against_sampled_noise(flips, synaptic, f_in, rng):
    """Moments of clean and noisy branch input over patterns and noise; they are exact at any branch size."""
    n, samples, theta_d = 200, 40_000, 0.4
    task, neuron = dc.TaskSpec(f_in=f_in), dc.NeuronSpec(dc.Linear(), theta_d, 0.5)
    weights = rng.exponential(theta_d / f_in, n)
    inputs = rng.random((samples, n)) < f_in
    flipped = inputs ^ (rng.random((samples, n)) < flips)
    shaken = np.maximum(weights * (1.0 + synaptic * rng.standard_normal((samples, n))), 0.0)
    clean = (inputs @ weights) / math.sqrt(n) - math.sqrt(n) * theta_d
    noisy = np.sum(flipped * shaken, axis=1) / math.sqrt(n) - math.sqrt(n) * theta_d
    Q, mean = float(np.mean(weights**2)), f_in * weights.sum() / math.sqrt(n) - math.sqrt(n) * theta_d
    at = BranchInput(mean, math.sqrt(f_in * (1.0 - f_in) * Q))
    expected, fraction = Noise(flips, synaptic, 1, n).on_branch(neuron, task, at, Q)
    error = expected.sd / math.sqrt(samples)
    assert abs(noisy.mean() - expected.mean) < 4.0 * error
    assert abs(noisy.var() / expected.sd**2 - 1.0) < 4.0 * math.sqrt(2.0 / samples)
    covariance = np.mean((clean - clean.mean()) * (noisy - noisy.mean()))
    assert abs(covariance - fraction * at.sd**2) < 6.0 * at.sd * error


TYPICAL = {
    "linear": (0.138772, 0.236618, 0.292287),
    "relu": (0.132739, 0.239379, 0.300639),
    "polsky 0.05": (0.136686, 0.243134, 0.302651),
    "polsky 0.5": (0.158248, 0.278626, 0.339230),
}
TYPICAL_SYNAPTIC = {
    "linear": (0.173015, 0.281623, 0.343079),
    "polsky 0.05": (0.173342, 0.291895, 0.358765),
    "polsky 0.5": (0.201192, 0.329840, 0.389368),
}
AT_CAPACITY = {
    "linear": (0.281884, 0.321783, 0.352416),
    "relu": (0.318389, 0.357543, 0.386218),
    "polsky 0.05": (0.324880, 0.363594, 0.390062),
    "polsky 0.5": (0.457451, 0.474010, 0.480912),
}
HALF_CAPACITY = {
    "relu": (0.152539, 0.258375, 0.316161),
    "polsky 0.05": (0.155177, 0.260849, 0.317112),
    "polsky 0.5": (0.289325, 0.392375, 0.427156),
}
LARGEST_KAPPA = {
    "linear": (0.013752, 0.145505, 0.230084),
    "relu": (0.005985, 0.142550, 0.243465),
    "polsky 0.05": (0.006754, 0.150480, 0.248768),
    "polsky 0.5": (0.099749, 0.321468, 0.388032),
}
# To four digits.
LARGEST_RELATIVE = {
    "linear": (0.0072, 0.1260, 0.2140),
    "relu": (0.0025, 0.1168, 0.2190),
    "polsky 0.05": (0.0034, 0.1277, 0.2283),
    "polsky 0.1": (0.0041, 0.1473, 0.2499),
    "polsky 0.5": (0.0806, 0.3063, 0.3783),
}
TYPICAL_POINT_1, LARGEST_KAPPA_POINT_1 = (0.1394, 0.2495, 0.3093), (0.0114, 0.1831, 0.2794)


def errors(state, **noise):
    ((name, levels),) = noise.items()
    return [dc.noise_error(state, **{name: level}) for level in levels]


@pytest.mark.parametrize("name", TYPICAL)
def test_typical_solutions_at_half_load(name):
    state = dc.saddle_point(NEURONS[name], alpha=0.5)
    assert_allclose(errors(state, flips=FLIPS), TYPICAL[name], atol=6e-7)
    if name in TYPICAL_SYNAPTIC:
        assert_allclose(errors(state, synaptic=SYNAPTIC), TYPICAL_SYNAPTIC[name], atol=6e-7)


@pytest.mark.parametrize("name", AT_CAPACITY)
def test_at_capacity_and_at_half_of_it(name):
    solution = dc.critical_capacity(NEURONS[name])
    assert_allclose(errors(solution, flips=FLIPS), AT_CAPACITY[name], atol=6e-7)
    if name in HALF_CAPACITY:
        half = dc.saddle_point(NEURONS[name], alpha=0.5 * solution.alpha_c)
        assert_allclose(errors(half, flips=FLIPS), HALF_CAPACITY[name], atol=6e-7)


@pytest.mark.parametrize("name", LARGEST_KAPPA)
def test_largest_margin(name):
    state = dc.maximal_margin(NEURONS[name], alpha=0.5)
    assert_allclose(errors(state, flips=FLIPS), LARGEST_KAPPA[name], atol=6e-7)
    # it is the capacity with this margin, and no other norm has a larger one
    again = dc.critical_capacity(NEURONS[name], dc.TaskSpec(kappa=state.kappa))
    assert_allclose(again.alpha_c, 0.5, rtol=1e-9)


def test_a_mild_threshold_between_the_others():
    typical, largest = dc.saddle_point(POLSKY[0.1], alpha=0.5), dc.maximal_margin(POLSKY[0.1], alpha=0.5)
    assert_allclose(errors(typical, flips=FLIPS), TYPICAL_POINT_1, atol=6e-5)
    assert_allclose(errors(largest, flips=FLIPS), LARGEST_KAPPA_POINT_1, atol=6e-5)


@pytest.mark.parametrize("name", LARGEST_RELATIVE)
def test_largest_relative_margin(name):
    state = dc.maximal_margin(NEURONS[name], alpha=0.5, criterion="relative")
    assert_allclose(errors(state, flips=FLIPS), LARGEST_RELATIVE[name], atol=6e-5)


def test_largest_relative_margin_of_the_linear_neuron_in_closed_form():
    """E (k - t)_+^2 = 1 at load 1/2; patterns below k are pushed there, the others stay."""
    k = brentq(lambda k: (1.0 + k * k) * normal.cdf(k) + k * normal.pdf(k) - 1.0, 0.0, 1.0, xtol=1e-15)
    state = dc.maximal_margin(LINEAR, alpha=0.5, criterion="relative")
    assert_allclose(state.relative_margin, k, rtol=1e-9)
    for flips in FLIPS:
        r = 1.0 - 2.0 * flips
        t = r / math.sqrt(1.0 - r * r)
        free = quad(lambda z, t=t: normal.pdf(z) * normal.cdf(-t * z), k, 10.0, epsabs=1e-13)[0]
        assert_allclose(dc.noise_error(state, flips=flips), normal.cdf(k) * normal.cdf(-t * k) + free, rtol=1e-9)


@pytest.mark.parametrize("name", NEURONS)
def test_largest_relative_margin_is_larger_and_has_the_weights_of_the_capacity(name):
    largest, relative = (dc.maximal_margin(NEURONS[name], alpha=0.5, criterion=c) for c in ("kappa", "relative"))
    assert relative.relative_margin > largest.relative_margin
    assert relative.kappa < largest.kappa
    assert relative.Q == dc.critical_capacity(NEURONS[name]).Q


def test_sizes_bring_the_drifts_back():
    state = dc.saddle_point(LINEAR, alpha=0.5)
    found = [dc.noise_error(state, synaptic=a, n_branches=27, branch_size=37) for a in SYNAPTIC]
    assert_allclose(found, (0.1730, 0.2829, 0.4364), atol=6e-5)
    # flips at f_in = 1/2 move no mean
    assert dc.noise_error(state, flips=0.05, n_branches=27, branch_size=37) == dc.noise_error(state, flips=0.05)


@pytest.mark.parametrize("g", [dc.ReLU(), dc.Polsky()], ids=repr)
@pytest.mark.parametrize("f_out", [0.5, 0.3])
def test_typical_error_against_a_plain_double_integral(g, f_out):
    neuron, task = dc.NeuronSpec(g, 0.5, 0.5), dc.TaskSpec(f_out=f_out, kappa=0.05)
    state = dc.saddle_point(neuron, task, alpha=0.4)
    kernel = TreeKernel(neuron, task).at(state.Q, state.dq)
    V = 0.25 * state.Q
    at = BranchInput(state.preactivation.mu, state.preactivation.sigma)
    soma = NoisySoma(neuron, task, Noise(0.05), state.Q, at)
    c0 = naive.mixed_covariance(g, at.mean, at.sd, g, at.mean, at.sd, 0.9 * 0.25 * state.q)
    c1 = naive.mixed_covariance(g, at.mean, at.sd, g, at.mean, at.sd, 0.9 * V) - c0
    sd = math.sqrt(soma.variance - c0**2 / kernel.D0 - c1**2 / kernel.D1)
    slow = 0.0
    for share, sign in ((f_out, 1.0), (1.0 - f_out, -1.0)):
        shift = sign * state.mean_shift
        slow += share * naive.typical_error(
            kernel.D0, kernel.D1, task.kappa - shift, c0 / kernel.D0, c1 / kernel.D1, sd, offset=shift
        )
    assert_allclose(dc.noise_error(state, flips=0.05), slow, rtol=2e-6)


@pytest.mark.parametrize("name", ["linear", "relu", "polsky 0.5"])
def test_point_error_against_adaptive_quadrature(name):
    state = dc.maximal_margin(NEURONS[name], alpha=0.5, criterion="relative")
    g = NEURONS[name].nonlinearity
    at = BranchInput(state.preactivation_mean, state.preactivation_sd)
    for flips in FLIPS:
        c = naive.mixed_covariance(g, at.mean, at.sd, g, at.mean, at.sd, (1.0 - 2.0 * flips) * at.sd**2)
        h = 1e-4
        near = [
            naive.mixed_covariance(g, at.mean, at.sd, g, at.mean, at.sd, (1.0 - 2.0 * flips + s * h) * at.sd**2)
            for s in (1.0, -1.0)
        ]
        gain = (1.0 - 2.0 * flips) * (near[0] - near[1]) / (2.0 * h)
        tree = tree_response(NEURONS[name], TASK, state.Q)
        across = gain / (tree.Gamma1 * state.Q)
        sd = math.sqrt(state.Gamma0 - c**2 / state.Gamma0)
        slow = naive.point_error(state.Gamma0, state.kappa, c / state.Gamma0, across, sd)
        assert_allclose(dc.noise_error(state, flips=flips), slow, rtol=1e-5)


@pytest.mark.parametrize("name", NEURONS)
def test_hermite_inequalities(name):
    """Outputs decorrelate faster than inputs, and their slopes faster still; for a line all are equal."""
    state = dc.critical_capacity(NEURONS[name])
    at = BranchInput(state.preactivation_mean, state.preactivation_sd)
    for flips in (0.001, 0.05, 0.3):
        soma = NoisySoma(state.neuron, state.task, Noise(flips), state.Q, at)
        pair = soma.pair(at.sd**2)
        r = 1.0 - 2.0 * flips
        along, across = pair.covariance / state.Gamma0, r * pair.slopes * 0.25 / state.Gamma1
        if name == "linear":
            assert_allclose([along, across], r, rtol=1e-12)
        else:
            assert across < along < r


def test_linear_capacity_in_closed_form():
    """Half of the patterns sit at the threshold, the others have normal margins: two arcs."""
    state = dc.critical_capacity(LINEAR)
    for flips in FLIPS:
        r = 1.0 - 2.0 * flips
        at_the_edge = 0.25
        beyond = math.atan(math.sqrt(1.0 - r * r) / r) / (2.0 * math.pi)
        assert_allclose(dc.noise_error(state, flips=flips), at_the_edge + beyond, rtol=1e-12)


def test_no_noise_means_no_error_and_half_flipped_inputs_mean_guessing():
    for state in (dc.saddle_point(RELU, alpha=0.5), dc.critical_capacity(RELU), dc.maximal_margin(RELU, alpha=0.5)):
        assert dc.noise_error(state) == 0.0
        assert_allclose(dc.noise_error(state, flips=0.5), 0.5, atol=1e-9)
        # flipping all but a few inputs is flipping the answer, for a line
    line = dc.saddle_point(LINEAR, alpha=0.5)
    assert_allclose(dc.noise_error(line, flips=0.05) + dc.noise_error(line, flips=0.95), 1.0, rtol=1e-9)
    weak = [dc.noise_error(line, flips=flips) for flips in (1e-2, 1e-4, 1e-6)]
    assert weak[0] > weak[1] > weak[2] > 0.0
    # the density of margins at the threshold is finite: errors vanish like the width of the noise, sqrt(flips)
    assert_allclose(weak[1] / weak[2], 10.0, rtol=0.1)


def test_typical_solutions_near_capacity_become_the_one_at_capacity():
    alpha_c = dc.critical_capacity(RELU).alpha_c
    limit = dc.noise_error(dc.critical_capacity(RELU), flips=0.05)
    gaps = [limit - dc.noise_error(dc.saddle_point(RELU, alpha=alpha_c * (1.0 - e)), flips=0.05) for e in (1e-2, 1e-4)]
    # the distance of two solutions vanishes like that to capacity, up to logarithms
    assert 0.0 < gaps[1] < gaps[0] / 50.0


BEST = {
    "linear": (0.0056, 0.0869, 0.1598),
    "relu": (0.0022, 0.0918, 0.1774),
    "polsky 0.05": (0.0031, 0.0994, 0.1848),
    "polsky 0.1": (0.0029, 0.1154, 0.2066),
    "polsky 0.3": (0.0043, 0.1632, 0.2646),
}


@pytest.mark.parametrize("name", BEST)
def test_least_error(name):
    """To the digits given; a choice on a grid holds them below."""
    found = [dc.least_noise_error(NEURONS[name], alpha=0.5, flips=flips) for flips in FLIPS]
    assert_allclose(found, BEST[name], atol=6e-5)
    for state in (dc.saddle_point(NEURONS[name], alpha=0.5), dc.maximal_margin(NEURONS[name], alpha=0.5)):
        assert all(best < other for best, other in zip(found, errors(state, flips=FLIPS), strict=True))


@pytest.mark.parametrize(("name", "flips"), [("linear", 0.1), ("polsky 0.05", 0.05), ("polsky 0.1", 0.1)])
def test_least_error_against_a_choice_on_a_grid(name, flips):
    neuron = NEURONS[name]
    start = dc.critical_capacity(neuron)
    problem = _LeastError(neuron, TASK, 0.5, Noise(flips), start)
    for B in (start.B - 0.5, start.B + 0.5):
        Q = naive.Learned(neuron, 0.5, 1.0).norm(B)[0]
        C = naive.Learned(neuron, 0.5, 1.0).norm(B)[1]
        tree = tree_response(neuron, TASK, Q)
        soma = NoisySoma(neuron, TASK, Noise(flips), Q, BranchInput(tree.means[0], tree.sd))
        pair = soma.pair(tree.sd**2)
        along, across = pair.covariance / tree.Gamma0, soma.fraction * pair.slopes * 0.25 / tree.Gamma1
        sd = math.sqrt(soma.variance - along * pair.covariance)
        slow = naive.least_error(tree.Gamma0, tree.Gamma1 * C / 0.5, along, across, sd)
        assert_allclose(problem.error(B), slow, rtol=5e-4)


def test_weak_noise_at_small_loads_makes_no_errors():
    """Every pattern can be pushed eight deviations of the noise above the threshold."""
    found = [dc.least_noise_error(NEURONS["linear"], alpha=0.5, flips=flips) for flips in (1e-6, 1e-3, 3e-3, 1e-2)]
    assert found == sorted(found)
    assert found[0] == 0.0 < found[1] < 1e-12
    assert dc.least_noise_error(NEURONS["linear"], alpha=0.02, flips=0.01) == 0.0


def test_what_is_refused_says_why():
    state = dc.saddle_point(RELU, dc.TaskSpec(f_in=0.3), alpha=0.3)
    with pytest.raises(InvalidParameter, match=r"flips = 0\.1 is not allowed at f_in = 0\.3 without sizes"):
        dc.noise_error(state, flips=0.1)
    assert 0.0 < dc.noise_error(state, flips=0.1, n_branches=9, branch_size=20) < 1.0
    assert 0.0 < dc.noise_error(state, synaptic=0.1) < 0.5
    with pytest.raises(InvalidParameter, match="give both"):
        dc.noise_error(state, synaptic=0.1, n_branches=9)
    with pytest.raises(InvalidParameter, match="broken symmetry"):
        dc.noise_error(dc.critical_capacity(RELU, rsb=1), flips=0.1)
    with pytest.raises(InvalidParameter, match="several populations"):
        dc.noise_error(dc.saddle_point(RELU, alpha=0.3, branch_size=37), flips=0.1)
    with pytest.raises(InvalidParameter, match=r"solution\.rsb = 2 .*one step"):
        dc.noise_error(dc.critical_capacity(POLSKY[0.5], rsb=2, branch_size=37), flips=0.1)
    correlated = dc.critical_capacity(POLSKY[0.5], dc.TaskSpec(branch_correlation=1.0), rsb=1, branch_size=37)
    with pytest.raises(InvalidParameter, match=r"task\.branch_correlation = 1\.0 .* correlated inputs"):
        dc.noise_error(correlated, flips=0.1)
    kinds = (dc.Branches(dc.ReLU(), 0.5, 0.5, inhibition=dc.Inhibition(0.2, 0.1)), dc.Branches(dc.ReLU(), 0.5, 0.5))
    two = dc.NeuronSpec(populations=kinds, theta_s=0.5)
    one = dc.NeuronSpec(dc.ReLU(), 0.5, 0.5, inhibition=dc.Inhibition(0.2, 0.1))
    for neuron in (one, two):
        for inhibited in (dc.critical_capacity(neuron), dc.saddle_point(neuron, alpha=0.3)):
            with pytest.raises(InvalidParameter, match=r"inhibition = Inhibition\(share=0\.2, drive=0\.1\) is not"):
                dc.noise_error(inhibited, flips=0.1)
    tree = dc.NeuronSpec(levels=(dc.Level(dc.ReLU(), 0.5), dc.Level(dc.ReLU(), 0.5)), theta_s=0.5)
    with pytest.raises(InvalidParameter, match="deeper trees"):
        dc.noise_error(dc.critical_capacity(tree), flips=0.1)
    with pytest.raises(NoSolution, match="not below"):
        dc.maximal_margin(RELU, alpha=2.0)
    with pytest.raises(InvalidParameter, match="f_out"):
        dc.least_noise_error(RELU, dc.TaskSpec(f_out=0.3), alpha=0.5, flips=0.1)
    with pytest.raises(InvalidParameter, match="some noise"):
        dc.least_noise_error(RELU, alpha=0.5)


def test_unequal_labels_enter_through_the_mean_shift():
    """Swapping the two labels changes nothing."""
    task = dc.TaskSpec(f_out=0.2)
    swapped = replace(task, f_out=0.8)
    for solve in (dc.saddle_point, dc.maximal_margin):
        one, other = (solve(LINEAR, of, alpha=0.5) for of in (task, swapped))
        assert_allclose(dc.noise_error(one, flips=0.1), dc.noise_error(other, flips=0.1), rtol=1e-9)


@pytest.mark.parametrize(("flips", "synaptic"), [(0.1, 0.0), (0.25, 0.5)])
def test_noise_on_correlated_inputs_against_sampled_noise(flips, synaptic, rng):
    """Flips are independent: what two inputs share is kept r times in the covariance, r^2 times in the variance."""
    n, samples, theta_d, c0 = 100, 60_000, 0.5, 4.0
    task, neuron = dc.TaskSpec(branch_correlation=c0), dc.NeuronSpec(dc.Linear(), theta_d, 0.5)
    weights = rng.exponential(1.0, n)
    weights /= weights.mean()
    inputs = dc.random_patterns(samples, n, branch_correlation=c0, n_branches=1, rng=rng).inputs.astype(bool)
    flipped = inputs ^ (rng.random((samples, n)) < flips)
    shaken = np.maximum(weights * (1.0 + synaptic * rng.standard_normal((samples, n))), 0.0)
    clean, noisy = (inputs - 0.5) @ weights / math.sqrt(n), np.sum(flipped * shaken, axis=1) / math.sqrt(n)
    Q = float(np.mean(weights**2))
    # At finite n a pair of inputs has the correlation c = c0 / n, and the own part loses its share c.
    at = BranchInput(0.0, math.sqrt(0.25 * (Q + c0)))
    expected, fraction = Noise(flips, synaptic, 1, n).on_branch(neuron, task, at, Q)
    lost = 0.25 * Q * c0 / n
    spread = 5.0 * math.sqrt(2.0 / samples)
    assert abs(clean.var() / (at.sd**2 - lost) - 1.0) < spread
    assert abs(noisy.var() / expected.sd**2 - 1.0) < spread + lost / expected.sd**2
    covariance = float(np.mean((clean - clean.mean()) * (noisy - noisy.mean())))
    assert abs(covariance / (fraction * (at.sd**2 - lost)) - 1.0) < 1.5 * spread
    # without the power of two the variance would be off by far more than that
    assert (1.0 - fraction) * fraction * c0 * 0.25 > 3.0 * (spread * expected.sd**2 + lost)


def test_correlated_inputs_in_every_state():
    """No correlation is the limit of a small one, and noise costs more where there is some."""
    for name in ("linear", "polsky 0.5"):
        neuron = NEURONS[name]
        for solve in (
            dc.saddle_point,
            dc.maximal_margin,
            lambda neuron, task, alpha: dc.learned_state(neuron, task, alpha=alpha, gamma_ce=3.0),
        ):
            errors_ = [
                dc.noise_error(solve(neuron, dc.TaskSpec(branch_correlation=c0), alpha=0.3), flips=0.05)
                for c0 in (0.0, 1e-9, 2.0)
            ]
            assert_allclose(errors_[1], errors_[0], rtol=1e-6)
            assert errors_[2] > errors_[0]
        best = [
            dc.least_noise_error(neuron, dc.TaskSpec(branch_correlation=c0), alpha=0.3, flips=0.05) for c0 in (0.0, 2.0)
        ]
        assert best[1] > best[0]


def test_linear_capacity_with_correlated_inputs_in_closed_form():
    """For a line only the correlation of clean and noisy soma counts: r sqrt(V / V')."""
    task = dc.TaskSpec(branch_correlation=2.0)
    state = dc.critical_capacity(LINEAR, task)
    r, chi = 0.9, 0.25 * 2.0
    V, noisy = 0.25 * state.Q + chi, 0.25 * state.Q + r * r * chi
    correlation = r * math.sqrt(V / noisy)
    beyond = math.atan(math.sqrt(1.0 - correlation**2) / correlation) / (2.0 * math.pi)
    assert_allclose(dc.noise_error(state, flips=0.05), 0.25 + beyond, rtol=1e-10)


@pytest.mark.parametrize("f_out", [0.001, 0.05, 0.2, 0.95])
def test_the_largest_relative_margin_of_unequal_labels_is_that_of_the_load(f_out):
    task = dc.TaskSpec(f_out=f_out)
    state = dc.maximal_margin(POLSKY[0.5], task, alpha=0.5, criterion="relative")
    without, with_margin = (label_averages(f_out, k).second for k in (0.0, state.relative_margin))
    assert_allclose(dc.critical_capacity(POLSKY[0.5], task).alpha_c * without / with_margin, 0.5, rtol=1e-9)


# --- one step of symmetry breaking


def split(theta_d=0.5, off=0.2, share=0.52, task=TASK):
    """The capacity of two populations, mostly off and mostly on."""
    pair = ((share, off), (1.0 - share, (0.5 - share * off) / (1.0 - share)))
    kinds = tuple(dc.Branches(dc.Polsky(), theta_d, x, mean_output=output) for x, output in pair)
    return dc.critical_capacity(dc.NeuronSpec(populations=kinds, theta_s=0.5), task, rsb=1, branch_size=37)


@pytest.mark.parametrize("task", [TASK, dc.TaskSpec(kappa=0.1), dc.TaskSpec(f_out=0.3)], ids=repr)
def test_patterns_of_clusters_have_the_energy_of_the_solution(task):
    solution = dc.critical_capacity(POLSKY[0.3], task, rsb=1, branch_size=37)
    clusters, state = clusters_of(solution), solution.ladder[-1].state
    energy = sum(
        share * clusters.patterns(task.kappa - sign * clusters.shift)[-1].sum() / clusters.mu
        for share, sign in ((task.f_out, 1.0), (1.0 - task.f_out, -1.0))
    )
    assert_allclose(energy, state.energy, rtol=1e-9)


@pytest.mark.parametrize("noise", [Noise(flips=0.05), Noise(synaptic=0.2)], ids=repr)
@pytest.mark.parametrize("part", [0.3, 0.9])
@pytest.mark.parametrize("theta_d", [0.05, 0.5])
def test_clusters_of_equal_weight_are_replica_symmetric(theta_d, part, noise):
    """Without a weight of clusters it does not matter which part of the input they share."""
    solution = dc.critical_capacity(POLSKY[theta_d])
    clean = BranchInput(solution.preactivation.mu, solution.preactivation.sigma)
    kernel = BranchKernel(dc.Polsky(), 0.5)
    shared = mixed_pair(kernel, clean, kernel, clean, part * clean.sd**2).covariance
    gain = moments(dc.Polsky(), 0.0, clean.sd, clean.mean).gain
    soma = NoisySoma(POLSKY[theta_d], TASK, noise, solution.Q, clean)
    branches = [NoisyBranches(1.0, clean, soma, part * clean.sd**2, 0.25)]
    clusters = Clusters(shared, solution.Gamma0 - shared, 0.25 * gain, 0.0, 0.0)
    expected = dc.noise_error(solution, flips=noise.flips, synaptic=noise.synaptic)
    assert_allclose(error_of(TASK, branches, clusters), expected, rtol=1e-10)


def test_two_halves_of_one_population_are_that_population():
    whole = dc.critical_capacity(POLSKY[0.3], rsb=1, branch_size=37)
    halves = dc.NeuronSpec(populations=[dc.Branches(dc.Polsky(), 0.3, 0.5) for _ in range(2)], theta_s=0.5)
    parts = dc.critical_capacity(halves, rsb=1, branch_size=37)
    for noise in ({"flips": 0.05}, {"synaptic": 0.2}):
        assert_allclose(dc.noise_error(whole, **noise), dc.noise_error(parts, **noise), rtol=1e-7)


def test_weak_noise_with_broken_symmetry_costs_patterns_at_the_threshold_and_no_others():
    """More than half of them: at a kink of g the noise takes away the push more easily than it gives one."""
    solution = split()
    assert dc.noise_error(solution) == 0.0
    errors = [dc.noise_error(solution, flips=flips) for flips in (1e-9, 0.01, 0.05, 0.2, 0.5)]
    assert errors == sorted(errors)
    pushed = solution.ladder[-1].state.active_patterns
    assert 0.5 * pushed < errors[0] < 0.65 * pushed
    assert_allclose(errors[-1], 0.5, rtol=1e-9)


@pytest.mark.parametrize("flips", [0.01, 0.1])
def test_somatic_inputs_of_two_populations_by_simulation(flips, rng):
    """Gaussian branch inputs, each pushed as its slope asks until the soma is at its threshold; then noise.

    All clusters have the same weight here: with their own, a few rare ones count, which plain sampling misses.
    """
    solution, K, samples = split(), 800, 16_000
    off, on = branches_of(solution, Noise(flips=flips))
    is_on = np.arange(K) >= round(K * off.fraction)
    m, sd, response = (
        np.where(is_on, get(on), get(off)).astype(np.float32)
        for get in (lambda one: one.clean.mean, lambda one: one.clean.sd, lambda one: one.response)
    )
    g, kept, root, wrong = dc.Polsky(), 1.0 - 2.0 * flips, math.sqrt(K), 0
    for _ in range(samples // 1000):
        inputs = m + sd * rng.standard_normal((1000, K), dtype=np.float32)
        fresh = sd * math.sqrt(1.0 - kept**2) * rng.standard_normal((1000, K), dtype=np.float32)
        slopes = g.derivative(inputs)
        push = np.maximum(-(g(inputs) - 0.5).sum(axis=1) / root, 0.0)
        step = push[:, None] * response * slopes / root / np.mean(response * slopes**2, axis=1)[:, None]
        wrong += np.count_nonzero((g(m + kept * (inputs + step - m) + fresh) - 0.5).sum(axis=1) < 0.0)
    expected = error_of(TASK, [off, on], replace(clusters_of(solution), mu=0.0))
    assert abs(wrong / samples - expected) < 3.0 * math.sqrt(expected * (1.0 - expected) / samples)
