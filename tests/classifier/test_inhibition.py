"""The classifier with inhibitory synapses: signs, drives, saving, refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris

from dendrocap import Inhibition, InvalidParameter, Lorentzian
from dendrocap.classifier import DendriticClassifier
from dendrocap.classifier.encoding import VACANT
from dendrocap.errors import CorruptData

IRIS = load_iris(return_X_y=True)
INHIBITION = Inhibition(share=0.25, drive=0.05)


def quick(**parameters):
    settings = {"random_state": 0, "max_iter": 60, "inhibition": INHIBITION}
    return DendriticClassifier(**(settings | parameters))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"rewire": True, "n_neurons": 2},
        {"solver": "surrogate"},
        {"surrogate": Lorentzian(), "nonlinearity": "relu"},
        {"nonlinearity": "linear"},
        {"branch_size": 20},
    ],
    ids=repr,
)
def test_it_learns_with_weights_of_the_right_sign(parameters):
    X, y = IRIS
    classifier = quick(**parameters).fit(X, y)
    assert classifier.score(X, y) > 0.9
    mask = classifier.neuron_.inhibitory.reshape(classifier.weights_.shape[1:])
    assert mask.mean() == pytest.approx(0.25, abs=0.02)
    assert np.all(classifier.weights_[:, mask] <= 0.0)
    assert np.any(classifier.weights_[:, mask] < 0.0)
    assert np.all(classifier.weights_[:, ~mask] >= 0.0)
    samples = classifier._encoder(X)
    alone = [
        classifier.neuron_.somatic_input(weights, samples.inputs(wiring))
        for weights, wiring in zip(classifier.weights_, classifier.wiring_, strict=True)
    ]
    by_class = np.stack(alone, axis=1).reshape(len(X), 3, -1).mean(axis=2)
    assert_allclose(classifier.decision_function(X), by_class, atol=1e-12)


def test_inhibition_keeps_its_drive_on_every_branch():
    X, y = load_breast_cancer(return_X_y=True)
    classifier = quick(binarize="threshold").fit(X, y)
    activity = classifier._encoder(X).activity(np.ones(len(X)))
    taken = classifier.wiring_ != VACANT
    drive = np.where(taken, activity[np.maximum(classifier.wiring_, 0)], 0.0) * classifier.weights_
    mask = classifier.neuron_.inhibitory.reshape(classifier.weights_.shape[1:])
    per_branch = -(drive * mask).sum(axis=2) / classifier.weights_.shape[2]
    assert_allclose(per_branch, INHIBITION.drive, rtol=1e-5)  # rounding of float32


def test_saving_keeps_inhibition_and_refuses_wrong_signs(tmp_path):
    X, y = IRIS
    classifier = quick().fit(X, y)
    classifier.save(tmp_path / "c.npz")
    loaded = DendriticClassifier.load(tmp_path / "c.npz")
    assert loaded.inhibition == INHIBITION
    assert_array_equal(loaded.decision_function(X), classifier.decision_function(X))
    classifier.weights_ = np.abs(classifier.weights_)
    classifier.save(tmp_path / "c.npz")
    with pytest.raises(CorruptData, match="inhibitory"):
        DendriticClassifier.load(tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("inhibition", "words"),
    [
        (Inhibition(0.2, 5.0), ["inhibition.drive = 5.0", "theta_d = 0.1"]),
        (Inhibition(0.2, 0.05, f_in=0.3), ["inhibition.f_in = 0.3", "from the data"]),
        (0.2, ["inhibition = 0.2", "an Inhibition"]),
    ],
)
def test_bad_inhibition_is_named(inhibition, words):
    with pytest.raises(InvalidParameter) as caught:
        quick(inhibition=inhibition).fit(*IRIS)
    for word in words:
        assert word in str(caught.value)
