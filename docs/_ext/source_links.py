"""Links from source pages back to the reference, made right.

Sphinx's viewcode remembers one public name per module, and makes the link of every object in it from that name. Ours
are public under several: `dendrocap.SGD` and `dendrocap.learning.LocalRule` live in one file. The page that a link
leads to is right, and named after its object; the anchor is made again from it.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

BACK = re.compile(r'(class="viewcode-back" href="[^"#]*/)([\w.]+)(\.html#)([\w.]+)"')


def right_anchor(match: re.Match[str]) -> str:
    """The same link, to the object that its page describes or to one of its members."""
    before, page, middle, anchor = match.groups()
    if f"{anchor}.".startswith(f"{page}."):
        return match[0]
    own = page.rpartition(".")[2]
    _, _, member = f".{anchor}.".partition(f".{own}.")
    return f'{before}{page}{middle}{page}{"." + member.rstrip(".") if member else ""}"'


def _repair(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    if pagename.startswith("_modules/") and "body" in context:
        context["body"] = BACK.sub(right_anchor, context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Work on pages as they are written."""
    app.connect("html-page-context", _repair)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
