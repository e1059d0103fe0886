"""Populations of branches and short branches at capacity: potentials, limits, reference tables."""

import math
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dendrocap import (
    Branches,
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
from dendrocap.theory.branch_stability import split_state
from dendrocap.theory.broken import BrokenEquations
from dendrocap.theory.neuron_kernel import Population, PopulationKernel, populations_of
from dendrocap.theory.search import broken_state
from dendrocap.theory.symmetric import symmetric_state
from tests.naive.branches import naive_symmetric_load

BIOLOGICAL, SPARSE = Polsky(0.2, 20.0), TaskSpec(f_in=0.05, f_out=0.05)


TREE = NeuronSpec(levels=[Level(ReLU(), 0.5)] * 2, theta_s=0.5)


def halves(g, one, other, theta_d=0.5):
    kinds = [Branches(g, theta_d, 0.5, mean_output=output) for output in (one, other)]
    return NeuronSpec(populations=kinds, theta_s=0.5)


BASAL, APICAL = Branches(Polsky(), 0.25, 0.5), Branches(SaturatingReLU(), 0.5, 0.5)
BASAL_APICAL = NeuronSpec(populations=[BASAL, APICAL], theta_s=0.5)


# The kernels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("g", [Polsky(), SaturatingReLU(), ReLU()], ids=repr)
def test_partial_derivatives_are_those_of_the_values(g):
    kernel = PopulationKernel(Population(g, 0.5, 0.3, 1.0, 1.0, 0.5, math.inf))
    m, Q, dq, h = 0.4, 2.5, 0.7, 1e-5

    def values(m, Q, dq):
        norm = kernel.norm(m, Q)
        at = kernel.overlap(m, Q, dq, norm)
        return np.array([norm.output, norm.Gamma0, norm.Gamma1, at.D1, norm.Gamma0 - at.D1])

    by_m = (values(m + h, Q, dq) - values(m - h, Q, dq)) / (2 * h)
    by_Q = (values(m, Q + h, dq) - values(m, Q - h, dq)) / (2 * h)
    by_Q_at_fixed_q = (values(m, Q + h, dq + h) - values(m, Q - h, dq - h)) / (2 * h)
    by_q = -(values(m, Q, dq + h) - values(m, Q, dq - h)) / (2 * h)
    norm = kernel.norm(m, Q)
    at = kernel.overlap(m, Q, dq, norm)
    assert_allclose(by_m, [norm.output_m, norm.Gamma0_m, norm.Gamma1_m, at.D1_m, at.C_m], rtol=1e-7)
    assert_allclose(by_Q[:4], [norm.output_Q, norm.Gamma0_Q, norm.Gamma1_Q, at.D1_Q], rtol=1e-7)
    assert_allclose(by_Q_at_fixed_q[4], at.C_Q, rtol=1e-7)
    assert_allclose(by_q[4], at.C_q, rtol=1e-7)


# Replica symmetric ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [TaskSpec(), TaskSpec(0.1, 0.2, 0.1)], ids=["plain", "general"])
@pytest.mark.parametrize("g", [Polsky(), ReLU(), SaturatingReLU()], ids=repr)
def test_one_population_of_long_branches_is_the_paper_s_case(g, task):
    known = critical_capacity(NeuronSpec(g, 0.5, 0.5), task)
    single = critical_capacity(NeuronSpec(populations=[Branches(g, 0.5, 1.0)], theta_s=0.5), task)
    assert_allclose(single.alpha_c, known.alpha_c, rtol=1e-12)
    assert_allclose([single.silent_fraction, single.Q, single.W_bar], [known.silent_fraction, known.Q, known.W_bar])
    assert_allclose(single.mean_shift, known.mean_shift, rtol=1e-9)
    assert critical_capacity(NeuronSpec(g, 0.5, 0.5), task, branch_size=math.inf) == known
    very_long = critical_capacity(NeuronSpec(g, 0.5, 0.5), task, branch_size=1e16)
    assert_allclose(very_long.alpha_c, known.alpha_c, rtol=1e-7)


@pytest.mark.parametrize(
    ("theta_d", "n", "alpha", "p0", "ratio"),
    [
        (0.01, 12, 1.62541, 0.6171, 4.235),
        (0.01, 37, 1.39109, 0.5643, 3.670),
        (0.05, 100, 1.48197, 0.5840, 3.864),
        (0.1, 111, 1.78618, 0.6534, 4.723),
        (0.5, 37, 5.44913, 0.7910, 8.121),
        (1.0, 12, 10.33732, 0.8075, 8.859),
    ],
)
def test_short_branches_replica_symmetric(theta_d, n, alpha, p0, ratio):
    found = critical_capacity(NeuronSpec(Polsky(), theta_d, 0.5), branch_size=n)
    assert_allclose([found.silent_fraction, found.Q / found.W_bar**2], [p0, ratio], atol=6e-4)
    assert_allclose(found.alpha_c, alpha, atol=6e-6)
    assert_allclose(found.weights.mean(), found.W_bar, rtol=1e-12)
    assert found.residual < 1e-11


@pytest.mark.parametrize(
    ("theta_s", "n", "alpha", "p0"),
    [
        (0.63, 1e4, 10.788, 0.7782),
        (0.63, 1e3, 13.047, 0.8458),
        (0.042, 1e3, 11.5625, 0.6330),
        (0.042, 100, 9.6865, 0.5696),
    ],
)
def test_short_branches_at_the_biological_point(theta_s, n, alpha, p0):
    found = critical_capacity(NeuronSpec(BIOLOGICAL, 0.04, theta_s), SPARSE, branch_size=n)
    assert_allclose([found.alpha_c, found.silent_fraction], [alpha, p0], atol=6e-4)


@pytest.mark.parametrize("n", [300, 100])
def test_the_replica_symmetric_load_may_have_no_maximum(n):
    with pytest.raises(NoSolution, match=r"no maximum.*theta_d no longer limits.*rsb=1"):
        critical_capacity(NeuronSpec(BIOLOGICAL, 0.04, 0.63), SPARSE, branch_size=n)


def test_unequal_populations_against_reference_values():
    found = critical_capacity(BASAL_APICAL)
    assert_allclose(found.alpha_c, 2.41860521, rtol=3e-9)
    assert_allclose([p.silent_fraction for p in found.populations], [0.748454, 0.741919], atol=6e-7)
    assert_allclose([p.weights.W_star for p in found.populations], [3.32508, 6.42838], atol=6e-6)
    relu = [Branches(ReLU(), 0.25, 0.5), Branches(ReLU(), 0.5, 0.5, f_in=0.2)]
    found = critical_capacity(NeuronSpec(populations=relu, theta_s=0.5))
    assert_allclose(found.alpha_c, 1.30518845, rtol=5e-9)
    assert_allclose([p.silent_fraction for p in found.populations], [0.685862, 0.547302], atol=6e-7)
    assert_allclose([p.weights.W_star for p in found.populations], [2.46634, 7.30285], atol=6e-6)


def basal_apical(output):
    """Basal branches with this mean output, apical ones with what the soma lacks."""
    kinds = [replace(BASAL, mean_output=output), replace(APICAL, mean_output=1.0 - output)]
    return critical_capacity(NeuronSpec(populations=kinds, theta_s=0.5))


@pytest.mark.parametrize(("output", "alpha"), [(0.9, 3.14031), (0.1, 3.02348), (0.99, 4.82184)])
def test_unequal_outputs_of_saturating_branches_run_away(output, alpha):
    assert_allclose(basal_apical(output).alpha_c, alpha, atol=6e-6)


def test_stationary_outputs_of_saturating_branches_are_the_worst():
    found = basal_apical(0.480605)
    assert_allclose(found.alpha_c, 2.41768251, rtol=3e-9)
    assert_allclose([p.silent_fraction for p in found.populations], [0.748912, 0.741919], atol=6e-7)
    rise = [basal_apical(0.480605 + step).alpha_c - found.alpha_c for step in (-0.01, 0.01)]
    assert_allclose(rise[0], rise[1], rtol=2e-2)  # no slope is left
    assert min(rise) > 0.0


@pytest.mark.parametrize(("output", "alpha"), [(0.2, 5.4701), (0.05, 6.9319), (0.001, 11.44)])
def test_halves_of_one_neuron_run_away_too(output, alpha):
    found = critical_capacity(halves(Polsky(), output, 1.0 - output)).alpha_c
    assert_allclose(found, alpha, atol=6e-3 if output == 0.001 else 6e-5)


@pytest.mark.parametrize("n", [math.inf, 40.0])
def test_replica_symmetric_load_against_a_naive_twin(n):
    populations = [
        Population(Polsky(), 0.3, 0.4, 0.3, 1.4, 0.35, 1.4 * n),
        Population(SaturatingReLU(), 0.6, 0.2, 0.7, 0.58 / 0.7, 0.3, 0.58 / 0.7 * n),
    ]
    task = TaskSpec(0.5, 0.3, 0.1)
    found = symmetric_state(populations, task)
    assert_allclose(found.alpha, naive_symmetric_load(populations, task, [side.Q for side in found.sides]), rtol=1e-8)
    for p, factor in product((0, 1), (0.95, 1.05)):  # and it is a maximum
        Q = [side.Q * (factor if i == p else 1.0) for i, side in enumerate(found.sides)]
        assert naive_symmetric_load(populations, task, Q) < found.alpha


def test_the_best_outputs_of_unbounded_branches():
    kinds = [Branches(ReLU(), 0.25, 0.5, mean_output="best"), Branches(ReLU(), 0.5, 0.5, f_in=0.2, mean_output="best")]
    found = critical_capacity(NeuronSpec(populations=kinds, theta_s=0.5))
    assert_allclose(found.alpha_c, 1.70787946, rtol=5e-9)
    assert_allclose([p.mean_output for p in found.populations], [0.917718, 0.082282], atol=2e-5)
    assert_allclose([p.silent_fraction for p in found.populations], [0.366069, 0.629765], atol=2e-5)
    assert_allclose([p.weights.W_star for p in found.populations], [0.84285, 9.80339], rtol=1e-5)


def test_one_best_output_is_what_the_soma_leaves():
    left = critical_capacity(halves(Polsky(), 0.3, "best"))
    assert_allclose(left.alpha_c, critical_capacity(halves(Polsky(), 0.3, 0.7)).alpha_c, rtol=1e-12)


def test_saturating_branches_without_a_margin_have_no_best_outputs():
    with pytest.raises(NoSolution, match=r"no mean outputs are best.*still grows.*margin"):
        critical_capacity(halves(Polsky(), "best", "best"))


# Broken symmetry ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theta_d", "n", "k", "alpha", "p0", "ratio"),
    [
        (0.01, 12, 1, 1.378647, 0.3898, 3.039),
        (0.01, 37, 2, 1.273449, 0.3947, 3.037),
        (0.1, 37, 1, 1.497878, 0.3751, 3.090),
        (0.1, 12, 2, 1.592787, 0.3381, 3.045),
        (0.5, 100, 2, 2.141098, 0.2293, 2.734),
        (1.0, 37, 1, 2.603494, 0.1798, 2.613),
    ],
)
def test_short_branches_with_broken_symmetry(theta_d, n, k, alpha, p0, ratio):
    found = critical_capacity(NeuronSpec(Polsky(), theta_d, 0.5), rsb=k, branch_size=n)
    assert_allclose(found.alpha_c, alpha, atol=6e-7)
    assert_allclose([found.silent_fraction, found.Q / found.W_bar**2], [p0, ratio], atol=6e-4)
    (branches,) = found.populations
    assert_allclose(found.W_bar, (theta_d + branches.preactivation_mean / math.sqrt(n)) / 0.5, rtol=1e-12)
    assert_allclose([branches.weights.mean(), branches.weights.second_moment()], [found.W_bar, found.Q], rtol=1e-8)
    assert abs(found.ladder[-1].state.potential) < 1e-8


