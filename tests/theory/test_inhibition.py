"""Inhibitory synapses that learn: reference values, potentials, known linear results, limits, simulation."""

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dendrocap as dc
from dendrocap import (
    Branches,
    DendriticNeuron,
    Inhibition,
    InvalidParameter,
    Level,
    Linear,
    NeuronSpec,
    Polsky,
    ReLU,
    SaturatingReLU,
    TaskSpec,
    branch_stability,
    capacity,
    critical_capacity,
    saddle_point,
    stability_limit,
)
from dendrocap.theory.broken import BrokenEquations
from dendrocap.theory.load import Equations, Solutions
from dendrocap.theory.neuron_kernel import PopulationKernel, populations_of, shape_at, synapse_types
from dendrocap.theory.patterns import Energetic
from dendrocap.theory.search import broken_state
from dendrocap.theory.symmetric import symmetric_state
from dendrocap.theory.weights import Law

NONLINEARITIES = {"relu": ReLU(), "saturating": SaturatingReLU(), "polsky": Polsky()}
SPARSE = TaskSpec(f_in=0.2, f_out=0.3, kappa=0.1)


def inhibited(g=None, theta_d=0.5, drive=0.25, share=0.2, theta_s=0.5, f_in=None):
    return NeuronSpec(g or Polsky(), theta_d, theta_s, inhibition=Inhibition(share, drive, f_in))


MIXED = NeuronSpec(
    populations=[
        Branches(Polsky(), 0.4, 0.5, inhibition=Inhibition(0.2, 0.2)),
        Branches(ReLU(), 0.5, 0.5, length=1.5, f_in=0.3),
    ],
    theta_s=0.5,
)


# Reference values -----------------------------------------------------------------------------------------------------

TABLE = [
    (0.5, 0.1, "relu", 1.4114112, 1.3157391),
    (0.5, 0.1, "saturating", 2.4515837, 1.6731889),
    (0.5, 0.1, "polsky", 5.8357563, 2.2432847),
    (0.5, 0.25, "relu", 1.4358789, 1.3136305),
    (0.5, 0.25, "saturating", 2.8787878, 1.7339849),
    (0.5, 0.25, "polsky", 6.9805240, 2.2879592),
    (0.5, 0.5, "relu", 1.2992413, 1.1557813),
    (0.5, 0.5, "saturating", 3.3292076, 1.6275244),
    (0.5, 0.5, "polsky", 8.2404395, 2.1168211),
    (2.0, 1.5, "relu", 2.0409059, 1.6321486),
    (2.0, 1.5, "saturating", 11.6286145, 2.4770672),
    (2.0, 1.5, "polsky", 29.5927435, 2.9640247),
]


@pytest.mark.parametrize(("theta_d", "drive", "g", "symmetric", "one_step"), TABLE)
def test_capacities_against_reference_values(theta_d, drive, g, symmetric, one_step):
    neuron = inhibited(NONLINEARITIES[g], theta_d, drive)
    assert_allclose(critical_capacity(neuron).alpha_c, symmetric, atol=6e-8)
    assert_allclose(critical_capacity(neuron, rsb=1).alpha_c, one_step, atol=6e-8)


@pytest.mark.parametrize(("drive", "silent"), [(0.1, (0.231, 0.275)), (0.25, (0.258, 0.136)), (0.5, (0.306, 0.090))])
def test_silent_fractions_of_both_types(drive, silent):
    (branches,) = critical_capacity(inhibited(drive=drive), rsb=1).populations
    excitatory, inhibitory = branches.synapses
    assert (excitatory.kind, inhibitory.kind) == ("excitatory", "inhibitory")
    assert_allclose([excitatory.silent_fraction, inhibitory.silent_fraction], silent, atol=6e-4)
    assert_allclose(branches.silent_fraction, 0.8 * excitatory.silent_fraction + 0.2 * inhibitory.silent_fraction)


