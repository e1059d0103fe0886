"""A file lock for a single writer; the operating system releases it when its holder dies."""

from __future__ import annotations

import errno
import os
import platform
from pathlib import Path
from typing import IO

from dendrocap.errors import StoreError

__all__ = ["FileLock"]

# Errors of file systems without locks; the file system of a cluster may be mounted without them.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class FileLock:
    """An exclusive lock on a file beside the protected one.

    The lock is held on the open file; the mere existence of the file means nothing. A process that is killed leaves the
    file behind, but not the lock. The file is therefore never deleted.

    Parameters
    ----------
    path : Path
        The protected file; the lock is taken on ``path`` + ``.lock``.
    """

    def __init__(self, path: Path) -> None:
        self._protected = path
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock; if it is taken, raise at once and name the holder."""
        place = self._protected.with_name(self._protected.name + ".lock")
        try:
            file = place.open("a+", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{self._protected} cannot be written: {error.strerror}: {place}") from error
        try:
            _lock(file)
        except OSError as error:
            if error.errno in NO_LOCKS:
                file.close()
                raise StoreError(
                    f"{self._protected} cannot be written safely: its file system has no locks ({error.strerror}); "
                    "keep the store on a local disk and copy it afterwards"
                ) from error
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise StoreError(
                f"{self._protected} is being written by another sweep ({holder}): wait for it, or use another --store"
            ) from None
        try:
            file.seek(0)
            file.truncate()
            file.write(f"process {os.getpid()} on {platform.node()}")
            file.flush()
        except OSError:
            pass  # the disk is full; the name of the holder is only informative
        self._file = file

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _lock(file: IO[str]) -> None:
    """Lock an open file or raise OSError; the lock ends when the file is closed, for whatever reason."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        file.seek(1 << 30)  # a byte far behind the text, which others can still read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
