"""Local entropy: every equation is a derivative of the potential, limits of near and far, and an independent twin."""

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
    local_entropy,
    saddle_point,
)
from dendrocap.model import Custom, Inhibition, Level
from dendrocap.theory.local_entropy import LocalCurve, on_curve
from dendrocap.theory.neuron_kernel import TreeKernel
from tests.naive import local_entropy as naive

LINEAR, POLSKY = NeuronSpec(Linear(), 0.5, 0.5), NeuronSpec(Polsky(), 0.5, 0.5)
RELU, SATURATING = NeuronSpec(ReLU(), 0.5, 0.5), NeuronSpec(SaturatingReLU(), 1.0, 0.4)
SPARSE = TaskSpec(f_in=0.3, f_out=0.2, kappa=0.1)
CORRELATED = TaskSpec(branch_correlation=1.0)
CASES = [
    (LINEAR, TaskSpec(), None),
    (POLSKY, TaskSpec(), 0.05),
    (SATURATING, SPARSE, None),
    (RELU, SPARSE, 0.3),
    (RELU, CORRELATED, None),
]


@pytest.mark.parametrize(("neuron", "task", "reference_kappa"), CASES, ids=repr)
def test_the_potential_is_stationary_in_every_order_parameter(neuron, task, reference_kappa):
    alpha, distance = 0.3, 0.15
    curve = LocalCurve(neuron, task, alpha, reference_kappa)
    point = curve.at(distance)
    state = curve._state(curve._fine, curve._followed(math.log(distance)))
    values = state.conjugates._asdict() | state.overlaps._asdict()
    del values["S"]
    if task.f_out == 0.5:
        del values["mean_shift"]

    def phi(changed):
        at = state.conjugates._asdict() | state.overlaps._asdict() | changed
        # the distance is fixed: S follows Q
        at["S"] = 0.5 * (at["Q"] + (1.0 - distance) * curve.reference.Q)
        conjugates, overlaps = type(state.conjugates), type(state.overlaps)
        return curve._fine.entropy(
            alpha,
            overlaps(**{name: at[name] for name in overlaps._fields}),
            conjugates(**{name: at[name] for name in conjugates._fields}),
        )

    assert_allclose(phi({}), point.entropy, rtol=1e-9)
    for name, value in values.items():
        step = 1e-3 * abs(value)
        up, down = phi({name: value + step}), phi({name: value - step})
        slope, bend = (up - down) / (2.0 * step), (up + down - 2.0 * phi({})) / step**2
        # stationary: the slope is that of a displacement a million times smaller than the value
        assert abs(slope) < 1e-6 * max(abs(bend * value), 1.0), name
        assert abs(bend * value) > 1e-6, name


@pytest.mark.parametrize(("neuron", "task", "reference_kappa"), CASES, ids=repr)
def test_solutions_are_most_numerous_where_nothing_holds_them(neuron, task, reference_kappa):
    curve = LocalCurve(neuron, task, 0.3, reference_kappa)
    found = on_curve(curve, curve.typical_distance * np.array([0.3, 0.7, 0.999, 1.0]))
    typical = saddle_point(neuron, task, alpha=0.3)
    assert_allclose(found.typical_entropy, typical.free_entropy, rtol=1e-13)
    assert_allclose(found.entropy[-1], typical.free_entropy, atol=1e-8)
    assert_allclose(found.S[-1], found.t[-1], rtol=1e-9)
    assert_allclose(found.stability[-1], typical.stability, rtol=1e-8)
    assert_allclose([found.Q[-1], found.q[-1]], [typical.Q, typical.q], rtol=1e-9)
    if reference_kappa is None:
        assert_allclose(found.t[-1], typical.q, rtol=1e-9)
    assert_allclose(found.coupling[-1], 0.0, atol=1e-8)
    assert np.all(np.diff(found.entropy) > 0.0)
    assert np.all(found.log_fraction < 0.0)


