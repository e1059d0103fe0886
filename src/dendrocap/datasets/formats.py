"""Readers for the file formats of image sets: idx (MNIST) and binary batches (CIFAR-10).

The content of a file is not trusted: sizes in a header are compared with the data, and no more memory is allocated than
the file justifies. Every problem raises `CorruptData`, which names the file and what was expected.
"""

from __future__ import annotations

import gzip
import lzma
import tarfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import CorruptData
from dendrocap.files import reading

__all__ = ["CIFAR_RECORD", "read_batch", "read_idx"]

Bytes = NDArray[np.uint8]

CIFAR_RECORD = 3073  # one label and 3 x 32 x 32 colour values
LARGEST = 2**30  # bytes; the largest known file has 47 million bytes


def read_idx(path: Path, n_dimensions: int) -> Bytes:
    """The array of bytes in an idx file, plain or compressed with gzip.

    Parameters
    ----------
    path : Path
        The file.
    n_dimensions : int
        1 for labels, 3 for images.
    """
    with reading(path, "a complete idx file, plain or compressed with gzip"), _opened(path) as stream:
        header = _read(stream, 4 + 4 * n_dimensions)
        if len(header) < 4 + 4 * n_dimensions:
            raise CorruptData(f"{path}: {len(header)} bytes, too short for an idx header")
        magic = int.from_bytes(header[:4], "big")
        if magic != 0x0800 + n_dimensions:
            raise CorruptData(f"{path}: magic number {magic:#010x} where {0x0800 + n_dimensions:#010x} was expected")
        shape = tuple(int.from_bytes(header[at : at + 4], "big") for at in range(4, len(header), 4))
        claimed = 1
        for length in shape:
            claimed *= length
        if claimed > LARGEST:
            raise CorruptData(f"{path}: the header claims {' x '.join(map(str, shape))} = {claimed} bytes")
        data = _read(stream, claimed + 1)
    if len(data) != claimed:
        found = f"more than {claimed}" if len(data) > claimed else str(len(data))
        raise CorruptData(f"{path}: {found} bytes of data where the header claims {claimed}")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def read_batch(path: Path, member: str = "") -> bytes:
    """The bytes of a CIFAR-10 batch: a plain file, an .xz file, or ``member`` of the official archive."""
    with reading(path, "a complete batch of CIFAR-10"), _opened(path) as stream:
        data = _member(stream, path, member) if member else _read(stream, LARGEST)
    if len(data) == 0 or len(data) % CIFAR_RECORD:
        raise CorruptData(f"{path}: {len(data)} bytes where a multiple of {CIFAR_RECORD} was expected")
    return data


def _member(stream: IO[bytes], path: Path, name: str) -> bytes:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for entry in archive:
            if entry.isfile() and Path(entry.name).name == name:
                content = archive.extractfile(entry)
                return _read(content, LARGEST) if content is not None else b""
    raise CorruptData(f"{path}: there is no {name} in the archive")


def _opened(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


def _read(stream: IO[bytes], most: int) -> bytes:
    """Up to ``most`` bytes, read in pieces: one large read would allocate its memory before any data is seen."""
    pieces, left = [], most
    while left > 0:
        piece = stream.read(min(left, 2**20))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
