"""How results are displayed: one line in a terminal, a small table in a notebook; arrays are left out of both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from html import escape
from typing import Any, ClassVar

# Inputs of a result; only the notebook table shows them.
GIVEN = ("neuron", "task", "nonlinearity", "recipe", "algorithm", "schedule")
IN_A_LINE, IN_A_TABLE = 48, 200  # characters per value


def with_error(value: float, error: float) -> str:
    """A number with as many digits as its error allows.

    Examples
    --------
    >>> with_error(2.3284, 0.0841), with_error(4.95131518, 0.0), with_error(2.2023, float("nan"))
    ('2.33 ± 0.08', '4.951315', 'about 2.2')
    >>> with_error(1234.5, 17.0), with_error(0.25947, 0.00013), with_error(26518.0, 1013.0)
    ('1234 ± 17', '0.25947 ± 0.00013', '26,500 ± 1,000')
    """
    if not math.isfinite(error):
        return f"about {with_digits(value, 2)}"
    if error <= 1e-7 * abs(value):
        return with_digits(value, 7)
    decimals = -_magnitude(error)
    if error * 10.0**decimals < 2.0:  # a leading digit 1 gets a second digit
        decimals += 1
    grouped = "," if abs(value) >= 1e4 else ""
    return " ± ".join(f"{round(one, decimals):{grouped}.{max(decimals, 0)}f}" for one in (value, error))


def with_digits(value: float, digits: int) -> str:
    """A number with at most ``digits`` digits, never in scientific notation."""
    decimals = digits - 1 - _magnitude(value)
    text = f"{round(value, decimals):{',' if abs(value) >= 1e4 else ''}.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _magnitude(value: float) -> int:
    """The power of ten of the leading digit."""
    return math.floor(math.log10(abs(value))) if value else 0


class Displayed:
    """Base class of results that show some of their attributes: the answer first, then how it was reached.

    ``_displayed`` names these attributes, by default all fields of a dataclass; methods are called without arguments.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Root(Displayed):
    ...     "Where a function vanishes."
    ...     x: float
    ...     residual: float
    ...     path: tuple[float, ...]
    >>> Root(2**0.5, 1.23e-15, (1.0, 1.5, 1.4167, 1.41422, 1.414214))
    Root(x=1.41421, residual=1.2e-15, path=<5>)
    """

    _displayed: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # dataclass writes a __repr__ of its own unless the class itself has one.
        cls.__repr__ = Displayed.__repr__  # type: ignore[method-assign]

    def _shown(self) -> tuple[str, ...]:
        return self._displayed or tuple(field.name for field in fields(self))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        shown = (f"{name}={_text(_value(self, name), IN_A_LINE, quote=True)}" for name in self._shown())
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        given = [name for name in GIVEN if hasattr(self, name) and name not in self._shown()]
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(_text(_value(self, name), IN_A_TABLE))}</td></tr>'
            for name in (*self._shown(), *given)
        )
        meaning = (type(self).__doc__ or "").split("\n")[0]
        caption = f"<caption><b>{escape(type(self).__name__)}</b> {escape(meaning)}</caption>"
        return f"<table>{caption}<tbody>{rows}</tbody></table>"


def _value(thing: object, name: str) -> Any:
    value = getattr(thing, name)
    return value() if callable(value) and name not in GIVEN else value


def _text(value: Any, most: int, quote: bool = False) -> str:
    """A value in at most ``most`` characters; larger values, such as arrays, are shown by their size only."""
    if getattr(value, "shape", None):
        return f"<{' x '.join(map(str, value.shape))}>"
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, float):
        return f"{value:.2g}" if abs(value) < 1e-4 else f"{value:.6g}"
    if isinstance(value, str):
        text = repr(_cut(value, most)) if quote else value
    elif isinstance(value, Mapping):
        text = f"{{{', '.join(f'{key}: {_text(item, most)}' for key, item in value.items())}}}"
    elif isinstance(value, tuple) and getattr(value, "_fields", ()) == ("value", "low", "high"):
        number, low, high = (_text(end, most) for end in value)
        text = number if low == high == "nan" else f"{number} [{low}, {high}]"
    elif isinstance(value, tuple | list):
        plain = len(value) <= 4 and all(isinstance(item, int | float | str) for item in value)
        text = f"({', '.join(_text(item, most) for item in value)})" if plain else f"<{len(value)}>"
    else:
        text = repr(value) if isinstance(value, bool | int | None | Displayed) or not str(value) else str(value)
    return text if quote and isinstance(value, str) else _cut(text, most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
