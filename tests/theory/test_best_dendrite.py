"""The derivative of the capacity in g, and the dendrite that stores most under a limit on its slope."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

import dendrocap as dc
from dendrocap.numerics._compiled import tail
from dendrocap.theory.best_dendrite import CapacityGradient, Search, Staircase
from tests.naive.best_dendrite import best_slopes

X, SLOPES = np.array([-0.3, 0.0, 0.2, 0.5, 0.9]), np.array([0.2, 1.5, 0.7, 0.3])
MARGIN = dc.TaskSpec(kappa=0.2)


def solved(rsb, task, slopes=SLOPES, x=X, theta_s=0.3):
    y = np.concatenate([[0.05], 0.05 + np.cumsum(slopes * np.diff(x))])
    return dc.critical_capacity(dc.NeuronSpec(dc.PiecewiseLinear(x, y), 0.4, theta_s), task, rsb=rsb)


def slope_of(log_alpha, h=1e-4):
    """A derivative at 0."""
    return (math.log(log_alpha(h).alpha_c) - math.log(log_alpha(-h).alpha_c)) / (2 * h)


@pytest.mark.parametrize(
    ("rsb", "f_out", "correlation"),
    [
        (0, 0.2, 1.0),
        (1, 0.5, 1.0),
        pytest.param(1, 0.2, 0.0, marks=pytest.mark.slow),
        pytest.param(2, 0.5, 0.0, marks=pytest.mark.slow),
    ],
)
def test_gradient_equals_finite_differences(rsb, f_out, correlation):
    task = dc.TaskSpec(f_in=0.3, f_out=f_out, kappa=0.1, branch_correlation=correlation)
    gradient = CapacityGradient(solved(rsb, task))
    some = range(4) if rsb < 2 else [1]
    by_slope = [slope_of(lambda h, j=j: solved(rsb, task, slopes=SLOPES + h * np.eye(4)[j])) for j in some]
    assert_allclose(gradient.by_slope[list(some)], by_slope, atol=1e-7)
    by_edge = [slope_of(lambda h, j=j: solved(rsb, task, x=X + h * np.eye(5)[j])) for j in some]
    assert_allclose(gradient.by_edge[list(some)], by_edge, atol=1e-6)
    assert_allclose(gradient.by_theta_s, slope_of(lambda h: solved(rsb, task, theta_s=0.3 + h)), atol=1e-6)
    # Where all of g starts to rise does not matter.
    assert_allclose(gradient.by_edge.sum(), 0.0, atol=1e-12)


@pytest.mark.parametrize("rsb", [0, 1])
def test_gain_of_a_short_rise(rsb):
    task, at, slope, width = dc.TaskSpec(kappa=0.1), -0.6, 3.0, 1e-4
    base = solved(rsb, task)
    with_rise = solved(
        rsb, task, np.concatenate([[slope, 0.0], SLOPES]), np.concatenate([[at - width / 2, at + width / 2], X])
    )
    gained = math.log(with_rise.alpha_c / base.alpha_c) / (slope * width)
    assert_allclose(CapacityGradient(base).by_rise(at, slope), gained, rtol=5e-3)


def test_gradient_needs_straight_pieces():
    with pytest.raises(dc.InvalidParameter, match="PiecewiseLinear with flat ends"):
        CapacityGradient(dc.critical_capacity(dc.NeuronSpec(dc.Polsky(), 0.5, 0.5)))


# No margin, no best dendrite ---------------------------------------------------------------------------------------


def ramp(height, slope=1.0):
    return dc.PiecewiseLinear([0.0, height / slope], [0.0, height])


@pytest.mark.parametrize("rsb", [0, 1])
def test_without_a_margin_the_units_of_the_output_do_not_matter(rsb):
    neuron = dc.NeuronSpec(dc.PiecewiseLinear([0.0, 0.1, 0.4], [0.0, 0.3, 0.7]), 0.5, 0.4)
    scaled = dc.NeuronSpec(dc.PiecewiseLinear([0.0, 0.1, 0.4], [2.0, 2.9, 4.1]), 0.5, 3.2)
    assert_allclose(
        dc.critical_capacity(neuron, rsb=rsb).alpha_c, dc.critical_capacity(scaled, rsb=rsb).alpha_c, rtol=1e-8
    )


def test_without_a_margin_small_steps_have_no_limit():
    """alpha_c of a step of height h and slope 1 grows like 1 / h replica symmetric, and still grows with breaking."""
    heights = 0.1 * 2.0 ** -np.arange(6)
    loads = {
        rsb: np.array([dc.critical_capacity(dc.NeuronSpec(ramp(h), 0.5, h / 2), rsb=rsb).alpha_c for h in heights])
        for rsb in (0, 1)
    }
    products = heights * loads[0]
    assert_allclose(products[-1], products[-2], rtol=1e-3)
    assert np.all(np.diff(loads[1]) > 0.05)  # no sign of a limit: the gains hardly shrink
    assert np.diff(loads[1])[-1] > 0.6 * np.diff(loads[1])[0]
    with pytest.raises(dc.NoSolution, match=r"kappa = 0: without a margin .* grows without bound.*TaskSpec\(kappa"):
        dc.best_dendrite(1.0, 0.5)


# Slope 0 or the limit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rsb", [0, 1])
def test_a_fine_staircase_beats_the_slope_that_it_follows(rsb):
    """Why the best slope is 0 or the limit: variance and overlaps stay, the gain E g'^2 grows."""

    def staircase(n):
        x = np.linspace(0.0, 1.0, 2 * n + 1)
        return dc.PiecewiseLinear(x, np.repeat(np.arange(n + 1) / n, 2)[1:])

    assert staircase(16).derivative(np.linspace(0.0, 1.0, 999)).max() == pytest.approx(2.0)
    straight = dc.critical_capacity(dc.NeuronSpec(ramp(1.0), 0.5, 0.5), MARGIN, rsb=rsb)
    fine = dc.critical_capacity(dc.NeuronSpec(staircase(16), 0.5, 0.5), MARGIN, rsb=rsb)
    at = {"theta": 0.5, "s": straight.preactivation_sd, "m": straight.preactivation_mean}
    one, other = dc.theory.moments(ramp(1.0), **at), dc.theory.moments(staircase(16), **at)
    assert_allclose(other.variance, one.variance, rtol=0.01)
    assert_allclose(other.gain, 2.0 * one.gain, rtol=0.02)
    assert fine.alpha_c > 1.01 * straight.alpha_c


