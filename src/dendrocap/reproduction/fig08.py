"""Fig. 8: generalisation on MNIST, Fashion-MNIST and CIFAR-10."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.experiments import Sweep
from dendrocap.figures.style import AXIS_LABELS, PALETTE, drawing
from dendrocap.model import Polsky
from dendrocap.reproduction import simulated_runs as sim
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.paper_figure import PaperFigure, Records, Tables
from dendrocap.reproduction.run_size import RunSize

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURE", "TABLES", "draw", "measure", "sweeps", "tables"]

TABLES = (ERRORS,) = ("fig8",)
DATASETS = MNIST, FASHION, CIFAR = ("mnist", "fashion-mnist", "cifar10")
ODD_EVEN = "cifar10-odd-even"
# Title of each panel, and the numbers of branches of the paper's appendix and of its caption.
PANELS = {
    MNIST: ("MNIST, odd/even", (7, 49)),
    FASHION: ("Fashion-MNIST, odd/even", (7, 49)),
    CIFAR: ("CIFAR-10, bird/ship", (8, 72)),
    ODD_EVEN: ("CIFAR-10, odd/even", (8,)),
}
DENDRITIC = "dendritic"
TRAIN, TEST = "train_error", "test_error"


def sweeps(size: RunSize) -> list[Sweep]:
    """Dendritic against linear neuron on images."""
    how: dict[str, Any] = {"max_epochs": size.image_epochs, "every": max(1, size.image_epochs // 20)}
    if size.images is not None:
        how["n_train"] = size.images
    return [
        Sweep("generalise", {"n_branches": branches}, {"dataset": dataset, **how}, range(size.image_seeds))
        for dataset, (_, branches) in PANELS.items()
    ]


def tables(size: RunSize, records: Records) -> Tables:
    """Training and test errors along the epochs, averaged over seeds."""
    import pandas as pd

    rows = [
        {
            "dataset": record.parameters["dataset"],
            "n_branches": record.parameters["n_branches"],
            "neuron": neuron,
            "epoch": epoch,
            TRAIN: train,
            TEST: test,
        }
        for record in records
        for neuron in (DENDRITIC, sim.LINEAR)
        for epoch, train, test in zip(
            record.metrics["epochs"],
            record.metrics[f"{neuron}_{TRAIN}"],
            record.metrics[f"{neuron}_{TEST}"],
            strict=True,
        )
    ]
    by = ["dataset", "n_branches", "neuron", "epoch"]
    train, test = (sim.averaged(pd.DataFrame(rows), by, error) for error in (TRAIN, TEST))
    table = train[[*by, TRAIN]]
    table = table.assign(
        train_error_se=train.standard_error, test_error=test[TEST], test_error_se=test.standard_error, seeds=test.seeds
    )
    return {ERRORS: table}


def draw(tables: Tables) -> Figure:
    """Test error above, training error below, one column per data set."""
    table = tables[ERRORS]
    names = [name for name in PANELS if name in set(table.dataset)]
    with drawing(0.62 * max(2, len(names)), 4.0) as figure:
        grid = figure.subplots(2, len(names), sharex="col", squeeze=False)
        for column, name in enumerate(names):
            own = table[table.dataset == name]
            branches = sorted(set(own.n_branches))
            for axes, error in zip(grid[:, column], (TEST, TRAIN), strict=True):
                for number, K in enumerate(branches):
                    part = own[(own.n_branches == K) & (own.neuron == DENDRITIC)]
                    axes.plot(
                        part.epoch,
                        100 * part[error],
                        color=PALETTE[Polsky.name],
                        ls=("-", "--")[number % 2],
                        label=f"{DENDRITIC}, K = {K}",
                    )
                part = own[(own.n_branches == branches[0]) & (own.neuron == sim.LINEAR)]
                percent, band = 100 * part[error], 100 * part[f"{error}_se"].fillna(0.0)
                axes.plot(part.epoch, percent, color=PALETTE[sim.LINEAR], label=sim.LINEAR)
                axes.fill_between(
                    part.epoch, percent - band, percent + band, color=PALETTE[sim.LINEAR], alpha=0.15, lw=0
                )
                axes.set_ylim(bottom=0.0)
            grid[0, column].set_title(PANELS[name][0], fontsize=7.5)
            grid[0, column].legend(fontsize=6.3)
            grid[1, column].set_xlabel("epoch")
        grid[0, 0].set_ylabel("test error (%)")
        grid[1, 0].set_ylabel(AXIS_LABELS["error_percent"])
    return figure


def measure(tables: Tables) -> dict[str, Measured]:
    """Test error of the linear neuron minus that of the dendritic one at the end, and how hard odd against even is."""
    table = tables[ERRORS]
    last = table[table.epoch == table.groupby("dataset").epoch.transform("max")]
    measured = {}
    for dataset in DATASETS:
        gains = []
        for branches, pair in last[last.dataset == dataset].groupby("n_branches"):
            both = pair.set_index("neuron")
            gain = float(both.test_error[sim.LINEAR] - both.test_error[DENDRITIC])
            error = float(np.hypot(both.test_error_se[sim.LINEAR], both.test_error_se[DENDRITIC]))
            percent = 100.0 * both.test_error
            words = f"K = {branches}: {percent[DENDRITIC]:.2f} against {percent[sim.LINEAR]:.2f} %"
            gains.append((gain, error, words))
        gain, error, _ = min(gains)
        measured[dataset] = Measured(gain, error, note="; ".join(words for *_, words in gains))
    hard = last[(last.dataset == ODD_EVEN) & (last.neuron == DENDRITIC)]
    measured["odd_even"] = Measured(float(hard.test_error.iloc[0]), float(hard.test_error_se.iloc[0]))
    return measured


FIGURE = PaperFigure(
    "fig8",
    "images",
    "Generalisation on MNIST, Fashion-MNIST and CIFAR-10",
    sweeps=sweeps,
    tables=tables,
    draw=draw,
    measure=measure,
    settings=lambda size: (
        f"{size.images or 'all'} training images, {size.image_epochs} epochs, {size.image_seeds} seeds"
    ),
    minutes={"quick": 0.6, "paper": 20},
    datasets=DATASETS,
)
