"""The directive ``stored-table``: a table of `studies.pages`, made from the stored results when the site is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class StoredTable(SphinxDirective):
    """Its argument is a name in `studies.pages.TABLES`; one that is not there is an error of the build."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table, read like any other of the page; the page is built again when a stored table changes."""
        from studies import pages, tables

        name = self.arguments[0]
        if name not in pages.TABLES:
            raise self.error(f"{name} is no table of studies/pages.py")
        for path in Path(tables.__file__).parent.glob("*.csv"):
            self.env.note_dependency(str(path))
        holder = nodes.Element()
        self.state.nested_parse(StringList(pages.TABLES[name](), source=name), 0, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("stored-table", StoredTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
