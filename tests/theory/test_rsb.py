"""Capacity with broken replica symmetry: potential, limits, published values, and what the result carries."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from dendrocap import (
    InvalidParameter,
    Level,
    Linear,
    NeuronSpec,
    Polsky,
    ReLU,
    SaturatingReLU,
    Step,
    TaskSpec,
    capacity_curve,
    critical_capacity,
)
from dendrocap.errors import NoSolution
from dendrocap.theory.broken import BrokenEquations, Unknowns
from dendrocap.theory.cascade import cascade, gaussian_cascade
from dendrocap.theory.neuron_kernel import PopulationKernel, like_branches
from tests.naive.rsb import nested, one_step_load, potential

DENDRITES = {"relu": ReLU(), "saturating": SaturatingReLU(), "polsky": Polsky()}

# Tables computed with two other programs; steps 1, 2, 3 and the silent fraction of one step.
TABLE = [
    ("relu", 0.5, (1.268966, 1.265910, 1.265406), 0.4496),
    ("relu", 1.0, (1.476964, 1.470457, 1.469410), 0.4113),
    ("saturating", 0.5, (1.570421, 1.559842, 1.558386), 0.4031),
    ("saturating", 1.0, (1.996476, 1.979981, 1.977733), 0.3008),
    ("polsky", 0.1, (1.356417, 1.351544, 1.350728), 0.3942),
    ("polsky", 0.5, (2.136574, 2.102054, 2.098067), 0.2595),
]


def neuron_of(name, theta_d, theta_s=0.5):
    return NeuronSpec(DENDRITES[name], theta_d, theta_s)


def kernel_of(neuron, task=None):
    """The kernel of a neuron's branches as a function of the norm, with the mean input following it."""
    kernel = PopulationKernel(like_branches(neuron, task or TaskSpec()))

    def norm(Q):
        m = kernel.mean_input(Q / kernel.population.W_bar(0.0) ** 2)
        return m, kernel.norm(m, Q)

    return kernel, norm


