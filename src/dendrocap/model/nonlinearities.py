"""Dendritic non-linearities g, which map the summed input of a branch to its output.

Each is a small frozen object: equal parameters give equal, hashable objects. All have the same interface (value,
derivative, kinks, range), so that the theory can integrate any of them, and each has an integer code with parameters
for compiled loops.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.errors import InvalidParameter
from dendrocap.model import table
from dendrocap.numerics.types import Floats
from dendrocap.validation import check_fields, choice, fact, real_number, refuse

ScalarFunction = Callable[[Any], Any]

# Codes for compiled loops; they must agree with dendrocap.model._compiled.
LINEAR, RELU, SATURATING_RELU, STEP, POLSKY, TABLE = range(6)


class Kernel(NamedTuple):
    """A non-linearity for compiled code: the code of its formula, and its parameters."""

    code: int
    parameters: Floats


class Nonlinearity(ABC):
    """Base class of dendritic transfer functions g, for theory and simulation.

    Examples
    --------
    >>> from dendrocap import Nonlinearity, Polsky
    >>> g: Nonlinearity = Polsky(x_min=0.33, gamma=15)
    >>> g.range, g.has_jumps
    ((0.0, 1.0), False)
    >>> print(f"g(0.5) = {g(0.5):.4f}, g'(0.5) = {g.derivative(0.5):.4f}, kinks at {g.breakpoints}")
    g(0.5) = 0.9029, g'(0.5) = 1.3503, kinks at (0.0, 0.33)
    """

    name: ClassVar[str] = "custom"
    label: ClassVar[str] = "custom"  # in figures and on the page; tests/figures/test_palette.py checks the colours
    colour: ClassVar[str] = "#56B4E9"

    # Classes with a name of their own, in the order of their definition, which is that of all lists.
    registered: ClassVar[dict[str, type[Nonlinearity]]] = {}

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "name" in vars(cls):
            Nonlinearity.registered[cls.name] = cls

    def __call__(self, x: ArrayLike) -> Any:
        """g(x), elementwise; a scalar gives a scalar."""
        return self._value(np.asarray(x, dtype=np.float64))[()]

    def derivative(self, x: ArrayLike) -> Any:
        """g'(x), elementwise, without delta functions at jumps."""
        return self._derivative(np.asarray(x, dtype=np.float64))[()]

    @abstractmethod
    def _value(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _derivative(self, x: Floats) -> Floats: ...

    @property
    @abstractmethod
    def breakpoints(self) -> tuple[float, ...]:
        """Kinks and jumps of g, in ascending order."""

    @property
    @abstractmethod
    def range(self) -> tuple[float, float]:
        """Infimum and supremum of g."""

    @property
    def knots(self) -> tuple[float, ...]:
        """Points at which integrals over g are split: its breakpoints, and points inside a steep region."""
        return self.breakpoints

    @property
    def flat_ends(self) -> tuple[bool, bool]:
        """Whether g is constant below its first knot, and above its last."""
        return (False, False)

    @cached_property
    def has_jumps(self) -> bool:
        """Whether g is discontinuous, which makes its replica-symmetric capacity infinite."""
        points = np.asarray(self.breakpoints, dtype=np.float64)
        left, right = self(np.nextafter(points, -np.inf)), self(np.nextafter(points, np.inf))
        return bool(np.any(np.abs(right - left) > 1e-8 * (1.0 + np.abs(left))))

    domain: ClassVar[tuple[float, float]] = (-32.0, 32.0)  # of the table; beyond it straight lines go on

    def kernel(self) -> Kernel:
        """Code and parameters for compiled loops; a table of cubic pieces unless there is a code of its own."""
        return self._table

    @cached_property
    def _table(self) -> Kernel:
        edges, coefficients = table.adaptive_cubics(self._value, self._derivative, self.breakpoints, self.domain)
        ends = self._derivative(np.array(self.domain))
        return Kernel(TABLE, table.packed(edges, coefficients, float(ends[0]), float(ends[1])))


@dataclass(frozen=True)
class Polsky(Nonlinearity):
    """Linear up to ``x_min``, then a steep sigmoid that saturates at 1.

    The paper derives this transfer function [polsky] from the recordings of Polsky et al. (2004). It is continuous; its
    slope jumps from 1 to ``gamma (1 - x_min) / 2`` at ``x_min``.

    Parameters
    ----------
    x_min : float
        Where the sigmoid starts, in [0, 1]. At 1 the function is the saturating ReLU.
    gamma : float
        Steepness of the sigmoid, positive. With ``x_min = 0``, large values tend to the step.

    Examples
    --------
    >>> g = Polsky()
    >>> g([-1.0, 0.2, 0.33, 10.0]).tolist()
    [0.0, 0.2, 0.33, 1.0]
    >>> round(float(g.derivative(0.33)), 3)
    5.025
    """

    x_min: float = field(
        default=0.33,
        metadata=fact(
            "onset of the sigmoid", r"x_{\min}", "branch input", "[0, 1]", "Polsky: where the sigmoid starts"
        ),
    )
    gamma: float = field(
        default=15.0,
        metadata=fact(
            "steepness", r"\gamma", "1 / branch input", "(0, inf)", "Polsky: steepness of the sigmoid",
            usual=(0.5, 200.0), log=True,
        ),
    )  # fmt: skip
    name: ClassVar[str] = "polsky"
    label: ClassVar[str] = "Polsky"
    colour: ClassVar[str] = "#D55E00"
    range = (0.0, 1.0)
    flat_ends = (True, True)

    def __post_init__(self) -> None:
        check_fields(self)

    def _rise(self, x: Floats) -> Floats:
        """gamma (x - x_min), clipped where the sigmoid is constant to the last bit, to avoid overflow."""
        return self.gamma * np.clip(x - self.x_min, 0.0, 800.0 / self.gamma)

    def _value(self, x: Floats) -> Floats:
        # [polsky] rewritten: 2 (1 - x_min) / (1 + e^-u) - 1 + 2 x_min = x_min + (1 - x_min) tanh(u / 2)
        sigmoid = self.x_min + (1.0 - self.x_min) * np.tanh(0.5 * self._rise(x))
        return np.where(x >= self.x_min, sigmoid, np.maximum(x, 0.0))

    def _derivative(self, x: Floats) -> Floats:
        decay = np.exp(-self._rise(x))
        steepest = 0.5 * self.gamma * (1.0 - self.x_min)
        sigmoid = steepest * 4.0 * decay / (1.0 + decay) ** 2
        slope = np.where(x >= self.x_min, sigmoid, np.heaviside(x, 0.0))
        return np.where(np.isnan(x), np.nan, slope)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (0.0,) if self.x_min == 0.0 else (0.0, self.x_min)

    @property
    def knots(self) -> tuple[float, ...]:
        if self.x_min == 1.0:
            return self.breakpoints
        # On each of these intervals tanh(u/2) is far from its poles at u = +-i pi, measured in half-widths:
        # Gauss-Legendre quadrature with 12 points is then exact to rounding. Beyond 40 the sigmoid is 1.
        return self.breakpoints + tuple(self.x_min + u / self.gamma for u in (2.0, 4.0, 8.0, 16.0, 40.0))

    def kernel(self) -> Kernel:
        return Kernel(POLSKY, np.array([self.x_min, self.gamma]))


@dataclass(frozen=True)
class ReLU(Nonlinearity):
    """g(x) = max(0, x).

    Examples
    --------
    >>> ReLU()([-1.0, 2.0]).tolist()
    [0.0, 2.0]
    """

    name: ClassVar[str] = "relu"
    label: ClassVar[str] = "ReLU"
    colour: ClassVar[str] = "#0072B2"
    breakpoints = (0.0,)
    range = (0.0, math.inf)
    flat_ends = (True, False)

    def _value(self, x: Floats) -> Floats:
        return np.maximum(x, 0.0)

    def _derivative(self, x: Floats) -> Floats:
        return np.where(np.isnan(x), np.nan, np.heaviside(x, 0.0))

    def kernel(self) -> Kernel:
        return Kernel(RELU, np.empty(0))


@dataclass(frozen=True)
class SaturatingReLU(Nonlinearity):
    """g(x) = min(max(0, x), 1).

    Examples
    --------
    >>> SaturatingReLU()([-1.0, 0.25, 7.0]).tolist()
    [0.0, 0.25, 1.0]
    """

    name: ClassVar[str] = "saturating_relu"
    label: ClassVar[str] = "saturating ReLU"
    colour: ClassVar[str] = "#E69F00"
    breakpoints = (0.0, 1.0)
    range = (0.0, 1.0)
    flat_ends = (True, True)

    def _value(self, x: Floats) -> Floats:
        return np.clip(x, 0.0, 1.0)

    def _derivative(self, x: Floats) -> Floats:
        return np.where(np.isnan(x), np.nan, np.where((x > 0.0) & (x < 1.0), 1.0, 0.0))

    def kernel(self) -> Kernel:
        return Kernel(SATURATING_RELU, np.empty(0))


@dataclass(frozen=True)
class Step(Nonlinearity):
    """g(x) = 1 for x > 0, else 0.

    Its derivative is zero wherever it exists, so gradient descent cannot train it.

    Examples
    --------
    >>> Step()([-1.0, 0.0, 1e-9]).tolist()
    [0.0, 0.0, 1.0]
    """

    name: ClassVar[str] = "step"
    label: ClassVar[str] = "step"
    colour: ClassVar[str] = "#CC79A7"
    breakpoints = (0.0,)
    range = (0.0, 1.0)
    flat_ends = (True, True)

    def _value(self, x: Floats) -> Floats:
        return np.where(np.isnan(x), np.nan, np.heaviside(x, 0.0))

    def _derivative(self, x: Floats) -> Floats:
        return np.where(np.isnan(x), np.nan, 0.0)

    def kernel(self) -> Kernel:
        return Kernel(STEP, np.empty(0))


@dataclass(frozen=True)
class Linear(Nonlinearity):
    """g(x) = x, for which the two-layer neuron is linear.

    Examples
    --------
    >>> float(Linear()(-2.5))
    -2.5
    """

    name: ClassVar[str] = "linear"
    label: ClassVar[str] = "linear"
    colour: ClassVar[str] = "#000000"
    breakpoints = ()
    range = (-math.inf, math.inf)

    def _value(self, x: Floats) -> Floats:
        return x.copy()

    def _derivative(self, x: Floats) -> Floats:
        return np.where(np.isnan(x), np.nan, 1.0)

    def kernel(self) -> Kernel:
        return Kernel(LINEAR, np.empty(0))


BUILT_IN: dict[str, type[Nonlinearity]] = dict(Nonlinearity.registered)


@dataclass(frozen=True, repr=False)
class Custom(Nonlinearity):
    """A user-defined function.

    Parameters
    ----------
    function : callable
        g, which takes and returns NumPy arrays.
    derivative_function : callable, optional
        g'. By default derivatives are those of polynomial pieces fitted to g on its domain, accurate to about ten
        digits however steep g is; outside the domain, adaptive finite differences (`scipy.differentiate`). The theory
        refuses a derivative that contradicts the function.
    breakpoints : sequence of float
        Every kink and jump of g. The theory searches for missing ones, and refuses g with a list of those found.
    domain : (float, float)
        Compiled training loops use a table of cubic pieces on this interval and straight lines beyond it. The theory
        calls the function itself.

    Examples
    --------
    >>> softplus = Custom(lambda x: np.logaddexp(0.0, x), lambda x: 0.5 * (1.0 + np.tanh(0.5 * x)))
    >>> round(float(softplus(0.0)), 6), softplus.range
    (0.693147, (0.0, inf))
    """

    function: ScalarFunction
    derivative_function: ScalarFunction | None = None
    breakpoints: tuple[float, ...] = ()
    domain: tuple[float, float] = (-32.0, 32.0)  # type: ignore[misc]  # that of all others is the same

    def __init__(
        self,
        function: ScalarFunction,
        derivative: ScalarFunction | None = None,
        breakpoints: ArrayLike = (),
        domain: tuple[float, float] = (-32.0, 32.0),
    ) -> None:
        if not callable(function):
            raise refuse("function", function, "callable")
        if derivative is not None and not callable(derivative):
            raise refuse("derivative", derivative, "callable or None")
        points = np.unique(np.atleast_1d(np.asarray(breakpoints, dtype=np.float64)))
        if not np.all(np.isfinite(points)):
            raise refuse("breakpoints", breakpoints, "finite numbers")
        low = real_number("domain[0]", domain[0])
        high = real_number("domain[1]", domain[1], low, low_open=True)
        for attribute, value in (
            ("function", function),
            ("derivative_function", derivative),
            ("breakpoints", tuple(points.tolist())),
            ("domain", (low, high)),
        ):
            object.__setattr__(self, attribute, value)
        probe = self(np.array([low, 0.5 * (low + high), high]))
        if probe.shape != (3,) or not np.all(np.isfinite(probe)):
            raise InvalidParameter(
                f"function = {function!r} is not allowed: it must map an array to an array of the same "
                f"shape and be finite on domain = ({low:g}, {high:g}); it gave {probe!r}"
            )

    def __repr__(self) -> str:
        # Identified by name: an address would make equal neurons of two processes look different.
        name = getattr(self.function, "__qualname__", getattr(self.function, "__name__", repr(self.function)))
        return f"Custom({name}, breakpoints={self.breakpoints})" if self.breakpoints else f"Custom({name})"

    def _value(self, x: Floats) -> Floats:
        return np.asarray(self.function(x), dtype=np.float64)

    def _derivative(self, x: Floats) -> Floats:
        if self.derivative_function is not None:
            return np.asarray(self.derivative_function(x), dtype=np.float64)
        flat = np.atleast_1d(x).ravel()
        inside = (flat >= self.domain[0]) & (flat <= self.domain[1])
        slopes = np.empty_like(flat)
        slopes[inside] = self._pieces.slope(flat[inside])
        if not np.all(inside):
            slopes[~inside] = _finite_difference(self._value, flat[~inside], self.breakpoints)
        return slopes.reshape(np.shape(x))

    @cached_property
    def _pieces(self) -> table.Pieces:
        return table.Pieces(self._value, table.distinct(self._cuts, self.domain))

    @cached_property
    def _cuts(self) -> tuple[float, ...]:
        return table.polynomial_pieces(self._value, self.breakpoints, self.domain)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Infimum and supremum, from a fine grid and distant points; growth beyond 1e6 counts as unbounded."""
        grid = np.concatenate([np.linspace(*self.domain, 20001), self.breakpoints])
        with np.errstate(all="ignore"):
            values = self(grid)
            near, far = self(np.array([-1e6, 1e6])), self(np.array([-1e12, 1e12]))
        low, high = float(values.min()), float(values.max())
        for at_million, beyond in zip(near, far, strict=True):
            grows = not math.isfinite(beyond) or abs(beyond - at_million) > 1e-6 * (1.0 + abs(at_million))
            rises = bool(beyond > at_million)
            low = -math.inf if grows and not rises else min(low, float(at_million))
            high = math.inf if grows and rises else max(high, float(at_million))
        return (low, high)

    @cached_property
    def knots(self) -> tuple[float, ...]:
        """Breakpoints and further splits, so that g is a polynomial of degree 15 between two of them."""
        self._check_breakpoints()
        self._check_derivative()
        return self._cuts

    def _check_breakpoints(self) -> None:
        """Raise for an unnamed kink or jump, which would silently give wrong integrals and tables."""
        rough = self._pieces.rough(self.breakpoints)
        if rough:
            shown = ", ".join(f"{at:.7g}" for at in rough[:5]) + (", ..." if len(rough) > 5 else "")
            raise InvalidParameter(
                f"breakpoints = {self.breakpoints} is not allowed for {self!r}: g seems to have a kink or a jump near "
                f"x = {shown}; list each one, breakpoints=[{shown}], or give a smooth function"
            )

    def _check_derivative(self) -> None:
        """Raise for a derivative that contradicts the function by more than the error of the polynomial pieces."""
        if self.derivative_function is None:
            return
        at, pieces = self._pieces.nodes, self._pieces
        given = self._derivative(at)
        measured = pieces.slope_at_nodes()
        allowed = 1e-5 * np.abs(measured).max(axis=1) + 10.0 * pieces.slope_noise
        wrong = np.argwhere(~(np.abs(given - measured) <= allowed[:, None]))
        if wrong.size:
            i, j = wrong[len(wrong) // 2]
            raise InvalidParameter(
                f"derivative = {self.derivative_function!r} is not allowed for {self!r}: at x = {at[i, j]:.6g} it is "
                f"{given[i, j]:.6g}, but the function rises by {measured[i, j]:.6g} per unit: correct it or omit it"
            )

    def kernel(self) -> Kernel:
        self._check_breakpoints()
        return super().kernel()


def named_nonlinearity(name: str, **parameters: float) -> Nonlinearity:
    """A built-in non-linearity by name; raises for parameters that it does not have."""
    kind = BUILT_IN[choice("nonlinearity", name.lower().replace("-", "_"), tuple(BUILT_IN))]
    known = [parameter.name for parameter in fields(kind)]  # type: ignore[arg-type]
    for parameter in parameters:
        if parameter not in known:
            raise InvalidParameter(
                f"{parameter} is not a parameter of {kind.name}; allowed are {', '.join(known) or 'none'}"
            )
    return kind(**parameters)


def _finite_difference(function: ScalarFunction, x: Floats, breakpoints: tuple[float, ...]) -> Floats:
    """g'(x) by adaptive differences that do not cross a breakpoint."""
    from scipy.differentiate import derivative

    flat = np.atleast_1d(x).ravel()
    edges = np.concatenate([[-np.inf], breakpoints, [np.inf]])
    # A breakpoint belongs to the piece on its right.
    piece = np.searchsorted(edges, flat, side="right") - 1
    room_left, room_right = flat - edges[piece], edges[piece + 1] - flat
    room = np.maximum(room_left, room_right)
    central = np.minimum(room_left, room_right) >= 0.05
    direction = np.where(central, 0, np.where(room_right >= room_left, 1, -1))
    step = np.where(central, np.minimum(0.4, 0.9 * np.minimum(room_left, room_right)), np.minimum(0.2, 0.9 * room))
    outcome = derivative(function, flat, initial_step=step, step_direction=direction, order=8, maxiter=12)
    return np.asarray(outcome.df, dtype=np.float64).reshape(np.shape(x))
