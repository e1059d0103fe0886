"""Capacity of a neuron with the fitted synapses, with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dendrocap.answers import Capacity, binary_entropy, capacity
from dendrocap.answers.answer import PAPER
from dendrocap.display import Displayed
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.fitting.curve import NonlinearityFit
from dendrocap.fitting.weights import Interval, WeightFit, interval_of_logs
from dendrocap.model import DendriticNeuron, NeuronSpec, Nonlinearity
from dendrocap.theory import critical_capacity
from dendrocap.theory.solution import CapacitySolution
from dendrocap.theory.weights import Preactivation
from dendrocap.validation import choice

N_THRESHOLDS = 7  # somatic thresholds evaluated in each interval that the data allow

N_ON_THE_WAY = 9  # thresholds to try if there is no capacity at the estimated one

N_CURVES = 40  # resampled measurements of the curve

ESTIMATE, THRESHOLDS, CURVE = "the estimate itself", "synapses and thresholds", "the dendritic curve"


@dataclass(frozen=True)
class CapacityReport(Displayed):
    """Storage of the fitted neuron, with intervals, in biological units where possible.

    Attributes
    ----------
    alpha_c, n_patterns, bits_per_synapse : Interval
        Random associations per synapse at capacity, their number in the whole neuron, and their information: the best
        estimate. The interval includes the error of the estimate, the bootstrap of the synapses, all somatic thresholds
        compatible with the data, and the errors of the measured curve, if there is one.
    silent_fraction : Interval
        Silent fraction of that neuron at capacity, in the best estimate. The fit itself uses the replica-symmetric
        one, ``paper_silent_fraction``.
    sources : dict
        Factors by which each source of uncertainty may change the capacity, downwards and upwards.
    capacity : Capacity or None
        The best estimate at the estimated thresholds, with its assumptions. If there is none, the estimate at the
        nearest somatic threshold that has one, which ``reason`` states; None, with NaN in the intervals, if none has.
    paper_alpha_c, paper_silent_fraction : float
        The paper's replica-symmetric estimates at the same thresholds.
    verdict : str
        Whether such dendrites can have the fitted synapses.
    theta_d_mv, theta_s_mv : Interval
        Thresholds at the soma.
    local_theta_d_mv : float
        The dendritic threshold, measured in the branch.
    preactivation_mv : Preactivation
        Distribution of the summed input of a branch in local millivolts, the axis along which g was measured; replica
        symmetric.
    inactive_branches : float
        Fraction of branches whose input is below zero.
    mean_output_mv : float
        Mean output of a branch in local millivolts.
    nonlinearity : Nonlinearity
        g in model units; ``scale_mv`` converts it to millivolts.
    linear_alpha_c, linear_kappa_mv : float
        Capacity and margin of a neuron with the same weights and no dendrites; NaN if there is none.
    reachable, compatible : bool
        Whether a somatic threshold gives the fitted silent fraction, and whether the data allow one.

    Examples
    --------
    >>> from dendrocap import Polsky, capacity_report, fit_weights
    >>> from dendrocap.datasets import song2005
    >>> data = song2005()
    >>> fit = fit_weights(data.amplitudes_mv, p0=0.76, nonlinearity=Polsky(0.2, 20), n_bootstrap=50)
    >>> report = capacity_report(fit, accuracy="fast")
    >>> print(f"{report.alpha_c} per synapse, not the {report.paper_alpha_c:.0f} of the replica-symmetric estimate")
    9.6 [8.9, 9.9] per synapse, not the 36 of the replica-symmetric estimate
    """

    _displayed = ("answer", "patterns", "paper_alpha_c", "verdict")

    alpha_c: Interval
    n_patterns: Interval
    bits_per_synapse: Interval
    silent_fraction: Interval
    sources: dict[str, tuple[float, float]]
    capacity: Capacity | None
    reason: str
    paper_alpha_c: float
    paper_silent_fraction: float
    verdict: str
    theta_d_mv: Interval
    theta_s_mv: Interval
    local_theta_d_mv: float
    preactivation_mv: Preactivation
    inactive_branches: float
    mean_output_mv: float
    nonlinearity: Nonlinearity
    scale_mv: float
    linear_alpha_c: float
    linear_kappa_mv: float
    reachable: bool
    compatible: bool
    symmetric: CapacitySolution = field(repr=False)

    @property
    def theta_s(self) -> float:
        """The somatic threshold, in model units, at which the capacity was computed."""
        if self.capacity is None or not isinstance(self.capacity.neuron, DendriticNeuron):
            return self.symmetric.neuron.theta_s
        return self.capacity.neuron.spec.theta_s

    @property
    def answer(self) -> str:
        """The capacity as text, with as many digits as its interval justifies."""
        return f"{self.alpha_c} patterns per synapse"

    @property
    def patterns(self) -> str:
        """Number of patterns stored by the whole neuron."""
        return str(self.n_patterns)

    @property
    def in_words(self) -> str:
        """The answer in one line: the best estimate with its interval, and the paper's estimate."""
        also = f"; {self.reason}" if self.reason else ""
        if self.capacity is None:
            return f"no best estimate: {self.reason} ({PAPER}: {self.paper_alpha_c:.3g})"
        silent = f"{self.silent_fraction.times(100.0)} % silent"
        return f"{self.answer}, {silent} ({self.capacity.paper}){also}"

    @property
    def title(self) -> str:
        """The answer as the title of a figure."""
        if self.capacity is None:
            return f"no best estimate of the capacity at these thresholds (replica symmetric: {self.paper_alpha_c:.3g})"
        return rf"$\alpha_c$ = {self.alpha_c} (replica symmetric, as in the paper: {self.paper_alpha_c:.3g})"

    def as_row(self) -> dict[str, Any]:
        """All numbers as a flat mapping for JSON."""
        row: dict[str, Any] = {}
        for name in ("alpha_c", "n_patterns", "bits_per_synapse", "silent_fraction_at_capacity"):
            found = getattr(self, name.removesuffix("_at_capacity"))
            row |= {f"{name}{end}": value for end, value in zip(("", "_low", "_high"), found, strict=True)}
        return row | {
            "paper_alpha_c": self.paper_alpha_c,
            "paper_silent_fraction": self.paper_silent_fraction,
            "uncertainty": {name: list(ends) for name, ends in self.sources.items()},
            "reason": self.reason,
            "local_theta_d_mv": self.local_theta_d_mv,
            "preactivation_mean_mv": self.preactivation_mv.mean(),
            "preactivation_sd_mv": self.preactivation_mv.std(),
            "inactive_branches": self.inactive_branches,
            "linear_kappa_mv": self.linear_kappa_mv,
            "linear_alpha_c": self.linear_alpha_c,
            "capacity": None if self.capacity is None else self.capacity.as_row(),
        }


