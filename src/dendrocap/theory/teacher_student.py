"""Generalisation of a student that learns from a teacher: its error on unseen patterns.

The labels are those of a teacher with random non-negative weights, exponentially distributed. A student that knows the
teacher's form draws its weights from all that make no error on the learned patterns (Gibbs), or takes the majority of
their answers (Bayes). The teacher is then statistically equivalent to a student, so the replica-symmetric theory is
exact [nishimori]. A student with another non-linearity is also Gibbs, with one more order parameter, its overlap R with
the teacher [student].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.model import Linear, NeuronSpec, TaskSpec
from dendrocap.numerics import legendre_rule
from dendrocap.numerics.types import Floats
from dendrocap.theory import scope
from dendrocap.theory._laws import FIELD_STEP
from dendrocap.theory.dendrite import BranchInput, BranchKernel, MixedPair, PairKernel, check_reachable, mixed_pair
from dendrocap.theory.learned import EXACT
from dendrocap.theory.neuron_kernel import TreeKernel
from dendrocap.theory.results import SYMMETRIC
from dendrocap.theory.solver import bracketed_root, followed
from dendrocap.validation import real_number, refuse

NODES = 16  # per Gauss-Legendre panel

FIRST_LOAD, SHORTEST = 0.25, 0.01  # load at which a student is followed up to others, and step in its logarithm


@dataclass(frozen=True)
class TeacherStudent(Displayed):
    """Generalisation of a student that learned patterns labelled by a teacher.

    Attributes
    ----------
    alpha : float
        Patterns per synapse.
    gibbs_error : float
        Probability of a wrong answer to an unseen pattern, for a random student without training errors.
    bayes_error : float
        The same for the majority of these students, the smallest possible; NaN if student and teacher differ in form.
    estimate : str
        "exact" if student and teacher have the same form, "replica symmetric" otherwise.
    Q, q, R : float
        Mean square of the student's weights, overlap of two students, overlap of student and teacher.
    Q_teacher : float
        Mean square of the teacher's weights.
    q_hat, R_hat, A_hat, M_hat : float
        Conjugates.
    residual : float
        Largest relative mismatch of the equations.
    neuron, teacher, task
        The inputs.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky, teacher_student
    >>> found = teacher_student(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), alpha=0.5)
    >>> print(f"Gibbs {found.gibbs_error:.4f}, Bayes {found.bayes_error:.4f}, {found.estimate}")
    Gibbs 0.3382, Bayes 0.2542, exact
    """

    _displayed = ("alpha", "gibbs_error", "bayes_error", "estimate", "Q", "q", "R", "residual")

    alpha: float
    gibbs_error: float
    bayes_error: float
    estimate: str
    Q: float
    q: float
    R: float
    Q_teacher: float
    q_hat: float
    R_hat: float
    A_hat: float
    M_hat: float
    residual: float
    neuron: NeuronSpec
    teacher: NeuronSpec
    task: TaskSpec


def teacher_student(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, alpha: float, teacher: NeuronSpec | None = None
) -> TeacherStudent:
    """Generalisation error of a student that makes no error on ``alpha`` patterns per synapse of a teacher.

    Parameters
    ----------
    neuron : NeuronSpec
        The student, with one level of equal branches.
    task : TaskSpec, optional
        Only ``f_in`` matters. Labels are those of the teacher, half of them 1: ``f_out = 1/2``, and no margin.
    alpha : float
        Patterns per synapse.
    teacher : NeuronSpec, optional
        The teacher, if its form differs from that of the student.

    Raises
    ------
    InvalidParameter
        For ``f_out`` other than 1/2, a margin, correlated inputs, and neurons with several populations or levels.
    ConvergenceError
        If no student without errors was found at this load, for a student that differs from the teacher in form.

    Examples
    --------
    >>> from dendrocap import Linear, Polsky
    >>> dendritic, linear = (NeuronSpec(g, theta_d=0.5, theta_s=0.5) for g in (Polsky(), Linear()))
    >>> student = teacher_student(linear, alpha=0.5, teacher=dendritic)
    >>> print(f"{student.gibbs_error:.4f}")  # a linear student of few examples does better than a dendritic one
    0.3226
    """
    alpha = real_number("alpha", alpha, 0.0)
    task = scope.check("teacher_student", neuron, task)
    for name, one in (("neuron", neuron), ("teacher", neuron if teacher is None else teacher)):
        scope.check("teacher_student", one, name=name)
        real_number("theta_d", one.tree[0].theta, 0.0, low_open=True)
        check_reachable(one)
    if teacher is None or teacher == neuron:
        return _matched(neuron, task, alpha)
    return _Student(neuron, teacher, task).at(alpha)


def crossing_load(teacher: NeuronSpec, task: TaskSpec | None = None, student: NeuronSpec | None = None) -> float:
    """The load above which a student of the teacher's form generalises better than another one.

    Below it the other student, by default a linear neuron, is better although its form is wrong: with few examples a
    simpler student has less to learn.

    Parameters
    ----------
    teacher : NeuronSpec
        A neuron with one level of equal branches.
    task : TaskSpec, optional
        As in `teacher_student`.
    student : NeuronSpec, optional
        The other student; by default a linear neuron.

    Raises
    ------
    NoSolution
        If the order of the two is the same at all loads tried, up to those that the other student can learn.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> print(f"{crossing_load(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5)):.2f}")
    1.19
    """
    for name, one in (("teacher", teacher), ("student", teacher if student is None else student)):
        scope.check("teacher_student", one, task, name=name)
    other = NeuronSpec(Linear(), teacher.tree[0].theta, teacher.theta_s) if student is None else student
    if other == teacher:
        raise refuse("student", other, "another neuron than the teacher")

    def advantage(alpha: float) -> float:
        own = teacher_student(teacher, task, alpha=alpha)
        return teacher_student(other, task, alpha=alpha, teacher=teacher).gibbs_error - own.gibbs_error

    low, high = 0.02, 0.04
    if advantage(low) > 0.0:
        raise NoSolution(f"a student like the teacher is better already at load {low:g}")
    try:
        while advantage(high) < 0.0:
            low, high = high, 2.0 * high
    except ConvergenceError as error:
        raise NoSolution(f"a student like the teacher is still worse at load {low:g}: {error}") from error
    return bracketed_root(advantage, low, high, xtol=1e-9).at


def _matched(neuron: NeuronSpec, task: TaskSpec, alpha: float) -> TeacherStudent:
    """Student and teacher of the same form: a curve in q_hat that reaches the load [nishimori]."""
    from dendrocap.theory._laws import taught_averages, taught_energy

    W_bar = neuron.tree[0].theta / task.f_in
    Q, kernels = 2.0 * W_bar**2, TreeKernel(neuron, task)
    rule = legendre_rule(NODES)

    def at(log_field: float) -> tuple[float, PairKernel, float]:
        """Load, kernel and Q - q at q_hat W_bar^2 = exp(log_field)."""
        field = math.exp(log_field)
        rate = 1.0 / math.sqrt(field)
        # The posterior of a weight is exp(-w / W_bar - q_hat w^2 / 2 + h w) with h = q_hat w_teacher + sqrt(q_hat) z.
        dq = W_bar**2 * float(taught_averages(-rate, 1.0, rate, rule)[3]) / field
        kernel = kernels.at(Q, dq)
        steepness = math.sqrt(kernel.D0 / kernel.D1)
        # weighted by 2 H(-a z), because teacher and student are equally certain
        force = float(taught_energy(steepness, steepness, FIELD_STEP)[2]) / kernel.D1
        return field / W_bar**2 / (force * kernel.dD1_ddq), kernel, dq

    if alpha == 0.0:
        kernel, dq, q_hat = kernels.at(Q, W_bar**2), W_bar**2, 0.0
    else:
        low = high = math.log(alpha)
        while at(low)[0] > alpha:
            low -= 2.0
        while at(high)[0] < alpha:
            high += 2.0
        root = bracketed_root(lambda log_field: math.log(at(log_field)[0] / alpha), low, high).at if low < high else low
        found, kernel, dq = at(root)
        q_hat = math.exp(root) / W_bar**2
    Gamma0 = kernel.D0 + kernel.D1
    return TeacherStudent(
        alpha=alpha,
        gibbs_error=math.asin(math.sqrt(kernel.D1 * (Gamma0 + kernel.D0)) / Gamma0) / math.pi,
        bayes_error=math.atan(math.sqrt(kernel.D1 / kernel.D0)) / math.pi,
        estimate=EXACT,
        Q=Q,
        q=Q - dq,
        R=Q - dq,
        Q_teacher=Q,
        q_hat=q_hat,
        R_hat=q_hat,
        A_hat=q_hat,
        M_hat=-1.0 / W_bar,
        residual=0.0 if alpha == 0.0 else abs(found / alpha - 1.0),
        neuron=neuron,
        teacher=neuron,
        task=task,
    )


class _State(NamedTuple):
    """The weights of a student, the soma, and what patterns ask of the conjugates per unit of load."""

    Q: float
    dq: float
    R: float
    M_hat: float
    asked: Floats  # A_hat, q_hat, R_hat
    kernel: PairKernel
    overlap: float  # rho, the covariance of the somatic inputs with the teacher's, of unit variance


class _Student:
    """The equations of a student whose form is not the teacher's [student]."""

    def __init__(self, neuron: NeuronSpec, teacher: NeuronSpec, task: TaskSpec) -> None:
        self.neuron, self.teacher, self.task = neuron, teacher, task
        self.W_bar, self.W_teacher = (one.tree[0].theta / task.f_in for one in (neuron, teacher))
        self.v = task.f_in * (1.0 - task.f_in)
        self._kernel = TreeKernel(neuron, task)
        self._branch, self._other = (BranchKernel(one.tree[0].nonlinearity, one.theta_s) for one in (neuron, teacher))
        V = 2.0 * self.v * self.W_teacher**2
        given = self._other.response(V)
        self._teacher_input, self._teacher_variance = BranchInput(given.mean, math.sqrt(V)), given.variance
        self._eta = 0.0

    def at(self, alpha: float, longest: float = math.inf) -> TeacherStudent:
        """The student at a load: most are found at once, from conjugates that grow like the load at first."""
        W2, none = self.W_bar**2, -1.0 / self.W_bar
        free = self._with_patterns(2.0 * W2, W2, self.W_bar * self.W_teacher, none)
        if alpha == 0.0:
            return self._described(0.0, free, np.zeros(3), 0.0)
        first = math.log(0.5 * min(alpha, FIRST_LOAD))
        *_, last = followed(
            lambda log_load: lambda x: np.log(self._state(x).asked) + log_load - x,
            np.log(free.asked) + first,
            first,
            math.log(alpha),
            slope=1.0,
            on_the_way=1e-12,
            reach=math.inf,
            longest=longest,
            shortest=SHORTEST,
        )
        if last.at < math.log(alpha):
            raise ConvergenceError(
                f"no student {self.neuron} without errors on {self.teacher} was found at alpha = {alpha:g}; the "
                f"last load with one is {math.exp(last.at):.4g}",
                last,
            )
        return self._described(alpha, self._state(last.x), np.exp(last.x), last.residual)

    def _state(self, x: Floats) -> _State:
        """Weights with ln (A_hat, q_hat, R_hat) = x, and their patterns."""
        from dendrocap.theory._laws import centre, taught_averages

        A_hat, q_hat, R_hat = np.exp(x).tolist()
        root, xi = math.sqrt(A_hat), q_hat / A_hat
        rate = math.sqrt(q_hat) / (R_hat * self.W_teacher)
        rule = legendre_rule(NODES)
        eta = float(centre(root * self.W_bar, math.inf, xi, rate, self._eta, FIELD_STEP, rule))
        _, _, squared, variance, _, product = taught_averages(eta, xi, rate, rule)
        if not math.isfinite(squared):
            raise ConvergenceError("the weights have no finite moments", last_iterate=x)
        self._eta = eta
        Q, dq, R = (squared + variance) / A_hat, variance / A_hat, self.W_teacher * product / root
        return self._with_patterns(Q, dq, R, eta * root)

    def _with_patterns(self, Q: float, dq: float, R: float, M_hat: float) -> _State:
        from dendrocap.theory._laws import energetic_averages, taught_energy

        kernel = self._kernel.at(Q, dq)
        pair = self._pair(Q, kernel.means[0], R)
        unit = math.sqrt(self._teacher_variance)
        rho = pair.covariance / unit
        apart = kernel.D0 - rho**2
        if not (apart > 0.0 and kernel.D1 > 0.0 and rho > 0.0):
            raise ConvergenceError("a student cannot be closer to its teacher than to itself", (Q, dq, R))
        found = taught_energy(math.sqrt(kernel.D0 / kernel.D1), rho / math.sqrt(apart), FIELD_STEP).tolist()
        f1_squared, f2 = found[2] / kernel.D1, -found[3] / kernel.D1
        # dG_E / d rho: labels change where the input of the teacher is zero.
        along_rho = math.sqrt(2.0 / math.pi / kernel.D1) * float(
            energetic_averages(math.sqrt(apart / kernel.D1), 0.0, FIELD_STEP, math.inf)[1]
        )
        d_mean = self._branch.response(self.v * Q).d_mean
        rho_Q = self.v * (0.5 * pair.curvature + d_mean * pair.cross) / unit
        A_hat = -(f2 * kernel.dGamma0_dQ + f1_squared * kernel.dD1_dQ) - 2.0 * along_rho * rho_Q
        asked = np.array([A_hat, f1_squared * kernel.dD1_ddq, along_rho * self.v * pair.slopes / unit])
        return _State(Q, dq, R, M_hat, asked, kernel, rho)

    def _pair(self, Q: float, mean: float, R: float) -> MixedPair:
        at = BranchInput(mean, math.sqrt(self.v * Q))
        return mixed_pair(self._branch, at, self._other, self._teacher_input, self.v * R)

    def _described(self, alpha: float, state: _State, conjugates: Floats, residual: float) -> TeacherStudent:
        A_hat, q_hat, R_hat = conjugates.tolist()
        kernel = state.kernel
        return TeacherStudent(
            alpha=alpha,
            gibbs_error=math.acos(min(state.overlap / math.sqrt(kernel.D0 + kernel.D1), 1.0)) / math.pi,
            bayes_error=math.nan,
            estimate=SYMMETRIC,
            Q=state.Q,
            q=state.Q - state.dq,
            R=state.R,
            Q_teacher=2.0 * self.W_teacher**2,
            q_hat=q_hat,
            R_hat=R_hat,
            A_hat=A_hat,
            M_hat=state.M_hat,
            residual=residual,
            neuron=self.neuron,
            teacher=self.teacher,
            task=self.task,
        )
