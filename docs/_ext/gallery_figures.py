"""How the gallery takes up figures: whatever a script calls ``figure``, in the style of the package.

The package's own functions return figures that pyplot does not know, so the usual way of collecting open windows would
miss them. Every picture gets words for those who do not see it: what the script says it is, then axes and lines.
"""

from __future__ import annotations

import ast
import re
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import figure_rst

from dendrocap.figures.style import house_style

SCRIPTS = Path(__file__).parents[1] / "gallery"


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
    title, _ = introduction(Path(block_vars["src_file"]))
    return str(figure_rst([path], gallery_conf["src_dir"], f"{title}. {described(figure)}"))


def introduction(script: Path) -> tuple[str, str]:
    """The title of a script and the first sentence below it, in plain words."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    title, _, rest = text.strip().partition("\n")
    words = " ".join(rest.lstrip("=\n ").split())
    words = re.sub(r":\w+:`([^<`]*?)\s*(?:<[^>]*>)?`", r"\1", words).replace("``", "")
    return title, re.split(r"\. (?=[A-Z:])", words)[0].rstrip(".:") + "."


def described(figure: Figure) -> str:
    """What is drawn against what, panel by panel, with the names of the lines."""
    panels, named = [], {}
    for axes in figure.axes:
        x, y, title = (plain(text) for text in (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()))
        y = y or next((plain(other.get_ylabel()) for other in figure.axes if other.get_ylabel()), "")
        if x or title:
            drawn = f"{y} against {x}" if x and y else x or title
            panels.append(f"{title}: {drawn}" if title and drawn != title else drawn)
        for text in axes.get_legend_handles_labels()[1]:
            named[plain(text)] = None
    for legend in figure.legends:
        named |= dict.fromkeys(plain(text.get_text()) for text in legend.get_texts())
    lines = f" Lines and marks: {'; '.join(named)}." if named else ""
    return f"{'; '.join(dict.fromkeys(panels))}.{lines}"


def plain(text: str) -> str:
    """A label without its TeX."""
    text = re.sub(r"\\(?:mathrm|text|hat|min)\b", lambda word: "min" if word[0] == r"\min" else "", text)
    text = re.sub(
        r"\\([A-Za-z]+)", lambda word: unescape(f"&{word[1]};").strip("&;"), text
    )  # HTML knows the Greek letters
    return " ".join(re.sub(r"[${}\\]", "", text).split())


def _name_thumbnails(app: Sphinx, doctree: nodes.document) -> None:
    """Thumbnails come without words; theirs are the first words of their scripts."""
    scripts = {script.stem: script for script in SCRIPTS.rglob("*.py")}
    for image in doctree.findall(nodes.image):
        found = re.search(r"sphx_glr_(\w+)_thumb\.", image["uri"])
        if found and not image.get("alt", "").strip():
            image["alt"] = " ".join(introduction(scripts[found[1]]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Work on the pages of the gallery as they are read."""
    app.connect("doctree-read", _name_thumbnails)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