@pytest.mark.parametrize(
    ("theta_s", "n", "K", "k", "alpha", "p0", "W_bar", "output"),
    [
        (0.63, 100, math.inf, 1, 7.28196, 0.2569, 1.6964, 0.63),
        (0.63, 100, math.inf, 2, 7.16379, 0.2350, 1.6900, 0.63),
        (0.63, 100, 100, 1, 6.9418, 0.2645, 1.4732, 0.5725),
        (0.63, 100, 27, 2, 6.6078, 0.2498, 1.3219, 0.5206),
        (0.63, math.inf, 100, 1, 5.7719, 0.3303, 0.8, 0.5764),
        (0.042, 100, 100, 1, 6.8928, 0.3023, 0.5008, 0.0286),
    ],
)
def test_the_biological_point_with_broken_symmetry(theta_s, n, K, k, alpha, p0, W_bar, output):
    populations = populations_of(NeuronSpec(BIOLOGICAL, 0.04, theta_s), SPARSE, n)
    found = broken_state(populations, theta_s, SPARSE, k, n_branches=K)
    (side,) = found.state.sides
    assert_allclose(found.state.alpha, alpha, atol=6e-5)
    assert_allclose([1.0 - side.active, side.W_bar, side.norm.output], [p0, W_bar, output], atol=6e-5)


