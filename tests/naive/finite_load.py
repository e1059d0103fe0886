"""Slow twin of the finite-load theory: the printed equations, dense quadrature, a general-purpose root finder.

Nothing here knows about conjugate pairs (V, dV), Mills' ratio in closed form, or Hermite coefficients. Kernels are
E[g(X) g(Y)] and its derivatives as the paper defines them, in Q and q.
"""

import math

import numpy as np
from scipy.optimize import brentq, root
from scipy.special import log_ndtr

# z integrals: the trapezoidal rule on a fine grid, which is exact to rounding for functions this smooth.
Z = np.linspace(-11.0, 11.0, 8001)
DZ = (Z[1] - Z[0]) * np.exp(-0.5 * Z * Z) / math.sqrt(2.0 * math.pi)
GAUSS_X, GAUSS_W = np.polynomial.legendre.leggauss(20)


def panels(edges):
    """Gauss-Legendre nodes and Gaussian weights between consecutive edges, for rows of edges."""
    low, high = edges[..., :-1, None], edges[..., 1:, None]
    x = 0.5 * (low + high) + 0.5 * (high - low) * GAUSS_X
    weight = 0.5 * (high - low) * GAUSS_W * np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return x.reshape(*edges.shape[:-1], -1), weight.reshape(*edges.shape[:-1], -1)


def cut_nodes(g, mean, sd):
    """Nodes of a Gaussian average of g, cut at its knots and at every standard deviation and a half."""
    mean = np.atleast_1d(np.asarray(mean, dtype=float))
    knots = (np.array(g.knots)[None, :] - mean[:, None]) / sd
    fixed = np.broadcast_to(np.linspace(-10.5, 10.5, 15), (mean.size, 15))
    return panels(np.sort(np.clip(np.concatenate([knots, fixed], axis=1), -10.5, 10.5), axis=1))


def mean_input(g, theta, sd):
    """m with E g(m + sd x) = theta."""

    def excess(m):
        x, weight = cut_nodes(g, m, sd)
        return float(np.sum(weight * (g(m + sd * x) - theta)))

    low, high = -1.0, 1.0
    while excess(low) > 0.0:
        low *= 2.0
    while excess(high) < 0.0:
        high *= 2.0
    return brentq(excess, low, high, xtol=1e-15, rtol=1e-15)


def kernel(g, theta_s, v, Q, q):
    """D0, D1, C'(q), dD0/dQ at fixed q, dGamma0/dQ, C''(q), all as the paper writes them, and m."""
    sd = math.sqrt(v * Q)
    m = mean_input(g, theta_s, sd)
    x, weight = cut_nodes(g, m, sd)
    values, slopes = g(m + sd * x) - theta_s, g.derivative(m + sd * x)
    mean_slope = float(np.sum(weight * slopes))
    dm_dQ = -0.5 * v * float(np.sum(weight * slopes * x)) / sd / mean_slope
    dGamma0 = v * float(np.sum(weight * values * slopes * x)) / sd
    dGamma0 += 2.0 * float(np.sum(weight * values * slopes)) * dm_dQ
    common, rest = math.sqrt(v * q), math.sqrt(v * (Q - q))
    t, weight_t = panels(np.linspace(-10.5, 10.5, 71))
    y, weight_y = cut_nodes(g, m + common * t, rest)
    at = (m + common * t)[:, None] + rest * y
    values, slopes = g(at) - theta_s, g.derivative(at)
    first = np.sum(weight_y * values, axis=1)
    slope = np.sum(weight_y * slopes, axis=1)
    curvature = np.sum(weight_y * slopes * y, axis=1) / rest
    D0 = float(weight_t @ first**2)
    D1 = float(weight_t @ np.sum(weight_y * (values - first[:, None]) ** 2, axis=1))
    dD0_dQ = v * float(weight_t @ (curvature * first)) + 2.0 * float(weight_t @ (slope * first)) * dm_dQ
    return D0, D1, v * float(weight_t @ slope**2), dD0_dQ, dGamma0, v**2 * float(weight_t @ curvature**2), m


