"""The scikit-learn face of the neuron."""

import io
import json
import warnings

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from dendrocap import Custom, InvalidParameter, Polsky, Tabulated
from dendrocap.encoding import fitted_encoder
from dendrocap.errors import CorruptData
from dendrocap.estimator import DendriticClassifier

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


def quick(**parameters):
    return DendriticClassifier(**({"random_state": 0, "max_iter": 300} | parameters))


def test_scikit_learn_finds_nothing_to_complain_about():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = check_estimator(DendriticClassifier(), on_skip=None)
    # The only check that may be skipped needs an environment variable for array API input.
    assert {outcome["check_name"] for outcome in outcomes if outcome["status"] != "passed"} <= {"check_array_api_input"}
    assert len(outcomes) > 40


@pytest.mark.parametrize("nonlinearity", ["polsky", "linear", "relu", Tabulated([0, 0.3, 0.6], [0, 0.3, 1.0])])
def test_learns_two_and_three_classes(nonlinearity):
    for X, y in (IRIS, CANCER):
        classifier = quick(nonlinearity=nonlinearity).fit(X, y)
        # Better than the majority by far; the constant answer scores 0.33 and 0.63.
        assert classifier.score(X, y) > 0.9
        assert np.all(classifier.weights_ >= 0)
        assert classifier.weights_.shape[0] == (1 if len(classifier.classes_) == 2 else 3)


def test_answers_belong_together():
    X, y = IRIS
    classifier = quick().fit(X, y)
    decision, proba, answers = classifier.decision_function(X), classifier.predict_proba(X), classifier.predict(X)
    assert_array_equal(classifier.classes_[decision.argmax(axis=1)], answers)
    assert_array_equal(classifier.classes_[proba.argmax(axis=1)], answers)
    assert_allclose(proba.sum(axis=1), 1.0)
    names = np.array(["setosa", "versicolor", "virginica"])
    assert_array_equal(quick().fit(X, names[y]).predict(X), names[answers])


def test_probability_is_that_of_the_loss():
    X, y = CANCER
    classifier = quick(gamma_ce=2.0).fit(X, y)
    delta = classifier.decision_function(X)
    # the cross-entropy of a pattern is -ln(p) / (2 gamma_ce)
    from dendrocap.learning import cross_entropy

    p = classifier.predict_proba(X)[np.arange(len(y)), y]
    assert_allclose(-np.log(p) / 4.0, cross_entropy(np.where(y == 1, 1, -1) * delta, 2.0), rtol=1e-6, atol=1e-12)


def test_same_seed_same_weights_also_in_parallel():
    X, y = CANCER
    one, other = quick().fit(X, y), quick().fit(X, y)
    assert_array_equal(one.weights_, other.weights_)
    assert not np.array_equal(one.weights_, quick(random_state=1).fit(X, y).weights_)
    alone = cross_val_score(quick(), X, y, cv=3)
    together = joblib.Parallel(n_jobs=2)(joblib.delayed(cross_val_score)(quick(), X, y, cv=3) for _ in range(2))
    assert_array_equal(together[0], alone)


def test_pipelines_grids_and_clones():
    X, y = IRIS
    pipeline = make_pipeline(StandardScaler(), quick())
    search = GridSearchCV(pipeline, {"dendriticclassifier__n_branches": [2, 5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85
    copy = clone(quick(nonlinearity=Polsky(gamma=20.0)))
    assert copy.nonlinearity == Polsky(gamma=20.0)


def test_warm_start_and_partial_fit_go_on():
    X, y = CANCER
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        classifier = quick(warm_start=True, max_iter=1, tol=0.0).fit(X, y)
    first = classifier.score(X, y)
    classifier.set_params(max_iter=300).fit(X, y)
    assert classifier.score(X, y) > first
    stepwise = quick()
    for _ in range(30):
        stepwise.partial_fit(X, y, classes=[0, 1])
    assert stepwise.n_iter_ == 30
    assert stepwise.score(X, y) > 0.9
    with pytest.raises(ValueError, match="not in classes"):
        stepwise.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="warm_start"):
        classifier.fit(X, y + 5)


def test_saving_without_pickle(tmp_path):
    X, y = IRIS
    for nonlinearity in ("polsky", Polsky(0.2, 20.0), Tabulated([0, 1], [0, 1], above="linear")):
        classifier = quick(nonlinearity=nonlinearity).fit(X, np.array(["a", "b", "c"])[y])
        classifier.save(tmp_path / "c.npz")
        with np.load(tmp_path / "c.npz", allow_pickle=False) as stored:
            assert json.loads(str(stored["about"]))["format"] == 1
        loaded = DendriticClassifier.load(tmp_path / "c.npz")
        assert_array_equal(loaded.decision_function(X), classifier.decision_function(X))
        assert_array_equal(loaded.predict(X), classifier.predict(X))
        assert loaded.get_params() == classifier.get_params()
    with pytest.raises(NotFittedError):
        quick().save(tmp_path / "no.npz")
    with pytest.raises(InvalidParameter, match="Python function"):
        quick(nonlinearity=Custom(np.tanh), theta_s=0.3).fit(X, y).save(tmp_path / "no.npz")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 not a zip"])
def test_files_that_are_no_classifier_are_refused(tmp_path, content):
    path = tmp_path / "c.npz"
    path.write_bytes(content)
    with pytest.raises(CorruptData, match=r"c\.npz"):
        DendriticClassifier.load(path)
    stream = io.BytesIO()
    np.savez(stream, about=np.array(json.dumps({"format": 99})), weights=np.zeros(1), classes=np.zeros(1))
    path.write_bytes(stream.getvalue())
    with pytest.raises(CorruptData, match="newer version"):
        DendriticClassifier.load(path)


def test_encodings(rng):
    X = rng.normal(size=(40, 3))
    for kind, n_inputs in (("threshold", 2 * 3 * 4), ("median", 6)):
        encoder = fitted_encoder(kind, X, 4, rng)
        bits = encoder(X)
        assert bits.shape == (40, n_inputs)
        assert_array_equal(bits[:, 0::2] + bits[:, 1::2], 1)
    binary = (X > 0).astype(float)
    plain = fitted_encoder(None, binary, 4, rng)
    assert_array_equal(plain(binary), binary[:, plain.columns])
    with pytest.raises(InvalidParameter, match="binarize=None"):
        plain(X)
    constant = np.column_stack([np.full(40, 2.0), X[:, 0]])
    assert fitted_encoder("threshold", constant, 4, rng).n_inputs == 2 * (1 + 4)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"binarize": "otsu"}, ["binarize", "'otsu'"]),
        ({"schedule": "cosine"}, ["schedule", "'cosine'"]),
        ({"nonlinearity": "sigmoid"}, ["'sigmoid'"]),
        ({"nonlinearity": 3}, ["nonlinearity = 3"]),
        ({"n_branches": 0}, ["n_branches = 0"]),
        ({"theta_d": -1.0}, ["theta_d = -1.0"]),
        ({"learning_rate": 0.0}, ["learning_rate = 0.0"]),
        ({"max_iter": 0}, ["max_iter = 0"]),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    with pytest.raises(InvalidParameter) as caught:
        quick(**parameters).fit(*IRIS)
    for word in words:
        assert word in str(caught.value)


def test_progress_is_printed_when_asked(capsys):
    quick(verbose=1, max_iter=50).fit(*CANCER)
    assert "epoch 1, training error" in capsys.readouterr().out
