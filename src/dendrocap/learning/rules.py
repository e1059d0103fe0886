"""Learning algorithms: rules, which can be resumed, and solvers, which restart. Both are generators of epochs.

`Training` runs the epochs and manages everything else: patterns, randomness, best weights, limits, history.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.model.dendritic_neuron import DendriticNeuron
from dendrocap.model.flat import FACTS
from dendrocap.model.nonlinearities import Kernel, Nonlinearity, Step
from dendrocap.model.patterns import PackedPatterns, Patterns, active_fractions, binary_inputs
from dendrocap.numerics.types import Floats
from dendrocap.validation import check_fields, choice, fact, real_number, refuse

if TYPE_CHECKING:
    from dendrocap.learning.training import Training


@dataclass(frozen=True, eq=False, slots=True)
class EpochOutcome(Displayed):
    """The weights after one epoch, in the order of the inputs, and sign * Delta of every pattern with them.

    The run keeps the weights, so they must not be changed afterwards. Only if they make more errors than an earlier
    outcome of the attempt, margins may be those during the epoch.
    """

    margins: NDArray[Any]
    weights: NDArray[Any]
    learning_rate: float
    signal: float = np.inf  # largest dendritic signal in the epoch; below 1e-9 all branches are dead


class Algorithm(Protocol):
    """The interface that `train` accepts: anything that learns epoch by epoch."""

    @property
    def restarts(self) -> bool:
        """Whether an attempt that ends or diverges is followed by another, if the run has a limit.

        Such a run cannot be resumed, because the state of an attempt is more than its weights.
        """

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        """Yield one outcome per epoch, with the patterns and random numbers of the run; attempts count from 0."""


class Engine(Protocol):
    """A rule applied to its patterns."""

    def weights(self) -> NDArray[Any]:
        """A copy of the weights, in the order of the inputs and in the precision used."""

    def set_weights(self, flat: NDArray[Any]) -> None:
        """Continue from these weights."""

    def epoch(self, order: NDArray[np.int64], learning_rate: float) -> float:
        """Present the patterns in this order; returns the largest dendritic signal."""

    def tested_epoch(self, order: NDArray[np.int64], learning_rate: float) -> tuple[float, NDArray[Any]]:
        """An epoch and the margins after it."""

    def margins(self) -> NDArray[Any]:
        """sign * Delta of every pattern."""


def epochs_of(engine: Engine, run: Training) -> Iterator[EpochOutcome]:
    """Epochs at the rates of the run's schedule, until the schedule ends."""
    while not run.pace.finished:
        rate = run.pace.learning_rate
        signal, margins = engine.tested_epoch(run.shuffled(), rate)
        yield EpochOutcome(margins, engine.weights(), rate, signal)


class Rule(ABC):
    """A learning rule with an initial learning rate: one attempt, at the rates of the run's schedule.

    Its only state between epochs is the weights, so its runs can be resumed.
    """

    restarts: ClassVar[bool] = False
    learning_rate: float

    @abstractmethod
    def engine(self, neuron: DendriticNeuron, patterns: Patterns) -> Engine:
        """The rule applied to the patterns of a neuron."""

    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        engine = self.engine(run.neuron, run.patterns)
        engine.set_weights(run.first_weights())
        run.start = EpochOutcome(engine.margins(), engine.weights(), 0.0)
        if run.epochs == 0:
            run.follow(run.schedule, self.learning_rate)
        return epochs_of(engine, run)


class Solver(ABC):
    """A search for weights without errors in several attempts, each from new weights and usually twice as long.

    A solver with a ``name`` can be asked for by it. ``takes_margin`` says whether it looks for margins above
    ``run.kappa``; `solve` refuses to ask others for them.
    """

    restarts: ClassVar[bool] = True
    name: ClassVar[str]
    takes_margin: ClassVar[bool] = False
    registered: ClassVar[dict[str, type[Solver]]] = {}  # by name, in the order of their definition

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "name" in vars(cls):
            Solver.registered[cls.name] = cls

    @abstractmethod
    def attempt(self, run: Training, number: int) -> Iterator[EpochOutcome]:
        """Yield one outcome per epoch until the attempt ends."""


