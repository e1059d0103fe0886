"""A training recipe: rule, schedule, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dendrocap.errors import InvalidParameter
from dendrocap.learning.algorithms import Algorithm
from dendrocap.learning.local_rule import SGD
from dendrocap.learning.schedules import Constant, ExponentialAnnealing, HalveOnPlateau, Schedule
from dendrocap.learning.surrogates import Lorentzian
from dendrocap.validation import refuse, whole_number

__all__ = ["RECIPE", "Recipe"]

# The flat parameters of a recipe: keys of a TOML file, options of a command.
RECIPE = (
    "learning_rate",
    "gamma_ce",
    "surrogate_width",
    "surrogate_center",
    "precision",
    "patience",
    "decay",
    "max_epochs",
    "stop_when_solved",
)


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
    max_epochs: int | None = 1000
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
            object.__setattr__(self, "max_epochs", whole_number("max_epochs", self.max_epochs, 0))
        if not isinstance(self.stop_when_solved, bool):
            raise refuse("stop_when_solved", self.stop_when_solved, "True or False")

    @classmethod
    def from_flat(cls, flat: Mapping[str, Any], default: Recipe | None = None) -> Recipe:
        """The recipe described by flat parameters; those that are not given are taken from ``default``.

        ``surrogate_width`` and ``surrogate_center`` select a `Lorentzian` instead of g'. With ``patience`` the rate
        is halved on plateaus, with ``decay`` it shrinks by this fraction per epoch.

        Examples
        --------
        >>> Recipe.from_flat({"patience": 100}).schedule
        HalveOnPlateau(patience=100, factor=0.5, floor=None)
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

        Examples
        --------
        >>> Recipe(max_epochs=50).flat()["decay"]
        0.0001
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
