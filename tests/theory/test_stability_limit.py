"""The end of replica symmetry: known digits, and the Hessian of an action with broken symmetry."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr

from dendrocap import Level, Linear, NeuronSpec, Polsky, ReLU, SaturatingReLU, Step, TaskSpec, critical_capacity
from dendrocap.theory.neuron_kernel import TreeKernel
from dendrocap.theory.saddle_point import saddle_point, stability_limit


@pytest.mark.parametrize(
    ("nonlinearity", "theta_d", "alpha"),
    [
        (ReLU(), 0.1, 0.996607),
        (ReLU(), 0.5, 0.793798),
        (ReLU(), 1.0, 0.733866),
        (SaturatingReLU(), 0.1, 0.992500),
        (SaturatingReLU(), 0.5, 0.679781),
        (SaturatingReLU(), 1.0, 0.805338),
        (Polsky(), 0.1, 0.762226),
        (Polsky(), 0.5, 0.832257),
    ],
    ids=repr,
)
def test_digits_of_an_earlier_independent_program(nonlinearity, theta_d, alpha):
    limit = stability_limit(NeuronSpec(nonlinearity, theta_d, 0.5), TaskSpec())
    assert round(limit.alpha, 6) == alpha
    assert limit.residual < 1e-11


def test_stability_changes_sign_at_the_limit():
    neuron, task = NeuronSpec(levels=(Level(Polsky(), 0.5), Level(ReLU(), 0.4)), theta_s=0.3), TaskSpec(0.3, 0.2, 0.1)
    limit = stability_limit(neuron, task)
    assert saddle_point(neuron, task, alpha=limit.alpha * 0.999).stability > 0.0
    assert saddle_point(neuron, task, alpha=limit.alpha * 1.001).stability < 0.0
    assert abs(saddle_point(neuron, task, alpha=limit.alpha).stability) < 1e-9


@pytest.mark.parametrize("task", [TaskSpec(), TaskSpec(0.3, 0.2, 0.4)], ids=repr)
def test_linear_neuron_is_stable_up_to_capacity(task):
    neuron = NeuronSpec(Linear(), 0.5, 0.3)
    assert stability_limit(neuron, task).alpha == math.inf
    capacity = critical_capacity(neuron, task).alpha_c
    assert 0.0 < saddle_point(neuron, task, alpha=0.999 * capacity).stability < 0.1


def test_kinks_make_the_solution_unstable_below_capacity():
    # Even where the kink is six standard deviations away and the capacity is that of the perceptron to eight digits.
    neuron = NeuronSpec(ReLU(), 0.05, 0.5)
    limit = stability_limit(neuron, TaskSpec())
    assert 0.9999999 < limit.alpha < critical_capacity(neuron).alpha_c


# The independent route. Replicas in blocks of size m, with overlap q1 inside a block and q0 between blocks, and the
# same for the conjugates: at q1 = q0 this is the replica-symmetric action. Its second derivatives in the directions
# that break the symmetry, at fixed mean overlap, come from differences of the action itself.

M = 0.4
Z0 = np.linspace(-9.0, 9.0, 1201)
DZ0 = (Z0[1] - Z0[0]) * np.exp(-0.5 * Z0 * Z0) / math.sqrt(2.0 * math.pi)
Z1, DZ1 = np.polynomial.hermite_e.hermegauss(24)
DZ1 = DZ1 / math.sqrt(2.0 * math.pi)


def block_average(function, centre, outer, inner):
    """(1/m) E_z0 ln E_z1 exp(m function(centre + outer z0 + inner z1))."""
    field = centre + outer * Z0[:, None] + inner * Z1[None, :]
    exponent = M * function(field)
    top = exponent.max(axis=1)
    return float(DZ0 @ (top + np.log(np.exp(exponent - top[:, None]) @ DZ1))) / M


def broken_action(point, kernel, split, split_hat):
    """The action with q1 - q0 = split and q1_hat - q0_hat = split_hat, mean overlaps unchanged."""
    q1, q0 = point.q + M * split, point.q - (1.0 - M) * split
    q1_hat, q0_hat = point.q_hat + M * split_hat, point.q_hat - (1.0 - M) * split_hat
    A_hat = point.A_hat + M * split_hat
    task = point.task

    def weight(field):
        x = field / math.sqrt(A_hat)
        return 0.5 * math.log(2.0 * math.pi / A_hat) + 0.5 * x * x + log_ndtr(x)

    total = 0.5 * (1.0 - M) * q1 * q1_hat + 0.5 * M * q0 * q0_hat
    total += block_average(weight, point.M_hat, math.sqrt(q0_hat), math.sqrt(max(q1_hat - q0_hat, 0.0)))
    inside, between = kernel.at(point.Q, point.Q - q1), kernel.at(point.Q, point.Q - q0)
    for sign, probability in ((1.0, task.f_out), (-1.0, 1.0 - task.f_out)):
        total += (
            point.alpha
            * probability
            * block_average(
                lambda field: log_ndtr(-field / math.sqrt(inside.D1)),
                task.kappa - sign * point.mean_shift,
                math.sqrt(between.D0),
                math.sqrt(max(inside.D0 - between.D0, 0.0)),
            )
        )
    # -Q Q_hat - W_bar M_hat and A_hat = q1_hat - 2 Q_hat: Q_hat stays as it is, nothing else depends on the split
    return total


@pytest.mark.parametrize(
    ("neuron", "task", "alpha"),
    [
        (NeuronSpec(ReLU(), 0.5, 0.5), TaskSpec(), 0.7),
        (NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(), 0.832257),
        (NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(0.3, 0.2, 0.3), 1.0),
        (NeuronSpec(Step(), 0.5, 0.3), TaskSpec(), 0.9),
        (NeuronSpec(levels=(Level(Polsky(), 0.5), Level(ReLU(), 0.4)), theta_s=0.3), TaskSpec(), 0.6),
    ],
    ids=["relu", "polsky", "polsky-general", "step", "two-levels"],
)
def test_replicon_is_the_hessian_of_the_broken_action(neuron, task, alpha):
    point = saddle_point(neuron, task, alpha=alpha)
    kernel = TreeKernel(neuron, task, nodes=16)
    origin = broken_action(point, kernel, 0.0, 0.0)

    def curvature(size, size_hat):
        """Second derivative along a direction, from steps h, h/2 and h/4 to the one side that exists."""
        h = 0.02
        ratios = [
            2.0 * (broken_action(point, kernel, k * h * size, k * h * size_hat) - origin) / (k * h) ** 2
            for k in (1.0, 0.5, 0.25)
        ]
        once = [2.0 * fine - coarse for coarse, fine in pairwise(ratios)]
        return (4.0 * once[1] - once[0]) / 3.0

    size, size_hat = point.q, point.q_hat
    along, along_hat = curvature(size, 0.0), curvature(0.0, size_hat)
    mixed = 0.5 * (curvature(size, size_hat) - along - along_hat)
    # Stationarity in both: along split + mixed split_hat = 0 and mixed split + along_hat split_hat = 0.
    assert_allclose(mixed / (size * size_hat), 0.5 * M * (1.0 - M), rtol=1e-4)
    replicon = 1.0 - along * along_hat / mixed**2
    assert_allclose(1.0 - replicon, 1.0 - point.stability, rtol=1e-4)
