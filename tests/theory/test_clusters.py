"""Broken symmetry below capacity: stationarity of the potential, its limits, and the clusters it counts."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import (
    InvalidParameter,
    Linear,
    NeuronSpec,
    NoSolution,
    Polsky,
    ReLU,
    SaturatingReLU,
    TaskSpec,
    broken_saddle_point,
    complexity_curve,
    critical_capacity,
    saddle_point,
    stability_limit,
)
from dendrocap.theory.broken import BrokenEquations, Unknowns
from dendrocap.theory.cascade import cascade
from dendrocap.theory.neuron_kernel import like_branches
from tests.naive.rsb import free_entropy as naive_free_entropy
from tests.naive.rsb import log_gauss
from tests.theory.potential import OrderParameters, free_entropy

SATURATING = NeuronSpec(SaturatingReLU(), 0.5, 0.5)
NEURONS = [SATURATING, NeuronSpec(Polsky(), 0.5, 0.5), NeuronSpec(ReLU(), 1.0, 0.5), NeuronSpec(Polsky(), 0.1, 0.5)]


@pytest.mark.parametrize(("sign", "start", "m"), [(1.0, -0.7, 0.6), (-1.0, 0.2, 0.4), (1.0, -3.0, 0.04)])
def test_cascade_equals_nested_sums(sign, start, m):
    from scipy.special import log_ndtr

    delta = np.array([1.3, 0.8]) if m > 0.1 else np.array([9.0, 20.0])

    def f(x):
        return 0.5 * np.log(2.0 * np.pi) + 0.5 * x * x + log_ndtr(x) if sign > 0.0 else log_ndtr(-x)

    def slope(x):  # fourth order
        h = 1e-3
        return (8.0 * (f(x + h) - f(x - h)) - f(x + 2 * h) + f(x - 2 * h)) / (12.0 * h)

    z0, z1 = np.linspace(-9.0, 9.0, 401), np.linspace(-40.0, 40.0, 8001)
    x = start + math.sqrt(delta[0]) * z0[:, None] + math.sqrt(delta[1]) * z1
    exponent = m * f(x) + log_gauss(z1)
    top = exponent.max(axis=1, keepdims=True)
    weight = np.exp(exponent - top)
    total = weight.sum(axis=1, keepdims=True)
    inner, outer = weight / total, np.exp(log_gauss(z0))
    mean_slope = (inner * slope(x)).sum(axis=1)
    found = cascade(sign, np.array([start]), np.ones(1), delta, np.array([m]), smooth=True)
    assert_allclose(found.slope, outer @ mean_slope, rtol=1e-9)
    assert_allclose(found.slope2, [outer @ mean_slope**2, outer @ (inner * slope(x) ** 2).sum(axis=1)], rtol=1e-9)
    assert_allclose(
        found.f, [outer @ ((top + np.log(total))[:, 0] / m), outer @ (inner * f(x)).sum(axis=1)], rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("neuron", [SATURATING, NeuronSpec(ReLU(), 1.0, 0.5)], ids=repr)
def test_naive_free_entropy_is_stationary_in_every_order_parameter(neuron):
    task, alpha = TaskSpec(), 1.2
    found = broken_saddle_point(neuron, alpha=alpha)
    (q0, _), (q0_hat, q1_hat), dq, (m,) = found.overlaps, found.c, found.dq, found.breaking_points
    scaled = {
        "dq": dq, "A": found.A_hat * dq, "b": -found.M_hat * dq, "c0": q0_hat * dq**2,
        "c1": (q1_hat - q0_hat) * dq**2, "mu": m / dq, "q0": q0, "Q": found.Q,
    }  # fmt: skip

    def phi(**changes):
        return naive_free_entropy(neuron, task, alpha, **{**scaled, **changes})

    assert_allclose(phi(), found.free_entropy, rtol=1e-8)
    for name, value in scaled.items():
        near = phi(**{name: value * 1.002}), phi(**{name: value * 0.998})
        far = phi(**{name: value * 1.004}), phi(**{name: value * 0.996})
        slope = (8.0 * (near[0] - near[1]) - (far[0] - far[1])) / (12.0 * 0.002)
        curvature = (near[0] + near[1] - 2.0 * phi()) / 0.002**2
        assert abs(slope) < 1e-5 * max(abs(curvature), 1.0), name


def test_with_m_one_the_potential_is_replica_symmetric_whatever_the_inner_overlap():
    task = TaskSpec(f_out=0.3, kappa=0.1)
    branches = like_branches(SATURATING, task)
    equations = BrokenEquations([branches], task, SATURATING.theta_s, 1, at_capacity=False)
    delta, ratio = np.array([0.7, 0.3]), 1.5
    u = Unknowns.from_mu(np.array([ratio]), delta, (0.4,))._replace(log_ratio=math.log(ratio))  # mu / ratio is m
    Q = equations.state(equations.pack([u], [0.3], 0.2)).sides[0].Q  # whatever the mean input is
    m = equations.kernels[0].mean_input(Q / branches.W_bar(0.0) ** 2)
    state = equations.state(equations.pack([u], [m], 0.2))
    (side,) = state.sides
    assert_allclose(state.mu, 1.0, rtol=1e-12)
    # q_hat_0 and Q_hat of one cloud, in which the inner level has been integrated
    order = OrderParameters(
        side.Q, float(side.q[0]), state.shift * math.sqrt(state.Gamma0), 0.5 * float(side.c[1] - side.A),
        float(side.c[0]), -side.b,
    )  # fmt: skip
    assert_allclose(state.potential, free_entropy(SATURATING, task, state.alpha, order), rtol=1e-9)


@pytest.mark.parametrize("neuron", NEURONS, ids=repr)
def test_load_tends_to_the_capacity_as_clusters_shrink(neuron):
    capacity = critical_capacity(neuron, rsb=1).alpha_c
    limit = stability_limit(neuron).alpha
    points = [broken_saddle_point(neuron, alpha=capacity - x * (capacity - limit)) for x in (1e-2, 1e-3, 1e-4)]
    dq = [point.dq / point.Q for point in points]
    assert dq[0] > dq[1] > dq[2] > 0.0
    # The kinks of g make the load approach capacity as the root of dq: three points give the limit without using it.
    fit = np.polyfit(np.sqrt(dq), [point.alpha for point in points], 2)
    assert_allclose(fit[-1], capacity, rtol=2e-5)
    (mu,) = critical_capacity(neuron, rsb=1).breaking_points
    assert_allclose(points[2].breaking_points[0] / points[2].dq, mu, rtol=0.05)
    assert_allclose(points[2].overlaps[0], critical_capacity(neuron, rsb=1).overlaps[0], rtol=0.01)


@pytest.mark.parametrize("neuron", NEURONS, ids=repr)
def test_clusters_open_continuously_where_replica_symmetry_ends(neuron):
    limit, capacity = stability_limit(neuron).alpha, critical_capacity(neuron, rsb=1).alpha_c
    gaps = []
    for x in (0.02, 0.01, 0.005):
        point = broken_saddle_point(neuron, alpha=limit + x * (capacity - limit))
        one = saddle_point(neuron, alpha=point.alpha)
        gaps.append(point.overlaps[1] - point.overlaps[0])
        assert point.overlaps[0] < one.q < point.overlaps[1]
        # a continuous transition: free entropies differ in third order of the distance
        assert abs(point.free_entropy - one.free_entropy) < 3.0 * x**3
    assert_allclose(np.array(gaps[:2]) / gaps[1:], 2.0, rtol=0.05)


def test_below_that_load_the_answer_is_one_cloud():
    point = broken_saddle_point(SATURATING, alpha=0.5)
    one = saddle_point(SATURATING, alpha=0.5)
    assert point.k == 0
    assert point.estimate == "replica symmetric"
    assert (point.free_entropy, point.overlaps) == (one.free_entropy, (one.q,))
    assert_allclose(point.weights.mean(), 1.0, rtol=1e-9)


@pytest.mark.parametrize("task", [TaskSpec(f_out=0.3, kappa=0.05), TaskSpec(branch_correlation=1.0)], ids=repr)
def test_slope_of_the_free_entropy_is_the_energetic_term(task):
    # d phi / d alpha = E f_E at the root: the order parameters do not count at a stationary point
    alpha, step = 1.1, 1e-3
    low, at, high = (broken_saddle_point(SATURATING, task, alpha=a) for a in (alpha - step, alpha, alpha + step))
    slope = (high.free_entropy - low.free_entropy) / (2.0 * step)
    (m,), q_hat, W_bar = at.breaking_points, np.array(at.c), 1.0
    delta, root = np.diff(q_hat, prepend=0.0) / at.A_hat, math.sqrt(at.A_hat)
    entropic = cascade(1.0, np.array([at.M_hat / root]), np.ones(1), delta, np.array([m]), smooth=True).f[0]
    constraints = 0.5 * (
        at.Q * at.A_hat - at.dq * q_hat[1] - m * (at.overlaps[1] * q_hat[1] - at.overlaps[0] * q_hat[0])
    )
    energetic = (at.free_entropy - constraints + W_bar * at.M_hat - entropic + 0.5 * math.log(at.A_hat)) / alpha
    assert_allclose(slope, energetic, rtol=1e-5)


def test_weights_have_the_moments_of_the_order_parameters():
    point = broken_saddle_point(NEURONS[1], alpha=1.4)
    weights = point.weights
    assert_allclose([weights.mean(), weights.second_moment()], [1.0, point.Q], rtol=1e-10)
    assert abs(weights.silent_fraction) < 1e-12
    w = np.array([0.02, 0.5, 1.0, 3.0])
    step = 1e-4
    assert_allclose(weights.pdf(w), (weights.cdf(w + step) - weights.cdf(w - step)) / (2.0 * step), rtol=1e-5)


@pytest.mark.slow
def test_second_step_changes_less_than_the_first():
    one, two = (broken_saddle_point(NEURONS[1], alpha=1.5, rsb=k) for k in (1, 2))
    assert two.free_entropy < one.free_entropy < one.symmetric_free_entropy
    assert one.free_entropy - two.free_entropy < 0.02 * (one.symmetric_free_entropy - one.free_entropy)
    assert np.all(np.diff(two.overlaps) > 0.0)
    assert 0.0 < two.breaking_points[0] < two.breaking_points[1] < 1.0


def test_complexity_is_the_legendre_transform_of_the_free_entropy():
    alpha, (typical,) = 1.5, broken_saddle_point(NEURONS[1], alpha=1.5).breaking_points
    m = np.array([0.309, 0.31, 0.311, typical, 0.5])
    curve = complexity_curve(NEURONS[1], alpha=alpha, m=m)
    assert abs(curve.complexity[3]) < 1e-10
    assert curve.complexity[4] < 0.0
    # d Sigma / d s = -m along the curve
    slope = (curve.complexity[2] - curve.complexity[0]) / (curve.internal_entropy[2] - curve.internal_entropy[0])
    assert_allclose(slope, -m[1], rtol=1e-4)
    assert curve.physical.tolist() == [True, True, True, True, False]
    # Far below, the equations have a solution that describes no clusters.
    assert not complexity_curve(NEURONS[1], alpha=alpha, m=[0.1]).physical[0]


def test_refusals():
    with pytest.raises(NoSolution, match=r"1\.6 is not below 1\.570"):
        broken_saddle_point(SATURATING, alpha=1.6)
    with pytest.raises(InvalidParameter, match="rsb = 0"):
        broken_saddle_point(SATURATING, alpha=1.2, rsb=0)
    with pytest.raises(NoSolution, match="clusters"):
        complexity_curve(SATURATING, alpha=0.5, m=[0.3])
    with pytest.raises(InvalidParameter, match="m = 1"):
        complexity_curve(SATURATING, alpha=1.2, m=[1.0])
    assert broken_saddle_point(NeuronSpec(Linear(), 0.5, 0.5), alpha=0.9).k == 0
