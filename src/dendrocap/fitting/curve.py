"""Fit of a measured dendritic input-output curve."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, chdtri

from dendrocap.display import Displayed, with_digits, with_error
from dendrocap.errors import InvalidParameter
from dendrocap.model import Nonlinearity, Polsky, Smooth, Tabulated
from dendrocap.model.curves import FLATTEST, POWER, SHARPEST
from dendrocap.numerics.types import Floats
from dendrocap.validation import choice, real_number, refuse

# A steeper sigmoid is a jump between two measured points, and the data cannot determine its steepness.
GAMMA_LIMITS = (0.5, 200.0)
N_DESCENTS = 6
REJECTED = 0.05  # a curve whose chi^2 is less likely than this does not describe the points
RESOLVED = 3  # number of points on the rise that determine its slope
N_STEEPER = 16
NAMES = ("x_min", "gamma", "scale")
KINDS = ("polsky", "smooth", "tabulated")


@dataclass(frozen=True)
class NonlinearityFit(Displayed):
    """A dendritic non-linearity fitted to measured points.

    Errors are NaN for parameters that were not fitted or stopped at a bound, infinite for those that the data do not
    determine.
    """

    _displayed = ("x_min", "gamma", "scale", "scale_error", "r_squared", "rms_residual", "at_bounds")

    nonlinearity: Nonlinearity  # g in model units, where it saturates at 1
    scale: float  # what equals 1 in the model, in the units of the data: y = scale g(x / scale)
    r_squared: float  # fraction of the variance of y that the fit explains; 1 for a table through all points
    rms_residual: float  # per degree of freedom, in the units of the data
    x: Floats = field(repr=False, compare=False)  # the data, sorted by x
    y: Floats = field(repr=False, compare=False)
    sem: Floats | None = field(repr=False, compare=False, default=None)  # standard errors of y, if they are known
    x_min: float = math.nan  # of Polsky, as gamma
    gamma: float = math.nan
    x_min_error: float = math.nan
    gamma_error: float = math.nan
    scale_error: float = math.nan
    at_bounds: tuple[str, ...] = ()  # parameters that stopped at a bound
    fixed_scale: bool = False  # whether the scale was given

    def predict(self, x: ArrayLike) -> Any:
        """The fitted curve in the units of the data."""
        return self.scale * self.nonlinearity(np.asarray(x, dtype=np.float64) / self.scale)

    @property
    def points_on_rise(self) -> int:
        """Number of different x between 10 % and 90 % of the rise; fewer than three do not determine its slope.

        A smooth curve is then too flat or too steep, and its capacity may be a third too small or too large.
        """
        low, high = self.nonlinearity.range
        if not math.isfinite(low + high):
            return int(np.unique(self.x).size)
        share = (self.predict(np.unique(self.x)) / self.scale - low) / (high - low)
        return int(np.sum((share > 0.1) & (share < 0.9)))

    @property
    def resolved(self) -> bool:
        """Whether the points determine the slope of the curve."""
        return isinstance(self.nonlinearity, Polsky) or self.points_on_rise >= RESOLVED

    def as_row(self) -> dict[str, Any]:
        """All numbers as a flat mapping for JSON."""
        row = {name: value for name, value in asdict(self).items() if name not in ("x", "y", "sem")}
        row |= {"nonlinearity": self.nonlinearity.name, "n_points": self.x.size}
        return {**row, "at_bounds": ", ".join(self.at_bounds)}

    def as_table(self) -> list[dict[str, str]]:
        """Its parameters with their errors, one quantity per line."""
        lines = []
        for name, unit in (("x_min", "of the scale"), ("gamma", ""), ("scale", "mV")):
            value, error = getattr(self, name), getattr(self, f"{name}_error")
            if math.isfinite(error):
                lines.append((name, with_error(value, error), unit))
            elif math.isfinite(value):
                why = "not determined by these points"
                if name in self.at_bounds:
                    why = "stopped at its bound"
                elif name == "scale":
                    why = "mV, given" if self.fixed_scale else "mV, where the curve ends"
                lines.append((name, with_digits(value, 3), why))
        lines += [("R^2", f"{self.r_squared:.3f}", ""), ("residuals, rms", with_digits(self.rms_residual, 2), "mV")]
        return [dict(zip(("quantity", "value", "unit"), line, strict=True)) for line in lines]

    @property
    def noise(self) -> Floats:
        """Standard deviation of each y around the curve: its standard error, or the scatter of all residuals."""
        return np.full(self.x.size, self.rms_residual) if self.sem is None else self.sem

    def resampled(self, rng: np.random.Generator) -> NonlinearityFit:
        """The same fit to new points drawn around the curve, as another measurement might have given."""
        g = self.nonlinearity
        y = self.predict(self.x) + self.noise * rng.standard_normal(self.x.size)
        return self._refitted(y, g.sharpness if isinstance(g, Smooth) else None)

    def as_good(self) -> tuple[NonlinearityFit, ...]:
        """Curves that the points hardly distinguish from this one: for a smooth curve, the flattest and the sharpest.

        Between few points the curve depends on how a smooth curve is chosen, which other points drawn around it would
        not show [curve-interval]. If fewer than three points lie on the rise, the steepest of the paper's functions
        that they allow is added.
        """
        if not isinstance(self.nonlinearity, Smooth):
            return ()
        others = [self._refitted(self.y, sharpness) for sharpness in (FLATTEST, SHARPEST)]
        if not self.resolved:
            others += self._steepest()
        return tuple(others)

    def _steepest(self) -> list[NonlinearityFit]:
        """The steepest of the paper's functions within 95 % of the likelihood of the best; empty if it is rejected."""
        n_free = 2 if self.fixed_scale else 3
        if self.x.size <= n_free:
            return []
        best = fit_nonlinearity(self.x, self.y, sem=self.sem, scale=self.scale if self.fixed_scale else None)

        def chi2(x_min: float, gamma: float) -> float:
            y = best.scale * Polsky(x_min, gamma)(self.x / best.scale)
            return float(np.sum(((y - self.y) / self.noise) ** 2))

        least = chi2(best.x_min, best.gamma)
        if chdtrc(self.x.size - n_free, least) < REJECTED:
            return []
        steepest = best
        for gamma in np.geomspace(best.gamma, GAMMA_LIMITS[1], N_STEEPER)[1:].tolist():
            value, x_min = min((chi2(x_min, gamma), x_min) for x_min in np.linspace(0.0, 0.98, 99).tolist())
            if value < least + chdtri(2, REJECTED):
                steepest = replace(best, nonlinearity=Polsky(x_min, gamma), x_min=x_min, gamma=gamma)
        return [steepest]

    def _refitted(self, y: Floats, sharpness: float | None) -> NonlinearityFit:
        fixed = self.scale if self.fixed_scale else None
        return fit_nonlinearity(self.x, y, self.nonlinearity.name, sem=self.sem, scale=fixed, sharpness=sharpness)


