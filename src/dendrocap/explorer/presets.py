"""Named neurons as starting points, each with the source of its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

__all__ = ["PRESETS", "Preset", "preset"]


@dataclass(frozen=True)
class Preset:
    """A named neuron.

    Parameters
    ----------
    label, source : str
        Its label on the page, and the source of its numbers.
    changes : callable
        Returns the parameters that it sets.
    """

    label: str
    source: str
    changes: Callable[[], dict[str, Any]]


def preset(name: str) -> dict[str, Any]:
    """The parameters that a preset sets.

    Examples
    --------
    >>> preset("paper")["theta_d"], preset("linear")["nonlinearity"]
    (0.5, 'linear')
    """
    from dendrocap.validation import choice

    return PRESETS[choice("preset", name, tuple(PRESETS))].changes()


@lru_cache(maxsize=1)
def _song2005() -> dict[str, Any]:
    """Fitted on first use, not copied: the numbers are those printed by ``dendrocap fit song2005``."""
    from dendrocap.experiments.song2005_fit import PRINTED, compare_with_paper

    fit = compare_with_paper(n_bootstrap=0).paper_way
    g, task, units = PRINTED.nonlinearity, PRINTED.task, PRINTED.units
    return _neuron(
        "polsky",
        x_min=g.x_min,
        gamma=g.gamma,
        theta_d=fit.dendrites.theta_d,
        theta_s=fit.dendrites.theta_s,
        f_in=task.f_in,
        f_out=task.f_out,
        n_inputs=units.n_inputs,
        n_branches=units.n_branches,
    )


def _neuron(nonlinearity: str, **values: Any) -> dict[str, Any]:
    """All parameters of the neuron, so that none of an earlier neuron remains."""
    usual = {"x_min": 0.33, "gamma": 15.0, "theta_d": 0.5, "theta_s": 0.5, "f_in": 0.5, "f_out": 0.5, "kappa": 0.0}
    usual |= {"branch_correlation": 0.0, "inhibitory_share": 0.0, "inhibitory_drive": 0.5}
    usual |= {"n_inputs": 10_000, "n_branches": 100}
    return {"nonlinearity": nonlinearity} | usual | values


PRESETS = {
    "paper": Preset(
        "paper", "Fig. 2 of the paper: x_min = 0.33, γ = 15, θ_d = θ_s = ½, f = ½", lambda: _neuron("polsky")
    ),
    "song2005": Preset(
        "Song 2005 fit",
        "least squares on the histogram of the 931 EPSPs of Song et al. (2005), as `dendrocap fit song2005` prints it",
        _song2005,
    ),
    "linear": Preset("linear", "a neuron without dendrites, f = ½", lambda: _neuron("linear")),
}
