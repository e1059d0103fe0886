"""Fig. 8: generalisation on MNIST, Fashion-MNIST and CIFAR-10, and on digits that need no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.datasets.binarise import BINARY_SETS
from dendrocap.datasets.images import is_here
from dendrocap.figures.style import AXIS_LABELS, PALETTE, drawing
from dendrocap.model import Polsky
from dendrocap.reproduction import shared as sim
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import IMAGES, PaperFigure, Records, RunSize, Tables, register
from dendrocap.sweeps import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TABLES = ERRORS, LOGISTIC = ("fig8", "fig8_logistic")
DATASETS = MNIST, FASHION, CIFAR = ("mnist", "fashion-mnist", "cifar10")
ODD_EVEN, DIGITS = "cifar10-odd-even", "digits"
# Title of each panel, and the numbers of branches: in the paper's appendix and in its caption; our choice for digits.
PANELS = {
    MNIST: ("MNIST, odd/even", (7, 49)),
    FASHION: ("Fashion-MNIST, odd/even", (7, 49)),
    CIFAR: ("CIFAR-10, bird/ship", (8, 72)),
    ODD_EVEN: ("CIFAR-10, odd/even", (8,)),
    DIGITS: ("8 x 8 digits, odd/even", (4, 8)),
}
# Name of the linear neuron in the sweeps; in tables it has zero branches.
LINEAR: dict[str, Any] = {"nonlinearity": sim.LINEAR, "theta_d": 0.1}
NONE = 0
# Learning rate and steepness of the loss, the best of the paper's grid on held-out training images, by data set and
# number of branches; the penalty of logistic regression likewise (studies/settings_for_images.py).
SETTINGS: dict[tuple[str, int], tuple[float, float]] = {
    (MNIST, NONE): (0.01, 10.0),
    (MNIST, 7): (0.01, 10.0),
    (MNIST, 49): (0.1, 10.0),
    (FASHION, NONE): (0.01, 10.0),
    (FASHION, 7): (0.1, 10.0),
    (FASHION, 49): (0.1, 10.0),
    (CIFAR, NONE): (0.01, 1.0),
    (CIFAR, 8): (0.01, 10.0),
    (CIFAR, 72): (1.0, 10.0),
    (ODD_EVEN, NONE): (0.01, 1.0),
    (ODD_EVEN, 8): (0.001, 10.0),
    (DIGITS, NONE): (0.01, 100.0),
    (DIGITS, 4): (0.01, 10.0),
    (DIGITS, 8): (0.01, 100.0),
}
PENALTIES = {MNIST: 10.0, FASHION: 100.0, CIFAR: 100.0, ODD_EVEN: 1000.0, DIGITS: 1.0}
TRAIN, TEST = "train_error", "test_error"
# Settings of the linear neuron: its own best, or those that are best for dendrites.
OWN, SHARED, ONE_LAYER = "own", "shared", "logistic"


def sweeps(size: RunSize) -> list[Sweep]:
    """Every neuron at its own best settings, the linear one also at the dendritic settings, and logistic regression."""
    found = []
    for dataset, (_, branches) in PANELS.items():
        if not is_here(BINARY_SETS[dataset].data_set):
            continue
        images: dict[str, Any] = {"dataset": dataset}
        if size.images is not None and dataset != DIGITS:  # digits has 1200 in all
            images["n_train"] = size.images
        seeds = range(size.image_seeds)
        how = {**images, "max_epochs": size.image_epochs, "every": max(1, size.image_epochs // 20)}
        found += [Sweep("image_error", {}, {**how, "n_branches": K, **_settings(dataset, K)}, seeds) for K in branches]
        for rate, gamma in dict.fromkeys(SETTINGS[dataset, K] for K in (NONE, *branches)):
            found.append(Sweep("image_error", {}, {**how, **LINEAR, "learning_rate": rate, "gamma_ce": gamma}, seeds))
        # With all images it is the same for every seed: a permutation of the pixels changes nothing.
        own_seeds = seeds if "n_train" in images else range(1)
        found.append(Sweep("image_logistic", {}, {**images, "penalty": PENALTIES[dataset]}, own_seeds))
    return found


def _settings(dataset: str, n_branches: int) -> dict[str, float]:
    return dict(zip(("learning_rate", "gamma_ce"), SETTINGS[dataset, n_branches], strict=True))


def tables(size: RunSize, records: Records) -> Tables:
    """Training and test errors against epochs, averaged over seeds, and those of logistic regression."""
    import pandas as pd

    neurons, references = ([r for r in records if r.job == job] for job in ("image_error", "image_logistic"))
    rows = [
        {
            "dataset": record.parameters["dataset"],
            "n_branches": record.parameters.get("n_branches", NONE),
            "learning_rate": record.parameters["learning_rate"],
            "gamma_ce": record.parameters["gamma_ce"],
            "epoch": epoch,
            TRAIN: train,
            TEST: test,
        }
        for record in neurons
        for epoch, train, test in zip(*(record.metrics[name] for name in ("epochs", TRAIN, TEST)), strict=True)
    ]
    fitted = [
        {name: {**record.parameters, **record.metrics}[name] for name in ("dataset", "penalty", TRAIN, TEST)}
        for record in references
    ]
    errors = _averaged(pd.DataFrame(rows), ["dataset", "n_branches", "learning_rate", "gamma_ce", "epoch"])
    best = [(row.learning_rate, row.gamma_ce) == SETTINGS[row.dataset, row.n_branches] for row in errors.itertuples()]
    errors.insert(4, "settings", np.where(best, OWN, SHARED))
    return {ERRORS: errors, LOGISTIC: _averaged(pd.DataFrame(fitted), ["dataset", "penalty"])}


def _averaged(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    train, test = (sim.averaged(table, by, error) for error in (TRAIN, TEST))
    return train[[*by, TRAIN]].assign(
        train_error_se=train.standard_error, test_error=test[TEST], test_error_se=test.standard_error, seeds=test.seeds
    )


def draw(tables: Tables) -> Figure:
    """Test error above, training error below, one column per data set."""
    table, references = (tables[name] for name in TABLES)
    names = [name for name in PANELS if name in set(table.dataset)]
    bent, straight = PALETTE[Polsky.name], PALETTE[sim.LINEAR]
    with drawing(0.62 * max(2, len(names)), 4.4) as figure:
        grid = figure.subplots(2, len(names), sharex="col", squeeze=False)
        one_layer: dict[str, Any] = {}  # entries common to all panels, for one legend
        for column, name in enumerate(names):
            own = table[table.dataset == name]
            reference = references[references.dataset == name].iloc[0]
            branches = sorted(set(own.n_branches) - {NONE})
            for axes, error in zip(grid[:, column], (TEST, TRAIN), strict=True):
                for K, dashes in zip(branches, ("-", "--"), strict=False):
                    part = own[own.n_branches == K]
                    axes.plot(part.epoch, 100 * part[error], color=bent, ls=dashes, label=f"dendritic, K = {K}")
                linear = own[own.n_branches == NONE]
                alike = dict.fromkeys(zip(linear.learning_rate, linear.gamma_ce, linear.settings, strict=True))
                for rate, gamma, settings in sorted(alike, key=lambda one: one[2]):
                    part = linear[(linear.learning_rate == rate) & (linear.gamma_ce == gamma)]
                    best = settings == OWN
                    label = f"{sim.LINEAR}, own best" if best else f"{sim.LINEAR}, dendritic settings"
                    look = {"color": straight, "lw": 1.4} if best else {"color": "0.6", "lw": 1.0}
                    axes.plot(part.epoch, 100 * part[error], label=label, **look)
                axes.axhline(100 * reference[error], color=straight, ls=":", lw=1.2, label="logistic, weights ≥ 0")
                axes.set_ylim(bottom=0.0)
            grid[0, column].set_title(PANELS[name][0])
            grid[1, column].set_xlabel("epoch")
            handles, labels = grid[0, column].get_legend_handles_labels()
            grid[0, column].legend(handles[: len(branches)], labels[: len(branches)])
            for handle, label in zip(handles[len(branches) :], labels[len(branches) :], strict=True):
                one_layer.setdefault(label, handle)
        figure.legend(one_layer.values(), one_layer, loc="outside upper center", ncols=3)
        grid[0, 0].set_ylabel("test error (%)")
        grid[1, 0].set_ylabel(AXIS_LABELS["error_percent"])
    return figure


def measure(tables: Tables) -> dict[str, Measured]:
    """Final test error of one layer minus that of the dendritic neuron, and the difficulty of odd against even.

    One layer is the linear neuron at the dendritic settings, at its own best settings, and logistic regression.
    """
    table, references = (tables[name] for name in TABLES)
    last = table[table.epoch == table.groupby("dataset").epoch.transform("max")]
    measured: dict[str, Measured] = {}
    for dataset in [name for name in DATASETS if name in set(table.dataset)]:
        own, reference = last[last.dataset == dataset], references[references.dataset == dataset].iloc[0]
        linear, dendritic = own[own.n_branches == NONE], own[own.n_branches != NONE]
        at_best = linear[linear.settings == OWN].iloc[0]
        shared = [
            linear[(linear.learning_rate == one.learning_rate) & (linear.gamma_ce == one.gamma_ce)].iloc[0]
            for one in dendritic.itertuples()
        ]
        # The fit to all images does not depend on the seed.
        fitted = reference.fillna({"test_error_se": 0.0}) if reference.seeds == 1 else reference
        measured |= {
            f"{dataset}_{SHARED}": _gain(dendritic, shared),
            f"{dataset}_{OWN}": _gain(dendritic, [at_best] * len(dendritic)),
            f"{dataset}_{ONE_LAYER}": _gain(dendritic, [fitted] * len(dendritic)),
        }
    hard = last[(last.dataset == ODD_EVEN) & (last.n_branches != NONE)]
    if len(hard):
        measured["odd_even"] = Measured(float(hard.test_error.iloc[0]), float(hard.test_error_se.iloc[0]))
    return measured


def _gain(dendritic: pd.DataFrame, one_layer: list[pd.Series[float]]) -> Measured:
    """Reduction of the test error by the dendritic neuron, for the number of branches where it is smallest."""
    gains = []
    for one, other in zip(dendritic.itertuples(), one_layer, strict=True):
        words = f"K = {one.n_branches}: {100 * one.test_error:.2f} against {100 * other.test_error:.2f} %"
        error = float(np.hypot(one.test_error_se, other.test_error_se))
        gains.append((float(other.test_error - one.test_error), error, words))
    gain, error, _ = min(gains)
    return Measured(gain, error, note="; ".join(words for *_, words in gains))


register(
    PaperFigure(
        "fig8",
        "images",
        "Generalisation on MNIST, Fashion-MNIST, CIFAR-10 and small digits",
        IMAGES,
        sweeps=sweeps,
        tables=tables,
        draw=draw,
        measure=measure,
        settings=lambda size: (
            f"{f'at most {size.images}' if size.images else 'all'} training images, {size.image_epochs} epochs, "
            f"{size.image_seeds} seeds"
        ),
        minutes={"quick": 0.2, "paper": 10},
        datasets=DATASETS,
    )
)