# Surrogates for the slope g' in the learning rule.
#
# Where g is flat, g' = 0 and gradient descent learns nothing: a pattern whose branches are all silent or all saturated
# is never corrected. A surrogate replaces g' in the update, but does not change the answers of the neuron. The rule is
# then no longer gradient descent on a loss.

# Codes for compiled loops. From OTHER_SLOPE on, the remainder of the code identifies a non-linearity.
TRUE_SLOPE, LORENTZIAN, FLOORED = range(3)
OTHER_SLOPE = 100


class Surrogate(ABC):
    """Base class of dendritic signals, the second of the three factors of the local rule."""

    @abstractmethod
    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        """The replacement for g' at these branch inputs."""

    @abstractmethod
    def kernel(self) -> Kernel:
        """Code and parameters for compiled loops."""


@dataclass(frozen=True)
class TrueSlope(Surrogate):
    """g' itself, the rule of the paper."""

    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        return nonlinearity.derivative(branch_input)

    def kernel(self) -> Kernel:
        return Kernel(TRUE_SLOPE, np.empty(0))


@dataclass(frozen=True)
class Lorentzian(Surrogate):
    """A broad bump, 1 / (1 + ((x - center) / width)^2), which is positive everywhere.

    Parameters
    ----------
    center : float
        Input at which a branch learns most; for `Polsky`, slightly above ``x_min``, where g is steep.
    width : float
        Half width at half maximum, positive. The defaults are suited to `Polsky` with ``theta_d`` from 0.3 to 1;
        smaller thresholds, where branch inputs vary less, need smaller widths (docs/results/learning.md).

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> Lorentzian(center=0.25, width=0.5).signal(Polsky(), [0.25, 0.75]).tolist()
    [1.0, 0.5]
    """

    center: float = field(
        default=0.4,
        metadata=fact("centre of the surrogate", unit="branch input", help="With --surrogate-width: the centre"),
    )
    width: float = field(
        default=0.3,
        metadata=fact(
            "width of the surrogate", "", "branch input", "(0, inf)",
            "Learn with 1/(1+((x-center)/width)^2) in place of g'(x), which is used if not given",
        ),
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_fields(self)

    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        return 1.0 / (1.0 + ((np.asarray(branch_input, dtype=np.float64) - self.center) / self.width) ** 2)

    def kernel(self) -> Kernel:
        return Kernel(LORENTZIAN, np.array([self.center, self.width]))


@dataclass(frozen=True)
class FlooredSlope(Surrogate):
    """g', but at least ``floor``, a positive number."""

    floor: float = field(default=0.3, metadata=fact("least slope", within="(0, inf)"))

    def __post_init__(self) -> None:
        check_fields(self)

    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        return np.maximum(nonlinearity.derivative(branch_input), self.floor)

    def kernel(self) -> Kernel:
        return Kernel(FLOORED, np.array([self.floor]))


@dataclass(frozen=True)
class SlopeOf(Surrogate):
    """The slope of another non-linearity, which can be user-defined (`Custom`, `Tabulated`)."""

    nonlinearity: Nonlinearity

    def __post_init__(self) -> None:
        if not isinstance(self.nonlinearity, Nonlinearity):
            raise refuse("nonlinearity", self.nonlinearity, "a Nonlinearity")

    def signal(self, nonlinearity: Nonlinearity, branch_input: ArrayLike) -> Any:
        return self.nonlinearity.derivative(branch_input)

    def kernel(self) -> Kernel:
        code, parameters = self.nonlinearity.kernel()
        return Kernel(OTHER_SLOPE + code, parameters)


# Homeostasis of excitation and inhibition, which keeps both mean weights at the values fixed by the theory.
#
# Learning fixes only the difference of the two drives, near the threshold of a branch; excitation and inhibition could
# grow together without changing the mean input. After each epoch the inhibitory weights of each branch are scaled to
# their drive, and the excitatory weights such that the mean input of the branch is unchanged [homeostasis].

# Largest factor by which weights are scaled at once: inhibition that has almost vanished recovers over several epochs.
MOST = 2.0


class Homeostasis:
    """Scales the weights of every branch to its inhibitory drive, at the activity of each input in the patterns."""

    def __init__(self, neuron: DendriticNeuron, activity: Floats) -> None:
        self._starts = neuron.branch_starts
        # Activity of excitatory and of inhibitory synapses.
        self._of_excitation = np.where(neuron.inhibitory, 0.0, activity)
        self._of_inhibition = np.where(neuron.inhibitory, activity, 0.0)
        # Index of each synapse's factor in the list of excitatory, then inhibitory factors of all branches.
        branch = np.repeat(np.arange(neuron.n_branches), neuron.branch_sizes)
        self._factor = branch + neuron.n_branches * neuron.inhibitory
        drives = [kind.inhibition.drive if kind.inhibition else 0.0 for kind in neuron.kinds]
        self._wanted: Floats = -np.array(drives)[neuron.kind_of_branch] * neuron.branch_sizes

    def __call__(self, flat: Floats) -> Floats:
        """Weights in the order of the inputs, scaled [homeostasis]."""
        excitation = np.add.reduceat(flat * self._of_excitation, self._starts)
        inhibition = np.add.reduceat(flat * self._of_inhibition, self._starts)
        scale = _held_ratio(self._wanted, inhibition, 0.0)
        # However much inhibition is lost, excitation must not vanish.
        balance = _held_ratio(excitation - (scale - 1.0) * inhibition, excitation, 1.0 / MOST)
        return np.asarray(flat * np.concatenate([balance, scale])[self._factor])


def homeostasis_for(neuron: DendriticNeuron, inputs: NDArray[np.uint8] | PackedPatterns) -> Homeostasis | None:
    """The homeostasis of a neuron that learns these patterns; None without inhibition."""
    return Homeostasis(neuron, active_fractions(inputs)) if neuron.has_inhibition else None


def _held_ratio(one: Floats, other: Floats, least: float) -> Floats:
    """The ratio of two numbers, limited to the allowed range of scaling; 1 if there is nothing to scale."""
    ratio = np.divide(one, other, out=np.ones_like(one), where=other != 0.0)
    return np.minimum(np.maximum(ratio, least), MOST)


# The three-factor learning rule, in which each factor can be replaced.
#
# A synapse changes by the product of a signal of the whole neuron (the soft error), a signal of its branch (the
# dendritic signal) and a signal of the synapse itself (the presynaptic activity) [local-rule]::
#
#     delta W_li = learning_rate * sign * soft_error(sign Delta) * g'(lambda_l) * xi_li / sqrt(n_l K)
#
# The soft error is that of the cross-entropy loss. Labels are +-1 here. With ``margin = sign * Delta``, positive if
# the neuron is right, the loss of a pattern is ``f(margin) = -margin / 2 + ln(2 cosh(gamma_ce margin)) / (2
# gamma_ce)`` [cross-entropy]: nearly zero if the margin is large on the scale 1 / gamma_ce, and ``-margin`` if it is
# very negative.
#
# `SGD` is the fast version of this rule, with a choice of dendritic signals. `LocalRule` accepts a Python function for
# each factor and runs in NumPy, about a hundred times slower: use it to try ideas.
Bits = NDArray[np.uint8]


def cross_entropy(margin: ArrayLike, gamma_ce: float) -> Any:
    """Loss of a pattern with the given margin."""
    gamma_ce = real_number("gamma_ce", gamma_ce, 0.0, low_open=True)
    # [cross-entropy] rewritten as softplus(-2 gamma margin) / (2 gamma), which cannot overflow.
    return np.logaddexp(0.0, -2.0 * gamma_ce * np.asarray(margin, dtype=np.float64)) / (2.0 * gamma_ce)


def soft_error(margin: ArrayLike, gamma_ce: float) -> Any:
    """Error of the neuron on a pattern, from 0 (clearly right) to 1 (clearly wrong): -f'(margin).

    The first of the three factors of the local rule [local-rule]; multiplied by the sign of the label it gives the
    direction of the update for the whole neuron.
    """
    gamma_ce = real_number("gamma_ce", gamma_ce, 0.0, low_open=True)
    exponent = np.clip(2.0 * gamma_ce * np.asarray(margin, dtype=np.float64), -700.0, 700.0)
    return np.where(exponent < 700.0, 1.0 / (1.0 + np.exp(exponent)), 0.0)[()]


@dataclass(frozen=True)
class ThreeFactors(Displayed):
    """The factors of one update, and their product."""

    _displayed = ("error", "dendritic_signal", "presynaptic")

    error: float  # sign of the label times the soft error: available to the whole neuron
    dendritic_signal: Floats  # g'(lambda_l) / sqrt(n_l K), or its surrogate: available to a branch
    presynaptic: Floats  # activity of the inputs: available to a synapse
    branch_sizes: NDArray[np.int64]

    @property
    def product(self) -> Floats:
        """The direction in which every weight moves, in the order of the inputs: minus the gradient."""
        return self.error * np.repeat(self.dendritic_signal, self.branch_sizes) * self.presynaptic


def three_factors(
    neuron: DendriticNeuron,
    weights: ArrayLike,
    pattern: ArrayLike,
    label: int,
    *,
    gamma_ce: float,
    surrogate: Surrogate | None = None,
) -> ThreeFactors:
    """The three factors by which one pattern changes the weights.

    Parameters
    ----------
    neuron, weights
        The neuron that learns, and its current weights.
    pattern, label : array of 0 and 1, shape (n_inputs,), and 0 or 1
        The pattern and the correct answer.
    gamma_ce, surrogate
        As for `SGD`.

    Examples
    --------
    >>> from dendrocap import LinearNeuron
    >>> factors = three_factors(LinearNeuron(0.5, 4), [1, 1, 1, 1], [1, 1, 0, 0], 1, gamma_ce=10.0)
    >>> factors.error, factors.product.tolist()
    (0.5, [0.25, 0.25, 0.0, 0.0])
    """
    sign = 2.0 * choice("label", label, (0, 1)) - 1.0
    inputs = binary_inputs(np.atleast_2d(np.asarray(pattern)), neuron.n_inputs)
    branch_input = neuron.branch_input(weights, inputs)[0]
    margin = sign * neuron.somatic_input(weights, inputs)[0]
    rule = surrogate or TrueSlope()
    signal = neuron.by_kind(lambda kind, x: rule.signal(kind.nonlinearity, x), branch_input)
    return ThreeFactors(
        error=float(sign * soft_error(margin, gamma_ce)),
        dendritic_signal=signal / np.sqrt(neuron.branch_sizes * neuron.n_branches),
        presynaptic=np.asarray(inputs, dtype=np.float64)[0],
        branch_sizes=neuron.branch_sizes,
    )


LEARNING_RATE = fact(
    "learning rate", r"\zeta", "1", "(0, inf)", "Learning rate in the first epoch", usual=(0.001, 10.0), log=True
)
GAMMA_CE = {"fact": FACTS["gamma_ce"]}


@dataclass(frozen=True)
class SGD(Rule):
    """Stochastic gradient descent on the cross-entropy, one pattern at a time, with weights clipped at zero.

    Algorithm 1 of the paper, compiled. Inhibitory weights are clipped from the other side, and homeostasis keeps their
    mean after each epoch [homeostasis].

    Parameters
    ----------
    learning_rate : float
        Learning rate zeta of the first epoch.
    gamma_ce : float
        Steepness of the loss: patterns with margins beyond 1 / gamma_ce hardly change the weights.
    surrogate : Surrogate, optional
        Replacement for g' in the update. None uses g' itself, the rule of the paper.
    precision : {"float32", "float64"}
        Precision of weights and arithmetic.

    Examples
    --------
    >>> from dendrocap import SGD, LinearNeuron, random_patterns, train
    >>> rule = SGD(learning_rate=0.1, gamma_ce=100)
    >>> train(LinearNeuron(0.5, 99), *random_patterns(40, 99, rng=0), algorithm=rule, seed=0).solved
    True
    """

    learning_rate: float = field(default=0.01, metadata=LEARNING_RATE)
    gamma_ce: float = field(default=100.0, metadata=GAMMA_CE)
    surrogate: Surrogate | None = None
    precision: str = "float32"

    def __post_init__(self) -> None:
        choice("precision", self.precision, ("float32", "float64"))
        largest = float(np.finfo(self.precision).max)
        for name in ("learning_rate", "gamma_ce"):
            number = real_number(name, getattr(self, name), 0.0, largest, low_open=True)
            object.__setattr__(self, name, number)
        if self.surrogate is not None and not isinstance(self.surrogate, Surrogate):
            raise refuse("surrogate", self.surrogate, "a Surrogate or None")

    def engine(self, neuron: DendriticNeuron, patterns: Patterns) -> Engine:
        if self.surrogate is None and any(isinstance(kind.nonlinearity, Step) for kind in neuron.kinds):
            raise refuse(
                "surrogate", None, "a Surrogate if the non-linearity is Step, whose slope is zero wherever it exists"
            )
        from dendrocap.learning.engine import CompiledEngine

        return CompiledEngine(neuron, patterns, gamma_ce=self.gamma_ce, surrogate=self.surrogate, dtype=self.precision)


@dataclass(frozen=True)
class LocalRule(Rule):
    """The three-factor rule with user-defined factors, in NumPy.

    Parameters
    ----------
    learning_rate, gamma_ce
        As for `SGD`; the steepness serves the default error only.
    error : callable, optional
        Maps the margin ``sign * Delta`` to the size of the error signal; by default the soft error of ``gamma_ce``.
    dendritic_signal : callable, optional
        Maps branch inputs to one signal per branch; by default g'.
    presynaptic : callable, optional
        Maps a pattern to one number per synapse; by default the pattern itself.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, ReLU, random_patterns, train
    >>> neuron = DendriticNeuron(NeuronSpec(ReLU(), theta_d=0.1, theta_s=0.5), n_inputs=40, n_branches=4)
    >>> rule = LocalRule(0.1, dendritic_signal=lambda branch_input: 1.0 / (1.0 + np.exp(-5.0 * branch_input)))
    >>> train(neuron, *random_patterns(10, 40, rng=0), algorithm=rule, max_epochs=200, seed=0).solved
    True
    """

    learning_rate: float = field(default=0.01, metadata=LEARNING_RATE)
    error: Callable[[float], float] | None = None
    dendritic_signal: Callable[[Floats], ArrayLike] | None = None
    presynaptic: Callable[[Floats], ArrayLike] | None = None
    gamma_ce: float = field(default=100.0, metadata=GAMMA_CE)

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("error", "dendritic_signal", "presynaptic"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise refuse(name, getattr(self, name), "callable or None")

    def engine(self, neuron: DendriticNeuron, patterns: Patterns) -> Engine:
        return _PythonEngine(self, neuron, patterns.dense, patterns.signs, homeostasis_for(neuron, patterns.inputs))


@dataclass
class _PythonEngine:
    rule: LocalRule
    neuron: DendriticNeuron
    inputs: Bits
    signs: Floats
    homeostasis: Homeostasis | None
    flat: Floats = field(init=False)

    def weights(self) -> Floats:
        return self.flat.copy()

    def set_weights(self, flat: NDArray[Any]) -> None:
        self.flat = np.array(flat, dtype=np.float64)

    def margins(self) -> Floats:
        return self.signs * self.neuron.somatic_input(self.flat, self.inputs)

    def tested_epoch(self, order: NDArray[np.int64], learning_rate: float) -> tuple[float, Floats]:
        return self.epoch(order, learning_rate), self.margins()

    def epoch(self, order: NDArray[np.int64], learning_rate: float) -> float:
        neuron, rule = self.neuron, self.rule
        sizes, starts = neuron.branch_sizes, neuron.branch_starts
        roots, soma_root = np.sqrt(sizes), np.sqrt(neuron.n_branches)
        error = rule.error or (lambda margin: float(soft_error(margin, rule.gamma_ce)))
        dendritic_signal = rule.dendritic_signal or (
            lambda inputs: neuron.by_kind(lambda kind, x: kind.nonlinearity.derivative(x), inputs)
        )
        largest = 0.0
        for pattern in order:
            activity, sign = self.inputs[pattern].astype(np.float64), self.signs[pattern]
            branch_input = np.add.reduceat(self.flat * activity, starts) / roots - roots * neuron.thresholds
            margin = sign * (neuron.branch_output(branch_input).sum() / soma_root - soma_root * neuron.spec.theta_s)
            signal = np.asarray(dendritic_signal(branch_input), dtype=np.float64)
            trace = activity if rule.presynaptic is None else np.asarray(rule.presynaptic(activity))
            change = learning_rate * sign * error(margin) * np.repeat(signal / (roots * soma_root), sizes) * trace
            self.flat = neuron.rectified(self.flat + change)
            largest = max(largest, float(np.abs(signal).max()))
        if self.homeostasis is not None:
            self.flat = self.homeostasis(self.flat)
        return largest
