"""The claims as data, the verdict on each of them when it is measured, and the verdicts at the sizes of the paper.

The claims are in ``claims.toml``, in our own words. No number is compared by hand: a claim names the measurement that
tests it, a figure computes the measurement from its tables, and the verdict follows.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from dendrocap.display import Displayed
from dendrocap.validation import choice

REPRODUCED, DIFFERS, CANNOT = "reproduced", "differs", "cannot be reproduced as printed"
UNDECIDED, NOT_RUN = "not decided", "not run"
DECIDED = (REPRODUCED, DIFFERS, CANNOT)  # verdicts that decide a claim
COMPARISONS = {"equal": "", "above": "> ", "below": "< "}
PAPER, OURS = ORIGINS = ("paper", "ours")
# A simulation decides a claim if it lies this many standard errors away from the border.
STANDARD_ERRORS = 2.0
NEEDS_FULL_SIZE = "only simulations of the paper's size decide this"
# Verdicts at the sizes of the paper, written by `python -m studies.publish` from the tables in docs/results/paper.
FULL_SIZE_FILE = "full_size.json"


@dataclass(frozen=True)
class Claim(Displayed):
    """One statement, of the paper or of ours, in our own words."""

    _displayed = ("id", "figure", "statement", "printed", "comparison")

    id: str
    figure: str  # the figure whose tables contain the measurement
    statement: str
    source: str  # its place in the paper
    printed: float  # the printed number; for a claim without one, the border between true and false
    comparison: str  # required relation of the measurement to it: "equal", "above" or "below"
    measure: str  # name of the measurement
    how: str  # what is measured, and how
    tolerance: float = 0.0  # largest difference that counts as equal; half a unit of the last digit unless explained
    reading: str = ""  # ours if the paper is ambiguous; the verdict applies to it
    needs_full_size: bool = False  # whether only simulations of the paper's size decide it; see claims.toml
    origin: str = PAPER  # claims of ours are not counted among those of the paper

    def __post_init__(self) -> None:
        choice(f"comparison of the claim {self.id}", self.comparison, tuple(COMPARISONS))
        choice(f"origin of the claim {self.id}", self.origin, ORIGINS)

    @property
    def expectation(self) -> str:
        """The printed number with its comparison."""
        return f"{COMPARISONS[self.comparison]}{self.printed:.6g}"


@dataclass(frozen=True)
class Measured(Displayed):
    """Result of a measurement."""

    _displayed = ("value", "error", "note")

    value: float  # NaN if there is nothing to measure, such as a property of solutions if none is found
    error: float = 0.0  # standard error; zero if exact, NaN for a single seed
    reachable: tuple[float, float] | None = None  # over all choices of the parameters that the paper leaves open
    note: str = ""

    @property
    def in_words(self) -> str:
        """The value with its standard error."""
        if math.isnan(self.value):
            return "none"
        return f"{self.value:.6g} ± {self.error:.2g}" if self.error > 0.0 else f"{self.value:.6g}"


@dataclass(frozen=True)
class Judged(Displayed):
    """A claim, its measurement if there is one, and the verdict."""

    _displayed = ("verdict", "value", "note")

    claim: Claim
    measured: Measured | None
    verdict: str
    note: str

    @property
    def value(self) -> str:
        """The measured number with its standard error."""
        return "none" if self.measured is None else self.measured.in_words

    @property
    def in_words(self) -> str:
        """The verdict, with the reading to which it applies."""
        return f"{self.verdict}, {self.claim.reading}" if self.claim.reading else self.verdict

    @property
    def contradicts_full_size(self) -> bool:
        """Whether the verdict at full size decides the claim differently; an open verdict contradicts nothing."""
        full = full_size_verdicts().get(self.claim.id)
        if full is None or {self.verdict, full.verdict} - set(DECIDED):
            return False
        return (self.verdict == REPRODUCED) != (full.verdict == REPRODUCED)


def judge(claim: Claim, measured: Measured | None, missing: str = "", *, full_size: bool = True) -> Judged:
    """The verdict on a claim.

    ``missing`` is the reason if it was not measured. A claim that needs ``full_size`` stays open in a smaller run.

    Examples
    --------
    >>> from dataclasses import replace
    >>> claim = Claim("a", "fig9", "Slope.", "App. D", 3.518, "equal", "slope", "Exact limit.", 0.0005)
    >>> judge(claim, Measured(3.51820)).verdict, judge(claim, Measured(16.3)).verdict
    ('reproduced', 'differs')
    >>> judge(claim, Measured(3.6, reachable=(3.55, 3.7))).verdict
    'cannot be reproduced as printed'
    >>> judge(claim, Measured(3.6, error=0.05)).verdict
    'not decided'
    >>> judge(replace(claim, needs_full_size=True), Measured(16.3), full_size=False).verdict
    'not decided'
    """
    if measured is None:
        return Judged(claim, None, NOT_RUN, missing)
    if claim.needs_full_size and not full_size:
        return Judged(claim, measured, UNDECIDED, f"{NEEDS_FULL_SIZE}; {measured.note}".rstrip("; "))
    if math.isnan(measured.value):
        return Judged(claim, measured, CANNOT, measured.note)
    if math.isnan(measured.error):
        return Judged(claim, measured, UNDECIDED, f"a single seed has no standard error; {measured.note}".rstrip("; "))
    slack = STANDARD_ERRORS * measured.error
    # Distance of the measurement from the border of the claim's region; negative outside.
    inside = {
        "equal": claim.tolerance - abs(measured.value - claim.printed),
        "above": measured.value - claim.printed,
        "below": claim.printed - measured.value,
    }[claim.comparison]
    if claim.comparison == "equal":
        inside = 0.0 if abs(inside) < 1e-12 else inside  # 0.76 against 0.755 + 0.005
        verdict = REPRODUCED if inside >= slack else UNDECIDED if inside >= -slack else DIFFERS
    else:
        verdict = REPRODUCED if inside > slack else UNDECIDED if inside >= -slack and slack > 0.0 else DIFFERS
    if verdict == DIFFERS and measured.reachable is not None:
        low, high = measured.reachable
        if not low - claim.tolerance <= claim.printed <= high + claim.tolerance:
            verdict = CANNOT
    return Judged(claim, measured, verdict, measured.note)


@cache
def all_claims() -> tuple[Claim, ...]:
    """All claims of ``claims.toml``, the paper's and ours."""
    text = files("dendrocap.reproduction").joinpath("claims.toml").read_text(encoding="utf-8")
    return tuple(Claim(**entry) for entry in tomllib.loads(text)["claim"])


