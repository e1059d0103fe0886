"""Slow twins of the theory of noise, learned states and teachers: dense grids, general-purpose solvers.

Nothing here knows of shared parts, of sinh grids or of averages over the response x instead of the field t.
"""

import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr, ndtr

from tests.naive.finite_load import mean_input

T = np.linspace(-10.0, 10.0, 4001)
WEIGHT = (T[1] - T[0]) * np.exp(-0.5 * T * T) / math.sqrt(2.0 * math.pi)


def dense(low, high, cuts, points=24, longest=0.25):
    """Gauss-Legendre nodes and plain weights on short panels that end at the cuts."""
    inside = [cut for cut in cuts if low < cut < high]
    edges = np.unique(np.concatenate([np.arange(low, high, longest), [high], inside]))
    x, w = np.polynomial.legendre.leggauss(points)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def gaussian(function, cuts):
    """E f(x) over a standard normal x, with f smooth between the cuts."""
    x, w = dense(-9.0, 9.0, cuts)
    return float(np.sum(w * np.exp(-0.5 * x * x) * function(x))) / math.sqrt(2.0 * math.pi)


def mixed_covariance(g, mean, sd, h, other_mean, other_sd, covariance):
    """Cov(g(u), h(w)) as E[g(u) E[h(w) | u]]."""
    slope = covariance / sd**2
    rest = math.sqrt(other_sd**2 - slope * covariance)

    def given(u):
        # h is averaged one place at a time, cut at its own knots
        result = []
        for centre in other_mean + slope * (u - mean):
            cuts = (np.array(h.knots) - centre) / rest
            x, w = dense(-9.0, 9.0, cuts, points=16, longest=1.5)
            result.append(float(np.sum(w * np.exp(-0.5 * x * x) * h(centre + rest * x))) / math.sqrt(2.0 * math.pi))
        return np.array(result)

    knots = (np.array(g.knots) - mean) / sd
    x, w = dense(-9.0, 9.0, knots, points=12, longest=0.5)
    w = w * np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    values, averages = g(mean + sd * x), given(mean + sd * x)
    return float(w @ (values * averages) - (w @ values) * (w @ averages))


def typical_error(D0, D1, edge, along, across, sd, offset=0.0):
    """Errors of typical solutions, with one integral inside another; along and across are c0 / D0 and c1 / D1.

    ``edge`` is the somatic input, without its mean ``offset``, that clears the margin.
    """

    def given(t):
        cut = (edge - t) / math.sqrt(D1)
        z = np.linspace(cut, max(cut, 0.0) + 12.0 if cut < 3.0 else cut + 40.0 / cut, 20001)
        density = np.exp(-0.5 * (z - cut) * (z + cut))
        wrong = ndtr(-(offset + along * t + across * math.sqrt(D1) * z) / sd)
        return np.trapezoid(density * wrong, z) / np.trapezoid(density, z)

    x = np.linspace(-8.0, 8.0, 641)
    w = (x[1] - x[0]) * np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return float(np.sum(w * [given(math.sqrt(D0) * at) for at in x]))


def point_error(Gamma0, edge, along, across, sd):
    """Errors of the solution with a margin, by adaptive quadrature."""
    unit = math.sqrt(Gamma0)

    def wrong(x):
        t = unit * x
        density = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        return density * float(ndtr(-(along * t + across * max(edge - t, 0.0)) / sd))

    parts = ((-10.0, 0.0), (0.0, edge / unit), (edge / unit, 10.0))
    return sum(quad(wrong, low, high, epsabs=1e-13, limit=400)[0] for low, high in parts)


