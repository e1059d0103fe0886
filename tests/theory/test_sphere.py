"""Spherical weights: the committee machines of the literature, whose values are published or closed."""

import math
from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad, trapezoid
from scipy.optimize import minimize_scalar
from scipy.special import erf, logsumexp

import dendrocap as dc
from dendrocap import Custom, Level, Linear, NeuronSpec, ReLU, TaskSpec, critical_capacity, saddle_point
from dendrocap.errors import InvalidParameter, NoSolution
from dendrocap.model import Spherical
from dendrocap.theory.broken import BrokenEquations
from dendrocap.theory.neuron_kernel import Norm, Overlap, PopulationKernel
from dendrocap.theory.search import first_step
from dendrocap.theory.sphere import Sphere


def committee(*levels):
    """A tree committee, with the units of each level from the inputs to the output."""
    if len(levels) == 1:
        return NeuronSpec(levels[0], theta_d=0.0, prior=Spherical())
    return NeuronSpec(levels=[Level(g, 0.0) for g in levels], prior=Spherical())


def capacity(g, rsb, task=None):
    return critical_capacity(committee(*g) if isinstance(g, list) else committee(g), task, rsb=rsb)


def limit(g, task=None):
    return dc.stability_limit(committee(*g) if isinstance(g, list) else committee(g), task).alpha


def erf_unit(scale):
    return Custom(lambda x: erf(scale * x), lambda x: 2.0 * scale / np.sqrt(np.pi) * np.exp(-((scale * x) ** 2)))


def hermite(n):
    """The n-th Hermite polynomial of probability theory."""
    he = np.polynomial.hermite_e.HermiteE.basis(n)
    slope = he.deriv()
    return Custom(lambda x: he(x), lambda x: slope(x), domain=(-12.0, 12.0))


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("kappa", [0.0, 0.5])
def test_committee_with_orthogonal_clusters(n, kappa):
    """With q_0 = 0 both sides are closed: alpha is the minimum over mu of a ratio of logarithms."""
    task = TaskSpec(kappa=kappa)
    found = capacity(hermite(n), 1, task)
    variance, gain = factorial(n), n * factorial(n)
    v = kappa / np.sqrt(variance)

    def load(log_mu):
        mu = np.exp(log_mu)
        t = mu * variance / gain
        return 0.5 * np.log1p(mu) / -np.log(_one_sided(v, t))

    best = minimize_scalar(load, bounds=(-3.0, 8.0), method="bounded", options={"xatol": 1e-9})
    assert_allclose(found.alpha_c, best.fun, rtol=1e-9)
    assert found.overlaps == (0.0,)
    if n == 3 and kappa == 0.0:
        assert_allclose(found.alpha_c, 3.9507, atol=5e-5)
        assert_allclose(capacity(hermite(3), 2).alpha_c, 3.94717, atol=6e-6)


@pytest.mark.parametrize(
    ("n", "kappa"),
    [(3, 0.0), pytest.param(6, 0.0, marks=pytest.mark.slow), pytest.param(4, 0.5, marks=pytest.mark.slow)],
)
def test_committee_goes_on_from_orthogonal_clusters(n, kappa):
    """Two steps with q_0 = 0 are stationary in a load of plain sums, and have its value; more steps are lower still."""
    found = capacity(hermite(n), 3, TaskSpec(kappa=kappa))
    assert found.overlaps[0] == 0.0
    assert found.residual < 1e-9
    assert np.all(np.diff(found.by_steps) < 0.0)
    two = capacity(hermite(n), 2, TaskSpec(kappa=kappa))
    variance, gain = factorial(n), n * factorial(n)
    # Only the inner average has a kink, and mu_1 / mu_2 is small: rare inner fields count.
    coarse, fine = np.linspace(-9.0, 9.0, 201), np.linspace(-60.0, 9.0, 6901)
    wide, narrow = (np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * (z[1] - z[0]) for z in (coarse, fine))

    def load(y):
        (mu_1, mu_2), q = np.exp(y[:2]), 1.0 - np.exp(y[2])
        inner = 1.0 + mu_2 * (1.0 - q)
        entropy = 0.5 * (np.log(inner) / mu_2 + np.log(1.0 + mu_1 * q / inner) / mu_1)
        h = kappa + np.sqrt(variance * q**n) * coarse[:, None] + np.sqrt(variance * (1.0 - q**n)) * fine
        f_1 = logsumexp(-0.5 * mu_2 * np.maximum(h, 0.0) ** 2 / gain, axis=1, b=narrow) / mu_2
        return -entropy * mu_1 / logsumexp(mu_1 * f_1, b=wide)

    at = np.array([*np.log(two.breaking_points) + np.log(two.Q), np.log(1.0 - two.overlaps[1] / two.Q)])
    assert_allclose(load(at), two.alpha_c, rtol=1e-6)
    slopes = [(load(at + 1e-3 * e) - load(at - 1e-3 * e)) / 2e-3 for e in np.eye(3)]
    assert_allclose(slopes, 0.0, atol=2e-5)


