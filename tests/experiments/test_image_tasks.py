"""Images as a task: the same as by hand, with the randomness of the cell."""

from dendrocap.experiments import Sweep
from dendrocap.experiments.cells import run_cell
from dendrocap.experiments.generalisation import generalise
from dendrocap.experiments.tasks import check


def test_generalise_compares_both_neurons(small_sets):
    sweep = Sweep("generalise", parameters={"dataset": "mnist", "n_branches": 7, "max_epochs": 3, "n_train": 20})
    check(sweep)
    (cell,) = sweep
    outcome = run_cell(cell)
    assert outcome.status == "done", outcome.traceback
    seed = int(cell.seed_sequence.generate_state(1)[0])
    dendritic, linear = generalise("mnist", n_branches=7, seeds=[seed], max_epochs=3, n_train=20, workers=1)
    assert outcome.metrics["epochs"] == [1, 2, 3]
    assert outcome.metrics["dendritic_test_error"] == dendritic.test_error.tolist()
    assert outcome.metrics["linear_train_error"] == linear.train_error.tolist()
    assert outcome.metrics["linear_balanced_test_error"] == linear.balanced_test_error.tolist()