# --- nested averages


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_cascade_equals_a_plain_double_sum(sign):
    delta, mu = np.array([0.4, 0.6]), np.array([1.1])
    found = cascade(sign, np.array([-0.2]), np.ones(1), delta, mu)
    naive = nested(lambda h: sign * np.maximum(h, 0.0) ** 2 / 2.0, -0.2, *delta, 1.1, 6.0)
    assert_allclose(found.f[0], naive, rtol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("small", [0.5, 0.01])
def test_levels_with_the_same_mu_are_one_level(sign, small):
    # A level inside another with the same tilt changes nothing: closed form against sums on the grid.
    start, weight = np.array([-0.1]), np.ones(1)
    one = cascade(sign, start, weight, np.array([1.0 - small, small]), np.array([0.7 / small]))
    for fraction in (0.05, 0.5, 0.95):
        delta = np.array([1.0 - small, small * fraction, small * (1.0 - fraction)])
        two = cascade(sign, start, weight, delta, np.full(2, 0.7 / small))
        assert_allclose([two.f[0], two.f[2], two.slope2[2]], [one.f[0], one.f[1], one.slope2[1]], rtol=1e-11)
        assert_allclose([two.slope, two.active], [one.slope, one.active], rtol=1e-11)


def test_observables_are_derivatives_of_the_average_potential():
    delta, mu = np.array([0.3, 0.4, 0.3]), np.array([0.6, 1.5])

    def average(b=0.1, mu=mu, delta=delta):
        return cascade(1.0, np.array([-b]), np.ones(1), delta, mu)

    here, step = average(), 1e-5
    assert_allclose((average(b=0.1 - step).f[0] - average(b=0.1 + step).f[0]) / (2 * step), here.slope, rtol=1e-8)
    for level in (1, 2):
        shift = step * np.eye(2)[level - 1]
        slope = (average(mu=mu + shift).f[0] - average(mu=mu - shift).f[0]) / (2 * step)
        assert_allclose(slope, (here.f[level] - here.f[level - 1]) / mu[level - 1], rtol=1e-7)
    # Moving variance from level 0 to level 1 costs half the difference of what they see: -mu_1 E f_0'^2 / 2.
    moved = np.array([-1.0, 1.0, 0.0]) * step
    slope = (average(delta=delta + moved).f[0] - average(delta=delta - moved).f[0]) / (2 * step)
    assert_allclose(slope, 0.5 * mu[0] * here.slope2[0], rtol=1e-7)


def test_gaussian_cascade_is_the_average_without_a_constraint():
    delta, mu = np.array([0.5, 0.5]), np.array([0.8])
    found = gaussian_cascade(delta, mu)
    z1 = np.linspace(-60.0, 60.0, 20001)
    z0 = np.linspace(-9.0, 9.0, 801)
    h = np.sqrt(0.5) * (z0[:, None] + z1)
    inside = np.log(np.sum(np.exp(0.4 * h**2 - 0.5 * z1**2), axis=1) * (z1[1] - z1[0]) / np.sqrt(2 * np.pi)) / 0.8
    plain = np.sum(inside * np.exp(-0.5 * z0**2)) * (z0[1] - z0[0]) / np.sqrt(2 * np.pi)
    assert_allclose(found.f[0], plain, rtol=1e-9)


# --- the equations


def test_solution_is_stationary_for_a_plain_potential():
    neuron, task = neuron_of("relu", 1.0), TaskSpec()
    found = critical_capacity(neuron, task, rsb=1)
    values = {
        "A": found.A, "b": found.b, "c0": found.c[0], "c1": found.c[1] - found.c[0],
        "mu": found.breaking_points[0], "q0": found.overlaps[0], "Q": found.Q,
    }  # fmt: skip
    assert abs(potential(neuron, task, found.alpha_c, **values)) < 1e-5 * found.Q
    for name, value in values.items():
        up, down = values | {name: value * 1.001}, values | {name: value * 0.999}
        slope = (potential(neuron, task, found.alpha_c, **up) - potential(neuron, task, found.alpha_c, **down)) / 0.002
        # the same slope with one term of F alone is of order one; what is left is the plain sum's error
        assert abs(slope) < 1e-4 * found.Q, name


def general_potential(neuron, task, alpha, A, b, c, mu, q, Q):
    """F for any number of steps, from the average potentials alone."""
    delta = np.diff(c, prepend=0.0)
    weights = cascade(1.0, np.array([-b / math.sqrt(c[-1])]), np.ones(1), delta / c[-1], mu * c[-1] / A)
    kernel, at = kernel_of(neuron, task)
    m, norm = at(Q)
    D1 = np.array([norm.Gamma0, *(kernel.overlap(m, Q, Q - one, norm).D1 for one in q), 0.0])
    unit = norm.Gamma0 / norm.Gamma1
    start, fractions = np.array([task.kappa / math.sqrt(norm.Gamma0)]), np.ones(1)
    patterns = cascade(-1.0, start, fractions, -np.diff(D1) / norm.Gamma0, mu * unit)
    rest = 0.5 * A * Q - 0.5 * c[-1] - 0.5 * mu[-1] * Q * c[-1] + kernel.population.W_bar(0.0) * b
    rest += 0.5 * np.sum(np.diff(mu, prepend=0.0) * q * c[:-1])
    return rest + weights.f[0] * c[-1] / A + alpha * patterns.f[0] * unit


@pytest.mark.parametrize(("name", "k", "kappa"), [("saturating", 1, 0.2), ("relu", 2, 0.0), ("polsky", 2, 0.1)])
def test_solution_is_stationary_in_every_order_parameter(name, k, kappa):
    neuron, task = neuron_of(name, 0.5), TaskSpec(kappa=kappa)
    found = critical_capacity(neuron, task, rsb=k)
    values = {
        "A": found.A, "b": found.b, "c": np.array(found.c), "mu": np.array(found.breaking_points),
        "q": np.array(found.overlaps), "Q": found.Q,
    }  # fmt: skip
    scale = 0.5 * found.A * found.Q
    assert abs(general_potential(neuron, task, found.alpha_c, **values)) < 1e-10 * scale
    for name, value in values.items():
        for component in range(np.size(value)):
            slope = 0.0
            for steps, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):  # error of fourth order in the step
                moved = np.array(value, dtype=float)
                moved[... if moved.ndim == 0 else component] *= 1.0 + 1e-4 * steps
                slope += weight * general_potential(neuron, task, found.alpha_c, **(values | {name: moved[()]})) / 12e-4
            assert abs(slope) < 1e-6 * scale, (name, component)