@pytest.mark.parametrize("reference_kappa", [None, 0.3])
def test_the_coupling_is_the_slope_of_the_entropy(reference_kappa):
    at, step = 0.12, 1e-4
    found = local_entropy(POLSKY, alpha=0.4, distance=[at - step, at, at + step], reference_kappa=reference_kappa)
    slope = (found.entropy[2] - found.entropy[0]) / (2.0 * step) / found.reference.Q
    assert_allclose(found.coupling[1], 2.0 * slope, rtol=1e-6)
    assert_allclose(found.Q + found.reference.Q * (1.0 - found.distance), 2.0 * found.S, rtol=1e-9)


def _linear_order(reference_kappa, kappa, alpha, distance):
    """The result, and its order parameters in the order of the twin."""
    curve = LocalCurve(LINEAR, TaskSpec(kappa=kappa), alpha, reference_kappa)
    found = on_curve(curve, distance)
    own, _ = curve._conjugates(curve._followed(math.log(distance)))
    q_hat = own.rest + own.t_hat**2 / curve.reference.q_hat
    return found, np.array(
        [found.Q[0], found.q[0], found.t[0], own.A_hat, q_hat, own.pull + own.t_hat, own.t_hat, own.M_hat]
    )


@pytest.mark.parametrize(("reference_kappa", "kappa"), [(0.0, 0.0), (0.4, 0.1)])
def test_three_nested_sums_give_the_same_potential(reference_kappa, kappa):
    found, order = _linear_order(reference_kappa, kappa, 0.4, 0.1)
    assert_allclose(naive.potential(order, found.reference, 0.4, 0.1, kappa), found.entropy[0], atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("reference_kappa", "kappa"), [(0.0, 0.0), (0.4, 0.1)])
def test_a_general_solver_finds_the_linear_neuron_by_the_slow_twin(reference_kappa, kappa, rng):
    found, ours = _linear_order(reference_kappa, kappa, 0.4, 0.1)
    start = ours * (1.0 + 0.02 * rng.uniform(-1.0, 1.0, 8) * [0, 0, 0, 1, 1, 1, 1, 1])
    order, entropy, left = naive.solved(start, found.reference, 0.4, 0.1, kappa)
    assert left < 1e-6
    assert_allclose(order, ours, rtol=2e-5)
    assert_allclose(entropy, found.entropy[0], atol=1e-7)


def test_without_patterns_it_is_a_ball_in_the_positive_orthant():
    """Centres are exponentially distributed; sums over a dense grid of them, and a general-purpose solver."""
    from scipy.optimize import root
    from scipy.special import log_ndtr

    found = local_entropy(LINEAR, alpha=0.0, distance=[0.01, 0.3, 0.999, 1.0])
    assert_allclose(found.entropy, found.ball_entropy)
    assert_allclose(found.entropy[-1], 1.0, rtol=1e-12)  # of all weights with mean 1: 1 + ln W_bar
    w = (np.arange(60_000) + 0.5) * 5e-4
    share = 5e-4 * np.exp(-w)
    for distance, entropy in zip(found.distance[:2], found.entropy[:2], strict=True):
        D = 2.0 * distance

        def averages(x):
            gamma, field = math.exp(x[0]), x[1]
            h = (field + gamma * w) / math.sqrt(gamma)
            ratio = np.exp(-0.5 * h * h - log_ndtr(h)) / math.sqrt(2.0 * math.pi)
            mean = h + ratio
            square = 1.0 + h * mean
            log_norm = 0.5 * h * h + 0.5 * math.log(2.0 * math.pi / gamma) + log_ndtr(h)
            mean, square = mean / math.sqrt(gamma), square / gamma
            return share @ mean, share @ (square - 2.0 * mean * w + w * w), share @ (log_norm - 0.5 * gamma * w * w)

        at = root(lambda x: (averages(x)[0] - 1.0, averages(x)[1] / D - 1.0), (-math.log(D), -0.5), tol=1e-12).x  # noqa: B023
        expected = averages(at)[2] - at[1] + 0.5 * math.exp(at[0]) * D
        assert_allclose(entropy, expected, atol=1e-7)


