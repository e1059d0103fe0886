"""DendriticClassifier beside scikit-learn's classifiers: test error, time and size, on eight data sets.

Every side gets what a good user would give it. Linear models, networks and neighbours see the features as float32
columns, images in [0, 1], tables standardised; trees see the features; ours binarises them itself. Each takes the best
of a small grid, by threefold cross-validation on training data (for images on 1,500 training images of the first seed).
One thread each. ``compute`` adds the rows that the table lacks; the images need DENDROCAP_DATA.

    python -m studies.classifiers compute     # about an hour on one core
    python -m studies.classifiers neurons     # errors against the number of neurons
    python -m studies.classifiers wirings     # errors of wirings, with many synapses and with few
    python -m studies.classifiers table
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy: times are those of one thread

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from dendrocap.classifier import DendriticClassifier
from dendrocap.classifier.encoding import fitted_encoder
from dendrocap.classifier.wiring import combined
from dendrocap.datasets import load_images
from dendrocap.numerics import standard_error
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
NEURONS = TABLE.with_name("classifiers_neurons.csv")
WIRED = TABLE.with_name("classifiers_wirings.csv")
N_NEURONS = (1, 2, 5, 10)
# On few branches with few synapses, and with the default of one synapse per input or 32 per branch.
FEW, MANY = {"n_branches": 8, "branch_size": 8}, {"n_branches": 16}
WIRINGS: dict[str, dict[str, Any]] = {
    "8 x 8 synapses, random": FEW,
    "8 x 8 synapses, random, rewire=True": {**FEW, "rewire": True},
    "default size, random": MANY,
    "default size, random, rewire=True": {**MANY, "rewire": True},
    "default size, neighbours": {**MANY, "wiring": "neighbours"},
    "default size, correlated": {**MANY, "wiring": "correlated"},
}
ON_WIRINGS = {"xor": 5, "make_classification": 5, "digits": 5, "mnist": 3}
N_IMAGES = {"mnist": 10_000, "mnist-ten": 3_000, "fashion-mnist": 5_000, "cifar10": 5_000}
FOR_GRID = 1_500
N_THRESHOLDS = 7
# Name in the table, seeds, and words for the page.
DATA = {
    "digits": (5, "digits, ten classes"),
    "breast_cancer": (5, "breast_cancer"),
    "wine": (5, "wine, three classes"),
    "make_classification": (5, "make_classification"),
    "xor": (5, "XOR of 2 in 6 features"),
    "mnist": (3, "MNIST, odd or even"),
    "cifar10": (3, "CIFAR-10, bird or ship"),
    "fashion-mnist": (3, "Fashion-MNIST, odd or even"),
}


class PositiveLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression with non-negative weights on the binary inputs that the dendritic neuron sees.

    L-BFGS-B with a bound at zero and a free offset, one class against the rest: where the linear neuron could get to.
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: Any, y: Any) -> PositiveLogisticRegression:
        """Minimise the cross-entropy plus |w|^2 / (2 C n)."""
        self.encoder_ = fitted_encoder("threshold", X, N_THRESHOLDS)
        inputs, self.classes_ = self._inputs(X), np.unique(y)
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        found = [self._one(inputs, np.where(y == positive, 1.0, -1.0).astype(np.float32)) for positive in positives]
        self.coef_, self.intercept_ = np.stack([one[:-1] for one in found]), np.array([one[-1] for one in found])
        return self

    def _inputs(self, X: Any) -> Any:
        samples = self.encoder_(X)
        return samples.inputs(np.arange(self.encoder_.n_inputs)).unpack().astype(np.float32)

    def _one(self, inputs: Any, signs: Any) -> Any:
        n_samples, n_inputs = inputs.shape
        strength = 1.0 / (self.C * n_samples)

        def loss(x: Any) -> tuple[float, Any]:
            weights = x[:-1].astype(np.float32)
            margins = signs * (inputs @ weights + np.float32(x[-1]))
            pull = -signs * expit(-margins) / n_samples
            gradient = np.append(inputs.T @ pull + strength * weights, pull.sum()).astype(np.float64)
            return float(np.logaddexp(0.0, -margins).mean() + 0.5 * strength * weights @ weights), gradient

        bounds = [(0.0, None)] * n_inputs + [(None, None)]
        return minimize(
            loss, np.zeros(n_inputs + 1), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}
        ).x

    def predict(self, X: Any) -> Any:
        """The class with the largest sum."""
        decision = self._inputs(X) @ self.coef_.T + self.intercept_
        chosen = (decision[:, 0] > 0.0).astype(int) if decision.shape[1] == 1 else decision.argmax(axis=1)
        return self.classes_[chosen]


def models(seed: int) -> dict[str, tuple[Any, dict[str, list[Any]], bool]]:
    """Each classifier with its grid, and whether its features are to be standardised."""
    ours = {"n_branches": [16, 32], "gamma_ce": [2.5, 5.0]}

    def dendritic(**more: Any) -> DendriticClassifier:
        return DendriticClassifier(n_thresholds=N_THRESHOLDS, random_state=seed, **more)

    def network(width: int) -> MLPClassifier:
        return MLPClassifier((width,), random_state=seed, max_iter=200)

    strengths = [0.01, 0.1, 1.0, 10.0]
    return {
        "Dendritic": (dendritic(), ours, False),
        "Dendritic, solver='surrogate'": (dendritic(solver="surrogate"), ours, False),
        "Dendritic, rewire=True": (dendritic(rewire=True), ours, False),
        "Dendritic, 10 neurons": (dendritic(n_neurons=10), ours, False),
        "linear neuron": (dendritic(nonlinearity="linear"), {"gamma_ce": [1.0, 2.5, 5.0, 10.0]}, False),
        "positive LogisticRegression": (PositiveLogisticRegression(), {"C": strengths}, False),
        "LogisticRegression": (LogisticRegression(max_iter=1000), {"C": [0.001, *strengths]}, True),
        "LinearSVC": (LinearSVC(random_state=seed), {"C": [0.0001, 0.001, 0.01, 0.1]}, True),
        "SGDClassifier": (SGDClassifier(random_state=seed), {"alpha": [1e-4, 1e-3, 1e-2, 1e-1]}, True),
        "Perceptron": (
            Perceptron(random_state=seed, penalty="l2"),
            {"alpha": [0.0, 1e-5, 1e-4, 1e-3]},
            True,
        ),
        "MLP(7)": (network(7), {"alpha": [1e-4, 1e-2, 1.0]}, True),
        "MLP(100)": (network(100), {"alpha": [1e-4, 1e-2, 1.0]}, True),
        "HistGradientBoosting": (
            HistGradientBoostingClassifier(random_state=seed),
            {"max_leaf_nodes": [8, 31]},
            False,
        ),
        "RandomForest": (RandomForestClassifier(random_state=seed), {"min_samples_leaf": [1, 3]}, False),
        "kNN": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 15]}, True),
    }


@lru_cache(maxsize=1)
def samples(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Training and test features and labels."""
    if name in N_IMAGES:
        return _images(name, seed)
    rng = np.random.default_rng(seed)
    if name == "make_classification":
        X, y = make_classification(2000, 20, n_informative=8, n_redundant=4, random_state=seed)
    elif name == "xor":
        X = rng.uniform(-1.0, 1.0, (2000, 6))
        y = ((X[:, 0] > 0.0) ^ (X[:, 1] > 0.0)).astype(int)
    else:
        load: Callable[..., Any] = {"digits": load_digits, "breast_cancer": load_breast_cancer, "wine": load_wine}[name]
        X, y = load(return_X_y=True)
    train, test, labels, test_labels = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    return train.astype(np.float32), labels, test.astype(np.float32), test_labels


