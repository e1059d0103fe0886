"""Teachers and students: exact where they match, replica symmetric where they do not."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

import dendrocap as dc
from dendrocap.errors import ConvergenceError, InvalidParameter
from dendrocap.numerics import legendre_rule
from dendrocap.theory._laws import taught_averages, taught_energy
from dendrocap.theory.neuron_kernel import TreeKernel
from dendrocap.theory.teacher_student import _Student
from tests.naive import states as naive

LINEAR, RELU, SATURATING, POLSKY = (
    dc.NeuronSpec(g, 0.5, 0.5) for g in (dc.Linear(), dc.ReLU(), dc.SaturatingReLU(), dc.Polsky())
)
TASK = dc.TaskSpec()
LOADS = (0.0, 0.5, 1.0, 5.0)
MATCHED = {
    LINEAR: (0.333333, 0.27816722, 0.22970627, 0.09281837),
    RELU: (0.347018, 0.29446390, 0.24444132, 0.09644195),
    SATURATING: (0.356464, 0.31091475, 0.26293550, 0.10110094),
    POLSKY: (0.373162, 0.33817439, 0.29827411, 0.11791594),
}


@pytest.mark.parametrize("neuron", MATCHED, ids=lambda one: one.nonlinearity.name)
def test_matched_student(neuron):
    found = [dc.teacher_student(neuron, alpha=alpha).gibbs_error for alpha in LOADS]
    assert_allclose(found[0], MATCHED[neuron][0], atol=6e-7)
    assert_allclose(found[1:], MATCHED[neuron][1:], atol=6e-9)


def test_bayes_errors():
    assert_allclose(dc.teacher_student(LINEAR, alpha=0.0).bayes_error, 0.25, rtol=1e-12)
    assert_allclose(dc.teacher_student(LINEAR, alpha=0.5).bayes_error, 0.20421904, atol=6e-9)
    assert_allclose(dc.teacher_student(POLSKY, alpha=0.5).bayes_error, 0.25421121, atol=6e-9)


@pytest.mark.parametrize(("alpha", "error"), [(1.5, 0.261389), (2.0, 0.228906)])
def test_a_dendritic_student_beyond_the_crossing_load(alpha, error):
    """Below the linear one of `test_linear_student_of_a_dendritic_teacher`."""
    assert_allclose(dc.teacher_student(POLSKY, alpha=alpha).gibbs_error, error, atol=6e-7)
    assert error < ON_POLSKY[alpha]


@pytest.mark.parametrize("field", [1e-4, 0.1, 3.0, 1e3, 1e6])
def test_the_teacher_is_one_more_student(field):
    """Nishimori: whatever q_hat, mean weight and norm of the student are the teacher's, and R = q."""
    rate = 1.0 / math.sqrt(field)
    _, mean, squared, variance, _, product = taught_averages(-rate, 1.0, rate, legendre_rule(16))
    root = math.sqrt(field)  # in units of W_bar
    assert_allclose([mean / root, (squared + variance) / field], [1.0, 2.0], rtol=1e-12)
    assert_allclose(product / root, squared / field, rtol=1e-12)


AT_LOAD_20 = {LINEAR: 0.02871080, RELU: 0.02909433, SATURATING: 0.02953175, POLSKY: 0.03110123}


@pytest.mark.parametrize("neuron", AT_LOAD_20, ids=lambda one: one.nonlinearity.name)
def test_many_patterns_per_synapse(neuron):
    """Where errors are 3 %, the average over weights has a long tail: against a twin that follows it to the end."""
    found = dc.teacher_student(neuron, alpha=20.0)
    assert_allclose(found.gibbs_error, AT_LOAD_20[neuron], atol=6e-9)

    def kernel(q):
        return TreeKernel(neuron, TASK).at(2.0, max(2.0 - q, 1e-12))

    load, q = naive.matched_load(found.q_hat, 1.0, lambda q: kernel(q).D0, lambda q: kernel(q).dD1_ddq)
    assert_allclose([load, q], [20.0, found.q], rtol=2e-6)


def test_errors_fall_like_those_of_a_perceptron():
    """alpha times error tends to 0.625 (Gibbs) and 0.44 (Bayes), whatever the dendrites."""
    for neuron in (LINEAR, POLSKY):
        found = dc.teacher_student(neuron, alpha=3000.0)
        assert_allclose([3000.0 * found.gibbs_error, 3000.0 * found.bayes_error], [0.625, 0.442], rtol=2e-3)


