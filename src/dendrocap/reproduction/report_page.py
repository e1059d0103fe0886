"""A report of a reproduction: each figure with the claims of the paper, as HTML and as Markdown.

The HTML file is self-contained, with its pictures and data. Both pages depend only on the folder: verdicts are measured
again from the stored tables.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from dendrocap.answers import Capacity, capacity
from dendrocap.files import write_file
from dendrocap.model import DendriticNeuron, NeuronSpec, Polsky
from dendrocap.reproduction.claims import (
    CANNOT,
    DIFFERS,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
    Judged,
    contradicts,
    full_size_verdicts,
)
from dendrocap.reproduction.figure_runner import DONE, FIGURES, MISSING, FigureOutcome, Reproduction
from dendrocap.reproduction.runs import FULL_SIZE, PRESETS, PaperFigure

__all__ = ["markdown_report", "write_report"]

PAPER = (
    "Lauditi, Malatesta, Pittorino, Baldassi, Brunel and Zecchina, "
    "Impact of dendritic non-linearities on the computational capabilities of neurons, arXiv 2407.07572"
)
INTRODUCTION = (
    "Each figure was recomputed and redrawn. Each claim of the paper, in our own words, is listed with our "
    "measurement. Printed numbers are the paper's; measured numbers were computed from the tables behind the figures."
)
BEST = (
    "Capacities and silent fractions of the theory are replica symmetric, the paper's estimate, unless stated "
    "otherwise. The best estimate for a real neuron, N = {n_inputs} synapses on K = {n_branches} branches as in the "
    "paper's simulations, with θ_d = θ_s = 1/2, is {answer}. It is the output of"
)
COMMAND = "dendrocap capacity --theta-d 0.5 --theta-s 0.5 -N {n_inputs} -K {n_branches} --estimates"
VERDICTS = (REPRODUCED, DIFFERS, CANNOT, UNDECIDED, NOT_RUN)
MEANINGS = {
    REPRODUCED: "the measurement agrees with the paper within the stated tolerance",
    DIFFERS: "the measurement disagrees with the paper",
    CANNOT: "no choice of the parameters left open by the paper gives its number, or there is nothing to measure",
    UNDECIDED: "the simulation is too small: the border lies within two standard errors",
    NOT_RUN: "the figure was not made",
}
COLUMNS = ("claim", "printed", "measured", "verdict", "method and remarks")
FULL_COLUMN = "at full size"
NUMBERS = ("printed", "measured", "claims")
SMALL = (
    "This run is smaller than the paper's simulations. Verdicts at full size, from runs stored with the package, are "
    "listed beside its own; a claim that only full size can decide is left open here."
)
CONTRADICTION = "This run contradicts full size in: {claims}. The verdicts at full size take precedence."


def write_report(made: Reproduction) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.md`` into the folder of a reproduction.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap.reproduction import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     html, markdown = write_report(reproduce(["fig2c"], out=folder))
    >>> html.name, markdown.name
    ('report.html', 'report.md')
    """
    html, markdown = made.path("report.html"), made.path("report.md")
    write_file(html, _html(made))
    write_file(markdown, markdown_report(made))
    return html, markdown


@lru_cache(maxsize=1)
def best_estimate() -> Capacity:
    """Capacity of the neuron of the paper's simulations; takes five seconds, once."""
    size = PRESETS["paper"]
    return capacity(DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), size.n_inputs, size.n_branches))


def _best() -> tuple[str, str]:
    """The best estimate as text, and the command that prints it."""
    answer = best_estimate()
    neuron = answer.neuron
    assert isinstance(neuron, DendriticNeuron)
    size = {"n_inputs": neuron.n_inputs, "n_branches": neuron.n_branches}
    return BEST.format(**size, answer=answer.in_words), COMMAND.format(**size)


def _with_figures(made: Reproduction) -> Iterator[tuple[PaperFigure, FigureOutcome, list[Judged]]]:
    for figure, outcome in zip(FIGURES, made.outcomes, strict=True):
        yield figure, outcome, made.claims_of(figure.name)