def test_finite_load_against_reference_values():
    point = saddle_point(inhibited(), alpha=0.5)
    excitatory, inhibitory = point.populations[0].synapses
    assert_allclose([point.free_entropy, point.energetic_term], [0.892431524, -1.007929813], atol=6e-10)
    assert_allclose([excitatory.Q, inhibitory.Q], [3.68033941, 14.43627374], atol=6e-9)
    assert_allclose([excitatory.q / excitatory.Q, inhibitory.q / inhibitory.Q], [0.59911046, 0.72644683], atol=6e-9)
    assert_allclose(saddle_point(inhibited(), alpha=2.0).free_entropy, -1.009483108, atol=6e-10)


# Known linear results -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "w", "f", "kappa", "alpha", "connected"),
    [
        (0.2, 10.0, 0.2, 3.0, 0.752344977, (0.3429247, 0.4191555)),
        (0.2, 70.0, 0.2, 20.0, 0.653182720, None),
        (0.5, 12.0, 0.3, 2.0, 0.794460467, None),
        (0.15, 30.0, 0.1, 5.0, 1.148537648, None),
    ],
)
def test_against_zhang_zhang_and_stepanyants(share, w, f, kappa, alpha, connected):
    """Their l1 norm w and threshold 1 are drives (w f + 1) / 2 and (w f - 1) / 2; f_out = f_in."""
    neuron = inhibited(Linear(), (w * f + 1.0) / 2.0, (w * f - 1.0) / 2.0, share)
    found = critical_capacity(neuron, TaskSpec(f, f, kappa))
    assert_allclose(found.alpha_c, alpha, atol=6e-10)
    if connected is not None:
        fractions = [1.0 - one.silent_fraction for one in found.populations[0].synapses]
        assert_allclose(fractions, connected, atol=6e-8)


@pytest.mark.parametrize(
    ("phi", "f_exc", "f_out", "alpha"),
    [(1.0, 0.2, 0.5, 0.74973911), (math.sqrt(2.0), 0.5, 0.1, 1.92017292), (1.0, 0.8, 0.5, 1.0), (1.0, 0.6, 0.5, 1.0)],
)
def test_against_rubin_abbott_and_sompolinsky(phi, f_exc, f_out, alpha):
    """They bound the norm and leave the drive free: our load, maximised over it. phi is CV_E / CV_I of the inputs."""
    task = TaskSpec(f_in=1.0 / (1.0 + phi**2), f_out=f_out)

    best = dc.theory.best_inhibition(NeuronSpec(Linear(), 1.0, 0.5), task, share=1.0 - f_exc, f_in=0.5)
    assert_allclose(best.alpha_c, alpha, atol=6e-9)
    balanced = f_exc / phi < 1.0 - f_exc  # w_E / CV_E < w_I / CV_I: without a threshold
    assert balanced == (best.neuron.inhibition.drive == 1.0)


# Limits ---------------------------------------------------------------------------------------------------------------


def test_no_inhibitory_synapses_is_the_plain_neuron():
    plain, none = NeuronSpec(Polsky(), 0.5, 0.5), inhibited(drive=0.0, share=0.0)
    for rsb in (0, 1):
        assert critical_capacity(none, SPARSE, rsb=rsb).alpha_c == critical_capacity(plain, SPARSE, rsb=rsb).alpha_c
    assert saddle_point(none, alpha=0.4).free_entropy == saddle_point(plain, alpha=0.4).free_entropy
    assert stability_limit(none).alpha == stability_limit(plain).alpha
    few = inhibited(drive=0.5e-9, share=1e-9)
    assert_allclose(critical_capacity(few, SPARSE).alpha_c, critical_capacity(plain, SPARSE).alpha_c, rtol=1e-7)


