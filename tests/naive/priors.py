"""Weights with a prior and patterns seen through a channel, averaged on dense grids as anyone would."""

import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr, logsumexp, ndtr

from tests.naive.finite_load import DZ, Z, cut_nodes, mean_input, panels

W_PANELS = 60


def naive_entropic(prior, A_hat, q_hat, M_hat):
    """G_S, <W>, <W>^2, variance and its square, each averaged over the field, from sums over a grid of weights."""
    largest = (
        prior.w_max
        if math.isfinite(prior.w_max)
        else 12.0 + (abs(M_hat) + 11.0 * math.sqrt(q_hat)) / (A_hat + prior.strength)
    )
    edges = np.linspace(0.0, largest, W_PANELS + 1)
    x, p = np.polynomial.legendre.leggauss(20)
    w = (0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * np.diff(edges)[:, None] * x).ravel()
    log_p = np.log((0.5 * np.diff(edges)[:, None] * p).ravel()) - 0.5 * (A_hat + prior.strength) * w**2
    totals = np.zeros(5)
    for z, weight in zip(Z[::10], 10.0 * DZ[::10], strict=True):
        exponent = log_p + (M_hat + math.sqrt(q_hat) * z) * w
        log_norm = logsumexp(exponent)
        density = np.exp(exponent - log_norm)
        mean = density @ w
        variance = density @ (w - mean) ** 2
        totals += weight * np.array([log_norm, mean, mean**2, variance, variance**2])
    return totals


def clipped(B, W_star, w_max):
    """P(0 < w < w_max), E w and E w^2 of w = clip(W_star (z - B), 0, w_max), panel by panel."""
    top = B + w_max / W_star
    z, weight = panels(np.sort(np.clip(np.append(np.linspace(-10.5, 10.5, 30), [B, top]), -10.5, 10.5)))
    w = np.clip(W_star * (z - B), 0.0, w_max)
    return float(np.sum(weight * ((z > B) & (z < top)))), float(weight @ w), float(weight @ w**2)


def naive_bounded_capacity(g, theta_d, theta_s, w_max, f_in=0.5):
    """alpha, silent and saturated fraction and Q: the largest load among weights of all widths, found by search."""
    W_bar, v = theta_d / f_in, f_in * (1.0 - f_in)

    def state(log_width):
        W_star = math.exp(log_width)
        B = brentq(lambda B: clipped(B, W_star, w_max)[1] - W_bar, -10.0 - w_max / W_star, 8.0, xtol=1e-14)
        return (B, W_star, *clipped(B, W_star, w_max))

    def load(log_width):
        _, W_star, A, _, Q = state(log_width)
        sd = math.sqrt(v * Q)
        m = mean_input(g, theta_s, sd)
        x, weight = cut_nodes(g, m, sd)
        Gamma0 = float(np.sum(weight * (g(m + sd * x) - theta_s) ** 2))
        Gamma1 = v * float(np.sum(weight * g.derivative(m + sd * x) ** 2))
        return (A * W_star) ** 2 * Gamma1 / (0.5 * Gamma0)  # E I_2(0) = 1/2 without a margin

    found = minimize_scalar(lambda x: -load(x), bracket=(math.log(0.7 * W_bar), math.log(1.5 * W_bar)), tol=1e-10)
    B, W_star, _, _, Q = state(found.x)
    return -found.fun, float(ndtr(B)), float(ndtr(-B - w_max / W_star)), Q


def naive_energetic(channel, D0, D1, kappa, shift, f_out):
    """G_E from its definition, E ln of the average weight of a pattern over what two solutions do not share."""
    total = 0.0
    for sign, share in ((1.0, f_out), (-1.0, 1.0 - f_out)):
        met = log_ndtr(-(kappa - sign * shift + math.sqrt(D0) * Z) / math.sqrt(D1 + channel.noise**2))
        if channel.temperature > 0.0:
            wrong = math.exp(-1.0 / channel.temperature)
            met = np.log(wrong + (1.0 - wrong) * np.exp(met))
        total += share * float(DZ @ met)
    return total
