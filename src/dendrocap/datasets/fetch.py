"""Downloads, on explicit request only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dendrocap.datasets.catalogue import DataFile, data_set
from dendrocap.datasets.images import user_cache
from dendrocap.errors import MissingData

__all__ = ["fetch"]


def fetch(name: str, *, bar: Any = False) -> list[Path]:
    """Download a data set into the user's cache, checking every file; what is there already is kept.

    Each file is written under another name first and renamed when its checksum is right, so that an interrupted
    download never looks like a finished one.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "cifar10"}
        Which data set; of one that another package brings along there is nothing to fetch.
    bar : object, optional
        A progress bar as pooch wants it, with ``total``, ``update``, ``reset`` and ``close``.

    Raises
    ------
    MissingData
        If no mirror serves the right file; the message tells what each of them did.

    Examples
    --------
    >>> from dendrocap import InvalidParameter
    >>> try:
    ...     fetch("imagenet")
    ... except InvalidParameter as error:
    ...     print(str(error).split(': ')[1])
    it must be one of 'mnist', 'fashion-mnist', 'cifar10', 'digits'
    """
    known = data_set(name)
    wanted = (known.archive,) if known.archive is not None else known.files
    return [_fetch_one(file, user_cache() / name, bar) for file in wanted]


def _fetch_one(file: DataFile, folder: Path, bar: Any) -> Path:
    import pooch

    reasons = []
    for url in file.urls:
        try:
            return Path(pooch.retrieve(url, file.digest, file.name, folder, progressbar=bar))
        except (OSError, ValueError) as error:  # a mirror that is down, or one that serves something else
            reasons.append(f"{url}: {' '.join(str(error).split())[:200]}")
    raise MissingData(f"{file.name} could not be fetched: " + "; ".join(reasons))
