"""One step of replica symmetry breaking at capacity, written down as it stands, without closed forms."""

import numpy as np

from dendrocap.theory.neuron_kernel import TreeKernel


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


def free_entropy(neuron, task, alpha, dq, A, b, c0, c1, mu, q0, Q):
    """The one-step free entropy at finite dq = Q - q_1, in the variables that stay finite as dq vanishes."""
    from scipy.special import log_ndtr

    kernel = TreeKernel(neuron, task)
    outer, inner = kernel.at(Q, Q - q0), kernel.at(Q, dq)
    m, q1 = mu * dq, Q - dq
    q0_hat, q1_hat, M_hat = c0 / dq**2, (c0 + c1) / dq**2, -b / dq
    Q_hat = 0.5 * (q1_hat - A / dq)
    z0 = np.linspace(-7.0, 7.0, 71)

    def broken(log_volume, z1):
        exponent = m * log_volume(z0[:, None], z1) + log_gauss(z1)
        top = exponent.max(axis=1, keepdims=True)
        inside = top[:, 0] + np.log(np.exp(exponent - top).sum(axis=1))
        return np.exp(log_gauss(z0)) @ inside / m

    def weights(z0, z1):  # ln of the integral over W >= 0 of exp(-A W^2 / 2dq + h W / dq)
        h = -b + np.sqrt(c0) * z0 + np.sqrt(c1) * z1
        return 0.5 * np.log(2.0 * np.pi * dq / A) + h**2 / (2.0 * A * dq) + log_ndtr(h / np.sqrt(A * dq))

    def patterns(z0, z1):
        x = np.sqrt(outer.D0) * z0 + np.sqrt(outer.D1 - inner.D1) * z1
        return log_ndtr(-x / np.sqrt(inner.D1))

    stretch = 1.0 / (1.0 - mu * c1 / A)
    step_S = 0.4 * np.sqrt(A * dq / c1)
    step_E = 0.4 * np.sqrt(inner.D1 / outer.D1)
    terms = 0.5 * (1.0 - m) * q1 * q1_hat + 0.5 * m * q0 * q0_hat - Q * Q_hat - neuron.theta_d / task.f_in * M_hat
    terms += broken(weights, np.arange(-8.0, 8.0 * stretch, step_S))
    return terms + alpha * broken(patterns, np.arange(-8.0, 8.0, step_E))


def one_step_load(neuron, task, dq, alpha, **start):
    """The load at which Q - q_1 = dq, from stationarity of the free entropy in everything, by numerical derivatives."""
    from scipy.optimize import root

    names = list(start)

    def gradient(log_values):
        log_alpha, *rest = log_values
        slopes = []
        for i in range(len(names) + 1):  # the last is dq itself
            slope = 0.0
            for steps, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
                moved = np.append(rest, np.log(dq))
                moved[i] += 2e-3 * steps
                *values, at_dq = np.exp(moved)
                arguments = dict(zip(names, values, strict=True))
                slope += weight * free_entropy(neuron, task, np.exp(log_alpha), at_dq, **arguments) / 24e-3
            slopes.append(dq * slope)
        return np.array(slopes)

    solved = root(gradient, np.log([alpha, *start.values()]), tol=1e-7)
    assert np.max(np.abs(solved.fun)) < 1e-6
    return float(np.exp(solved.x[0]))