def test_deep_committee_is_a_composition_of_kernels():
    """Two levels of erf units have a closed kernel; a linear level on top changes nothing."""
    units = [erf_unit(math.sqrt(0.5))] * 2
    below = 2.0 / np.pi * np.arcsin(0.5)  # variance of the first level

    def covariance(q):
        return 2.0 / np.pi * np.arcsin(2.0 / np.pi * np.arcsin(q / 2.0) / (1.0 + below))

    def slope(q, h=1e-6):
        return (covariance(q + h) - covariance(q - h)) / (2.0 * h)

    class Closed(PopulationKernel):
        def norm(self, m, Q, output=None):
            unused = math.nan
            return Norm(0.0, 1.0, 0.0, covariance(1.0), unused, unused, slope(1.0), unused, unused)

        def overlap(self, m, Q, dq, at_norm):
            unused = math.nan
            return Overlap(covariance(1.0) - covariance(1.0 - dq), unused, unused, slope(1.0 - dq), *[unused] * 3)

    found = capacity(units, 2)
    assert_allclose(found.by_steps[0], 2.0 * slope(1.0) / covariance(1.0), rtol=1e-9)
    sphere = Sphere(committee(*units), TaskSpec())
    kernel = Closed(sphere.population)
    one = first_step(BrokenEquations([sphere.population], TaskSpec(), 0.0, 1, kernels=[kernel], sphere=1.0))
    assert_allclose(found.by_steps[1], one.state.alpha, rtol=1e-8)
    assert found.by_steps[2] < found.by_steps[1]
    pair, Q = sphere.pair(0.3 * sphere.Q), sphere.Q
    curvature = (slope(0.701) - slope(0.699)) / 0.002
    assert_allclose(
        [pair.D0, pair.dD1_ddq * Q, pair.d2D0_dq2 * Q**2], [covariance(0.7), slope(0.7), curvature], rtol=1e-6
    )
    for g in (erf_unit(1.0), hermite(3)):
        alone, with_level = capacity(g, 2), capacity([g, Linear()], 2)
        assert_allclose(with_level.by_steps, alone.by_steps, rtol=1e-9)
        assert limit([g, Linear()]) == pytest.approx(limit(g), rel=1e-9)


def _one_sided(v, t):
    """E exp(-t max(v + z, 0)^2 / 2) by plain quadrature."""
    z = np.linspace(-12.0, 12.0, 400_001)
    return trapezoid(np.exp(-0.5 * t * np.maximum(v + z, 0.0) ** 2 - 0.5 * z * z) / np.sqrt(2 * np.pi), z)


def test_committee_with_almost_orthogonal_clusters():
    found = capacity(Custom(lambda x: np.sin(3 * x), lambda x: 3 * np.cos(3 * x)), 1)
    assert 0.0 < found.overlaps[0] < 0.01 * found.Q
    assert found.residual < 1e-9
    steep = capacity(erf_unit(100.0), 1)
    assert steep.residual < 1e-9
    assert steep.alpha_c < 0.05 * steep.by_steps[0]


def test_committee_with_margin_and_unequal_labels():
    plain = capacity(ReLU(), 1)
    for task in (TaskSpec(kappa=0.5), TaskSpec(f_out=0.2), TaskSpec(f_out=0.2, kappa=0.3)):
        found = capacity(ReLU(), 1, task)
        assert found.residual < 1e-9
        assert found.by_steps[1] < found.by_steps[0]
        mirrored = capacity(ReLU(), 1, TaskSpec(f_out=1.0 - task.f_out, kappa=task.kappa))
        assert_allclose(mirrored.alpha_c, found.alpha_c, rtol=1e-9)
    near = capacity(ReLU(), 1, TaskSpec(f_out=0.5001, kappa=1e-4))
    assert_allclose(near.alpha_c, plain.alpha_c, rtol=1e-3)
    # a perceptron with margin, Gardner's capacity
    linear = capacity(Linear(), 1, TaskSpec(kappa=1.0))
    gardner = 1.0 / quad(lambda t: np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi) * (t + 1.0) ** 2, -1.0, np.inf)[0]
    assert_allclose(linear.alpha_c, gardner, rtol=1e-9)
    full = capacity(ReLU(), "full")
    assert full.alpha_c < full.by_steps[-1] < full.by_steps[1]


def test_committee_becomes_unstable():
    assert_allclose(limit(hermite(2)), np.pi / 4.0, rtol=1e-8)  # at q = 0: C'' = 4, E f'^2 = 1 / pi
    assert np.isinf(limit(hermite(3)))  # q = 0 stays stable: C''(0) = 0
    assert np.isinf(limit(Linear()))
    for g in (ReLU(), erf_unit(1.0)):
        assert limit(g) < capacity(g, 0).alpha_c
    assert limit(ReLU(), TaskSpec(kappa=0.5)) < limit(ReLU())


