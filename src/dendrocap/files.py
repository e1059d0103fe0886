"""Reading and writing files: files are written atomically, and damaged files raise `CorruptData`."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import struct
import threading
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from tarfile import TarError
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from dendrocap.errors import CorruptData, InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Exceptions that readers raise for unexpected content; gzip's own error is an OSError without a number.
UNREADABLE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, RuntimeError, BadZipFile, TarError,
    LZMAError, struct.error, zlib.error, OSError,
)  # fmt: skip


@contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path``; it replaces ``path``, synchronised to disk, when the block ends.

    If the block fails, ``path`` is unchanged and the temporary file is removed.
    """
    unfinished = _unfinished(path)
    try:
        yield unfinished
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(os.path.realpath(path))
    finally:
        unfinished.unlink(missing_ok=True)


def _unfinished(path: str | Path) -> Path:
    """The temporary path beside ``path``, or beside what a symbolic link points to."""
    target = Path(os.path.realpath(path))
    return target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file in one step; text is encoded as UTF-8 and keeps its line ends."""
    with new_file(path) as unfinished:
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)


def writable(path: Path, suffixes: Collection[str] = (), option: str = "") -> Path:
    """The path of a file to write; raises before any work is done if the file cannot be written.

    This creates the temporary file of `new_file` and removes it again.
    """
    refused = f"{option} {path}".strip() + " is not allowed:"
    if suffixes and path.suffix.lower() not in suffixes:
        raise InvalidParameter(f"{refused} the name must end in {', '.join(suffixes)}")
    if not path.parent.is_dir():
        raise InvalidParameter(f"{refused} the folder {path.parent} does not exist")
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    unfinished = _unfinished(path)
    try:
        unfinished.touch()
        unfinished.unlink()
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    return path


@contextmanager
def reading(path: str | Path, what: str) -> Iterator[None]:
    """Turn any error in the content of a file into `CorruptData`; a missing file still raises its own error."""
    try:
        yield
    except CorruptData:
        raise
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a problem of the file, not of its content: missing, unreadable, on a failing disk
        raise CorruptData(f"{path} is not {what}: {error or type(error).__name__}") from error


def write_arrays(
    path: str | Path, about: Mapping[str, Any], arrays: Mapping[str, Any], *, compressed: bool = False
) -> None:
    """Write arrays and a JSON text, with its ``format``, to an .npz file; nothing in it is executable."""
    import numpy as np

    content = io.BytesIO()
    text = np.array(json.dumps(about, default=np.ndarray.tolist))
    # Nothing here is an array of objects. To say allow_pickle=False would make it an array in NumPy 2.1.
    (np.savez_compressed if compressed else np.savez)(content, about=text, **arrays)
    write_file(path, content.getvalue())


def read_arrays(
    path: str | Path, what: str, version: int, *, expansion: int = 1
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Text and arrays of a file by `write_arrays`; anything else raises `CorruptData`.

    The members of the archive may be ``expansion`` times as large as the file; their sizes are known before anything is
    allocated.
    """
    from numpy.lib import format as npy

    with reading(path, what), ZipFile(path) as archive:
        arrays = {}
        members = archive.infolist()
        if sum(member.file_size for member in members) > expansion * os.path.getsize(path):
            raise ValueError("its members claim to be too large for the file")
        for member in members:
            with archive.open(member) as stream:
                header = npy.read_array_header_1_0 if npy.read_magic(stream) == (1, 0) else npy.read_array_header_2_0
                shape, _, dtype = header(stream)
                if dtype.hasobject or stream.tell() + dtype.itemsize * math.prod(shape) != member.file_size:
                    raise ValueError(f"{member.filename} does not hold {shape} values of type {dtype}")
            with archive.open(member) as stream:
                arrays[member.filename.removesuffix(".npy")] = npy.read_array(stream, allow_pickle=False)
        about = json.loads(str(arrays.pop("about")))
        if about["format"] != version:
            raise CorruptData(
                f"{path} has format {about['format']}, but {version} was expected: "
                + ("update dendrocap" if about["format"] > version else "an older version wrote it")
            )
        return about, arrays