def weight_moments(A_hat, q_hat, M_hat):
    """G_S, E<W>, E<W^2>, E<W>^2 and E (<W^2> - <W>^2)^2 on the grid."""
    centre = (M_hat + math.sqrt(q_hat) * Z) / math.sqrt(A_hat)
    ratio = np.exp(-0.5 * centre**2 - 0.5 * math.log(2.0 * math.pi) - log_ndtr(centre))
    mean, square = centre + ratio, 1.0 + centre * (centre + ratio)
    log_norm = 0.5 * math.log(2.0 * math.pi / A_hat) + 0.5 * centre**2 + log_ndtr(centre)
    root_A = math.sqrt(A_hat)
    variance = (square - mean**2) / A_hat
    return DZ @ log_norm, DZ @ mean / root_A, DZ @ square / A_hat, DZ @ mean**2 / A_hat, DZ @ variance**2


def pattern_averages(D0, D1, shift, task):
    """E_sigma of ln H, sigma G/H, (G/H) a, (G/H) z, at a = (sqrt(D0) z - sigma shift + kappa) / sqrt(D1)."""
    total = np.zeros(4)
    for sigma, probability in ((1.0, task.f_out), (-1.0, 1.0 - task.f_out)):
        a = (math.sqrt(D0) * Z - sigma * shift + task.kappa) / math.sqrt(D1)
        log_tail = log_ndtr(-a)
        ratio = np.exp(-0.5 * a * a - 0.5 * math.log(2.0 * math.pi) - log_tail)
        total += probability * np.array([DZ @ log_tail, sigma * (DZ @ ratio), DZ @ (ratio * a), DZ @ (ratio * Z)])
    return total


def naive_saddle_point(neuron, task, alpha, guess):
    """Q, q, shift, Q_hat, q_hat, M_hat and the free entropy, from a guess of (Q, q, shift, M_hat)."""
    g, W_bar, v = neuron.nonlinearity, neuron.theta_d / task.f_in, task.f_in * (1.0 - task.f_in)

    def conjugates(Q, q, shift):
        D0, D1, dC, dD0_dQ, dGamma0, _, _ = kernel(g, neuron.theta_s, v, Q, q)
        log_tail, push, along_a, along_z = pattern_averages(D0, D1, shift, task)
        cross = along_z / math.sqrt(D0 * D1)
        Q_hat = 0.5 * alpha * (along_a / D1 * (dGamma0 - dD0_dQ) - cross * dD0_dQ)
        q_hat = alpha * (along_a / D1 * dC + cross * dC)
        return Q_hat, q_hat, log_tail, push

    def equations(unknowns):
        Q, q, shift, M_hat = unknowns * scale
        Q_hat, q_hat, _, push = conjugates(Q, q, shift)
        _, mean, square, overlap, _ = weight_moments(q_hat - 2.0 * Q_hat, q_hat, M_hat)
        return [mean / W_bar - 1.0, square / Q - 1.0, overlap / q - 1.0, push]

    scale = np.array([guess[0], guess[1], max(abs(guess[2]), 1e-2), guess[3]])
    start = np.array(guess) / scale
    found = root(equations, start * [1.001, 0.9995, 1.001, 1.001], method="hybr", options={"xtol": 1e-13})
    Q, q, shift, M_hat = found.x * scale
    Q_hat, q_hat, log_tail, _ = conjugates(Q, q, shift)
    entropic = weight_moments(q_hat - 2.0 * Q_hat, q_hat, M_hat)[0]
    phi = 0.5 * q * q_hat - Q * Q_hat - W_bar * M_hat + entropic + alpha * log_tail
    return (Q, q, shift, Q_hat, q_hat, M_hat, phi), float(np.max(np.abs(found.fun)))
