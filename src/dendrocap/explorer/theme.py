"""Colours of the page and of its plots, light and dark, from the palette of the figures."""

from __future__ import annotations

from dataclasses import dataclass

from dendrocap.figures.style import PALETTE

__all__ = ["DARK", "LIGHT", "Theme"]


@dataclass(frozen=True)
class Theme:
    """The colours that a plot needs.

    Parameters
    ----------
    background, text, faint : str
        Colours of the page, of axes and labels, and of guide lines.
    curves : dict
        Colour of each non-linearity, and of the branch inputs ("inputs") and silent synapses ("silent").
    """

    background: str
    text: str
    faint: str
    curves: dict[str, str]


_SHARED = {"inputs": PALETTE["tabulated"], "silent": PALETTE["step"], "learned": PALETTE["custom"]}
LIGHT = Theme("#ffffff", "#1b1b1b", "#767676", PALETTE | _SHARED)
# Black, the blue of ReLU, the wine of a measured curve and violet are hardly visible on a dark page: lighter colours
# replace them.
DARK = Theme(
    "#15181c",
    "#e8e6e3",
    "#9a9a9a",
    PALETTE | _SHARED | {"linear": "#e8e6e3", "relu": "#56B4E9", "smooth": "#F0E442", "piecewise_linear": "#9A86FF"},
)
