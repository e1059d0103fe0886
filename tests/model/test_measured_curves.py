"""Curves among measured points: smooth, never falling, as close to the points as their errors say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import Custom, InvalidParameter, NeuronSpec, Polsky, Smooth, Tabulated, TaskSpec, critical_capacity
from dendrocap.model import _compiled
from dendrocap.model.curves import monotone_curve

X = np.linspace(0.02, 1.6, 32)


def noisy(g, rng, noise=0.05, x=X):
    return g(x) + noise * rng.standard_normal(x.size)


@pytest.mark.parametrize("sem", [None, 0.05])
def test_the_curve_never_falls_and_is_nearer_to_the_truth_than_the_points(sem, rng):
    truth = Polsky(0.33, 15.0)
    closer = []
    for _ in range(10):
        y = noisy(truth, rng)
        g = Smooth(X, y, sem=sem)
        at = np.linspace(-1.0, 3.0, 2001)
        assert np.all(np.diff(g(at)) >= -1e-12)
        assert np.all(g.derivative(at) >= -1e-12)
        closer.append(np.sum((g(X) - truth(X)) ** 2) / np.sum((y - truth(X)) ** 2))
    assert np.mean(closer) < 0.6


def test_noise_inflates_the_capacity_of_a_table_but_not_of_a_smooth_curve(rng):
    task, truth = TaskSpec(0.05, 0.05), Polsky(0.33, 15.0)

    def capacity(g):
        return critical_capacity(NeuronSpec(g, 0.045, 0.3), task).alpha_c

    smooth, through = [], []
    for _ in range(8):
        y = noisy(truth, rng)
        with pytest.warns(UserWarning, match="like noise"):
            table = Tabulated(tuple(X), tuple(y))
        through.append(capacity(table) / capacity(truth))
        smooth.append(capacity(Smooth(X, y, sem=0.05)) / capacity(truth))
    assert np.mean(through) > 1.3
    # The scatter of a single curve is 0.1; three standard errors of the mean of eight.
    assert abs(np.mean(smooth) - 1.0) < 0.1


def test_points_without_noise_are_met():
    for truth in (Polsky(0.3, 8.0), lambda x: x / (1.0 + x), lambda x: 2.0 * x - 1.0):
        y = truth(X)
        g = Smooth(X, y)
        assert np.abs(g(X) - y).max() < 0.01 * np.ptp(y)


def test_units_and_order_of_the_points_do_not_matter(rng):
    y = noisy(Polsky(), rng)
    g = Smooth(X, y)
    order = rng.permutation(X.size)
    assert Smooth(X[order], y[order]) == g
    scaled = Smooth(15.0 * X, 15.0 * y)
    assert_allclose(scaled(15.0 * X), 15.0 * g(X), rtol=1e-6, atol=1e-8)
    assert_allclose(Smooth(X, 7.0 * y)(X), 7.0 * g(X), rtol=1e-6, atol=1e-8)


def test_small_errors_keep_the_curve_close_and_large_ones_let_it_go(rng):
    y = noisy(Polsky(), rng)
    close, far = Smooth(X, y, sem=0.005), Smooth(X, y, sem=0.5)
    assert np.sum((close(X) - y) ** 2) < np.sum((far(X) - y) ** 2)
    assert close.freedom > far.freedom
    assert far.freedom < 4.0


def test_repeated_inputs_and_uneven_spacing_are_fine(rng):
    x = np.concatenate([np.geomspace(0.01, 10.0, 20)] * 3)
    truth = Polsky(0.3, 10.0)
    g = Smooth(x, noisy(truth, rng, 0.02, x), sem=0.02)
    assert np.abs(g(x) - truth(x)).max() < 0.08


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Smooth([0, 1, 2], [0, 1, 2]), "3 points without standard errors.*at least 6"),
        (lambda: Smooth([1, 1, 1], [0, 1, 2], sem=0.1), "all 3 values are 1, a constant"),
        (lambda: Smooth([0, 1, 2], [2, 2, 2], sem=0.1), "all 3 values are 2, a constant"),
        (lambda: Smooth([0, 1, 2], [2, 1, 0], sem=0.1), "does not rise with x"),
        (lambda: Smooth([0, 1, 2], [0, 1, 2], sem=[0.1, 0.1]), "sem = .* one for each of the 3 points"),
        (lambda: Smooth([0, 1, 2], [0, 1, 2], sem=0.0), "sem = 0.0"),
        (lambda: Smooth([0, 1], [0, 1, 2], sem=0.1), "2 and 3 points"),
        (lambda: Smooth([0, 1], [0, np.nan], sem=0.1), "finite"),
    ],
)
def test_what_is_no_curve_is_refused(make, words):
    with pytest.raises(InvalidParameter, match=words):
        make()


def test_curves_without_noise_do_not_warn():
    for g in (Polsky(), Polsky(0.2, 40.0), np.tanh, lambda x: np.exp(-((x - 0.8) ** 2))):
        Tabulated(tuple(X), tuple(g(X)))  # warnings are errors here


def test_theory_and_compiled_loops_see_the_curve_itself(rng):
    g = Smooth(X, noisy(Polsky(), rng), sem=0.05)
    twin = Custom(g, g.derivative, g.knots)
    wanted = critical_capacity(NeuronSpec(twin, 0.1, 0.4)).alpha_c
    assert_allclose(critical_capacity(NeuronSpec(g, 0.1, 0.4)).alpha_c, wanted, rtol=1e-9)
    at = np.linspace(-0.5, 2.0, 501)
    assert_allclose(_compiled.values(*g.kernel(), at), g(at), rtol=1e-13, atol=1e-14)


def test_many_points_are_as_good_as_their_sum(rng):
    few = Smooth(X, noisy(Polsky(), rng, 0.02), sem=0.02)
    y = np.repeat(few.y, 9)
    many = Smooth(np.repeat(X, 9), y, sem=0.06)
    assert_allclose(many(X), few(X), rtol=0, atol=1e-6)


def test_the_scatter_of_many_points_is_their_error(rng):
    """With more points than the curve has cells most of the sum of squares is known before anything is fitted."""
    x = np.linspace(0.0, 2.0, 600)
    y = np.tanh(2.0 * x) + 0.03 * rng.standard_normal(x.size)
    known = monotone_curve(x, y, np.full(x.size, 0.03))
    assert abs(known.noise - 1.0) < 4.0 / np.sqrt(2.0 * x.size)
    assert 3.0 < known.freedom < 20.0
    assert_allclose(np.interp(x, known.edges, known.values), np.tanh(2.0 * x), atol=0.02)