def fit_nonlinearity(
    x: ArrayLike,
    y: ArrayLike,
    kind: str = "polsky",
    *,
    sem: ArrayLike | None = None,
    scale: float | None = None,
    sharpness: float | None = None,
) -> NonlinearityFit:
    """Fit a measured dendritic curve with the Polsky function, with a smooth curve, or by interpolation of the points.

    Input and output must have the same unit, as for expected and recorded EPSPs, so that one scale serves both axes:
    y = scale g(x / scale), with g initially linear and saturating at 1.

    Parameters
    ----------
    x, y : sequence of float
        Input and output. Repeated values of x and negative noise are allowed.
    kind : {"polsky", "smooth", "tabulated"}
        "polsky" is least squares within bounds (x_min in [0, 1], gamma in [0.5, 200]); "smooth" is the rising curve of
        `Smooth`, for curves of another shape, with the point (0, 0) if all x are positive; "tabulated" interpolates the
        mean of y at each x, which turns noise into slope.
    sem : sequence of float, optional
        Standard error of each y: points are weighted by 1 / sem^2, and a smooth curve deviates as far as sem allows.
    scale : float, optional
        Fixed value of the scale, such as 15 mV. By default it is fitted, or for other curves their largest value.
    sharpness : float, optional
        Sharpness of a smooth curve, as for `Smooth`.

    Raises
    ------
    InvalidParameter
        If a value is not finite, all y are equal, or there are too few points.

    Notes
    -----
    Standard errors follow from the curvature of the sum of squares and the scatter of the residuals, s^2 (J'J)^-1. They
    assume independent errors of equal size, or of sizes proportional to ``sem``.

    Examples
    --------
    >>> x = np.linspace(0.5, 25.0, 20)
    >>> fit = fit_nonlinearity(x, 15.0 * Polsky(x_min=0.25, gamma=12.0)(x / 15.0))
    >>> print(f"x_min {fit.x_min:.3f}, gamma {fit.gamma:.2f}, scale {fit.scale:.2f} mV")
    x_min 0.250, gamma 12.00, scale 15.00 mV
    """
    choice("kind", kind, KINDS)
    if scale is not None:
        scale = real_number("scale", scale, 0.0, low_open=True)
    if sharpness is not None and kind != "smooth":
        raise refuse("sharpness", sharpness, f'None for kind = "{kind}": only a smooth curve has it')
    inputs, outputs, errors = _checked(x, y, sem, 4 - (scale is not None) if kind == "polsky" else 2)
    if kind == "smooth":
        fitted = _smooth(inputs, outputs, errors, scale, POWER if sharpness is None else sharpness)
    else:
        fitted = {"polsky": _polsky, "tabulated": _table}[kind](inputs, outputs, errors, scale)
    return replace(fitted, fixed_scale=scale is not None)