@pytest.mark.parametrize(("name", "theta_d", "steps", "silent"), TABLE)
def test_table_of_one_and_two_steps(name, theta_d, steps, silent):
    one = critical_capacity(neuron_of(name, theta_d), rsb=1)
    assert_allclose(one.alpha_c, steps[0], atol=6e-7)
    assert_allclose(one.silent_fraction, silent, atol=6e-5)
    two = critical_capacity(neuron_of(name, theta_d), rsb=2)
    assert_allclose(two.alpha_c, steps[1], atol=1e-6)
    assert two.by_steps[0] > two.by_steps[1] > two.by_steps[2]
    assert_allclose(two.by_steps[1], one.alpha_c, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "theta_d", "steps", "silent"), TABLE)
def test_table_of_three_steps(name, theta_d, steps, silent):
    three = critical_capacity(neuron_of(name, theta_d), rsb=3)
    assert_allclose(three.by_steps[1:], steps, atol=1.2e-6)
    assert np.all(np.diff(three.by_steps) < 0.0)
    assert three.quadrature_error < 1e-8


def test_three_steps():
    three = critical_capacity(neuron_of("relu", 1.0), rsb=3)
    assert_allclose(three.by_steps[1:], (1.476964, 1.470457, 1.469410), atol=6e-7)
    assert three.k == 3
    assert np.all(np.diff(three.breaking_points) > 0.0)
    assert np.all(np.diff([*three.overlaps, three.Q]) > 0.0)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("name", DENDRITES)
def test_halving_the_grid_changes_nothing(name, k):
    found = critical_capacity(neuron_of(name, 0.5), rsb=k)
    assert found.quadrature_error < 1e-10
    equations = BrokenEquations([like_branches(found.neuron, found.task)], found.task, 0.5, k)
    finer = equations.with_levels(k, finer=True)
    assert np.max(np.abs(finer.residuals(found.ladder[-1].x))) < 1e-9


@pytest.mark.parametrize(
    ("neuron", "alpha"),
    [
        (NeuronSpec(ReLU(), 1000.0, 0.5), 3.3754424),
        (NeuronSpec(ReLU(), 0.5, 1e-6), 4.1003486),
        (NeuronSpec(SaturatingReLU(), 1000.0, 0.5), 5.3640504),
    ],
    ids=str,
)
def test_one_step_at_extreme_thresholds(neuron, alpha):
    found = critical_capacity(neuron, rsb=1)
    assert found.residual < 1e-9
    assert found.quadrature_error < 1e-7
    assert_allclose(found.alpha_c, alpha, rtol=1e-7)
    if isinstance(neuron.nonlinearity, ReLU):  # depends on theta_d / theta_s alone
        scaled = NeuronSpec(ReLU(), 3.0 * neuron.theta_d, 3.0 * neuron.theta_s)
        assert_allclose(critical_capacity(scaled, rsb=1).alpha_c, alpha, rtol=1e-7)


def test_unknowns_survive_packing():
    for log_ratio in (None, 3.0):  # at capacity and below
        unknowns = Unknowns(np.array([0.3, 0.8]), np.array([0.2, 0.3, 0.5]), (0.1, 0.4), log_ratio)
        again = Unknowns.unpack(unknowns.pack(), 2, log_ratio is not None)
        for one, other in zip(unknowns[:3], again[:3], strict=True):
            assert_allclose(one, other, rtol=1e-14)
        assert again.log_ratio == log_ratio
        assert_allclose(Unknowns.from_mu(again.mu, again.delta, (0.1,)).s, unknowns.s, rtol=1e-14)


# --- limits


