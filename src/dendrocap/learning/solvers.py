"""Solvers: ways to find weights without errors close to capacity. docs/solvers.md compares them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import InvalidParameter
from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.recipe import HalveOnPlateau
from dendrocap.learning.rules import EpochOutcome, FlooredSlope, Lorentzian, Solver, Surrogate, epochs_of
from dendrocap.learning.training import Training
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.neuron import NeuronSpec
from dendrocap.model.nonlinearities import Nonlinearity, Step
from dendrocap.model.patterns import PackedPatterns, active_fractions
from dendrocap.numerics.types import Floats
from dendrocap.validation import choice, real_number, whole_number

# The natural sizes of a neuron, from which solvers take their defaults, and how solvers move away from them.
#
# A non-linearity with two flat ends rises somewhere; where, and over what width, tells where a branch can learn.
# The typical weight is set by the threshold and, on short branches, by the mean input that the soma asks for.

NARROWEST = 0.05  # rise that a surrogate should resolve, in units of the branch input


class Rise(NamedTuple):
    """Where a bounded g passes the middle of its range, and half the distance between the quarters of its range."""

    center: float
    width: float


def rise_of(g: Nonlinearity) -> Rise | None:
    """The rise of a bounded g; None if g has no upper or lower end."""
    low, high = g.range
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return None
    quarters = [crossing(g, low + share * (high - low)) for share in (0.25, 0.5, 0.75)]
    return Rise(quarters[1], max(0.5 * (quarters[2] - quarters[0]), NARROWEST))


def crossing(g: Nonlinearity, level: float) -> float:
    """Where g passes a level, by bisection; the end of the search, +-1e6, if it never does."""
    low, high = -1e6, 1e6
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(g(middle)) < level else (low, middle)
    return 0.5 * (low + high)


def input_scales(neuron: DendriticNeuron) -> list[float]:
    """For each kind of branches f_in times the typical weight, theta_d + m / sqrt(n) with g(m) = theta_s.

    The first term balances the dendritic threshold, the second gives a branch of n synapses the mean input at
    which its output is theta_s. It measures the spread of branch inputs, and learning rates go with it. Inhibitory
    synapses add to that spread: a share w that gives the drive d adds d / sqrt(w) to theta_d / sqrt(1 - w) at a right
    angle.
    """
    scales = []
    for at, kind in enumerate(neuron.kinds):
        own = neuron.kind_of_branch == at
        mean_input = crossing(kind.nonlinearity, neuron.spec.theta_s)
        shift = abs(mean_input) / math.sqrt(float(np.mean(neuron.branch_sizes[own])))
        drive = kind.theta_d
        if kind.inhibition is not None and kind.inhibition.share > 0.0:
            share = kind.inhibition.share
            drive = math.hypot(drive / math.sqrt(1.0 - share), kind.inhibition.drive / math.sqrt(share))
        scales.append(drive + (shift if abs(mean_input) < 1e5 else 0.0))
    return scales


def input_scale(neuron: DendriticNeuron) -> float:
    """The average of `input_scales` over all branches, for what all branches share."""
    scales = input_scales(neuron)
    return scales[0] if len(scales) == 1 else float(np.mean(np.array(scales)[neuron.kind_of_branch]))


def refuse_kinds(neuron: DendriticNeuron, name: str) -> None:
    """Refuse a neuron with inhibition or branches of several kinds, on behalf of a solver that knows neither."""
    if neuron.has_inhibition or len(neuron.kinds) > 1:
        what = "inhibition" if neuron.has_inhibition else f"{len(neuron.kinds)} populations of branches"
        raise InvalidParameter(f"{name} is not allowed for a neuron with {what}: sgd, surrogate and replicated are")


class Span(NamedTuple):
    """From ``start`` to ``end``, by the same factor in equal times."""

    start: float
    end: float

    def at(self, progress: float) -> float:
        """The value when this fraction of the attempt is over."""
        return float(self.start * (self.end / self.start) ** progress)

    def times(self, factor: float) -> Span:
        """Both ends in units of ``factor``."""
        return Span(self.start * factor, self.end * factor)


def span(name: str, pair: tuple[float, float]) -> Span:
    """A pair of positive numbers, checked."""
    start, end = (real_number(f"{name}[{at}]", value, 0.0, low_open=True) for at, value in enumerate(pair))
    return Span(start, end)


@dataclass(frozen=True)
class PlainSGD(Solver):
    """The paper's rule with g' itself, the rate halved on plateaus, restarted when it is spent.

    Parameters
    ----------
    learning_rate : float, optional
        First rate; by default a fifth of the natural weight scale, between the two rates that served best in
        docs/results/learning.md.
    gamma_ce : float
        Steepness of the loss.
    patience : int
        Epochs without a new minimum before the rate is halved.
    """

    name: ClassVar[str] = "sgd"
    takes_margin: ClassVar[bool] = True

    learning_rate: float | None = None
    gamma_ce: float = 100.0
    patience: int = 1000

    def __post_init__(self) -> None:
        if self.learning_rate is not None:
            real_number("learning_rate", self.learning_rate, 0.0, low_open=True)
        real_number("gamma_ce", self.gamma_ce, 0.0, low_open=True)
        whole_number("patience", self.patience, 1)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        neuron = run.neuron
        rate = 0.2 * input_scale(neuron) if self.learning_rate is None else self.learning_rate
        # A step has no slope: the least that lets it learn is a floor.
        surrogate = FlooredSlope() if any(isinstance(kind.nonlinearity, Step) for kind in neuron.kinds) else None
        engine = CompiledEngine(neuron, run.patterns, gamma_ce=self.gamma_ce, surrogate=surrogate, kappa=run.kappa)
        engine.set_weights(run.first_weights())
        run.follow(HalveOnPlateau(self.patience), rate)
        return epochs_of(engine, run)


# Surrogate gradient with a width that shrinks towards the true rise of g.

# Patterns with a soft error below e^-9 = 1e-4 change no weight: thousands of them would do less than one wrong pattern.
STILL = 9.0

FEW = 0.02  # share of wrong patterns up to which weights are always tested


@dataclass(frozen=True)
class SurrogatePlan:
    """Rate, loss and dendritic signal as functions of the progress of an attempt."""

    rate: Span
    gamma_ce: Span
    width: tuple[Span, ...]
    center: tuple[float | None, ...]

    def signals(self, progress: float) -> list[Surrogate]:
        """What stands for g' at this point, for each kind of branches.

        It is a bump where g rises, or, if g has no upper end, a falling floor.
        """
        return [
            FlooredSlope(width.at(progress)) if center is None else Lorentzian(center, width.at(progress))
            for width, center in zip(self.width, self.center, strict=True)
        ]

    def engine(self, run: Training) -> CompiledEngine:
        """The rule set to work on the patterns of a run, with the settings of the start."""
        return CompiledEngine(
            run.neuron,
            run.patterns,
            gamma_ce=self.gamma_ce.start,
            surrogate=self.signals(0.0),
            kappa=run.kappa,
            still=STILL,
        )

    def tune(self, engine: CompiledEngine, progress: float) -> float:
        """Settings for this point; returns the rate."""
        engine.retune(self.gamma_ce.at(progress), self.signals(progress))
        return self.rate.at(progress)


class RareTests:
    """Epochs of an attempt, tested only where weights may be its best: a test takes a third of the time of an epoch.

    Errors are counted while patterns are presented. If they are more than the fewest of the attempt, and not few, the
    margins are those of the presentation, and their errors cannot be mistaken for the best.
    """

    def __init__(self, run: Training) -> None:
        self._run, self._fewest = run, run.n_patterns
        self._few = run.n_patterns if run.tests_all_epochs else int(FEW * run.n_patterns)

    def epoch(self, engine: CompiledEngine, order: NDArray[np.int64], rate: float) -> NDArray[Any]:
        """The margins of an epoch."""
        _, margins = engine.tested_epoch(order, rate, max(self._few, self._fewest))
        self._fewest = min(self._fewest, int(np.count_nonzero(~(margins > self._run.kappa))))
        return margins


@dataclass(frozen=True)
class AnnealedSurrogate(Solver):
    """SGD in which a broad bump stands for g' and shrinks to the width of the true rise; rate and loss go along.

    A broad bump lets every branch learn from every pattern, which moves many patterns at once and leaves a high
    floor of errors; a narrow one moves only the branches close to switching, which disturbs few other patterns
    but cannot reach all. Going from one to the other slowly is worth more than any fixed width.

    Parameters
    ----------
    epochs : int
        Length of the first attempt. Each further one is twice as long: easy patterns end early, and hard ones
        get the slow annealing they need.
    rate : pair of float
        First and last learning rate, in units of the natural weight scale. A high first rate is needed: from a low one
        branches freeze before they have found their share of the patterns.
    gamma_ce : pair of float
        First and last steepness of the loss. A soft loss at first keeps a margin around patterns already right; a steep
        one at the end leaves them alone while the last wrong ones are put right.
    width : pair of float, optional
        First and last half width of the bump; by default 3.3 times the rise of g plus 0.7 times the natural
        scale, and the rise itself. For g without an upper end it is the floor under g', from 0.3 to 0.01.
    """

    name: ClassVar[str] = "surrogate"
    takes_margin: ClassVar[bool] = True

    epochs: int = 8000
    rate: tuple[float, float] = (3.5, 0.35)
    gamma_ce: tuple[float, float] = (5.0, 500.0)
    width: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        whole_number("epochs", self.epochs, 1)
        span("rate", self.rate)
        span("gamma_ce", self.gamma_ce)
        if self.width is not None:
            span("width", self.width)

    def plan(self, neuron: DendriticNeuron) -> SurrogatePlan:
        """The settings in numbers, for this neuron."""
        rises = [rise_of(kind.nonlinearity) for kind in neuron.kinds]
        return SurrogatePlan(
            rate=span("rate", self.rate).times(input_scale(neuron)),
            gamma_ce=span("gamma_ce", self.gamma_ce),
            width=tuple(self._width(rise, scale) for rise, scale in zip(rises, input_scales(neuron), strict=True)),
            center=tuple(None if rise is None else rise.center for rise in rises),
        )

    def _width(self, rise: Rise | None, scale: float) -> Span:
        if self.width is not None:
            return span("width", self.width)
        return Span(0.3, 0.01) if rise is None else Span(3.3 * rise.width + 0.7 * scale, rise.width)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        plan = self.plan(run.neuron)
        engine = plan.engine(run)
        engine.set_weights(run.first_weights())
        length, tests = self.epochs * 2**number, RareTests(run)
        for epoch in range(length):
            rate = plan.tune(engine, epoch / length)
            margins = tests.epoch(engine, run.shuffled(), rate)
            yield EpochOutcome(margins, engine.weights(), rate)


# Damped least squares on the patterns that are wrong or nearly so: the end of a search, where gradients are slow.
#
# Near a solution the margins are nearly linear in the weights, and what is left is a linear problem with many
# constraints just violated. Stochastic gradients approach its end slowly; a few Gauss-Newton steps do it [polish].
# Large violations, which no small step can mend, pull only as hard as small ones (Huber's loss), so that few patterns
# stay wrong rather than many a little.

# Margins aimed at beyond kappa, and violations beyond which the loss grows linearly, both as shares of 1 / (2 sqrt K):
# the margin of a pattern whose branches are all saturated and of which one more is right than wrong.
AIM, CAP = 0.02, 0.015

DAMPING = 1.0  # of the first step, in units of the mean squared gradient

RAISED, LOWERED = 4.0, 3.0  # factors of the damping after a step that failed, and after one that did not

LEAST, MOST = 1e-7, 1e6  # beyond which damping no step is worth trying

ACTIVE = 4000  # more patterns than this are no matter for polishing, and their matrix would not fit


def least_squares(run: Training, engine: CompiledEngine, weights: NDArray[Any], steps: int) -> Iterator[EpochOutcome]:
    """Gauss-Newton steps from these weights, one outcome each, as long as they help [polish].

    ``engine`` measures the margins; its weights are changed.
    """
    neuron, signs = run.neuron, run.patterns.signs
    unit = 0.5 / np.sqrt(neuron.n_branches)
    target, cap = run.kappa + AIM * unit, CAP * unit
    flat, damping = np.array(weights, dtype=np.float64), DAMPING
    engine.set_weights(flat)
    margins = engine.margins()
    loss = _huber(target - margins, cap)
    for _ in range(steps):
        active = np.flatnonzero(margins < target)
        if not 0 < len(active) <= ACTIVE or not LEAST <= damping <= MOST:
            return
        violation = target - margins[active]
        share = np.sqrt(np.minimum(1.0, cap / violation)).astype(np.float32)
        gradient = _gradients(run, flat, active) * (signs[active].astype(np.float32) * share)[:, None]
        step = _damped_step(gradient, share * violation, flat, damping)
        trial = np.maximum(flat + step, 0.0)
        engine.set_weights(trial)
        reached = engine.margins()
        gained = _huber(target - reached, cap)
        if gained < loss:
            flat, margins, loss = trial, reached, gained
            damping = max(damping / LOWERED, LEAST)
        else:
            damping *= RAISED
        yield EpochOutcome(margins, flat, 0.0)


def _huber(violation: NDArray[Any], cap: float) -> float:
    """Half the squares of violations up to ``cap``, straight lines beyond."""
    positive = np.maximum(violation, 0.0).astype(np.float64)
    return float(np.where(positive < cap, 0.5 * positive**2, cap * (positive - 0.5 * cap)).sum())


def _gradients(run: Training, flat: Floats, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """dDelta / dW of these patterns, shape (patterns, n_inputs)."""
    neuron, inputs = run.neuron, run.patterns.inputs
    chosen = inputs.unpack(rows) if isinstance(inputs, PackedPatterns) else inputs[rows]
    slopes = neuron.by_kind(lambda kind, x: kind.nonlinearity.derivative(x), neuron.branch_input(flat, chosen))
    slopes /= np.sqrt(neuron.branch_sizes * neuron.n_branches)
    return np.asarray(np.repeat(slopes.astype(np.float32), neuron.branch_sizes, axis=1) * chosen)


def _damped_step(gradient: NDArray[np.float32], wanted: NDArray[Any], flat: Floats, damping: float) -> Floats:
    """The change of weights that comes closest to the wanted margins; weights at zero that would fall stay there."""
    free = (flat > 0.0) | (wanted.astype(np.float32) @ gradient > 0.0)
    step = np.zeros_like(flat)
    ridge = 0.0
    for _ in range(3):
        own = gradient[:, free]
        products = own @ own.T
        at = np.diag_indices(len(products))
        ridge = ridge or damping * max(float(products[at].mean()), 1e-30)
        products[at] += ridge
        step[:] = 0.0
        step[free] = np.linalg.solve(products, wanted.astype(np.float32)) @ own
        held = free & (flat <= 0.0) & (step < 0.0)
        if not held.any():
            break
        free &= ~held
    return np.where((flat <= 0.0) & (step < 0.0), 0.0, step)


# Annealing that ends in least squares, with branches split from the start where theory asks for it.

AVERAGED = 0.02  # share of each epoch's weights in the running average from which least squares starts

# Where short annealings begin in the course of the long one, and how much shorter they are.
REHEATED, SHORTER = 0.9, 8

PATIENCE = 2  # rounds that may leave as many errors as an earlier one before an attempt is given up

FOOT = 2.0  # drive of off branches, in widths of the rise, below which their inputs stay on the foot of g


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
        course = _Split(self.start, run) if self.splits(run.neuron) else _Course(run)
        yield from course.annealed(0.0, length)
        fewest, idle = run.n_patterns + 1, 0
        for _ in range(self.rounds):
            yield from course.polished(self.steps)
            fewest, idle = (course.wrong, 0) if course.wrong < fewest else (fewest, idle + 1)
            if idle == PATIENCE:
                return
            yield from course.annealed(REHEATED, max(1, length // SHORTER))

    def splits(self, neuron: DendriticNeuron) -> bool:
        """Whether branches of this neuron start split; never if there is one, or if g has only one end."""
        if self.split == "no" or len(neuron.kinds) > 1 or neuron.has_inhibition or neuron.n_branches < 2:
            return False
        rise = rise_of(neuron.nonlinearity)
        if rise is None:
            return False
        return self.split == "yes" or self.start.drives(neuron, rise)[0] < FOOT * rise.width


class _Course:
    """One attempt from equal branches: the annealed surrogate, and least squares from its average weights."""

    def __init__(self, run: Training) -> None:
        self.run, self.wrong, self._tests = run, run.n_patterns, RareTests(run)
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

    def annealed(self, first: float, length: int) -> Iterator[EpochOutcome]:
        """Epochs from this point of the schedule to its end."""
        for epoch in range(length):
            progress = first + (1.0 - first) * epoch / length
            rate = self.plan.tune(self.engine, progress)
            margins = self._tests.epoch(self.engine, self.run.shuffled(), rate)
            weights = self.engine.weights()
            self._settle(weights, progress)
            self.average = self.average + AVERAGED * (weights - self.average)
            yield EpochOutcome(margins, weights, rate)

    def polished(self, steps: int) -> Iterator[EpochOutcome]:
        """Least squares from the average weights; annealing goes on from what it reaches."""
        for outcome in least_squares(self.run, self.engine, self.average, steps):
            self.average = outcome.weights
            self.wrong = int(np.count_nonzero(~(outcome.margins > self.run.kappa)))
            yield outcome
        self.engine.set_weights(self.average)


class _Split(_Course):
    """One attempt from split branches; the last ones are mostly on."""

    def __init__(self, start: SplitStart, run: Training) -> None:
        neuron = run.neuron
        rise = rise_of(neuron.nonlinearity)
        assert rise is not None  # PolishedAnnealing.splits has seen to it
        n_on = min(max(int(neuron.n_branches * neuron.spec.theta_s), 1), neuron.n_branches - 1)
        self._start, self._rise, self._n_on = start, rise, n_on
        self._on = np.arange(neuron.n_branches) >= neuron.n_branches - n_on
        self._drives = start.drives(neuron, rise)
        self._activity = active_fractions(run.patterns.inputs)
        self._pull = span("pull", start.pull)
        super().__init__(run)

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


@dataclass(frozen=True)
class ReplicatedSGD(Solver):
    """Copies under the annealed surrogate gradient, each drawn after every epoch towards their mean.

    Where many solutions lie close together the copies can all be right and yet agree; isolated solutions are left
    out. The coupling grows, so that the copies end in one place.

    Parameters
    ----------
    copies : int
        Number of copies y, at least 2. An epoch presents every pattern to each of them.
    coupling : pair of float
        First and last fraction of the way to the mean that a copy goes after an epoch.
    rule : AnnealedSurrogate
        How each copy learns; its ``epochs`` are those of the attempt.
    """

    name: ClassVar[str] = "replicated"
    takes_margin: ClassVar[bool] = True

    copies: int = 3
    coupling: tuple[float, float] = (1e-3, 0.1)
    rule: AnnealedSurrogate = field(default_factory=lambda: AnnealedSurrogate(epochs=3000))

    def __post_init__(self) -> None:
        whole_number("copies", self.copies, 2)
        span("coupling", self.coupling)

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        plan, pull = self.rule.plan(run.neuron), span("coupling", self.coupling)
        engines = [plan.engine(run) for _ in range(self.copies)]
        first = run.first_weights()
        for copy, engine in enumerate(engines):
            engine.set_weights(first if copy == 0 else run.first_weights())
        middle = plan.engine(run)
        length = self.rule.epochs * 2**number
        for epoch in range(length):
            progress = epoch / length
            margins, copies = [], []
            for engine in engines:
                rate = plan.tune(engine, progress)
                margins.append(engine.tested_epoch(run.shuffled(), rate)[1])
                copies.append(engine.weights())
            mean = np.mean(copies, axis=0)
            middle.set_weights(mean)
            # Of the copies and their mean, the one with the fewest errors speaks for the epoch.
            candidates = [*zip(margins, copies, strict=True), (middle.margins(), mean)]
            best = min(candidates, key=lambda pair: int(np.count_nonzero(~(pair[0] > run.kappa))))
            yield EpochOutcome(*best, rate)
            share = min(1.0, pull.at(progress))
            for engine, own in zip(engines, copies, strict=True):
                engine.set_weights(own + share * (mean - own))
