"""Critical capacity: the replica-symmetric estimate, or one with steps of replica symmetry breaking."""

from __future__ import annotations

from dataclasses import replace

from dendrocap.model import Inhibition, NeuronSpec, Spherical, TaskSpec
from dendrocap.theory import scope
from dendrocap.theory.neuron_kernel import needs_populations
from dendrocap.theory.search import population_capacity
from dendrocap.theory.solution import CapacitySolution
from dendrocap.theory.spherical_capacity import spherical_capacity
from dendrocap.theory.symmetric import symmetric_capacity
from dendrocap.validation import refuse


def critical_capacity(
    neuron: NeuronSpec,
    task: TaskSpec | None = None,
    *,
    rsb: int | str = 0,
    branch_size: float | None = None,
    start: CapacitySolution | None = None,
) -> CapacitySolution:
    """Load above which no weights solve a random task, if branches of one kind are alike.

    At this load the typical overlap q of two solutions equals their squared norm Q: the cloud of solutions has shrunk
    to a point. With ``rsb=0`` this is the paper's replica-symmetric estimate. Above the de Almeida-Thouless load the
    cloud breaks up; each step of replica symmetry breaking resolves one more level of clusters and lowers the estimate.

    All branches of one kind have the same mean output. For saturating g without a margin this is not the best state
    (`branch_stability`), so these numbers are not upper bounds; `dendrocap.capacity` gives the best estimate for a
    neuron of given size.

    Parameters
    ----------
    neuron : NeuronSpec
        A neuron with equal branches, several populations of branches, or a deep tree. Non-linearities with a jump have
        infinite capacity.
    task : TaskSpec, optional
        Coding levels and margin; by default 1/2, 1/2 and 0.
    rsb : int or "full"
        Steps of replica symmetry breaking, or the limit of many, extrapolated with an error estimate.
    branch_size : float, optional
        Synapses per branch, n = N / K. A mean input m then shifts the mean weight to (theta_d + m / sqrt(n)) / f_in.
        By default the paper's limit of long branches.
    start : CapacitySolution, optional
        The solution of a similar neuron with the same number of steps, as a starting point.

    Returns
    -------
    CapacitySolution

    Raises
    ------
    NoSolution
        If a threshold is outside the range of the averaged non-linearity, g has a jump, or the load grows with the
        weights without bound, as the replica-symmetric load may on short branches.

    Notes
    -----
    Solves [cap-stationary] and returns the largest load among the solutions; with breaking, solves [rsb-c], [rsb-mu]
    and [rsb-norm]. Populations solve [pop-load] or [pop-c], [pop-mu] and [pop-norm].

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec, Polsky, TaskSpec
    >>> round(critical_capacity(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5)).alpha_c, 10)
    1.0
    >>> solution = critical_capacity(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5))
    >>> round(solution.alpha_c, 5), round(solution.silent_fraction, 5)
    (4.95132, 0.78702)
    >>> broken = critical_capacity(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), rsb=1)
    >>> round(broken.alpha_c, 5), round(broken.silent_fraction, 5)
    (2.13657, 0.25948)
    >>> short = critical_capacity(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), rsb=1, branch_size=37)
    >>> round(short.alpha_c, 5), round(short.W_bar, 4)
    (2.20231, 1.111)
    """
    task = scope.check("critical_capacity(rsb=0)" if rsb == 0 else "critical_capacity(rsb >= 1)", neuron, task)
    if isinstance(neuron.prior, Spherical):
        if branch_size is not None:
            scope.check(scope.SHORT, neuron)
        return spherical_capacity(neuron, task, rsb)
    if not isinstance(start, CapacitySolution | None):
        raise refuse("start", start, "a CapacitySolution")
    if rsb == 0 and not needs_populations(neuron, branch_size):
        return symmetric_capacity(neuron, task)
    return population_capacity(neuron, task, rsb, branch_size, start)


def best_inhibition(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, share: float, f_in: float | None = None, rsb: int | str = 0
) -> CapacitySolution:
    """The capacity with the inhibitory drive that stores most, which ``neuron.inhibition.drive`` of the result holds.

    For linear branches without a margin only ratios of weights matter. This is then the capacity at a bounded norm of
    all weights, without any prescribed mean.

    Parameters
    ----------
    neuron : NeuronSpec
        Equal branches of one level, without inhibition.
    task : TaskSpec, optional
        Coding levels, margin and correlation; by default 1/2, 1/2, 0 and 0.
    share, f_in : float
        Share of inhibitory synapses, and the coding level of their inputs, by default that of the others.
    rsb : int or "full"
        Steps of breaking.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec
    >>> found = best_inhibition(NeuronSpec(Linear(), theta_d=1.0, theta_s=0.5), share=0.8)
    >>> round(found.alpha_c, 8), found.neuron.inhibition.drive  # balanced, as Rubin et al. (2017) find
    (0.74973911, 1.0)
    """
    from scipy.optimize import minimize_scalar

    task = scope.check("best_inhibition", neuron, task)

    def at(drive: float) -> CapacitySolution:
        return critical_capacity(replace(neuron, inhibition=Inhibition(share, drive, f_in)), task, rsb=rsb)

    inside = minimize_scalar(
        lambda drive: -at(drive).alpha_c, bounds=(0.0, neuron.theta_d), method="bounded", options={"xatol": 1e-7}
    )
    # Without any fixed threshold, at the end of the range, the load may be largest.
    return max(at(float(inside.x)), at(neuron.theta_d), key=lambda found: found.alpha_c)