def _counted(judged: Sequence[Judged]) -> list[tuple[str, int]]:
    counts = [(verdict, sum(one.verdict == verdict for one in judged)) for verdict in VERDICTS]
    return [(verdict, count) for verdict, count in counts if count]


def _summary_head(made: Reproduction) -> tuple[str, ...]:
    return ("verdict", "claims", *([] if made.preset == FULL_SIZE else [FULL_COLUMN]), "meaning")


def _summary(made: Reproduction) -> list[tuple[Any, ...]]:
    """Each verdict with its count, and with that at full size if this run is smaller."""
    own = Counter(judged.verdict for judged in made.judged)
    if made.preset == FULL_SIZE:
        return [(verdict, own[verdict]) for verdict in VERDICTS if own[verdict]]
    full = Counter(one.verdict for one in full_size_verdicts().values())
    return [(verdict, own[verdict], full[verdict]) for verdict in VERDICTS if own[verdict] or full[verdict]]


def _columns(beside: bool) -> tuple[str, ...]:
    return (*COLUMNS[:4], FULL_COLUMN, *COLUMNS[4:]) if beside else COLUMNS


def _full_size(judged: Judged) -> str:
    full = full_size_verdicts()[judged.claim.id]
    return f"{full.verdict}: {full.in_words} ({full.settings})"


def _facts(outcome: FigureOutcome) -> list[str]:
    """Settings and running time of a figure as text."""
    facts = [outcome.settings] if outcome.settings else []
    if outcome.status == DONE:
        facts.append(f"made in {_duration(outcome.seconds)}")
        if outcome.core_seconds:
            facts.append(f"simulations: {_duration(outcome.core_seconds)} of one core")
        facts.append(f"dendrocap {outcome.version}")
    return facts


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"


def _small(made: Reproduction) -> list[str]:
    """Notes for a run that is smaller than full size."""
    if made.preset == FULL_SIZE:
        return []
    against = ", ".join(judged.claim.id for judged in made.judged if contradicts(judged))
    return [SMALL, *([CONTRADICTION.format(claims=against)] if against else [])]


def _beside(made: Reproduction, figure: PaperFigure, outcome: FigureOutcome) -> bool:
    """Whether to list verdicts at full size for a figure; not if it does not depend on the size."""
    return made.preset != FULL_SIZE and outcome.settings != figure.settings(PRESETS[FULL_SIZE])


def _remark(judged: Judged) -> str:
    return f"{judged.claim.how} {judged.note[:1].upper()}{judged.note[1:]}".strip()


# HTML ---------------------------------------------------------------------------------------------------------------


def _html(made: Reproduction) -> str:
    style = files("dendrocap.reproduction").joinpath("report.css").read_text(encoding="utf-8")
    title = f"The paper reproduced, {made.preset} preset"
    summary = "".join(
        _html_row(_summary_head(made), [_badge(verdict), *map(str, counts), MEANINGS[verdict]])
        for verdict, *counts in _summary(made)
    )
    summary = f"<thead><tr>{''.join(f'<th>{word}</th>' for word in _summary_head(made))}</tr></thead>{summary}"
    small = "".join(f"<p class=reason>{escape(words)}</p>\n" for words in _small(made))
    contents = "".join(
        f'<li><a href="#{figure.name}">{figure.name}</a> {escape(figure.title)} '
        f"{' '.join(f'{_badge(verdict)}&nbsp;{count}' for verdict, count in _counted(claims))}</li>"
        for figure, _, claims in _with_figures(made)
    )
    sections = "\n".join(_html_section(made, *entry) for entry in _with_figures(made))
    best, command = _best()
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f"<p>{escape(PAPER)}. {INTRODUCTION}</p>\n"
        f"<p>{escape(best)} <code>{escape(command)}</code>.</p>\n{small}<table class=summary>{summary}</table>\n"
        f"<ul class=contents>{contents}</ul>\n{sections}\n</main>\n</body>\n</html>\n"
    )


