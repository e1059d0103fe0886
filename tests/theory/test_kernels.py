"""Kernels of one branch and of trees: closed forms, twins, derivatives, limits."""

import math
from dataclasses import astuple
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr, ndtri, owens_t

from dendrocap import (
    Custom,
    Level,
    Linear,
    NeuronSpec,
    NoSolution,
    Polsky,
    ReLU,
    SaturatingReLU,
    Step,
    Tabulated,
    TaskSpec,
)
from dendrocap.theory.dendrite import BranchKernel
from dendrocap.theory.neuron_kernel import TreeKernel
from tests.naive import finite_load as naive

NONLINEARITIES = [
    Linear(),
    ReLU(),
    SaturatingReLU(),
    Polsky(),
    Polsky(0.1, 200.0),
    Step(),
    Tabulated([0.0, 0.2, 0.5, 0.8, 1.0], [0.0, 0.1, 0.6, 0.9, 1.0]),
    Custom(lambda x: np.logaddexp(0.0, 3.0 * x) / 3.0, lambda x: 0.5 * (1.0 + np.tanh(1.5 * x))),
    Custom(lambda x: np.logaddexp(0.0, 3.0 * x) / 3.0),
]
NAMES = [f"{g.name}-{place}" for place, g in enumerate(NONLINEARITIES)]
SCALES = [1e-3, 0.05, 0.5, 5.0, 1e3]  # theta_d
DISTANCES = [0.6, 0.1, 1e-2, 1e-4, 1e-6]  # 1 - q/Q


def tree(nonlinearity, theta_d, nodes=12):
    return TreeKernel(NeuronSpec(nonlinearity, theta_d, 0.5), TaskSpec(), nodes)


def scaled(kernel, Q, dq):
    """The entries of a kernel, each in the unit in which an error matters."""
    variance = kernel.D0 + kernel.D1
    return np.array(
        [
            kernel.D0 / variance,
            math.log(kernel.D1),
            math.log(kernel.dD1_ddq),
            kernel.dD1_dQ * Q / kernel.D1,
            kernel.dGamma0_dQ * Q / variance,
            kernel.d2D0_dq2 * dq / kernel.dD1_ddq,
        ]
    )


@pytest.mark.parametrize("theta_d", SCALES)
@pytest.mark.parametrize("nonlinearity", NONLINEARITIES, ids=NAMES)
def test_twice_the_nodes_change_nothing(nonlinearity, theta_d):
    Q = 3.0 * (2.0 * theta_d) ** 2
    # A user's g without a derivative is used through its values: digits go when replicas are very close.
    values_only = isinstance(nonlinearity, Custom) and nonlinearity.derivative_function is None
    for distance in DISTANCES[:3] if values_only else DISTANCES:
        dq = distance * Q
        usual = scaled(tree(nonlinearity, theta_d).at(Q, dq), Q, dq)
        finer = scaled(tree(nonlinearity, theta_d, 24).at(Q, dq), Q, dq)
        assert_allclose(usual, finer, rtol=0.0, atol=1e-11)


def owen_relu(m, V, c):
    """E[g(X) g(Y)] for ReLU as printed."""
    s, ratio = math.sqrt(V), math.sqrt((V - c) / (V + c))
    star = m / s

    def density(x):
        return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)

    return (
        (V - c) * ratio * density(m / math.sqrt(V + c)) ** 2
        + (c + m * m) * (ndtr(star) - 2.0 * owens_t(-star, ratio))
        + 2.0 * m * s * density(star) * ndtr(star * ratio)
        + 2.0 * c * ratio * density(star) * density(star * ratio)
    )


