"""The capacity equations as a user would write them by hand: SciPy's quad and brentq, one scalar root in Q."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from scipy.integrate import quad
from scipy.optimize import brentq


def density(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def upper(x: float) -> float:
    return 0.5 * math.erfc(x / math.sqrt(2))


def polsky(u: float, x_min: float = 0.33, gamma: float = 15.0) -> float:
    return max(u, 0.0) if u < x_min else 2 * (1 - x_min) / (1 + math.exp(-gamma * (u - x_min))) - 1 + 2 * x_min


def polsky_slope(u: float, x_min: float = 0.33, gamma: float = 15.0) -> float:
    if u < x_min:
        return 1.0 if u > 0 else 0.0
    e = math.exp(-gamma * (u - x_min))
    return 2 * (1 - x_min) * gamma * e / (1 + e) ** 2


def plain_capacity(
    g: Callable[[float], float],
    dg: Callable[[float], float],
    kinks: Sequence[float],
    theta_d: float,
    theta_s: float,
    f_in: float = 0.5,
) -> tuple[float, float]:
    """alpha_c and p0 at f_out = 1/2 without margin, from the reduced equations."""
    v, W_bar = f_in * (1 - f_in), theta_d / f_in

    def average(f: Callable[[float], float], s: float, m: float) -> float:
        cuts = sorted({-8.0, 8.0, *(min(max((k - m) / s, -8.0), 8.0) for k in kinks)})
        return sum(quad(lambda x: f(x) * density(x), a, b)[0] for a, b in pairwise(cuts))

    def state(Q: float) -> tuple[float, float, float]:
        s = math.sqrt(v * Q)
        m = brentq(lambda m: average(lambda x: g(m + s * x), s, m) - theta_s, -10 * s - 2, 10 * s + 2)
        ratio = Q / W_bar**2
        B = brentq(
            lambda B: ((1 + B * B) * upper(B) - B * density(B)) / (density(B) - B * upper(B)) ** 2 - ratio, -5, 5
        )
        Gamma0 = average(lambda x: g(m + s * x) ** 2, s, m) - theta_s**2
        Gamma1 = v * average(lambda x: dg(m + s * x) ** 2, s, m)
        dm = -v / 2 * average(lambda x: dg(m + s * x) * x, s, m) / s / average(lambda x: dg(m + s * x), s, m)
        dGamma0 = v * average(lambda x: g(m + s * x) * dg(m + s * x) * x, s, m) / s
        dGamma0 += 2 * average(lambda x: g(m + s * x) * dg(m + s * x), s, m) * dm
        dGamma1 = v * v / 2 * average(lambda x: dg(m + s * x) ** 2 * (x * x - 1), s, m) / s**2
        dGamma1 += v * average(lambda x: dg(m + s * x) ** 2 * x, s, m) / s * dm
        from_A = 2 * Gamma1 * upper(B) / (dGamma0 - Gamma0 / Gamma1 * dGamma1)
        from_C = 2 * Gamma1 / Gamma0 * (W_bar * upper(B) / (density(B) - B * upper(B))) ** 2
        return from_A, from_C, B

    Q = brentq(lambda Q: state(Q)[0] - state(Q)[1], 2.0 * W_bar**2, 15.0 * W_bar**2)
    alpha, _, B = state(Q)
    return alpha, upper(-B)
