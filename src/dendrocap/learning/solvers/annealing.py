"""Quantities that change geometrically in the course of an attempt."""

from __future__ import annotations

from dataclasses import dataclass

from dendrocap.validation import real_number

__all__ = ["Span", "span"]


@dataclass(frozen=True)
class Span:
    """From ``start`` to ``end``, by the same factor in equal times.

    Examples
    --------
    >>> Span(1.0, 0.01).at(0.5)
    0.1
    """

    start: float
    end: float

    def at(self, progress: float) -> float:
        """The value when this fraction of the attempt is over."""
        return float(self.start * (self.end / self.start) ** progress)

    def times(self, factor: float) -> Span:
        """Both ends in units of ``factor``."""
        return Span(self.start * factor, self.end * factor)


def span(name: str, pair: tuple[float, float]) -> Span:
    """A pair of positive numbers, checked."""
    start, end = pair
    return Span(
        real_number(f"{name}[0]", start, 0.0, low_open=True), real_number(f"{name}[1]", end, 0.0, low_open=True)
    )
