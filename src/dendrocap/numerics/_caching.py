"""`njit` with a cache on disk that is never stale.

Compiled code contains what it calls and the constants it reads, from whatever module. Numba stamps a stored function
with the file of that function alone; here the stamp is a hash of all sources that compiled code is made of. Files lie
where Numba would put its own, and nothing changes for the functions of other packages.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

Compiled = TypeVar("Compiled", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]
IMPORT = re.compile(rf"\n *from {PACKAGE.name}([.\w]*) import (\([^)]*\)|.*)")
HASH = hashlib.sha256
SIZE = HASH().digest_size

# One line per process: a cache that is damaged is damaged in many files.
_levels: Iterator[int] = chain([logging.WARNING], repeat(logging.DEBUG))


def njit(*, cache: bool = False, **options: Any) -> Callable[[Compiled], Compiled]:
    """Numba's decorator of this name; what ``cache=True`` stores is dropped when any compiled source changes."""

    def decorate(function: Compiled) -> Compiled:
        compiled: Any = numba.njit(**options)(function)
        if cache:
            try:
                compiled._cache = _Cache(function)
            except (OSError, RuntimeError) as error:  # Numba found no folder to write to, or there are no sources
                _tell(error)
        return cast(Compiled, compiled)

    return decorate


class _Cache(FunctionCache):
    """Stored code of one function. Whatever goes wrong with a file, the function is compiled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self.cache_path, self._impl.filename_base, stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Numba's own method first loads all that it compiles with (0.2 s); stored code needs its memory manager only.
        rtsys.initialize(target_context)
        try:
            return self._load_overload(sig, target_context)
        except Exception as error:  # unpickling may raise anything
            _tell(error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except (OSError, RuntimeError) as error:
            _tell(error)


class _Files(IndexDataCacheFile):
    """One file per signature and processor: the stamp, a checksum, and the pickled key and code. No index is needed."""

    def _file(self, key: Any) -> Path:
        signature, processor, _ = key
        number = int.from_bytes(HASH(repr((signature, processor)).encode()).digest()[:8])
        return Path(self._cache_path, self._data_name(number))

    def load(self, key: Any) -> Any:
        path = self._file(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        found, checksum, code = content[:SIZE], content[SIZE : 2 * SIZE], content[2 * SIZE :]
        if len(found) == SIZE and found != self._source_stamp:
            return None
        if checksum != HASH(code).digest():
            raise ValueError(f"{path} is damaged")
        stored, data = pickle.loads(code)
        return data if stored == key else None

    def save(self, key: Any, data: Any) -> None:
        if _hash_of_sources() != self._source_stamp:
            return  # sources changed since this process imported them
        code = dumps((key, data))
        with self._open_for_write(str(self._file(key))) as file:
            file.write(self._source_stamp + HASH(code).digest() + code)

    def flush(self) -> None:
        for path in Path(self._cache_path).glob(self._data_name_pattern.replace("{number:d}", "*")):
            path.unlink()


def _tell(error: Exception) -> None:
    message = (
        "Compiled code that cannot be read or stored is compiled again (NUMBA_CACHE_DIR can name a folder): %s: %s"
    )
    logging.getLogger("dendrocap").log(next(_levels), message, type(error).__name__, error)


@cache
def stamp() -> bytes:
    """What this process compiles from, as it was when the first function was decorated."""
    return _hash_of_sources()


def _hash_of_sources() -> bytes:
    contents = sources()
    if not contents:
        raise RuntimeError(f"no sources in {PACKAGE}")
    versions = f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode()
    return HASH(b"".join([versions, *(HASH(contents[path]).digest() for path in sorted(contents))])).digest()


def sources() -> dict[str, bytes]:
    """Contents of all modules with compiled functions, and of what they import from the package, directly or not."""
    there = {f"{Path(folder).as_posix()}/{name}" for folder, _, names in os.walk(PACKAGE) for name in names}
    waiting = [path for path in there if re.search(r"/_[^_/][^/]*\.py$", path)]
    contents: dict[str, bytes] = {}
    while waiting:
        path = waiting.pop()
        if path in there and path not in contents:
            contents[path] = Path(path).read_bytes()
            for module, names in IMPORT.findall(contents[path].decode()):
                home = f"{PACKAGE.as_posix()}{module.replace('.', '/')}"
                within = ["__init__", *re.findall(r"\w+", names)]
                waiting += [f"{home}.py", *(f"{home}/{name}.py" for name in within)]
    return contents