@pytest.mark.parametrize("rsb", [1, 2, "full"])
def test_linear_dendrites_are_not_broken(rsb):
    found = critical_capacity(NeuronSpec(Linear(), 0.5, 0.5), rsb=rsb)
    assert_allclose(found.alpha_c, 1.0, rtol=1e-12)
    assert_allclose(found.silent_fraction, 0.5, rtol=1e-9)
    assert found.k == 0
    assert "stable" in found.reason
    assert_allclose(found.weights.mean(), found.W_bar, rtol=1e-12)


def test_breaking_closes_at_small_thresholds():
    gaps = []
    for theta_d in (0.12, 0.1, 0.08):
        found = critical_capacity(neuron_of("relu", theta_d), rsb=1)
        assert found.k == 1
        gaps.append(1.0 - found.alpha_c / found.by_steps[0])
    assert gaps[0] > 4.0 * gaps[1] > 16.0 * gaps[2] > 0.0
    closed = critical_capacity(neuron_of("relu", 0.05), rsb=1)
    assert closed.k == 0
    assert "closes" in closed.reason
    assert closed.alpha_c == critical_capacity(neuron_of("relu", 0.05)).alpha_c


def test_saturating_dendrites_are_symmetric_under_exchange_of_labels():
    low = critical_capacity(neuron_of("saturating", 0.4, 0.2), TaskSpec(f_out=0.3), rsb=1)
    high = critical_capacity(neuron_of("saturating", 0.4, 0.8), TaskSpec(f_out=0.7), rsb=1)
    assert_allclose(low.alpha_c, high.alpha_c, rtol=1e-9)
    assert_allclose(low.mean_shift, -high.mean_shift, rtol=1e-8)


def test_only_the_ratio_of_thresholds_matters_for_relu():
    one = critical_capacity(neuron_of("relu", 1.0, 0.5), rsb=2)
    ten = critical_capacity(neuron_of("relu", 10.0, 5.0), rsb=2)
    assert_allclose(ten.alpha_c, one.alpha_c, rtol=1e-10)
    assert_allclose(ten.Q, 100.0 * one.Q, rtol=1e-8)


@pytest.mark.parametrize("task", [TaskSpec(0.5, 0.2, 0.0), TaskSpec(0.1, 0.5, 0.3), TaskSpec(0.05, 0.05, 0.1)])
def test_labels_and_margin(task):
    found = critical_capacity(neuron_of("polsky", 0.5), task, rsb=1)
    # F = 0 is not among the equations solved
    assert abs(found.ladder[-1].state.potential) < 1e-10
    assert found.residual < 1e-9
    assert found.alpha_c < critical_capacity(neuron_of("polsky", 0.5), task).alpha_c
    weights = found.weights
    assert_allclose([weights.mean(), weights.second_moment()], [found.W_bar, found.Q], rtol=1e-9)


def test_two_level_tree():
    neuron = NeuronSpec(levels=(Level(Polsky(), 0.5), Level(ReLU(), 0.5)), theta_s=0.5)
    found = critical_capacity(neuron, rsb=2)
    assert found.by_steps[0] > found.by_steps[1] > found.by_steps[2] > 1.0
    assert abs(found.ladder[-1].state.potential) < 1e-10
    # A linear level on top changes nothing.
    flat = critical_capacity(NeuronSpec(levels=(Level(ReLU(), 1.0), Level(Linear(), 0.5)), theta_s=0.5), rsb=1)
    assert_allclose(flat.alpha_c, critical_capacity(neuron_of("relu", 1.0), rsb=1).alpha_c, rtol=1e-9)


@pytest.mark.parametrize(
    ("g", "theta_d", "theta_s"),
    [(Polsky(gamma=50.0), 10.0, 0.95), (Polsky(gamma=50.0), 0.01, 0.5), (SaturatingReLU(), 10.0, 0.05)],
    ids=repr,
)
def test_corners_of_the_range(g, theta_d, theta_s):
    found = critical_capacity(NeuronSpec(g, theta_d, theta_s), rsb=1)
    assert found.k == 1
    assert found.quadrature_error < 1e-9
    assert found.alpha_c < found.by_steps[0]


# --- what the result carries