def _html_section(made: Reproduction, figure: PaperFigure, outcome: FigureOutcome, claims: Sequence[Judged]) -> str:
    parts = [f'<section id="{figure.name}">', f"<h2>{figure.name}: {escape(figure.title)}</h2>"]
    if outcome.status == DONE:
        picture = base64.b64encode(made.path(f"{figure.name}.png").read_bytes()).decode()
        parts.append(f'<img alt="{escape(figure.title)}" src="data:image/png;base64,{picture}">')
    if outcome.reason and outcome.status != MISSING:
        parts.append(f"<p class=reason><strong>{outcome.status}:</strong> {escape(outcome.reason)}</p>")
    parts.append(f"<p class=facts>{escape('; '.join(_facts(outcome)))}</p>")
    if outcome.status == DONE:
        links = ", ".join(_download(made.path(f"{name}.csv")) for name in outcome.tables)
        parts.append(f"<p class=facts>Data: {links}</p>")
    beside = _beside(made, figure, outcome)
    columns = _columns(beside)
    rows = "".join(_html_row(columns, _html_cells(one, beside)) for one in claims)
    head = "".join(f"<th>{column}</th>" for column in columns)
    parts.append(
        f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )
    return "\n".join(parts)


def _html_cells(judged: Judged, beside: bool) -> list[str]:
    claim = judged.claim
    cells = [
        f"{escape(claim.statement)}<br><small>{escape(claim.source)}</small>",
        escape(claim.expectation),
        escape(judged.value),
        f"{_badge(judged.verdict)}<br><small>{escape(claim.reading)}</small>",
    ]
    if beside:
        full = full_size_verdicts()[claim.id]
        cells.append(f"{_badge(full.verdict)}<br><small>{escape(full.in_words)}; {escape(full.settings)}</small>")
    return [*cells, f"<small>{escape(_remark(judged))}</small>"]


def _html_row(columns: Sequence[str], cells: Sequence[str]) -> str:
    """A row whose cells hold the names of their columns; on a narrow page it becomes a card (report.css)."""
    shown = (
        f'<td data-label="{column}"{" class=number" if column in NUMBERS else ""}>{cell}</td>'
        for column, cell in zip(columns, cells, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"


def _badge(verdict: str) -> str:
    return f'<span class="verdict {verdict.split()[0]}{"-run" if verdict == NOT_RUN else ""}">{verdict}</span>'


def _download(path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<a download="{path.name}" href="data:text/csv;base64,{data}">{path.name}</a>'


# Markdown -----------------------------------------------------------------------------------------------------------


def markdown_report(made: Reproduction) -> str:
    """The report as Markdown."""
    best, command = _best()
    lines = [f"# The paper reproduced, {made.preset} preset", "", f"{PAPER}. {INTRODUCTION}", ""]
    lines += [f"{best} `{command}`.", ""]
    for words in _small(made):
        lines += [words, ""]
    lines += _markdown_table(
        _summary_head(made),
        [(verdict, *map(str, counts), MEANINGS[verdict]) for verdict, *counts in _summary(made)],
    )
    for figure, outcome, claims in _with_figures(made):
        lines += ["", f"## {figure.name}: {figure.title}", ""]
        if outcome.status == DONE:
            lines += [f"![{figure.title}]({figure.name}.png)", ""]
        if outcome.reason and outcome.status != MISSING:
            lines += [f"**{outcome.status}:** {outcome.reason}", ""]
        if facts := _facts(outcome):
            lines += ["; ".join(facts), ""]
        if outcome.status == DONE:
            lines += ["Data: " + ", ".join(f"[{name}.csv]({name}.csv)" for name in outcome.tables), ""]
        beside = _beside(made, figure, outcome)
        lines += _markdown_table(
            _columns(beside),
            [
                (
                    f"{one.claim.statement} ({one.claim.source})",
                    one.claim.expectation,
                    one.value,
                    one.in_words,
                    *([_full_size(one)] if beside else []),
                    _remark(one),
                )
                for one in claims
            ],
        )
    return "\n".join(lines) + "\n"


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *cells)]
