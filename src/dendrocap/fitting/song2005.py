"""The paper's fit to the amplitudes of Song et al. (2005), with the printed numbers and from the raw data.

The paper gives three numbers whose units agree in only one of three readings (paper notes, 'The fit to Song et al.').
Each reading is evaluated with the equations and compared with fits to the amplitudes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scipy.special import ndtri

from dendrocap.datasets.measured import song2005
from dendrocap.display import Displayed
from dendrocap.fitting import WeightFit, fit_weights
from dendrocap.model import NeuronSpec, Polsky, TaskSpec, Units
from dendrocap.theory import CapacityWeights, critical_capacity, dendritic_threshold


@dataclass(frozen=True)
class Printed:
    """The numbers of the paper's Fig. 6 and its appendix on biological parameters."""

    p0: float = 0.76
    W_star: float = 5.56  # printed as mV
    theta_d_mv: float = 0.6
    theta_s_mv: float = 63.0
    nonlinearity: Polsky = field(default_factory=lambda: Polsky(x_min=0.2, gamma=20.0))
    task: TaskSpec = field(default_factory=lambda: TaskSpec(f_in=0.05, f_out=0.05))
    units: Units = field(default_factory=lambda: Units(n_inputs=10_000, n_branches=100, scale_mv=15.0))


PRINTED = Printed()


@dataclass(frozen=True)
class Reading(Displayed):
    """One set of parameters, in model units and in millivolts, and the resulting silent fraction and capacity.

    Millivolts are measured at the soma of a neuron with attenuation 1 / sqrt(K).
    """

    _displayed = ("label", "silent_fraction", "alpha_c", "theta_d", "theta_s", "reached")

    label: str
    p0: float  # the intended silent fraction
    W_star: float
    W_star_mv: float
    theta_d: float
    theta_d_mv: float
    theta_s: float
    theta_s_mv: float
    k_theta_s: float  # K theta_s, which the printed 63 may denote if it is not in millivolts
    silent_fraction: float  # of a neuron with these thresholds, in the paper's replica-symmetric estimate
    alpha_c: float
    reached: bool  # whether the silent fraction equals the intended one to four digits


@dataclass(frozen=True)
class PaperComparison(Displayed):
    """All readings, including the fits to the raw amplitudes."""

    _displayed = ("readings",)

    readings: tuple[Reading, ...]
    paper_way: WeightFit = field(repr=False)
    likelihood: WeightFit = field(repr=False)
    tested: WeightFit = field(repr=False)

    @property
    def fits(self) -> dict[str, WeightFit]:
        """The fits to the raw amplitudes, by label of the reading."""
        return dict(zip(RAW_FITS, (self.paper_way, self.likelihood, self.tested), strict=True))


READING_MODEL = "printed, 63 = K theta_s"
READING_MILLIVOLTS = "printed, 63 mV = 15 K theta_s"
READING_ATTENUATED = "printed, 63 mV = 15 sqrt(K) theta_s"
READING_W_STAR = "printed, W_star = 5.56 mV"
RAW_FITS = (
    "raw data, least squares on histogram",
    "raw data, likelihood",
    "raw data, likelihood, p0 from tested pairs",
)


def compare_with_paper(
    n_bootstrap: int = 1000, rng: int = 0, callback: Callable[[], None] | None = None
) -> PaperComparison:
    """Compare the readings of the printed fit with fits to the 931 amplitudes, by the paper's method and by likelihood.

    ``callback`` is called after each of ``3 n_bootstrap`` steps.
    """
    data = song2005()
    how: dict[str, Any] = {name: getattr(PRINTED, name) for name in ("nonlinearity", "task", "units")}
    how |= {"n_bootstrap": n_bootstrap, "rng": rng, "callback": callback}
    paper_way = fit_weights(data.amplitudes_mv, data.n_tested, p0=PRINTED.p0, method="histogram", **how)
    likelihood = fit_weights(data.amplitudes_mv, data.n_tested, p0=PRINTED.p0, **how)
    tested = fit_weights(data.amplitudes_mv, data.n_tested, p0="tested", **how)
    readings = (*printed_readings(), *map(_fitted, RAW_FITS, (paper_way, likelihood, tested)))
    return PaperComparison(readings, paper_way, likelihood, tested)


def printed_readings() -> tuple[Reading, ...]:
    """The printed numbers in the units that they may have."""
    units, as_printed = PRINTED.units, Units.as_printed(PRINTED.units.n_inputs, PRINTED.units.n_branches)
    B = float(ndtri(PRINTED.p0))
    theta_d = float(units.theta_d(PRINTED.theta_d_mv))
    by_k = PRINTED.theta_s_mv / units.n_branches
    # If W_star were in millivolts, the relation printed for theta_d would not give the printed theta_d.
    literal = CapacityWeights(B, float(units.weight(PRINTED.W_star)))
    return (
        _reading(READING_MODEL, PRINTED.W_star, theta_d, by_k),
        _reading(READING_MILLIVOLTS, PRINTED.W_star, theta_d, float(as_printed.theta_s(PRINTED.theta_s_mv))),
        _reading(READING_ATTENUATED, PRINTED.W_star, theta_d, float(units.theta_s(PRINTED.theta_s_mv))),
        _reading(READING_W_STAR, literal.W_star, dendritic_threshold(literal, PRINTED.task.f_in), by_k),
    )


def _reading(label: str, W_star: float, theta_d: float, theta_s: float, p0: float = PRINTED.p0) -> Reading:
    units = PRINTED.units
    solution = critical_capacity(NeuronSpec(PRINTED.nonlinearity, theta_d, theta_s), PRINTED.task)
    return Reading(
        label=label,
        p0=p0,
        W_star=W_star,
        W_star_mv=float(units.weight_mv(W_star)),
        theta_d=theta_d,
        theta_d_mv=float(units.theta_d_mv(theta_d)),
        theta_s=theta_s,
        theta_s_mv=float(units.theta_s_mv(theta_s)),
        k_theta_s=units.n_branches * theta_s,
        silent_fraction=solution.silent_fraction,
        alpha_c=solution.alpha_c,
        reached=abs(solution.silent_fraction - p0) < 5e-5,
    )


def _fitted(label: str, fit: WeightFit) -> Reading:
    return _reading(label, fit.W_star, fit.dendrites.theta_d, fit.dendrites.theta_s, fit.silent_fraction.value)
