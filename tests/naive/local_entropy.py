"""A slow twin of the local entropy of the linear neuron: three nested sums for each term, and a general-purpose solver.

Nothing here knows that two of the Gaussian numbers can be put together, nor in which order the equations are solved.
"""

import math

import numpy as np
from scipy.optimize import root
from scipy.special import log_ndtr, ndtr

U, DU = np.polynomial.legendre.leggauss(44)


def normal(points):
    """Nodes and weights of a standard normal average."""
    z = np.linspace(-6.8, 6.8, points)
    return z, (z[1] - z[0]) * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


Z, DZ = normal(101)
Y, DY = normal(35)  # the part beyond the reference is narrow


def kept(centre):
    """Nodes and weights of a unit Gaussian kept positive, for each of several centres."""
    far = np.where(centre > -1.0, np.maximum(centre, 0.0) + 8.0, 36.0 / np.maximum(-centre, 1.0))[:, None]
    x = 0.5 * far * (1.0 + U)
    weight = DU * np.exp(-0.5 * (x - centre[:, None]) ** 2 + 0.5 * np.minimum(centre, 0.0)[:, None] ** 2)
    return x, weight / weight.sum(axis=1, keepdims=True)


def nested(centre, steepness, a0, a, b, c, F):
    """E F(a0 + a z + b x + c y) over normal z and y and over x kept positive around centre + steepness z."""
    x, weight = kept(centre + steepness * Z)
    h = (a0 + a * Z)[:, None, None] + b * x[:, :, None] + c * Y[None, None, :]
    return float(np.einsum("i,ij,k,ijk->", DZ, weight, DY, F(h), optimize=True))


def log_integral(h):
    """ln of the integral of exp(h w - w^2 / 2) over w > 0."""
    return 0.5 * h * h + 0.5 * math.log(2.0 * math.pi) + log_ndtr(h)


def potential(order, reference, alpha, distance, kappa=0.0, v=0.25):
    """The Franz-Parisi potential of the linear neuron at theta_d = f_in = 1/2; the distance fixes S."""
    Q, q, t, A, q_hat, S_hat, t_hat, M_hat = order
    S = 0.5 * (Q + reference.Q - distance * reference.Q)
    own_A, own_q_hat = reference.A_hat, reference.q_hat
    root_A = math.sqrt(A)
    weights = nested(
        reference.M_hat / math.sqrt(own_A),
        math.sqrt(own_q_hat / own_A),
        M_hat / root_A,
        t_hat / math.sqrt(own_q_hat * A),
        (S_hat - t_hat) / math.sqrt(own_A * A),
        math.sqrt((q_hat - t_hat**2 / own_q_hat) / A),
        log_integral,
    ) - 0.5 * math.log(A)
    D0, D1 = v * reference.q, v * reference.dq
    beyond = v * (S - t) / math.sqrt(D1)
    sd = math.sqrt(v * (Q - q))
    centre, steepness = -reference.task.kappa / math.sqrt(D1), math.sqrt(D0 / D1)
    patterns = nested(
        centre,
        steepness,
        (-kappa - beyond * centre) / sd,
        (v * t / math.sqrt(D0) - beyond * steepness) / sd,
        beyond / sd,
        math.sqrt(v * q - (v * t) ** 2 / D0 - beyond**2) / sd,
        log_ndtr,
    )
    Q_hat = 0.5 * (q_hat - A)
    return -Q * Q_hat + 0.5 * q * q_hat - S * S_hat + t * t_hat - M_hat + weights + alpha * patterns


def solved(start, reference, alpha, distance, kappa=0.0):
    """Where all numerical derivatives of the potential vanish, and the potential there."""
    scale = np.abs(start)

    def gradient(y):
        found = np.empty(8)
        for i in range(8):
            step = np.zeros(8)
            step[i] = 1e-4
            up, down = (potential((y + s * step) * scale, reference, alpha, distance, kappa) for s in (1.0, -1.0))
            found[i] = (up - down) / 2e-4
        return found

    outcome = root(gradient, np.asarray(start) / scale, tol=1e-9)
    order = outcome.x * scale
    return order, potential(order, reference, alpha, distance, kappa), float(np.max(np.abs(outcome.fun)))


def small_ball(densities):
    """Coefficient of -sqrt(D) of the entropy of small balls: walls with these densities of neighbours, at D = 1."""
    x = np.linspace(0.0, 12.0, 200_001)
    return -float(np.trapezoid(np.log(ndtr(x)), x)) * sum(densities)
