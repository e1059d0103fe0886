"""Slow twin for g that are not monotone: dense sums over the plane of variance and mean input, nothing followed.

For each mean input m of a grid, the variances at which E g = theta are bracketed on a grid and refined; what the theory
says at the states found is computed from plain sums.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from tests.naive.finite_load import cut_nodes, panels, pattern_averages, weight_moments
from tests.naive.rsb import nested


def average(g, f, V, m):
    """E f(m + sqrt(V) x) for an f that is smooth between the knots of g."""
    x, weight = cut_nodes(g, m, math.sqrt(V))
    return float(np.sum(weight * f(m + math.sqrt(V) * x)))


def mean_output(g, V, m):
    """E g(m + sqrt(V) x)."""
    return average(g, g, V, m)


def states(g, theta, V_range, m_grid):
    """All (V, m) with E g = theta for the mean inputs of a grid."""
    grid = np.geomspace(*V_range, 40)
    found = []
    for m in m_grid:
        excess = np.array([mean_output(g, V, m) - theta for V in grid])
        for i in np.flatnonzero(np.sign(excess[:-1]) != np.sign(excess[1:])):
            found.append((brentq(lambda V, m=m: mean_output(g, V, m) - theta, grid[i], grid[i + 1], xtol=1e-14), m))
    return found


def load(g, dg, theta, W_bar, V, m, v=0.25):
    """alpha at which solutions of this norm and mean input vanish, for f_out = 1/2 and no margin."""
    Q = V / v

    def norm_of(B):
        G, H = norm.pdf(B), norm.sf(B)
        return ((1 + B * B) * H - B * G) / (G - B * H) ** 2 - Q / W_bar**2

    B = brentq(norm_of, -30.0, 8.0, xtol=1e-13)
    C = (norm.sf(B) * W_bar / (norm.pdf(B) - B * norm.sf(B))) ** 2
    gain, variance = average(g, lambda u: dg(u) ** 2, V, m), average(g, lambda u: (g(u) - theta) ** 2, V, m)
    return 2.0 * C * v * gain / variance


def largest_load(g, dg, theta, W_bar, m_range, v=0.25, rounds=7):
    """The largest load on the curve, by scans of m that become finer around the best."""
    low, high = m_range
    best = (-math.inf, math.nan, math.nan)
    for _ in range(rounds):
        for V, m in states(g, theta, (1.0001 * v * W_bar**2, 1e3 * v * W_bar**2), np.linspace(low, high, 31)):
            best = max(best, (load(g, dg, theta, W_bar, V, m, v), V, m))
        width = (high - low) / 10
        low, high = best[2] - width, best[2] + width
    return best


def somatic(g, theta, V, c, m):
    """Covariance of the somatic input of two replicas of covariance c, and what its variance has beyond it."""
    common, rest = math.sqrt(c), math.sqrt(V - c)
    z, weight = panels(np.linspace(-10.5, 10.5, 71))
    inner = np.array([mean_output(g, rest**2, m + common * at) - theta for at in z])
    D0 = float(weight @ inner**2)
    return D0, average(g, lambda u: (g(u) - theta) ** 2, V, m) - D0


def free_entropy(g, theta, W_bar, alpha, Q, m, q, Q_hat, q_hat, M_hat, task, v=0.25):
    """phi at any order parameters with f_out = 1/2."""
    D0, D1 = somatic(g, theta, v * Q, v * q, m)
    entropic = weight_moments(q_hat - 2.0 * Q_hat, q_hat, M_hat)[0]
    energetic = pattern_averages(D0, D1, 0.0, task)[0]
    return 0.5 * q * q_hat - Q * Q_hat - W_bar * M_hat + entropic + alpha * energetic


def along_the_curve(g, theta, Q, m, step, v=0.25):
    """The states at +-step from (Q, m) along E g = theta, at right angles to its numerical gradient."""
    h, s = 1e-4, math.sqrt(v * Q)
    by_Q = (mean_output(g, v * Q * (1 + h), m) - mean_output(g, v * Q * (1 - h), m)) / (2 * h)
    by_m = (mean_output(g, v * Q, m + h * s) - mean_output(g, v * Q, m - h * s)) / (2 * h)
    size = math.hypot(by_Q, by_m)
    for sign in (-1.0, 1.0):
        ln_Q, y = sign * step * -by_m / size, sign * step * by_Q / size
        offset = brentq(
            lambda t, ln_Q=ln_Q, y=y: (
                mean_output(g, v * Q * math.exp(ln_Q + t * by_Q / size), m + s * (y + t * by_m / size)) - theta
            ),
            -5 * step,
            5 * step,
            xtol=1e-15,
        )
        yield Q * math.exp(ln_Q + offset * by_Q / size), m + s * (y + offset * by_m / size)


def one_step_potential(g, theta, W_bar, alpha, A, b, c0, c1, mu, q0, Q, m, v=0.25):
    """F = F_S + alpha F_E with one step of breaking at capacity, f_out = 1/2 and no margin, at any mean input."""
    D0, D1 = somatic(g, theta, v * Q, v * q0, m)
    Gamma1 = v * average(g, lambda u: g.derivative(u) ** 2, v * Q, m)
    stretch = 1.0 / (1.0 - mu * c1 / A) ** 1.2
    f_S = nested(lambda h: np.maximum(h, 0.0) ** 2 / (2.0 * A), -b, c0, c1, mu, stretch)
    f_E = nested(lambda x: -(np.maximum(x, 0.0) ** 2) / (2.0 * Gamma1), 0.0, D0, D1, mu, 1.0)
    rest = 0.5 * A * Q - 0.5 * (c0 + c1) - 0.5 * mu * (Q * c1 + (Q - q0) * c0) + W_bar * b
    return rest + f_S + alpha * f_E


def replicon(g, theta, alpha, Q, m, q, Q_hat, q_hat, M_hat, v=0.25):
    """1 - alpha gamma_S gamma_E at f_out = 1/2 and no margin, from plain sums."""
    common, rest = math.sqrt(v * q), math.sqrt(v * (Q - q))
    z, weight = panels(np.linspace(-10.5, 10.5, 71))
    slope, curvature = np.empty(z.size), np.empty(z.size)
    for i, at in enumerate(z):
        y, weight_y = cut_nodes(g, m + common * at, rest)
        slopes = g.derivative(m + common * at + rest * y)
        slope[i], curvature[i] = np.sum(weight_y * slopes), np.sum(weight_y * slopes * y) / rest
    D0, D1 = somatic(g, theta, v * Q, v * q, m)
    a = math.sqrt(D0 / D1) * z
    R = np.exp(norm.logpdf(a) - norm.logsf(a))
    f1, f2 = weight @ R**2 / D1, weight @ (R * (R - a)) ** 2 / D1**2
    gamma_E = (v * weight @ slope**2) ** 2 * f2 + v * v * (weight @ curvature**2) * f1
    return 1.0 - alpha * weight_moments(q_hat - 2.0 * Q_hat, q_hat, M_hat)[4] * gamma_E