@pytest.mark.parametrize(
    ("g", "values"),
    [
        (ReLU(), (2.93388, 2.66428, 2.65327, 2.65148)),
        (Custom(lambda x: x * x, lambda x: 2.0 * x), (4.0, 3.37466, 3.36640, 3.36525)),
        (erf_unit(1.0), (2.45140, 2.37500, 2.37435)),
        (Custom(np.tanh, lambda x: 1.0 / np.cosh(x) ** 2), (2.35561, 2.30627, 2.30579)),
        (erf_unit(math.sqrt(0.5)), (2.20532, 2.19078, 2.19056)),
        (Custom(np.abs, np.sign, breakpoints=[0.0]), (5.50388, 3.81213)),
        (Linear(), (2.0, 2.0, 2.0)),
    ],
    ids=["relu", "square", "erf", "tanh", "erf-narrow", "abs", "linear"],
)
def test_committee_machine(g, values):
    found = capacity(g, len(values) - 1)
    assert_allclose(found.by_steps, values, atol=6e-6)
    assert found.residual < 1e-9


# Below capacity -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("g", [ReLU(), hermite(2), Linear()], ids=["relu", "square", "linear"])
@pytest.mark.parametrize("task", [TaskSpec(), TaskSpec(f_in=0.2, f_out=0.3, kappa=0.1)], ids=["plain", "general"])
def test_a_saddle_point_is_stationary_in_the_overlap(g, task):
    neuron, alpha = committee(g), 0.9
    point = saddle_point(neuron, task, alpha=alpha)
    sphere = Sphere(neuron, task)
    at = math.log(point.q / point.dq)
    if at > -17.0:  # else q = 0, at the end of the range of overlaps
        up, down = (sphere.place(at + h).free_entropy(alpha) for h in (1e-4, -1e-4))
        assert abs(up - down) / 2e-4 < 1e-7
    more, less = (saddle_point(neuron, task, alpha=alpha + h).free_entropy for h in (1e-4, -1e-4))
    assert_allclose((more - less) / 2e-4, point.energetic_term, rtol=1e-6)
    assert_allclose(point.Q * task.f_in * (1.0 - task.f_in), 1.0, rtol=1e-14)
    assert_allclose(
        0.5 * math.log(2.0 * math.pi * math.e * point.Q), saddle_point(neuron, task, alpha=0.0).free_entropy
    )


def test_near_capacity_and_at_the_limit_of_stability():
    neuron, alpha_c = committee(ReLU()), critical_capacity(committee(ReLU())).alpha_c
    near = saddle_point(neuron, alpha=alpha_c * (1.0 - 1e-4))
    assert 1e-8 < near.dq / near.Q < 1e-5
    found = dc.stability_limit(neuron)
    assert_allclose(saddle_point(neuron, alpha=found.alpha).stability, 0.0, atol=1e-8)
    with pytest.raises(NoSolution, match="not below"):
        saddle_point(neuron, alpha=3.0)
    warm = saddle_point(neuron, alpha=3.0, channel=dc.Temperature(0.3))
    assert 0.0 < warm.training_error < 0.3


def test_scales_and_thresholds():
    """Only g at the input of a branch matters: not f_in, and the variance and theta_d as a change of g."""
    plain = critical_capacity(committee(ReLU()), rsb=1)
    wide = NeuronSpec(ReLU(), 0.0, prior=Spherical(variance=9.0))
    for other in (critical_capacity(committee(ReLU()), TaskSpec(f_in=0.1), rsb=1), critical_capacity(wide, rsb=1)):
        assert_allclose(other.by_steps, plain.by_steps, rtol=1e-9)
    moved = Custom(lambda x: np.maximum(x - 0.7, 0.0), lambda x: 1.0 * (x > 0.7), breakpoints=[0.7])
    shifted = critical_capacity(NeuronSpec(ReLU(), 0.7, prior=Spherical()), rsb=1)
    assert_allclose(shifted.by_steps, critical_capacity(committee(moved), rsb=1).by_steps, rtol=1e-8)
    assert shifted.weights.std() == 2.0  # of the input 1, half of the inputs active
    assert shifted.silent_fraction == shifted.W_bar == 0.0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: NeuronSpec(ReLU(), 0.0, 0.5, prior=Spherical()), InvalidParameter, "theta_s = 0.5 .* left out"),
        (lambda: Spherical(0.0), InvalidParameter, "variance = 0.0"),
        (lambda: capacity(dc.Step(), 1), NoSolution, "jumps"),
        (lambda: capacity(ReLU(), -1), InvalidParameter, "rsb = -1"),
        (lambda: capacity(ReLU(), 0, TaskSpec(branch_correlation=1.0)), InvalidParameter, "branch_correlation"),
        (lambda: critical_capacity(committee(ReLU()), branch_size=30), InvalidParameter, "prior = Spherical"),
        (lambda: dc.local_entropy(committee(ReLU()), alpha=0.1), InvalidParameter, "prior = Spherical"),
        (lambda: dc.DendriticNeuron(committee(ReLU()), 100, 5), InvalidParameter, "prior = Spherical"),
        (lambda: dc.capacity(committee(ReLU())), InvalidParameter, "prior = Spherical"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()