@pytest.mark.parametrize("rsb", [0, 1, 2])
def test_two_types_that_are_alike_are_one(rsb):
    """Signs drop out: with equal mean strengths, E and I synapses are synapses of one type with the same mean."""
    task = TaskSpec(f_in=0.3, kappa=0.05)
    share, W_bar = 0.3, 1.4
    neuron = inhibited(SaturatingReLU(), 0.7 * 0.3 * W_bar, share * 0.3 * W_bar, share)
    found = critical_capacity(neuron, task, rsb=rsb)
    plain = critical_capacity(NeuronSpec(SaturatingReLU(), 0.3 * W_bar, 0.5), task, rsb=rsb)
    assert_allclose(found.alpha_c, plain.alpha_c, rtol=1e-9)
    (branches,) = found.populations
    for one in branches.synapses:
        assert_allclose([one.Q, one.W_bar, one.silent_fraction], [plain.Q, W_bar, plain.silent_fraction], rtol=2e-6)
        assert_allclose([one.weights.mean(), one.weights.second_moment()], [one.W_bar, one.Q], rtol=1e-6)
    if rsb == 0:
        point, alone = saddle_point(neuron, task, alpha=0.4), saddle_point(
            NeuronSpec(SaturatingReLU(), 0.3 * W_bar, 0.5), task, alpha=0.4
        )  # fmt: skip
        assert_allclose([point.free_entropy, point.stability], [alone.free_entropy, alone.stability], rtol=1e-8)


@pytest.mark.parametrize("g", list(NONLINEARITIES.values()), ids=repr)
def test_dead_inhibition(g):
    """At drive 0 a share of the synapses is lost: weights sqrt(0.8) W on 0.8 n synapses are the plain neuron's."""
    dead, rest = inhibited(g, drive=0.0), NeuronSpec(g, 0.5 / math.sqrt(0.8), 0.5)
    for rsb in (0, 1):
        found = critical_capacity(dead, rsb=rsb)
        assert_allclose(found.alpha_c, 0.8 * critical_capacity(rest, rsb=rsb).alpha_c, rtol=1e-9)
        excitatory, inhibitory = found.populations[0].synapses
        assert (inhibitory.silent_fraction, inhibitory.Q, inhibitory.weights) == (1.0, 0.0, None)
        assert_allclose(excitatory.W_bar, 0.5 / (0.8 * 0.5))
        assert_allclose(found.silent_fraction, 0.2 + 0.8 * excitatory.silent_fraction)
    # It is the limit of weak inhibition.
    assert_allclose(critical_capacity(inhibited(g, drive=1e-9)).alpha_c, critical_capacity(dead).alpha_c, rtol=1e-7)
    for drive in (1e-240, 1e-260, 2.3e-309):  # tails at the end of floating point
        assert critical_capacity(inhibited(g, drive=drive)).alpha_c == critical_capacity(dead).alpha_c
    point, alone = saddle_point(dead, alpha=0.4), saddle_point(rest, alpha=0.5)
    excitatory, inhibitory = point.populations[0].synapses
    assert_allclose(0.8 * excitatory.Q, alone.Q, rtol=1e-8)
    assert_allclose([point.energetic_term, point.stability], [alone.energetic_term, alone.stability], rtol=1e-7)
    assert point.free_entropy == -math.inf  # weights that must all be zero have no volume
    assert inhibitory.weights is None


def test_two_solutions_meet_at_capacity():
    alpha_c = critical_capacity(inhibited()).alpha_c
    capacity_state = critical_capacity(inhibited()).populations[0].synapses
    point = saddle_point(inhibited(), alpha=0.9995 * alpha_c)
    for one, at_capacity_ in zip(point.populations[0].synapses, capacity_state, strict=True):
        assert one.dq / one.Q < 1e-3
        assert_allclose(one.Q, at_capacity_.Q, rtol=2e-2)


