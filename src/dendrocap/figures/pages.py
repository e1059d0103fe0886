"""Reports: self-contained HTML pages, made from the templates of the package."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dendrocap.figures.style import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Section(NamedTuple):
    """A part of a report, with optional text, table and figure."""

    heading: str
    text: str = ""
    rows: Sequence[Mapping[str, str]] = ()
    figure: Figure | None = None


def page(template: str, **content: Any) -> str:
    """The page that ``templates/TEMPLATE.html`` makes of its content; text is escaped, files become part of the page.

    Examples
    --------
    >>> content = dict.fromkeys(("title", "answer", "methods", "numbers", "program"), "") | {"lights": {}}
    >>> "<p>none, &lt;yet&gt;</p>" in page("lab_report", sections=[Section("Inputs", "none, <yet>")], **content)
    True
    """
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("dendrocap.figures"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"embedded": embedded, "picture": picture}
    return templates.get_template(f"{template}.html").render(content)


def embedded(content: bytes | Path, kind: str) -> str:
    """The address of a file that holds the file itself."""
    content = content.read_bytes() if isinstance(content, Path) else content
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def picture(figure: Figure) -> str:
    """A figure as such an address."""
    content = io.BytesIO()
    save(figure, content, "png")
    return embedded(content.getvalue(), "image/png")
