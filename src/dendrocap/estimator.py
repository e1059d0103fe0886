"""The dendritic neuron as a scikit-learn classifier."""

from __future__ import annotations

import io
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from dendrocap.encoding import ENCODINGS, Encoder, encoder_from_json, fitted_encoder
from dendrocap.errors import CorruptData, InvalidParameter, TrainingFailed
from dendrocap.files import reading, write_file
from dendrocap.learning import SGD, Constant, ExponentialAnnealing, HalveOnPlateau, Recipe, Schedule, Training
from dendrocap.model import (
    DendriticNeuron,
    LinearNeuron,
    NeuronSpec,
    Nonlinearity,
    named_nonlinearity,
)
from dendrocap.model.flat import flat_nonlinearity, nonlinearity_from_flat
from dendrocap.model.patterns import PackedPatterns, pack_patterns
from dendrocap.validation import choice, real_number, refuse, whole_number

__all__ = ["DendriticClassifier"]

Floats = NDArray[np.float64]
FORMAT = 1  # of saved files


class DendriticClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A neuron with non-linear dendrites and non-negative weights, trained on real data.

    Features are turned into binary inputs, each with its complement on the same dendritic branch; a single neuron
    learns them by stochastic gradient descent with weights clipped at zero. Several classes are told apart by one
    neuron each, against the rest.

    Parameters
    ----------
    nonlinearity : str or Nonlinearity
        "polsky", "relu", "saturating_relu", a `Nonlinearity`, or "linear" for the linear neuron without branches.
    n_branches : int
        Dendritic branches; fewer where there are fewer features.
    theta_d, theta_s : float
        Dendritic and somatic threshold.
    learning_rate : float
        Of the first epoch.
    schedule : {"annealing", "plateau", "constant"}
        How the rate changes: by 1e-4 per epoch; halved whenever the error has not improved for ``n_iter_no_change``
        epochs; or not at all.
    gamma_ce : float
        Steepness of the cross-entropy loss.
    max_iter : int
        Most epochs.
    tol : float
        A smaller decrease of the training error does not count as an improvement.
    n_iter_no_change : int
        Training ends after so many epochs without improvement (with "plateau": the rate is halved instead).
    binarize : {"threshold", "median", None}
        How features become binary. "threshold" compares each with quantiles that it has in the training data;
        "median" compares each with the median of its own sample, as the paper does with images; None takes
        features that are 0 or 1 already and adds no complements.
    n_thresholds : int
        Quantiles per feature for "threshold".
    random_state : int, RandomState or None
        Source of first weights, of the order of patterns and of the order of features on the branches.
    warm_start : bool
        Let ``fit`` go on from the weights of the last call.
    verbose : int
        Print the error after every so many epochs; 0 is silent.

    Attributes
    ----------
    classes_ : array
        The labels.
    weights_ : array, shape (n_neurons, n_branches, branch_size)
        Non-negative weights, one neuron for two classes, else one per class.
    n_iter_ : int
        Epochs run, the most of all neurons.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DendriticClassifier(random_state=0).fit(X, y)
    >>> bool(classifier.score(X, y) > 0.9), bool((classifier.weights_ >= 0).all())
    (True, True)
    """

    classes_: NDArray[Any]
    weights_: Floats
    n_iter_: int
    neuron_: DendriticNeuron
    _encoder: Encoder
    _seeds: np.random.SeedSequence

    def __init__(
        self,
        nonlinearity: str | Nonlinearity = "polsky",
        *,
        n_branches: int = 7,
        theta_d: float = 0.1,
        theta_s: float = 0.5,
        learning_rate: float = 0.03,
        schedule: str = "annealing",
        gamma_ce: float = 10.0,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_iter_no_change: int = 20,
        binarize: str | None = "threshold",
        n_thresholds: int = 8,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.nonlinearity = nonlinearity
        self.n_branches = n_branches
        self.theta_d = theta_d
        self.theta_s = theta_s
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.gamma_ce = gamma_ce
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.binarize = binarize
        self.n_thresholds = n_thresholds
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the labels of all samples.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            Features.
        y : array, shape (n_samples,)
            Labels, two or more kinds.
        """
        again = self.warm_start and hasattr(self, "weights_")
        features, wanted = validate_data(self, X, y, dtype=np.float64, reset=not again)
        check_classification_targets(wanted)
        labels = unique_labels(wanted)
        if again and not np.array_equal(labels, self.classes_):
            raise ValueError(f"warm_start needs the classes of the last fit, {self.classes_}, not {labels}")
        self.classes_ = labels
        if not again:
            self._prepare(features)
        patience = whole_number("n_iter_no_change", self.n_iter_no_change, 1)
        max_iter, tol = whole_number("max_iter", self.max_iter, 1), real_number("tol", self.tol, 0.0)
        counted = None if self.schedule == "plateau" else patience
        self.n_iter_, ended_by_itself = self._train(features, wanted, max_iter, counted, tol)
        if not ended_by_itself:
            warnings.warn(
                f"training stopped at max_iter={max_iter} epochs while the error was still falling",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """One epoch over these samples, from where the last call ended.

        Thresholds and the order of features are fixed by the first call, which needs ``classes`` unless its ``y``
        holds all of them.
        """
        first = not hasattr(self, "weights_")
        features, wanted = validate_data(self, X, y, dtype=np.float64, reset=first)
        check_classification_targets(wanted)
        if first:
            self.classes_ = unique_labels(wanted if classes is None else np.asarray(classes))
            self._prepare(features)
            self.n_iter_ = 0
        if not np.all(np.isin(wanted, self.classes_)):
            raise ValueError(f"y holds labels that are not in classes = {self.classes_}")
        self._train(features, wanted, 1, None, 0.0)
        self.n_iter_ += 1
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Somatic input of the neuron (two classes: positive means ``classes_[1]``), or of each class's neuron."""
        check_is_fitted(self)
        inputs = self._inputs(validate_data(self, X, dtype=np.float64, reset=False))
        columns = [self.neuron_.somatic_input(weights, inputs) for weights in self.weights_]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The label of each sample: that of the neuron with the largest somatic input."""
        decision = self.decision_function(X)
        chosen = (decision > 0.0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities in the sense of the loss: softmax of 2 gamma_ce times the somatic inputs.

        For two classes this is the probability whose negative logarithm the training minimises. It orders samples
        well but is not calibrated; wrap the classifier in `CalibratedClassifierCV` where that matters.
        """
        decision = 2.0 * self.gamma_ce * self.decision_function(X)
        if decision.ndim == 1:
            decision = np.stack([np.zeros_like(decision), decision], axis=1)
        odds = np.exp(decision - decision.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to an .npz file, without pickle; `load` reads it."""
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        if isinstance(self.nonlinearity, Nonlinearity):
            parameters["nonlinearity"] = flat_nonlinearity(self.nonlinearity)
        if not isinstance(parameters["random_state"], int | None):
            parameters["random_state"] = None
        if self.classes_.dtype.kind == "O":
            raise InvalidParameter(f"classes_ = {self.classes_} is not allowed: only numbers and strings can be saved")
        about = {
            "format": FORMAT,
            "parameters": parameters,
            "encoder": self._encoder.to_json(),
            "n_features_in_": int(self.n_features_in_),
            "n_iter_": int(self.n_iter_),
        }
        arrays: dict[str, Any] = {"weights": self.weights_, "classes": self.classes_}
        if hasattr(self, "feature_names_in_"):
            arrays["feature_names"] = self.feature_names_in_.astype(str)
        content = io.BytesIO()
        np.savez_compressed(content, about=np.array(json.dumps(about)), **arrays)
        write_file(path, content.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A classifier written by `save`."""
        with reading(path, "a saved DendriticClassifier"):
            with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                about = json.loads(str(stored["about"]))
                weights, classes = stored["weights"], stored["classes"]
                names = stored["feature_names"].astype(object) if "feature_names" in stored else None
            if about["format"] > FORMAT:
                raise CorruptData(f"{path}: written by a newer version (format {about['format']}, known is {FORMAT})")
            parameters = about["parameters"]
            if not isinstance(parameters["nonlinearity"], str):
                parameters["nonlinearity"] = nonlinearity_from_flat(parameters["nonlinearity"])
            classifier = cls(**parameters)
            classifier._encoder = encoder_from_json(about["encoder"])
            classifier.n_features_in_, classifier.n_iter_ = about["n_features_in_"], about["n_iter_"]
            classifier.classes_, classifier.weights_ = classes, weights
            if names is not None:
                classifier.feature_names_in_ = names
            classifier.neuron_ = classifier._neuron()
        return classifier

    def _prepare(self, X: Floats) -> None:
        """Fix what does not change while learning: the encoding, the neuron and its first weights."""
        if len(self.classes_) < 2:
            raise ValueError(f"DendriticClassifier needs at least two classes; the data has one class, {self.classes_}")
        choice("binarize", self.binarize, ENCODINGS)
        random = check_random_state(self.random_state)
        self._seeds = np.random.SeedSequence(int(random.randint(2**31 - 1)))
        order = np.random.default_rng(self._seeds.spawn(1)[0])
        self._encoder = fitted_encoder(self.binarize, X, whole_number("n_thresholds", self.n_thresholds, 1), order)
        self.neuron_ = self._neuron()
        n_neurons = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.weights_ = np.stack([self.neuron_.initial_weights(0.5, seed) for seed in self._seeds.spawn(n_neurons)])

    def _neuron(self) -> DendriticNeuron:
        g, n_inputs, group = self.nonlinearity, self._encoder.n_inputs, self._encoder.group_size
        if isinstance(g, str):
            g = named_nonlinearity(g)
        if not isinstance(g, Nonlinearity):
            raise refuse("nonlinearity", g, "a name or a Nonlinearity")
        if g.name == "linear":
            return LinearNeuron(self.theta_d, n_inputs)
        branches = min(whole_number("n_branches", self.n_branches, 1), n_inputs // group)
        return DendriticNeuron(NeuronSpec(g, self.theta_d, self.theta_s), n_inputs, branches, group)

    def _inputs(self, X: Floats) -> PackedPatterns:
        return pack_patterns(self._encoder(X))

    def _recipe(self, max_iter: int, patience: int | None) -> Recipe:
        schedules: dict[str, Schedule] = {
            "annealing": ExponentialAnnealing(),
            "plateau": HalveOnPlateau(self.n_iter_no_change),
            "constant": Constant(),
        }
        return Recipe(
            SGD(self.learning_rate, self.gamma_ce),
            schedules[choice("schedule", self.schedule, tuple(schedules))],
            max_iter,
            stop_when_solved=patience is not None or self.schedule == "plateau",
        )

    def _train(self, X: Floats, y: NDArray[Any], max_iter: int, patience: int | None, tol: float) -> tuple[int, bool]:
        """Train every neuron; returns the epochs run and whether all ended before ``max_iter``."""
        inputs, most, ended = self._inputs(X), 0, True
        recipe = self._recipe(max_iter, patience)
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        for at, (positive, seed) in enumerate(zip(positives, self._seeds.spawn(len(positives)), strict=True)):
            labels = (y == positive).astype(np.uint8)
            run = Training(self.neuron_, inputs, labels, recipe, seed=seed, weights=self.weights_[at])
            watch = _Patience(patience, tol)
            try:
                for record in run:
                    if self.verbose and record.epoch % self.verbose == 0:
                        print(f"class {positive}: epoch {record.epoch}, training error {record.error:.4f}")
                    if watch.is_over(record.error):
                        run.stop()
            except TrainingFailed as failure:
                warnings.warn(f"class {positive}: {failure}", ConvergenceWarning, stacklevel=4)
            self.weights_[at] = run.result().weights
            most, ended = max(most, run.epochs), ended and run.epochs < max_iter
        return max(most, 1), ended


@dataclass
class _Patience:
    """Counts epochs without an improvement by more than a tolerance."""

    patience: int | None
    tol: float
    best: float = np.inf
    waited: int = 0

    def is_over(self, error: float) -> bool:
        if error < self.best - self.tol:
            self.best, self.waited = error, 0
        else:
            self.waited += 1
        return self.patience is not None and self.waited >= self.patience
