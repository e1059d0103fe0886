"""MathJax from an installed package, copied into the site: formulas are set without a network.

The package sphinx-mathjax-offline carries all of MathJax 3, 30 MB; the pages need one script and its fonts.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.fileutil import copy_asset

PARTS = ("tex-chtml.js", "output/chtml/fonts/woff-v2")


def _package() -> Path:
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("install the documentation's requirements: pip install -e '.[docs]'")
    return Path(found.origin).parent / "static" / "mathjax"


def _copy(app: Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        for part in PARTS:
            source, target = _package() / part, Path(app.outdir) / "_static" / "mathjax" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_asset(source, target if source.is_dir() else target.parent)


def setup(app: Sphinx) -> dict[str, Any]:
    """Point Sphinx at the local copy."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
