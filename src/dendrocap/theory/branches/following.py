"""Following a solution of the broken equations from a solved problem to another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.theory.branches.broken import PopulationEquations, PopulationState
from dendrocap.theory.newton import newton

__all__ = ["Followed", "FoundState", "follow_to", "near"]

Floats = NDArray[np.float64]

ACCEPTED = 1e-9  # largest residual of a solution
ACCEPTED_POTENTIAL = 1e-8  # largest F / F_S, which was not among the equations
REACH = 0.8  # a solution further away than this in any unknown may belong to another branch
MOST_NEWTON = 14
SHORTEST_STEP = 1e-3
ON_THE_WAY = 1e5  # slack for intermediate solutions


class FoundState(NamedTuple):
    """A solution, its residual, and the last Jacobian of Newton's method."""

    x: Floats
    state: PopulationState
    residual: float
    jacobian: Floats | None


def near(
    equations: PopulationEquations, x: Floats, jacobian: Floats | None = None, slack: float = 1.0
) -> FoundState | None:
    """The solution near x, or None; ``slack`` multiplies the accepted residual."""
    solved = newton(equations.residuals, x, reach=REACH, most=MOST_NEWTON, jacobian=jacobian, target=slack * 1e-12)
    if not solved.residual < slack * ACCEPTED or float(np.max(np.abs(solved.x - x))) > REACH:
        return None
    state = equations.state(solved.x)
    if not (state.in_order and abs(state.potential) < slack * ACCEPTED_POTENTIAL):
        return None
    return FoundState(solved.x, state, solved.residual, solved.jacobian)


class Followed(NamedTuple):
    """How far a solution was followed, from 0 to 1, and the last one found."""

    reached: float
    found: FoundState | None


def follow_to(family: Callable[[float], PopulationEquations], x: Floats, jacobian: Floats | None = None) -> Followed:
    """Follow a solution at s = 0 through a family of equations to s = 1."""
    path: list[tuple[float, Floats]] = [(0.0, x)]
    found: FoundState | None = None
    step = 1.0
    while path[-1][0] < 1.0:
        at = min(path[-1][0] + step, 1.0)
        guess = path[-1][1]
        if len(path) > 1:
            (s0, x0), (s1, x1) = path[-2:]
            guess = x1 + (x1 - x0) * (at - s1) / (s1 - s0)
        moved = near(family(at), guess, jacobian, slack=1.0 if at == 1.0 else ON_THE_WAY)
        if moved is None:
            step *= 0.35
            if step < SHORTEST_STEP:
                return Followed(path[-1][0], found)
            continue
        found, jacobian = moved, moved.jacobian
        path.append((at, moved.x))
        step *= 1.8
    return Followed(1.0, found)