@pytest.mark.parametrize("k", [1, 2])
def test_weights_at_capacity(k):

    found = critical_capacity(neuron_of("polsky", 0.5), rsb=k)
    weights = found.weights
    assert_allclose(weights.silent_fraction, found.silent_fraction, rtol=1e-10)
    assert_allclose([weights.mean(), weights.second_moment()], [found.W_bar, found.Q], rtol=1e-10)
    for power, value in ((0, 1.0 - weights.silent_fraction), (1, weights.mean()), (2, weights.second_moment())):
        assert_allclose(quad(lambda w, n=power: w**n * weights.pdf(w), 0.0, 40.0, limit=200)[0], value, rtol=1e-7)
    assert_allclose(weights.cdf([-1.0, 0.0]), [0.0, weights.silent_fraction], atol=1e-12)
    assert_allclose(weights.cdf(weights.ppf([0.5, 0.9, 0.999])), [0.5, 0.9, 0.999], rtol=1e-9)
    assert weights.ppf(0.1) == 0.0
    drawn = weights.rvs(100_000, random_state=1)
    assert_allclose(np.mean(drawn == 0.0), weights.silent_fraction, atol=5.0 * 0.5 / math.sqrt(1e5))
    assert_allclose(drawn.mean(), weights.mean(), atol=5.0 * weights.std() / math.sqrt(1e5))


def test_neighbour_as_a_start():
    near = critical_capacity(neuron_of("polsky", 0.5), rsb=2)
    cold = critical_capacity(neuron_of("polsky", 0.53), rsb=2)
    warm = critical_capacity(neuron_of("polsky", 0.53), rsb=2, start=near)
    assert_allclose(warm.alpha_c, cold.alpha_c, rtol=1e-10)
    assert_allclose(warm.by_steps, cold.by_steps, rtol=1e-10)
    assert warm.iterations < cold.iterations
    # A start from too far away is as good as none.
    far = critical_capacity(neuron_of("relu", 0.5), rsb=2, start=near)
    assert_allclose(far.alpha_c, critical_capacity(neuron_of("relu", 0.5), rsb=2).alpha_c, rtol=1e-10)


@pytest.mark.parametrize("rsb", [-1, 1.5, "many", True])
def test_bad_number_of_steps(rsb):
    with pytest.raises(InvalidParameter, match="rsb"):
        critical_capacity(neuron_of("relu", 1.0), rsb=rsb)


def test_a_jump_has_no_capacity():
    with pytest.raises(NoSolution, match="jumps"):
        critical_capacity(NeuronSpec(Step(), 0.5, 0.5), rsb=1)


@pytest.mark.slow
def test_full_lies_below_every_step_and_within_its_error_of_the_fifth():
    full = critical_capacity(neuron_of("relu", 1.0), rsb="full")
    assert full.k == 4
    assert full.alpha_c < min(full.by_steps)
    # Five steps, 1.46902256, bound the limit from above; the limit was extrapolated without them.
    assert full.alpha_c < 1.46902256
    assert_allclose(full.alpha_c, 1.46902256, rtol=2.0 * full.steps_error)


@pytest.mark.slow
def test_limit_of_the_one_step_free_entropy_at_finite_load():
    # Just below capacity clusters have a size dq, at loads that tend to alpha_c by a power of dq with logarithms.
    neuron, task = neuron_of("relu", 1.0), TaskSpec()
    found = critical_capacity(neuron, task, rsb=1)
    values = {
        "A": found.A, "b": found.b, "c0": found.c[0], "c1": found.c[1] - found.c[0],
        "mu": found.breaking_points[0], "q0": found.overlaps[0], "Q": found.Q,
    }  # fmt: skip
    loads = [one_step_load(neuron, task, found.Q * x, found.alpha_c, **values) for x in (1.6e-3, 4e-4, 1e-4)]
    assert loads[0] < loads[1] < loads[2] < found.alpha_c
    ratio = (loads[1] - loads[0]) / (loads[2] - loads[1])
    limit = loads[2] + (loads[2] - loads[1]) / (ratio - 1.0)
    # The last load is 3e-3 below its limit; extrapolation must find the limit to a fiftieth of that.
    assert abs(limit - found.alpha_c) < 0.02 * (found.alpha_c - loads[2])


