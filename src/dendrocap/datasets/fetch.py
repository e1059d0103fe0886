"""Downloads, on explicit request only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dendrocap.datasets.catalogue import DataFile, data_set
from dendrocap.datasets.images import user_cache
from dendrocap.errors import MissingData

__all__ = ["fetch"]


def fetch(name: str, *, bar: Any = False) -> list[Path]:
    """Download a data set into the user's cache and check every file; existing files are kept.

    Each file is first written under a temporary name and renamed when its checksum is right, so that an interrupted
    download never looks finished.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "cifar10"}
        Name of the data set; a data set that is part of another package has nothing to fetch.
    bar : object, optional
        A progress bar for pooch, with ``total``, ``update``, ``reset`` and ``close``.

    Raises
    ------
    MissingData
        If no mirror serves the right file; the message reports the error of each mirror.

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
        except (OSError, ValueError) as error:  # the mirror is down or serves another file
            reasons.append(f"{url}: {' '.join(str(error).split())[:200]}")
    raise MissingData(f"{file.name} could not be fetched: " + "; ".join(reasons))
