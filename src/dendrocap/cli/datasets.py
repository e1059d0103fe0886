"""``dendrocap datasets``: which image sets are here, whether they are sound, and fetching them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dendrocap.cli.output import JsonFlag, emit, message

__all__ = ["datasets"]

datasets = typer.Typer(help="Image sets: list, verify, fetch.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="mnist, fashion-mnist or cifar10.")]


@datasets.command("list")
def list_sets(as_json: JsonFlag = False) -> None:
    """Which data sets dendrocap knows, and which are on this machine."""
    from dendrocap.datasets import CATALOGUE, locate
    from dendrocap.errors import MissingData

    rows = []
    for name, known in CATALOGUE.items():
        try:
            where = str(locate(name)[0].path.parent)
        except MissingData:
            where = ""
        rows.append({"name": name, "found_in": where, "title": known.title, "terms": known.terms})
    emit(rows, as_json=as_json)


@datasets.command()
def verify(name: Name, as_json: JsonFlag = False) -> None:
    """Compare every file of a data set with the checksum of the original."""
    from dendrocap.datasets import verify as checked
    from dendrocap.errors import CorruptData

    rows: list[dict[str, Any]] = [
        {"file": located.file.name, "path": str(located.path), "expected": located.file.digest, "sound": sound}
        for located, sound in checked(name)
    ]
    emit(rows, as_json=as_json)
    bad = [row["path"] for row in rows if not row["sound"]]
    if bad:
        raise CorruptData(f"{', '.join(bad)}: the content is not that of the original; delete and fetch again")


@datasets.command()
def fetch(name: Name) -> None:
    """Download a data set into the user's cache, checking every file."""
    from dendrocap.datasets import data_set
    from dendrocap.datasets import fetch as download

    known = data_set(name)
    message(f"{known.title}; please cite {known.citation}; terms: {known.terms}")
    for path in download(name, bar=_Bar()):
        message(str(path))


class _Bar:
    """A progress bar with the methods that pooch calls."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

        columns = (*Progress.get_default_columns()[:2], DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("fetching")
        self.total: int | None = None

    def update(self, n: int) -> None:
        """So many bytes more."""
        self._bar.start()
        self._bar.update(self._task, total=self.total, advance=n)

    def reset(self) -> None:
        """A new file, or the whole of one at once."""
        self._bar.reset(self._task)

    def close(self) -> None:
        """The file is complete."""
        if self._bar.live.is_started:
            self._bar.stop()
