"""What holds of the paper: its ten headline claims on one page, with verdicts, numbers and pictures of stored tables.

Usage: python -m studies.what_holds [write,page]

``write`` writes docs/what_holds.md and the pictures in docs/images/what_holds, after `python -m studies.numbers`;
``page`` prints the text. The claims are in what_holds.toml; ``tests/documentation`` holds the page to the tables.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dendrocap.display import with_digits, with_error
from dendrocap.errors import DendrocapError
from dendrocap.figures.style import save
from dendrocap.files import write_file
from dendrocap.reproduction import Claim, Judged, Measured, judge
from dendrocap.reproduction.claims import CANNOT, DIFFERS, NOT_RUN, REPRODUCED, UNDECIDED
from studies import numbers as sources
from studies.numbers import Number
from studies.tables import IMAGES, ROOT

PAGE = ROOT / "docs" / "what_holds.md"
CLAIMS = Path(__file__).with_suffix(".toml")
PICTURES = IMAGES / "what_holds"
HOLDS, IN_PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "not decided"
MARKS = {REPRODUCED: "✓", DIFFERS: "✗", CANNOT: "∅", UNDECIDED: "?", NOT_RUN: "…"}
ANY = "any"  # a verdict that an explanation does not rest on
SLOT = re.compile(r"\{(?P<name>[^}:]+)(?::(?P<form>%|\d))?\}")


@dataclass(frozen=True)
class Headline:
    """One of the paper's headline claims: its parts, each read in one way, and what the page says about it."""

    name: str
    title: str
    number: str
    parts: Sequence[Mapping[str, Any]]
    why: str
    written_for: Sequence[str]
    alt: str


@cache
def _toml() -> dict[str, Any]:
    return tomllib.loads(CLAIMS.read_text(encoding="utf-8"))


def headlines() -> list[Headline]:
    """The ten claims, in the order of the page."""
    return [Headline(**entry) for entry in _toml()["headline"]]


def verdicts(numbers: Mapping[str, Number]) -> dict[str, Judged]:
    """What became of every claim of the paper, and of those that need tables beyond its figures."""
    ours = [Claim(**entry) for entry in _toml()["claim"]]
    measured = {claim: Measured(numbers[claim.measure].value, numbers[claim.measure].error) for claim in ours}
    judged = [*sources.reproduction().judged, *(judge(claim, found) for claim, found in measured.items())]
    return {one.claim.id: one for one in judged}


def overall(found: Sequence[str]) -> str:
    """One word for a headline, from the verdicts on its parts.

    >>> overall(["reproduced", "differs"]), overall(["differs"]), overall(["reproduced"])
    ('holds in part', 'does not hold', 'holds')
    """
    kinds = Counter(found)
    if kinds[REPRODUCED] == len(found):
        return HOLDS
    if kinds[REPRODUCED]:
        return IN_PART
    return FAILS if kinds[DIFFERS] or kinds[CANNOT] else OPEN


def filled(text: str, numbers: Mapping[str, Number]) -> str:
    """A sentence with its numbers: as printed, in so many digits, or in per cent."""

    def said(match: re.Match[str]) -> str:
        one, form = numbers[match["name"]], match["form"]
        if form == "%":
            value, error = 100.0 * one.value, 100.0 * one.error
            text = f"{with_error(value, error) if error else with_digits(value, 3)} %"
        else:
            text = with_digits(one.value, int(form)) if form else one.printed
        return text.replace("-", sources.MINUS)

    return SLOT.sub(said, text)


