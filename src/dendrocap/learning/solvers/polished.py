"""Annealing that ends in least squares, with branches split from the start where theory asks for it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dendrocap.learning.algorithms import EpochOutcome, Solver
from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.homeostasis import active_fractions
from dendrocap.learning.solvers.least_squares import least_squares
from dendrocap.learning.solvers.scales import Rise, Span, refuse_kinds, rise_of, span
from dendrocap.learning.solvers.surrogate import STILL, AnnealedSurrogate, RareTests, SurrogatePlan
from dendrocap.learning.training import Training
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.neuron import NeuronSpec
from dendrocap.validation import choice, real_number, whole_number

__all__ = ["Course", "PolishedAnnealing", "SplitStart", "schedule_points"]

AVERAGED = 0.02  # share of each epoch's weights in the running average from which least squares starts


@dataclass(frozen=True)
class SplitStart:
    """How two populations of branches begin and learn: some mostly off, the others mostly on.

    Lengths are in units of the branch input; a *scale* is f_in times the mean weight of a population.

    Parameters
    ----------
    ends : float
        Distance of the first mean inputs from the centre of the rise of g, in widths of the rise.
    spread : pair of float
        What each unit of theta_d adds to that distance, for branches off and on.
    rate : pair of float
        First and last learning rate, in units of a population's own scale.
    gamma_ce : pair of float
        First and last steepness of the loss, in units of sqrt(n_branches): a pattern whose branches are all saturated
        has a margin of 1 / (2 sqrt(n_branches)), and more is not asked for.
    width : pair of pairs
        First width of the bump for branches off and on, in widths of the rise and in scales. That of branches off
        stays near two widths of the rise, so that the foot of g keeps learning; that of branches on ends at one.
    pull : pair of float
        First and last share of the way to its first value that the mean input of each branch goes after an epoch.

    Examples
    --------
    >>> SplitStart(pull=(0.02, 0.002)).ends
    4.0
    """

    ends: float = 4.0
    spread: tuple[float, float] = (1.8, 3.0)
    rate: tuple[float, float] = (8.0, 0.65)
    gamma_ce: tuple[float, float] = (3.0, 60.0)
    width: tuple[tuple[float, float], tuple[float, float]] = ((1.5, 0.9), (0.3, 0.55))
    pull: tuple[float, float] = (0.01, 0.001)

    def __post_init__(self) -> None:
        real_number("ends", self.ends, 0.0)
        for name in ("rate", "gamma_ce", "pull"):
            span(name, getattr(self, name))

    def drives(self, neuron: DendriticNeuron, rise: Rise) -> tuple[float, float]:
        """f_in times the mean weight of branches off and on, such that their mean inputs are beyond the rise."""
        off = rise.center - self.ends * rise.width - self.spread[0] * neuron.theta_d
        on = rise.center + self.ends * rise.width + self.spread[1] * neuron.theta_d
        root = float(np.sqrt(neuron.branch_size))
        least = 0.05 * max(neuron.theta_d, on / root)
        return max(neuron.theta_d + off / root, least), neuron.theta_d + on / root


@dataclass(frozen=True)
class PolishedAnnealing(Solver):
    """The annealed surrogate, from split branches where that pays, ended by least squares on the wrong patterns.

    Patterns that annealing leaves wrong are mostly wrong by little: the rest of a nearly linear problem, which damped
    Gauss-Newton steps solve [polish]. If some stay, short annealings at a low temperature and least squares alternate.

    In theory the most is stored if about half of the branches are on for nearly all patterns and the others off.
    Annealing from equal branches finds a weaker split. At small thresholds, where the inputs of branches
    that are off stay on the foot of g, the better split is prepared and kept [`SplitStart`]; at larger ones this gained
    nothing over equal branches (docs/solvers.md).

    Parameters
    ----------
    split : {"auto", "yes", "no"}
        Whether branches start split.
    epochs : int
        Length of the annealing in the first attempt; each further one is twice as long.
    rounds : int
        Most short annealings after the long one, an eighth of its length each; two without progress end them.
    steps : int
        Most Gauss-Newton steps after each annealing.
    start : SplitStart
        How split branches start and learn; equal ones do so as in `AnnealedSurrogate`.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns, solve
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=150, n_branches=9)
    >>> patterns = random_patterns(150, 150, rng=0)
    >>> result = solve(neuron, *patterns, solver=PolishedAnnealing(epochs=500), seed=0, max_epochs=5000)
    >>> result.solved, result.algorithm.name
    (True, 'polished')
    """

    name: ClassVar[str] = "polished"
    takes_margin: ClassVar[bool] = True

    split: str = "auto"
    epochs: int = 8000
    rounds: int = 20
    steps: int = 60
    start: SplitStart = field(default_factory=SplitStart)

    def __post_init__(self) -> None:
        choice("split", self.split, ("auto", "yes", "no"))
        for name in ("epochs", "rounds", "steps"):
            whole_number(name, getattr(self, name), 1)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        refuse_kinds(run.neuron, f"solver = {self.name!r}")
        length = self.epochs * 2**number
        course = yield from self._annealed(run, length)
        fewest, idle = run.n_patterns + 1, 0
        for _ in range(self.rounds):
            yield from course.polished(self.steps)
            fewest, idle = (course.wrong, 0) if course.wrong < fewest else (fewest, idle + 1)
            if idle == PATIENCE:
                return
            for progress in schedule_points(REHEATED, 1.0, max(1, length // SHORTER)):
                yield course.epoch(progress)

    def _annealed(self, run: Training, length: int) -> Generator[EpochOutcome, None, Course]:
        """The whole schedule; returns the course at its end."""
        course = self._course(run)
        for progress in schedule_points(0.0, 1.0, length):
            yield course.epoch(progress)
        return course

    def _course(self, run: Training, rng: np.random.Generator | None = None) -> Course:
        return _Split(self.start, run, rng) if self.splits(run.neuron) else Course(run, rng)

    def splits(self, neuron: DendriticNeuron) -> bool:
        """Whether branches of this neuron start split; never if there is one, or if g has only one end."""
        if self.split == "no" or len(neuron.kinds) > 1 or neuron.has_inhibition or neuron.n_branches < 2:
            return False
        rise = rise_of(neuron.nonlinearity)
        if rise is None:
            return False
        return self.split == "yes" or self.start.drives(neuron, rise)[0] < FOOT * rise.width


# Where short annealings begin in the course of the long one, and how much shorter they are.
REHEATED, SHORTER = 0.9, 8
PATIENCE = 2  # rounds that may leave as many errors as an earlier one before an attempt is given up
# Drive of off branches, in widths of the rise, below which their inputs stay on the foot of g.
FOOT = 2.0


def schedule_points(first: float, last: float, length: int) -> Iterator[float]:
    """Points of a schedule, one for each epoch."""
    return (first + (last - first) * epoch / length for epoch in range(length))


class Course:
    """One attempt from equal branches: the annealed surrogate, and least squares from its average weights.

    The order of patterns is drawn from ``rng``, by default that of the run.
    """

    def __init__(self, run: Training, rng: np.random.Generator | None = None) -> None:
        self.run, self.rng, self.wrong, self._tests = run, rng, run.n_patterns, RareTests(run)
        self.plan = self._plan()
        self.engine = self._engine()
        self.engine.set_weights(self._first_weights())
        self.average = self.engine.weights()

    def _plan(self) -> SurrogatePlan:
        return AnnealedSurrogate().plan(self.run.neuron)

    def _engine(self) -> CompiledEngine:
        return self.plan.engine(self.run)

    def _first_weights(self) -> NDArray[Any]:
        return self.run.first_weights()

    def _settle(self, weights: NDArray[Any], progress: float) -> None:
        """What happens between two epochs."""

    def epoch(self, progress: float) -> EpochOutcome:
        """One epoch with the settings of this point of the schedule."""
        rate = self.plan.tune(self.engine, progress)
        margins = self._tests.epoch(self.engine, self.run.shuffled(self.rng), rate)
        weights = self.engine.weights()
        self._settle(weights, progress)
        self.average = self.average + AVERAGED * (weights - self.average)
        return EpochOutcome(margins, weights, rate)

    def errors_on_average(self) -> int:
        """Patterns that the average weights get wrong; single epochs leave more, by the noise of their steps."""
        weights = self.engine.weights()
        self.engine.set_weights(self.average)
        margins = self.engine.margins()
        self.engine.set_weights(weights)
        return int(np.count_nonzero(~(margins > self.run.kappa)))

    def take_over(self, other: Course) -> None:
        """Go on from the weights of another copy, with random numbers of its own."""
        self.engine.set_weights(other.engine.weights())
        self.average = other.average

    def polished(self, steps: int) -> Iterator[EpochOutcome]:
        """Least squares from the average weights; annealing goes on from what it reaches."""
        for outcome in least_squares(self.run, self.engine, self.average, steps):
            self.average = outcome.weights
            self.wrong = int(np.count_nonzero(~(outcome.margins > self.run.kappa)))
            yield outcome
        self.engine.set_weights(self.average)


class _Split(Course):
    """One attempt from split branches; the last ones are mostly on."""

    def __init__(self, start: SplitStart, run: Training, rng: np.random.Generator | None = None) -> None:
        neuron = run.neuron
        rise = rise_of(neuron.nonlinearity)
        assert rise is not None  # PolishedAnnealing.splits has seen to it
        n_on = min(max(int(neuron.n_branches * neuron.spec.theta_s), 1), neuron.n_branches - 1)
        self._start, self._rise, self._n_on = start, rise, n_on
        self._on = np.arange(neuron.n_branches) >= neuron.n_branches - n_on
        self._drives = start.drives(neuron, rise)
        self._activity = active_fractions(run.patterns.inputs)
        self._pull = span("pull", start.pull)
        super().__init__(run, rng)

    def _plan(self) -> SurrogatePlan:
        ends = (2.0 * self._rise.width, self._rise.width)
        widths = [
            Span(max(rises * self._rise.width + scales * drive, end), end)
            for (rises, scales), drive, end in zip(self._start.width, self._drives, ends, strict=True)
        ]
        root = float(np.sqrt(self.run.neuron.n_branches))
        return SurrogatePlan(
            rate=span("rate", self._start.rate),
            gamma_ce=span("gamma_ce", self._start.gamma_ce).times(root),
            width=tuple(widths),
            center=(self._rise.center, self._rise.center),
        )

    def _engine(self) -> CompiledEngine:
        """The neuron written as two populations of the same kind, each with a bump and a rate of its own."""
        neuron = self.run.neuron
        kind, share = neuron.kinds[0], self._n_on / neuron.n_branches
        halves = (replace(kind, fraction=1.0 - share), replace(kind, fraction=share))
        spec = NeuronSpec(populations=halves, theta_s=neuron.spec.theta_s)
        return CompiledEngine(
            DendriticNeuron(spec, neuron.n_inputs, neuron.n_branches, neuron.group_size),
            self.run.patterns,
            surrogate=self.plan.signals(0.0),
            kappa=self.run.kappa,
            branch_rates=np.where(self._on, self._drives[1], self._drives[0]),
            still=STILL,
        )

    def _first_weights(self) -> NDArray[Any]:
        return self._pulled(self.run.first_weights(), 1.0)

    def _settle(self, weights: NDArray[Any], progress: float) -> None:
        self.engine.set_weights(self._pulled(weights, self._pull.at(progress)))

    def _pulled(self, flat: NDArray[Any], share: float) -> NDArray[Any]:
        """Weights of every branch scaled so that its drive goes this share of the way to the one wanted."""
        neuron = self.run.neuron
        drive = np.add.reduceat(flat * self._activity, neuron.branch_starts) / neuron.branch_sizes
        wanted = np.where(self._on, self._drives[1], self._drives[0])
        ratio = np.divide(wanted, drive, out=np.ones_like(wanted), where=drive > 0.0)
        return np.asarray(flat * np.repeat(1.0 + share * (ratio - 1.0), neuron.branch_sizes))
