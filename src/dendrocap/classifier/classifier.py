"""The dendritic neuron as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dendrocap.classifier.encoding import VACANT, Comparisons, Encoder, fitted_encoder
from dendrocap.classifier.learner import Learned, Lesson, learn
from dendrocap.classifier.saving import read_classifier, write_classifier
from dendrocap.classifier.wiring import (
    COMBINATIONS,
    Labelled,
    checked_weights,
    combined,
    correlated_order,
    first_weights,
    made_neuron,
    made_recipe,
    nonlinearity_of,
    probabilities,
    usual_rate,
    usual_theta_d,
    wired,
    with_class_weights,
    workers_of,
)
from dendrocap.learning import EpochRecord, Surrogate
from dendrocap.learning.protocols import in_parallel
from dendrocap.model import DendriticNeuron, Inhibition, Nonlinearity
from dendrocap.numerics.types import Floats
from dendrocap.validation import choice, real_number, refuse, whole_number

if TYPE_CHECKING:
    import pandas as pd

# Descriptions of the synapses and branches of a classifier.


class Readout:
    """Weights in terms of inputs: branch inputs of samples, tables, receptive fields.

    ``weights`` and ``wiring``, the weight and input of every synapse, have shape (n_neurons, n_branches, branch_size).
    """

    def __init__(self, neuron: DendriticNeuron, encoder: Encoder, weights: Floats, wiring: NDArray[np.int64]) -> None:
        self.neuron, self.encoder, self.weights, self.wiring = neuron, encoder, weights, wiring

    def branch_input(self, samples: Comparisons, above: Any, below: Any) -> Floats:
        """lambda_l of a block of samples, shape (n_samples, n_neurons, n_branches) [model]."""
        by_input = self._by_input
        root = np.sqrt(self.neuron.branch_size)
        if below is None:
            sums = above.astype(np.float64) @ by_input[0]
        elif not samples.has_missing:
            # A complement is 1 - comparison, so one matrix product serves both.
            sums = above.astype(np.float64) @ (by_input[0] - by_input[1]) + by_input[1].sum(axis=0)
        else:
            sums = above.astype(np.float64) @ by_input[0] + below.astype(np.float64) @ by_input[1]
        return np.asarray(sums.reshape(len(above), *self.weights.shape[:2]) / root - root * self.neuron.thresholds)

    def somatic_input(self, samples: Comparisons) -> Floats:
        """Delta of every sample and neuron, shape (n_samples, n_neurons) [model]."""
        root = np.sqrt(self.neuron.n_branches)
        result = np.empty((len(samples), len(self.weights)))
        for rows, above, below in samples.blocks():
            outputs = self.neuron.nonlinearity(self.branch_input(samples, above, below))
            result[rows] = outputs.sum(axis=2) / root - root * self.neuron.spec.theta_s
        return result

    def branch_output(self, samples: Comparisons) -> Floats:
        """g(lambda_l) of every sample, shape (n_samples, n_neurons, n_branches)."""
        result = np.empty((len(samples), *self.weights.shape[:2]))
        for rows, above, below in samples.blocks():
            result[rows] = self.neuron.nonlinearity(self.branch_input(samples, above, below))
        return result

    @cached_property
    def _by_input(self) -> Floats:
        """Weight of every input on every branch: comparisons, then complements, each (n_comparisons, all branches)."""
        n_neurons, n_branches, size = self.weights.shape
        table = np.zeros((self.encoder.n_inputs, n_neurons * n_branches))
        column = np.repeat(np.arange(n_neurons * n_branches), size)
        taken = self.wiring.ravel() != VACANT
        np.add.at(table, (self.wiring.ravel()[taken], column[taken]), self.weights.ravel()[taken])
        shape = (len(self.encoder.columns), self.encoder.per_comparison, -1)
        return np.ascontiguousarray(table.reshape(shape).transpose(1, 0, 2))

    def synapses(self, classes: NDArray[Any], names: NDArray[Any]) -> pd.DataFrame:
        """One row per synapse: neuron, its class, branch, feature, threshold, complement, weight."""
        import pandas as pd

        neuron, branch, place = np.nonzero(self.wiring != VACANT)
        inputs = self.wiring[neuron, branch, place]
        return pd.DataFrame(
            {
                "neuron": neuron,
                "class": classes[neuron],
                "branch": branch,
                "feature": names[self.encoder.feature_of(inputs)],
                "threshold": self.encoder.threshold_of(inputs),
                "complement": self.encoder.is_complement(inputs),
                "weight": self.weights[neuron, branch, place],
            }
        )

    def receptive_fields(self, image_shape: tuple[int, ...]) -> Floats:
        """Weight of every pixel minus that of its complement, shape (n_neurons, n_branches, *image_shape)."""
        if int(np.prod(image_shape)) != self.encoder.n_features:
            raise refuse("image_shape", image_shape, f"a shape of {self.encoder.n_features} pixels")
        by_input = self._by_input
        signed = by_input[0] - by_input[1] if self.encoder.per_comparison == 2 else by_input[0]
        fields = np.zeros((self.encoder.n_features, signed.shape[1]))
        np.add.at(fields, self.encoder.columns, signed)
        return fields.T.reshape(*self.weights.shape[:2], *image_shape)


# Accepted features: any number type, sparse or dense, with missing values.
ACCEPTED = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": "allow-nan"}


class DendriticClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Neurons with non-linear dendrites and non-negative weights, trained on real data.

    Features become binary inputs, each with its complement. Branches sum some of the inputs and pass the sum through a
    non-linearity; the soma sums the branches. A neuron learns by stochastic gradient descent with weights clipped at
    zero. Two classes need one neuron, more classes need one neuron each (one against the rest); ``n_neurons``
    multiplies these numbers.

    Parameters
    ----------
    nonlinearity : str or Nonlinearity
        "polsky", "relu", "saturating_relu", a `Nonlinearity`, or "linear" for the linear neuron without branches.
    n_branches : int
        Number of dendritic branches; at most the number of inputs.
    branch_size : int or None
        Synapses per branch. None gives every input one synapse, or more if branches would have fewer than 32. With more
        synapses an input reaches several branches, with fewer some inputs are left out.
    n_neurons : int
        Neurons per class (in total, for two classes), each with its own wiring and initial weights.
    combine : {"mean", "vote"}
        The decision of a class is the mean somatic input of its neurons, or the number of neurons that respond.
    theta_d : float or "auto"
        Dendritic threshold. "auto" is 0.1 if half of the inputs are active, and less if fewer are.
    theta_s : float
        Somatic threshold.
    inhibition : Inhibition or None
        Inhibitory synapses, the last ones of each branch, which also learn. ``theta_d`` is then the excitatory drive;
        the inhibitory drive is at most as large.
    learning_rate : float or "auto"
        Learning rate in the first epoch. "auto" grows with the number of branches and with the size of the weights,
        which depends on the activity of the inputs.
    schedule : {"annealing", "plateau", "constant"}
        How the rate changes: "annealing" lowers it exponentially to 2 % over ``max_iter`` epochs; "plateau" halves it
        when the training error has not improved for ``n_iter_no_change`` epochs; "constant" keeps it.
    gamma_ce : float
        Steepness of the cross-entropy loss: samples with margins beyond 1 / gamma_ce hardly change the weights.
    surrogate : Surrogate or None
        Replacement for the slope of the non-linearity in the update, such as ``Lorentzian()``.
    solver : {"plain", "surrogate", "auto"}
        "plain" is gradient descent with the settings above; "surrogate" uses a surrogate slope that narrows over
        ``max_iter`` epochs, with its own rates; "auto" chooses between them by the threshold and the number of samples.
    wiring : {"random", "neighbours", "correlated"} or array of int, shape (n_branches, n)
        Which features share a branch: "random", any; "neighbours", adjacent ones; "correlated", those with strong
        correlations; or an array with a row of features for each branch, -1 for none.
    rewire : bool
        During learning, move silent synapses to random other inputs: those whose weight has stayed at zero or below a
        third of the mean of their branch.
    max_iter : int
        Maximum number of epochs.
    tol : float
        Smallest change that counts as an improvement.
    n_iter_no_change : int
        Number of epochs without improvement after which training ends, with early stopping or a constant rate.
    early_stopping : bool
        Hold out samples, stop when the accuracy on them no longer improves, and keep the weights with the best
        accuracy. Otherwise the weights with the smallest training loss are kept.
    validation_fraction : float
        Share of the samples that early stopping holds out.
    class_weight : dict, "balanced" or None
        Weights of the classes: samples are presented in proportion to them.
    binarize : {"threshold", "median", None}
        How features become binary. "threshold" compares each feature with its quantiles in the training data;
        "median" compares each feature with the median of its sample, as the paper does for images; None requires
        features that are already 0 or 1 and adds no complements.
    n_thresholds : int
        Number of quantiles per feature for "threshold"; an odd number includes the median.
    n_jobs : int or None
        Number of neurons trained in parallel threads; None is one, -1 all cores. It does not affect the result.
    random_state : int, RandomState or None
        Source of randomness of wirings, initial weights and the order of samples.
    warm_start : bool
        Whether ``fit`` continues from the weights of the previous call.
    verbose : int
        Print the error every ``verbose`` epochs; 0 prints nothing.

    Attributes
    ----------
    classes_ : array
        The class labels.
    weights_ : array, shape (n_neurons, n_branches, branch_size)
        Weights >= 0, or <= 0 for inhibitory synapses. Neuron n represents class ``n // n_neurons``; with two classes
        all neurons represent the second.
    wiring_ : array of int, of the same shape
        Input of each synapse, -1 for a vacant one; `synapses_` describes the inputs.
    synapses_ : DataFrame
        Neuron, class, branch, feature, threshold, complement and weight of every synapse.
    theta_d_, learning_rate_ : float
        Threshold and rate that were used.
    n_iter_ : int
        Number of epochs, the largest of all neurons.
    validation_scores_ : list of arrays
        Accuracy of each neuron on held-out samples, epoch by epoch, with ``early_stopping``.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DendriticClassifier(random_state=0).fit(X, y)
    >>> bool(classifier.score(X, y) > 0.9), bool((classifier.weights_ >= 0).all())
    (True, True)
    >>> classifier.synapses_.columns.tolist()
    ['neuron', 'class', 'branch', 'feature', 'threshold', 'complement', 'weight']
    """

    classes_: NDArray[Any]
    weights_: Floats
    wiring_: NDArray[np.int64]
    theta_d_: float
    learning_rate_: float
    n_iter_: int
    neuron_: DendriticNeuron
    _encoder: Encoder
    _seeds: np.random.SeedSequence

    def __init__(
        self,
        nonlinearity: str | Nonlinearity = "polsky",
        *,
        n_branches: int = 16,
        branch_size: int | None = None,
        n_neurons: int = 1,
        combine: str = "mean",
        theta_d: float | str = "auto",
        theta_s: float = 0.5,
        inhibition: Inhibition | None = None,
        learning_rate: float | str = "auto",
        schedule: str = "annealing",
        gamma_ce: float = 2.5,
        surrogate: Surrogate | None = None,
        solver: str = "plain",
        wiring: Any = "random",
        rewire: bool = False,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_iter_no_change: int = 20,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        class_weight: Any = None,
        binarize: str | None = "threshold",
        n_thresholds: int = 7,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        # Each parameter becomes an attribute of the same name, unchanged, as scikit-learn asks.
        self.__dict__.update({name: given for name, given in locals().items() if name != "self"})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the labels of all samples.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_samples, n_features)
            Features; NaN is a missing value.
        y : array, shape (n_samples,)
            Class labels, at least two different ones.
        sample_weight : array, shape (n_samples,), optional
            Weights of the samples; a weight of 2 is equivalent to a duplicate. Weights with a mean outside [0.1, 10]
            are rescaled to this range.
        """
        again = self.warm_start and hasattr(self, "weights_")
        X, y, weight = self._checked(X, y, sample_weight, first=not again)
        classes, labels = np.unique(y, return_inverse=True)
        if again and not np.array_equal(classes, self.classes_):
            raise ValueError(f"warm_start needs the classes of the previous fit, {self.classes_}, not {classes}")
        if not again:
            self._begin(classes)
        weight = with_class_weights(self.class_weight, classes, labels, weight)
        training, held_out = self._split(labels)
        inputs = self._encoder(X) if again else self._prepare(X, weight, training)
        samples = Labelled(inputs, labels, weight)
        limit = whole_number("max_iter", self.max_iter, 1)
        outside = samples.rows(held_out) if self.early_stopping else None
        samples = (samples.rows(training) if self.early_stopping else samples).in_order()
        outcomes = self._train(samples, outside, limit)
        self.n_iter_ = max(one.n_iter for one in outcomes)
        if self.early_stopping:
            self.validation_scores_ = [np.array(one.scores) for one in outcomes]
        if self.schedule != "annealing" and not all(one.by_itself for one in outcomes):
            warnings.warn(
                f"training stopped at max_iter={limit} epochs while it was still improving",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn one epoch of these samples at the initial rate, starting from the state after the previous call.

        The first call fixes thresholds and wiring; it needs ``classes`` unless its ``y`` contains all of them.
        """
        first = not hasattr(self, "weights_")
        X, y, weight = self._checked(X, y, sample_weight, first=first)
        if first:
            self._begin(np.unique(y if classes is None else np.asarray(classes)))
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(f"y contains {y[unknown][0]!r}, which is not in classes = {self.classes_}")
        labels = np.searchsorted(self.classes_, y)
        weight = with_class_weights(self.class_weight, self.classes_, labels, weight)
        inputs = self._prepare(X, weight, np.arange(X.shape[0])) if first else self._encoder(X)
        self.n_iter_ = 0 if first else self.n_iter_
        self._train(Labelled(inputs, labels, weight).in_order(), None, 1, online=True)
        self.n_iter_ += 1
        return self

    def decision_function(self, X: Any) -> Floats:
        """Mean somatic input, or votes, of the neurons of each class (two classes: positive means ``classes_[1]``)."""
        decision = combined(self._readout().somatic_input(self._samples(X)), self._per_class, self.combine)
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each sample: the class with the largest decision."""
        decision = self.decision_function(X)
        chosen = (decision > 0.0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities according to the loss: softmax of 2 gamma_ce times the somatic inputs.

        For two classes and one neuron this is the probability whose negative logarithm is minimised in training. It
        ranks samples well but is not calibrated; wrap the classifier in `CalibratedClassifierCV` if that matters. With
        ``combine="vote"`` probabilities are shares of votes.
        """
        return probabilities(self.decision_function(X), self.gamma_ce, self.combine)

    def branch_activity(self, X: Any) -> Floats:
        """Output g of every branch, shape (n_samples, n_neurons, n_branches)."""
        return self._readout().branch_output(self._samples(X))

    @property
    def synapses_(self) -> pd.DataFrame:
        """Neuron, class, branch, feature, threshold, complement and weight of every synapse.

        A synapse is active if its feature is above the threshold or, for a complement, if it is not. The threshold is
        NaN if features are compared with the median of their sample, or are binary.
        """
        readout = self._readout()
        positives = np.repeat(self.classes_[self._positives], self._per_class)
        plain = np.array([f"x{at}" for at in range(self.n_features_in_)], dtype=object)
        return readout.synapses(positives, getattr(self, "feature_names_in_", plain))

    def receptive_fields(self, image_shape: tuple[int, ...]) -> Floats:
        """Weights of pixels minus those of their complements, one image for each neuron and branch."""
        return self._readout().receptive_fields(image_shape)

    def plot_branches(
        self,
        neuron: int = 0,
        *,
        image_shape: tuple[int, ...] | None = None,
        n_features: int = 15,
        figure: Any = None,
    ) -> Any:
        """Plot the features of the branches of one neuron: an image for each, or a table of the strongest features.

        With ``image_shape`` the receptive field of each branch is an image; otherwise ``n_features`` of largest total
        weight are shown. By default the figure is new.
        """
        from dendrocap.figures import theory

        synapses = self.synapses_
        of_class = synapses["class"][synapses["neuron"] == whole_number("neuron", neuron, 0, len(self.weights_) - 1)]
        title = f"neuron {neuron}, for class {of_class.iloc[0]}"
        if image_shape is not None:
            return theory.receptive_fields(self.receptive_fields(image_shape)[neuron], title=title, figure=figure)
        rows = synapses[synapses["neuron"] == neuron]
        return theory.branch_weights(rows, title=title, n_features=n_features, figure=figure)

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to an .npz file, without pickle; `load` reads it."""
        check_is_fitted(self)
        write_classifier(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a classifier written by `save`; it continues learning exactly as the saved one would."""
        return read_classifier(cls, path)

    def _checked(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, first: bool
    ) -> tuple[Any, NDArray[Any], Floats | None]:
        """Checked samples, labels and weights, without samples of weight zero."""
        X, labels = validate_data(self, X, y, reset=first, **ACCEPTED)
        check_classification_targets(labels)
        weight = checked_weights(sample_weight, X.shape[0])
        if weight is not None and not weight.all():
            used = weight > 0.0
            X, labels, weight = X[used], labels[used], weight[used]
        return X, labels, weight

    def _begin(self, classes: NDArray[Any]) -> None:
        """Set the classes and a new random generator."""
        if len(classes) < 2:
            raise ValueError(f"DendriticClassifier needs at least two classes; the data has one class, {classes}")
        self.classes_ = classes
        random = check_random_state(self.random_state)
        self._seeds = np.random.SeedSequence(int(random.randint(2**31 - 1)))

    def _split(self, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Indices of training samples and of held-out samples."""
        everything = np.arange(len(labels))
        if not self.early_stopping:
            return everything, everything[:0]
        fraction = real_number("validation_fraction", self.validation_fraction, 0.0, 1.0, low_open=True, high_open=True)
        seed = int(self._seeds.spawn(1)[0].generate_state(1)[0])
        try:
            training, held_out = train_test_split(everything, test_size=fraction, stratify=labels, random_state=seed)
        except ValueError as error:
            enough = "large enough to hold out a sample of every class, with two in each; or use early_stopping=False"
            raise refuse("validation_fraction", fraction, f"{enough} ({error})") from None
        return np.sort(training), np.sort(held_out)

    def _prepare(self, X: Any, weight: Floats | None, training: NDArray[np.int64]) -> Comparisons:
        """Fix the encoding and the neuron, which do not change during learning; draw wirings and initial weights.

        Returns the encoded samples.
        """
        used = np.zeros(X.shape[0])
        used[training] = 1.0 if weight is None else weight[training]
        self._encoder = fitted_encoder(self.binarize, X, whole_number("n_thresholds", self.n_thresholds, 1), used)
        inputs = self._encoder(X)
        activity = inputs.activity(used)
        choice("combine", self.combine, COMBINATIONS)
        g = nonlinearity_of(self.nonlinearity)
        n_neurons = len(self._positives) * whole_number("n_neurons", self.n_neurons, 1)
        common, *seeds = self._seeds.spawn(1 + n_neurons)
        similar = isinstance(self.wiring, str) and self.wiring == "correlated"
        order = correlated_order(X, np.random.default_rng(common)) if similar else None
        sources = [np.random.default_rng(seed) for seed in seeds]
        n_branches = 1 if g.name == "linear" else self.n_branches
        shape = (n_branches, self.branch_size, order)
        self.wiring_ = np.stack([wired(self.wiring, self._encoder, *shape, rng) for rng in sources])
        if g.name == "linear":
            self.wiring_ = self.wiring_.reshape(n_neurons, 1, -1)
        mean = float(activity.mean())
        self.theta_d_ = self._number_or("theta_d", usual_theta_d(mean))
        self.learning_rate_ = self._number_or("learning_rate", usual_rate(mean, self.wiring_.shape[1]))
        _, n_branches, size = self.wiring_.shape
        self.neuron_ = made_neuron(g, self.theta_d_, self.theta_s, n_branches, size, self.inhibition)
        self.weights_ = np.stack(
            [first_weights(one, activity, self.neuron_, rng) for one, rng in zip(self.wiring_, sources, strict=True)]
        )
        return inputs

    @property
    def _positives(self) -> list[int]:
        """Indices of the classes that neurons represent: the second of two, or all."""
        return [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

    @property
    def _per_class(self) -> int:
        """Number of neurons for each of them, even if ``n_neurons`` was changed for another fit."""
        return len(self.weights_) // len(self._positives)

    def _number_or(self, name: str, usual: float) -> float:
        given = getattr(self, name)
        if isinstance(given, str) and given == "auto":
            return usual
        return real_number(name, given, 0.0)

    def _samples(self, X: Any) -> Comparisons:
        check_is_fitted(self)
        return self._encoder(validate_data(self, X, reset=False, **ACCEPTED))

    def _readout(self) -> Readout:
        check_is_fitted(self)
        return Readout(self.neuron_, self._encoder, self.weights_, self.wiring_)

    def _train(
        self, samples: Labelled, held_out: Labelled | None, max_iter: int, *, online: bool = False
    ) -> list[Learned]:
        """Train every neuron, several in parallel, and store the results."""
        patience = whole_number("n_iter_no_change", self.n_iter_no_change, 1)
        schedule = "constant" if online else self.schedule
        recipe = made_recipe(
            self.neuron_,
            len(samples.labels),
            solver="plain" if online else self.solver,
            learning_rate=self.learning_rate_,
            gamma_ce=self.gamma_ce,
            surrogate=self.surrogate,
            schedule=schedule,
            patience=patience,
            max_iter=max_iter,
        )
        if self.rewire and recipe.algorithm.restarts:
            raise refuse("rewire", self.rewire, "False with solver='surrogate', which cannot be interrupted")
        lesson = Lesson(
            self.neuron_,
            recipe,
            samples,
            held_out,
            gamma_ce=self.gamma_ce,
            patience=patience if held_out is not None or (schedule == "constant" and not online) else None,
            tol=real_number("tol", self.tol, 0.0),
            rewire=bool(self.rewire),
        )
        seeds = self._seeds.spawn(len(self.weights_))

        def train_one(at: int, stop: Any) -> Learned:
            positive = self._positives[at // self._per_class]

            def report(record: EpochRecord) -> bool:
                if self.verbose and record.epoch % self.verbose == 0:
                    where = f"class {self.classes_[positive]}, neuron {at}"
                    print(f"{where}: epoch {record.epoch}, training error {record.error:.4f}")
                return bool(stop(record))

            return learn(lesson, positive, self.wiring_[at], self.weights_[at], seeds[at], report)

        outcomes = in_parallel(train_one, range(len(seeds)), workers=workers_of(self.n_jobs))
        self.weights_ = np.stack([one.weights for one in outcomes])
        self.wiring_ = np.stack([one.wiring for one in outcomes])
        for failure in dict.fromkeys(one.failure for one in outcomes if one.failure):
            warnings.warn(failure, ConvergenceWarning, stacklevel=3)
        return outcomes