def test_distances_between_close_solutions_differ_between_populations():
    """r_p of the capacity, lengths included, is what the distances at a load tend to."""
    (one, other) = critical_capacity(MIXED).populations
    alpha = 0.99999 * critical_capacity(MIXED).alpha_c
    point = saddle_point(MIXED, alpha=alpha)
    first, second = point.populations
    # distances in the units of the theory: variance of the branch input per variance of one input
    distance = [(p.preactivation_sd**2 - p.preactivation_covariance) / v for p, v in ((first, 0.25), (second, 0.21))]
    assert_allclose(distance[1] / distance[0], other.gap / one.gap, rtol=2e-2)


# Potentials -----------------------------------------------------------------------------------------------------------


def test_types_at_capacity_are_those_of_their_means():
    types = synapse_types(Inhibition(0.3, 0.2, 0.4), 0.5, 0.25)
    at = shape_at(0.3, types)
    weights = [dc.theory.CapacityWeights(B, at.W_star) for B in at.B]
    assert_allclose([one.mean() for one in weights], [one.strength for one in types], rtol=1e-12)
    second = sum(one.share * weight.second_moment() for one, weight in zip(types, weights, strict=True))
    active = sum(one.share * (1.0 - weight.silent_fraction) for one, weight in zip(types, weights, strict=True))
    assert_allclose([at.Q, at.A], [second, active], rtol=1e-12)
    # drives: share f W_bar
    W_bar = 0.5 / (0.7 * 0.25)
    assert_allclose(types[1].strength * W_bar / types[1].scale * 0.3 * 0.4, 0.2, rtol=1e-12)


@pytest.mark.parametrize("neuron", [inhibited(), inhibited(ReLU(), f_in=0.3), MIXED], ids=["one", "own f_in", "mixed"])
@pytest.mark.parametrize("task", [TaskSpec(), replace(SPARSE, branch_correlation=2.0)], ids=["plain", "general"])
def test_the_replica_symmetric_load_is_largest(neuron, task):
    """[pop-load], written out from the definitions, falls in every direction of the B_p."""
    populations = populations_of(neuron, task, None)
    found = symmetric_state(populations, task)

    def load(shapes):
        R = Gamma0 = 0.0
        for population, B in zip(populations, shapes, strict=True):
            kernel, at = PopulationKernel(population), shape_at(B, population.types)
            m, W_bar = kernel.mean_input(at.Q), population.W_bar(0.0)
            norm = kernel.norm(m, at.Q * W_bar**2)
            y = at.W_star * W_bar
            R += population.fraction * math.sqrt(population.length * norm.Gamma1) * y * at.A
            Gamma0 += population.fraction * norm.Gamma0
        if task.kappa == 0.0 and task.f_out == 0.5:
            return 2.0 * R**2 / Gamma0
        from dendrocap.theory.patterns import label_averages

        return R**2 / (Gamma0 * label_averages(task.f_out, task.kappa / math.sqrt(Gamma0)).second)

    best = np.array([side.shapes[0] for side in found.sides])
    assert_allclose(load(best), found.alpha, rtol=1e-12)
    for direction in np.eye(best.size):
        for step in (1e-3, 1e-2):
            assert load(best + step * direction) < found.alpha
            assert load(best - step * direction) < found.alpha


