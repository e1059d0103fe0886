"""The saddle point at finite load: exact limits, a slow twin, capacity, and inputs meant to hurt."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import (
    ConvergenceError,
    Custom,
    InvalidParameter,
    Level,
    Linear,
    NeuronSpec,
    NoSolution,
    Polsky,
    ReLU,
    SaturatingReLU,
    Step,
    TaskSpec,
    critical_capacity,
)
from dendrocap.theory import gaussian_expectation, load
from dendrocap.theory.saddle_point import saddle_point
from tests.naive.finite_load import naive_saddle_point
from tests.theory.potential import free_entropy_gradient, order_parameters

HALF = TaskSpec()


def values(point):
    return np.array([point.Q, point.q, point.Q_hat, point.q_hat, point.M_hat, point.free_entropy])


@pytest.mark.parametrize("nonlinearity", [Linear(), ReLU(), Polsky(), Step()], ids=repr)
def test_load_zero_is_exact(nonlinearity):
    neuron, task = NeuronSpec(nonlinearity, 0.6, 0.4), TaskSpec(f_in=0.3, f_out=0.4, kappa=0.2)
    point = saddle_point(neuron, task, alpha=0.0)
    assert_allclose(values(point), [8.0, 4.0, 0.0, 0.0, -0.5, 1.0 + math.log(2.0)], rtol=1e-15)
    nearby = saddle_point(neuron, task, alpha=1e-7)
    assert_allclose(values(nearby), values(point), rtol=1e-5, atol=1e-5)
    assert_allclose(nearby.free_entropy, point.free_entropy + 1e-7 * point.energetic_term, rtol=1e-12)
    assert_allclose([nearby.mean_shift, nearby.dM, nearby.M_bar], [point.mean_shift, point.dM, point.M_bar], rtol=1e-5)


@pytest.mark.parametrize("f_out", [0.5, 0.1])
@pytest.mark.parametrize("alpha", [1e-3, 0.3, 0.9, 0.999])
def test_linear_neuron_keeps_its_conjugate_mean(alpha, f_out):
    task = TaskSpec(f_in=0.3, f_out=f_out)
    capacity = critical_capacity(NeuronSpec(Linear(), 0.6, 0.4), task).alpha_c
    point = saddle_point(NeuronSpec(Linear(), 0.6, 0.4), task, alpha=alpha * capacity)
    assert_allclose(point.M_hat, -0.5, rtol=1e-10)


@pytest.mark.parametrize(
    ("nonlinearity", "theta_d", "task"),
    [
        (Linear(), 0.5, HALF),
        (ReLU(), 0.5, HALF),
        (SaturatingReLU(), 5.0, TaskSpec(0.2, 0.3, 0.0)),
        (Polsky(), 0.5, HALF),
        (Polsky(), 0.5, TaskSpec(0.3, 0.1, 0.3)),
        (Polsky(0.2, 100.0), 0.05, HALF),
    ],
    ids=repr,
)
def test_replicas_meet_at_capacity(nonlinearity, theta_d, task):
    neuron = NeuronSpec(nonlinearity, theta_d, 0.5)
    capacity = critical_capacity(neuron, task)
    distances, differences = [], []
    for part in (0.9, 0.99, 0.999):
        point = saddle_point(neuron, task, alpha=part * capacity.alpha_c)
        distances.append(point.dq / point.Q)
        differences.append(
            [
                abs(point.Q / capacity.Q - 1.0),
                abs(math.sqrt(point.q_hat) / point.A_hat / capacity.W_star - 1.0),  # sqrt(C) / A at capacity
                abs(-point.M_hat / math.sqrt(point.q_hat) - capacity.B),
                abs(point.mean_shift - capacity.mean_shift),
            ]
        )
    assert distances[0] > 3.0 * distances[1] > 9.0 * distances[2]
    # Corrections vanish with dq, or with its square root where g has kinks.
    differences = np.array(differences)
    assert np.all(differences[2] <= 0.6 * differences[1] + 1e-12)
    assert np.all(differences[2] < 0.05)


@pytest.mark.parametrize(
    ("neuron", "task", "alpha"),
    [
        (NeuronSpec(Polsky(), 0.5, 0.5), HALF, 0.5),
        (NeuronSpec(ReLU(), 1.0, 0.5), TaskSpec(0.5, 0.7, 0.2), 1.0),
        (NeuronSpec(SaturatingReLU(), 0.5, 0.5), TaskSpec(0.2, 0.5, 0.0), 0.9),
        pytest.param(NeuronSpec(Polsky(), 0.1, 0.5), TaskSpec(0.3, 0.2, 0.1), 1.0, marks=pytest.mark.slow),
        pytest.param(NeuronSpec(Polsky(0.5, 200.0), 2.0, 0.7), TaskSpec(0.4, 0.9, 0.5), 0.9, marks=pytest.mark.slow),
        pytest.param(NeuronSpec(Polsky(), 100.0, 0.2), TaskSpec(0.5, 0.5, 0.0), 2.0, marks=pytest.mark.slow),
        pytest.param(NeuronSpec(ReLU(), 0.02, 0.05), TaskSpec(0.9, 0.05, 0.01), 0.8, marks=pytest.mark.slow),
        pytest.param(NeuronSpec(SaturatingReLU(), 30.0, 0.9), TaskSpec(0.1, 0.4, 1.5), 0.2, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_equals_a_slow_twin(neuron, task, alpha):
    point = saddle_point(neuron, task, alpha=alpha)
    guess = (point.Q, point.q, point.mean_shift, point.M_hat)
    (Q, q, shift, Q_hat, q_hat, M_hat, phi), residual = naive_saddle_point(neuron, task, alpha, guess)
    assert residual < 1e-12
    assert_allclose(values(point), [Q, q, Q_hat, q_hat, M_hat, phi], rtol=1e-9)
    assert_allclose(point.mean_shift, shift, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("part", [0.1, 0.9, 0.999])
@pytest.mark.parametrize("theta_d", [1e-3, 0.5, 1e3])
@pytest.mark.parametrize("nonlinearity", [ReLU(), SaturatingReLU(), Polsky(), Polsky(0.33, 200.0)], ids=repr)
def test_twice_the_nodes_change_nothing(nonlinearity, theta_d, part, monkeypatch):
    neuron, task = NeuronSpec(nonlinearity, theta_d, 0.5), TaskSpec(0.4, 0.3, 0.0)
    alpha = part * critical_capacity(neuron, task).alpha_c
    usual = saddle_point(neuron, task, alpha=alpha)
    monkeypatch.setattr(load, "NODES", 20)
    monkeypatch.setattr(load, "CHECK", 24)
    finer = saddle_point(neuron, task, alpha=alpha)
    assert_allclose(values(usual), values(finer), rtol=1e-9)


def test_random_inputs_give_an_answer_or_a_reason(rng):
    """Anything allowed: the answer satisfies the equations by an accurate rule, or an error has a type."""
    answers = 0
    for _ in range(60):
        kind = [Linear(), ReLU(), SaturatingReLU(), Polsky(rng.uniform(), math.exp(rng.uniform(0.0, 5.3)))]
        nonlinearity = kind[rng.integers(4)]
        theta_s = rng.uniform(0.02, 0.98)
        neuron = NeuronSpec(nonlinearity, math.exp(rng.uniform(-6.9, 6.9)), theta_s)
        kappa = rng.choice([0.0, rng.uniform(0.0, 2.0)])
        task = TaskSpec(rng.uniform(0.02, 0.98), rng.choice([0.5, rng.uniform(0.02, 0.98)]), kappa)
        alpha = rng.choice([rng.uniform(), 0.999]) * critical_capacity(neuron, task).alpha_c
        try:
            point = saddle_point(neuron, task, alpha=alpha)
        except (NoSolution, ConvergenceError):
            continue
        answers += 1
        assert point.error < 1e-9
        assert 0.0 < point.dq < point.Q
    assert answers > 50


def test_branch_inputs_have_the_mean_that_the_threshold_asks_for():
    point = saddle_point(NeuronSpec(Polsky(), 0.5, 0.4), TaskSpec(0.3, 0.2, 0.1), alpha=0.8)
    inputs = point.preactivation
    average = gaussian_expectation(Polsky(), inputs.mean(), inputs.std(), Polsky().knots)
    assert_allclose(average.value, 0.4, rtol=1e-11)
    assert_allclose(inputs.var(), 0.21 * point.Q, rtol=1e-13)


def test_too_large_a_load_names_the_capacity():
    neuron = NeuronSpec(Polsky(), 0.5, 0.5)
    for alpha in (4.9514, 5.0, 1e6):
        with pytest.raises(NoSolution, match=r"alpha_c = 4\.9513"):
            saddle_point(neuron, HALF, alpha=alpha)
    assert saddle_point(neuron, HALF, alpha=4.9513 * 0.999).dq > 0.0


def test_step_has_solutions_at_any_load():
    neuron = NeuronSpec(Step(), 0.5, 0.5)
    distances = [saddle_point(neuron, HALF, alpha=alpha).dq for alpha in (1.0, 10.0, 100.0)]
    assert distances[0] > distances[1] > distances[2] > 0.0


def test_solutions_that_do_not_start_from_load_zero():
    # A margin out of reach of the usual weights: few patterns are enough to make rare large weights pay.
    neuron, task = NeuronSpec(Polsky(0.684, 6.73), 0.0409, 0.575), TaskSpec(0.56, 0.5, 1.6)
    capacity = critical_capacity(neuron, task)
    sizes = []
    for part in (0.1, 0.5, 0.9, 0.999):
        point = saddle_point(neuron, task, alpha=part * capacity.alpha_c)
        gradient = free_entropy_gradient(neuron, task, point.alpha, order_parameters(point))
        assert_allclose([gradient.Q / point.q_hat, gradient.q / point.q_hat], 0.0, atol=1e-11)
        sizes.append(point.Q / capacity.Q)
    assert 0.1 < sizes[0] < sizes[1] < sizes[2] < sizes[3] < 1.0
    # Further down the large weights are too rare for the averages over the field: said, not guessed.
    with pytest.raises(ConvergenceError):
        saddle_point(neuron, task, alpha=1e-8)


@pytest.mark.parametrize("alpha", [-0.1, math.nan, math.inf, "1", None])
def test_bad_loads_are_refused(alpha):
    with pytest.raises(InvalidParameter, match="alpha"):
        saddle_point(NeuronSpec(ReLU(), 0.5, 0.5), HALF, alpha=alpha)


def test_bad_neurons_are_refused():
    with pytest.raises(NoSolution, match=r"1\.5"):
        saddle_point(NeuronSpec(SaturatingReLU(), 0.5, 1.5), HALF, alpha=0.1)
    with pytest.raises(InvalidParameter, match="theta_d"):
        saddle_point(NeuronSpec(ReLU(), 0.0, 0.5), HALF, alpha=0.1)


def test_inaccurate_results_are_not_passed_off_as_good():
    # A kink that its author forgot, in the middle of the inputs: the check by a finer rule sees it.
    forgotten = Custom(lambda x: np.maximum(x - 0.1234, 0.0) + 0.1 * x, domain=(-40.0, 40.0))
    try:
        point = saddle_point(NeuronSpec(forgotten, 0.5, 0.5), HALF, alpha=0.4)
    except (ConvergenceError, InvalidParameter):
        return
    named = Custom(lambda x: np.maximum(x - 0.1234, 0.0) + 0.1 * x, breakpoints=[0.1234], domain=(-40.0, 40.0))
    exact = saddle_point(NeuronSpec(named, 0.5, 0.5), HALF, alpha=0.4)
    assert abs(point.Q / exact.Q - 1.0) < 1e-9


def test_an_inaccurate_result_comes_with_the_error(monkeypatch):
    monkeypatch.setattr(load, "CHECK", 3)
    neuron = NeuronSpec(Polsky(), 0.5, 0.5)
    with pytest.raises(ConvergenceError, match="estimated error") as caught:
        saddle_point(neuron, HALF, alpha=1.0)
    assert caught.value.last_iterate.error > 1e-9


def test_loads_next_to_either_end():
    """A load that weights do not notice is as good as none; next to capacity the message names it."""
    neuron = NeuronSpec(Polsky(), 0.5, 0.5)
    none = saddle_point(neuron, HALF, alpha=0.0)
    for alpha in (1e-300, 1e-20, 1e-15):
        point = saddle_point(neuron, HALF, alpha=alpha)
        assert_allclose(values(point), values(none), rtol=1e-12, atol=1e-12)
        assert point.q_hat > 0.0
    alpha_c = critical_capacity(neuron).alpha_c
    assert saddle_point(neuron, alpha=alpha_c * (1.0 - 1e-6)).dq > 0.0
    for distance in (1e-9, 1e-12):
        with pytest.raises(ConvergenceError, match=r"too close to the .* capacity 4\.95131"):
            saddle_point(neuron, HALF, alpha=alpha_c * (1.0 - distance))


def test_one_level_in_a_sequence_is_the_paper_s_model_bit_for_bit():
    task = TaskSpec(0.4, 0.3, 0.1)
    plain = saddle_point(NeuronSpec(Polsky(), 0.5, 0.5), task, alpha=0.7)
    sequence = saddle_point(NeuronSpec(levels=(Level(Polsky(), 0.5),), theta_s=0.5), task, alpha=0.7)
    assert values(plain).tobytes() == values(sequence).tobytes()
    assert plain.stability == sequence.stability
