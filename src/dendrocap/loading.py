"""Packages that load their public names when they are first used."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package that knows in which module each of its public names lives."""

    _homes: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        home = self._homes.get(name)
        if home is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = import_module(f"{home}.{name}") if home == self.__name__ else getattr(import_module(home), name)
        vars(self)[name] = value  # the next look-up finds it directly
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # Python binds a module that is imported to its package; a function of the same name keeps the name.
        if not isinstance(value, ModuleType) or self._homes.get(name, self.__name__) == self.__name__:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return list(self.__all__)


def load_on_use(package: str) -> None:
    """Let a package load its names on use; the stub beside its ``__init__.py``, for type checkers too, lists them once.

    ``from HOME import X as X`` is how a stub says that a name is public.
    """
    module = sys.modules[package]
    stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    vars(module)["_homes"] = {
        alias.name: str(node.module) for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    vars(module)["__all__"] = sorted([*vars(module)["_homes"], *({"__version__"} & vars(module).keys())])
    module.__class__ = LazyPackage