class Learned:
    """A learned state by its free energy: the loss of the worst compliance at each norm, minimised blindly."""

    def __init__(self, neuron, alpha, gamma_ce, f_in=0.5):
        self.neuron, self.alpha, self.gamma_ce, self.f_in = neuron, alpha, gamma_ce, f_in
        self.W_bar = neuron.theta_d / f_in

    def norm(self, B):
        i0, i1, i2 = _tails(B)
        return self.W_bar**2 * i2 / i1**2, (i0 * self.W_bar / i1) ** 2

    def soma(self, Q):
        """Gamma_0 and Gamma_1."""
        g, v = self.neuron.nonlinearity, self.f_in * (1.0 - self.f_in)
        s = math.sqrt(v * Q)
        m = mean_input(g, self.neuron.theta_s, s)
        cuts = (np.array(g.knots) - m) / s
        mean = gaussian(lambda x: g(m + s * x), cuts)
        return gaussian(lambda x: (g(m + s * x) - mean) ** 2, cuts), v * gaussian(
            lambda x: g.derivative(m + s * x) ** 2, cuts
        )

    def loss(self, x):
        return np.logaddexp(0.0, -2.0 * self.gamma_ce * x) / (2.0 * self.gamma_ce)

    def response(self, t, tau):
        """x that minimises (x - t)^2 / 2 tau + loss(x), by bisection."""
        low, high = t.copy(), t + tau
        for _ in range(80):
            x = 0.5 * (low + high)
            above = x - t - tau / (1.0 + np.exp(np.minimum(2.0 * self.gamma_ce * x, 700.0))) > 0.0
            low, high = np.where(above, low, x), np.where(above, x, high)
        return x

    def free_energy(self, B, chi):
        """L(Q, chi) of the docs, per synapse."""
        Q, C = self.norm(B)
        Gamma0, Gamma1 = self.soma(Q)
        t = math.sqrt(Gamma0) * T
        x = self.response(t, Gamma1 * chi)
        return self.alpha * float(WEIGHT @ ((x - t) ** 2 / (2.0 * Gamma1 * chi) + self.loss(x))) - C / (2.0 * chi)

    def at_best_compliance(self, B):
        found = minimize_scalar(
            lambda log_chi: -self.free_energy(B, math.exp(log_chi)), bounds=(-6.0, 16.0), method="bounded"
        )
        return -float(found.fun)

    def minimum(self, low, high):
        """B and loss per pattern at the least loss."""
        found = minimize_scalar(self.at_best_compliance, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
        return float(found.x), float(found.fun) / self.alpha


def least_error(Gamma0, budget, along, across, sd):
    """E H(w) at the least, over pushes y(t) with E y^2 = budget, chosen on a grid of t and y."""
    unit = math.sqrt(Gamma0)
    t = unit * (np.arange(2000) + 0.5 - 1000.0) / 1000.0 * 6.0
    weight = np.exp(-0.5 * t * t / Gamma0)
    weight /= weight.sum()
    y = np.linspace(0.0, 8.0 * unit, 3000)
    wrong = ndtr(-(along * t[:, None] + across * y) / sd)

    def chosen(log_price):
        best = np.argmin(wrong + 0.5 * math.exp(log_price) * y * y, axis=1)
        return float(weight @ y[best] ** 2), float(weight @ wrong[np.arange(t.size), best])

    price = brentq(lambda log_price: chosen(log_price)[0] - budget, -14.0, 10.0)
    return chosen(price)[1]


def matched_load(q_hat, W_bar, D0_of, slope_of):
    """Load and overlap of a matched student at q_hat, the average over the teacher's weight done last.

    D0_of and slope_of give C(q) and C'(q); Gamma_0 is C at Q = 2 W_bar^2.
    """

    def mean(h):
        # of exp(-w / W_bar - q_hat w^2 / 2 + h w) on w > 0
        x = (h - 1.0 / W_bar) / math.sqrt(q_hat)
        return (x + np.exp(-0.5 * x * x - log_ndtr(x)) / math.sqrt(2.0 * math.pi)) / math.sqrt(q_hat)

    w, dw = dense(0.0, 45.0 * W_bar, [], points=12, longest=0.25 * W_bar)
    squared = [float(WEIGHT[::8] @ mean(q_hat * at + math.sqrt(q_hat) * T[::8]) ** 2) * 8.0 for at in w]
    q = float(np.sum(dw * np.exp(-w / W_bar) / W_bar * squared))
    D0 = D0_of(q)
    D1 = D0_of(2.0 * W_bar**2) - D0
    a = math.sqrt(D0 / D1) * T
    force = 2.0 * float(WEIGHT @ np.exp(-a * a - log_ndtr(-a))) / (2.0 * math.pi)
    return q_hat * D1 / (slope_of(q) * force), q


def _tails(B):
    G, H = math.exp(-0.5 * B * B) / math.sqrt(2.0 * math.pi), float(ndtr(-B))
    return H, G - B * H, (1.0 + B * B) * H - B * G
