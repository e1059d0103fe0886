"""Priors of the weights: their limits, their potential, slow twins, linear programming, and what is refused."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import erfcx, log_ndtr, ndtri

import dendrocap as dc
from dendrocap import (
    Bounded,
    Branches,
    Inhibition,
    InvalidParameter,
    Level,
    Linear,
    NeuronSpec,
    NonNegative,
    NoSolution,
    Polsky,
    ReLU,
    Ridge,
    SaturatingReLU,
    TaskSpec,
    critical_capacity,
    saddle_point,
    stability_limit,
)
from dendrocap.numerics import legendre_rule, truncated_normal
from dendrocap.theory._laws import bounded_averages, clipped_tail, kept_between
from dendrocap.theory.load import Solutions
from dendrocap.theory.weights import Entropic, Law, OwnPrior, Weights
from tests.naive.priors import clipped, naive_bounded_capacity, naive_entropic
from tests.theory.potential import OrderParameters, free_entropy, free_entropy_gradient, order_parameters
from tests.theory.test_inhibition import REFUSED
from tests.theory.test_inhibition import TAKEN as WITH_INHIBITION

SPARSE = TaskSpec(f_in=0.2, f_out=0.1, kappa=0.3)
PRIORS = [Bounded(2.5), Bounded(1.2), Ridge(0.3), Ridge(20.0)]


def neuron(prior, g=None, theta_d=0.5, theta_s=0.5):
    return NeuronSpec(g or ReLU(), theta_d, theta_s, prior=prior)


# The usual prior ------------------------------------------------------------------------------------------------------


def test_specifications_without_a_prior_are_what_they_were():
    plain = NeuronSpec(Polsky(), 0.5, 0.5)
    assert plain == NeuronSpec(Polsky(), 0.5, 0.5, prior=NonNegative())
    assert repr(plain) == "NeuronSpec(nonlinearity=Polsky(x_min=0.33, gamma=15.0), theta_d=0.5, theta_s=0.5)"
    assert repr(neuron(Bounded(3.0))).endswith("prior=Bounded(w_max=3.0))")
    assert pickle.loads(pickle.dumps(neuron(Ridge(2.0)))) == neuron(Ridge(2.0))
    # A specification stored before there were priors has none.
    old = object.__new__(NeuronSpec)
    old.__dict__.update({name: value for name, value in vars(plain).items() if name != "prior"})
    assert old == plain
    from dendrocap.model.flat import flat_neuron

    assert "prior" not in flat_neuron(plain)


def test_a_ridge_of_no_strength_is_the_usual_prior():
    assert critical_capacity(neuron(Ridge(0.0))).alpha_c == critical_capacity(neuron(NonNegative())).alpha_c
    assert saddle_point(neuron(Ridge(0.0)), alpha=0.5).Q == saddle_point(neuron(NonNegative()), alpha=0.5).Q


# One weight -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.0, 1e-9, 2.0, 3.99, 4.01, 50.0, 1e4, -3.0, -40.0])
def test_a_weight_between_two_ends(a):
    """Against adaptive quadrature, on both sides of every place where the method changes."""
    for h in (0.0, -0.99, -1.01, -10.0, -2000.0, 3.0, 0.5 * a, 0.5 * a + 0.1, a, a + 5.0):
        top = max(0.0, h - 0.5 * a, 0.5 * h * h / a if 0.0 < h < a else 0.0)
        peak = min(max(h / a if a > 0.0 else float(h > 0.5 * a), 0.0), 1.0)
        near = sorted({min(max(peak + d, 1e-9), 1.0 - 1e-9) for d in (-0.1, -0.01, -1e-3, 0.0, 1e-3, 0.01, 0.1)})

        def moment(f, h=h, top=top, near=near):
            return quad(
                lambda w: f(w) * math.exp(w * (h - 0.5 * a * w) - top),
                0.0,
                1.0,
                points=near,
                epsabs=0.0,
                epsrel=1e-12,
                limit=300,
            )[0]

        norm = moment(lambda w: 1.0)
        mean = moment(lambda w: w) / norm
        variance = moment(lambda w, mean=mean: (w - mean) ** 2) / norm
        log_norm, got_mean, got_variance = kept_between(a, h)
        assert_allclose(log_norm, math.log(norm) + top, rtol=1e-11, atol=1e-11)
        assert_allclose([got_mean, got_variance], [mean, variance], rtol=1e-10)


@pytest.mark.parametrize(
    ("a", "q", "eta"), [(2.0, 3.0, -1.0), (35.0, 40.0, 9.0), (37.0, 900.0, 9.0), (-12.0, 5.0, -4.0)]
)
def test_averages_over_the_field(a, q, eta):
    found = bounded_averages(a, q, eta, 0.12)
    assert_allclose(found, naive_entropic(Bounded(1.0), a, q, eta), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("a", [37.0, 1e6, 1e12])
def test_averages_do_not_depend_on_the_step(a):
    assert_allclose(bounded_averages(a, a**2, 0.3 * a, 0.12), bounded_averages(a, a**2, 0.3 * a, 0.03), rtol=2e-11)


def test_tails_between_two_cuts():
    for B, u in ((0.3, 0.5), (-2.0, 3.0), (-8.0, 3.0), (1.0, 1e3), (-4.0, 0.99), (-4.0, 1.01)):
        assert_allclose(clipped_tail(B, u), clipped(B, 1.0, u), rtol=1e-9)


def test_silent_and_saturated_weights_are_mirror_images():
    """W -> w_max - W turns the mean into w_max - W_bar and leaves C, A and the variance of the weights."""
    for share, t in ((0.3, 0.2), (0.1, -1.0), (0.45, 1.5)):
        B, i0, i1, i2 = Law(1.0 / share).at_capacity(t, 1.0)
        W_star = share / i1  # with w_max = 1
        upper = B + 1.0 / W_star
        # The mirrored state has the same width and its cuts exchanged.
        mirrored = clipped_tail(-upper, 1.0 / W_star)
        assert_allclose(mirrored[0], i0, rtol=1e-12)
        assert_allclose(W_star * mirrored[1], 1.0 - share, rtol=1e-12)
        assert_allclose(W_star**2 * (mirrored[2] - mirrored[1] ** 2), W_star**2 * (i2 - i1**2), rtol=1e-11)
    # Where the mean is half of the largest weight, as many weights are silent as saturated, whatever g.
    for g in (Linear(), ReLU(), Polsky()):
        found = critical_capacity(neuron(Bounded(2.0), g))
        assert_allclose(found.silent_fraction, found.saturated_fraction, rtol=1e-12)


# Bounded weights at capacity ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("w_max", [1.3, 2.5, 8.0])
@pytest.mark.parametrize("g", [Linear(), Polsky()], ids=repr)
def test_bounded_capacity_against_the_naive_search(g, w_max):
    found = critical_capacity(neuron(Bounded(w_max), g))
    alpha, silent, saturated, Q = naive_bounded_capacity(g, 0.5, 0.5, w_max)
    assert_allclose(found.alpha_c, alpha, rtol=1e-9)
    assert_allclose([found.silent_fraction, found.saturated_fraction, found.Q], [silent, saturated, Q], rtol=2e-4)
    assert found.residual < 1e-12


def test_a_distant_bound_is_none():
    for g in (Linear(), ReLU(), Polsky()):
        free, far = (critical_capacity(neuron(prior, g)) for prior in (NonNegative(), Bounded(1e6)))
        assert_allclose([far.alpha_c, far.Q, far.silent_fraction], [free.alpha_c, free.Q, free.silent_fraction])
        loads = [critical_capacity(neuron(Bounded(w), g)).alpha_c for w in (1.01, 1.2, 2.0, 5.0, 20.0)]
        assert all(np.diff([*loads, free.alpha_c * (1.0 + 1e-12)]) > 0.0)


def test_weights_without_room_store_nothing():
    """Near w_max = W_bar all but a few weights are saturated, and each is 0 or w_max."""
    found = critical_capacity(neuron(Bounded(1.001), Linear()))
    assert found.saturated_fraction > 0.998
    # alpha = 2 C / Q for a linear neuron, with sqrt(C) at most w_max times the density at the cut.
    cut = ndtri(1.0 / 1.001)
    most = 2.0 * (1.001 * math.exp(-0.5 * cut * cut) / math.sqrt(2.0 * math.pi)) ** 2
    assert 0.9 * most < found.alpha_c < most < 1e-4


@pytest.mark.parametrize("task", [TaskSpec(), replace(SPARSE, branch_correlation=1.5)], ids=["plain", "sparse"])
def test_the_bounded_load_is_stationary(task):
    """The printed equation for A is d ln alpha / dQ, checked by moving the weights off their place."""
    from dendrocap.theory.neuron_kernel import like_branches
    from dendrocap.theory.symmetric import _Line, _Soma

    population = like_branches(neuron(NonNegative(), SaturatingReLU()), task)
    line, soma = _Line(population, Law(2.2 * 0.5 / task.f_in)), _Soma([population], task)
    for t in (-0.5, 0.4, 1.3):
        h = 1e-4
        low, here, high = (line.at(t + d) for d in (-h, 0.0, h))
        rise = math.log(soma.load([high]).alpha / soma.load([low]).alpha)
        derivative = here.Q * (2.0 * here.dR - soma.load([here]).ratio * here.tree.dGamma0) / here.R
        assert_allclose(derivative, rise / (math.log(high.Q) - math.log(low.Q)), rtol=2e-6, atol=2e-7)


def test_deep_trees_with_bounded_weights():
    levels = (Level(ReLU(), 0.5), Level(Polsky(), 0.4))
    free, far, near = (
        critical_capacity(NeuronSpec(levels=levels, theta_s=0.5, prior=prior))
        for prior in (NonNegative(), Bounded(1e5), Bounded(2.0))
    )
    assert_allclose(far.alpha_c, free.alpha_c)
    assert near.alpha_c < 0.8 * free.alpha_c


def test_bounded_weights_at_capacity():
    found = critical_capacity(neuron(Bounded(2.5)))
    weights = found.weights
    assert_allclose([weights.mean(), weights.second_moment()], [found.W_bar, found.Q], rtol=1e-12)
    inside = quad(weights.pdf, 0.0, 2.5)[0]
    assert_allclose(weights.silent_fraction + weights.saturated_fraction + inside, 1.0, rtol=1e-9)
    assert_allclose(found.saturated_fraction, weights.saturated_fraction, rtol=1e-12)
    assert_allclose(weights.cdf([0.0, 2.5 - 1e-12, 2.5]), [found.silent_fraction, 1.0 - found.saturated_fraction, 1.0])
    assert (weights.sf(2.5), weights.ppf(1.0), weights.pdf(3.0)) == (0.0, 2.5, 0.0)
    drawn = weights.rvs(40_000, random_state=0)
    assert drawn.max() == 2.5
    for values, wanted in (
        (drawn == 2.5, found.saturated_fraction),
        (drawn == 0.0, found.silent_fraction),
        (drawn, 1.0),
    ):
        assert abs(values.mean() - wanted) < 4.0 * values.std() / 200.0
    assert "saturated_fraction=" in repr(found)
    assert "saturated_fraction=" in repr(weights)


@pytest.mark.slow
@pytest.mark.parametrize("w_max", [1.5, 3.0])
def test_linear_programming_with_bounded_weights(w_max):
    """120 synapses on one branch; 500 are in studies/bounded_weights.csv."""
    from studies.bounded_weights import stored_patterns, theory

    found = [stored_patterns(seed, w_max, n_inputs=120) for seed in range(40)]
    mean, error = np.mean(found), np.std(found, ddof=1) / math.sqrt(len(found))
    assert abs(mean - 120 * theory(w_max)) < 3.0 * error


# Below capacity -------------------------------------------------------------------------------------------------------


def scales(point):
    """How far each order parameter may move before the free entropy bends."""
    A = point.A_hat + point.neuron.prior.strength
    return OrderParameters(point.dq, point.dq, math.sqrt(point.dq), A, A, math.sqrt(abs(A)))


def differences(potential, order, units, step=1e-3):
    """Derivatives of a function of order parameters by central differences of fourth order."""

    def along(name):
        def at(times):
            return potential(replace(order, **{name: getattr(order, name) + times * step * getattr(units, name)}))

        return (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * step * getattr(units, name))

    return OrderParameters(*(along(name) for name in OrderParameters.__dataclass_fields__))


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize(("task", "part"), [(TaskSpec(), 0.5), (SPARSE, 0.2)], ids=["plain", "sparse"])
def test_the_saddle_point_is_one_of_the_free_entropy(prior, task, part):
    prior = replace(prior, w_max=prior.w_max * 0.5 / task.f_in) if isinstance(prior, Bounded) else prior
    cell = neuron(prior, Polsky())
    alpha = part * critical_capacity(cell, task).alpha_c
    point = saddle_point(cell, task, alpha=alpha)
    order, units = order_parameters(point), scales(point)
    assert_allclose(free_entropy(cell, task, alpha, order), point.free_entropy, rtol=1e-9, atol=1e-9)

    def potential(at):
        return free_entropy(cell, task, alpha, at)

    # Derivatives are differences, both at the saddle point, where they vanish, and next to it.
    moved = {name: getattr(order, name) + 0.05 * getattr(units, name) for name in ("Q", "mean_shift", "M_hat", "q_hat")}
    for at, vanish in ((order, True), (replace(order, **moved), False)):
        gradient, measured = free_entropy_gradient(cell, task, alpha, at), differences(potential, at, units)
        for name in OrderParameters.__dataclass_fields__:
            unit = getattr(units, name)
            assert_allclose(unit * getattr(gradient, name), unit * getattr(measured, name), rtol=1e-6, atol=2e-8)
            assert (abs(unit * getattr(gradient, name)) < 1e-9) == vanish or name == "q"


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_moments_against_the_naive_sum(prior):
    point = saddle_point(neuron(prior), alpha=0.5 * critical_capacity(neuron(prior)).alpha_c)
    naive = naive_entropic(prior, point.A_hat, point.q_hat, point.M_hat)
    assert_allclose([point.entropic_term, 1.0, point.q, point.dq], [naive[0], *naive[1:4]], rtol=1e-8, atol=1e-9)


def test_limits_of_priors_below_capacity():
    free = saddle_point(neuron(NonNegative()), alpha=0.5)
    for prior in (Bounded(1e3), Ridge(1e-12)):
        near = saddle_point(neuron(prior), alpha=0.5)
        assert_allclose([near.Q, near.q, near.free_entropy], [free.Q, free.q, free.free_entropy], rtol=1e-10)
    # A strong ridge leaves weights alike; the volume is that of small Gaussian deviations, ln sqrt(2 pi / strength).
    strong = saddle_point(neuron(Ridge(1e6), Linear()), alpha=0.0)
    assert_allclose(strong.free_entropy, 0.5 * math.log(2.0 * math.pi / 1e6) - 0.5e6, rtol=1e-12)
    assert_allclose(strong.Q, 1.0 + 1e-6, rtol=1e-9)
    # Bounded weights of mean w_max / 2 are uniform without patterns.
    uniform = saddle_point(neuron(Bounded(2.0)), alpha=0.0)
    assert_allclose([uniform.Q, uniform.free_entropy, uniform.M_hat], [4.0 / 3.0, math.log(2.0), 0.0], atol=1e-12)


@pytest.mark.parametrize("prior", [Bounded(2.5), Ridge(2.0)], ids=repr)
def test_the_free_entropy_falls_by_the_energetic_term(prior):
    h = 1e-4
    up, down = (saddle_point(neuron(prior), alpha=0.4 + s).free_entropy for s in (h, -h))
    assert_allclose((up - down) / (2.0 * h), saddle_point(neuron(prior), alpha=0.4).energetic_term, rtol=1e-6)


def test_the_free_entropy_of_a_ridge_falls_by_the_norm():
    """d phi / d strength = -Q / 2: the ridge counts squares and nothing else."""
    h = 1e-4
    up, down = (saddle_point(neuron(Ridge(2.0 + s)), alpha=0.4).free_entropy for s in (h, -h))
    assert_allclose((up - down) / (2.0 * h), -0.5 * saddle_point(neuron(Ridge(2.0)), alpha=0.4).Q, rtol=1e-6)


@pytest.mark.parametrize("prior", [Bounded(2.5), Bounded(1.2), Ridge(2.0), Ridge(50.0)], ids=repr)
@pytest.mark.parametrize("g", [Linear(), Polsky()], ids=repr)
def test_solutions_meet_at_the_capacity_of_the_support(prior, g):
    """The load at which two solutions meet is the capacity; a ridge does not move it, a bound does."""
    support = NonNegative() if isinstance(prior, Ridge) else prior
    alpha_c = critical_capacity(neuron(support, g)).alpha_c
    loads = []
    for closest in (1e-6, 1e-9):

        def condition(equations, point, load, closest=closest):
            return math.log(closest * point.sides[0].Q / point.sides[0].dq)

        loads.append(Solutions(neuron(prior, g), TaskSpec()).first(condition).load)
    missing = 1.0 - np.array(loads) / alpha_c
    assert np.all(missing > 0.0)
    assert missing[1] < 1e-4
    assert missing[1] < 0.2 * missing[0]


def test_negative_precision():
    """Few patterns may favour a larger norm; bounded weights then pile up at both ends [sp-prior]."""
    cell, task = neuron(Bounded(0.4), Polsky(), 0.02, 0.9), TaskSpec(kappa=0.2)
    point = saddle_point(cell, task, alpha=0.03)
    assert point.A_hat < 0.0
    gradient = free_entropy_gradient(cell, task, 0.03, order_parameters(point))
    assert abs(gradient.Q) < 1e-10 / point.Q
    density = point.weights.pdf([0.001, 0.2, 0.399])
    assert density[2] > density[1]


def test_stability_with_priors():
    for prior in (Bounded(2.5), Ridge(2.0)):
        limit = stability_limit(neuron(prior))
        assert abs(saddle_point(neuron(prior), alpha=limit.alpha).stability) < 1e-8
        assert limit.alpha < critical_capacity(neuron(prior)).alpha_c
    assert stability_limit(neuron(Bounded(2.5), Linear())).alpha == math.inf


def test_bounded_weights_below_capacity():
    point = saddle_point(neuron(Bounded(2.5)), alpha=0.6)
    weights = point.weights
    assert isinstance(weights, Weights)
    assert_allclose([weights.mean(), weights.second_moment()], [1.0, point.Q], rtol=1e-12)
    for power, wanted in ((0, 1.0), (1, 1.0), (2, point.Q)):
        assert_allclose(quad(lambda w, p=power: w**p * weights.pdf(w), 0.0, 2.5)[0], wanted, rtol=1e-8)
    assert_allclose(weights.cdf(0.7) + weights.sf(0.7), 1.0, rtol=1e-12)
    assert_allclose(quad(weights.pdf, 0.0, 0.7)[0], weights.cdf(0.7), rtol=1e-8)
    assert_allclose(weights.ppf(weights.cdf([0.1, 0.7, 2.4])), [0.1, 0.7, 2.4], rtol=1e-9)
    assert_allclose(weights.ppf([0.0, 1.0, np.nan]), [0.0, 2.5, np.nan])
    assert_allclose(weights.pdf([-1.0, 3.0, np.nan]), [0.0, 0.0, np.nan])
    assert (weights.cdf(-1.0), weights.cdf(3.0), weights.sf(-1.0), weights.sf(3.0)) == (0.0, 1.0, 1.0, 0.0)
    assert (weights.silent_fraction, weights.saturated_fraction) == (0.0, 0.0)
    drawn = weights.rvs((200, 200), random_state=0)
    assert abs(drawn.mean() - 1.0) < 4.0 * drawn.std() / 200.0
    assert abs(np.mean(drawn < 0.7) - weights.cdf(0.7)) < 4.0 * 0.5 / 200.0
    # At load 0 there is no field to average over.
    free = saddle_point(neuron(Bounded(3.0)), alpha=0.0).weights
    assert_allclose(free.pdf(1.0), free.pdf(0.0) * math.exp(free.M_hat), rtol=1e-12)
    assert_allclose([free.mean(), free.std() ** 2 + 1.0], [1.0, free.second_moment()])


def test_ridge_weights():
    point = saddle_point(neuron(Ridge(2.0)), alpha=0.6)
    assert_allclose([point.weights.mean(), point.weights.second_moment()], [1.0, point.Q], rtol=1e-12)
    free = saddle_point(neuron(Ridge(2.0)), alpha=0.0)
    assert_allclose([free.weights.mean(), free.weights.second_moment()], [1.0, free.Q], rtol=1e-12)
    assert_allclose(quad(free.weights.pdf, 0.0, 8.0)[0], 1.0, rtol=1e-10)
    assert free.weights.silent_fraction == 0.0


# What is refused ------------------------------------------------------------------------------------------------------

TAKEN = ("critical_capacity", "saddle_point", "stability_limit", "capacity_curve", "saddle_point_curve")


@pytest.mark.parametrize("prior", [Bounded(3.0), Ridge(1.0)], ids=repr)
@pytest.mark.parametrize("name", [*REFUSED, *sorted(set(WITH_INHIBITION) - set(TAKEN))])
def test_priors_are_refused_by_name(name, prior):
    call = REFUSED.get(name) or WITH_INHIBITION[name][0]
    with pytest.raises(InvalidParameter, match=r"prior = .* is not allowed: it must be NonNegative\(\) for"):
        call(neuron(prior, Polsky()))


@pytest.mark.parametrize("name", TAKEN)
def test_priors_are_taken(name):
    call, of = WITH_INHIBITION[name]
    assert of(call(neuron(Bounded(2.0), Polsky()))) != pytest.approx(
        of(call(neuron(NonNegative(), Polsky()))), rel=1e-3
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: critical_capacity(neuron(Bounded(3.0)), rsb=1), r"prior = Bounded\(w_max=3.0\) is not allowed"),
        (lambda: critical_capacity(neuron(Ridge(3.0)), rsb="full"), r"critical_capacity\(rsb=0\)"),
        (lambda: critical_capacity(neuron(Bounded(3.0)), branch_size=37), "inhibition or branch_size"),
        (
            lambda: saddle_point(neuron(Ridge(3.0)), alpha=0.1, branch_size=37),
            "inhibition or branch_size",
        ),
        (lambda: dc.DendriticNeuron(neuron(Bounded(3.0)), 100, 5), "prior = Bounded"),
        (lambda: critical_capacity(neuron(Bounded(3.0), dc.Custom(lambda x: x**2), 0.5, 2.0)), "for a g that falls"),
        (
            lambda: saddle_point(neuron(Ridge(3.0), dc.Custom(lambda x: x**2), 0.5, 2.0), alpha=0.1),
            "for a g that falls",
        ),
        (lambda: NeuronSpec(populations=[Branches(ReLU(), 0.5, 1.0)], theta_s=0.5, prior=Ridge(1.0)), "populations"),
        (lambda: replace(neuron(Ridge(1.0)), inhibition=Inhibition(0.2, 0.1)), "inhibition"),
        (lambda: neuron(3.0), r"prior = 3.0 is not allowed"),
        (lambda: Bounded(0.0), r"w_max = 0.0 is not allowed"),
        (lambda: Bounded(math.inf), r"w_max = inf is not allowed"),
        (lambda: Ridge(-1.0), r"strength = -1.0 is not allowed"),
        (lambda: Weights(0.0, -1.0, 0.0, 1.0), "q_hat = -1.0"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()


@pytest.mark.parametrize("w_max", [0.5, 1.0])
def test_a_mean_out_of_reach_has_no_solution(w_max):
    with pytest.raises(NoSolution, match=r"w_max = .* cannot differ and have the mean theta_d / f_in = 1"):
        critical_capacity(neuron(Bounded(w_max)))
    with pytest.raises(NoSolution, match="w_max must be larger than the mean"):
        saddle_point(neuron(Bounded(w_max)), alpha=0.1)


def test_weights_that_are_all_silent_or_saturated_are_refused():
    with pytest.raises(NoSolution, match="where every weight is 0 or w_max"):
        critical_capacity(neuron(Bounded(0.08), Polsky(), 0.02, 0.9), TaskSpec(kappa=0.2))


def test_entropic_averages_of_both_kinds_meet():
    """The usual averages are the limit of bounded ones."""
    free, far = (Law(w_max).averages(2.0, 3.0, -0.5) for w_max in (math.inf, 60.0))
    for name in Entropic.__dataclass_fields__:
        assert_allclose(getattr(far, name), getattr(free, name), rtol=1e-11)


# A user's own prior ---------------------------------------------------------------------------------------------------


class OwnNonNegative(OwnPrior):
    def alone(self, A_hat, h):
        if A_hat == 0.0:
            return -np.log(-h), -1.0 / h, h**-2.0
        root, found = math.sqrt(A_hat), truncated_normal(A_hat, h)
        log_norm = np.log(np.sqrt(0.5 * np.pi) * erfcx(np.maximum(-h / root, -5.0) / np.sqrt(2.0)))
        far = 0.5 * (h / root) ** 2 + 0.5 * np.log(2.0 * np.pi) + log_ndtr(h / root)
        return np.where(h > 5.0 * root, far, log_norm) - math.log(root), found.mean, found.variance


class OwnBounded(OwnPrior):
    def __init__(self, w_max):
        self.w_max, self.offset = w_max, 10.0 / w_max**2

    def alone(self, A_hat, h):
        nodes, parts = legendre_rule(120)
        w = 0.5 * self.w_max * (1.0 + nodes)
        log_density = np.log(0.5 * self.w_max * parts) + np.outer(h, w) - 0.5 * A_hat * w**2
        top = log_density.max(axis=1)
        density = np.exp(log_density - top[:, None])
        norm = density.sum(axis=1)
        mean = density @ w / norm
        return top + np.log(norm), mean, density @ w**2 / norm - mean**2


@pytest.mark.parametrize(
    ("own", "built_in"), [(OwnNonNegative(), NonNegative()), (OwnBounded(3.0), Bounded(3.0))], ids=["plain", "bounded"]
)
def test_a_users_own_prior_is_as_good_as_a_built_in_one(own, built_in):
    for call, names in (
        (critical_capacity, ("alpha_c", "silent_fraction", "saturated_fraction", "Q", "W_bar")),
        (lambda one: saddle_point(one, alpha=0.5), ("Q", "q", "M_hat", "free_entropy", "stability", "mean_shift")),
    ):
        mine, usual = call(neuron(own, Polsky())), call(neuron(built_in, Polsky()))
        for name in names:
            assert_allclose(getattr(mine, name), getattr(usual, name), rtol=1e-8, err_msg=name)
    with pytest.raises(InvalidParameter, match="prior = "):
        critical_capacity(neuron(own, Polsky()), rsb=1)
    assert_allclose(
        own.scaled(2.0).averages(3.0, 1.0, -0.5).mean, own.averages(0.75, 0.25, -0.25).mean / 2.0, rtol=1e-12
    )