def _polsky(x: Floats, y: Floats, sem: Floats | None, fixed_scale: float | None) -> NonlinearityFit:
    from scipy.optimize import least_squares

    # Weights with mean one, so that sums of squares stay in the units of the data.
    weight = np.ones(x.size) if sem is None else 1.0 / (sem * math.sqrt(float(np.mean(sem**-2.0))))
    top = float(y.max())
    n_free = 3 if fixed_scale is None else 2
    low, high = np.array([0.0, GAMMA_LIMITS[0], 0.2 * top]), np.array([1.0, GAMMA_LIMITS[1], 20.0 * top])

    def full(free: Floats) -> tuple[float, float, float]:
        return float(free[0]), float(free[1]), float(free[2]) if fixed_scale is None else fixed_scale

    def residuals(free: Floats) -> Floats:
        x_min, gamma, scale = full(free)
        return np.asarray(weight * (scale * Polsky(x_min, gamma)(x / scale) - y))

    def jacobian(free: Floats) -> Floats:
        return weight[:, None] * _jacobian(x, *full(free))[:, :n_free]

    # The kink at x_min causes several local minima: evaluate many points, descend from the best ones, keep the lowest.
    scales = top * np.linspace(0.8, 2.0, 7) if fixed_scale is None else np.array([fixed_scale])
    starts = [np.array(at)[:n_free] for at in product(np.linspace(0.05, 0.9, 18), (2.0, 5.0, 10.0, 20.0, 50.0), scales)]
    starts.sort(key=lambda start: float(np.sum(residuals(start) ** 2)))
    attempts = [
        least_squares(
            residuals, start, jac=jacobian, bounds=(low[:n_free], high[:n_free]), x_scale=high[:n_free] / 10.0
        )
        for start in starts[:N_DESCENTS]
    ]
    best = min(attempts, key=lambda attempt: attempt.cost)
    at_bound = best.active_mask != 0
    errors = _standard_errors(best.jac, 2.0 * best.cost, at_bound)
    x_min, gamma, scale = full(best.x)
    freedom = x.size - n_free
    return NonlinearityFit(
        nonlinearity=Polsky(x_min, gamma),
        scale=scale,
        x_min=x_min,
        gamma=gamma,
        x_min_error=errors[0],
        gamma_error=errors[1],
        scale_error=errors[2] if fixed_scale is None else math.nan,
        r_squared=1.0 - 2.0 * best.cost / float(np.sum((weight * (y - np.average(y, weights=weight**2))) ** 2)),
        rms_residual=math.sqrt(2.0 * best.cost / freedom),
        at_bounds=tuple(name for name, stopped in zip(NAMES, at_bound, strict=False) if stopped),
        x=x,
        y=y,
        sem=sem,
    )


def _jacobian(x: Floats, x_min: float, gamma: float, scale: float) -> Floats:
    """Derivatives of scale g(x / scale) in x_min, gamma and scale."""
    u = x / scale
    g = Polsky(x_min, gamma)
    above = u >= x_min
    beyond = np.where(above, u - x_min, 0.0)
    t = np.tanh(0.5 * gamma * beyond)
    bend = (1.0 - x_min) * (1.0 - t * t)
    in_x_min = np.where(above, 1.0 - t - 0.5 * gamma * bend, 0.0)
    in_gamma = np.where(above, 0.5 * beyond * bend, 0.0)
    return np.stack([scale * in_x_min, scale * in_gamma, g(u) - u * g.derivative(u)], axis=1)