MIRRORED = {
    0.5: (2.11597, 1.570421, 1.559842),
    0.2: (2.37513, 1.715828, 1.702923),
    0.05: (3.15530, 2.106824, 2.086860),
    0.01: (4.28998, 2.570851, 2.542145),
}


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("t", MIRRORED)
def test_halves_with_mirrored_outputs_have_the_capacity_of_either(k, t):
    """Saturating ReLU is its own mirror image: a half at 1 - t has the kernel of a half at t."""
    uniform = critical_capacity(NeuronSpec(SaturatingReLU(), 0.5, t), rsb=k)
    assert_allclose(uniform.alpha_c, MIRRORED[t][k], atol=6e-6 if k == 0 else 6e-7)
    assert_allclose(critical_capacity(halves(SaturatingReLU(), t, 1.0 - t), rsb=k).alpha_c, uniform.alpha_c, rtol=1e-9)


@pytest.mark.parametrize(
    ("theta_d", "n", "k", "splits", "alphas", "outputs"),
    [
        (0.1, math.inf, 1, (1, 4), (1.37463, 1.65174), (0.3502, 0.0601)),
        (0.5, 37, 1, (2, 6), (2.43179, 3.37419), (0.1615, 0.0056)),
        (0.5, 37, 2, (1,), (2.22399,), (0.3108,)),
        (1.0, math.inf, 2, (2,), (2.77626,), (0.1448,)),
    ],
)
def test_a_prescribed_split_of_the_mean_inputs(theta_d, n, k, splits, alphas, outputs):
    (population,) = populations_of(NeuronSpec(Polsky(), theta_d, 0.5), TaskSpec(), n)
    equal = broken_state([population], 0.5, TaskSpec(), k)
    start, begin = None, 0.0
    for split, alpha, output in zip(splits, alphas, outputs, strict=True):
        start = split_state(population, 0.5, TaskSpec(), k, equal, split, start=start, begin=begin)
        begin = split
        assert_allclose(start.state.alpha, alpha, atol=6e-6)
        assert_allclose(start.state.sides[0].norm.output, output, atol=3e-4)