def test_bayes_is_better_than_gibbs_and_both_improve():
    found = [dc.teacher_student(RELU, alpha=alpha) for alpha in (0.1, 0.5, 2.0, 8.0)]
    assert all(one.bayes_error < one.gibbs_error for one in found)
    assert all(a.gibbs_error > b.gibbs_error for a, b in pairwise(found))


@pytest.mark.parametrize("neuron", [LINEAR, POLSKY], ids=lambda one: one.nonlinearity.name)
def test_the_equations_of_any_student_reproduce_the_matched_one(neuron):
    general = _Student(neuron, neuron, TASK).at(1.0)
    exact = dc.teacher_student(neuron, alpha=1.0)
    assert_allclose(general.gibbs_error, exact.gibbs_error, rtol=1e-9)
    assert_allclose([general.Q, general.q, general.R], [exact.Q, exact.q, exact.R], rtol=1e-8)
    assert_allclose([general.A_hat, general.R_hat], general.q_hat, rtol=1e-7)


ON_POLSKY = {0.05: 0.355025, 0.2: 0.344702, 0.5: 0.322553, 1.0: 0.292496, 1.5: 0.272210, 2.0: 0.259181}


@pytest.mark.parametrize("alpha", ON_POLSKY)
def test_linear_student_of_a_dendritic_teacher(alpha):
    found = dc.teacher_student(LINEAR, alpha=alpha, teacher=POLSKY)
    assert_allclose(found.gibbs_error, ON_POLSKY[alpha], atol=6e-7)
    assert math.isnan(found.bayes_error)
    assert found.estimate == "replica symmetric"


@pytest.mark.parametrize(("alpha", "error"), [(0.5, 0.324912), (1.0, 0.296818), (2.0, 0.263853)])
def test_dendritic_student_of_a_linear_teacher(alpha, error):
    assert_allclose(dc.teacher_student(POLSKY, alpha=alpha, teacher=LINEAR).gibbs_error, error, atol=6e-7)


@pytest.mark.parametrize(("student", "teacher"), [(LINEAR, POLSKY), (RELU, POLSKY), (POLSKY, SATURATING)])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 2.0])
def test_students_found_at_once_are_those_followed_from_a_small_load(student, teacher, alpha):
    followed = _Student(student, teacher, TASK).at(alpha, longest=0.3)
    found = dc.teacher_student(student, alpha=alpha, teacher=teacher)
    assert_allclose(
        [found.A_hat, found.q_hat, found.R_hat], [followed.A_hat, followed.q_hat, followed.R_hat], rtol=1e-8
    )


def test_scale_of_a_linear_student_does_not_matter():
    other = dc.NeuronSpec(dc.Linear(), 0.1, 0.5)
    one, two = (dc.teacher_student(of, alpha=0.7, teacher=POLSKY).gibbs_error for of in (LINEAR, other))
    assert_allclose(one, two, rtol=1e-8)


@pytest.mark.parametrize(("student", "teacher"), [(LINEAR, POLSKY), (POLSKY, RELU)])
def test_the_equations_are_derivatives_of_the_free_entropy(student, teacher):
    """phi of the docs, with every Gaussian average by a plain grid, is stationary in all seven order parameters."""
    alpha = 0.8
    found = dc.teacher_student(student, alpha=alpha, teacher=teacher)
    equations = _Student(student, teacher, TASK)
    Gamma_t = equations._teacher_variance
    t, weight = np.linspace(-10.0, 10.0, 4001), naive.WEIGHT
    exponential = np.linspace(0.0, 40.0, 4001)
    simpson = np.ones(4001)
    simpson[1:-1:2], simpson[2:-1:2] = 4.0, 2.0
    simpson *= np.exp(-exponential) * (exponential[1] - exponential[0]) / 3.0

    def phi(Q, q, R, A_hat, q_hat, R_hat, M_hat):
        kernel = TreeKernel(student, TASK).at(Q, Q - q)
        rho = equations._pair(Q, kernel.means[0], R).covariance / math.sqrt(Gamma_t)
        field = math.sqrt(kernel.D0) * t
        certain = 2.0 * naive.ndtr(rho * field / math.sqrt(kernel.D0 * (kernel.D0 - rho**2)))
        energetic = float(weight @ (certain * naive.log_ndtr(field / math.sqrt(kernel.D1))))
        coarse, coarse_weight = t[::10], 10.0 * weight[::10]
        x = M_hat + R_hat * exponential[:, None] * equations.W_teacher + math.sqrt(q_hat) * coarse
        x /= math.sqrt(A_hat)
        log_norm = 0.5 * x * x + 0.5 * math.log(2.0 * math.pi / A_hat) + naive.log_ndtr(x)
        entropic = float(simpson @ (log_norm @ coarse_weight))
        constraints = 0.5 * (Q * A_hat - (Q - q) * q_hat) - equations.W_bar * M_hat - R * R_hat
        return constraints + entropic + alpha * energetic

    at = [found.Q, found.q, found.R, found.A_hat, found.q_hat, found.R_hat, found.M_hat]
    for index, value in enumerate(at):
        h = 1e-4 * abs(value)
        up, down = ([*at[:index], value + s * h, *at[index + 1 :]] for s in (1.0, -1.0))
        assert abs(phi(*up) - phi(*down)) / (2e-4) < 2e-6, index


