"""Whole numbers in given proportions."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["apportioned"]


def apportioned(shares: Sequence[float], total: int) -> list[int]:
    """Whole numbers in the proportion of ``shares`` that sum to ``total``, by largest remainders; ties go to the first.

    Examples
    --------
    >>> apportioned([0.5, 0.5, 1.0], 10)
    [3, 2, 5]
    """
    unit = total / math.fsum(shares)
    wanted = [share * unit for share in shares]
    # A share within rounding error of a whole number counts as that number.
    counts = [math.floor(one + 1e-9) for one in wanted]
    left = sorted(range(len(counts)), key=lambda at: counts[at] - wanted[at])
    for at in left[: total - sum(counts)]:
        counts[at] += 1
    return counts
