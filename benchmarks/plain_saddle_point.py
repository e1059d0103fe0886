"""One finite-load saddle point as one would write it by hand with SciPy: quad inside quad, and fsolve.

It is what dendrocap is measured against. The equations are the printed ones, with total derivatives in Q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, fsolve
from scipy.special import log_ndtr
from scipy.stats import norm


def expectation(f: Callable[[float], float], cuts: Sequence[float] = (), accuracy: float = 1e-9) -> float:
    """E f(x) over a standard normal x, f being smooth except at the cuts."""
    edges = sorted({-8.5, 8.5, *(min(max(c, -8.5), 8.5) for c in cuts)})
    density = 1.0 / np.sqrt(2.0 * np.pi)
    integrand = lambda x: f(x) * density * np.exp(-0.5 * x * x)  # noqa: E731
    return sum(quad(integrand, a, b, epsabs=1e-12, epsrel=accuracy, limit=200)[0] for a, b in pairwise(edges))


def plain_saddle_point(
    g: Callable[[float], float],
    dg: Callable[[float], float],
    kinks: Sequence[float],
    theta_d: float,
    theta_s: float,
    alpha: float,
    f_in: float = 0.5,
    kappa: float = 0.0,
    start: tuple[float, float, float] = (2.2, 0.45, -1.0),
) -> tuple[float, float, float]:
    """Q, q and the free entropy at f_out = 1/2, where the mean shift vanishes.

    The unknowns are Q / W_bar^2, 1 - q/Q and M_hat W_bar, from which the other conjugates follow.
    """
    v, W_bar = f_in * (1 - f_in), theta_d / f_in

    def kernel(Q: float, q: float) -> tuple[float, float, float, float, float]:
        """D0, D1, C'(q), dD0/dQ, dGamma0/dQ: each an integral over t of squares of integrals over y."""
        s, common, rest = np.sqrt(v * Q), np.sqrt(v * q), np.sqrt(v * (Q - q))

        def excess(m: float) -> float:
            return expectation(lambda x: g(m + s * x) - theta_s, [(k - m) / s for k in kinks])

        m = brentq(excess, -20 * s - 2, 20 * s + 2, xtol=1e-13)
        cuts = [(k - m) / s for k in kinks]
        slope = expectation(lambda x: dg(m + s * x), cuts)
        dm = -0.5 * v * expectation(lambda x: dg(m + s * x) * x, cuts) / s / slope
        Gamma0 = expectation(lambda x: (g(m + s * x) - theta_s) ** 2, cuts)
        dGamma0 = v * expectation(lambda x: (g(m + s * x) - theta_s) * dg(m + s * x) * x, cuts) / s
        dGamma0 += 2 * dm * expectation(lambda x: (g(m + s * x) - theta_s) * dg(m + s * x), cuts)

        def inner(f: Callable[[float, float], float], t: float) -> float:
            a = m + common * t
            return expectation(lambda y: f(a + rest * y, y), [(k - a) / rest for k in kinks], 1e-10)

        first = lambda t: inner(lambda u, y: g(u) - theta_s, t)  # noqa: E731
        second = lambda t: inner(lambda u, y: dg(u), t)  # noqa: E731
        third = lambda t: inner(lambda u, y: dg(u) * y / rest, t)  # noqa: E731
        D0 = expectation(lambda t: first(t) ** 2)
        dC = v * expectation(lambda t: second(t) ** 2)
        dD0 = expectation(lambda t: first(t) * (v * third(t) + 2 * dm * second(t)))
        return D0, Gamma0 - D0, dC, dD0, dGamma0

    def conjugates(Q: float, q: float) -> tuple[float, float, float]:
        D0, D1, dC, dD0, dGamma0 = kernel(Q, q)
        a = lambda z: (np.sqrt(D0) * z + kappa) / np.sqrt(D1)  # noqa: E731
        ratio = lambda z: np.exp(norm.logpdf(a(z)) - log_ndtr(-a(z)))  # noqa: E731
        along_a = expectation(lambda z: ratio(z) * a(z)) / D1
        along_z = expectation(lambda z: ratio(z) * z) / np.sqrt(D0 * D1)
        Q_hat = alpha / 2 * (along_a * (dGamma0 - dD0) - along_z * dD0)
        q_hat = alpha * (along_a + along_z) * dC
        return Q_hat, q_hat, expectation(lambda z: log_ndtr(-a(z)))

    def weights(Q_hat: float, q_hat: float, M_hat: float) -> tuple[float, float, float, float]:
        A = q_hat - 2 * Q_hat
        x = lambda z: (M_hat + np.sqrt(q_hat) * z) / np.sqrt(A)  # noqa: E731
        mean = lambda z: (x(z) + np.exp(norm.logpdf(x(z)) - log_ndtr(x(z)))) / np.sqrt(A)  # noqa: E731
        G_S = expectation(lambda z: 0.5 * np.log(2 * np.pi / A) + 0.5 * x(z) ** 2 + log_ndtr(x(z)))
        square = expectation(lambda z: 1 / A + x(z) / np.sqrt(A) * mean(z))
        return G_S, expectation(mean), square, expectation(lambda z: mean(z) ** 2)

    def unscaled(unknowns: Sequence[float]) -> tuple[float, float, float]:
        Q = unknowns[0] * W_bar**2
        return Q, Q * (1 - unknowns[1]), unknowns[2] / W_bar

    def equations(unknowns: Sequence[float]) -> list[float]:
        Q, q, M_hat = unscaled(unknowns)
        Q_hat, q_hat, _ = conjugates(Q, q)
        _, mean, square, overlap = weights(Q_hat, q_hat, M_hat)
        return [mean / W_bar - 1, square / Q - 1, overlap / q - 1]

    Q, q, M_hat = unscaled(fsolve(equations, start, xtol=1e-9))
    Q_hat, q_hat, G_E = conjugates(Q, q)
    phi = q * q_hat / 2 - Q * Q_hat - W_bar * M_hat + weights(Q_hat, q_hat, M_hat)[0] + alpha * G_E
    return float(Q), float(q), float(phi)
