"""The capacity equations as one would write them by hand with SciPy: nested quad and a root finder.

Slow, and independent of the package: even the derivatives of Gamma_0 and Gamma_1 are numerical.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, root
from scipy.stats import norm


def expectation(f: Callable[[float], float], kinks: Sequence[float], s: float, m: float) -> float:
    """E f(x) over a standard normal x, f being smooth except where m + s x passes a kink."""
    cuts = sorted({-9.0, 9.0, *(min(max((k - m) / s, -9.0), 9.0) for k in kinks)})
    integrand = lambda x: f(x) * norm.pdf(x)  # noqa: E731
    return sum(quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for a, b in pairwise(cuts))


def naive_capacity(
    g: Callable[[float], float],
    dg: Callable[[float], float],
    kinks: Sequence[float],
    theta_d: float,
    theta_s: float,
    f_in: float = 0.5,
    f_out: float = 0.5,
    kappa: float = 0.0,
    start: tuple[float, float] = (0.5, 2.0),
) -> tuple[float, float, float]:
    """alpha_c, p0 and Q from the printed system, with total derivatives taken numerically.

    The unknowns are B and alpha_c; the derivatives of Gamma_0 and Gamma_1 in Q are central differences along which
    the mean input is solved for again.
    """
    v, W_bar = f_in * (1 - f_in), theta_d / f_in
    G, H = norm.pdf, norm.sf

    def mean_input(Q: float) -> float:
        s = np.sqrt(v * Q)
        excess = lambda m: expectation(lambda x: g(m + s * x), kinks, s, m) - theta_s  # noqa: E731
        return float(brentq(excess, -20 * s - 2, 20 * s + 2, xtol=1e-14, rtol=1e-14))

    def gammas(Q: float) -> np.ndarray:
        s, m = np.sqrt(v * Q), mean_input(Q)
        Gamma0 = expectation(lambda x: (g(m + s * x) - theta_s) ** 2, kinks, s, m)
        return np.array([Gamma0, v * expectation(lambda x: dg(m + s * x) ** 2, kinks, s, m)])

    def equations(unknown: np.ndarray) -> list[float]:
        B, alpha = unknown
        A = H(B)
        root_C = A * W_bar / (G(B) - B * H(B))
        Q = root_C**2 / A**2 * ((1 + B * B) * H(B) - B * G(B))
        (Gamma0, Gamma1), h = gammas(Q), 1e-3 * Q
        # fourth-order central difference
        dGamma0, dGamma1 = (8 * (gammas(Q + h) - gammas(Q - h)) - (gammas(Q + 2 * h) - gammas(Q - 2 * h))) / (12 * h)
        labels = ((1, f_out), (-1, 1 - f_out))
        balance = lambda d: sum(  # noqa: E731
            s * f * (G(s * d - k) - (s * d - k) * H(s * d - k)) for s, f in labels for k in [kappa / np.sqrt(Gamma0)]
        )
        d, k = brentq(balance, -30, 30, xtol=1e-14), kappa / np.sqrt(Gamma0)
        taus = [(f, s * d - k) for s, f in labels]
        mass = sum(f * H(t) for f, t in taus)
        second = sum(f * ((1 + t * t) * H(t) - t * G(t)) for f, t in taus)
        C = alpha * Gamma0 / Gamma1 * second
        return [C / root_C**2 - 1, (alpha / Gamma1 * dGamma0 * mass - dGamma1 / Gamma1 * C) / A - 1]

    found = root(equations, start, tol=1e-11)
    if not found.success:
        raise RuntimeError(found.message)
    B, alpha = found.x
    I1, I2 = G(B) - B * H(B), (1 + B * B) * H(B) - B * G(B)
    return float(alpha), float(H(-B)), float(W_bar**2 * I2 / I1**2)