def capacity_report(
    fit: WeightFit,
    curve: NonlinearityFit | None = None,
    *,
    accuracy: str = "best",
    rng: np.random.Generator | int | None = 0,
    callback: Callable[[float, str], object] | None = None,
) -> CapacityReport:
    """Capacity of a fitted neuron, with intervals, and the input of its branches.

    Parameters
    ----------
    fit : WeightFit
        The fit. Without a bootstrap the intervals include only the error of the estimate.
    curve : NonlinearityFit, optional
        The fit of g and its scale, if they were measured: its errors are then included.
    accuracy : {"best", "fast"}
        As for `capacity`: half a minute, or one second.
    rng : numpy Generator or seed
        Source of randomness of the resampled curves.
    callback : callable, optional
        Called repeatedly with the fraction of the work done and a description.

    Notes
    -----
    The dependence of the capacity on thresholds is taken from its one-step estimate for branches of the real length;
    the dependence on the curve is taken from the replica-symmetric one, which is more sensitive to slopes. The
    sources are treated as independent, and their logarithms are added in squares [capacity-interval].

    Examples
    --------
    >>> from dendrocap import Polsky, fit_weights
    >>> from dendrocap.theory.weights import CapacityWeights
    >>> w = CapacityWeights(B=0.7, W_star=1.0).rvs(4000, random_state=1)
    >>> fit = fit_weights(w[w > 0], n_tested=4000, nonlinearity=Polsky(0.2, 20.0), n_bootstrap=100)
    >>> report = capacity_report(fit, accuracy="fast")
    >>> print(f"{report.n_patterns} patterns, {report.bits_per_synapse} bits per synapse")
    68,000 [63,000, 81,000] patterns, 2.0 [1.8, 2.3] bits per synapse
    """
    choice("accuracy", accuracy, ("best", "fast"))
    tell = callback or (lambda share, words: None)
    units, symmetric, linear = fit.units, fit.dendrites.solution, fit.linear.solution
    spec = symmetric.neuron
    step = _OneStep(fit)
    alpha = silent = Interval(math.nan, math.nan, math.nan)
    sources: dict[str, tuple[float, float]] = {}
    found, reason = None, ""
    try:
        theta_s, here = step.nearest(spec)
        if theta_s != spec.theta_s:
            reason = (
                f"with broken symmetry there is no capacity at theta_s = {spec.theta_s:.3g}; "
                f"theta_s = {theta_s:.3g} is the nearest value tried that has one"
            )
        cell = DendriticNeuron(replace(spec, theta_s=theta_s), units.n_inputs, units.n_branches)
        found = capacity(cell, fit.task, accuracy=accuracy, callback=lambda share, words: tell(0.6 * share, words))
    except (NoSolution, ConvergenceError):
        found, reason = None, f"with broken symmetry there is no capacity at theta_s = {spec.theta_s:.3g} or nearby"
    if found is not None:
        tell(0.6, "all thresholds that the data allow")
        around = step.around(fit, theta_s)
        if math.isfinite(found.error):
            sources[ESTIMATE] = _factors(found.alpha_c, [found.alpha_c - found.error, found.alpha_c + found.error])
        sources[THRESHOLDS] = _factors(here[0], [alpha for alpha, _ in around])
        if curve is not None:
            tell(0.8, "redrawn curves")
            sources[CURVE] = step.redrawn(fit, curve, np.random.default_rng(rng))
        alpha = _combined(found.alpha_c, sources)
        silent = _silent(found, [silent - here[1] for _, silent in around])
    tell(1.0, "done")
    paper = None  # the estimate of the fit, unless another somatic threshold had to be used
    if found is not None and reason and found.paper_alpha_c is not None and found.paper_silent_fraction is not None:
        paper = found.paper_alpha_c, found.paper_silent_fraction
    return CapacityReport(
        alpha_c=alpha,
        n_patterns=alpha.times(float(units.n_inputs)),
        bits_per_synapse=alpha.times(binary_entropy(fit.task.f_out)),
        silent_fraction=silent,
        sources=sources,
        capacity=found,
        reason=reason,
        paper_alpha_c=symmetric.alpha_c if paper is None else paper[0],
        paper_silent_fraction=symmetric.silent_fraction if paper is None else paper[1],
        verdict=fit.verdict,
        theta_d_mv=fit.theta_d_mv,
        theta_s_mv=fit.theta_s_mv,
        local_theta_d_mv=float(units.local_theta_d_mv(spec.theta_d)),
        preactivation_mv=Preactivation(
            float(units.branch_input_mv(symmetric.preactivation_mean)),
            float(units.branch_input_mv(symmetric.preactivation_sd)),
        ),
        inactive_branches=float(symmetric.preactivation.cdf(0.0)),
        mean_output_mv=float(units.branch_input_mv(spec.theta_s)),
        nonlinearity=fit.nonlinearity,
        scale_mv=units.scale_mv,
        linear_alpha_c=math.nan if linear is None else linear.alpha_c,
        linear_kappa_mv=fit.linear.kappa_mv,
        reachable=fit.dendrites.reachable,
        compatible=fit.compatible,
        symmetric=symmetric,
    )


