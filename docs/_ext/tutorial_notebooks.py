"""Tutorials as notebooks: each page of docs/learn that runs is written beside itself as .ipynb, with a link to it.

The cells are those of the page, without outputs. Links to other pages of the site become plain words, since a notebook
leaves the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from sphinx.application import Sphinx

FOLDER = "learn/"
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
INSTALL = "*This notebook needs dendrocap and Jupyter: in a clone of its repository, `pip install . jupyterlab`.*"


def notebook(page: Path) -> nbformat.NotebookNode | None:
    """The notebook of a page, or None if the page is not run."""
    text = page.read_text(encoding="utf-8")
    if not is_myst_markdown_notebook(text):
        return None
    found = read_myst_markdown_notebook(text)
    found.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    for number, cell in enumerate(found.cells):
        cell.metadata = nbformat.from_dict({})
        cell["id"] = f"{page.stem.replace('_', '-')}-{number}"  # the same in every build
        if cell.cell_type == "markdown":
            cell.source = plain_links(cell.source)
    found.cells[0].source += f"\n\n{INSTALL}"
    return found


def plain_links(text: str) -> str:
    """Markdown without links into the site and without roles."""
    text = re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
    return re.sub(r"\{\w+\}`([^`<]*?)\s*(?:<[^`]*)?`", r"\1", text)


def _offer(app: Sphinx, doctree: nodes.document) -> None:
    """A line with the download below the title of a tutorial."""
    docname = app.env.docname
    if not docname.startswith(FOLDER) or notebook(Path(app.env.doc2path(docname))) is None:
        return
    name = docname.removeprefix(FOLDER) + ".ipynb"
    link = nodes.reference("", "Download this page as a notebook", refuri=name, internal=True)
    title = next(iter(doctree.findall(nodes.title)))
    title.parent.insert(title.parent.index(title) + 1, nodes.paragraph("", "", link, classes=["notebook-download"]))


def _write(app: Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        for page in sorted(Path(app.srcdir, FOLDER).glob("*.md")):
            if (made := notebook(page)) is not None:
                nbformat.write(made, Path(app.outdir, FOLDER, f"{page.stem}.ipynb"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the notebooks when pages are read, write them when the site is built."""
    app.connect("doctree-read", _offer)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
