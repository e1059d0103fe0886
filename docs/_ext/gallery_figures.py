"""How the gallery takes up figures: whatever a script calls ``figure``, in the style of the package.

The package's own functions return figures that pyplot does not know, so the usual way of collecting open windows would
miss them.
"""

from __future__ import annotations

from typing import Any

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

from dendrocap.figures.style import house_style


def house_style_on(gallery_conf: dict[str, Any], fname: str) -> None:
    """Before each script: no open figures, and the look of the package's figures."""
    plt.close("all")
    plt.rcdefaults()
    with house_style():
        settings = dict(plt.rcParams)
    plt.rcParams.update(settings)


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure that this block of a script made."""
    names = block_vars["example_globals"]
    figure = names.pop("figure", None)
    if not isinstance(figure, Figure):
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=180)
    return str(figure_rst([path], gallery_conf["src_dir"]))