@pytest.mark.parametrize("neuron", [inhibited(), inhibited(ReLU(), f_in=0.3), MIXED], ids=["one", "own f_in", "mixed"])
@pytest.mark.parametrize("task", [TaskSpec(), replace(SPARSE, branch_correlation=2.0)], ids=["plain", "general"])
def test_the_saddle_point_is_one_of_the_free_entropy(neuron, task):
    """phi of all order parameters, each type with conjugates of its own, is stationary at the solution."""
    alpha, point = 0.25, saddle_point(neuron, task, alpha=0.25)
    populations = populations_of(neuron, task, None)
    kernels = [PopulationKernel(population) for population in populations]
    x = []  # Q, dq, A_hat, q_hat, M_hat of each type of each population, in its own units; then the shift
    for kind in point.populations:
        for one in kind.synapses:
            x += [one.Q, one.dq, one.A_hat, one.q_hat, one.M_hat]

    def phi(x):
        x = iter(x)
        total = D0 = D1 = 0.0
        for population, kernel, kind in zip(populations, kernels, point.populations, strict=True):
            Q = dq = 0.0
            for one, typical in zip(population.types, kind.synapses, strict=True):
                own_Q, own_dq, A_hat, q_hat, M_hat = (next(x) for _ in range(5))
                Q += one.share * one.scale**2 * own_Q
                dq += one.share * one.scale**2 * own_dq
                constraints = 0.5 * (own_Q * A_hat - own_dq * q_hat) - typical.W_bar * M_hat
                total += population.share * one.share * (constraints + Law().averages(A_hat, q_hat, M_hat).term)
            W_bar = population.W_bar(0.0)
            norm = kernel.norm(kernel.mean_input(Q / W_bar**2), Q, population.mean_output)
            overlap = kernel.overlap(kernel.mean_input(Q / W_bar**2), Q, dq, norm)
            D0 += population.fraction * (norm.Gamma0 - overlap.D1)
            D1 += population.fraction * overlap.D1

        class Soma:
            pass

        soma = Soma()
        soma.D0, soma.D1 = D0, D1
        return total + alpha * Energetic.at(soma, task, point.mean_shift).term

    x = np.array(x)
    assert_allclose(phi(x), point.free_entropy, rtol=1e-9)
    for i in range(x.size):
        step = 1e-4 * abs(x[i]) * np.eye(x.size)[i]
        near, far = (phi(x + c * step) - phi(x - c * step) for c in (1, 2))
        slope = (8.0 * near - far) / (12.0 * 1e-4)  # in units of the variable
        assert abs(slope) < 2e-8, i
    # a variable by itself does matter: the curvature is there
    assert abs(phi(x * np.where(np.arange(x.size) == 0, 1.01, 1.0)) - phi(x)) > 1e-7


def test_the_free_entropy_falls_by_the_energetic_term():
    h = 1e-3
    up, down = (saddle_point(inhibited(), alpha=0.5 + step).free_entropy for step in (h, -h))
    assert_allclose((up - down) / (2 * h), saddle_point(inhibited(), alpha=0.5).energetic_term, rtol=1e-5)


@pytest.mark.parametrize(
    ("neuron", "task", "k"),
    [
        (inhibited(), TaskSpec(), 1),
        (inhibited(), TaskSpec(), 2),
        (inhibited(ReLU(), f_in=0.3), replace(SPARSE, branch_correlation=1.0), 1),
        (MIXED, TaskSpec(branch_correlation=1.0), 1),
    ],
    ids=["one step", "two steps", "general", "mixed"],
)
def test_the_broken_load_is_stationary_on_the_surface_of_constraints(neuron, task, k):
    """alpha = -F_S / F_E moves in second order only, in every direction that keeps outputs, means and common mu."""
    populations = populations_of(neuron, task, None)
    found = broken_state(populations, neuron.theta_s, task, k)
    assert abs(found.state.potential) < 1e-8
    equations = BrokenEquations(populations, task, neuron.theta_s, k)
    P, h = len(populations), 1e-4
    means = sum(len(population.types) - 1 for population in populations)

    def at(x):
        state = equations.state(x)
        kept = state.residuals[: (P - 1) * (k - 1) + means]  # of the breaking parameters and of the mean strengths
        return np.array([state.alpha, *(side.norm.output for side in state.sides), *kept])

    slopes = []
    for step in h * np.eye(found.x.size):
        near, far = (at(found.x + c * step) - at(found.x - c * step) for c in (1, 2))
        slopes.append((8.0 * near - far) / (12.0 * h))
    slopes = np.array(slopes)
    constraints = slopes[:, 1:]
    along = slopes[:, 0] - constraints @ np.linalg.lstsq(constraints, slopes[:, 0], rcond=None)[0]
    assert np.max(np.abs(slopes[:, 0])) > 1e-3  # the constraints do bind
    assert np.max(np.abs(along)) < 1e-7 * found.state.alpha


