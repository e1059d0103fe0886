"""The critical capacity against limits, an independent twin, and published numbers."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
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
    Ridge,
    SaturatingReLU,
    Step,
    Tabulated,
    TaskSpec,
)
from dendrocap.theory import critical_capacity
from dendrocap.theory.neuron_kernel import like_branches
from dendrocap.theory.symmetric import FREE, _Line, _Soma
from tests.naive.capacity import naive_capacity

HUMP = Custom(lambda x: np.exp(-(x**2)), lambda x: -2 * x * np.exp(-(x**2)))
NARROW = Custom(lambda x: np.exp(-8.0 * (np.asarray(x) - 0.4) ** 2))
TWO_HUMPS = NeuronSpec(levels=(Level(NARROW, 0.5), Level(NARROW, 0.5)), theta_s=0.3, prior=Ridge(1.0))


def capacity(g, theta_d=0.5, theta_s=0.5, **task):
    return critical_capacity(NeuronSpec(g, theta_d, theta_s), TaskSpec(**task))


@pytest.mark.parametrize("theta_d", [1e-4, 0.01, 0.5, 3.0, 1e5])
@pytest.mark.parametrize("f_in", [0.02, 0.5, 0.98])
def test_linear_neuron_has_capacity_one_and_half_its_synapses_silent(theta_d, f_in):
    solution = capacity(Linear(), theta_d, f_in=f_in)
    assert_allclose(solution.alpha_c, 1.0, rtol=1e-13)
    assert_allclose(solution.silent_fraction, 0.5, rtol=1e-12)
    assert_allclose(solution.Q, np.pi * solution.W_bar**2, rtol=1e-12)


def test_a_root_on_the_grid_of_B_is_found_whatever_rounding_makes_of_its_sign():
    # B = 0 is the exact root for every one of these, and a point of the grid.
    for theta_d in np.geomspace(0.01, 1, 200):
        assert_allclose(capacity(Linear(), theta_d).alpha_c, 1.0, rtol=1e-13)


# Sign-constrained perceptron with margin, rho = kappa f_in / (theta_d sqrt(f_in (1 - f_in))): an independent
# solution of the one-layer equations, to five digits.
ONE_LAYER = [
    (0.5, 0.1, 0.91572, 0.52206), (0.5, 0.5, 0.66717, 0.60093), (0.5, 1, 0.47894, 0.67884), (0.5, 2, 0.28540, 0.78211),
    (0.5, 4, 0.13982, 0.88085), (0.2, 1, 0.64913, 0.67426), (0.1, 0.5, 1.33229, 0.59523), (0.1, 4, 0.30121, 0.86301),
    (0.05, 1, 1.54978, 0.66171), (0.05, 4, 0.49719, 0.85245), (0.2, 0, 1.33380, 0.5), (0.1, 0, 1.95645, 0.5),
    (0.05, 0, 3.04142, 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("f_out", "rho", "alpha", "silent"), ONE_LAYER)
@pytest.mark.parametrize("f_in", [0.5, 0.2])
def test_one_layer_literature(f_out, rho, alpha, silent, f_in):
    theta_d = 0.7
    kappa = rho * theta_d * np.sqrt(f_in * (1 - f_in)) / f_in
    solution = capacity(Linear(), theta_d, f_in=f_in, f_out=f_out, kappa=kappa)
    assert_allclose([solution.alpha_c, solution.silent_fraction], [alpha, silent], rtol=0, atol=6e-6)


REFERENCE = [
    (Polsky(), 0.01, 0.5, 1.01581, 0.51626), (Polsky(), 0.1, 0.5, 1.57143, 0.60759),
    (ReLU(), 0.1, 0.5, 1.00206, 0.50449),
    (SaturatingReLU(), 0.1, 0.5, 1.00422, 0.50938), (ReLU(), 0.5, 0.5, 1.34306, 0.57867),
    (SaturatingReLU(), 0.5, 0.5, 2.11597, 0.74902), (Polsky(), 0.5, 0.5, 4.95132, 0.78702),
    (Polsky(), 2.0, 0.5, 18.5036, 0.81455), (ReLU(), 0.5, 0.1, 2.15776, 0.57632),
    (Polsky(), 0.5, 0.9, 6.27302, 0.77448),
    (Polsky(gamma=30), 0.5, 0.5, 9.06318, 0.79633), (Polsky(x_min=0), 0.5, 0.5, 9.18362, 0.80603),
]  # fmt: skip


@pytest.mark.parametrize(("g", "theta_d", "theta_s", "alpha", "silent"), REFERENCE)
def test_reference_values_of_an_earlier_independent_program(g, theta_d, theta_s, alpha, silent):
    solution = capacity(g, theta_d, theta_s)
    assert_allclose(solution.alpha_c, alpha, rtol=6e-6)
    assert_allclose(solution.silent_fraction, silent, rtol=0, atol=6e-6)


@pytest.mark.parametrize(
    ("g", "theta_d", "theta_s", "task"),
    [
        (ReLU(), 1.0, 0.2, {"f_in": 0.3, "f_out": 0.2, "kappa": 0.3}),
        pytest.param(Polsky(), 0.3, 0.5, {}, marks=pytest.mark.slow),
        pytest.param(Polsky(0.2, 60.0), 1.5, 0.8, {"f_out": 0.7, "kappa": 0.2}, marks=pytest.mark.slow),
        pytest.param(SaturatingReLU(), 0.6, 0.7, {"f_in": 0.7, "kappa": 0.5}, marks=pytest.mark.slow),
    ],
)
def test_equals_a_naive_program(g, theta_d, theta_s, task):
    solution = capacity(g, theta_d, theta_s, **task)
    # The naive program starts near: what is compared are the equations, not the search.
    start = (round(solution.B, 1), round(solution.alpha_c, 1))
    alpha, silent, Q = naive_capacity(g, g.derivative, g.breakpoints, theta_d, theta_s, start=start, **task)
    # Its numerical derivatives are good to 1e-9; alpha_c, being a maximum, to their square.
    assert_allclose(solution.alpha_c, alpha, rtol=1e-9)
    assert_allclose([solution.silent_fraction, solution.Q], [silent, Q], rtol=1e-7)


hard_specs = st.builds(
    NeuronSpec,
    st.one_of(st.just(ReLU()), st.just(SaturatingReLU()), st.builds(Polsky, st.floats(0, 1), st.floats(0.5, 200))),
    st.floats(-3, 3).map(lambda e: 10.0**e),
    st.floats(0.001, 0.999),
)
hard_tasks = st.builds(TaskSpec, st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0.0, 2.0))


@settings(max_examples=150)
@given(hard_specs, hard_tasks)
@example(NeuronSpec(Polsky(0.0, 1.0), 1e-3, 0.999), TaskSpec())
def test_capacity_is_the_maximum_over_norms_and_both_equations_agree(spec, task):
    solution = critical_capacity(spec, task)
    # Where g hardly varies around a value near 1, its rounding is this large in units of its spread.
    rounding = np.finfo(float).eps * (1 + spec.theta_s) / np.sqrt(solution.Gamma0)
    assert solution.residual < 1e-12 + 10 * rounding
    assert 0.0 < solution.silent_fraction < 1.0
    line, soma = _Line(like_branches(spec, task), FREE), _Soma([like_branches(spec, task)], task)
    for step in (-0.2, -0.01, 0.01, 0.2):
        assert soma.load(line.all(solution.B + step)).alpha < solution.alpha_c
    weights = solution.weights
    assert_allclose(weights.mean(), spec.theta_d / task.f_in, rtol=1e-11)
    assert_allclose(weights.second_moment(), solution.Q, rtol=1e-11)


@given(hard_specs, st.floats(0.02, 0.98))
def test_output_coding_only_multiplies_the_capacity_without_margin(spec, f_out):
    even, biased = critical_capacity(spec, TaskSpec()), critical_capacity(spec, TaskSpec(f_out=f_out))
    linear = critical_capacity(NeuronSpec(Linear(), 1.0, 0.5), TaskSpec(f_out=f_out))
    assert_allclose(biased.alpha_c, even.alpha_c * linear.alpha_c, rtol=1e-11)
    assert_allclose(
        [biased.silent_fraction, biased.Q, biased.M_bar], [even.silent_fraction, even.Q, even.M_bar], rtol=1e-9
    )


@given(st.floats(0.02, 0.98), st.floats(0.01, 10))
def test_saturating_relu_is_symmetric_in_the_somatic_threshold(theta_s, theta_d):
    up, down = capacity(SaturatingReLU(), theta_d, theta_s), capacity(SaturatingReLU(), theta_d, 1 - theta_s)
    assert_allclose(up.alpha_c, down.alpha_c, rtol=1e-11)
    assert_allclose(up.silent_fraction, down.silent_fraction, rtol=1e-10)


def test_limits_of_polsky_and_twins_of_it_agree():
    assert_allclose(capacity(Polsky(x_min=1.0)).alpha_c, capacity(SaturatingReLU()).alpha_c, rtol=1e-12)
    g = Polsky()
    assert_allclose(capacity(Custom(g, g.derivative, g.breakpoints)).alpha_c, capacity(g).alpha_c, rtol=1e-11)
    no_derivative = capacity(Custom(g, breakpoints=g.breakpoints)).alpha_c
    assert_allclose(no_derivative, capacity(g).alpha_c, rtol=1e-10)  # polynomial pieces


def test_a_steep_function_without_its_derivative_has_the_capacity_it_has_with_it():
    steep, slope = (lambda x: np.tanh(100 * x)), (lambda x: 100 / np.cosh(np.clip(100 * x, -300, 300)) ** 2)
    assert_allclose(capacity(Custom(steep), theta_s=0.3).alpha_c, capacity(Custom(steep, slope), theta_s=0.3).alpha_c)


def test_what_is_not_resolved_is_refused_with_the_way_out():
    # Beyond its domain this function was not checked; wide inputs reach it there.
    ripples = Custom(
        lambda x: x + np.where(np.abs(x) > 2.0, 0.5 * np.sin(60.0 * x), 0.5 * np.sin(120.0)), domain=(-1, 1)
    )
    with pytest.raises(InvalidParameter, match="give derivative= or breakpoints="):
        capacity(ripples, theta_d=2.0)


@pytest.mark.parametrize("kappa", [-0.3, -0.1])
def test_a_negative_margin_is_a_weaker_demand(kappa):
    weaker = TaskSpec(kappa=kappa)
    relu = critical_capacity(NeuronSpec(ReLU(), 0.5, 0.5), weaker)
    alpha, p0, Q = naive_capacity(lambda x: max(x, 0.0), lambda x: float(x > 0), [0.0], 0.5, 0.5, kappa=kappa)
    assert_allclose([relu.alpha_c, relu.silent_fraction, relu.Q], [alpha, p0, Q], rtol=1e-9)
    assert relu.alpha_c > critical_capacity(NeuronSpec(ReLU(), 0.5, 0.5)).alpha_c
    # A linear neuron's solutions still form a convex set.
    linear = critical_capacity(NeuronSpec(Linear(), 0.5, 0.5), weaker, rsb=1)
    assert linear.k == 0
    broken = critical_capacity(NeuronSpec(ReLU(), 0.5, 0.5), weaker, rsb=1)
    assert 1.26897 < broken.alpha_c < relu.alpha_c  # above its value without margin
    assert broken.residual < 1e-10


def test_straight_tables_are_saturating_relus():
    straight = Tabulated([0.0, 1.0], [0.0, 1.0])
    assert_allclose(capacity(straight).alpha_c, capacity(SaturatingReLU()).alpha_c, rtol=1e-11)


def test_printed_sign_of_the_reduced_equation_is_wrong():
    """With H(-B) instead of H(B) the reduced equation misses the printed slope 3.518 of saturating ReLU."""
    solution = capacity(SaturatingReLU(), 200.0)
    other = capacity(SaturatingReLU(), 100.0)
    assert_allclose((solution.alpha_c - other.alpha_c) / 100.0, 3.518, atol=5e-4)
    wrong = solution.alpha_c * solution.silent_fraction / (1 - solution.silent_fraction)
    assert wrong / 200.0 > 16.0


def test_deep_trees():
    one = critical_capacity(NeuronSpec(Polsky(), 0.5, 0.5))
    listed = critical_capacity(NeuronSpec(levels=(Level(Polsky(), 0.5),), theta_s=0.5))
    assert listed.alpha_c == one.alpha_c
    assert listed.Q == one.Q
    # A linear level on top changes nothing but the threshold that the first level must meet.
    topped = critical_capacity(NeuronSpec(levels=(Level(Polsky(), 0.5), Level(Linear(), 0.5)), theta_s=0.8))
    assert_allclose(topped.alpha_c, one.alpha_c, rtol=1e-11)


def test_several_solutions_are_all_reported():
    """A straight line with a steep step far out: small weights see the line only, large ones reach the step."""
    step = Custom(
        lambda x: x + 0.5 * (np.tanh(200 * (x - 1.5)) + 1),
        lambda x: 1 + 100 / np.cosh(np.clip(200 * (x - 1.5), -300, 300)) ** 2,
    )
    solution = critical_capacity(NeuronSpec(step, 0.1, 0.5))
    assert [other.kind for other in solution.others] == ["maximum", "minimum"]
    # Where the step is out of reach the neuron is the linear one.
    assert_allclose(solution.others[0].alpha, 1.0, rtol=1e-4)
    assert all(other.alpha < solution.alpha_c for other in solution.others)
    assert "largest of" in solution.reason


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: capacity(Step()), NoSolution, ["infinite", "jumps"]),
        (lambda: capacity(Polsky(), theta_s=1.0), NoSolution, ["mean output 1", "between 0 and 1"]),
        (lambda: capacity(ReLU(), theta_s=0.0), NoSolution, ["mean output 0"]),
        (lambda: capacity(Polsky(), theta_d=0.0), InvalidParameter, ["theta_d = 0.0", "> 0"]),
        (lambda: capacity(HUMP, theta_d=20.0, theta_s=0.3), NoSolution, ["at any width", "deviation of 20"]),
        (lambda: capacity(ReLU(), 0.5, 0.5, kappa=-3.0), NoSolution, ["-6.96 standard deviations", "above -1.7"]),
        (lambda: capacity(ReLU(), 0.00176, 0.2175, f_in=0.44, kappa=-0.1765), NoSolution, ["standard deviations"]),
        (lambda: capacity(ReLU(), 1e-300, kappa=-100.0), NoSolution, ["floating-point", "theta_d = 1e-300"]),
        (lambda: capacity(ReLU(), 1e200), NoSolution, ["floating-point", "theta_d = 1e+200"]),
        (lambda: critical_capacity(NeuronSpec(ReLU(), 0.5, 0.5), 0.5), InvalidParameter, ["task = 0.5", "TaskSpec"]),
        # not that a prior is refused: two levels of humps may take one
        (lambda: critical_capacity(TWO_HUMPS), ConvergenceError, ["no interior maximum", "not monotone"]),
    ],
)
def test_what_has_no_capacity_says_why(make, error, words):
    with pytest.raises(error) as caught:
        make()
    for word in words:
        assert word in str(caught.value)