def test_free_slopes_become_a_staircase():
    """The best slopes of many pieces, with nothing assumed, are 0 or the limit; they come close, and never beyond."""
    best = dc.best_dendrite(1.0, 0.5, theta_s=0.4, task=MARGIN, rises=2, rsb=0)
    end = best.nonlinearity.x[-1]
    ratios = []
    for n in (12, 48):
        edges = np.linspace(-0.1 * end, 1.1 * end, n + 1)
        followed = np.diff(best.nonlinearity(edges)) / np.diff(edges)  # bends where the pieces do not meet the rises
        slopes, alpha = best_slopes(edges, 1.0, 0.5, 0.4, MARGIN, 0.9 * followed + 0.02)
        assert np.sum(np.minimum(slopes, 1.0 - slopes) > 1e-3) <= 1  # the height may end inside a piece
        ratios.append(alpha / best.alpha_c)
    assert ratios[0] < ratios[1] < 1.02  # short pieces make more rises than two, which replica symmetry rewards
    assert ratios[1] > 0.98


def test_replica_symmetric_staircases_are_optimal_quantisers():
    """At large slope limits, r rises are the best quantiser of a normal number with r + 1 levels (Max 1960)."""
    distortion = np.array([0.3634, 0.1902, 0.1175])
    best = dc.best_dendrite(300.0, 0.5, task=dc.TaskSpec(kappa=0.05), rises=3, rsb=0)
    assert_allclose(
        np.array(best.by_rises) / best.by_rises[0], np.sqrt((1 - distortion) / (1 - distortion[0])), rtol=3e-4
    )

    def over_weights(B):  # C / sqrt(Q) in units of W_bar
        i0, i1, i2 = tail(B)
        return -((i0 / i1) ** 2) / math.sqrt(i2 / i1**2)

    weights = minimize_scalar(over_weights, bounds=(-3.0, 4.0), method="bounded")
    margin = minimize_scalar(lambda k: -k / tail(-k)[2], bounds=(0.05, 5.0), method="bounded")
    bound = 300.0 / 0.05 * math.sqrt(0.25) * -weights.fun * -margin.fun  # [best-staircase], W_bar = 1
    assert_allclose(best.by_rises, bound * np.sqrt(1 - distortion), rtol=3e-4)


# With broken symmetry ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def steep():
    return dc.best_dendrite(5.0, 0.5, theta_s=0.5, task=MARGIN, rises=2)


def test_best_dendrite_with_broken_symmetry_is_one_steep_rise(steep):
    assert steep.nonlinearity.x == pytest.approx((0.0, 0.2))
    assert steep.at_limit
    assert steep.by_rises == (steep.alpha_c,) * 2
    assert steep.residual < 1e-6
    assert steep.further_rise < 0.0
    inside = np.linspace(0.01, 0.19, 9)
    assert np.all(steep.gain_of_a_rise(inside) > 0.0)
    assert_allclose(steep.alpha_c, steep.capacity_of(dc.SaturatingReLU()), rtol=1e-9)
    direct = dc.critical_capacity(dc.NeuronSpec(steep.nonlinearity, 0.5, 0.5), MARGIN, rsb=1)
    assert_allclose(steep.alpha_c, direct.alpha_c, rtol=1e-9)
    assert steep.branch_stability().stable
    assert "rise by 1" in repr(steep)
    assert "broken symmetry" in repr(steep)


