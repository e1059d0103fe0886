"""Capacity of a neuron with the fitted synapses, with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dendrocap.answers import Capacity, binary_entropy, capacity
from dendrocap.answers.answer import PAPER
from dendrocap.answers.validity import Flag
from dendrocap.display import Displayed, with_digits
from dendrocap.errors import ConvergenceError, NoSolution
from dendrocap.fitting.curve import NonlinearityFit
from dendrocap.fitting.weights import Interval, WeightFit, interval_of_logs
from dendrocap.model import DendriticNeuron, NeuronSpec, Nonlinearity, Polsky, Smooth
from dendrocap.theory import critical_capacity
from dendrocap.theory.weights import Preactivation
from dendrocap.validation import choice

N_THRESHOLDS = 7  # somatic thresholds evaluated in each interval that the data allow
N_ON_THE_WAY = 9  # thresholds to try if there is no capacity at the estimated one
N_CURVES = 40  # resampled measurements of the curve
ESTIMATE, THRESHOLDS, CURVE = "the estimate itself", "synapses and thresholds", "the dendritic curve"


@dataclass(frozen=True)
class CapacityReport(Displayed):
    """Storage of the fitted neuron, with intervals, in biological units where possible."""

    _displayed = ("answer", "patterns", "paper_alpha_c", "verdict")

    # Random associations per synapse at capacity: the best estimate. Its interval includes the error of the estimate,
    # the bootstrap of the synapses, all somatic thresholds compatible with the data, and the errors of the curve.
    alpha_c: Interval
    silent_fraction: Interval  # at capacity, in the best estimate; the fit itself uses the replica-symmetric one
    sources: dict[str, tuple[float, float]]  # factors by which each source may change the capacity, down and up
    # The best estimate at the estimated thresholds; if there is none, at the nearest somatic threshold that has one,
    # which the reason states; None, with NaN in the intervals, if none has.
    capacity: Capacity | None
    reason: str
    fit: WeightFit = field(repr=False)
    curve: NonlinearityFit | None = field(repr=False)

    @property
    def n_patterns(self) -> Interval:
        """Number of patterns stored by the whole neuron."""
        return self.alpha_c.times(float(self.fit.units.n_inputs))

    @property
    def bits_per_synapse(self) -> Interval:
        """Information in the labels of these patterns."""
        return self.alpha_c.times(binary_entropy(self.fit.task.f_out))

    @property
    def _paper(self) -> tuple[float, float]:
        """Capacity and silent fraction in the paper's estimate, at the threshold of the capacity."""
        found, symmetric = self.capacity, self.fit.dendrites.solution
        if found and self.reason and found.paper_alpha_c is not None and found.paper_silent_fraction is not None:
            return found.paper_alpha_c, found.paper_silent_fraction
        return symmetric.alpha_c, symmetric.silent_fraction

    @property
    def paper_alpha_c(self) -> float:
        """The paper's replica-symmetric capacity at the same thresholds."""
        return self._paper[0]

    @property
    def paper_silent_fraction(self) -> float:
        """The paper's replica-symmetric silent fraction at the same thresholds."""
        return self._paper[1]

    @property
    def verdict(self) -> str:
        """Whether such dendrites can have the fitted synapses."""
        return self.fit.verdict

    @property
    def theta_s(self) -> float:
        """The somatic threshold, in model units, at which the capacity was computed."""
        if self.capacity is None or not isinstance(self.capacity.neuron, DendriticNeuron):
            return self.fit.dendrites.solution.neuron.theta_s
        return self.capacity.neuron.spec.theta_s

    @property
    def local_theta_d_mv(self) -> float:
        """The dendritic threshold, measured in the branch."""
        return float(self.fit.units.local_theta_d_mv(self.fit.dendrites.theta_d))

    @property
    def preactivation_mv(self) -> Preactivation:
        """The summed input of a branch in local millivolts, the axis along which g was measured; replica symmetric."""
        units, symmetric = self.fit.units, self.fit.dendrites.solution
        mean, sd = symmetric.preactivation_mean, symmetric.preactivation_sd
        return Preactivation(float(units.branch_input_mv(mean)), float(units.branch_input_mv(sd)))

    @property
    def linear_alpha_c(self) -> float:
        """Capacity of a neuron with the same weights and no dendrites; NaN if there is none."""
        return math.nan if self.fit.linear.solution is None else self.fit.linear.solution.alpha_c

    @property
    def answer(self) -> str:
        """The capacity as text, with as many digits as its interval justifies."""
        return f"{self.alpha_c} patterns per synapse"

    @property
    def patterns(self) -> str:
        """Number of patterns stored by the whole neuron, as text."""
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
        """All numbers, those of the fit too, as a flat mapping for JSON."""
        row = self.fit.as_row()
        for name in ("alpha_c", "n_patterns", "bits_per_synapse"):
            row |= getattr(self, name).as_row(name)
        return row | {
            **self.silent_fraction.as_row("silent_fraction_at_capacity"),
            "paper_alpha_c": self.paper_alpha_c,
            "paper_silent_fraction": self.paper_silent_fraction,
            "uncertainty": {name: list(ends) for name, ends in self.sources.items()},
            "reason": self.reason,
            "local_theta_d_mv": self.local_theta_d_mv,
            "preactivation_mean_mv": self.preactivation_mv.mean(),
            "preactivation_sd_mv": self.preactivation_mv.std(),
            "inactive_branches": float(self.preactivation_mv.cdf(0.0)),
            "linear_kappa_mv": self.fit.linear.kappa_mv,
            "linear_alpha_c": self.linear_alpha_c,
            "capacity": None if self.capacity is None else self.capacity.as_row(),
        }

    def as_table(self) -> list[dict[str, str]]:
        """The most important numbers, one quantity per line, within 80 columns."""

        def plain(value: float) -> str:
            return with_digits(value, 3) if math.isfinite(value) else "none"

        fit, reach, inputs = self.fit, self.fit.dendrites.reach, self.preactivation_mv
        quick = self.capacity is not None and self.capacity.accuracy == "fast"
        at_soma, per_synapse = "mV at soma", "patterns / synapse"
        lines: list[tuple[str, Interval | str, str]] = [
            ("silent fraction p0", fit.silent_fraction, ""),
            ("W_star", fit.W_star_mv, at_soma),
            ("dendritic threshold theta_d", fit.theta_d_mv, at_soma),
            ("  the same in its branch", plain(self.local_theta_d_mv), "mV local"),
            ("somatic threshold theta_s", fit.theta_s_mv, at_soma + ", nearest" * (not fit.dendrites.reachable)),
            ("p0 within reach of theta_s", f"{reach.low:.3f} to {reach.high:.3f}", "paper's"),
            (f"capacity, {'quick look' if quick else 'best estimate'}", self.alpha_c, per_synapse),
            ("  replica symmetric (paper)", plain(self.paper_alpha_c), per_synapse),
            ("silent at capacity, the same", self.silent_fraction, ""),
            ("  replica symmetric (paper)", plain(self.paper_silent_fraction), ""),
            ("patterns stored", self.n_patterns, ""),
            ("information", self.bits_per_synapse, "bits / synapse"),
            ("branch input, mean", plain(inputs.mean()), "mV local"),
            ("branch input, sd", plain(inputs.std()), "mV local"),
            ("without dendrites: margin", plain(fit.linear.kappa_mv), at_soma),
            ("without dendrites: capacity", plain(self.linear_alpha_c), per_synapse),
        ]
        return [{"quantity": name, "value": str(value), "unit": unit} for name, value, unit in lines]

    @property
    def validity(self) -> dict[str, Flag]:
        """How far each assumption holds: those of the capacity, and those of the measurements."""
        fit, share = self.fit, self.fit.units.somatic_share
        lights = {} if self.capacity is None else dict(self.capacity.validity)
        if self.curve is not None:
            rise = f"{self.curve.points_on_rise} points between 10 % and 90 % of the rise"
            light = "good" if self.curve.resolved else "bad"
            lights["resolution of the curve"] = Flag(light, f"{rise}; at least three determine its slope")
        assumed = f"{share:.3g} = 1 / sqrt(K) is assumed, as in the paper; if you can measure it, give --attenuation"
        known = fit.units.attenuation is not None
        lights["attenuation"] = Flag(*(("good", f"{share:.3g}, as given") if known else ("caution", assumed)))
        light = "good" if fit.dendrites.reachable else "caution" if fit.compatible else "bad"
        lights["silent fraction within reach"] = Flag(light, self.verdict)
        best, own = fit.comparison[0], next(one for one in fit.comparison if one.name == "capacity")
        shape = Flag("bad", f"a {best.name} is better by {own.delta_aic:.0f} units of AIC")
        if best.name.startswith(own.name):
            shape = Flag("good", "no other distribution describes the amplitudes better")
        return {**lights, "shape of the amplitudes": shape}

    @property
    def methods(self) -> str:
        """A paragraph for the methods of a paper, with all settings."""
        fit, units, curve = self.fit, self.fit.units, self.curve
        kinds = {Polsky.name: "the function of the paper", Smooth.name: "a monotone smoothing curve"}
        shape = f"given as {fit.nonlinearity!r}"
        if curve is not None:
            shape = f"described by {kinds.get(curve.nonlinearity.name, 'interpolation of the points')}"
        way = "maximum likelihood" if fit.method == "likelihood" else "least squares on a histogram"
        estimate = "two steps of symmetry breaking and corrections for the number and the length of branches"
        if self.capacity is None or self.capacity.accuracy == "fast":
            estimate = "one step of symmetry breaking, for branches of the real length"
        p0 = fit.p0 if isinstance(fit.p0, str) else f"{fit.p0:g}"
        return (
            f"The dendritic curve was {shape} (scale {units.scale_mv:.3g} mV). EPSP amplitudes (n = "
            f"{fit.amplitudes_mv.size}) were fitted by {way} with the distribution of weights of a neuron at capacity, "
            f"p0 = {p0}, for N = {units.n_inputs:,} synapses on K = {units.n_branches} branches, coding levels f_in = "
            f"{fit.task.f_in:g} and f_out = {fit.task.f_out:g}, and a dendro-somatic attenuation of "
            f"{units.somatic_share:.3g}. Thresholds follow from the replica-symmetric equations; intervals of "
            f"{100 * fit.level:g} % are bias-corrected percentiles of {len(fit.replicates_mv)} bootstrap samples. The "
            f"capacity was computed with {estimate}; its interval holds the error of that estimate, all somatic "
            "thresholds that the data allow, and the errors of the curve."
        )


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
    units, spec = fit.units, fit.dendrites.solution.neuron
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
        around = step.around(theta_s)
        if math.isfinite(found.error):
            sources[ESTIMATE] = _factors(found.alpha_c, [found.alpha_c - found.error, found.alpha_c + found.error])
        sources[THRESHOLDS] = _factors(here[0], [alpha for alpha, _ in around])
        if curve is not None:
            tell(0.8, "redrawn curves")
            sources[CURVE] = step.redrawn(curve, np.random.default_rng(rng))
        alpha = _combined(found.alpha_c, sources)
        silent = _silent(found, [silent - here[1] for _, silent in around])
    tell(1.0, "done")
    return CapacityReport(alpha, silent, sources, found, reason, fit, curve)


