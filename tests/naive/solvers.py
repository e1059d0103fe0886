"""Slow twins of message passing, with dense sums and one step at a time."""

import math

import numpy as np
from scipy.integrate import quad
from scipy.special import log_ndtr


def naive_channel(g, means, variances, sign, theta_s, kappa=0.0):
    """Response, curvature and ln Z of one pattern, all averages as sums over a dense grid."""
    z = np.linspace(-9, 9, 20001)
    density = np.exp(-0.5 * z * z)
    density /= density.sum()
    k = len(means)
    average, spread = np.empty(k), np.empty(k)
    outputs = []
    for branch in range(k):
        output = g(means[branch] + math.sqrt(variances[branch]) * z)
        outputs.append(output)
        average[branch] = density @ output
        spread[branch] = density @ output**2 - average[branch] ** 2
    soma = average.sum() / math.sqrt(k) - math.sqrt(k) * theta_s
    gaussian = log_ndtr((sign * soma - kappa) / math.sqrt(spread.sum() / k))
    response, curvature, total = np.empty(k), np.empty(k), gaussian
    for branch in range(k):
        others = [other for other in range(k) if other != branch]
        rest = average[others].sum() / math.sqrt(k) - math.sqrt(k) * theta_s
        width = math.sqrt(spread[others].sum() / k)
        likelihood = np.exp(log_ndtr((sign * (rest + outputs[branch] / math.sqrt(k)) - kappa) / width))
        norm = density @ likelihood
        deviation = math.sqrt(variances[branch])
        response[branch] = density @ (likelihood * z) / norm / deviation
        curvature[branch] = response[branch] ** 2 - density @ (likelihood * (z**2 - 1)) / norm / deviation**2
        total += math.log(norm) - gaussian
    return response, curvature, total


def naive_belief(precision, field):
    """Mean, variance and ln norm of exp(-A W^2/2 + B W) on W >= 0, by adaptive quadrature."""
    peak = max(field / precision, 0.0)
    top = field * peak - 0.5 * precision * peak**2
    width = 1.0 / math.sqrt(precision)
    # Below its peak the density falls off at least as fast as exp(B W).
    reach = peak + (12.0 * width if field > 0 else min(12.0 * width, 40.0 / max(-field, 1e-300)))

    def moment(power):
        def density(w):
            return w**power * math.exp(field * w - 0.5 * precision * w * w - top)

        return quad(
            density, 0.0, reach, points=[peak] if 0 < peak < reach else None, epsabs=0, epsrel=1e-11, limit=400
        )[0]

    norm = moment(0)
    mean = moment(1) / norm
    return mean, moment(2) / norm - mean**2, math.log(norm) + top
