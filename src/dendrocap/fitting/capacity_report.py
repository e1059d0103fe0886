"""What a neuron with the fitted synapses can store."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dendrocap.display import Displayed
from dendrocap.fitting.amplitudes import WeightFit
from dendrocap.model import Nonlinearity
from dendrocap.theory.answers import binary_entropy
from dendrocap.theory.weight_distributions import Preactivation

__all__ = ["CapacityReport", "capacity_report"]


@dataclass(frozen=True)
class CapacityReport(Displayed):
    """Storage of the neuron that the fit describes, in biological units where there are any.

    Attributes
    ----------
    alpha_c : float
        Random associations per synapse at capacity, in the replica-symmetric estimate for long, equal branches.
    n_patterns : float
        alpha_c N, the associations that all synapses store together.
    bits_per_synapse : float
        alpha_c h2(f_out): each label carries h2(f_out) bits [bits].
    silent_fraction : float
        Of this neuron, which is the fitted one only if that is within reach.
    theta_d_mv, theta_s_mv : float
        Thresholds.
    preactivation_mv : Preactivation
        Distribution of a branch's summed input, on the axis along which g was measured.
    inactive_branches : float
        Fraction of branches whose input is below zero.
    mean_output_mv : float
        Mean output of a branch, theta_s in millivolts of one branch.
    nonlinearity : Nonlinearity
        g, in the model's units; ``scale_mv`` maps it to millivolts.
    linear_alpha_c, linear_kappa_mv : float
        The same weights without dendrites: capacity, and the margin needed; NaN if there is none.
    reachable : bool
        Whether the neuron has the fitted silent fraction, or only comes nearest.

    Examples
    --------
    >>> from dendrocap import Polsky, capacity_report, fit_weights
    >>> from dendrocap.datasets import song2005
    >>> data = song2005()
    >>> fit = fit_weights(data.amplitudes_mv, p0=0.76, nonlinearity=Polsky(0.2, 20), n_bootstrap=0)
    >>> report = capacity_report(fit)
    >>> print(f"{report.alpha_c:.2f} per synapse, of which {report.silent_fraction:.0%} are silent")
    35.94 per synapse, of which 76% are silent
    """

    _displayed = (
        "alpha_c",
        "n_patterns",
        "bits_per_synapse",
        "silent_fraction",
        "theta_d_mv",
        "theta_s_mv",
        "reachable",
    )

    alpha_c: float
    n_patterns: float
    bits_per_synapse: float
    silent_fraction: float
    theta_d_mv: float
    theta_s_mv: float
    preactivation_mv: Preactivation
    inactive_branches: float
    mean_output_mv: float
    nonlinearity: Nonlinearity
    scale_mv: float
    linear_alpha_c: float
    linear_kappa_mv: float
    reachable: bool


def capacity_report(fit: WeightFit) -> CapacityReport:
    """What the neuron of a fit can store, and how its branches are driven.

    Examples
    --------
    >>> from dendrocap import Polsky, fit_weights
    >>> from dendrocap.theory.weight_distributions import CapacityWeights
    >>> w = CapacityWeights(B=0.7, W_star=1.0).rvs(4000, random_state=1)
    >>> fit = fit_weights(w[w > 0], n_tested=4000, nonlinearity=Polsky(0.2, 20.0), n_bootstrap=0)
    >>> report = capacity_report(fit)
    >>> print(f"{report.n_patterns:.0f} patterns, {report.bits_per_synapse:.2f} bits per synapse")
    155937 patterns, 4.47 bits per synapse
    """
    solution, units = fit.dendrites.solution, fit.units
    linear = fit.linear.solution
    return CapacityReport(
        alpha_c=solution.alpha_c,
        n_patterns=solution.alpha_c * units.n_inputs,
        bits_per_synapse=solution.alpha_c * binary_entropy(fit.task.f_out),
        silent_fraction=solution.silent_fraction,
        theta_d_mv=fit.theta_d_mv.value,
        theta_s_mv=fit.theta_s_mv.value,
        preactivation_mv=Preactivation(
            float(units.branch_input_mv(solution.preactivation_mean)),
            float(units.branch_input_mv(solution.preactivation_sd)),
        ),
        inactive_branches=float(solution.preactivation.cdf(0.0)),
        mean_output_mv=float(units.branch_input_mv(solution.neuron.theta_s)),
        nonlinearity=fit.nonlinearity,
        scale_mv=units.scale_mv,
        linear_alpha_c=math.nan if linear is None else linear.alpha_c,
        linear_kappa_mv=fit.linear.kappa_mv,
        reachable=fit.dendrites.reachable,
    )