STATES = {
    "short": (NeuronSpec(Polsky(), 0.1, 0.5), TaskSpec(), 37.0),
    "short-general": (NeuronSpec(BIOLOGICAL, 0.04, 0.63), SPARSE, 100.0),
    "halves": (halves(Polsky(), 0.2, 0.8), TaskSpec(), 37.0),
    "basal-apical": (BASAL_APICAL, TaskSpec(0.4, 0.3, 0.05), 50.0),
}


@pytest.mark.parametrize(
    ("case", "k"), [("short", 1), ("short", 2), ("short-general", 1), ("halves", 1), ("halves", 2), ("basal-apical", 1)]
)
def test_the_load_is_stationary_on_the_surface_of_constraints(case, k):
    """alpha = -F_S / F_E moves in second order only, in every direction that keeps outputs and common mu."""
    neuron, task, n = STATES[case]
    populations = populations_of(neuron, task, n)
    found = broken_state(populations, neuron.theta_s, task, k)
    assert abs(found.state.potential) < 1e-8
    equations = BrokenEquations(populations, task, neuron.theta_s, k)
    P, h = len(populations), 1e-4

    def at(x):
        state = equations.state(x)
        ratios = state.residuals[: (P - 1) * (k - 1)]  # of the breaking parameters
        return np.array([state.alpha, *(side.norm.output for side in state.sides), *ratios])

    slopes = []
    for step in h * np.eye(found.x.size):
        near, far = (at(found.x + c * step) - at(found.x - c * step) for c in (1, 2))
        slopes.append((8.0 * near - far) / (12.0 * h))
    slopes = np.array(slopes)
    constraints = slopes[:, 1:]
    along = slopes[:, 0] - constraints @ np.linalg.lstsq(constraints, slopes[:, 0], rcond=None)[0]
    assert np.max(np.abs(slopes[:, 0])) > 1e-2  # the constraints do bind
    assert np.max(np.abs(along)) < 1e-7 * found.state.alpha


def test_a_jacobian_computes_each_population_only_where_it_moves(monkeypatch):
    task = TaskSpec()
    populations = populations_of(BASAL_APICAL, task, 60.0)
    x = broken_state(populations, BASAL_APICAL.theta_s, task, 1).x
    computed, norm = [], PopulationKernel.norm

    def counted(self, *args):
        computed.append(self)
        return norm(self, *args)

    monkeypatch.setattr(PopulationKernel, "norm", counted)
    equations = BrokenEquations(populations, task, BASAL_APICAL.theta_s, 1)
    points = [x, *(x + 1e-6 * np.eye(x.size)), x]
    kept = [equations.residuals(point) for point in points]
    assert len(computed) == len(populations) + x.size
    fresh = [BrokenEquations(populations, task, BASAL_APICAL.theta_s, 1).residuals(point) for point in points]
    assert_array_equal(kept, fresh)