def page() -> str:
    """The text of the page."""
    numbers = sources.collect()
    judged = verdicts(numbers)
    ten = headlines()
    words = {
        one.name: overall([judged[part["claim"]].verdict for part in one.parts if not part.get("calculation")])
        for one in ten
    }
    total = Counter(words.values())
    counted = ", ".join(
        f"{total[word]} {_plural(word, total[word])}" for word in (HOLDS, IN_PART, FAILS, OPEN) if total[word]
    )
    claims = [
        f"{numbers[f'claims {verdict}'].printed} {mark} {verdict}"
        for verdict, mark in MARKS.items()
        if numbers[f"claims {verdict}"].value
    ]
    lines = [
        "# What holds of the paper?",
        "",
        f"**Of the paper's ten headline claims {counted}.** Of all {numbers['claims'].printed} statements tested at "
        f"full size {', '.join(claims)} ([all of them](results/paper/report.md)).",
        "",
        "Polsky dendrites, θ_d = θ_s = ½, 999 synapses on 27 branches, unless a line says otherwise. Solid lines: "
        "replica symmetric, the paper's theory. Dashed: broken symmetry. Diamonds: best estimates. Other markers: "
        "learned.",
    ]
    for place, one in enumerate(ten, 1):
        lines += ["", *_section(place, one, words[one.name], judged, numbers)]
    lines += [
        "",
        "---",
        "",
        "Written by `python -m studies.what_holds` from the [stored tables](reproduction.md#full-size-results), from "
        "which all [verdicts](reproduction.md#verdicts) follow. That a calculation of the paper is correct does not "
        "decide whether neurons behave accordingly. Numbers without ± follow from equations or are counts.",
    ]
    return "\n".join(lines) + "\n"


def _plural(word: str, count: int) -> str:
    singular = {HOLDS: "holds", IN_PART: "holds in part", FAILS: "does not hold", OPEN: "is not decided"}
    several = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold", OPEN: "are not decided"}
    return (singular if count == 1 else several)[word]


def _section(
    place: int, one: Headline, word: str, judged: Mapping[str, Judged], numbers: Mapping[str, Number]
) -> list[str]:
    found = [judged[part["claim"]].verdict for part in one.parts]
    not_run = NOT_RUN in found
    if not not_run and any(wanted not in (its, ANY) for wanted, its in zip(one.written_for, found, strict=True)):
        raise DendrocapError(
            f"{CLAIMS.name}: `why` of {one.name!r} explains the verdicts {list(one.written_for)}, "
            f"the tables give {found}; write it for these"
        )
    pairs = list(zip(one.parts, found, strict=True))
    decided, repeated = (
        _marks([(part, verdict) for part, verdict in pairs if bool(part.get("calculation")) is calculation])
        for calculation in (False, True)
    )
    text = (
        ["Not measured at full size yet."]
        if not_run
        else [
            f"![{filled(one.alt, numbers)}](images/{PICTURES.name}/{one.name}.png)",
            "",
            f"{filled(one.number, numbers)} {filled(one.why, numbers)}",
        ]
    )
    return [
        f"## {place}. {one.title}: {word}",
        "",
        *text,
        "",
        decided + (f" (the paper's calculation: {repeated})" if repeated else ""),
    ]


def _marks(pairs: Sequence[tuple[Mapping[str, Any], str]]) -> str:
    """Readings with the marks of their verdicts; those of a group stand together behind its name."""
    groups: dict[str, list[str]] = {}
    for part, verdict in pairs:
        groups.setdefault(part.get("group", part["reading"]), []).append(
            f"{MARKS[verdict]}\N{NO-BREAK SPACE}{part['reading']}"
        )
    named = {part["group"] for part, _ in pairs if "group" in part}
    return " · ".join((f"{name}: " if name in named else "") + ", ".join(marks) for name, marks in groups.items())


def write() -> None:
    """The page and its pictures."""
    from studies.what_holds_pictures import PICTURES as DRAWN

    write_file(PAGE, page())
    PICTURES.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        if f"/{name}.png)" in PAGE.read_text(encoding="utf-8"):
            save(draw(), PICTURES / f"{name}.png")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("write", "page"), nargs="?", default="write")
    if parser.parse_args().part == "write":
        write()
    else:
        print(page())


if __name__ == "__main__":
    main()
