"""Fit of measured synaptic strengths with the distribution of weights at capacity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter, NoSolution
from dendrocap.fitting.alternatives import Candidate, candidates
from dendrocap.fitting.bootstrap import Interval, bootstrap, interval, tails
from dendrocap.fitting.estimators import Histogram, Rule
from dendrocap.fitting.thresholds import (
    DendriticExplanation,
    LinearExplanation,
    compatible_thresholds,
    explain_by_dendrites,
    explain_by_margin,
)
from dendrocap.model import Nonlinearity, Polsky, TaskSpec, Units
from dendrocap.theory.response import check_independent_inputs
from dendrocap.theory.weight_distributions import CapacityWeights
from dendrocap.validation import real_number, refuse, whole_number

__all__ = ["WeightFit", "fit_weights"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WeightFit(Displayed):
    """Synaptic strengths described by P(W) = p0 delta(W) + truncated Gaussian, and the neurons that explain them.

    Attributes
    ----------
    silent_fraction, W_star_mv, theta_d_mv, theta_s_mv : Interval
        Estimates with bootstrap percentile intervals; millivolts are measured at the soma.
    theta_s_sets, theta_s_sets_mv : tuple of (float, float)
        All intervals of somatic thresholds that are compatible with the data. The interval of ``theta_s_mv`` is the one
        nearest to the estimate; its ends are NaN if there is none.
    p_value : float
        Probability that a neuron with reachable parameters gives data as far from all thresholds as these; NaN without
        a bootstrap.
    B : float
        Shape parameter: the silent fraction is H(-B).
    detected_fraction : float
        Fraction of tested pairs in which a visible connection is expected from the fit.
    observed_fraction : float
        Fraction in which a connection was found; NaN if the number of tested pairs is unknown.
    comparison : tuple of Candidate
        The fit and the other distributions, the best first.
    dendrites : DendriticExplanation
        Thresholds of a neuron with dendrites, in model units.
    linear : LinearExplanation
        The alternative: a linear neuron with a margin.
    amplitudes_mv : array
        The visible amplitudes; another ``n_hidden`` were below the detection threshold.

    Examples
    --------
    >>> from dendrocap import Polsky, fit_weights
    >>> from dendrocap.datasets import song2005
    >>> data = song2005()
    >>> fit = fit_weights(data.amplitudes_mv, data.n_tested, nonlinearity=Polsky(0.2, 20), n_bootstrap=0)
    >>> print(f"p0 = {fit.silent_fraction.value:.3f}, W_star = {fit.W_star_mv.value:.2f} mV")
    p0 = 0.884, W_star = 1.71 mV
    >>> fit.dendrites.reachable, fit.comparison[0].name
    (False, 'lognormal')
    """

    _displayed = ("silent_fraction", "W_star_mv", "theta_d_mv", "theta_s_mv", "method")

    silent_fraction: Interval
    W_star_mv: Interval
    theta_d_mv: Interval
    theta_s_mv: Interval
    theta_s_sets: tuple[tuple[float, float], ...]
    theta_s_sets_mv: tuple[tuple[float, float], ...]
    p_value: float
    B: float
    detected_fraction: float
    observed_fraction: float
    comparison: tuple[Candidate, ...]
    dendrites: DendriticExplanation
    linear: LinearExplanation
    amplitudes_mv: Floats = field(repr=False, compare=False)
    n_hidden: int
    n_tested: int | None
    p0: float | str
    method: str
    detection_threshold_mv: float
    bin_width_mv: float
    level: float
    nonlinearity: Nonlinearity
    task: TaskSpec
    units: Units
    replicates_mv: tuple[CapacityWeights, ...] = field(repr=False, compare=False)

    @property
    def compatible(self) -> bool:
        """Whether the data are compatible with these dendrites: the silent fraction is reached, or nearly so."""
        return self.dendrites.reachable or bool(self.theta_s_sets)

    @property
    def verdict(self) -> str:
        """A sentence on whether such dendrites can have these synapses, in the replica-symmetric estimate."""
        wanted, reach = self.silent_fraction, self.dendrites.reach
        spread = f" [{wanted.low:.3f}, {wanted.high:.3f}]" if wanted.low < wanted.high else ""
        found = (
            f"silent fraction {wanted.value:.3f}{spread}; somatic thresholds reach {reach.low:.3f} to {reach.high:.3f}"
        )
        rarest = self.p_value <= 2.0 / (len(self.replicates_mv) + 1)  # smaller values cannot be resolved
        chance = "" if math.isnan(self.p_value) else f" (p {'<' if rarest else '='} {self.p_value:.2g})"
        if self.dendrites.reachable:
            return f"within reach: {found}"
        if self.compatible:
            return f"compatible{chance}: {found}, which the data do not exclude"
        unknown = "; run a bootstrap to see whether that is chance" if math.isnan(self.p_value) else ""
        return f"out of reach{chance}: {found}{unknown}"

    @property
    def W_star(self) -> float:
        """Scale of the weights in model units."""
        return float(self.units.weight(self.W_star_mv.value))

    @property
    def weights_mv(self) -> CapacityWeights:
        """The fitted distribution in millivolts."""
        return CapacityWeights(self.B, self.W_star_mv.value)

    @property
    def weights(self) -> CapacityWeights:
        """The fitted distribution in model units."""
        return CapacityWeights(self.B, self.W_star)

    @property
    def histogram(self) -> Histogram:
        """Histogram of the visible amplitudes, as a density that integrates to the fraction expected from the fit."""
        bins = Histogram.of(self.amplitudes_mv, self.detection_threshold_mv, self.bin_width_mv)
        return Histogram(bins.edges, bins.density * self.detected_fraction)

    def density_band(self, w_mv: ArrayLike) -> tuple[Floats, Floats]:
        """Confidence band of the fitted density at each amplitude, from the bootstrap."""
        at = np.asarray(w_mv, dtype=np.float64)
        if not self.replicates_mv:
            return np.full(at.shape, np.nan), np.full(at.shape, np.nan)
        low, high = np.quantile([weights.pdf(at) for weights in self.replicates_mv], tails(self.level), axis=0)
        return low, high


def fit_weights(
    amplitudes_mv: ArrayLike,
    n_tested: int | None = None,
    *,
    p0: float | str = "tested",
    method: str = "likelihood",
    detection_threshold_mv: float = 0.0,
    bin_width_mv: float = 0.1,
    nonlinearity: Nonlinearity | None = None,
    task: TaskSpec | None = None,
    units: Units | None = None,
    n_bootstrap: int = 1000,
    level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    callback: Callable[[], None] | None = None,
) -> WeightFit:
    """Fit measured amplitudes with the distribution of weights at capacity, and find the neurons that explain it.

    Parameters
    ----------
    amplitudes_mv : sequence of float
        One positive amplitude per connection, in millivolts.
    n_tested : int, optional
        Number of pairs tested, connected or not.
    p0 : float or {"tested", "free"}
        The silent fraction: a number; "tested", from the tested pairs; or "free", from the likelihood of all data
        (amplitudes, and tested pairs if known). A number overrides the tested pairs.
    method : {"likelihood", "histogram"}
        Maximum likelihood, or the paper's least squares on a histogram, which does not allow a free p0.
    detection_threshold_mv : float
        Detection limit: weaker connections look silent. Smaller amplitudes in the data are counted as silent.
    bin_width_mv : float
        Bin width of the histogram.
    nonlinearity : Nonlinearity, optional
        Dendritic non-linearity; by default Polsky().
    task : TaskSpec, optional
        Coding levels and margin; by default f_in = f_out = 0.05 and no margin, as in the paper's fit.
    units : Units, optional
        N, K and the scale in mV.
    n_bootstrap : int
        Number of replicates for the confidence intervals; 0 for none.
    level : float
        Confidence level.
    rng : numpy Generator or seed
        Source of randomness of the resampling.
    callback : callable, optional
        Called after each replicate.

    Raises
    ------
    InvalidParameter
        If an amplitude is not a positive number, or all are equal.
    NoSolution
        If only the amplitudes determine the silent fraction, and they are wider than any truncated Gaussian.

    Notes
    -----
    Intervals are bias-corrected percentiles over data sets resampled with replacement; if the number of tested pairs is
    known, the number of connections also varies. The intervals assume nothing about the distribution, which matters if
    the model does not hold.

    Examples
    --------
    >>> from dendrocap.theory.weight_distributions import CapacityWeights
    >>> w = CapacityWeights(B=0.7, W_star=1.0).rvs(4000, random_state=1)
    >>> fit = fit_weights(w[w > 0], n_tested=4000, n_bootstrap=200)
    >>> print(f"p0 {fit.silent_fraction.value:.3f}, W_star {fit.W_star_mv.value:.3f} mV")
    p0 0.760, W_star 1.009 mV
    >>> fit.W_star_mv.covers(1.0)
    True
    """
    task = TaskSpec(f_in=0.05, f_out=0.05) if task is None else task
    check_independent_inputs(task, "fits of measured weights")
    units = Units() if units is None else units
    g = Polsky() if nonlinearity is None else nonlinearity
    threshold = real_number("detection_threshold_mv", detection_threshold_mv, 0.0)
    level = real_number("level", level, 0.0, 1.0, low_open=True, high_open=True)
    n_bootstrap = whole_number("n_bootstrap", n_bootstrap, 0)
    visible, n_hidden = _visible(amplitudes_mv, threshold)
    if n_tested is not None:
        n_tested = whole_number("n_tested", n_tested, visible.size + n_hidden + 1)
    rule = Rule(p0, method, threshold, real_number("bin_width_mv", bin_width_mv, 0.0, low_open=True), n_tested)

    shape = rule.fit(visible)
    if shape.at_limit:
        raise NoSolution(_undetermined(visible - threshold))
    weights = CapacityWeights(shape.B, float(units.weight(shape.W_star)))
    dendrites = explain_by_dendrites(g, weights, task)
    step = callback or _nothing
    shapes = bootstrap(rule, visible, n_bootstrap, np.random.default_rng(rng), step)
    repeated = tuple(CapacityWeights(again.B, again.W_star) for again in shapes)
    in_model = [CapacityWeights(again.B, float(units.weight(again.W_star))) for again in shapes]
    allowed = compatible_thresholds(g, in_model, task, level)
    theta_d_mv = float(units.theta_d_mv(dendrites.theta_d))
    theta_s_mv = float(units.theta_s_mv(dendrites.theta_s))
    theta_s_sets_mv = tuple((float(units.theta_s_mv(a)), float(units.theta_s_mv(b))) for a, b in allowed.sets)
    theta_d_mv_per_mean_mv = float(units.theta_d_mv(task.f_in * units.weight(1.0)))  # theta_d = f_in W_bar
    seen = CapacityWeights(shape.B, shape.W_star).sf(threshold)
    return WeightFit(
        silent_fraction=interval(weights.silent_fraction, [w.silent_fraction for w in repeated], level),
        W_star_mv=interval(shape.W_star, [w.W_star for w in repeated], level),
        theta_d_mv=interval(theta_d_mv, [theta_d_mv_per_mean_mv * w.mean() for w in repeated], level),
        theta_s_mv=_nearest(theta_s_mv, theta_s_sets_mv),
        theta_s_sets=allowed.sets,
        theta_s_sets_mv=theta_s_sets_mv,
        p_value=allowed.p_value,
        B=shape.B,
        detected_fraction=float(seen),
        observed_fraction=math.nan if n_tested is None else visible.size / n_tested,
        comparison=candidates(visible, shape, threshold, 2 if p0 == "free" else 1),
        dendrites=dendrites,
        linear=explain_by_margin(weights, task, units),
        amplitudes_mv=visible,
        n_hidden=n_hidden,
        n_tested=n_tested,
        p0=p0,
        method=method,
        detection_threshold_mv=threshold,
        bin_width_mv=rule.bin_width,
        level=level,
        nonlinearity=g,
        task=task,
        units=units,
        replicates_mv=repeated,
    )


def _visible(amplitudes_mv: Any, threshold: float) -> tuple[Floats, int]:
    """The amplitudes above the threshold, and the number of those below; all are checked."""
    try:
        amplitudes = np.asarray(amplitudes_mv, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("amplitudes_mv are not allowed: they must be a sequence of numbers > 0") from None
    if amplitudes.ndim != 1 or amplitudes.size == 0:
        raise refuse("amplitudes_mv.shape", amplitudes.shape, "that of a non-empty sequence")
    bad = ~(np.isfinite(amplitudes) & (amplitudes > 0.0))
    if np.any(bad):
        at = int(np.argmax(bad))
        raise refuse(
            f"amplitudes_mv[{at}]",
            float(amplitudes[at]),
            "a finite number > 0; pairs without a connection are counted by n_tested",
        )
    visible = amplitudes[amplitudes > threshold]
    if visible.size < 2 or visible.min() == visible.max():
        raise InvalidParameter(
            f"{visible.size} amplitudes above {threshold:g} mV are too few: at least two different ones are needed"
        )
    return visible, amplitudes.size - visible.size


def _undetermined(excess: Floats) -> str:
    ratio = float(np.mean(excess**2) / np.mean(excess) ** 2)
    return (
        f"the amplitudes alone do not determine the silent fraction: their mean square is {ratio:.4g} times their "
        "squared mean, and a truncated Gaussian has between 1 (no silent synapses) and 2 (an exponential, all silent); "
        "give n_tested, or a number for p0"
    )


def _nearest(value: float, sets: tuple[tuple[float, float], ...]) -> Interval:
    """The estimate with the interval that contains it or, if none does, the nearest one."""
    low, high = min(sets, key=lambda ends: max(ends[0] - value, value - ends[1]), default=(math.nan, math.nan))
    return Interval(value, low, high)


def _nothing() -> None:
    """The default callback, which does nothing."""