@pytest.mark.parametrize("theta_d", SCALES)
@pytest.mark.parametrize("overlap", [0.4, 0.9, 0.999])
def test_relu_kernel_is_the_printed_one(theta_d, overlap):
    V = 3.0 * theta_d**2
    own, branch = BranchKernel(ReLU(), 0.5).at(V, (1.0 - overlap) * V)
    assert_allclose(branch.D0 + 0.25, owen_relu(own.mean, V, overlap * V), rtol=1e-11)


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("distance", DISTANCES)
def test_step_kernel_is_owens_function(threshold, distance):
    V = 0.7
    own, branch = BranchKernel(Step(), threshold).at(V, distance * V)
    star, ratio = ndtri(threshold), math.sqrt(distance / (2.0 - distance))
    assert_allclose(own.mean, star * math.sqrt(V), rtol=1e-11, atol=1e-14)
    assert_allclose(branch.D1, 2.0 * owens_t(star, ratio), rtol=1e-11)
    bivariate = math.exp(-(star**2) / (2.0 - distance)) / (2.0 * math.pi * V * math.sqrt(1.0 - (1.0 - distance) ** 2))
    assert_allclose(branch.dD1_ddV, bivariate, rtol=1e-10)


@pytest.mark.parametrize("distance", [0.5, 0.1, 0.02])
@pytest.mark.parametrize("nonlinearity", [ReLU(), SaturatingReLU(), Polsky(), Polsky(0.33, 100.0)], ids=repr)
def test_kernel_equals_its_slow_twin(nonlinearity, distance):
    Q, v, theta_s = 2.3, 0.21, 0.4
    q = (1.0 - distance) * Q
    neuron, task = NeuronSpec(nonlinearity, 0.5, theta_s), TaskSpec(f_in=0.3)
    kernel = TreeKernel(neuron, task).at(Q, Q - q)
    D0, D1, slope, dD0_dQ, dGamma0_dQ, curvature, m = naive.kernel(nonlinearity, theta_s, v, Q, q)
    # At fixed q, as in the paper: dD1/dQ there is the sum of the derivatives along Q and along dq.
    ours = [
        kernel.D0,
        kernel.D1,
        kernel.dD1_ddq,
        kernel.dGamma0_dQ - kernel.dD1_dQ - kernel.dD1_ddq,
        kernel.dGamma0_dQ,
        kernel.d2D0_dq2,
        kernel.means[0],
    ]
    assert_allclose(ours, [D0, D1, slope, dD0_dQ, dGamma0_dQ, curvature, m], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("nonlinearity", NONLINEARITIES, ids=NAMES)
def test_derivatives_are_those_of_the_values(nonlinearity, levels):
    if levels == 1:
        neuron = NeuronSpec(nonlinearity, 0.6, 0.45)
    else:
        neuron = NeuronSpec(levels=(Level(nonlinearity, 0.6), Level(Polsky(0.3, 6.0), 0.5)), theta_s=0.45)
    kernel = TreeKernel(neuron, TaskSpec(f_in=0.4), nodes=16)
    Q, dq, h = 4.0, 0.9, 1e-3

    def slope(entry, along_Q, along_dq):
        """Fourth-order central difference."""
        total = 0.0
        for k, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
            total += weight * entry(kernel.at(Q * (1.0 + along_Q * k * h), dq * (1.0 + along_dq * k * h)))
        return total / (12.0 * h)

    at = kernel.at(Q, dq)
    scale = at.D0 + at.D1
    assert_allclose(at.dD1_ddq * dq, slope(lambda k: k.D1, 0, 1), rtol=1e-8, atol=1e-10 * scale)
    assert_allclose(at.dD1_dQ * Q, slope(lambda k: k.D1, 1, 0), rtol=1e-8, atol=1e-10 * scale)
    assert_allclose(at.dGamma0_dQ * Q, slope(lambda k: k.D0 + k.D1, 1, 0), rtol=1e-8, atol=1e-10 * scale)
    assert_allclose(at.d2D0_dq2 * dq, -slope(lambda k: k.dD1_ddq, 0, 1), rtol=1e-8, atol=1e-9 * at.dD1_ddq)


@pytest.mark.parametrize("nonlinearity", [ReLU(), SaturatingReLU(), Polsky()], ids=repr)
@pytest.mark.parametrize("theta_d", [1e-3, 0.5, 1e3])
def test_close_replicas_keep_their_digits(nonlinearity, theta_d):
    # D1 = integral of C' over dq, here by Gauss-Legendre in sqrt(dq), in which C' is smooth.
    Q = 3.0 * (2.0 * theta_d) ** 2
    kernel = tree(nonlinearity, theta_d)
    x, weight = np.polynomial.legendre.leggauss(12)
    for distance in (1e-6, 1e-9):
        integral, edges = 0.0, math.sqrt(distance * Q) * np.array([0.0, 0.05, 0.15, 0.3, 0.5, 0.75, 1.0])
        for low, high in pairwise(edges):
            roots = low + 0.5 * (x + 1.0) * (high - low)
            slopes = np.array([kernel.at(Q, r * r).dD1_ddq for r in roots])
            integral += 0.5 * (high - low) * float(weight @ (slopes * 2.0 * roots))
        assert_allclose(kernel.at(Q, distance * Q).D1, integral, rtol=1e-10)


def test_same_g_said_in_other_words():
    as_function = Custom(lambda x: np.clip(x, 0.0, 1.0), lambda x: np.where((x > 0) & (x < 1), 1.0, 0.0), (0.0, 1.0))
    table = Tabulated([0.0, 1.0], [0.0, 1.0])
    for distance in (0.4, 1e-3):
        expected = tree(SaturatingReLU(), 0.5).at(3.0, 3.0 * distance)
        for other in (as_function, table):
            found = tree(other, 0.5).at(3.0, 3.0 * distance)
            assert_allclose(astuple(found)[:-1], astuple(expected)[:-1], rtol=1e-10)


def test_linear_kernel():
    kernel = TreeKernel(NeuronSpec(Linear(), 0.5, 0.3), TaskSpec(f_in=0.2)).at(2.0, 0.7)
    expected = [0.16 * 1.3, 0.16 * 0.7, 0.16, 0.0, 0.16, 0.0, 1.0]
    assert_allclose(astuple(kernel)[:-1], expected, rtol=1e-12, atol=1e-13)
    assert_allclose(kernel.means, [0.3], rtol=1e-12)


def test_one_level_in_a_sequence_is_the_paper_s_model_bit_for_bit():
    plain, sequence = NeuronSpec(Polsky(), 0.5, 0.5), NeuronSpec(levels=(Level(Polsky(), 0.5),), theta_s=0.5)
    assert TreeKernel(plain, TaskSpec()).at(2.5, 0.3) == TreeKernel(sequence, TaskSpec()).at(2.5, 0.3)


def test_two_levels_against_a_simulation(rng):
    """Sums over many branches, drawn at random; the statistical error is the tolerance."""
    lower, upper = Polsky(0.3, 6.0), ReLU()
    neuron, task = NeuronSpec(levels=(Level(lower, 0.8), Level(upper, 0.5)), theta_s=0.35), TaskSpec(f_in=0.4)
    Q, dq = 5.0, 1.2
    kernel = TreeKernel(neuron, task).at(Q, dq)
    v, samples, branches = 0.24, 3000, 1000
    inputs, outputs = kernel.means, []
    # Each soma sums upper branches; one upper branch of each is enough to know their covariance.
    shared = rng.standard_normal((samples, branches)) * math.sqrt(v * (Q - dq)) + inputs[0]
    for _ in range(2):
        below = lower(shared + rng.standard_normal((samples, branches)) * math.sqrt(v * dq))
        outputs.append(upper((below - 0.5).sum(axis=1) / math.sqrt(branches) + inputs[1]))
    # Mean outputs sit at the thresholds ...
    assert abs(below.mean() - 0.5) < 5.0 * below.std() / math.sqrt(below.size)
    assert abs(outputs[0].mean() - 0.35) < 5.0 * outputs[0].std() / math.sqrt(samples)
    # ... and covariance and half the mean squared difference are D0 and D1.
    products = (outputs[0] - 0.35) * (outputs[1] - 0.35)
    squares = 0.5 * (outputs[0] - outputs[1]) ** 2
    for sample, expected in ((products, kernel.D0), (squares, kernel.D1)):
        assert abs(sample.mean() - expected) < 5.0 * sample.std() / math.sqrt(samples)
        assert sample.std() / math.sqrt(samples) < 0.05 * expected  # or the test could not fail


def test_unreachable_threshold_is_refused():
    with pytest.raises(NoSolution, match=r"1\.2"):
        TreeKernel(NeuronSpec(Polsky(), 0.5, 1.2), TaskSpec())