@pytest.mark.parametrize("neuron", [LINEAR, RELU, POLSKY], ids=repr)
def test_small_balls_lose_a_known_part_to_the_walls(neuron):
    """ln(2 pi e D) / 2 for a ball of squared radius D per synapse, and -sqrt(D) for weights and patterns at a wall."""
    alpha = 0.4
    found = local_entropy(neuron, alpha=alpha, distance=[1e-5, 4e-5])
    D, reference = found.distance * found.reference.Q, found.reference
    kernel = TreeKernel(neuron, TaskSpec()).at(reference.Q, reference.dq)
    # density of patterns at their margin, in units of what unit displacements of the weights do to the soma
    moved = TreeKernel(neuron, TaskSpec()).at(reference.Q, 1e-8)
    walls = {
        "ball_entropy": [reference.weights.pdf(0.0)],
        "entropy": [reference.weights.pdf(0.0), alpha * _density_at_margin(kernel) * math.sqrt(moved.dD1_ddq)],
    }
    for name, densities in walls.items():
        lost = (getattr(found, name) - 0.5 * np.log(2.0 * math.pi * math.e * D)) / np.sqrt(D)
        limit = 2.0 * lost[0] - lost[1]  # the next order is D
        assert_allclose(limit, -naive.small_ball(densities), rtol=2e-3)


def _density_at_margin(kernel):
    from scipy.integrate import quad
    from scipy.special import log_ndtr

    a = math.sqrt(kernel.D0 / kernel.D1)

    def pushed(z):
        h = a * z
        return math.exp(-0.5 * z * z - 0.5 * h * h - log_ndtr(h)) / (2.0 * math.pi)

    return quad(pushed, -9.0, 9.0, epsabs=1e-12)[0] / math.sqrt(kernel.D1)


def test_a_margin_widens_the_neighbourhood():
    """A solution with a margin is surrounded by solutions alone, as far as the margin reaches."""
    found = [
        local_entropy(RELU, alpha=0.4, distance=[0.003, 0.1], reference_kappa=kappa).log_fraction
        for kappa in (0.0, 0.3)
    ]
    assert np.all(found[1] > found[0])
    assert -1e-6 < found[1][0] < 0.0


def test_bad_input_is_named():
    with pytest.raises(NoSolution, match=r"larger than 0\.4120.*typical distance"):
        local_entropy(LINEAR, alpha=0.5, distance=0.6)
    with pytest.raises(InvalidParameter, match="distance = 0"):
        local_entropy(LINEAR, alpha=0.5, distance=[0.1, 0.0])
    with pytest.raises(NoSolution, match="alpha = 2 is not below"):
        local_entropy(LINEAR, alpha=2.0)
    with pytest.raises(InvalidParameter, match="n_levels = 2"):
        local_entropy(NeuronSpec(theta_s=0.5, levels=(Level(ReLU(), 0.5), Level(ReLU(), 0.5))), alpha=0.1)
    square = Custom(lambda x: x * x, lambda x: 2.0 * x)
    with pytest.raises(InvalidParameter, match="never falls"):
        local_entropy(NeuronSpec(square, 0.5, 0.5), alpha=0.1)
    with pytest.raises(InvalidParameter, match=r"inhibition = .* it must be None"):
        local_entropy(NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(share=0.2, drive=0.1)), alpha=0.1)


def test_where_replica_symmetry_is_unstable_the_result_says_so():
    found = local_entropy(POLSKY, alpha=1.5, distance=[0.001, 0.1])
    assert not found.physical.any()
    assert "unstable at 2 of 2 distances" in repr(found)
    assert local_entropy(POLSKY, alpha=0.5, distance=0.001).physical.all()


def test_almost_no_patterns_are_almost_a_ball():
    found = local_entropy(RELU, alpha=1e-5, distance=[0.01, 0.5])
    assert np.all(found.log_fraction < 0.0)
    assert_allclose(found.entropy, local_entropy(RELU, alpha=0.0, distance=[0.01, 0.5]).entropy, atol=2e-5)