def test_a_second_step_lowers_the_capacity():
    one, two = (critical_capacity(inhibited(), rsb=rsb).alpha_c for rsb in (1, 2))
    assert one > two > 0.98 * one


@pytest.mark.slow
def test_the_limit_of_many_steps():
    full = critical_capacity(inhibited(), rsb="full")
    _, one, two, three, *_ = full.by_steps
    assert one > two > three > full.alpha_c > 0.99 * three
    assert_allclose(critical_capacity(inhibited(), rsb=3).alpha_c, three, rtol=1e-8)


def test_stability_limit():
    limit = stability_limit(inhibited())
    assert_allclose(limit.alpha, saddle_point(inhibited(), alpha=limit.alpha).alpha)
    assert abs(saddle_point(inhibited(), alpha=limit.alpha).stability) < 1e-7
    assert saddle_point(inhibited(), alpha=0.98 * limit.alpha).stability > 0.0
    found = branch_stability(inhibited())
    assert not found.stable
    assert_allclose(found.alpha_c, 2.2879592, atol=6e-8)


# With correlated inputs -----------------------------------------------------------------------------------------------


def test_inhibition_takes_back_the_common_fluctuation():
    """Equal drives of equally active inputs leave nothing of it [correlated-input]."""
    for rsb in (0, 1):
        independent = critical_capacity(inhibited(drive=0.5), rsb=rsb)
        correlated = critical_capacity(inhibited(drive=0.5), TaskSpec(branch_correlation=5.0), rsb=rsb)
        assert_allclose(correlated.alpha_c, independent.alpha_c, rtol=1e-9)
        assert correlated.populations[0].common_variance < 1e-20
    (branches,) = critical_capacity(inhibited(drive=0.25), TaskSpec(branch_correlation=2.0)).populations
    net = 0.8 * 0.5 * 1.25 - 0.2 * 0.5 * 2.5  # sum of +- w sqrt(v) W_bar
    assert_allclose(branches.common_variance, 2.0 * net**2, rtol=1e-12)
    excitatory, inhibitory = branches.synapses
    V = 0.25 * (0.8 * excitatory.Q + 0.2 * inhibitory.Q) + 2.0 * net**2
    assert_allclose(branches.preactivation_sd**2, V, rtol=1e-12)


def test_covariance_of_two_solutions():
    (branches,) = saddle_point(inhibited(f_in=0.3), replace(SPARSE, branch_correlation=1.5), alpha=0.2).populations
    shared = branches.common_variance + sum(
        one.share * one.f_in * (1.0 - one.f_in) * one.q for one in branches.synapses
    )
    assert_allclose(branches.preactivation_covariance, shared, rtol=1e-9)
    assert_allclose(
        branches.W_bar, sum(s * one.share * one.W_bar for s, one in zip((1, -1), branches.synapses, strict=True))
    )


