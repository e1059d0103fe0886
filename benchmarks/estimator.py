"""Memory that fitting and asking a DendriticClassifier take, relative to the features.

While a neuron learns, each of its inputs takes one bit per sample. These bits ("inputs, of X") are the floor of what a
fit takes: q quantiles of a feature whose values all differ make 2 q inputs, beside 64 bits of float64.

Features are 30,000 MNIST images in float64 if DENDROCAP_DATA holds them, and normal deviates of the same size, whose
quantiles are all different. Usage: python -m benchmarks.estimator
"""

import gc
import tracemalloc

import numpy as np

from dendrocap.classifier import DendriticClassifier
from dendrocap.datasets import load_images
from dendrocap.errors import MissingData


def traced(call):
    gc.collect()
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, peak


def main():
    labels = np.arange(30_000) % 2
    sets = {"normal deviates": np.random.default_rng(0).normal(size=(30_000, 784))}
    try:
        sets = {"MNIST": load_images("mnist", "train").images[:30_000].astype(np.float64), **sets}
    except MissingData as error:
        print(error)
    print(f"{'features':>16}{'binarize':>12}{'X, MB':>8}{'inputs, of X':>14}{'fit, of X':>11}{'predict, of X':>15}")
    for name, X in sets.items():
        for binarize in ("threshold", "median"):
            classifier = DendriticClassifier(binarize=binarize, max_iter=2, random_state=0)
            classifier.fit(X[:100], labels[:100])  # compiles
            _, fit = traced(lambda: classifier.fit(X, labels))  # noqa: B023
            _, predict = traced(lambda: classifier.predict(X))  # noqa: B023
            bits = X.shape[0] * classifier.weights_[0].size
            shares = f"{bits / 8 / X.nbytes:>14.3f}{fit / X.nbytes:>11.3f}{predict / X.nbytes:>15.3f}"
            print(f"{name:>16}{binarize:>12}{X.nbytes / 1e6:>8.0f}{shares}")
    print("inputs: one bit per input and sample while a neuron learns, the floor unless each epoch lays them out again")


if __name__ == "__main__":
    main()