def test_unequal_branches_break_too():
    found = critical_capacity(BASAL_APICAL, rsb=1)
    alone = [
        critical_capacity(NeuronSpec(kind.nonlinearity, kind.theta_d, 0.5), rsb=1).alpha_c for kind in (BASAL, APICAL)
    ]
    assert min(alone) < found.alpha_c < max(alone)
    mirrored = NeuronSpec(populations=[APICAL, BASAL], theta_s=0.5)
    assert_allclose(critical_capacity(mirrored, rsb=1).alpha_c, found.alpha_c, rtol=1e-10)


def test_like_populations_are_one():
    parts = NeuronSpec(populations=[Branches(Polsky(), 0.3, x) for x in (0.3, 0.7)], theta_s=0.4)
    whole = critical_capacity(NeuronSpec(Polsky(), 0.3, 0.4), rsb=1)
    assert_allclose(critical_capacity(parts, rsb=1).alpha_c, whole.alpha_c, rtol=1e-11)


def test_a_neighbour_s_solution_is_a_start():
    first = critical_capacity(halves(Polsky(), 0.2, 0.8), rsb=1)
    warm = critical_capacity(halves(Polsky(), 0.21, 0.79), rsb=1, start=first)
    cold = critical_capacity(halves(Polsky(), 0.21, 0.79), rsb=1)
    assert_allclose(warm.alpha_c, cold.alpha_c, rtol=1e-11)


def test_a_margin_gives_a_finite_best_split():
    task = TaskSpec(kappa=0.1)
    found = critical_capacity(halves(Polsky(), "best", "best"), task, rsb=1)
    assert_allclose(found.alpha_c, 1.5826, atol=6e-5)
    assert_allclose(sorted(p.mean_output for p in found.populations), [0.277, 0.723], atol=3e-3)
    assert found.alpha_c > critical_capacity(NeuronSpec(Polsky(), 0.5, 0.5), task, rsb=1).alpha_c


def test_linear_branches_do_not_break():
    found = critical_capacity(NeuronSpec(Linear(), 0.5, 0.5), rsb=2, branch_size=37)
    assert "stable" in found.reason
    assert_allclose([found.alpha_c, found.silent_fraction], [1.0, 0.5], atol=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: critical_capacity(halves(Polsky(), 0.1, 0.8)), InvalidParameter, ["0.45", "theta_s = 0.5"]),
        (lambda: critical_capacity(halves(Polsky(), -0.2, 1.2)), NoSolution, ["mean output -0.2", "between 0 and 1"]),
        (lambda: critical_capacity(halves(Step(), 0.1, 0.9)), NoSolution, ["jumps"]),
        (lambda: critical_capacity(NeuronSpec(Polsky(), 0.0, 0.5), branch_size=9), InvalidParameter, ["theta_d = 0.0"]),
        (lambda: critical_capacity(NeuronSpec(Polsky(), 0.1, 0.5), branch_size=0.5), InvalidParameter, ["branch_size"]),
        (lambda: critical_capacity(NeuronSpec(Custom(np.sin), 0.1, 0.5), branch_size=9), InvalidParameter, ["falls"]),
        (lambda: critical_capacity(halves(Polsky(), 0.1, 0.9), rsb=-1), InvalidParameter, ["rsb = -1"]),
        (lambda: critical_capacity(halves(Polsky(), 0.1, 0.9)).weights, InvalidParameter, ["populations[i]"]),
        (lambda: critical_capacity(halves(Polsky(), 0.1, 0.9), rsb=1, start=2.0), InvalidParameter, ["start"]),
        (lambda: critical_capacity(TREE, branch_size=10), InvalidParameter, ["n_levels = 2"]),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("k", [1, 2])
def test_no_solution_has_a_negative_mean_weight(k):
    """On short branches the mean weight follows the mean input, which here is far below zero; the message says so."""
    logistic = Custom(lambda x: 0.5 + 0.5 * np.tanh(2.0 * x), lambda x: np.cosh(2.0 * x) ** -2.0)
    with pytest.raises(NoSolution, match="negative") as caught:
        critical_capacity(NeuronSpec(logistic, 0.02, 0.3), rsb=k, branch_size=37)
    assert "37 synapses" in str(caught.value)
    # no threshold of another neuron from which the search would have begun
    assert set(re.findall(r"theta_d = ([-\d.e]+)", str(caught.value))) == {"0.02"}