def paper_claims() -> tuple[Claim, ...]:
    """The claims of the paper, in the order of the figures.

    Examples
    --------
    >>> {claim.figure for claim in paper_claims()} >= {"fig2a", "fig3", "fig9"}
    True
    """
    return tuple(claim for claim in all_claims() if claim.origin == PAPER)


@dataclass(frozen=True)
class FullSizeVerdict(Measured):
    """The measurement of a claim at the sizes of the paper, NaN if there is none, its verdict, and those sizes."""

    _displayed = ("verdict", "in_words", "settings")

    verdict: str = ""
    settings: str = ""


@cache
def full_size_verdicts() -> Mapping[str, FullSizeVerdict]:
    """The verdicts at the sizes of the paper, by the name of the claim.

    Examples
    --------
    >>> verdicts = full_size_verdicts()
    >>> verdicts["relu-coefficient"].verdict, verdicts["relu-coefficient"].in_words
    ('differs', '0.998558')
    """
    kept = json.loads(files("dendrocap.reproduction").joinpath(FULL_SIZE_FILE).read_text(encoding="utf-8"))
    found = {}
    for name, one in kept["claims"].items():
        value, error = (math.nan if one[key] is None else one[key] for key in ("value", "error"))
        settings = kept["figures"][one["figure"]]["settings"]
        found[name] = FullSizeVerdict(value, error, note=one["note"], verdict=one["verdict"], settings=settings)
    return found