def _standard_errors(jacobian: Floats, sum_of_squares: float, at_bound: NDArray[np.bool_]) -> list[float]:
    """The diagonal of s^2 (J'J)^-1; parameters that stopped at a bound are held fixed."""
    errors = np.where(at_bound, np.nan, np.inf)
    free = np.flatnonzero(~at_bound)
    J = jacobian[:, free]
    sizes = np.linalg.norm(J, axis=0)
    seen = sizes > 1e-10 * sizes.max(initial=0.0)  # a zero column: no point depends on this parameter
    if np.any(seen):
        scaled = J[:, seen] / sizes[seen]
        variance = sum_of_squares / (jacobian.shape[0] - jacobian.shape[1])
        if np.linalg.cond(scaled) < 1e8:
            diagonal = np.diag(np.linalg.inv(scaled.T @ scaled))
            errors[free[seen]] = np.sqrt(variance * diagonal) / sizes[seen]
    return [float(error) for error in errors]


def _smooth(x: Floats, y: Floats, sem: Floats | None, scale: float | None, sharpness: float) -> NonlinearityFit:
    at, value, error = x, y, sem
    if x[0] > 0.0:  # add the point without input and output
        at, value = np.append(0.0, x), np.append(0.0, y)
        error = None if sem is None else np.append(sem.min(), sem)

    def curve(unit: float) -> Smooth:
        errors = None if error is None else _tuple(error / unit)
        return Smooth(_tuple(at / unit), _tuple(value / unit), errors, sharpness=sharpness)

    if scale is None:
        scale = float(curve(1.0).range[1])
        if scale <= 0.0:
            raise InvalidParameter("y is not allowed: the smooth curve among the points never becomes positive")
    g = curve(scale)
    residual = y - scale * g(x / scale)
    return _curve_fit(g, scale, x, y, sem, residual, max(x.size - g.freedom, 1.0))


def _table(x: Floats, y: Floats, sem: Floats | None, scale: float | None) -> NonlinearityFit:
    at, where = np.unique(x, return_inverse=True)
    mean = np.bincount(where, y) / np.bincount(where)
    if at.size < 2 or np.all(mean == mean[0]):
        raise InvalidParameter("x is not allowed: the curve needs at least two values of x with different outputs")
    scale = float(mean.max()) if scale is None else scale
    g = Tabulated(tuple((at / scale).tolist()), tuple((mean / scale).tolist()))
    return _curve_fit(g, scale, x, y, sem, y - mean[where], x.size - at.size)  # scatter of repeated measurements only


def _curve_fit(
    g: Nonlinearity, scale: float, x: Floats, y: Floats, sem: Floats | None, residual: Floats, freedom: float
) -> NonlinearityFit:
    """A fit without parameters to report."""
    sum_of_squares = float(np.sum(residual**2))
    r_squared = 1.0 - sum_of_squares / float(np.sum((y - y.mean()) ** 2))
    return NonlinearityFit(g, scale, r_squared, math.sqrt(sum_of_squares / freedom) if freedom else 0.0, x, y, sem)


def _tuple(values: Floats) -> tuple[float, ...]:
    return tuple(values.tolist())


def _checked(x: Any, y: Any, sem: Any, fewest: int) -> tuple[Floats, Floats, Floats | None]:
    """The data sorted by x; raises if they cannot be a curve."""
    inputs, outputs = _numbers("x", x), _numbers("y", y)
    errors = None if sem is None else _numbers("sem", sem, low=0.0)
    if inputs.size != outputs.size or inputs.size < fewest:
        raise InvalidParameter(
            f"x and y have {inputs.size} and {outputs.size} points: they must have the same length, at least {fewest}"
        )
    if errors is not None and errors.size != inputs.size:
        raise InvalidParameter(f"sem has {errors.size} points: it must have the length of x, {inputs.size}")
    for name, array in (("x", inputs), ("y", outputs)):
        if array.min() == array.max():
            raise InvalidParameter(f"{name} is not allowed: all {array.size} values are {array[0]:g}, a constant")
    if outputs.max() <= 0.0:
        raise InvalidParameter(f"y is not allowed: no value is positive; the largest is {outputs.max():g}")
    order = np.argsort(inputs, kind="stable")
    return inputs[order], outputs[order], None if errors is None else errors[order]


def _numbers(name: str, values: Any, low: float = -math.inf) -> Floats:
    """A sequence of finite numbers above ``low``."""
    allowed = "a finite number" if math.isinf(low) else f"a finite number > {low:g}"
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(name, values, f"a sequence, each {allowed}") from None
    if array.ndim != 1:
        raise refuse(f"{name}.shape", array.shape, "that of a sequence")
    bad = ~(np.isfinite(array) & (array > low))
    if np.any(bad):
        at = int(np.argmax(bad))
        raise refuse(f"{name}[{at}]", float(array[at]), allowed)
    return array
