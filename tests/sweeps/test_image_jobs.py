"""Images as a job: the same as by hand, with the seed of the cell."""

from dataclasses import replace

import numpy as np
import pytest

from dendrocap.datasets import binary_set
from dendrocap.errors import InvalidParameter
from dendrocap.sweeps import Sweep
from dendrocap.sweeps.jobs import check
from dendrocap.sweeps.library import RECIPE, generalise, positive_logistic
from dendrocap.sweeps.process import run_cell


def test_generalise_compares_both_neurons(small_sets):
    sweep = Sweep("generalise", parameters={"dataset": "mnist", "n_branches": 7, "max_epochs": 3, "n_train": 20})
    check(sweep)
    (cell,) = sweep
    outcome = run_cell(cell)
    assert outcome.status == "done", outcome.traceback
    recipe = replace(RECIPE, max_epochs=3)
    dendritic, linear = generalise("mnist", recipe=recipe, n_branches=7, seeds=[0], n_train=20, workers=1)
    assert outcome.metrics["epochs"] == [1, 2, 3]
    assert outcome.metrics["dendritic_test_error"] == dendritic.test_error.tolist()
    assert outcome.metrics["linear_train_error"] == linear.train_error.tolist()
    assert outcome.metrics["linear_balanced_test_error"] == linear.balanced_test_error.tolist()


def test_one_neuron_on_images_is_one_side_of_the_comparison(small_sets):
    both = {"dataset": "mnist", "max_epochs": 3, "n_train": 20}
    dendritic, linear = generalise(
        "mnist", recipe=replace(RECIPE, max_epochs=3), n_branches=7, seeds=[0], n_train=20, workers=1
    )
    one = only("image_error", **both, n_branches=7)
    other = only("image_error", **both, nonlinearity="linear", learning_rate=0.1, gamma_ce=10.0)
    assert one["test_error"] == dendritic.test_error.tolist()
    assert other["test_error"] == linear.test_error.tolist()
    assert other["balanced_test_error"] == linear.balanced_test_error.tolist()


def test_held_out_images_are_training_images_that_take_no_part_in_training():
    digits = binary_set("digits", rng=0)
    inner = digits.held_out(0.25)
    assert np.array_equal(np.vstack([inner.inputs.bits, inner.test_inputs.bits]), digits.inputs.bits)
    assert np.array_equal(np.concatenate([inner.labels, inner.test_labels]), digits.labels)
    how = {"dataset": "digits", "n_branches": 4, "max_epochs": 2, "every": 2}
    assert only("image_error", **how) != only("image_error", **how, held_out=0.25)
    with pytest.raises(InvalidParameter, match="share"):
        digits.held_out(1.0)


def test_logistic_regression_sees_the_same_images():
    digits = binary_set("digits", rng=0)
    fitted = positive_logistic(digits.inputs.unpack(), digits.labels, penalty=10.0)
    found = only("image_logistic", dataset="digits", penalty=10.0)
    assert found["test_error"] == np.mean(fitted.predict(digits.test_inputs.unpack()) != digits.test_labels)
    assert found["train_error"] < found["test_error"]


def only(job, **parameters):
    sweep = Sweep(job, parameters=parameters)
    check(sweep)
    (cell,) = sweep
    outcome = run_cell(cell)
    assert outcome.status == "done", outcome.traceback
    return outcome.metrics
