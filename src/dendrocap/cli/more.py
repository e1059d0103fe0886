"""``dendrocap reproduce``, ``explore`` and ``datasets``."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli import same_again
from dendrocap.cli.options import Dask, Workers, chosen_executor, names_in, refuse_useless, sweep_state
from dendrocap.cli.output import JsonFlag, emit, message, progress
from dendrocap.errors import MissingExtra

if TYPE_CHECKING:
    from dendrocap.reproduction import FigureOutcome, PaperFigure, Reproduction


def _figure_names() -> list[str]:
    """Figures and their aliases, for shell completion."""
    from dendrocap.reproduction import selected

    return [name for figure in selected() for name in (figure.name, figure.alias)]


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...", help="fig2a, 2, speed, ...; by default all.", autocompletion=_figure_names
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
    from dendrocap.reproduction import PRESETS, selected, write_report
    from dendrocap.reproduction import reproduce as make
    from dendrocap.sweeps import Progress
    from dendrocap.validation import choice

    if listing:
        refuse_useless("with --list", "figures", "preset", "out", "seeds", "workers", "dask", "show")
        emit([_listed(figure, PRESETS.values()) for figure in selected()], as_json=as_json)
        return
    choice("--preset", preset, tuple(PRESETS))
    selected(figures or ())  # refuse unknown names before anything is computed
    executor = chosen_executor(dask, workers)
    with progress(None, "") as tell:

        def callback(name: str, now: Progress | FigureOutcome) -> None:
            if isinstance(now, Progress):
                tell(now.done + now.failed, total=now.cells, label=name, note=sweep_state(now))
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
    page = write_report(made)
    emit(_claim_rows(made) if as_json else _figure_rows(made), as_json=as_json, title=f"{preset} preset")
    message(f"report: {page}")
    if made.interrupted:
        message(f"interrupted: finished runs are kept; resume with: {same_again()}")
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
            "full_size_verdict": full.verdict if full else None,
            "full_size_measured": full.value if full else None,
            "note": judged.note,
        }
        for judged in (*made.judged, *made.ours)
        for full in [full_size.get(judged.claim.id)]
    ]


def _has_display() -> bool:
    """Whether a display is attached on which a browser can open."""
    has_screen = sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return has_screen and sys.stdout.isatty()


# ``dendrocap explore``: an interactive page that shows the capacity of a neuron.

DEFAULT_PORT = 5006


def explore(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port; by default 5006, or a free one if that is taken.")
    ] = None,
    address: Annotated[
        str,
        typer.Option(help="Address to listen on; any other than 127.0.0.1 lets in who has the link."),
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open a local page to explore the theory and to watch a neuron learn. Stop it with Ctrl-C.

    The page neither fetches nor sends anything over the internet.

    Example: dendrocap explore --no-browser --port 5010
    """
    try:
        from dendrocap.explorer.server import listening_server, run
    except ImportError as error:
        raise MissingExtra(
            f"the explorer needs an extra: run pip install '.[explore]' in the clone ({error})"
        ) from error

    served = listening_server(port or DEFAULT_PORT, address, fixed=port is not None)
    if served.warning:
        message(served.warning)
    message(f"dendrocap explorer: {served.link} (stop with Ctrl-C)")
    run(served.server, served.link if browser else None)


# ``dendrocap datasets``: list, check and fetch image sets.


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="mnist, fashion-mnist or cifar10: compare its files with the originals; digits need no files.",
            autocompletion=names_in("dendrocap.datasets", "CATALOGUE"),
        ),
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download NAME into the user's cache first.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """List the image sets that dendrocap knows and which of them are here, or check or fetch one.

    Example: dendrocap datasets mnist
    """
    from dendrocap.datasets import CATALOGUE, data_set, locate, verify
    from dendrocap.errors import CorruptData, InvalidParameter, MissingData

    if name is None:
        if fetch:
            raise InvalidParameter("--fetch needs the NAME of a data set")
        rows: list[dict[str, Any]] = []
        for key, known in CATALOGUE.items():
            try:
                files = locate(key)
                where = str(files[0].path.parent) if files else known.bundled_with
            except MissingData:
                where = ""
            rows.append({"name": key, "found_in": where, "title": known.title, "terms": known.terms})
        emit(rows, as_json=as_json)
        return
    if fetch:
        _fetch(data_set(name))
    rows = [
        {"file": located.file.name, "path": str(located.path), "expected": located.file.digest, "sound": sound}
        for located, sound in verify(name)
    ]
    emit(rows, as_json=as_json)
    bad = [row["path"] for row in rows if not row["sound"]]
    if bad:
        raise CorruptData(f"{', '.join(bad)}: the content differs from the original; delete it and fetch it again")


def _fetch(known: Any) -> None:
    """Download a data set and check every file."""
    from dendrocap.datasets import fetch as download

    if known.bundled_with:
        message(f"{known.title} are part of {known.bundled_with}: there is nothing to fetch")
        return
    message(f"{known.title}; please cite {known.citation}; terms: {known.terms}")
    with progress(None, "MB") as tell:
        download(known.name, bar=_Bar(tell))


class _Bar:
    """A progress bar with the methods that pooch calls."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._bytes = 0
        self.total: int | None = None

    def update(self, n: int) -> None:
        """Count ``n`` more bytes."""
        self._bytes += n
        self._tell(round(self._bytes / 1e6, 1), total=self.total and round(self.total / 1e6, 1))

    def reset(self) -> None:
        """Start a new file, or count a whole file at once."""
        self._bytes = 0

    close = reset
