"""Studies of trained and of sampled neurons: pages say what the stored tables say, and the sampler samples."""

import math

import numpy as np
import pytest

from dendrocap import saddle_point
from studies import one_more_pattern as one_more
from studies import sampled_solutions as sampled
from studies import short_branches as short
from studies import students


def test_a_student_answers_what_its_teacher_said():
    student = students.Student("polsky", 0.5, 0, 4, 10)
    assert np.all(student.signs * student.soma(student.weights, student.inputs) > 0.0)
    assert student.error() == 0.0  # it is the teacher as yet
    student.sweep(20)
    assert np.all(student.signs * student.soma(student.weights, student.inputs) > -1e-9)
    assert student.error() > 0.0


@pytest.mark.parametrize("name", students.NEURONS)
def test_every_student_is_measured(name):
    assert 0.0 < float(students.measured(name, 0.2, 0, size=(4, 10), sweeps=60)["error"]) < 0.5


def test_sliding_draws_evenly_from_all_solutions(rng):
    """Five synapses, three patterns: against weights drawn evenly at a given sum, without those that err."""
    signed = np.array([[1, 0, 1, 0, 0], [0, -1, -1, 0, -1], [1, 1, 0, 0, 1]], dtype=np.int8).T[None]  # inputs x labels
    half = 0.5 * np.array([1.0, -1.0, 1.0])
    every = 5.0 * rng.dirichlet(np.ones(5), 200_000)
    solves = np.all(every @ signed[0] - 5.0 * half > 0.0, axis=1)
    drawn, weights = every[solves], every[solves][:1].copy()
    margin = (weights @ signed[0] - 5.0 * half)[0]
    found = np.empty((6000, 5))
    for one in found:
        sampled.slide(weights, signed, margin, 25, rng)
        one[:] = weights[0]
    assert np.all(found @ signed[0] - 5.0 * half > -1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 5.0, rtol=1e-12)
    for power in (1, 2):
        error = np.hypot((found**power).std(axis=0) / 6000**0.5, (drawn**power).std(axis=0) / len(drawn) ** 0.5)
        # Chains of 25 moves are not quite independent: the error is below twice the plain one.
        assert np.all(np.abs((found**power).mean(axis=0) - (drawn**power).mean(axis=0)) < 8.0 * error)


def curved_task(rng):
    """Two Polsky branches of three synapses with three patterns, and labels of weights drawn at random."""
    g, m = sampled.NEURONS["polsky"].nonlinearity, 0.34
    inputs = rng.integers(0, 2, size=(2, 3, 3)).astype(np.int8)

    def soma(weights):
        branch = np.einsum("ski,kip->skp", weights, inputs - 0.5) / math.sqrt(3.0) + m
        return (g(branch) - 0.5).sum(axis=1)

    return g, m, inputs, soma


def test_sliding_on_curved_branches_draws_evenly_from_all_solutions():
    """Against weights drawn evenly at the given sums, without those that err."""
    rng = np.random.default_rng(5)
    g, m, inputs, soma = curved_task(rng)
    every = 3.0 * rng.dirichlet(np.ones(3), (300_000, 2))
    answers = soma(every)
    signs = np.sign(answers[0])
    solves = np.all(answers * signs > 0.0, axis=1)
    assert 0.02 < solves.mean() < 0.8
    drawn, weights = every[solves], every[0].copy()
    found = np.empty((6000, 2, 3))
    for one in found:
        sampled.slide_curved(weights, inputs, signs, *g.kernel(), (m, 0.5), 40, rng)
        one[:] = weights
    assert np.all(soma(found) * signs > -1e-12)
    np.testing.assert_allclose(found.sum(axis=2), 3.0, rtol=1e-12)
    for power in (1, 2):
        error = np.hypot((found**power).std(axis=0) / 6000**0.5, (drawn**power).std(axis=0) / len(drawn) ** 0.5)
        # Forty moves forget the last sample but for a little: the error is below twice the plain one.
        assert np.all(np.abs((found**power).mean(axis=0) - (drawn**power).mean(axis=0)) < 8.0 * error)


def test_weights_on_a_simplex_are_those_drawn_evenly(rng):
    """Without fields the mean square is 2 n / (n + 1); with fields, against weights drawn evenly and reweighted."""
    second = short.on_simplex(np.zeros((1, 12)), 1e-3, 0.0, points=400)[1].mean()
    weaker = short.on_simplex(np.zeros((1, 12)), 5e-4, 0.0, points=400)[1].mean()
    np.testing.assert_allclose(2.0 * weaker - second, 24.0 / 13.0, rtol=1e-5)  # without the quadratic field
    z, A, q_hat = rng.standard_normal((1, 4)), 0.5, 2.5
    every = 4.0 * rng.dirichlet(np.ones(4), 400_000)
    weight = np.exp(math.sqrt(q_hat) * every @ z[0] - 0.5 * A * (every**2).sum(axis=1))
    weight /= weight.sum()
    first, second = short.on_simplex(z, A, q_hat, points=400)
    share = math.sqrt(float(weight @ weight))  # relative error of a reweighted mean
    np.testing.assert_allclose(first[0], weight @ every, atol=5.0 * share)
    np.testing.assert_allclose(second[0], weight @ every**2, atol=20.0 * share)


def test_weights_in_fields_have_the_norm_and_the_overlap_of_the_theory(rng):
    state = saddle_point(sampled.NEURONS["polsky"], alpha=0.3)
    h = math.sqrt(state.q_hat) * rng.standard_normal((50, 2000)) + state.M_hat
    weights = one_more.in_fields(h, state.A_hat, 4, 1.0, rng)
    np.testing.assert_allclose(weights.mean(axis=-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.mean(weights**2), state.Q, rtol=0.02)
    np.testing.assert_allclose(np.mean(weights[0] * weights[1]), state.q, rtol=0.02)


def test_errors_are_counted_among_the_neurons_that_had_learned_the_pattern():
    clean = np.array([[1.0, -1.0], [2.0, -0.5], [-3.0, -2.0], [1.0, -4.0]])  # nobody has learned the second pattern
    noisy = np.array([[-1.0, 0.0], [2.0, -0.7], [-3.0, 0.0], [1.0, 0.0]])
    assert one_more.wrong(clean, noisy) == pytest.approx((1.0 / 3.0 + 1.0) / 2.0)
    noisy[1, 1] = -0.4
    assert one_more.wrong(clean, noisy) == pytest.approx(1.0 / 6.0)


@pytest.mark.parametrize(
    ("labels", "K", "n", "sets"), [("random", 20, 0, 40), ("random", 10, 20, 12), ("teacher", 10, 40, 40)]
)
def test_one_pattern_gives_what_the_table_says(labels, K, n, sets):
    """The first draws of those that the table has."""
    found = one_more.expected(labels, K, n, sets)
    assert tuple(found) == (one_more.KEYS[labels] if n else sampled.NOISES[:3])
    for key, one in found.items():
        assert abs(one.value - one_more.table_of(labels, key)[K, n].value) < 3.5 * one.error, key


def test_a_chain_keeps_branch_sums_and_makes_no_error():
    sampler = sampled.Sampler(sampled.NEURONS["polsky"], 0.5, (4, 10), 0, taught=True)
    start = sampler.weights.copy()
    sampler.sweep(20)
    assert not np.allclose(sampler.weights, start)
    np.testing.assert_allclose(sampler.weights.sum(axis=1), start.sum(axis=1), rtol=1e-12)
    assert sampler.weights.min() >= 0.0
    assert np.all(sampler.signs * sampler.soma(sampler.weights, sampler.inputs) > -1e-9)
