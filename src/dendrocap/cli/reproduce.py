"""``dendrocap reproduce``: reproduce the figures of the paper and check its claims."""

from __future__ import annotations

import os
import shlex
import sys
import webbrowser
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.completion import figure_names
from dendrocap.cli.output import JsonFlag, emit, message
from dendrocap.cli.workers import Dask, Workers, chosen_executor, progress_bar

if TYPE_CHECKING:
    from dendrocap.reproduction import FigureOutcome, PaperFigure, Reproduction

__all__ = ["reproduce"]


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...", help="fig2a, 2, speed, ...; by default all.", autocompletion=figure_names
        ),
    ] = None,
    preset: Annotated[str, typer.Option(help="quick, or paper for the sizes of the paper.")] = "quick",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for figures, data and report.")] = Path("reproduced"),
    seeds: Annotated[
        int | None, typer.Option(help="Repetitions of each simulation, overriding the preset; can be increased later.")
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List the figures with their running times and exit.")
    ] = False,
    show: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the report; by default when a display is attached.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute and draw the figures of the paper, and check its claims.

    Writes PNG, PDF, SVG and CSV files and one self-contained report. Finished simulations are kept: after Ctrl-C or
    a crash the same command resumes. If one figure fails, the others are still made.

    Example: dendrocap reproduce fig3 fig4 --preset paper --workers 8
    """
    from dendrocap.experiments import Progress
    from dendrocap.reproduction import FIGURES, PRESETS, selected, write_report
    from dendrocap.reproduction import reproduce as make
    from dendrocap.validation import choice

    if listing:
        emit([_listed(figure, PRESETS.values()) for figure in FIGURES], as_json=as_json)
        return
    choice("--preset", preset, tuple(PRESETS))
    selected(figures or ())  # refuse unknown names before anything is computed
    executor = chosen_executor(dask, workers)
    with progress_bar("") as tell:

        def callback(name: str, now: Progress | FigureOutcome) -> None:
            if isinstance(now, Progress):
                tell(now, name)
                return
            reason = f": {now.reason}" if now.reason else ""
            message(f"{name} {now.status} after {now.seconds:.1f} s{reason}")

        made = make(
            figures or (),
            preset=preset,
            out=out,
            seeds=seeds,
            workers=workers,
            executor=executor,
            callback=callback,
        )
    page, _ = write_report(made)
    emit(_claim_rows(made) if as_json else _figure_rows(made), as_json=as_json, title=f"{preset} preset")
    message(f"report: {page}")
    if made.interrupted:
        again = shlex.join(["dendrocap", "reproduce", *(figures or ()), "--preset", preset, "--out", str(out)])
        message(f"interrupted: finished runs are kept; resume with: {again}")
        raise typer.Exit(130)
    if show or (show is None and _has_display()):
        webbrowser.open(page.absolute().as_uri())
    failed = [outcome for outcome in made.outcomes if outcome.status == "failed"]
    for outcome in failed:
        message(f"{outcome.name} failed: {outcome.reason}")
    if failed:
        raise typer.Exit(1)


def _listed(figure: PaperFigure, presets: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"figure": figure.name, "also": figure.alias, "shows": figure.title}
    for preset in presets:
        row |= {
            f"{preset.name} runs": sum(map(len, figure.sweeps(preset))),
            f"{preset.name} minutes": round(figure.minutes[preset.name], 2),
            f"{preset.name} settings": figure.settings(preset),
        }
    return row


def _figure_rows(made: Reproduction) -> list[dict[str, Any]]:
    rows = []
    for outcome in made.outcomes:
        if outcome.status == "not run":
            continue
        claims = ", ".join(f"{count} {verdict}" for verdict, count in _verdicts(made, outcome).items())
        rows.append({"figure": outcome.name, "status": outcome.status, "seconds": outcome.seconds, "claims": claims})
    return rows


def _verdicts(made: Reproduction, outcome: FigureOutcome) -> Counter[str]:
    return Counter(judged.verdict for judged in made.claims_of(outcome.name))


def _claim_rows(made: Reproduction) -> list[dict[str, Any]]:
    from dendrocap.reproduction import full_size_verdicts

    status, full_size = {outcome.name: outcome for outcome in made.outcomes}, full_size_verdicts()
    return [
        {
            "figure": judged.claim.figure,
            "status": status[judged.claim.figure].status,
            "id": judged.claim.id,
            "statement": judged.claim.statement,
            "comparison": judged.claim.comparison,
            "printed": judged.claim.printed,
            "tolerance": judged.claim.tolerance,
            "measured": None if judged.measured is None else judged.measured.value,
            "standard_error": None if judged.measured is None else judged.measured.error,
            "verdict": judged.verdict,
            "reading": judged.claim.reading,
            "full_size_verdict": full_size[judged.claim.id].verdict,
            "full_size_measured": full_size[judged.claim.id].value,
            "note": judged.note,
        }
        for judged in made.judged
    ]


def _has_display() -> bool:
    """Whether a display is attached on which a browser can open."""
    has_screen = sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return has_screen and sys.stdout.isatty()
