"""Image sets from files on this machine. This module never downloads; `fetch` does, on explicit request."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dendrocap.datasets.catalogue import DataFile, DataSet, data_set
from dendrocap.datasets.formats import CIFAR_RECORD, read_batch, read_idx
from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, MissingData
from dendrocap.validation import choice

__all__ = ["ImageSet", "Located", "data_folders", "is_here", "locate", "load_images", "user_cache", "verify"]

Bytes = NDArray[np.uint8]
# scikit-learn's 1797 digits are a single set; the file is ordered by writer.
N_DIGITS_TRAIN = 1200


@dataclass(frozen=True, eq=False)
class ImageSet(Displayed):
    """Images and their labels.

    Parameters
    ----------
    name, split : str
        Name of the data set, and "train" or "test".
    images : array of uint8, shape (n_images, n_pixels)
        One row per image, in the order of the file; colour planes follow one another.
    labels : array of uint8, shape (n_images,)
        Class of each image.
    """

    name: str
    split: str
    images: Bytes
    labels: Bytes

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Located:
    """A file of a data set on this machine, possibly inside an archive."""

    file: DataFile
    path: Path
    member: str = ""


def user_cache() -> Path:
    """The folder of fetched data sets: DENDROCAP_CACHE, or the usual cache folder of the system."""
    given = os.environ.get("DENDROCAP_CACHE")
    if given:
        return Path(given)
    import pooch

    return Path(pooch.os_cache("dendrocap"))


def data_folders(name: str) -> list[Path]:
    """The folders searched for a data set: DENDROCAP_DATA first, then the cache."""
    given = os.environ.get("DENDROCAP_DATA")
    return [Path(root) / name for root in ([given] if given else [])] + [user_cache() / name]


def locate(name: str) -> tuple[Located, ...]:
    """All files of a data set; `MissingData` names the missing file, the folders searched and how to get it.

    Examples
    --------
    >>> from contextlib import suppress
    >>> with suppress(MissingData):  # the images are not part of the package
    ...     assert len(locate("mnist")) == 4
    """
    known = data_set(name)
    return tuple(_located(known, file) for file in known.files)


def is_here(name: str) -> bool:
    """Whether all files of a data set are on this machine.

    Examples
    --------
    >>> is_here("digits")  # part of scikit-learn
    True
    """
    try:
        locate(name)
    except MissingData:
        return False
    return True


def load_images(name: str, split: str = "train") -> ImageSet:
    """Images and labels of one half of a data set.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "cifar10", "digits"}
        Name of the data set; "digits" is part of scikit-learn and needs no file.
    split : {"train", "test"}
        The half to load.

    Raises
    ------
    MissingData
        If a file is not on this machine; the message says how to get it.
    CorruptData
        If a file has unexpected content.

    Examples
    --------
    >>> from contextlib import suppress
    >>> with suppress(MissingData):  # the images are not part of the package
    ...     test = load_images("mnist", "test")
    ...     assert test.images.shape == (10_000, 784)
    """
    known = data_set(name)
    choice("split", split, ("train", "test"))
    if known.bundled_with:
        return _bundled(known, split)
    if name == "cifar10":
        files = [file for file in known.files if file.name.startswith("test") == (split == "test")]
    else:
        files = [file for file in known.files if file.name.startswith("train" if split == "train" else "t10k")]
    return _loaded(known.name, split, tuple(_located(known, file) for file in files))


def _bundled(known: DataSet, split: str) -> ImageSet:
    """scikit-learn's digits: the first two thirds for training, the rest, mostly by other writers, for testing."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    half = slice(None, N_DIGITS_TRAIN) if split == "train" else slice(N_DIGITS_TRAIN, None)
    return _checked(known, split, digits.data[half].astype(np.uint8), digits.target[half].astype(np.uint8))


@lru_cache(maxsize=2)  # an experiment draws many sets from one data set, and unpacking CIFAR-10 takes seconds
def _loaded(name: str, split: str, files: tuple[Located, ...]) -> ImageSet:
    known = data_set(name)
    if name == "cifar10":
        raw = b"".join(_batch(located) for located in files)
        records = np.frombuffer(raw, dtype=np.uint8).reshape(-1, CIFAR_RECORD)
        return _checked(known, split, records[:, 1:], records[:, 0])
    images, labels = files
    pixels = read_idx(images.path, 3)
    return _checked(known, split, pixels.reshape(len(pixels), -1), read_idx(labels.path, 1))


def verify(name: str) -> Iterator[tuple[Located, bool]]:
    """Each file of a data set, and whether its content equals the original.

    Examples
    --------
    >>> from contextlib import suppress
    >>> with suppress(MissingData):  # the images are not part of the package
    ...     assert all(intact for _, intact in verify("mnist"))
    """
    for located in locate(name):
        yield located, _digest(located) == located.file.digest


def _batch(located: Located) -> bytes:
    return read_batch(located.path, located.member)


def _digest(located: Located) -> str:
    algorithm = located.file.digest.partition(":")[0]
    content = _batch(located) if located.file.name.endswith(".bin") else located.path.read_bytes()
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def _located(known: DataSet, file: DataFile) -> Located:
    folders = data_folders(known.name)
    for folder in folders:
        for path in (folder / file.name, folder / f"{file.name}.xz"):
            if path.is_file():
                return Located(file, path)
        if known.archive is not None and (folder / known.archive.name).is_file():
            return Located(file, folder / known.archive.name, file.name)
    searched = ", ".join(str(folder) for folder in folders)
    raise MissingData(
        f"{known.title}: {file.name} was not found in {searched}. Set DENDROCAP_DATA to a folder that holds "
        f"{known.name}/, or run: dendrocap datasets fetch {known.name}"
    )


def _checked(known: DataSet, split: str, images: Bytes, labels: Bytes) -> ImageSet:
    if images.shape[1] != known.n_pixels:
        raise CorruptData(f"{known.title}, {split}: {images.shape[1]} pixels where {known.n_pixels} were expected")
    if len(images) != len(labels) or len(labels) == 0:
        raise CorruptData(f"{known.title}, {split}: {len(images)} images but {len(labels)} labels")
    if int(labels.max()) >= len(known.classes):
        raise CorruptData(f"{known.title}, {split}: label {int(labels.max())} where at most 9 was expected")
    return ImageSet(known.name, split, images, labels)
