"""Reading and writing files: files are written atomically, and damaged files raise `CorruptData`."""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from tarfile import TarError
from zipfile import BadZipFile

from dendrocap.errors import CorruptData, InvalidParameter

__all__ = ["new_file", "reading", "writable", "write_file"]

# Exceptions that readers raise for unexpected content; gzip's own error is an OSError without a number.
UNREADABLE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, RuntimeError, BadZipFile, TarError,
    LZMAError, struct.error, zlib.error, OSError,
)  # fmt: skip


@contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path``; it replaces ``path``, synchronised to disk, when the block ends.

    If the block fails, ``path`` is unchanged and the temporary file is removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "notes.txt")
    ...     _ = file.write_text("old")
    ...     try:
    ...         with new_file(file) as unfinished:
    ...             _ = unfinished.write_text("new, but")
    ...             raise OSError("the disk is full")
    ...     except OSError:
    ...         print(file.read_text(), len(list(Path(folder).iterdir())))
    old 1
    """
    target = Path(os.path.realpath(path))  # a symbolic link stays a link
    unfinished = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        yield unfinished
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file in one step; text is encoded as UTF-8 and keeps its line ends.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder, "notes.txt"), "whole")
    ...     print(Path(folder, "notes.txt").read_text())
    whole
    """
    with new_file(path) as unfinished:
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)


def writable(path: Path, suffixes: Iterable[str], option: str = "") -> Path:
    """The path of a file to write; raises before any work is done if the file cannot be written.

    Examples
    --------
    >>> writable(Path("curve.csv"), (".csv", ".nc")).name
    'curve.csv'
    """
    refused = f"{option} {path}".strip() + " is not allowed:"
    if path.suffix.lower() not in suffixes:
        raise InvalidParameter(f"{refused} the name must end in {', '.join(suffixes)}")
    if not path.parent.is_dir():
        raise InvalidParameter(f"{refused} the folder {path.parent} does not exist")
    return path


@contextmanager
def reading(path: str | Path, what: str) -> Iterator[None]:
    """Turn any error in the content of a file into `CorruptData`; a missing file still raises its own error.

    Examples
    --------
    >>> with reading("notes.json", "a list of numbers"):
    ...     float("one")
    Traceback (most recent call last):
        ...
    dendrocap.errors.CorruptData: notes.json is not a list of numbers: could not convert string to float: 'one'
    """
    try:
        yield
    except CorruptData:
        raise
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a problem of the file, not of its content: missing, unreadable, on a failing disk
        raise CorruptData(f"{path} is not {what}: {error or type(error).__name__}") from error
