"""DendriticClassifier against scikit-learn's linear classifiers on the same binarised MNIST images.

All see the same 1,568 binary inputs of 10,000 training images and are timed in this process, one thread, one after
the other; errors are on the 10,000 test images, mean over three seeds. Usage (with DENDROCAP_DATA set):

    python docs/results/measure_estimator.py docs/results
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier

from dendrocap.datasets import binary_set
from dendrocap.estimator import DendriticClassifier
from dendrocap.numerics.statistics import standard_error

SEEDS = (0, 1, 2)


class PositiveSGD(SGDClassifier):
    """SGDClassifier with logistic loss whose weights are set to zero when they are negative, every 100 samples."""

    def fit(self, X: Any, y: Any) -> PositiveSGD:
        """Twenty epochs in random order."""
        rng = np.random.default_rng(self.random_state)
        for _ in range(20):
            order = rng.permutation(len(y))
            for start in range(0, len(y), 100):
                rows = order[start : start + 100]
                self.partial_fit(X[rows], y[rows], classes=[0, 1])
                np.maximum(self.coef_, 0.0, out=self.coef_)
        return self


def classifiers(seed: int) -> dict[str, Any]:
    ours = {"binarize": None, "max_iter": 50, "n_iter_no_change": 50, "random_state": seed}
    return {
        "DendriticClassifier, K = 7 (W >= 0)": DendriticClassifier(learning_rate=0.01, **ours),
        "DendriticClassifier, linear (W >= 0)": DendriticClassifier("linear", learning_rate=0.1, **ours),
        "SGDClassifier, clipped (W >= 0)": PositiveSGD(loss="log_loss", alpha=1e-4, random_state=seed),
        "LogisticRegression (any sign)": LogisticRegression(C=0.01, max_iter=300),
        "Perceptron (any sign)": Perceptron(random_state=seed),
        "SGDClassifier (any sign)": SGDClassifier(loss="log_loss", alpha=1e-3, random_state=seed),
    }


def main(folder: Path) -> None:
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in SEEDS:
        images = binary_set("mnist", n_train=10_000, rng=seed)
        X, X_test = images.inputs.unpack().astype(np.float64), images.test_inputs.unpack().astype(np.float64)
        for name, classifier in classifiers(seed).items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                classifier.fit(X, images.labels)
            seconds = time.perf_counter() - start
            found.setdefault(name, []).append(
                (float(np.mean(classifier.predict(X_test) != images.test_labels)), seconds)
            )
    rows = []
    for name, results in found.items():
        errors, seconds = np.array(results).T
        se = standard_error(errors)
        rows.append(
            {
                "classifier": name,
                "test_error": round(errors.mean(), 4),
                "se": round(se, 4),
                "fit_s": round(seconds.min(), 2),
            }
        )
        print(rows[-1])
    with (folder / "estimator.csv").open("w", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
