"""One epoch over images: ns per step at N = 1568, against a PyTorch loop in the same process.

The patterns are random bits of the size of MNIST's 60,000 images, unless DENDROCAP_DATA holds the real ones.
Usage: python -m benchmarks.images
"""

import time

import numpy as np

from benchmarks.learning import GAMMA_CE, RATE, THETA_D, THETA_S, torch_side
from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns
from dendrocap.datasets import binary_set
from dendrocap.errors import MissingData
from dendrocap.learning import SGD
from dendrocap.model import Patterns


class Images:
    """What `torch_side` needs to know of a problem."""

    def __init__(self, n_branches):
        try:
            digits = binary_set("mnist", rng=0)
            packed, self.labels, self.source = digits.inputs, digits.labels, "MNIST"
        except MissingData:
            packed, self.labels = random_patterns(60_000, 1568, rng=0, packed=True)
            self.source = "random bits"
        self.neuron = DendriticNeuron(NeuronSpec(Polsky(), THETA_D, THETA_S), 1568, n_branches, group_size=2)
        self.packed, self.weights = packed, self.neuron.initial_weights(0.5, 0).astype(np.float32)
        self.inputs, self.signs = packed.unpack(slice(2000)), np.where(self.labels[:2000], 1.0, -1.0)
        self.order = np.arange(2000)


def main():
    print(f"{'K':>4}{'epoch of 60,000, s':>20}{'ns per step':>14}{'PyTorch, ns':>14}{'ratio':>9}")
    for n_branches in (7, 49):
        images = Images(n_branches)
        engine = SGD(RATE, GAMMA_CE).engine(images.neuron, Patterns(images.packed, images.labels))
        engine.set_weights(images.neuron.flat_weights(images.weights))
        order = np.random.default_rng(0).permutation(len(images.labels))
        engine.epoch(order[:10], RATE)
        torch = torch_side(images)
        ours, theirs = [], []
        for _ in range(15):
            start = time.perf_counter()
            engine.epoch(order, RATE)
            ours.append(time.perf_counter() - start)
            if torch is not None and len(theirs) < 3:
                start = time.perf_counter()
                torch[0]()
                theirs.append((time.perf_counter() - start) / torch[2])
        epoch = float(np.percentile(ours, 10))
        step = epoch / len(order)
        slow = f"{min(theirs) * 1e9:>14.0f}{min(theirs) / step:>9.0f}" if theirs else f"{'not here':>14}"
        print(f"{n_branches:>4}{epoch:>20.4f}{step * 1e9:>14.0f}{slow}   ({images.source})")


if __name__ == "__main__":
    main()
