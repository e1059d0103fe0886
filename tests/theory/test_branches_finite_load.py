"""Typical solutions of populations and short branches below capacity, and the symmetry of branches."""

import math

import pytest
from numpy.testing import assert_allclose

from dendrocap import (
    Branches,
    ConvergenceError,
    InvalidParameter,
    NeuronSpec,
    NoSolution,
    Polsky,
    ReLU,
    SaturatingReLU,
    TaskSpec,
    branch_stability,
    critical_capacity,
    saddle_point,
    stability_limit,
)
from dendrocap.theory.saddle_point import split_saddle_point

BASAL_APICAL = NeuronSpec(
    populations=[Branches(Polsky(), 0.25, 0.5), Branches(SaturatingReLU(), 0.5, 0.5)], theta_s=0.5
)
UNEQUAL = NeuronSpec(
    populations=[
        Branches(Polsky(), 0.4, 0.3, length=2.0, mean_output=0.4),
        Branches(ReLU(), 0.3, 0.7, f_in=0.3, mean_output=0.543),
    ],
    theta_s=0.3 * 0.4 + 0.7 * 0.543,
)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 4.0])
@pytest.mark.parametrize("task", [TaskSpec(), TaskSpec(0.4, 0.3, 0.1)], ids=["plain", "general"])
def test_one_population_of_long_branches_is_the_paper_s_case(alpha, task):
    known = saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), task, alpha=alpha)
    single = saddle_point(NeuronSpec(populations=[Branches(Polsky(), 0.5, 1.0)], theta_s=0.5), task, alpha=alpha)
    assert_allclose([single.free_entropy, single.Q, single.q], [known.free_entropy, known.Q, known.q], rtol=1e-9)
    assert_allclose([single.stability, single.mean_shift], [known.stability, known.mean_shift], rtol=1e-7, atol=1e-9)


def test_populations_against_reference_values():
    found = saddle_point(BASAL_APICAL, alpha=0.5)
    assert_allclose([found.free_entropy, found.energetic_term], [0.14373681, -1.15309976], atol=6e-9)
    assert_allclose([one.Q for one in found.populations], [0.62069485, 2.4984815], rtol=3e-8)
    assert_allclose([one.q / one.Q for one in found.populations], [0.68721603, 0.68652831], rtol=3e-8)
    close = saddle_point(BASAL_APICAL, alpha=2.0)
    assert_allclose(close.free_entropy, -3.72693902, atol=6e-9)
    assert_allclose([one.q / one.Q for one in close.populations], [0.981448, 0.980961], atol=6e-7)


@pytest.mark.parametrize(("output", "free_entropy"), [(0.5, 0.528797), (0.2, 0.550470)])
def test_there_are_more_solutions_with_unequal_halves(output, free_entropy):
    """Already at a tenth of the capacity: branches do not part at the capacity alone."""
    kinds = [Branches(Polsky(), 0.5, 0.5, mean_output=one) for one in (output, 1.0 - output)]
    found = saddle_point(NeuronSpec(populations=kinds, theta_s=0.5), alpha=0.5)
    assert_allclose(found.free_entropy, free_entropy, atol=6e-7)


def test_short_branches_against_a_reference_value():
    """docs/theory/real_sizes.md: message passing at N = 2000, K = 40 gives 0.7244(16)."""
    found = saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), alpha=0.4, branch_size=50)
    assert_allclose(found.free_entropy, 0.7219, atol=6e-5)


@pytest.mark.parametrize("branch_size", [None, 40.0])
@pytest.mark.parametrize("task", [TaskSpec(), TaskSpec(0.4, 0.2, 0.1)], ids=["plain", "general"])
def test_the_derivative_of_the_free_entropy_is_the_energetic_term(branch_size, task):
    """phi is stationary in all order parameters, so that only the load moves it."""
    h = 1e-3
    near, far = (
        saddle_point(UNEQUAL, task, alpha=0.5 + c * h, branch_size=branch_size).free_entropy
        - saddle_point(UNEQUAL, task, alpha=0.5 - c * h, branch_size=branch_size).free_entropy
        for c in (1, 2)
    )
    here = saddle_point(UNEQUAL, task, alpha=0.5, branch_size=branch_size)
    assert_allclose((8.0 * near - far) / (12.0 * h), here.energetic_term, rtol=1e-8)