@pytest.mark.slow
def test_random_neurons(rng):
    for _ in range(8):
        steep = float(np.exp(rng.uniform(np.log(3.0), np.log(50.0))))
        g = rng.choice([Polsky(x_min=float(rng.uniform(0.0, 0.9)), gamma=steep), SaturatingReLU(), ReLU()])
        theta_d, theta_s = float(np.exp(rng.uniform(np.log(0.1), np.log(10.0)))), float(rng.uniform(0.05, 0.95))
        task = TaskSpec(float(rng.uniform(0.05, 0.5)), float(rng.choice([0.1, 0.5])), float(rng.choice([0.0, 0.2])))
        found = critical_capacity(NeuronSpec(g, theta_d, theta_s), task, rsb=2)
        assert found.quadrature_error < 1e-6, found
        assert found.residual < 1e-6, found
        assert np.all(np.diff(found.by_steps) < 0.0), found
        assert len(found.by_steps) == found.k + 1


def test_steps_are_a_coordinate_of_grids():
    curve = capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), theta_d=[0.5, 0.6, 2.0], rsb=[0, 1])
    assert curve.alpha_c.dims == ("theta_d", "rsb")
    assert_allclose(curve.alpha_c.sel(theta_d=0.5), [1.343065, 1.268966], atol=6e-7)
    # along the curve each point starts from its neighbour; the last must equal a start from nothing
    alone = critical_capacity(NeuronSpec(ReLU(), 2.0, 0.5), rsb=1)
    assert_allclose(curve.alpha_c.sel(theta_d=2.0, rsb=1), alone.alpha_c, rtol=1e-10)
    assert curve.k.values.tolist() == [[0, 1]] * 3
    mixed = capacity_curve(NeuronSpec(ReLU(), 0.5, 0.5), rsb=[0, "full"], theta_s=[2.0], nonlinearity=[Polsky()])
    assert mixed.rsb.values.tolist() == ["0", "full"]
    assert np.isnan(mixed.alpha_c).all()  # out of reach of g, whatever the steps


def test_load_is_a_minimum_over_overlap_and_breaking_and_then_a_maximum_over_the_norm():
    from scipy.optimize import root

    neuron = neuron_of("relu", 1.0)
    found, task = critical_capacity(neuron, rsb=1), TaskSpec()
    conjugates = np.log([found.A, found.b, found.c[0], found.c[1] - found.c[0]])
    scales, place = np.array([1e-3, 1e-2, 1e-3]), np.log([found.overlaps[0], found.breaking_points[0], found.Q])

    def load(*steps):
        """The load at which F vanishes, stationary in the conjugates, with q_0, mu and Q moved by some steps."""
        q0, mu, Q = np.exp(place + scales * steps)

        def potential_at(y, alpha):
            A, b, c0, c1 = np.exp(y)
            return general_potential(
                neuron, task, alpha, A, b, np.array([c0, c0 + c1]), np.array([mu]), np.array([q0]), Q
            )

        def slopes(y):
            moves = 1e-4 * np.eye(4)
            return [(potential_at(y + move, 0.0) - potential_at(y - move, 0.0)) / 2e-4 for move in moves]

        y = root(slopes, conjugates, tol=1e-9).x
        without = potential_at(y, 0.0)
        return without / (without - potential_at(y, 1.0))

    centre, unit = load(0, 0, 0), np.eye(3)
    assert_allclose(centre, found.alpha_c, rtol=1e-9)
    curvature = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            pairs = [(1, 1), (-1, -1), (1, -1), (-1, 1)]
            values = [load(*(a * unit[i] + b * unit[j])) for a, b in pairs]
            curvature[i, j] = (values[0] + values[1] - values[2] - values[3]) / (4.0 * scales[i] * scales[j])
    inner = curvature[:2, :2]
    assert np.all(np.linalg.eigvalsh(inner) > 0.0)
    assert curvature[2, 2] - curvature[2, :2] @ np.linalg.solve(inner, curvature[:2, 2]) < 0.0
