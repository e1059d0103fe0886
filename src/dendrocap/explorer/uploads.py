"""A measured curve from an uploaded file: checked, limited in size, never executed or unpickled."""

from __future__ import annotations

from pathlib import Path, PurePath

from dendrocap.datasets.columns import parse_table
from dendrocap.errors import CorruptData, InvalidParameter
from dendrocap.explorer.parameters import MOST_POINTS, Parameters
from dendrocap.model import Units

__all__ = ["LARGEST_FILE", "read_curve"]

LARGEST_FILE = 100_000  # bytes
DIGITS = 6  # of the points that are kept, so that links stay short and show what the page shows


def read_curve(content: bytes, name: str, *, in_mv: bool = False) -> tuple[tuple[float, float], ...]:
    r"""The points of a curve in a text file with two columns: branch input and branch output.

    Parameters
    ----------
    content : bytes
        The file.
    name : str
        Its name, for messages.
    in_mv : bool
        Whether the numbers are millivolts; they are then divided by 15 mV, the saturation that the model calls 1.

    Raises
    ------
    CorruptData
        If it is too large, is not text, does not hold two columns of finite numbers, or x does not increase.

    Examples
    --------
    >>> read_curve(b"x,y\n0,0\n0.5,0.2\n1,1\n", "curve.csv")
    ((0.0, 0.0), (0.5, 0.2), (1.0, 1.0))
    """
    name = PurePath(name.replace("\\", "/")).name[:60] or "the file"
    if len(content) > LARGEST_FILE:
        raise CorruptData(f"{name} has {len(content):,} bytes; at most {LARGEST_FILE:,} are allowed")
    try:
        measured = parse_table(content, Path(name)).curve()
        x, y = measured.x, measured.y
        if not 2 <= x.size <= MOST_POINTS:
            raise CorruptData(f"{name} has {x.size} points; 2 to {MOST_POINTS} are allowed")
        scale = Units().scale_mv if in_mv or measured.unit else 1.0
        points = tuple((_rounded(a / scale), _rounded(b / scale)) for a, b in zip(x.tolist(), y.tolist(), strict=True))
        return Parameters(curve=points).curve
    except InvalidParameter as error:
        raise CorruptData(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