class _OneStep:
    """Capacity and silent fraction in the one-step estimate, fast enough for a hundred evaluations."""

    def __init__(self, fit: WeightFit) -> None:
        self.task, self.branch_size = fit.task, fit.units.n_inputs / fit.units.n_branches

    def at(self, g: Nonlinearity, theta_d: float, theta_s: float) -> tuple[float, float]:
        spec = NeuronSpec(g, theta_d, theta_s)
        found = critical_capacity(spec, self.task, rsb=1, branch_size=self.branch_size)
        return found.alpha_c, found.silent_fraction

    def nearest(self, spec: NeuronSpec) -> tuple[float, tuple[float, float]]:
        """The somatic threshold itself or, if it has no capacity, the first one towards the middle of g that has."""
        g = spec.tree[0].nonlinearity
        low, high = (end if math.isfinite(end) else spec.theta_s for end in g.range)
        for theta_s in np.linspace(spec.theta_s, 0.5 * (low + high), N_ON_THE_WAY):
            try:
                return float(theta_s), self.at(g, spec.tree[0].theta, float(theta_s))
            except (NoSolution, ConvergenceError):
                continue
        raise NoSolution("no somatic threshold between here and the middle of g has a capacity with broken symmetry")

    def where_possible(self, points: Sequence[tuple[Nonlinearity, float, float]]) -> list[tuple[float, float]]:
        """Results at many points; points without a capacity are left out."""
        found = []
        for point in points:
            try:
                found.append(self.at(*point))
            except (NoSolution, ConvergenceError):
                continue
        return found

    def around(self, fit: WeightFit, theta_s: float) -> list[tuple[float, float]]:
        """Capacities and silent fractions at all thresholds that the data allow; empty without a bootstrap.

        If the data allow none, the somatic threshold is kept.
        """
        theta_d = fit.dendrites.theta_d
        if not fit.replicates_mv:
            return []
        ends = [theta_d * float(end) / fit.theta_d_mv.value for end in fit.theta_d_mv]
        sets = fit.theta_s_sets or ((theta_s, theta_s),)
        somatic = sorted({float(at) for low, high in sets for at in np.linspace(low, high, N_THRESHOLDS)})
        return self.where_possible([(fit.nonlinearity, d, s) for s in somatic for d in ends])

    def redrawn(self, fit: WeightFit, curve: NonlinearityFit, rng: np.random.Generator) -> tuple[float, float]:
        """Factors by which repeated measurements, and other curves through the points, would change the capacity."""
        again = []
        for _ in range(N_CURVES):
            try:
                again.append(curve.resampled(rng))
            except ValueError:  # the resampled points happen not to rise
                continue
        here = fit.dendrites.solution.alpha_c
        repeated, as_good = (
            [self._symmetric(fit, curve.scale, other) for other in others] for others in (again, curve.as_good())
        )
        found = interval_of_logs(here, repeated, fit.level, as_good)
        return _factors(here, [found.low, found.high])

    def _symmetric(self, fit: WeightFit, scale: float, other: NonlinearityFit) -> float:
        """Replica-symmetric capacity with another curve; NaN if there is none."""
        # With another scale the same millivolts are different weights in model units.
        units = replace(fit.units, scale_mv=fit.units.scale_mv * other.scale / scale)
        theta_d = fit.dendrites.theta_d * fit.units.mv_per_weight / units.mv_per_weight
        try:
            return critical_capacity(NeuronSpec(other.nonlinearity, theta_d, fit.dendrites.theta_s), self.task).alpha_c
        except (NoSolution, ConvergenceError):
            return math.nan


def _silent(found: Capacity, differences: Sequence[float]) -> Interval:
    """The silent fraction, with its error and the differences due to other thresholds."""
    error = 0.0 if math.isnan(found.silent_error) else found.silent_error
    value = found.silent_fraction
    ends = [value, *(value + difference for difference in differences)]
    return Interval(value, max(min(ends) - error, 0.0), min(max(ends) + error, 1.0))


def _factors(value: float, others: Sequence[float]) -> tuple[float, float]:
    """Factors by which other values lie below and above a value; NaN is ignored."""
    known = [other / value for other in others if math.isfinite(other) and other > 0.0]
    return min([1.0, *known]), max([1.0, *known])


def _combined(value: float, sources: dict[str, tuple[float, float]]) -> Interval:
    """Combination of independent factors, whose logarithms are added in squares [capacity-interval]."""
    down, up = (math.hypot(*(math.log(ends[side]) for ends in sources.values())) for side in (0, 1))
    return Interval(value, value * math.exp(-down), value * math.exp(up))
