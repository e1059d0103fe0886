"""The description of a neuron and of its task, shared by theory and simulation.

`DendriticNeuron` and `LinearNeuron` add a finite size (`dendrocap.model.dendritic_neuron`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

from dendrocap.errors import InvalidParameter
from dendrocap.model.nonlinearities import Nonlinearity
from dendrocap.validation import check_fields, choice, fact, facts_of, real_number, refuse

# What a weight may be before it has seen a pattern: its prior.
#
# The built-in ones are two numbers: up to which ``w_max`` weights go, from zero on, and with which ``strength`` small
# ones are preferred. A weight then has the density exp(-strength W^2 / 2) on 0 <= W <= w_max [prior]. Any object with
# these two attributes will do; `dendrocap.theory.OwnPrior` is the base of those with another density.


@runtime_checkable
class Prior(Protocol):
    """What a weight may be: a density exp(-strength W^2 / 2) on 0 <= W <= w_max."""

    @property
    def w_max(self) -> float:
        """Largest weight; infinite if there is none."""

    @property
    def strength(self) -> float:
        """How strongly small weights are preferred; 0 if they are not."""


@dataclass(frozen=True)
class NonNegative:
    """Weights of any size from zero on: the paper's.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Polsky
    >>> NeuronSpec(Polsky(), 0.5, 0.5).prior
    NonNegative()
    """

    w_max: ClassVar[float] = math.inf
    strength: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Bounded:
    """Weights that saturate: none is larger than ``w_max``.

    Parameters
    ----------
    w_max : float
        Largest weight. The mean weight theta_d / f_in must be smaller.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, Linear, critical_capacity
    >>> found = critical_capacity(NeuronSpec(Linear(), 0.5, 0.5, prior=Bounded(w_max=3.0)))
    >>> round(found.alpha_c, 4), round(found.silent_fraction, 4), round(found.saturated_fraction, 4)
    (0.8943, 0.4218, 0.1311)
    """

    w_max: float = field(
        metadata=fact("largest weight", r"w_{\max}", "model weight", "(0, inf)", "Largest weight, above theta_d / f_in")
    )
    strength: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Ridge:
    """Weights of any size from zero on, of which small ones are preferred.

    Parameters
    ----------
    strength : float
        Each set of weights counts with exp(-strength sum W^2 / 2).

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, saddle_point
    >>> neuron = NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5, prior=Ridge(strength=2.0))
    >>> plain = NeuronSpec(ReLU(), theta_d=0.5, theta_s=0.5)
    >>> saddle_point(neuron, alpha=0.5).Q < saddle_point(plain, alpha=0.5).Q
    True
    """

    strength: float = field(
        metadata=fact(
            "strength of the ridge", r"\lambda", "1 / model weight squared", "[0, inf)",
            "Strength with which small weights are preferred, exp(-ridge W^2 / 2)",
        )
    )  # fmt: skip
    w_max: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Spherical:
    """Weights of either sign whose mean square is fixed: the committee machines of the literature.

    The mean of the weights is free, so that the thresholds above a branch balance mean outputs, whatever these are:
    ``theta_s`` is left out, and ``theta_d`` is minus the mean input of a branch.

    Parameters
    ----------
    variance : float
        Variance of the input of a branch, which sets the norm of its weights.

    Examples
    --------
    >>> from dendrocap import NeuronSpec, ReLU, critical_capacity
    >>> committee = NeuronSpec(ReLU(), theta_d=0.0, prior=Spherical())
    >>> round(critical_capacity(committee, rsb=1).alpha_c, 4)  # Baldassi, Malatesta and Zecchina 2019: 2.6643
    2.6643
    """

    variance: float = 1.0
    w_max: ClassVar[float] = math.inf
    strength: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", real_number("variance", self.variance, 0.0, low_open=True))


def is_usual(prior: Prior) -> bool:
    """Whether weights are bounded by zero alone, as in the paper."""
    return prior in (USUAL_PRIOR, Ridge(0.0))


USUAL_PRIOR = NonNegative()

# Facts of parameters that several classes share.
THETA_D = fact(
    "dendritic threshold", r"\theta_d", "branch threshold", "[0, inf)",
    "Dendritic threshold, the inhibition of each branch; it sets the mean weight", usual=(0.001, 10.0), log=True,
)  # fmt: skip
F_IN = fact(
    "input coding level", r"f_{\mathrm{in}}", "1", "(0, 1)", "Probability that an input is active", usual=(0.01, 0.99)
)


@dataclass(frozen=True)
class Level:
    """One level of a deep dendritic tree.

    Parameters
    ----------
    nonlinearity : Nonlinearity
        Non-linearity of the branches of this level.
    theta : float
        Threshold of these branches.

    Examples
    --------
    >>> from dendrocap import Polsky, ReLU
    >>> tree = NeuronSpec(levels=(Level(ReLU(), 0.5), Level(Polsky(), 0.4)), theta_s=0.5)
    >>> tree.n_levels
    2
    """

    nonlinearity: Nonlinearity
    theta: float = field(metadata=THETA_D)

    def __post_init__(self) -> None:
        _check_nonlinearity("nonlinearity", self.nonlinearity)
        check_fields(self)


@dataclass(frozen=True)
class Inhibition:
    """Plastic inhibitory synapses on the same branches as the excitatory ones.

    Their weights are at most zero. Both mean weights are fixed: the excitatory synapses drive a branch with
    ``theta_d``, the inhibitory ones with ``-drive``, and the fixed threshold is the remainder, ``theta_d - drive``.

    Parameters
    ----------
    share : float
        Share of a branch's synapses that are inhibitory, in [0, 1).
    drive : float
        Mean input that they subtract from a branch, in units of ``theta_d``: ``share * f_in`` times their mean
        strength. It is at most ``theta_d``, where no fixed threshold remains.
    f_in : float, optional
        Probability that one of their inputs is active; by default that of the excitatory inputs.

    Examples
    --------
    >>> from dendrocap import Polsky, critical_capacity
    >>> neuron = NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5, inhibition=Inhibition(share=0.2, drive=0.25))
    >>> round(critical_capacity(neuron, rsb=1).alpha_c, 4)  # 2.1366 without inhibition
    2.288
    """

    share: float = field(
        metadata=fact(
            "inhibitory share of synapses", "w_I", "1", "[0, 1)",
            "Share of a branch's synapses that are inhibitory and plastic", usual=(0.0, 0.9),
        )
    )  # fmt: skip
    drive: float = field(
        metadata=fact(
            "inhibitory drive", r"\theta_I", "1", "[0, inf)", "Mean inhibitory input of a branch, at most theta_d"
        )
    )
    f_in: float | None = field(
        default=None,
        metadata=fact(
            "coding level of inhibitory inputs", "f_I", "1", "(0, 1)",
            "Probability that an inhibitory input is active; that of the others if not given",
        ),
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_fields(self)
        if self.share == 0.0 and self.drive > 0.0:
            raise refuse("drive", self.drive, "0 if share = 0: there are no inhibitory synapses")

    def __repr__(self) -> str:
        return _short_repr(self)


@dataclass(frozen=True)
class Branches:
    """A population of equal branches, one of several in a neuron.

    Parameters
    ----------
    nonlinearity : Nonlinearity
        Non-linearity of a branch.
    theta_d : float
        Dendritic threshold.
    fraction : float
        Share of the neuron's branches, in (0, 1].
    length : float
        Synapses per branch, relative to the other populations.
    f_in : float, optional
        Probability that an input of these branches is active; by default that of the task.
    mean_output : float or "best", optional
        Average of g over the patterns; by default theta_s. The soma only fixes the average over all branches; "best"
        selects the value with the largest load.
    inhibition : Inhibition, optional
        Plastic inhibitory synapses on these branches.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> Branches(Polsky(), theta_d=0.5, fraction=0.5, mean_output=0.1)
    Branches(nonlinearity=Polsky(x_min=0.33, gamma=15.0), theta_d=0.5, fraction=0.5, mean_output=0.1)
    """

    nonlinearity: Nonlinearity
    theta_d: float = field(metadata=THETA_D)
    fraction: float = field(
        metadata=fact("share of branches", within="(0, 1]", help="Share of the neuron's branches", usual=(0.05, 0.95))
    )
    length: float = field(
        default=1.0,
        metadata=fact(
            "relative length", within="(0, inf)", help="Synapses per branch, relative to the other branches",
            usual=(0.1, 10.0), log=True,
        ),
    )  # fmt: skip
    f_in: float | None = field(default=None, metadata=F_IN)
    mean_output: float | str | None = None
    inhibition: Inhibition | None = None

    def __post_init__(self) -> None:
        _check_nonlinearity("nonlinearity", self.nonlinearity)
        check_fields(self)
        _check_inhibition(self.inhibition, self.theta_d)
        if isinstance(self.mean_output, str):
            choice("mean_output", self.mean_output, ("best",))
        elif self.mean_output is not None:
            object.__setattr__(self, "mean_output", real_number("mean_output", self.mean_output))

    def __repr__(self) -> str:
        return _short_repr(self)


@dataclass(frozen=True)
class NeuronSpec:
    """A neuron in the limit of many branches.

    Its branches are all alike (``nonlinearity`` and ``theta_d``), of several kinds (``populations``), or form a deep
    tree (``levels``): exactly one of the three must be given.

    Parameters
    ----------
    nonlinearity : Nonlinearity, optional
        Non-linearity of a branch.
    theta_d : float, optional
        Dendritic threshold, the inhibition of a branch; it determines the mean weight ``theta_d / f_in``.
    theta_s : float
        Somatic threshold, the inhibition of the soma. It can be negative if g has negative values.
    levels : sequence of Level, optional
        A deep tree, from the synapses to the soma: a branch of one level sums the outputs of many branches of the
        previous level.
    populations : sequence of Branches, optional
        Kinds of branches that connect to the soma. Their fractions sum to 1.
    inhibition : Inhibition, optional
        Plastic inhibitory synapses on branches that are all alike; each of several ``populations`` has its own.
        ``theta_d`` is then the excitatory drive, and ``theta_d - inhibition.drive`` the fixed threshold.
    prior : Prior
        What a weight may be: NonNegative(), as in the paper, Bounded(w_max), Ridge(strength) or Spherical(). The others
        are for replica-symmetric `critical_capacity`, `saddle_point` and `stability_limit` of branches that are all
        alike; with Spherical() `critical_capacity` takes steps of breaking, and there is no ``theta_s``.

    Examples
    --------
    >>> from dendrocap import Polsky
    >>> NeuronSpec(Polsky(), theta_d=0.05, theta_s=0.5)
    NeuronSpec(nonlinearity=Polsky(x_min=0.33, gamma=15.0), theta_d=0.05, theta_s=0.5)
    >>> halves = [Branches(Polsky(), 0.5, fraction=0.5, mean_output=t) for t in (0.1, 0.9)]
    >>> NeuronSpec(populations=halves, theta_s=0.5).n_populations
    2
    """

    # None only together with levels or populations, which few users give.
    nonlinearity: Nonlinearity = None  # type: ignore[assignment]
    theta_d: float = field(default=None, metadata=THETA_D)  # type: ignore[assignment]
    theta_s: float = field(
        default=None,  # type: ignore[assignment]
        metadata=fact(
            "somatic threshold", r"\theta_s", "somatic threshold",
            help="Somatic threshold, inside the range of g: the mean output of the branches", usual=(0.001, 2.0),
        ),
    )  # fmt: skip
    levels: tuple[Level, ...] = ()
    populations: tuple[Branches, ...] = ()
    inhibition: Inhibition | None = None
    prior: Prior = USUAL_PRIOR

    def __post_init__(self) -> None:
        if isinstance(self.nonlinearity, Sequence):
            raise refuse(
                "nonlinearity",
                self.nonlinearity,
                "a single Nonlinearity: give levels=(Level(g, theta), ...) for a deep tree, populations=(Branches(g, "
                "theta_d, fraction), ...) for several kinds of branches",
            )
        sphere = isinstance(self.prior, Spherical)
        if sphere and self.theta_s is not None:
            raise refuse("theta_s", self.theta_s, "left out with Spherical weights: it balances the mean output")
        if not sphere:
            object.__setattr__(self, "theta_s", facts_of(NeuronSpec)["theta_s"].checked("theta_s", self.theta_s))
        check_fields(self)
        for name, kind in (("levels", Level), ("populations", Branches)):
            given = getattr(self, name)
            if not isinstance(given, Sequence) or not all(isinstance(one, kind) for one in given):
                raise refuse(name, given, f"a sequence of {kind.__name__}")
            object.__setattr__(self, name, tuple(given))
        ways = [self.nonlinearity is not None, bool(self.levels), bool(self.populations)]
        if sum(ways) != 1 or (self.theta_d is not None) != ways[0]:
            raise InvalidParameter(
                f"{self!r} is not allowed: give either nonlinearity and theta_d, or levels, or populations, and theta_s"
            )
        if self.nonlinearity is not None:
            _check_nonlinearity("nonlinearity", self.nonlinearity)
            _check_inhibition(self.inhibition, self.theta_d)
        elif self.inhibition is not None:
            raise InvalidParameter(
                f"inhibition = {self.inhibition!r} cannot be combined with levels or populations: give each "
                "population its own, Branches(..., inhibition=...)"
            )
        if type(self.prior) is not NonNegative:
            self._check_prior()
        if not sphere and self.theta_s < 0.0:
            self._check_negative_threshold()
        total = math.fsum(one.fraction for one in self.populations)
        if self.populations and not math.isclose(total, 1.0, abs_tol=1e-9):
            raise refuse("the sum of all fractions", total, "1")

    def _check_prior(self) -> None:
        if not isinstance(self.prior, Prior):
            raise refuse(
                "prior", self.prior, "NonNegative(), Bounded(w_max), Ridge(strength), Spherical() or a theory.OwnPrior"
            )
        if is_usual(self.prior):
            return
        if self.populations or self.inhibition is not None:
            what = "populations of branches" if self.populations else "inhibition"
            raise refuse("prior", self.prior, f"NonNegative() together with {what}: nothing else is derived there")

    def _check_negative_threshold(self) -> None:
        """Raise for a negative somatic threshold unless the branches connected to the soma have negative outputs."""
        last = self.levels[-1:] or self.populations
        at_soma = [one.nonlinearity for one in last] or [self.nonlinearity]
        lowest = min(g.range[0] for g in at_soma)
        if not lowest < 0.0:
            raise refuse("theta_s", self.theta_s, f"a finite number >= 0: no branch has an output below {lowest:g}")

    def __repr__(self) -> str:
        return _short_repr(self)

    @property
    def n_levels(self) -> int:
        """Number of dendritic levels; 1 is the model of the paper."""
        return max(len(self.levels), 1)

    @property
    def n_populations(self) -> int:
        """Number of kinds of branches; 1 is the model of the paper."""
        return max(len(self.populations), 1)

    @cached_property
    def kinds(self) -> tuple[Branches, ...]:
        """The kinds of branches that connect to the soma; a single one if all are alike."""
        if self.n_levels > 1:
            raise refuse("n_levels", self.n_levels, "1 here: not all branches of a deep tree connect to the soma")
        if not is_usual(self.prior):
            raise refuse(
                "prior", self.prior, "NonNegative() here: other weights are not learned, and have one population"
            )
        g, theta_d = (
            (self.levels[0].nonlinearity, self.levels[0].theta) if self.levels else (self.nonlinearity, self.theta_d)
        )
        return self.populations or (Branches(g, theta_d, 1.0, inhibition=self.inhibition),)

    @cached_property
    def tree(self) -> tuple[Level, ...]:
        """The levels of a neuron whose branches are all alike, from the synapses to the soma."""
        if self.populations:
            raise InvalidParameter(
                f"a neuron with {len(self.populations)} population(s) of branches is not allowed here: its branches "
                "must all be alike, NeuronSpec(nonlinearity, theta_d, theta_s)"
            )
        if self.inhibition is not None and self.inhibition.share > 0.0:
            raise refuse("inhibition", self.inhibition, "None here: all weights must be non-negative")
        return self.levels or (Level(self.nonlinearity, self.theta_d),)


def check_spec(neuron: NeuronSpec, name: str = "neuron") -> None:
    """Refuse what is no `NeuronSpec`, such as a neuron with a size or a non-linearity alone."""
    if not isinstance(neuron, NeuronSpec):
        sized = isinstance(getattr(neuron, "spec", None), NeuronSpec)
        raise refuse(name, neuron, "a NeuronSpec" + (": that of a neuron with a size is its .spec" if sized else ""))


@dataclass(frozen=True)
class TaskSpec:
    """Statistics of the random patterns and labels to learn.

    Parameters
    ----------
    f_in, f_out : float
        Probability that an input or a label is 1.
    kappa : float
        Margin by which the somatic input must exceed the threshold or, if negative, by which it may miss it.
    branch_correlation : float
        c_0 >= 0: two inputs of one branch have correlation c_0 K / N, which makes their common fluctuations as large as
        their individual ones. Inputs of different branches are independent.

    Examples
    --------
    >>> TaskSpec(f_in=0.1, f_out=0.2, kappa=0.05)
    TaskSpec(f_in=0.1, f_out=0.2, kappa=0.05)
    >>> TaskSpec(branch_correlation=2.0)
    TaskSpec(f_in=0.5, f_out=0.5, kappa=0.0, branch_correlation=2.0)
    """

    f_in: float = field(default=0.5, metadata=F_IN)
    f_out: float = field(
        default=0.5,
        metadata=fact(
            "output coding level", r"f_{\mathrm{out}}", "1", "(0, 1)", "Probability that a label is 1",
            usual=(0.01, 0.99),
        ),
    )  # fmt: skip
    kappa: float = field(
        default=0.0,
        metadata=fact(
            "margin", r"\kappa", "somatic input",
            help="Margin by which the somatic input must exceed the threshold; if negative, by which it may miss it",
            usual=(0.0, 5.0),
        ),
    )  # fmt: skip
    branch_correlation: float = field(
        default=0.0,
        metadata=fact(
            "correlation within branches", "c_0", "1", "[0, inf)",
            "c0: two inputs of one branch have correlation c0 K / N, which must be below 1", usual=(0.0, 10.0),
        ),
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        shown = ["f_in", "f_out", "kappa", *(["branch_correlation"] if self.branch_correlation else [])]
        return f"TaskSpec({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _check_nonlinearity(name: str, given: Any) -> None:
    if not isinstance(given, Nonlinearity):
        raise refuse(name, given, "a Nonlinearity, such as Polsky() or Custom(function)")


def _check_inhibition(given: Any, theta_d: float) -> None:
    if given is None:
        return
    if not isinstance(given, Inhibition):
        raise refuse("inhibition", given, "an Inhibition, such as Inhibition(share=0.2, drive=0.25), or None")
    if given.drive > theta_d:
        raise refuse("inhibition.drive", given.drive, f"at most theta_d = {theta_d:g}, the excitatory drive")


def _short_repr(value: Any) -> str:
    """The constructor call of a dataclass, without fields that have their default."""
    given = [field for field in fields(value) if getattr(value, field.name) != field.default]
    return f"{type(value).__name__}({', '.join(f'{field.name}={getattr(value, field.name)!r}' for field in given)})"
