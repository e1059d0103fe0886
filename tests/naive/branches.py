"""The replica-symmetric load of populations, straight from its definition with adaptive quadrature."""

import math

from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm


def gauss(function, *kinks):
    points = sorted(k for k in kinks if -9.0 < k < 9.0) or None
    return quad(lambda x: function(x) * norm.pdf(x), -9.0, 9.0, points=points, limit=400, epsabs=1e-12, epsrel=1e-12)[0]


def tail(n, t):
    return quad(lambda x: (x - t) ** n * norm.pdf(x), t, t + 14.0, epsabs=1e-14)[0]


def naive_symmetric_load(populations, task, norms):
    """alpha at squared norms, from [pop-load] term by term."""
    total, variance = 0.0, 0.0
    for p, Q in zip(populations, norms, strict=True):
        g, s = p.nonlinearity, math.sqrt(p.f_in * (1 - p.f_in) * Q)

        def kinks(m, g=g, s=s):
            return [(k - m) / s for k in g.knots]

        m = brentq(
            lambda m, g=g, s=s, p=p, kinks=kinks: gauss(lambda x: float(g(m + s * x)), *kinks(m)) - p.mean_output,
            -20.0,
            20.0,
            xtol=1e-12,
        )
        W = (p.theta_d + m / math.sqrt(p.branch_size)) / p.f_in
        B = brentq(lambda b, Q=Q, W=W: tail(2, b) / tail(1, b) ** 2 - Q / W**2, -5.0, 8.0, xtol=1e-12)
        C = (tail(0, B) * W / tail(1, B)) ** 2
        gain = p.f_in * (1 - p.f_in) * gauss(lambda x, g=g, m=m, s=s: float(g.derivative(m + s * x)) ** 2, *kinks(m))
        total += p.fraction * math.sqrt(p.length * C * gain)
        variance += p.fraction * gauss(
            lambda x, g=g, m=m, s=s, p=p: (float(g(m + s * x)) - p.mean_output) ** 2, *kinks(m)
        )
    k, f = task.kappa / math.sqrt(variance), task.f_out
    d = brentq(lambda d: f * tail(1, d - k) - (1 - f) * tail(1, -d - k), -8.0, 8.0, xtol=1e-12)
    return total**2 / (variance * (f * tail(2, d - k) + (1 - f) * tail(2, -d - k)))
