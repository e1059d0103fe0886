"""One step of replica symmetry breaking at capacity, written down as it stands, without closed forms."""

import numpy as np

from dendrocap.theory.kernels import TreeKernel


def log_gauss(z):
    """ln of the weights of the trapezoidal rule for a Gaussian average."""
    return -0.5 * z * z + np.log((z[1] - z[0]) / np.sqrt(2.0 * np.pi))


def nested(f, start, outer, inner, mu, stretch):
    """(1/mu) E_z0 ln E_z1 exp(mu f(start + sqrt(outer) z0 + sqrt(inner) z1)), by the trapezoidal rule."""
    z0 = np.linspace(-8.5, 8.5, 241)
    z1 = np.linspace(-9.0, 9.0 * stretch, int(600 * (1.0 + stretch)))
    h = start + np.sqrt(outer) * z0[:, None] + np.sqrt(inner) * z1
    exponent = mu * f(h) + log_gauss(z1)
    top = exponent.max(axis=1, keepdims=True)
    inside = top[:, 0] + np.log(np.exp(exponent - top).sum(axis=1))
    return float(np.exp(log_gauss(z0)) @ inside) / mu


def potential(neuron, task, alpha, A, b, c0, c1, mu, q0, Q):
    """F = F_S + alpha F_E at f_out = 1/2, for any values of the order parameters."""
    at = TreeKernel(neuron, task).at(Q, Q - q0)
    Gamma1 = TreeKernel(neuron, task).at(Q, 1e-12 * Q).dD1_ddq  # C'(q) just below Q
    W_bar = neuron.theta_d / task.f_in
    stretch = 1.0 / (1.0 - mu * c1 / A) ** 1.2
    f_S = nested(lambda h: np.maximum(h, 0.0) ** 2 / (2.0 * A), -b, c0, c1, mu, stretch)
    f_E = nested(lambda x: -(np.maximum(x, 0.0) ** 2) / (2.0 * Gamma1), task.kappa, at.D0, at.D1, mu, 1.0)
    rest = 0.5 * A * Q - 0.5 * (c0 + c1) - 0.5 * mu * (Q * c1 + (Q - q0) * c0) + W_bar * b
    return rest + f_S + alpha * f_E
