"""One look for all figures: palette, fonts, sizes, and how they are saved."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLUMN_WIDTH", "LABELS", "PALETTE", "footnote", "house_style", "save"]

# Okabe and Ito's colours, distinguishable with any colour vision; one per non-linearity, the same in all figures.
PALETTE = {
    "polsky": "#D55E00",
    "relu": "#0072B2",
    "saturating_relu": "#E69F00",
    "step": "#CC79A7",
    "linear": "#000000",
    "tabulated": "#009E73",
    "custom": "#56B4E9",
}

LABELS = {
    "polsky": "Polsky",
    "relu": "ReLU",
    "saturating_relu": "saturating ReLU",
    "step": "step",
    "linear": "linear",
    "tabulated": "measured curve",
    "custom": "custom",
}

COLUMN_WIDTH = 3.4  # inches, one column of a two-column page


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib settings that hold while a figure is built."""
    import matplotlib as mpl

    settings: dict[Any, Any] = {
        "font.size": 8.0,
        "axes.labelsize": 9.0,
        "axes.titlesize": 9.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "legend.fontsize": 7.5,
        "lines.linewidth": 1.5,
        "pdf.fonttype": 42,  # text stays text in PDF and SVG
        "svg.fonttype": "none",
        "svg.hashsalt": "dendrocap",  # the same figure gives the same file
    }
    with mpl.rc_context(settings):
        yield


def footnote(figure: Figure, text: str) -> None:
    """Small print below a figure that is not drawn yet: how large its simulations were."""
    figure.supxlabel(text, fontsize=6.5, x=0.01, ha="left", color="0.35")


def save(figure: Figure, target: Path | IO[bytes], suffix: str | None = None) -> None:
    """Write a figure at 150 dpi, in the format that its name, or for a stream the ``suffix``, asks for."""
    # Fonts embedded in a PDF file carry dates that their own library complains about.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    with house_style():
        figure.savefig(target, dpi=150, format=suffix)
