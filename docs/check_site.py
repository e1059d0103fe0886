"""Every link inside the built site leads somewhere, pictures have words, nothing is loaded from elsewhere.

    python docs/check_site.py docs/_build/html

For each page: the file behind every relative ``href`` and ``src`` exists, the anchor after ``#`` is an id there, every
picture has an alternative text of at least three words, which no file name is, and no script, style sheet, image or
font comes from another host. Ends with 1 and a list if anything is wrong.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """The anchors, the links and the pictures of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, bool]] = []  # target, and whether the browser loads it with the page
        self.pictures: list[tuple[str, str]] = []  # source and alternative text
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect ids, links, sources and pictures."""
        values = {name: value for name, value in attrs if value is not None}
        if tag == "img":
            self.pictures.append((values.get("src", ""), values.get("alt", "")))
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        # rel=canonical and the like name an address; they load nothing
        loads = tag != "link" or "stylesheet" in values.get("rel", "") or "icon" in values.get("rel", "")
        for name in ("href", "src"):
            if name in values:
                self.links.append((values[name], (tag, name) in LOADED and loads))


def problems(root: Path) -> list[str]:
    """What is wrong with the site below ``root``, one line each."""
    # what lies under _static are assets, a template of the theme among them
    files = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.relative_to(root).parts]
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in files}
    found = []
    for path, page in pages.items():
        where = path.relative_to(root.resolve())
        for source, words in page.pictures:
            if len(words.split()) < 3:
                found.append(f"{where}: {source[:80]} has no words for those who do not see it: {words[:80]!r}")
        for target, loaded in page.links:
            parts = urlsplit(target)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if loaded:
                    found.append(f"{where}: loads {target} from elsewhere")
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if goal.is_dir():
                goal /= "index.html"
            if not goal.is_file():
                found.append(f"{where}: {target} leads nowhere")
            elif parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].ids:
                found.append(f"{where}: {target} has no such anchor")
    for sheet in sorted(root.rglob("*.css")):
        for address in re.findall(r"(?:url\(|@import\s+)[\"']?(https?:|//)[^)\"']*", sheet.read_text(encoding="utf-8")):
            found.append(f"{sheet.relative_to(root)}: loads {address} from elsewhere")
    return found


def main() -> int:
    """Print what is wrong and say whether anything is."""
    root = Path(sys.argv[1])
    pages = len(list(root.rglob("*.html")))
    if not pages:
        print(f"{root} holds no pages", file=sys.stderr)
        return 1
    wrong = problems(root)
    print(
        "\n".join(wrong)
        or f"{pages} pages: links lead somewhere, pictures have words, nothing is loaded from elsewhere"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
