"""One writer at a time: a lock that the operating system frees when its holder dies."""

from __future__ import annotations

import errno
import os
import platform
from pathlib import Path
from typing import IO

from dendrocap.errors import StoreError

__all__ = ["FileLock"]

# What file systems say that do not know locks, as a cluster's may be mounted without them.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class FileLock:
    """An exclusive lock on a file beside the one that is protected.

    The lock belongs to the open file, not to its existence: a holder that is killed leaves the file behind, but no
    lock. So the file is never deleted, and finding one means nothing.

    Parameters
    ----------
    path : Path
        What is protected; the lock is taken on ``path`` + ``.lock``.
    """

    def __init__(self, path: Path) -> None:
        self._protected = path
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock, or refuse at once and say who has it."""
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
                    "keep the store on a local disk, and copy it afterwards"
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
            pass  # a full disk: the name of the holder is a courtesy
        self._file = file

    def release(self) -> None:
        """Give it back."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _lock(file: IO[str]) -> None:
    """Lock an open file or raise OSError; closing the file, however that happens, unlocks it."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        file.seek(1 << 30)  # a byte far behind the text, which stays readable
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
