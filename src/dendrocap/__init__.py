"""dendrocap: what a single neuron with non-linear dendrites can compute.

Most users need only the names below; ``help(dendrocap.NAME)`` explains each of them. Every name, including subpackages
such as ``dendrocap.theory``, is loaded on first use.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# The public names and their homes are listed once, in the stub that type checkers read.
_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOME = {
    alias.name: str(node.module) for node in _STUB.body if isinstance(node, ast.ImportFrom) for alias in node.names
}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(_HOME[name])
    # A name that its home package does not define yet is a submodule of it.
    value = vars(home)[name] if name in vars(home) else import_module(f"{_HOME[name]}.{name}")
    globals()[name] = value  # the next look-up finds it directly
    return value


def __dir__() -> list[str]:
    return __all__
