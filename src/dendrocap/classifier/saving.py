"""Classifiers in files: an .npz archive of plain arrays, of which every part is checked on loading.

Members are stored uncompressed. No member can therefore be larger than the file.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dendrocap.classifier.encoding import VACANT, Encoder
from dendrocap.classifier.wiring import made_neuron, nonlinearity_of
from dendrocap.errors import InvalidParameter
from dendrocap.files import read_arrays, reading, write_arrays
from dendrocap.learning import FlooredSlope, Lorentzian, SlopeOf, Surrogate, TrueSlope
from dendrocap.model import Inhibition, Nonlinearity
from dendrocap.model.flat import flat_nonlinearity, nonlinearity_from_flat
from dendrocap.validation import real_number, whole_number

if TYPE_CHECKING:
    from dendrocap.classifier.classifier import DendriticClassifier

    Classifier = TypeVar("Classifier", bound=DendriticClassifier)

FORMAT = 2

SURROGATES = {kind.__name__: kind for kind in (Lorentzian, FlooredSlope, TrueSlope)}


def write_classifier(classifier: DendriticClassifier, path: str | Path) -> None:
    """Write a fitted classifier."""
    if classifier.classes_.dtype.kind not in "biufU":
        raise InvalidParameter(
            f"classes_ = {classifier.classes_} is not allowed: only numbers and strings can be saved"
        )
    encoder, seeds = classifier._encoder, classifier._seeds
    about = {
        "format": FORMAT,
        "parameters": {name: _plain(name, value) for name, value in classifier.get_params(deep=False).items()},
        "n_features_in_": int(classifier.n_features_in_),
        "n_iter_": int(classifier.n_iter_),
        "theta_d_": classifier.theta_d_,
        "learning_rate_": classifier.learning_rate_,
        "seed": {"entropy": seeds.entropy, "spawned": seeds.n_children_spawned},
    }
    arrays: dict[str, Any] = {
        **{name: getattr(classifier, f"{name}_") for name in ("weights", "wiring", "classes")},
        "columns": encoder.columns,
        "thresholds": encoder.thresholds,
    }
    if hasattr(classifier, "feature_names_in_"):
        arrays["feature_names"] = classifier.feature_names_in_.astype(str)
    write_arrays(path, about, arrays)


def _plain(name: str, value: Any) -> Any:
    """A parameter as a JSON value."""
    if name == "random_state" and not isinstance(value, int | np.integer):
        return None  # the state of a generator is not a parameter; the seed drawn from it is saved
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {"items": [[_plain(name, key), _plain(name, weight)] for key, weight in value.items()]}
    if isinstance(value, Inhibition):
        return asdict(value)
    if isinstance(value, Nonlinearity):
        return flat_nonlinearity(value)
    if isinstance(value, SlopeOf):
        return {"surrogate": "SlopeOf", **flat_nonlinearity(value.nonlinearity)}
    if type(value) in SURROGATES.values():
        return {"surrogate": type(value).__name__, **asdict(value)}
    if isinstance(value, Surrogate):
        raise InvalidParameter(f"surrogate = {value!r} is not allowed: only surrogates of dendrocap can be saved")
    return value


def _parameter(name: str, plain: Any) -> Any:
    """The parameter described by a result of `_plain`."""
    if name == "nonlinearity" and isinstance(plain, dict):
        return nonlinearity_from_flat(plain)
    if name == "surrogate" and plain is not None:
        shape = {key: value for key, value in plain.items() if key != "surrogate"}
        if plain["surrogate"] == "SlopeOf":
            return SlopeOf(nonlinearity_from_flat(shape))
        return SURROGATES[plain["surrogate"]](**shape)
    if name == "inhibition" and plain is not None:
        return Inhibition(**plain)
    if name == "class_weight" and isinstance(plain, dict):
        return dict(plain["items"])
    return np.array(plain) if name == "wiring" and isinstance(plain, list) else plain


def read_classifier(cls: type[Classifier], path: str | Path) -> Classifier:
    """Read a classifier from a file; raises `CorruptData` with the reason if the file is damaged."""
    what = "a saved DendriticClassifier"
    about, arrays = read_arrays(path, what, FORMAT)
    with reading(path, what):
        parameters = {name: _parameter(name, plain) for name, plain in about["parameters"].items()}
        classifier = cls(**parameters)
        n_features = whole_number("n_features_in_", about["n_features_in_"], 1)
        classifier.n_features_in_, classifier.n_iter_ = n_features, whole_number("n_iter_", about["n_iter_"], 0)
        for name in ("theta_d_", "learning_rate_"):
            setattr(classifier, name, real_number(name, about[name], 0.0))
        entropy, spawned = (whole_number(name, about["seed"][name], 0) for name in ("entropy", "spawned"))
        classifier._seeds = np.random.SeedSequence(entropy, n_children_spawned=spawned)
        classifier._encoder = Encoder(classifier.binarize, n_features, arrays["columns"], arrays["thresholds"])
        classifier.classes_ = _classes(arrays["classes"])
        _check_synapses(classifier, arrays["weights"], arrays["wiring"])
        classifier.weights_, classifier.wiring_ = arrays["weights"], arrays["wiring"]
        g = nonlinearity_of(classifier.nonlinearity)
        _, n_branches, size = classifier.wiring_.shape
        neuron = made_neuron(g, classifier.theta_d_, classifier.theta_s, n_branches, size, classifier.inhibition)
        classifier.neuron_ = neuron
        for one in classifier.weights_:
            neuron.flat_weights(one)  # raises for weights of the wrong sign
        if "feature_names" in arrays:
            names = arrays["feature_names"]
            if names.shape != (n_features,) or names.dtype.kind != "U" or len(np.unique(names)) != n_features:
                raise ValueError(f"feature_names are not {n_features} different names")
            classifier.feature_names_in_ = names.astype(object)
    return classifier


def _classes(classes: NDArray[Any]) -> NDArray[Any]:
    if classes.ndim != 1 or len(classes) < 2 or classes.dtype.kind not in "biufU":
        raise ValueError(f"classes of shape {classes.shape} and type {classes.dtype} are not two or more labels")
    if not np.array_equal(np.unique(classes), classes):
        raise ValueError("classes are not sorted or not distinct")
    return classes


def _check_synapses(classifier: DendriticClassifier, weights: NDArray[Any], wiring: NDArray[Any]) -> None:
    n_outputs = 1 if len(classifier.classes_) == 2 else len(classifier.classes_)
    n_neurons = n_outputs * whole_number("n_neurons", classifier.n_neurons, 1)
    if weights.dtype != np.float64 or weights.ndim != 3 or len(weights) != n_neurons or weights.size == 0:
        raise ValueError(f"weights of shape {weights.shape} do not fit {n_neurons} neuron(s)")
    if not np.isfinite(weights).all():
        raise ValueError("weights are not all finite")
    if wiring.dtype != np.int64 or wiring.shape != weights.shape:
        raise ValueError(f"wiring of shape {wiring.shape} and type {wiring.dtype} does not fit the weights")
    if wiring.min() < VACANT or wiring.max() >= classifier._encoder.n_inputs:
        raise ValueError(f"wiring refers to inputs beyond the {classifier._encoder.n_inputs} of the encoding")
    if np.any(weights[wiring == VACANT] != 0.0):
        raise ValueError("weights are not zero where there is no synapse")