def test_no_random_dendrite_within_the_limits_is_better(steep, rng):
    tried = 0
    while tried < 5:
        widths = rng.exponential(0.3, 7)
        slopes = np.clip(rng.exponential(2.5, 7), 0.0, 5.0) * (rng.random(7) < 0.6)
        slopes *= min(1.0, 1.0 / max(slopes @ widths, 1e-9))
        y = np.concatenate([[0.0], np.cumsum(slopes * widths)])
        if y[-1] < 0.55:  # the somatic threshold must be within reach
            continue
        g = dc.PiecewiseLinear(np.concatenate([[0.0], np.cumsum(widths)]), y)
        assert dc.critical_capacity(dc.NeuronSpec(g, 0.5, 0.5), MARGIN, rsb=1).alpha_c < steep.alpha_c
        tried += 1


def test_a_free_threshold_is_at_its_optimum():
    best = dc.best_dendrite(5.0, 0.5, task=dc.TaskSpec(kappa=0.05), rsb=0)
    g, theta_s = best.nonlinearity, best.theta_s
    for change in (-0.02, 0.02):
        at_threshold = dc.critical_capacity(dc.NeuronSpec(g, 0.5, theta_s * (1 + change)), best.task)
        higher = dc.critical_capacity(dc.NeuronSpec(ramp(g.y[-1] * (1 + change), 5.0), 0.5, theta_s), best.task)
        assert max(at_threshold.alpha_c, higher.alpha_c) < best.alpha_c
    assert not best.at_limit
    assert best.residual < 1e-6


def test_at_the_edges_of_a_rise_a_wider_one_gains_nothing():
    free = dc.best_dendrite(5.0, 0.5, task=dc.TaskSpec(kappa=0.05), rsb=0)
    assert_allclose(free.gain_of_a_rise(free.nonlinearity.x), 0.0, atol=1e-6)
    assert free.more_rises_help
    held = dc.best_dendrite(5.0, 0.5, task=dc.TaskSpec(kappa=1.0), rsb=0)
    assert held.at_limit
    assert_allclose(held.gain_of_a_rise(held.nonlinearity.x), 0.0, atol=1e-6)


@pytest.mark.parametrize("theta_s", [None, 0.3])
def test_the_search_knows_its_gradient_away_from_the_optimum(theta_s):
    search = Search(5.0, 0.5, MARGIN, theta_s, 2, 0, lambda share, words: None)
    z = search.packed(Staircase(np.array([0.2, 0.35]), np.array([0.4]), 0.2))
    value, gradient = search.value(z)
    h = 1e-5
    differences = [(search.value(z + h * e)[0] - search.value(z - h * e)[0]) / (2 * h) for e in np.eye(z.size)]
    assert_allclose(gradient, differences, atol=1e-6)
    assert np.abs(gradient).min() > 1e-3  # a thousand times the tolerance: not an optimum
    assert value == -math.log(search.solved(z).alpha_c)


def test_other_dendrites_are_held_to_the_same_limits():
    best = dc.best_dendrite(2.0, 0.5, theta_s=0.4, task=MARGIN, rsb=0)
    polsky = dc.Polsky()
    stretch = best.stretch(polsky)
    held = dc.Custom(lambda x: polsky(stretch * x), lambda x: stretch * polsky.derivative(stretch * x),
                     breakpoints=np.array(polsky.breakpoints) / stretch)  # fmt: skip
    assert np.max(held.derivative(np.linspace(-1, 5, 60001))) == pytest.approx(2.0, rel=1e-3)
    direct = dc.critical_capacity(dc.NeuronSpec(held, 0.5, 0.4), MARGIN)
    assert_allclose(best.capacity_of(polsky), direct.alpha_c, rtol=1e-9)
    twice = dc.PiecewiseLinear([0.0, 1.0, 2.0], [1.0, 1.5, 3.0])  # from 1 to 3
    once = dc.PiecewiseLinear([0.0, 1.0, 2.0], [0.0, 0.25, 1.0])
    assert_allclose(best.capacity_of(twice), best.capacity_of(once), rtol=1e-9)
    for wrong in (dc.ReLU(), dc.Step()):
        with pytest.raises(dc.InvalidParameter, match="continuous and bounded"):
            best.capacity_of(wrong)


def test_progress_is_told():
    told = []
    dc.best_dendrite(5.0, 0.5, task=MARGIN, rises=2, rsb=0, callback=lambda share, words: told.append((share, words)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] > 0.9
    assert {words for _, words in told} >= {"1 rise, starts", "2 rises, optimising"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"slope_limit": 0.0}, "slope_limit = 0.0"),
        ({"theta_d": -1.0}, "theta_d = -1.0"),
        ({"theta_s": 1.0}, "theta_s = 1.0"),
        ({"rises": 0}, "rises = 0"),
        ({"rsb": -1}, "rsb = -1"),
    ],
)
def test_bad_values_are_named(given, words):
    with pytest.raises(dc.InvalidParameter, match=words):
        dc.best_dendrite(**{"slope_limit": 1.0, "theta_d": 0.5, "task": MARGIN, **given})