def test_the_derivative_in_a_threshold_is_the_conjugate_of_the_mean_weight():
    """d phi / d theta_d = -M_hat / f_in on long branches, each population weighted by its synapses."""
    h = 1e-4

    def phi(change):
        first, second = BASAL_APICAL.populations
        moved = Branches(first.nonlinearity, first.theta_d + change, first.fraction)
        return saddle_point(NeuronSpec(populations=[moved, second], theta_s=0.5), alpha=0.5).free_entropy

    by_theta = (8.0 * (phi(h) - phi(-h)) - phi(2 * h) + phi(-2 * h)) / (12.0 * h)
    here = saddle_point(BASAL_APICAL, alpha=0.5).populations[0]
    assert_allclose(by_theta, -0.5 * here.M_hat / 0.5, rtol=1e-8)


def test_replicas_meet_at_capacity():
    capacity = critical_capacity(UNEQUAL, branch_size=40.0)
    close = saddle_point(UNEQUAL, alpha=0.9999 * capacity.alpha_c, branch_size=40.0)
    for here, there in zip(close.populations, capacity.populations, strict=True):
        assert here.dq / here.Q < 1e-3
        assert_allclose([here.Q, here.W_bar], [there.Q, there.W_bar], rtol=3e-3)


def test_typical_weights_have_the_moments_of_the_saddle_point():
    for one in saddle_point(UNEQUAL, alpha=0.5, branch_size=40.0).populations:
        assert_allclose([one.weights.mean(), one.weights.second_moment()], [one.W_bar, one.Q], rtol=1e-9)


def test_short_branches_without_a_replica_symmetric_capacity_have_typical_solutions():
    neuron, task = NeuronSpec(Polsky(0.2, 20.0), 0.04, 0.63), TaskSpec(0.05, 0.05)
    with pytest.raises(NoSolution):
        critical_capacity(neuron, task, branch_size=300)
    found = saddle_point(neuron, task, alpha=1.0, branch_size=300)
    (branches,) = found.populations
    assert_allclose(found.W_bar, (0.04 + branches.preactivation_mean / math.sqrt(300.0)) / 0.05, rtol=1e-9)
    with pytest.raises(ConvergenceError, match=r"found down to 2\d\d\.?\d* synapses"):
        saddle_point(neuron, task, alpha=1.0, branch_size=100)


def test_loads_beyond_capacity_are_refused():
    with pytest.raises(NoSolution, match=r"alpha = 3 is not below .* 2\.4186"):
        saddle_point(BASAL_APICAL, alpha=3.0)


def test_the_stability_limit_of_one_population_is_the_paper_s():
    neuron = NeuronSpec(Polsky(), 0.5, 0.5)
    single = NeuronSpec(populations=[Branches(Polsky(), 0.5, 1.0)], theta_s=0.5)
    assert_allclose(stability_limit(single).alpha, stability_limit(neuron).alpha, rtol=1e-9)
    short = stability_limit(neuron, branch_size=37)
    assert abs(saddle_point(neuron, alpha=short.alpha, branch_size=37).stability) < 1e-8


# The symmetry of branches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theta_d", "branch_size", "kappa_c"),
    [(0.1, None, 0.0545), (0.5, None, 0.11839), (1.0, None, 0.11892), (0.1, 37, 0.1089), (0.5, 37, 0.1290)],
)
def test_the_margin_that_keeps_branches_alike(theta_d, branch_size, kappa_c):
    neuron = NeuronSpec(Polsky(), theta_d, 0.5)
    found = branch_stability(neuron, branch_size=branch_size)
    assert not found.stable
    assert found.curvature > 0.0
    assert_allclose(found.kappa_c, kappa_c, atol=6e-5)


