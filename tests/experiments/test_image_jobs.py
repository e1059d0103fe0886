"""Images as a job: the same as by hand, with the seed of the cell."""

from dataclasses import replace

from dendrocap.experiments import Sweep
from dendrocap.experiments.cells import run_cell
from dendrocap.experiments.generalise import RECIPE, generalise
from dendrocap.experiments.jobs import check


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
