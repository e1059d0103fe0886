"""A printable report of measurements: one self-contained HTML page, or a PDF."""

from __future__ import annotations

import base64
import io
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dendrocap.figures.style import house_style, save
from dendrocap.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dendrocap.answers.validity import Flag

__all__ = ["CITATION", "LabReport", "Section"]

CITATION = (
    "C. Lauditi, E. M. Malatesta, F. Pittorino, C. Baldassi, N. Brunel, R. Zecchina, Impact "
    "of dendritic non-linearities on the computational capabilities of neurons, arXiv:2407.07572"
)
LIGHTS = {"good": "#00694e", "caution": "#b36b00", "bad": "#a8301c"}
STYLE = """
body { margin: 0 auto; max-width: 50rem; padding: 1rem; color: #1b1b1b; background: #fff }
body { font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem; border-top: 1px solid #d7d7d7; padding-top: .7rem }
.answer { font-size: 1.1rem; padding: .6rem .9rem; border-left: 4px solid #0060a8; background: #f3f7fb }
img { display: block; max-width: 100%; margin: 1rem 0 } table { border-collapse: collapse; margin: .7rem 0 }
th, td { text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #e2e2e2 }
td { font-variant-numeric: tabular-nums }
pre { font-size: .75rem; overflow-x: auto; background: #f6f6f6; padding: .7rem }
.light { color: #fff; border-radius: 3px; padding: 0 .5rem; font-size: .8rem; white-space: nowrap }
@media print { h2, img, table { break-inside: avoid } details { display: none } body { font-size: 11px } }
"""


@dataclass(frozen=True)
class Section:
    """A part of a report, with optional text, tables and figure."""

    heading: str
    text: str = ""
    rows: Sequence[Mapping[str, str]] = ()
    figure: Figure | None = None


@dataclass(frozen=True)
class LabReport:
    """A report of measurements, the results that follow from them, and their validity.

    Parameters
    ----------
    title, answer : str
        The heading, and the answer in one sentence.
    sections : sequence of Section
        Inputs, fits and cells.
    lights : mapping of str to Flag
        Validity of the assumptions behind the answer.
    methods : str
        A paragraph that can be copied into a paper.
    numbers : mapping
        All numbers, written as JSON.
    program : str
        Name and version of the program.

    Examples
    --------
    >>> import tempfile
    >>> parts = [Section("Inputs", "none")]
    >>> report = LabReport("A cell", "7.2 patterns per synapse", parts, {}, "None.", {"alpha_c": 7.2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write(Path(folder, "report.html"))
    ...     "7.2 patterns" in Path(folder, "report.html").read_text()
    True
    """

    title: str
    answer: str
    sections: Sequence[Section]
    lights: Mapping[str, Flag]
    methods: str
    numbers: Mapping[str, Any] = field(repr=False)
    program: str = "dendrocap"

    def write(self, path: Path) -> None:
        """Write the report as HTML or PDF, according to the suffix of the file."""
        write_file(path, self.pdf() if path.suffix.lower() == ".pdf" else self.html())

    def html(self) -> str:
        """The report as one self-contained page."""
        parts = [f"<h1>{escape(self.title)}</h1>", f'<p class="answer">{escape(self.answer)}</p>']
        for section in self.sections:
            parts.append(f"<h2>{escape(section.heading)}</h2>")
            parts += [f"<p>{escape(line)}</p>" for line in section.text.splitlines() if line]
            if section.rows:
                parts.append(_table(section.rows))
            if section.figure is not None:
                parts.append(_picture(section.figure, section.heading))
        if self.lights:
            rows = "".join(
                f'<tr><td><span class="light" style="background:{LIGHTS[flag.light]}">{flag.light}</span></td>'
                f"<td>{escape(name)}</td><td>{escape(flag.words)}</td></tr>"
                for name, flag in self.lights.items()
            )
            parts.append(f"<h2>Validity</h2><table>{rows}</table>")
        parts.append(f"<h2>Methods</h2><p>{escape(self.methods)}</p><p>{escape(self.program)}; {escape(CITATION)}</p>")
        numbers = json.dumps(self.numbers, indent=1, ensure_ascii=False)
        parts.append(f"<details><summary>All numbers as JSON</summary><pre>{escape(numbers)}</pre></details>")
        head = f'<meta charset="utf-8"><title>{escape(self.title)}</title><style>{STYLE}</style>'
        body = "\n".join(parts)
        return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'

    def pdf(self) -> bytes:
        """The report as PDF pages: text and tables, then the figures; the numbers are stored as keywords."""
        from matplotlib.backends.backend_pdf import PdfPages

        content = io.BytesIO()
        information = {"Title": self.title, "Keywords": json.dumps(self.numbers), "Creator": self.program}
        with house_style(), PdfPages(content, metadata=information) as pages:
            for page in _pages(self._lines()):
                pages.savefig(page)
            for section in self.sections:
                if section.figure is not None:
                    pages.savefig(section.figure)
        return content.getvalue()

    def _lines(self) -> list[tuple[str, bool]]:
        """The report as lines of text, with headings marked."""
        lines = [(self.title, True), *_wrapped(self.answer)]
        for section in self.sections:
            lines += [("", False), (section.heading, True)]
            for line in section.text.splitlines():
                lines += _wrapped(line)
            lines += [(line, False) for line in _columns(section.rows)]
        if self.lights:
            lines += [("", False), ("Validity", True)]
            for name, flag in self.lights.items():
                lines += _wrapped(f"[{flag.light}] {name}: {flag.words}")
        lines += [
            ("", False),
            ("Methods", True),
            *_wrapped(self.methods),
            ("", False),
            *_wrapped(f"{self.program}; {CITATION}"),
        ]
        return lines


def _wrapped(text: str) -> list[tuple[str, bool]]:
    return [(line, False) for line in textwrap.wrap(text, 100)] or [("", False)]


def _columns(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Rows as lines of fixed-width text."""
    if not rows:
        return []
    names = list(rows[0])
    widths = [max(len(name), *(len(str(row[name])) for row in rows)) for name in names]
    head = "  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True))
    body = ["  ".join(str(row[n]).ljust(w) for n, w in zip(names, widths, strict=True)) for row in rows]
    return [head, "-" * len(head), *body]


def _pages(lines: Sequence[tuple[str, bool]]) -> list[Figure]:
    """Lines of text on A4 pages."""
    from matplotlib.figure import Figure

    per_page, pages = 72, []
    for start in range(0, len(lines), per_page):
        page = Figure(figsize=(8.27, 11.69))
        for number, (line, heading) in enumerate(lines[start : start + per_page]):
            weight = "bold" if heading else "normal"
            page.text(
                0.08, 0.95 - 0.0125 * number, line, family="monospace", fontsize=8.0, weight=weight, parse_math=False
            )
        pages.append(page)
    return pages


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row.values()) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _picture(figure: Figure, words: str) -> str:
    content = io.BytesIO()
    save(figure, content, "png")
    data = base64.b64encode(content.getvalue()).decode("ascii")
    return f'<img alt="{escape(words)}" src="data:image/png;base64,{data}">'
