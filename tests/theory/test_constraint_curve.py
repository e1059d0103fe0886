"""g that are not monotone: E g = theta_s is a curve in the plane of norm and mean input, and has branches."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import erf

from dendrocap import Custom, NeuronSpec, NoSolution, TaskSpec, critical_capacity, saddle_point, stability_limit
from dendrocap.theory.dendrite import all_mean_inputs
from dendrocap.theory.neuron_kernel import like_branches
from dendrocap.theory.symmetric import ConstraintCurve
from tests.naive import constraint as naive

HALF = TaskSpec()
SQUARE = Custom(lambda x: x * x, lambda x: 2.0 * x)
BUMP = Custom(lambda x: np.exp(-x * x), lambda x: -2.0 * x * np.exp(-x * x))
SINE = Custom(np.sin, np.cos)
GAMMA = Custom(  # rises and decays
    lambda x: np.maximum(x, 0.0) * np.exp(-np.maximum(x, 0.0)),
    lambda x: np.where(x > 0.0, (1.0 - x) * np.exp(-np.maximum(x, 0.0)), 0.0),
    [0.0],
)
GELU = Custom(
    lambda x: 0.5 * x * (1.0 + erf(x / math.sqrt(2.0))),
    lambda x: 0.5 * (1.0 + erf(x / math.sqrt(2.0))) + x * np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi),
)


@pytest.mark.parametrize(
    ("g", "theta_s", "m_range"),
    [(SQUARE, 0.5, (-0.8, 0.8)), (SQUARE, 2.0, (-1.5, 1.5)), (BUMP, 0.3, (-1.5, 1.5)), (SINE, 0.3, (0.1, 3.0)),
     (GAMMA, 0.2, (0.2, 2.7)), (GAMMA, 0.05, (-1.5, 4.7)), (GELU, 0.5, (-0.5, 1.0)), (GELU, -0.05, (-4.0, -0.2))],
)  # fmt: skip
def test_capacity_is_the_largest_load_of_a_naive_scan(g, theta_s, m_range):
    found = critical_capacity(NeuronSpec(g, 0.5, theta_s))
    alpha, V, _ = naive.largest_load(g, g.derivative, theta_s, 1.0, m_range)
    assert_allclose(found.alpha_c, alpha, rtol=1e-8)  # its last steps in m are 1e-4 wide, and the load is stationary
    assert_allclose(found.Q, 4.0 * V, rtol=1e-3)
    assert found.residual < 1e-12


def test_square_has_its_maximum_at_the_top_of_its_curve():
    # E (m + s x)^2 = m^2 + s^2: at the top m = 0 and Q = theta_s / v; there Gamma_0 = 2 V^2, Gamma_1 = 4 v V.
    found = critical_capacity(NeuronSpec(SQUARE, 0.5, 0.5))
    assert_allclose([found.Q, found.Gamma0, found.Gamma1], [2.0, 0.5, 0.5], rtol=1e-12)
    assert abs(found.M_bar) < 1e-8
    assert_allclose(found.alpha_c, 1.7700, atol=5e-5)


def test_a_curve_turns_back_and_its_other_states_are_reported():
    found = critical_capacity(NeuronSpec(GAMMA, 0.5, 0.05))
    assert [other.kind for other in found.others] == ["maximum", "minimum"]
    assert found.others[0].M_bar > 0.0 > found.M_bar
    for other in found.others:  # they lie on the curve and bear the load that they say
        m = 0.5 * other.M_bar
        assert_allclose(naive.mean_output(GAMMA, 0.25 * other.Q, m), 0.05, rtol=1e-10)
        assert_allclose(naive.load(GAMMA, GAMMA.derivative, 0.05, 1.0, 0.25 * other.Q, m), other.alpha, rtol=1e-10)


@pytest.mark.parametrize("g", [SQUARE, BUMP, GAMMA, SINE, GELU])
def test_no_solution_is_missed_and_their_number_never_grows_with_the_width(g):
    theta, numbers = 0.07, []
    for s in (0.05, 0.1, 0.3, 0.6, 1.0, 2.0):
        found = all_mean_inputs(g, theta, s)
        grid = np.linspace(-40.0, 40.0, 2667)
        if g is SINE:  # solutions without end: those of its domain
            found, grid = [m for m in found if abs(m) < 30.0], np.linspace(-30.0, 30.0, 2001)
        means = np.array([naive.mean_output(g, s * s, m) for m in grid]) - theta
        assert len(found) == np.count_nonzero(np.sign(means[1:]) * np.sign(means[:-1]) < 0)
        numbers.append(len(found))
        assert_allclose([naive.mean_output(g, s * s, m) for m in found], theta, atol=1e-12)
    assert numbers == sorted(numbers, reverse=True)


def test_states_of_a_curve_obey_the_constraint_and_their_directions_follow_it():
    curve = ConstraintCurve(like_branches(NeuronSpec(BUMP, 0.5, 0.3), HALF))
    (states,) = curve.curves()
    assert states[0].m < 0.0 < states[-1].m
    assert states[-1].B < -4.9
    for one, other in pairwise(states):
        assert abs(one.moments.mean) < 1e-12
        chord = np.array([other.B - one.B, other.m - one.m])
        scale = 0.5 * (one.s + other.s)  # directions are of unit length in B and m / s
        half = 0.5 * np.array([one.dB + other.dB, one.dm + other.dm]) * math.hypot(chord[0], chord[1] / scale)
        assert_allclose(half / [1.0, scale], chord / [1.0, scale], atol=0.02 * math.hypot(chord[0], chord[1] / scale))


def test_the_typical_solution_is_on_the_right_branch():
    """One branch has m near -0.6, another m near 4.8; only free entropies tell which is typical."""
    limits = [stability_limit(NeuronSpec(GAMMA, 0.5, theta_s)) for theta_s in (0.04, 0.05, 0.06)]
    assert_allclose([limit.alpha for limit in limits], [0.7886, 0.7776, 0.7679], atol=1e-4)
    assert all(-0.8 < limit.saddle_point.M_bar * 0.5 < -0.5 for limit in limits)
    point = saddle_point(NeuronSpec(GAMMA, 0.5, 0.05), alpha=0.6)
    assert point.error < 1e-9
    assert [other.M_bar > 0.0 for other in point.other_solutions] == [True, True]
    assert all(other.free_entropy < point.free_entropy for other in point.other_solutions)


@pytest.mark.parametrize(
    ("g", "theta_s", "alpha"), [(SQUARE, 2.0, 0.3), (SQUARE, 0.5, 0.6), (BUMP, 0.3, 0.5), (GELU, 0.0, 0.4)]
)
def test_a_saddle_point_is_stationary_for_a_naive_free_entropy(g, theta_s, alpha):
    point = saddle_point(NeuronSpec(g, 0.5, theta_s), alpha=alpha)
    m = 0.5 * point.M_bar

    def phi(Q=point.Q, m=m, q=point.q, Q_hat=point.Q_hat, q_hat=point.q_hat, M_hat=point.M_hat):
        return naive.free_entropy(g, theta_s, 1.0, alpha, Q, m, q, Q_hat, q_hat, M_hat, HALF)

    assert_allclose(phi(), point.free_entropy, atol=1e-8)
    assert_allclose(naive.mean_output(g, 0.25 * point.Q, m), theta_s, atol=1e-9)
    for name in ("q", "Q_hat", "q_hat", "M_hat"):
        value, h = getattr(point, name), 1e-4
        slope = (phi(**{name: value * (1 + h)}) - phi(**{name: value * (1 - h)})) / (2 * h)
        assert abs(slope) < 2e-6, name
    behind, ahead = naive.along_the_curve(g, theta_s, point.Q, m, 1e-3)
    assert abs(phi(*ahead) - phi(*behind)) / 2e-3 < 1e-5
    # Along the curve, and only along it: leaving it changes phi to first order.
    assert abs(phi(Q=point.Q * 1.001) - phi(Q=point.Q * 0.999)) / 2e-3 > 1e-3


def test_free_entropy_falls_with_the_load_as_the_energy_says():
    neuron, h = NeuronSpec(SQUARE, 0.5, 2.0), 1e-3
    below, here, above = (saddle_point(neuron, alpha=0.3 + k * h) for k in (-1, 0, 1))
    slope = (above.free_entropy - below.free_entropy) / (2 * h)
    assert_allclose(slope, here.energetic_term, rtol=1e-5)


def test_solutions_end_at_capacity():
    neuron = NeuronSpec(SQUARE, 0.5, 0.5)
    alpha_c = critical_capacity(neuron).alpha_c
    point = saddle_point(neuron, alpha=0.999 * alpha_c)
    assert point.dq / point.Q < 2e-3
    with pytest.raises(NoSolution, match=r"capacity is 1\.76997"):
        saddle_point(neuron, alpha=1.01 * alpha_c)


def test_load_zero_and_what_is_refused():
    start = saddle_point(NeuronSpec(GAMMA, 0.5, 0.05), alpha=0.0)
    assert start.free_entropy == 1.0
    assert start.M_bar < 0.0
    with pytest.raises(NoSolution, match="small alpha > 0"):  # the top of x^2 lies below Q = 2
        saddle_point(NeuronSpec(SQUARE, 0.5, 0.3), alpha=0.0)
    with pytest.raises(NoSolution, match="at any width"):
        critical_capacity(NeuronSpec(BUMP, 20.0, 0.3))
    with pytest.raises(NoSolution, match="no largest value"):
        critical_capacity(NeuronSpec(GELU, 0.5, 0.0))
    sawtooth = Custom(lambda x: x - np.floor(x), lambda x: np.ones_like(x), list(range(-32, 33)))
    with pytest.raises(NoSolution, match="jumps and is not monotone"):
        saddle_point(NeuronSpec(sawtooth, 0.1, 0.5), alpha=0.1)


@pytest.mark.parametrize(
    ("g", "theta_s", "expected"),
    [(SQUARE, 0.5, 1.735609), (SQUARE, 2.0, 1.262446), (BUMP, 0.3, 1.590268), (GELU, 0.5, 1.158634)],
)
def test_one_step_is_stationary_for_a_naive_potential_along_the_curve(g, theta_s, expected):
    found = critical_capacity(NeuronSpec(g, 0.5, theta_s), rsb=1)
    assert_allclose(found.alpha_c, expected, rtol=1e-6)  # as found; what follows is what shows that it is right
    assert found.alpha_c < found.by_steps[0]
    (mu,), (q0,), (c0, c) = found.breaking_points, found.overlaps, found.c
    m = found.preactivation_mean
    values = {"A": found.A, "b": found.b, "c0": c0, "c1": c - c0, "mu": mu, "q0": q0}

    def F(Q=found.Q, m=m, **changed):
        return naive.one_step_potential(g, theta_s, 1.0, found.alpha_c, Q=Q, m=m, **values | changed)

    scale = 0.5 * found.A * found.Q
    assert abs(F()) < 2e-5 * scale
    for name, value in values.items():
        h = 1e-3
        slope = (F(**{name: value * (1 + h)}) - F(**{name: value * (1 - h)})) / (2 * h)
        assert abs(slope) < 2e-4 * scale, name
    behind, ahead = naive.along_the_curve(g, theta_s, found.Q, m, 1e-3)
    assert abs(F(*ahead) - F(*behind)) / 2e-3 < 2e-4 * scale


def test_one_step_takes_the_best_state_of_the_curve_not_the_first_one_found():
    # At its top, x^2 with theta_s = 2 has a stationary one-step load of 1.2346; next to it, one of 1.2624.
    found = critical_capacity(NeuronSpec(SQUARE, 0.5, 2.0), rsb=2)
    assert abs(found.preactivation_mean) > 0.9
    assert found.by_steps[0] > found.by_steps[1] > found.by_steps[2] > 1.26


def test_the_answer_is_not_among_the_other_solutions():
    found = critical_capacity(NeuronSpec(SINE, 0.5, 0.3))  # states that repeat with its period are one
    assert [other.alpha for other in found.others if other.alpha >= found.alpha_c] == []