def _images(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    halves = []
    for split in ("train", "test"):
        images = load_images(name.removesuffix("-ten"), split)
        X, y = images.images, images.labels.astype(int)
        if name == "cifar10":
            X, y = X[np.isin(y, (2, 8))], (y[np.isin(y, (2, 8))] == 2).astype(int)
        if name in ("mnist", "fashion-mnist"):
            y = y % 2
        halves.append((X, y))
    (X, y), (test, test_labels) = halves
    chosen = np.random.default_rng(seed).choice(len(X), N_IMAGES[name], replace=False)
    return X[chosen].astype(np.float32) / 255.0, y[chosen], test.astype(np.float32) / 255.0, test_labels


def n_parameters(model: Any) -> int:
    """Numbers that a fitted classifier consists of: weights, nodes of trees, or stored features."""
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, DendriticClassifier):
        return int(np.count_nonzero(last.wiring_ >= 0))
    if isinstance(last, MLPClassifier):
        return sum(part.size for part in (*last.coefs_, *last.intercepts_))
    if isinstance(last, HistGradientBoostingClassifier):
        return sum(len(tree.nodes) for step in last._predictors for tree in step)
    if isinstance(last, RandomForestClassifier):
        return sum(tree.tree_.node_count for tree in last.estimators_)
    if isinstance(last, KNeighborsClassifier):
        return int(last._fit_X.size)
    return int(last.coef_.size + np.size(last.intercept_))