def test_energy_of_a_teacher_is_an_average_over_two_normal_numbers():
    steepness, certainty = 1.7, 0.9
    found = taught_energy(steepness, certainty, 0.12)

    def integrand(z, power):
        a = -steepness * z
        R = math.exp(-0.5 * a * a - naive.log_ndtr(-a)) / math.sqrt(2.0 * math.pi)
        value = {0: naive.log_ndtr(-a), 1: R * R, 2: R * (R - a)}[power]
        return 2.0 * naive.ndtr(certainty * z) * value * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)

    for power in range(3):
        slow = sum(quad(integrand, a, b, args=(power,), epsabs=1e-13)[0] for a, b in ((-9.0, 0.0), (0.0, 9.0)))
        assert_allclose(found[{0: 0, 1: 2, 2: 3}[power]], slow, rtol=1e-9)


CROSSINGS = {RELU: 0.115, SATURATING: 0.785, POLSKY: 1.190}


@pytest.mark.parametrize("teacher", CROSSINGS, ids=lambda one: one.nonlinearity.name)
def test_below_the_crossing_load_a_linear_student_is_better(teacher):
    load = dc.crossing_load(teacher)
    assert_allclose(load, CROSSINGS[teacher], atol=6e-4)
    for factor, sign in ((0.8, 1.0), (1.25, -1.0)):
        own = dc.teacher_student(teacher, alpha=factor * load).gibbs_error
        linear = dc.teacher_student(LINEAR, alpha=factor * load, teacher=teacher).gibbs_error
        assert sign * (own - linear) > 0.0


@pytest.mark.parametrize(("theta_d", "load"), [(0.05, 0.61), (0.2, 0.91)])
def test_crossing_loads_of_smaller_thresholds(theta_d, load):
    assert_allclose(dc.crossing_load(dc.NeuronSpec(dc.Polsky(), theta_d, 0.5)), load, atol=6e-3)


def test_what_is_refused_says_why():
    with pytest.raises(InvalidParameter, match="f_out"):
        dc.teacher_student(RELU, dc.TaskSpec(f_out=0.3), alpha=1.0)
    with pytest.raises(InvalidParameter, match="kappa"):
        dc.teacher_student(RELU, dc.TaskSpec(kappa=0.3), alpha=1.0)
    with pytest.raises(ConvergenceError, match="the last load with one"):
        dc.teacher_student(LINEAR, alpha=6.0, teacher=POLSKY)
    with pytest.raises(InvalidParameter, match="another neuron than the teacher"):
        dc.crossing_load(POLSKY, student=POLSKY)
    for name, call in {
        "teacher": lambda: dc.teacher_student(RELU, alpha=1.0, teacher=dc.DendriticNeuron(RELU, 999, 27)),
        "student": lambda: dc.crossing_load(RELU, student=dc.Linear()),
    }.items():
        with pytest.raises(InvalidParameter, match=f"{name} = .* must be a NeuronSpec"):
            call()
    halves = dc.NeuronSpec(populations=[dc.Branches(dc.ReLU(), 0.5, 0.5)] * 2, theta_s=0.5)
    with pytest.raises(InvalidParameter, match="population"):
        dc.teacher_student(halves, alpha=1.0)
