"""Every saddle-point equation is a derivative of the free entropy, everywhere and not only where it vanishes."""

import math
from dataclasses import astuple, fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import (
    Custom,
    Level,
    Linear,
    NeuronSpec,
    Polsky,
    ReLU,
    SaturatingReLU,
    Step,
    Tabulated,
    TaskSpec,
    critical_capacity,
)
from dendrocap.theory.saddle_point import saddle_point
from tests.theory.potential import OrderParameters, free_entropy, free_entropy_gradient, order_parameters

NAMES = [field.name for field in fields(OrderParameters)]
NEURONS = [
    NeuronSpec(Linear(), 0.5, 0.3),
    NeuronSpec(ReLU(), 0.5, 0.5),
    NeuronSpec(SaturatingReLU(), 0.7, 0.4),
    NeuronSpec(Polsky(), 0.5, 0.5),
    NeuronSpec(Polsky(0.2, 60.0), 0.1, 0.6),
    NeuronSpec(Step(), 0.5, 0.3),
    NeuronSpec(Tabulated([0.0, 0.2, 0.5, 1.0], [0.0, 0.1, 0.7, 1.0]), 0.4, 0.5),
    NeuronSpec(Custom(lambda x: np.logaddexp(0.0, 3.0 * x) / 3.0), 0.5, 0.5),
    NeuronSpec(levels=(Level(Polsky(), 0.5), Level(ReLU(), 0.4)), theta_s=0.3),
]
IDS = ["-".join(level.nonlinearity.name for level in neuron.tree) + f"-{k}" for k, neuron in enumerate(NEURONS)]
TASKS = [TaskSpec(), TaskSpec(f_in=0.3, f_out=0.2, kappa=0.15)]


def anywhere(neuron, task):
    """Order parameters that solve nothing."""
    W_bar = neuron.tree[0].theta / task.f_in
    A_hat, q_hat = 0.9 / W_bar**2, 3.1 / W_bar**2
    return OrderParameters(
        Q=2.9 * W_bar**2,
        q=2.1 * W_bar**2,
        mean_shift=0.07,
        Q_hat=0.5 * (q_hat - A_hat),
        q_hat=q_hat,
        M_hat=-1.3 / W_bar,
    )


def numerical_gradient(neuron, task, alpha, order, size):
    """Sixth-order central differences, in steps of ``size`` of each parameter, of the logarithm of its scale."""
    result = []
    for name in NAMES:
        value = getattr(order, name)
        h = size * max(abs(value), 1e-2)
        slope = 0.0
        for k, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
            up, down = (replace(order, **{name: value + sign * k * h}) for sign in (1.0, -1.0))
            slope += weight * (free_entropy(neuron, task, alpha, up) - free_entropy(neuron, task, alpha, down))
        result.append(slope / (60.0 * h))
    return np.array(result)


@pytest.mark.parametrize("task", TASKS, ids=["symmetric", "general"])
@pytest.mark.parametrize("neuron", NEURONS, ids=IDS)
def test_all_six_equations_are_derivatives(neuron, task):
    alpha, order = 0.8, anywhere(neuron, task)
    exact = np.array(astuple(free_entropy_gradient(neuron, task, alpha, order)))
    numerical = numerical_gradient(neuron, task, alpha, order, 3e-3)
    scale = np.maximum(np.abs(exact), 1e-3 / np.maximum(np.abs(astuple(order)), 1e-2))
    assert_allclose(exact / scale, numerical / scale, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("task", TASKS, ids=["symmetric", "general"])
@pytest.mark.parametrize("neuron", NEURONS, ids=IDS)
def test_all_six_vanish_at_the_saddle_point(neuron, task):
    alpha = 0.35
    point = saddle_point(neuron, task, alpha=alpha)
    order = order_parameters(point)
    gradient = np.array(astuple(free_entropy_gradient(neuron, task, alpha, order)))
    # In units in which each equation is a relative difference of its two sides.
    scale = np.array([point.A_hat, point.q_hat, 1.0, point.Q, point.q, neuron.tree[0].theta / task.f_in])
    assert_allclose(gradient / scale, 0.0, atol=1e-11)
    assert_allclose(free_entropy(neuron, task, alpha, order), point.free_entropy, rtol=1e-11)


@pytest.mark.parametrize("task", TASKS, ids=["symmetric", "general"])
@pytest.mark.parametrize("neuron", NEURONS, ids=IDS)
def test_load_derivative_of_the_free_entropy_is_the_energetic_term(neuron, task):
    alpha, h = 0.35, 4e-3
    slope = 0.0
    for k, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
        phi = [saddle_point(neuron, task, alpha=alpha + sign * k * h).free_entropy for sign in (1.0, -1.0)]
        slope += weight * (phi[0] - phi[1])
    assert_allclose(slope / (60.0 * h), saddle_point(neuron, task, alpha=alpha).energetic_term, rtol=1e-8)


@pytest.mark.parametrize(
    ("neuron", "task"),
    [
        (NeuronSpec(Polsky(), 0.5, 0.5), TASKS[0]),
        (NeuronSpec(Polsky(0.33, 200.0), 1e3, 0.5), TaskSpec(0.4, 0.3, 0.0)),
        (NeuronSpec(ReLU(), 1e-3, 0.5), TaskSpec(0.5, 0.2, 1.0)),
    ],
    ids=["polsky", "steep and wide", "narrow with margin"],
)
def test_the_same_close_to_capacity(neuron, task):
    # Terms of order 1/dq^2, up to 1e32 here, have to cancel in the free entropy.
    alpha_c = critical_capacity(neuron, task).alpha_c
    for part, h in ((0.99, 4e-5), (0.999, 4e-6)):
        slope = 0.0
        for k, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
            phi = [
                saddle_point(neuron, task, alpha=(part + sign * k * h) * alpha_c).free_entropy for sign in (1.0, -1.0)
            ]
            slope += weight * (phi[0] - phi[1])
        expected = saddle_point(neuron, task, alpha=part * alpha_c).energetic_term
        assert_allclose(slope / (60.0 * h * alpha_c), expected, rtol=1e-7)


def test_free_entropy_at_load_zero():
    point = saddle_point(NeuronSpec(ReLU(), 0.7, 0.5), TaskSpec(f_in=0.2), alpha=0.0)
    assert point.free_entropy == 1.0 + math.log(3.5)
