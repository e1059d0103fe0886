"""The neuron of the paper, written as its equations are, one pattern and one branch at a time."""

import math


def naive_somatic_input(g, theta_d, theta_s, weights_per_branch, inputs_per_branch):
    total = 0.0
    for weights, inputs in zip(weights_per_branch, inputs_per_branch, strict=True):
        size = len(weights)
        summed = sum(w * x for w, x in zip(weights, inputs, strict=True))
        total += float(g(summed / math.sqrt(size) - math.sqrt(size) * theta_d))
    k = len(weights_per_branch)
    return total / math.sqrt(k) - math.sqrt(k) * theta_s
