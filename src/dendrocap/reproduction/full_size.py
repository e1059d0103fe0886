"""The verdicts at the sizes of the paper, which are part of the package, for comparison with smaller runs.

``full_size.json`` is written from the tables in docs/results/paper by `dendrocap.reproduction.publish`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dendrocap.display import Displayed
from dendrocap.reproduction.claims import CANNOT, DIFFERS, REPRODUCED, Judged, number_with_error

if TYPE_CHECKING:
    from dendrocap.reproduction.figure_runner import Reproduction

__all__ = ["FILE", "FullSizeVerdict", "contradicts", "full_size_verdicts", "gathered"]

FILE = "full_size.json"
# Verdicts that decide a claim.
DECIDED = (REPRODUCED, DIFFERS, CANNOT)


@dataclass(frozen=True)
class FullSizeVerdict(Displayed):
    """The verdict on a claim at the sizes of the paper.

    Attributes
    ----------
    value, error : float
        The measurement and its standard error; NaN if there is none.
    verdict, note : str
        The verdict, and additional information for the reader.
    settings : str
        Size of the simulations.

    Examples
    --------
    >>> from dendrocap.reproduction import full_size_verdicts
    >>> full_size_verdicts()["saturating-slope"].verdict
    'reproduced'
    """

    _displayed = ("verdict", "in_words", "settings")

    value: float
    error: float
    verdict: str
    note: str
    settings: str

    @property
    def in_words(self) -> str:
        """The measured number with its standard error."""
        return number_with_error(self.value, self.error)


def gathered(made: Reproduction) -> dict[str, Any]:
    """The verdicts of a reproduction as plain data: how each figure was made, and the verdict on each claim."""
    return {
        "figures": {
            one.name: {"settings": one.settings, "command": one.command, "version": one.version}
            for one in made.outcomes
        },
        "claims": {
            judged.claim.id: {
                "figure": judged.claim.figure,
                "value": _plain(judged.measured.value if judged.measured else math.nan),
                "error": _plain(judged.measured.error if judged.measured else math.nan),
                "verdict": judged.verdict,
                "note": judged.note,
            }
            for judged in made.judged
        },
    }


def _plain(number: float) -> float | None:
    """A number for JSON, with the digits on which platforms agree."""
    return float(f"{number:.10g}") if math.isfinite(number) else None


@cache
def full_size_verdicts() -> Mapping[str, FullSizeVerdict]:
    """The verdicts at the sizes of the paper, by the name of the claim.

    Examples
    --------
    >>> verdicts = full_size_verdicts()
    >>> verdicts["relu-coefficient"].verdict, verdicts["relu-coefficient"].in_words
    ('differs', '0.998558')
    """
    kept = json.loads(files("dendrocap.reproduction").joinpath(FILE).read_text(encoding="utf-8"))
    return {
        name: FullSizeVerdict(
            math.nan if one["value"] is None else one["value"],
            math.nan if one["error"] is None else one["error"],
            one["verdict"],
            one["note"],
            kept["figures"][one["figure"]]["settings"],
        )
        for name, one in kept["claims"].items()
    }


def contradicts(judged: Judged) -> bool:
    """Whether a verdict and that at full size decide a claim differently; an open verdict contradicts nothing.

    Examples
    --------
    >>> from dendrocap.reproduction import Measured, judge, paper_claims
    >>> slope = next(claim for claim in paper_claims() if claim.id == "saturating-slope")
    >>> contradicts(judge(slope, Measured(3.5182))), contradicts(judge(slope, Measured(4.0)))
    (False, True)
    """
    full = full_size_verdicts().get(judged.claim.id)
    if full is None or {judged.verdict, full.verdict} - set(DECIDED):
        return False
    return (judged.verdict == REPRODUCED) != (full.verdict == REPRODUCED)