# Simulation -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("setting", [(3.0, 0.0, 0.0), (0.0, 0.4, 0.3), (3.0, 0.25, 0.25)])
def test_linear_programming(setting):
    """120 synapses on one branch."""
    from studies.linear_programming import at_finite_size, stored_patterns

    found = [stored_patterns(seed, *setting, n_inputs=120, n_branches=1) for seed in range(40)]
    mean, error = np.mean(found), np.std(found, ddof=1) / math.sqrt(len(found))
    assert abs(mean - 120 * at_finite_size(*setting, n_inputs=120, n_branches=1)) < 3.0 * error


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: critical_capacity(inhibited(), branch_size=37), r"inhibition = .* None for branch_size"),
        (
            lambda: saddle_point(inhibited(), alpha=0.5, branch_size=37),
            r"inhibition = .* None for branch_size",
        ),
        (lambda: stability_limit(MIXED, branch_size=37), r"inhibition = .* leave branch_size out"),
        (lambda: branch_stability(inhibited(), branch_size=37), r"inhibition = .* leave branch_size out"),
        (lambda: capacity(DendriticNeuron(inhibited(), 999, 27)), r"inhibition = .* a NeuronSpec stands for"),
        (
            lambda: capacity(DendriticNeuron(MIXED, 999, 27), accuracy="fast"),
            r"inhibition = .* a NeuronSpec stands for",
        ),
        (lambda: dc.theory.zero_load(inhibited()), r"inhibition = .* None for"),
        (lambda: dc.theory.perceptron_limit(inhibited()), r"inhibition = .* None for"),
        (lambda: critical_capacity(inhibited()).populations[0].weights, r"synapses\[i\]\.weights"),
        (lambda: critical_capacity(inhibited()).weights, r"synapses\[i\]\.weights"),
        (lambda: saddle_point(inhibited(), alpha=0.5).populations[0].weights, r"synapses\[i\]\.weights"),
        (lambda: critical_capacity(inhibited(dc.Custom(np.sin), theta_s=0.3)), r"never falls for .*inhibition"),
        (
            lambda: NeuronSpec(levels=[Level(ReLU(), 0.5)], theta_s=0.5, inhibition=Inhibition(0.2, 0.1)),
            r"cannot be combined with levels",
        ),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()


def test_the_best_estimate_of_many_branches():
    found = capacity(inhibited())
    one, two = (critical_capacity(inhibited(), rsb=rsb).alpha_c for rsb in (1, 2))
    assert found.estimates["broken symmetry k = 1"] == pytest.approx(one)
    assert two * 0.98 < found.alpha_c < two
    assert found.paper_alpha_c == pytest.approx(6.9805240)
    kinds = {one.kind: one.silent_fraction for one in found.populations[0].synapses}
    assert kinds["inhibitory"] < kinds["excitatory"]
    fast = capacity(inhibited(), accuracy="fast")
    assert fast.alpha_c == pytest.approx(one)


def test_a_curve_over_inhibited_neurons():
    curve = dc.capacity_curve(inhibited(), theta_d=[0.5, 1.0])
    assert_allclose(float(curve.alpha_c[0]), 6.9805240, atol=6e-8)


def test_residuals_vanish_with_several_types_and_populations():
    task = replace(SPARSE, branch_correlation=2.0)
    equations = Equations(populations_of(MIXED, task, None), task)
    assert np.max(np.abs(equations.residuals(Solutions(MIXED, task).at(0.25).x, math.log(0.25)))) < 1e-9


# Every function of the theory with a neuron --------------------------------------------------------------------------

TAKEN = {
    "critical_capacity": (lambda neuron: critical_capacity(neuron), lambda found: found.alpha_c),
    "saddle_point": (lambda neuron: saddle_point(neuron, alpha=0.4), lambda found: found.Q),
    "stability_limit": (lambda neuron: stability_limit(neuron), lambda found: found.alpha),
    "branch_stability": (lambda neuron: branch_stability(neuron), lambda found: found.alpha_c),
    "capacity": (lambda neuron: capacity(neuron, accuracy="fast"), lambda found: found.alpha_c),
    "capacity_curve": (lambda neuron: dc.capacity_curve(neuron, theta_s=[0.5]), lambda found: float(found.alpha_c[0])),
    "saddle_point_curve": (lambda neuron: dc.saddle_point_curve(neuron, alpha=[0.4]), lambda found: float(found.Q[0])),
}
REFUSED = {
    "broken_saddle_point": lambda neuron: dc.broken_saddle_point(neuron, alpha=1.0),
    "complexity_curve": lambda neuron: dc.complexity_curve(neuron, alpha=1.0, m=[0.5]),
    "learned_state": lambda neuron: dc.learned_state(neuron, alpha=0.5, gamma_ce=1.0),
    "local_entropy": lambda neuron: dc.local_entropy(neuron, alpha=0.5),
    "maximal_margin": lambda neuron: dc.maximal_margin(neuron, alpha=0.5),
    "least_noise_error": lambda neuron: dc.least_noise_error(neuron, alpha=0.5, flips=0.05),
    "teacher_student": lambda neuron: dc.teacher_student(neuron, alpha=0.5),
    "perceptron_limit": lambda neuron: dc.theory.perceptron_limit(neuron),
    "best_inhibition": lambda neuron: dc.theory.best_inhibition(neuron, share=0.2),
    "large_margin_capacity": lambda neuron: dc.theory.large_margin_capacity(neuron),
    "sparse_labels_capacity": lambda neuron: dc.theory.sparse_labels_capacity(neuron, 0.01),
    "zero_load": lambda neuron: dc.theory.zero_load(neuron),
}