def best_parameters(model: Any, grid: dict[str, list[Any]], X: Any, y: Any) -> dict[str, Any]:
    """The best of a grid by threefold cross-validation; of 10 neurons those of one, which is ten times as fast."""
    if isinstance(model, DendriticClassifier):
        model = DendriticClassifier(**{**model.get_params(), "n_neurons": 1})
    prefix = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(model, {prefix + key: values for key, values in grid.items()}, cv=folds, refit=False)
    search.fit(X, y)
    return dict(search.best_params_)


def measured(data: str, seed: int, classifier: str, known: Mapping[str, str] | None = None) -> Row:
    """One row: test error, time of the fit, size and settings of one classifier; settings may be known by its name."""
    X, y, test, test_labels = samples(data, seed)
    model, grid, scaled = models(seed)[classifier]
    if scaled and data not in N_IMAGES:
        model = make_pipeline(StandardScaler(), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if known and classifier in known:
            chosen = json.loads(known[classifier])
        else:
            some = slice(None) if data not in N_IMAGES else slice(FOR_GRID)
            chosen = best_parameters(model, grid, X[some], y[some])
        model.set_params(**chosen)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    error = float(np.mean(model.predict(test) != test_labels))
    return {
        "error": f"{error:.5f}",
        "fit_s": f"{seconds:.3f}",
        "parameters": str(n_parameters(model)),
        "settings": json.dumps(chosen),
    }


def compute(names: Iterable[str] = DATA, path: Path = TABLE) -> None:
    """Fill the table, data set by data set and seed by seed; all seeds of images have the settings of the first."""
    for name in names:
        for seed in range(DATA[name][0]):
            first = [row for row in stored(path) if (row["data"], row["seed"]) == (name, "0") and name in N_IMAGES]
            known = {row["classifier"]: row["settings"] for row in first}
            complete(path, measured, [(name, seed, which) for which in models(seed)], known=known)


def counted(data: str, seed: int) -> Row:
    """Errors against the number of neurons: n of ten that were trained once, and how they are combined."""
    X, y, test, test_labels = samples(data, seed)
    model = DendriticClassifier(gamma_ce=5.0, n_neurons=max(N_NEURONS), random_state=seed).fit(X, y)
    inputs = model._readout().somatic_input(model._samples(test)).reshape(len(test), -1, max(N_NEURONS))
    errors: dict[str, list[str]] = {"mean": [], "vote": []}
    for number, combine in product(N_NEURONS, errors):
        decision = combined(inputs[:, :, :number].reshape(len(test), -1), number, combine)
        answers = decision[:, 0] > 0.0 if decision.shape[1] == 1 else decision.argmax(axis=1)
        errors[combine].append(f"{np.mean(answers != test_labels):.5f}")
    return {"n_neurons": N_NEURONS, **errors}


def wired(data: str, seed: int, wiring: str) -> Row:
    """Error with default settings and one wiring."""
    X, y, test, test_labels = samples(data, seed)
    model = DendriticClassifier(random_state=seed, **WIRINGS[wiring]).fit(X, y)
    return {"error": f"{1.0 - model.score(test, test_labels):.5f}"}


def _percent(values: list[float]) -> str:
    mean, error = 100.0 * np.mean(values), 100.0 * standard_error(np.array(values))
    digits = 1 if error >= 0.1 else 2
    return f"{mean:.{digits}f} ± {error:.{digits}f} %"


def table(rows: list[dict[str, str]], name: str) -> list[str]:
    """One data set: error with its standard error, shortest fit (the least disturbed), size; best error first."""
    own = [row for row in rows if row["data"] == name]
    found = []
    for which in dict.fromkeys(row["classifier"] for row in own):
        of_it = [row for row in own if row["classifier"] == which]
        errors = [float(row["error"]) for row in of_it]
        seconds = min(float(row["fit_s"]) for row in of_it)
        size = int(np.median([int(row["parameters"]) for row in of_it]))
        shown = f"**{which}**" if which.startswith("Dendritic") else which
        found.append(
            (
                np.mean(errors),
                [shown, _percent(errors), f"{seconds:.0f} s" if seconds >= 10.0 else f"{seconds:.2g} s", f"{size:,}"],
            )
        )
    ordered = [cells for _, cells in sorted(found, key=lambda one: one[0])]
    return markdown(["classifier", "test error", "fit", "parameters"], ordered)


def images_table(rows: list[dict[str, str]]) -> list[str]:
    """The neurons and logistic regression on the three sets of images."""
    shown = ("Dendritic", "Dendritic, 10 neurons", "linear neuron", "LogisticRegression")
    lines = []
    for name in ("mnist", "fashion-mnist", "cifar10"):
        errors = [
            [float(row["error"]) for row in rows if (row["data"], row["classifier"]) == (name, which)]
            for which in shown
        ]
        lines.append([DATA[name][1], *map(_percent, errors)])
    return markdown(["", "dendrites", "ten neurons", "linear neuron", "logistic regression"], lines)


def neurons_table(rows: list[dict[str, str]]) -> list[str]:
    """Error against the number of neurons."""
    lines = []
    for name, words in (("mnist", "odd or even"), ("mnist-ten", "ten classes")):
        for combine in ("mean", "vote"):
            cells = [
                _percent(
                    [float(row[combine]) for row in rows if (row["data"], row["n_neurons"]) == (name, str(number))]
                )
                for number in N_NEURONS
            ]
            lines.append([words, combine, *cells])
    return markdown(["MNIST", "combine", *(f"n = {number}" for number in N_NEURONS)], lines)


def wirings_table(rows: list[dict[str, str]]) -> list[str]:
    """Error of each wiring on each data set."""
    lines = []
    for wiring in WIRINGS:
        own = [row for row in rows if row["wiring"] == wiring]
        lines.append(
            [wiring, *(_percent([float(row["error"]) for row in own if row["data"] == name]) for name in ON_WIRINGS)]
        )
    return markdown(["wiring", *(DATA[name][1] for name in ON_WIRINGS)], lines)


def main(command: str, *names: str) -> None:
    """Run one of the commands."""
    if command == "compute":
        compute(names or DATA)
    elif command == "neurons":
        complete(NEURONS, counted, product(("mnist", "mnist-ten"), range(3)))
    elif command == "wirings":
        asked = [(name, seed, wiring) for name, n in ON_WIRINGS.items() for seed in range(n) for wiring in WIRINGS]
        complete(WIRED, wired, asked)
    elif command == "table":
        for name, (seeds, words) in DATA.items():
            print(f"\n{words} ({seeds} seeds)\n", *table(stored(TABLE), name), sep="\n")
        print("", *images_table(stored(TABLE)), sep="\n")
        print("", *neurons_table(stored(NEURONS)), sep="\n")
        print("", *wirings_table(stored(WIRED)), sep="\n")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
