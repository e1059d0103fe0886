"""A training recipe: rule, schedule, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from dendrocap.errors import InvalidParameter
from dendrocap.learning.rules import SGD, Algorithm, Lorentzian
from dendrocap.validation import Fact, check_fields, fact, facts_of, refuse

# Schedules of the learning rate.
#
# A schedule is a frozen description. The state of a run is a `Pace`, also frozen, which the schedule replaces by the
# next one after every epoch: a run can be stopped, stored and resumed at any point.


@dataclass(frozen=True)
class Pace:
    """The state of a schedule: the current rate and its memory."""

    learning_rate: float  # of the next epoch
    floor: float = 0.0  # the run ends below this rate
    best_error: float = math.inf
    waited: int = 0  # epochs since the error last improved, or since the rate last changed
    finished: bool = False


@runtime_checkable
class Schedule(Protocol):
    """The interface of schedules: epoch and error in, rate out."""

    def start(self, learning_rate: float, n_inputs: int) -> Pace:
        """The pace of the first epoch."""

    def after_epoch(self, pace: Pace, epoch: int, error: float) -> Pace:
        """The pace after ``epoch`` epochs, the last of which ended with this training error."""


@dataclass(frozen=True)
class Constant:
    """A constant rate."""

    def start(self, learning_rate: float, n_inputs: int) -> Pace:
        return Pace(learning_rate)

    def after_epoch(self, pace: Pace, epoch: int, error: float) -> Pace:
        return pace


@dataclass(frozen=True)
class ExponentialAnnealing:
    """Rate ``learning_rate * (1 - decay)**t`` in epoch t [annealing].

    Parameters
    ----------
    decay : float
        d_zeta, in [0, 1); the paper uses 1e-4.

    Examples
    --------
    >>> schedule = ExponentialAnnealing(decay=0.5)
    >>> pace = schedule.start(0.1, n_inputs=999)
    >>> schedule.after_epoch(pace, 1, error=0.2).learning_rate
    0.05
    """

    decay: float = field(
        default=1e-4,
        metadata=fact(
            "decay of the rate",
            r"d\zeta",
            "1",
            "[0, 1)",
            "Fraction by which the rate shrinks per epoch",
            usual=(0.0, 0.1),
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def start(self, learning_rate: float, n_inputs: int) -> Pace:
        return Pace(learning_rate)

    def after_epoch(self, pace: Pace, epoch: int, error: float) -> Pace:
        return replace(pace, learning_rate=pace.learning_rate * (1.0 - self.decay))


@dataclass(frozen=True)
class HalveOnPlateau:
    """Reduce the rate whenever the error stops decreasing; end below a floor [plateau].

    The error has stopped decreasing when ``patience`` epochs in a row gave no new minimum. The minimum is that of the
    whole run; the count restarts after every reduction. The paper does not say how long to wait, and the measured
    capacity depends on it: at ``theta_d = 0.1`` the largest load solved is 0.1 with a patience of 20, 0.8 with 100 and
    1.1 with 1000 (docs/results/learning.md). Therefore there is no default.

    Parameters
    ----------
    patience : int
        Epochs without a new minimum before the rate is reduced.
    factor : float
        Factor of the reduction, in (0, 1).
    floor : float, optional
        The run ends when the rate falls below it; by default 1 / (4096 N).

    Examples
    --------
    >>> schedule = HalveOnPlateau(patience=2, floor=0.04)
    >>> pace = schedule.start(0.1, n_inputs=999)
    >>> for epoch, error in enumerate([0.3, 0.4, 0.3, 0.3, 0.3], start=1):
    ...     pace = schedule.after_epoch(pace, epoch, error)
    >>> pace.learning_rate, pace.finished
    (0.025, True)
    """

    patience: int = field(
        metadata=fact(
            "patience", "", "epochs", "[1, inf)",
            "Epochs without a new minimum before the rate is halved; a run ends at 1/(4096 N)", whole=True,
        )
    )  # fmt: skip
    factor: float = field(default=0.5, metadata=fact("factor of the rate", within="(0, 1)"))
    floor: float | None = field(default=None, metadata=fact("least rate", within="[0, inf)"))

    def __post_init__(self) -> None:
        check_fields(self)

    def start(self, learning_rate: float, n_inputs: int) -> Pace:
        return Pace(learning_rate, floor=1.0 / (4096.0 * n_inputs) if self.floor is None else self.floor)

    def after_epoch(self, pace: Pace, epoch: int, error: float) -> Pace:
        if error < pace.best_error:
            return replace(pace, best_error=error, waited=0)
        if pace.waited + 1 < self.patience:
            return replace(pace, waited=pace.waited + 1)
        rate = pace.learning_rate * self.factor
        return replace(pace, learning_rate=rate, waited=0, finished=rate < pace.floor)


@dataclass(frozen=True)
class Recipe:
    """How a neuron is trained.

    The result of training depends on all parts, so protocols take and return a recipe as a whole.

    Parameters
    ----------
    algorithm : Algorithm
        A learning rule with its initial rate, by default ``SGD()``, or a solver.
    schedule : Schedule
        How the rate changes; by default ``ExponentialAnnealing()``, which never ends a run. Solvers have none.
    max_epochs : int or None
        Maximum number of epochs. None sets no limit.
    stop_when_solved : bool
        End when every pattern is right. Continuing increases the margins.

    Examples
    --------
    >>> from dendrocap import SGD, HalveOnPlateau, LinearNeuron, Recipe, random_patterns, train
    >>> recipe = Recipe(SGD(learning_rate=0.1), HalveOnPlateau(patience=20), max_epochs=500)
    >>> train(LinearNeuron(0.5, 99), *random_patterns(40, 99, rng=0), recipe, seed=0).solved
    True
    >>> Recipe.from_flat({"learning_rate": 0.1, "patience": 20, "max_epochs": 500}) == recipe
    True
    """

    algorithm: Algorithm = None  # type: ignore[assignment]  # filled in below
    schedule: Schedule = None  # type: ignore[assignment]
    max_epochs: int | None = field(
        default=1000,
        metadata=fact("epochs", "", "epochs", "[0, inf)", "Maximum number of epochs of a run", whole=True),
    )
    stop_when_solved: bool = True

    def __post_init__(self) -> None:
        algorithm, schedule = self.algorithm, self.schedule
        if algorithm is None:
            algorithm = SGD()
        elif not hasattr(algorithm, "attempt"):
            raise refuse("algorithm", algorithm, "SGD(...), LocalRule(...) or another Algorithm")
        if schedule is None:
            schedule = Constant() if algorithm.restarts else ExponentialAnnealing()
        elif algorithm.restarts and schedule != Constant():
            raise refuse("schedule", schedule, f"None: {algorithm} sets its own rates")
        elif not isinstance(schedule, Schedule):
            raise refuse("schedule", schedule, "HalveOnPlateau(...), ExponentialAnnealing(...) or another Schedule")
        object.__setattr__(self, "algorithm", algorithm)
        object.__setattr__(self, "schedule", schedule)
        if self.max_epochs is not None:
            check_fields(self)
        if not isinstance(self.stop_when_solved, bool):
            raise refuse("stop_when_solved", self.stop_when_solved, "True or False")

    @classmethod
    def from_flat(cls, flat: Mapping[str, Any], default: Recipe | None = None) -> Recipe:
        """The recipe described by flat parameters; those that are not given are taken from ``default``.

        ``surrogate_width`` and ``surrogate_center`` select a `Lorentzian` instead of g'. With ``patience`` the rate
        is halved on plateaus, with ``decay`` it shrinks by this fraction per epoch.
        """
        for name in flat:
            if name not in RECIPE:
                raise InvalidParameter(f"{name} is not a parameter of a recipe; allowed are {', '.join(RECIPE)}")
        if "patience" in flat and "decay" in flat:
            raise InvalidParameter("patience and decay cannot be combined: choose one")
        base = (default or cls()).flat()
        if "patience" in flat or "decay" in flat:
            base = {name: value for name, value in base.items() if name not in ("patience", "decay")}
        given = {**base, **flat}
        if "surrogate_center" in given and "surrogate_width" not in given:
            raise InvalidParameter("surrogate_center needs a value for surrogate_width")
        bump = {name: given[f"surrogate_{name}"] for name in ("center", "width") if f"surrogate_{name}" in given}
        return cls(
            SGD(given["learning_rate"], given["gamma_ce"], Lorentzian(**bump) if bump else None, given["precision"]),
            HalveOnPlateau(given["patience"]) if "patience" in given else ExponentialAnnealing(given["decay"]),
            given["max_epochs"],
            given["stop_when_solved"],
        )

    def flat(self) -> dict[str, Any]:
        """The recipe as flat parameters, from which `from_flat` makes an equal one.

        They exist only for `SGD`, with g' or a `Lorentzian`, and for `ExponentialAnnealing` or `HalveOnPlateau` with
        its default factor and floor.
        """
        rule, schedule = self.algorithm, self.schedule
        if type(rule) is not SGD or type(rule.surrogate) not in (Lorentzian, type(None)):
            raise refuse("algorithm", rule, "SGD with g' or a Lorentzian to be described by flat parameters")
        flat: dict[str, Any] = {"learning_rate": rule.learning_rate, "gamma_ce": rule.gamma_ce}
        if isinstance(rule.surrogate, Lorentzian):
            flat |= {"surrogate_width": rule.surrogate.width, "surrogate_center": rule.surrogate.center}
        flat["precision"] = rule.precision
        if isinstance(schedule, ExponentialAnnealing):
            flat["decay"] = schedule.decay
        elif isinstance(schedule, HalveOnPlateau) and schedule == HalveOnPlateau(schedule.patience):
            flat["patience"] = schedule.patience
        else:
            allowed = "ExponentialAnnealing(decay) or HalveOnPlateau(patience) to be described by flat parameters"
            raise refuse("schedule", schedule, allowed)
        return {**flat, "max_epochs": self.max_epochs, "stop_when_solved": self.stop_when_solved}


# The flat parameters of a recipe: keys of a TOML file, options of a command.
RECIPE_FACTS: dict[str, Fact] = {
    **facts_of(SGD),
    **{f"surrogate_{name}": facts_of(Lorentzian)[name] for name in ("width", "center")},
    "precision": Fact("precision", help="float32 or float64"),
    "patience": facts_of(HalveOnPlateau)["patience"],
    **facts_of(ExponentialAnnealing),
    **facts_of(Recipe),
    "stop_when_solved": Fact("end when all patterns are right"),
}
RECIPE = tuple(RECIPE_FACTS)
