"""Names of the estimates of a capacity, from the paper's to the best, and their assumptions."""

from __future__ import annotations

SYMMETRIC, ONE, TWO, FULL = (
    "replica symmetric",
    "broken symmetry k = 1",
    "broken symmetry k = 2",
    "broken symmetry full",
)

SHORT, EQUAL_K, UNEQUAL, FINITE_K, LAW = (
    "finite branches",
    "finite K, equal branches",
    "unequal branches",
    "finite K",
    "binary inputs",
)

NEAREST, SHORT_ONE = "finite K, nearest optimum", "finite branches k = 1"

ASSUMES = {
    SYMMETRIC: "the paper's: infinitely many long, equal branches; one cloud of solutions",
    ONE: "infinitely many long, equal branches; one step of symmetry breaking",
    TWO: "infinitely many long, equal branches; two steps of symmetry breaking",
    FULL: "infinitely many long, equal branches; extrapolated to many steps",
    SHORT_ONE: "infinitely many equal branches of the real length; one step",
    SHORT: "infinitely many equal branches of the real length; two steps",
    EQUAL_K: "equal branches, as many and as long as they are; two steps, first order in the soma's deviations",
    UNEQUAL: "infinitely many branches of the real length, split as is best for the real number; two steps",
    NEAREST: "as the next, at the optimum nearest to equal branches",
    FINITE_K: "branches as many and as long as they are, split as is best; two steps, first order",
    LAW: "the same, with binary inputs instead of Gaussian ones; first order",
}


def estimate_name(rsb: int | str) -> str:
    """The name of an estimate with this many steps of symmetry breaking, in every output.

    Examples
    --------
    >>> estimate_name(0), estimate_name(3), estimate_name("full")
    ('replica symmetric', 'broken symmetry k = 3', 'broken symmetry full')
    """
    return SYMMETRIC if rsb == 0 else FULL if rsb == "full" else f"broken symmetry k = {rsb}"
