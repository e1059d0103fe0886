"""A small reconstruction for examples."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["example_cell"]


def example_cell() -> Path:
    """The file of an invented cell with two basal and three apical branches, for trying `cell_from_morphology`.

    Examples
    --------
    >>> example_cell().name
    'example.swc'
    """
    return Path(str(files("dendrocap.datasets").joinpath("data", "example.swc")))
