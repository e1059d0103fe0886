"""The figures of the paper in order, and their selection by name."""

from __future__ import annotations

from collections.abc import Sequence

from dendrocap.errors import InvalidParameter
from dendrocap.reproduction import (
    fig01,
    fig02,
    fig03,
    fig04,
    fig05,
    fig06,
    fig07,
    fig08,
    fig09,
    fig10,
    learned_weights,
)
from dendrocap.reproduction.paper_figure import PaperFigure

__all__ = ["FIGURES", "selected"]

FIGURES: tuple[PaperFigure, ...] = (
    fig01.FIGURE,
    *fig02.FIGURES,
    fig03.FIGURE,
    fig04.FIGURE,
    fig05.FIGURE,
    fig06.FIGURE,
    fig07.FIGURE,
    fig08.FIGURE,
    fig09.FIGURE,
    fig10.FIGURE,
    learned_weights.FIGURE,
)


def selected(names: Sequence[str]) -> tuple[PaperFigure, ...]:
    """The figures with these names, aliases or numbers, in the order of the paper; a number selects all its panels.

    Examples
    --------
    >>> [figure.name for figure in selected(["2", "speed", "fig9"])]
    ['fig2a', 'fig2b', 'fig2c', 'fig2d', 'fig4', 'fig9']
    """
    if not names:
        return FIGURES
    wanted: set[str] = set()
    for text in names:
        word = text.strip().lower()
        number = word.removeprefix("fig").removeprefix(".").strip()
        found = {f.name for f in FIGURES if word in (f.name, f.alias) or f.name == f"fig{number}"}
        if not found and number.isdecimal():
            found = {f.name for f in FIGURES if f.name.removeprefix(f"fig{number}") in ("a", "b", "c", "d")}
        if not found:
            known = ", ".join(f"{figure.name} ({figure.alias})" for figure in FIGURES)
            raise InvalidParameter(f"there is no figure {text!r}: choose among {known}")
        wanted |= found
    return tuple(figure for figure in FIGURES if figure.name in wanted)