def test_stability_changes_at_the_critical_margin():
    neuron = NeuronSpec(Polsky(), 0.5, 0.5)
    assert not branch_stability(neuron, TaskSpec(kappa=0.117)).stable
    above = branch_stability(neuron, TaskSpec(kappa=0.120))
    assert above.stable
    assert_allclose(above.kappa_c, 0.11839, atol=6e-5)  # the same from either side
    with pytest.raises(NoSolution, match=r"stable at kappa = 0\.12"):
        above.optimum()


def test_equal_branches_that_are_stable():
    assert branch_stability(NeuronSpec(ReLU(), 1.0, 0.5)).kappa_c == 0.0
    rarely_active = NeuronSpec(Polsky(0.2, 20.0), 0.04, 0.042)
    assert branch_stability(rarely_active, TaskSpec(0.05, 0.05), branch_size=100).stable


def test_the_optimum_exceeds_equal_branches():
    found = branch_stability(NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(kappa=0.05))
    best = found.optimum()
    assert best.alpha_c > 1.9358 > found.alpha_c  # a published split of (0.096, 0.904)
    assert math.isclose(sum(one.fraction * one.mean_output for one in best.populations), 0.5, rel_tol=1e-6)


def test_without_a_margin_the_optimum_runs_away():
    with pytest.raises(NoSolution, match="still grows"):
        branch_stability(NeuronSpec(Polsky(), 0.5, 0.5)).optimum()


def test_stability_is_asked_of_like_branches():
    with pytest.raises(InvalidParameter, match="like branches"):
        branch_stability(BASAL_APICAL)


def test_no_split_is_the_equal_state():
    neuron = NeuronSpec(Polsky(), 0.5, 0.5)
    equal = saddle_point(neuron, alpha=0.4, branch_size=50)
    found = split_saddle_point(neuron, TaskSpec(), 0.4, (0.0, 0.0, 0.0), branch_size=50)
    assert_allclose([found.free_entropy, found.Q, found.q], [equal.free_entropy, equal.Q, equal.q], rtol=1e-9)
    assert_allclose(found.stability, equal.stability, rtol=1e-7)


@pytest.mark.parametrize(("split", "free_entropy"), [(0.4, 0.7250), (1.0, 0.7401), (1.6, 0.7646)])
def test_split_mean_inputs_against_reference_values(split, free_entropy):
    found = split_saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(), 0.4, (-split / 2, split / 2), 50)
    assert_allclose(found.free_entropy, free_entropy, atol=6e-5)
    off, on = found.populations
    assert_allclose(on.preactivation_mean - off.preactivation_mean, split, rtol=1e-12)
    assert_allclose(0.5 * (off.mean_output + on.mean_output), 0.5, rtol=1e-9)


@pytest.mark.parametrize("branch_size", [None, 50.0])
def test_free_entropy_of_a_split_falls_with_the_load_by_the_energetic_term(branch_size):
    task, h = TaskSpec(0.4, 0.3, 0.1), 1e-4

    def at(alpha):
        return split_saddle_point(NeuronSpec(Polsky(), 0.5, 0.4), task, alpha, (-0.8, 0.1, 0.7), branch_size)

    slope = (at(0.3 + h).free_entropy - at(0.3 - h).free_entropy) / (2.0 * h)
    assert_allclose(slope, at(0.3).energetic_term, rtol=1e-6)


def test_prescribed_outputs_are_freer_than_prescribed_inputs():
    """Each population then has a multiplier of its own, so the same outputs have the larger volume."""
    neuron = NeuronSpec(Polsky(), 0.5, 0.5)
    found = split_saddle_point(neuron, TaskSpec(), 0.4, (-0.5, 0.5))
    kinds = [Branches(Polsky(), 0.5, 0.5, mean_output=one.mean_output) for one in found.populations]
    other = saddle_point(NeuronSpec(populations=kinds, theta_s=0.5), alpha=0.4)
    assert 0.0 < other.free_entropy - found.free_entropy < 0.01
