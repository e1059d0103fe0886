"""The environment of a cell: versions that its numbers may depend on, and the width of the processor's vectors."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from dendrocap.display import Displayed

__all__ = ["Environment", "package_version"]

# Prefixes of NumPy's names of instruction sets, and the width of their registers in bits.
REGISTERS = (
    (("AVX512", "X86_V4"), 512),
    (("AVX", "X86_V3"), 256),
    (("SSE", "X86_V2", "NEON", "ASIMD", "VSX", "VX", "LSX"), 128),
)


@dataclass(frozen=True)
class Environment(Displayed):
    """Versions and processor under which a cell was run.

    Parameters
    ----------
    dendrocap, numpy, numba, python : str
        Versions.
    vector_bits : int
        Width of the widest vector registers that NumPy reports; 0 if unknown.

    Examples
    --------
    >>> from dataclasses import replace
    >>> here = Environment.here()
    >>> here.matches(here), here.matches(replace(here, numpy="1.0"))
    (True, False)
    """

    dendrocap: str
    numpy: str = ""
    numba: str = ""
    python: str = ""
    vector_bits: int = 0

    @staticmethod
    @cache
    def here() -> Environment:
        """The environment of this process."""
        return Environment(
            package_version(), np.__version__, _version("numba"), platform.python_version(), _vector_bits()
        )

    def matches(self, other: Environment) -> bool:
        """Whether cells of both environments can be combined: equal versions, of Python only major and minor."""
        return self._decisive == other._decisive

    @property
    def _decisive(self) -> tuple[str, ...]:
        return self.dendrocap, self.numpy, self.numba, ".".join(self.python.split(".")[:2])

    @property
    def plain(self) -> dict[str, Any]:
        """Plain data from which ``Environment(**plain)`` makes an equal environment."""
        return asdict(self)

    def differing(self, other: Environment) -> str:
        """The differences of another environment as a string: ``numpy 2.1.0 (here 2.4.6)``."""
        names = [f.name for f in fields(self) if f.name != "vector_bits"]
        pairs = [(name, getattr(other, name) or "unknown", getattr(self, name)) for name in names]
        return ", ".join(f"{name} {theirs} (here {ours})" for name, theirs, ours in pairs if theirs != ours)

    def __str__(self) -> str:
        """One line for tables."""
        words = [f"{f.name} {getattr(self, f.name) or 'unknown'}" for f in fields(self) if f.name != "vector_bits"]
        return ", ".join([*words, f"{self.vector_bits}-bit vectors" if self.vector_bits else "vectors unknown"])


@cache
def package_version() -> str:
    """Version of dendrocap in this process."""
    return version("dendrocap")


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _vector_bits() -> int:
    try:
        found = np.show_config(mode="dicts")["SIMD Extensions"]
        names = [*found.get("baseline", ()), *found.get("found", ())]
    except (KeyError, TypeError):
        return 0
    return next((bits for begins, bits in REGISTERS if any(name.startswith(begins) for name in names)), 0)
