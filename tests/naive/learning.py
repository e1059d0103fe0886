"""Algorithm 1 of the paper, one synapse at a time, as its formulas are written."""

import math


def naive_epoch(neuron, weights, inputs, labels, order, learning_rate, gamma_ce, signal=None):
    """Weights after one epoch; ``weights`` and each pattern are flat, in the order of the inputs."""
    g, signal = neuron.nonlinearity, signal or neuron.nonlinearity.derivative
    weights = [float(w) for w in weights]
    k = neuron.n_branches
    branches = [
        range(int(start), int(start + size))
        for start, size in zip(neuron.branch_starts, neuron.branch_sizes, strict=True)
    ]
    for mu in order:
        sign = 1.0 if labels[mu] else -1.0
        branch_input = [
            sum(weights[i] for i in branch if inputs[mu][i]) / math.sqrt(len(branch))
            - math.sqrt(len(branch)) * neuron.theta_d
            for branch in branches
        ]
        somatic_input = sum(float(g(x)) for x in branch_input) / math.sqrt(k) - math.sqrt(k) * neuron.spec.theta_s
        # -f'(x) with f(x) = -x/2 + ln(2 cosh(gamma x)) / (2 gamma): (1 - tanh(gamma x)) / 2
        error = 0.5 * (1.0 - math.tanh(gamma_ce * sign * somatic_input))
        for branch, x in zip(branches, branch_input, strict=True):
            for i in branch:
                gradient = -sign * error * float(signal(x)) * inputs[mu][i] / math.sqrt(len(branch) * k)
                weights[i] = max(0.0, weights[i] - learning_rate * gradient)
    return weights


def naive_plateau_rates(errors, learning_rate, patience, factor, floor):
    """Rates of the epochs that a run with these errors would see, the last of them below the floor."""
    rates, best, waited = [], math.inf, 0
    for error in errors:
        rates.append(learning_rate)
        waited += 1
        if error < best:
            best, waited = error, 0
        elif waited == patience:
            learning_rate, waited = learning_rate * factor, 0
            if learning_rate < floor:
                break
    return rates


def naive_epoch_of_kinds(branches, theta_s, weights, inputs, labels, order, learning_rate, gamma_ce):
    """The same where branches differ and some synapses are inhibitory; gives the weights after one epoch.

    Each branch is (g, signal, threshold, signs of its synapses); weights and patterns are lists of branches.
    """
    weights = [[float(w) for w in branch] for branch in weights]
    k = len(branches)
    for mu in order:
        sign = 1.0 if labels[mu] else -1.0
        lambdas = []
        for (_, _, threshold, signs), w, xi in zip(branches, weights, inputs[mu], strict=True):
            n = len(signs)
            lambdas.append(sum(a * b for a, b in zip(w, xi, strict=True)) / math.sqrt(n) - math.sqrt(n) * threshold)
        outputs = [float(branch[0](x)) for branch, x in zip(branches, lambdas, strict=True)]
        somatic_input = sum(outputs) / math.sqrt(k) - math.sqrt(k) * theta_s
        error = 0.5 * (1.0 - math.tanh(gamma_ce * sign * somatic_input))
        for (_, signal, _, signs), x, w, xi in zip(branches, lambdas, weights, inputs[mu], strict=True):
            for i, allowed in enumerate(signs):
                moved = w[i] + learning_rate * sign * error * float(signal(x)) * xi[i] / math.sqrt(len(signs) * k)
                w[i] = moved if allowed * moved > 0.0 else 0.0
    return weights


def naive_homeostasis(signs, drive, activity, weights):
    """One branch after homeostasis: inhibition has its drive, and excitation gives up as much as inhibition does."""
    n = len(signs)
    excitation = sum(f * w for s, f, w in zip(signs, activity, weights, strict=True) if s > 0)
    inhibition = sum(-f * w for s, f, w in zip(signs, activity, weights, strict=True) if s < 0)
    factor = n * drive / inhibition
    balance = (excitation + n * drive - inhibition) / excitation
    return [w * (factor if s < 0 else balance) for s, w in zip(signs, weights, strict=True)]
