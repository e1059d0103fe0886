"""``dendrocap datasets``: list, verify and fetch image sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from dendrocap.cli.completion import image_set_names
from dendrocap.cli.output import JsonFlag, emit, message, progress

__all__ = ["datasets"]

datasets = typer.Typer(help="Image sets: list, verify, fetch.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(help="mnist, fashion-mnist or cifar10; digits need no files.", autocompletion=image_set_names)
]


@datasets.command("list")
def list_sets(as_json: JsonFlag = False) -> None:
    """List the data sets that dendrocap knows, and which of them are on this machine."""
    from dendrocap.datasets import CATALOGUE, locate
    from dendrocap.errors import MissingData

    rows = []
    for name, known in CATALOGUE.items():
        try:
            files = locate(name)
            where = str(files[0].path.parent) if files else known.bundled_with
        except MissingData:
            where = ""
        rows.append({"name": name, "found_in": where, "title": known.title, "terms": known.terms})
    emit(rows, as_json=as_json)


@datasets.command()
def verify(name: Name, as_json: JsonFlag = False) -> None:
    """Compare the checksum of every file of a data set with the original."""
    from dendrocap.datasets import verify as checked
    from dendrocap.errors import CorruptData

    rows: list[dict[str, Any]] = [
        {"file": located.file.name, "path": str(located.path), "expected": located.file.digest, "sound": sound}
        for located, sound in checked(name)
    ]
    emit(rows, as_json=as_json)
    bad = [row["path"] for row in rows if not row["sound"]]
    if bad:
        raise CorruptData(f"{', '.join(bad)}: the content differs from the original; delete it and fetch it again")


@datasets.command()
def fetch(name: Name) -> None:
    """Download a data set into the user's cache and check every file."""
    from dendrocap.datasets import data_set
    from dendrocap.datasets import fetch as download

    known = data_set(name)
    if known.bundled_with:
        message(f"{known.title} are part of {known.bundled_with}: there is nothing to fetch")
        return
    message(f"{known.title}; please cite {known.citation}; terms: {known.terms}")
    with progress(None, "MB") as tell:
        paths = download(name, bar=_Bar(tell))
    for path in paths:
        message(str(path))


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