class _OneStep:
    """Capacity and silent fraction in the one-step estimate, fast enough for a hundred evaluations."""

    def __init__(self, fit: WeightFit) -> None:
        self.fit, self.branch_size = fit, fit.units.n_inputs / fit.units.n_branches

    def at(self, g: Nonlinearity, theta_d: float, theta_s: float) -> tuple[float, float] | None:
        """Both at these thresholds; None if there is no capacity with broken symmetry."""
        try:
            spec = NeuronSpec(g, theta_d, theta_s)
            found = critical_capacity(spec, self.fit.task, rsb=1, branch_size=self.branch_size)
        except (NoSolution, ConvergenceError):
            return None
        return found.alpha_c, found.silent_fraction

    def nearest(self, spec: NeuronSpec) -> tuple[float, tuple[float, float]]:
        """The somatic threshold itself or, if it has no capacity, the first one towards the middle of g that has."""
        branch = spec.tree[0]
        low, high = (end if math.isfinite(end) else spec.theta_s for end in branch.nonlinearity.range)
        for theta_s in np.linspace(spec.theta_s, 0.5 * (low + high), N_ON_THE_WAY).tolist():
            found = self.at(branch.nonlinearity, branch.theta, theta_s)
            if found is not None:
                return theta_s, found
        raise NoSolution("no somatic threshold between here and the middle of g has a capacity with broken symmetry")

    def around(self, theta_s: float) -> list[tuple[float, float]]:
        """Capacities and silent fractions at all thresholds that the data allow; empty without a bootstrap.

        If the data allow none, the somatic threshold is kept.
        """
        fit = self.fit
        if not fit.replicates_mv:
            return []
        ends = [fit.dendrites.theta_d * float(end) / fit.theta_d_mv.value for end in fit.theta_d_mv]
        sets = fit.theta_s_sets or ((theta_s, theta_s),)
        somatic = sorted({float(at) for low, high in sets for at in np.linspace(low, high, N_THRESHOLDS)})
        found = [self.at(fit.nonlinearity, d, s) for s in somatic for d in ends]
        return [one for one in found if one is not None]

    def redrawn(self, curve: NonlinearityFit, rng: np.random.Generator) -> tuple[float, float]:
        """Factors by which repeated measurements, and other curves through the points, would change the capacity."""
        again = []
        for _ in range(N_CURVES):
            with suppress(ValueError):  # the resampled points happen not to rise
                again.append(curve.resampled(rng))
        here = self.fit.dendrites.solution.alpha_c
        repeated, as_good = ([self._symmetric(curve.scale, one) for one in some] for some in (again, curve.as_good()))
        found = interval_of_logs(here, repeated, self.fit.level, as_good)
        return _factors(here, [found.low, found.high])

    def _symmetric(self, scale: float, other: NonlinearityFit) -> float:
        """Replica-symmetric capacity with another curve; NaN if there is none."""
        # With another scale the same millivolts are different weights in model units.
        fit, units = self.fit, replace(self.fit.units, scale_mv=self.fit.units.scale_mv * other.scale / scale)
        theta_d = fit.dendrites.theta_d * fit.units.mv_per_weight / units.mv_per_weight
        try:
            return critical_capacity(NeuronSpec(other.nonlinearity, theta_d, fit.dendrites.theta_s), fit.task).alpha_c
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
