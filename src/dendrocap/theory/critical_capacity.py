"""Critical capacity: the replica-symmetric estimate, or one with steps of replica symmetry breaking."""

from __future__ import annotations

from typing import overload

from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.theory.replica_symmetric import CapacitySolution, symmetric_capacity
from dendrocap.theory.rsb.broken_capacity import BrokenCapacity, broken_capacity

__all__ = ["critical_capacity"]


@overload
def critical_capacity(neuron: NeuronSpec, task: TaskSpec | None = None) -> CapacitySolution: ...


@overload
def critical_capacity(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, rsb: int | str, start: BrokenCapacity | None = None
) -> CapacitySolution | BrokenCapacity: ...


def critical_capacity(
    neuron: NeuronSpec, task: TaskSpec | None = None, *, rsb: int | str = 0, start: BrokenCapacity | None = None
) -> CapacitySolution | BrokenCapacity:
    """Load beyond which no weights solve a random task.

    Here the typical overlap q of two solutions meets their squared norm Q: the cloud of solutions has shrunk to a
    point. With ``rsb=0`` this is the replica-symmetric estimate, which bounds the true capacity from above. Above the
    de Almeida-Thouless load the cloud is shattered; each step of replica symmetry breaking resolves one more level
    of its clusters and lowers the estimate.

    Parameters
    ----------
    neuron : NeuronSpec
        With one dendritic level or several. Non-linearities with a jump have infinite capacity.
    task : TaskSpec, optional
        Coding levels and margin; 1/2, 1/2 and 0 if not given.
    rsb : int or "full"
        Steps of replica symmetry breaking, or the limit of many, extrapolated with an error estimate.
    start : BrokenCapacity, optional
        The solution of a similar neuron with as many steps, to start from.

    Returns
    -------
    CapacitySolution or BrokenCapacity
        The second with ``rsb`` other than 0.

    Raises
    ------
    NoSolution
        If a threshold is not a value that the averaged non-linearity can take, or g has a jump.

    Notes
    -----
    Solves [cap-stationary] and returns the largest load among the solutions; with breaking, solves [rsb-c], [rsb-mu]
    and [rsb-norm].

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
    """
    if rsb == 0:
        return symmetric_capacity(neuron, task)
    return broken_capacity(neuron, task, rsb, start)
