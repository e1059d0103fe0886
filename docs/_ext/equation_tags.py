"""Links between formulas and code.

A tag such as [cap-load], wherever it stands in a page or a docstring, leads to its row in the table of equations; the
row leads to the code, and to the numbered formula in the theory guide if there is one; a formula whose label is a tag
is followed by the functions that implement it.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from equation_table import TAG, code_by_tag, find_code
from sphinx.application import Sphinx

PAGE = "equations"
UNTOUCHED = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.reference, nodes.title)


def _anchor(tag: str) -> str:
    # Anchors are case-sensitive in HTML, but [cap-Q] and [rsb-q] stay readable this way
    return f"tag-{tag}"


def _link(text: str, uri: str, *, code: bool = False) -> nodes.reference:
    node = nodes.reference("", "", internal=True, refuri=uri)
    node += nodes.literal(text, text) if code else nodes.Text(text)
    return node


def _code_link(app: Sphinx, docname: str, name: str) -> nodes.Node:
    """The name as a link to its entry in the reference; what is not public has none and stays plain."""
    full, _ = find_code(name)
    objects = app.env.get_domain("py").objects  # type: ignore[attr-defined]
    tried = [full, *(f"{prefix}.{name}" for prefix in ("dendrocap", "dendrocap.theory", "dendrocap.learning"))]
    for candidate in tried:
        if candidate in objects:
            entry = objects[candidate]
            uri = app.builder.get_relative_uri(docname, entry.docname) + "#" + entry.node_id
            return _link(name, uri, code=True)
    return nodes.literal(name, name)


def _link_tags(app: Sphinx, doctree: nodes.document, docname: str, tags: set[str]) -> None:
    table = app.builder.get_relative_uri(docname, PAGE)
    for text in list(doctree.findall(nodes.Text)):
        found = [match for match in TAG.finditer(text) if match[1] in tags]
        ancestor: Any = text.parent
        while ancestor is not None and not isinstance(ancestor, UNTOUCHED):
            ancestor = ancestor.parent
        if not found or ancestor is not None:
            continue
        pieces: list[nodes.Node] = []
        end = 0
        for match in found:
            pieces += [nodes.Text(text[end : match.start()]), _link(match[0], f"{table}#{_anchor(match[1])}")]
            end = match.end()
        pieces.append(nodes.Text(text[end:]))
        text.parent.replace(text, pieces)


def _complete_table(app: Sphinx, doctree: nodes.document, tags: set[str]) -> None:
    """Anchors for the tags, links from code to the reference, and from tags to numbered formulas."""
    numbered = app.env.get_domain("math").equations  # type: ignore[attr-defined]
    for row in doctree.findall(nodes.row):
        cells = [cell for cell in row.children if isinstance(cell, nodes.entry)]
        own = [tag for tag in TAG.findall(cells[0].astext()) if tag in tags]
        if not own:
            continue
        cells[0]["ids"] += [_anchor(tag) for tag in own]
        cells[0]["classes"].append("equation-tag")
        paragraph = next(iter(cells[0].findall(nodes.paragraph)))
        for tag in own:
            if tag in numbered:
                where, serial = numbered[tag]
                anchor = f"equation-{nodes.make_id(tag)}"
                by_page = app.env.toc_fignumbers.get(where, {}).get("displaymath", {}).get(anchor, (serial,))
                uri = f"{app.builder.get_relative_uri(PAGE, where)}#{anchor}"
                paragraph += [nodes.Text(" "), _link(f"({'.'.join(map(str, by_page))})", uri)]
        for literal in list(cells[-1].findall(nodes.literal)):
            literal.parent.replace(literal, _code_link(app, PAGE, literal.astext()))


def _name_code(app: Sphinx, doctree: nodes.document, docname: str, code: dict[str, tuple[str, ...]]) -> None:
    """Under every formula whose label is a tag, the functions that implement it."""
    table = app.builder.get_relative_uri(docname, PAGE)
    for formula in list(doctree.findall(nodes.math_block)):
        tag = formula.get("label")
        if tag not in code:
            continue
        line = nodes.paragraph("", "", _link(f"[{tag}]", f"{table}#{_anchor(tag)}"), classes=["implemented"])
        for name in code[tag]:
            line += [nodes.Text("  "), _code_link(app, docname, name)]
        formula.parent.insert(formula.parent.index(formula) + 1, line)


def _resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    code = code_by_tag()
    if docname == PAGE:
        _complete_table(app, doctree, set(code))
    else:
        _link_tags(app, doctree, docname, set(code))
    _name_code(app, doctree, docname, code)


def setup(app: Sphinx) -> dict[str, Any]:
    """Work on pages when all of them have been read."""
    app.connect("doctree-resolved", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