@pytest.mark.parametrize("name", TAKEN)
def test_inhibition_is_taken(name):
    call, of = TAKEN[name]
    assert abs(of(call(inhibited())) / of(call(NeuronSpec(Polsky(), 0.5, 0.5))) - 1.0) > 1e-3


@pytest.mark.parametrize("name", REFUSED)
def test_inhibition_is_refused_by_name(name):
    with pytest.raises(InvalidParameter, match=r"inhibition = Inhibition\(share=0.2, drive=0.25\) is not allowed"):
        REFUSED[name](inhibited())
    with pytest.raises(InvalidParameter, match=r"population|inhibition = Inhibition\(share=0.2, drive=0.2\)"):
        REFUSED[name](MIXED)
    without = replace(MIXED, populations=[replace(kind, inhibition=None) for kind in MIXED.populations])
    with pytest.raises(InvalidParameter, match="population"):
        REFUSED[name](without)


WITHOUT_SIZE = {**{name: call for name, (call, _) in TAKEN.items() if name != "capacity"}, **REFUSED}


@pytest.mark.parametrize("name", WITHOUT_SIZE)
def test_what_is_no_neuron_is_refused_with_the_way_out(name):
    """Here because these are all functions of the theory with a neuron."""
    sized = DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), 999, 27)
    with pytest.raises(InvalidParameter, match=r"neuron = .*DendriticNeuron.* must be a NeuronSpec: .*\.spec"):
        WITHOUT_SIZE[name](sized)
    for other in (Polsky(), TaskSpec(), None):
        with pytest.raises(InvalidParameter, match=r"neuron = .* must be a NeuronSpec$"):
            WITHOUT_SIZE[name](other)


def test_no_function_is_left_out():
    found = set()
    for module in (dc, dc.theory):
        for name in dir(dc) if module is dc else module.__all__:
            thing = getattr(module, name)
            of_theory = inspect.isfunction(thing) and thing.__module__.startswith(
                ("dendrocap.theory", "dendrocap.answers")
            )
            if of_theory and "neuron" in inspect.signature(thing).parameters:
                found.add(name)
    assert found == set(TAKEN) | set(REFUSED)


def test_mean_weights_of_both_kinds_are_the_means_of_their_distributions():
    neuron = NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(0.2, 0.25, f_in=0.3))
    (population,) = critical_capacity(neuron).populations
    for one in population.synapses:
        assert_allclose([one.W_bar, one.Q], [one.weights.mean(), one.weights.second_moment()], rtol=1e-12)
    # Mean input of a branch: f_in W_bar (1 - share) - f_i W_i share is its threshold.
    excitatory, inhibitory = population.synapses
    assert_allclose(0.5 * 0.8 * excitatory.W_bar - 0.3 * 0.2 * inhibitory.W_bar, 0.25, rtol=1e-12)
