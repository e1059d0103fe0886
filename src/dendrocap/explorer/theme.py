"""Colours of the page and of its plots, light and dark, from the palette of the figures."""

from __future__ import annotations

from dataclasses import dataclass

from dendrocap.figures.style import PALETTE

__all__ = ["DARK", "LIGHT", "Theme"]


@dataclass(frozen=True)
class Theme:
    """What a plot needs to know of the page around it.

    Parameters
    ----------
    background, text, faint : str
        Of the page, of axes and labels, and of guide lines.
    curves : dict
        Colour of each non-linearity, and of the branch inputs ("inputs") and silent synapses ("silent").
    """

    background: str
    text: str
    faint: str
    curves: dict[str, str]


_SHARED = {"inputs": PALETTE["tabulated"], "silent": PALETTE["step"], "learned": PALETTE["custom"]}
LIGHT = Theme("#ffffff", "#1b1b1b", "#767676", PALETTE | _SHARED)
# Black would vanish on a dark page, the blue of ReLU, the wine of a measured curve and violet nearly so: lighter
# colours stand in.
DARK = Theme(
    "#15181c",
    "#e8e6e3",
    "#9a9a9a",
    PALETTE | _SHARED | {"linear": "#e8e6e3", "relu": "#56B4E9", "smooth": "#F0E442", "piecewise_linear": "#9A86FF"},
)
