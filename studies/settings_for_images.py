"""Which learning rate and which steepness of the loss suit each neuron on images; which penalty logistic regression.

Usage: python -m studies.settings_for_images {compute,table}

``compute`` fills settings_for_images.csv with errors on a fifth of the training images, held out, for the paper's whole
grid of learning rates and steepnesses, and penalties_for_images.csv for logistic regression: 10,000 images (8,000 of
Fashion-MNIST; all 1,200 of the digits), 100 epochs as in Fig. 8, a seed that occurs in no figure; with DENDROCAP_DATA
set ten minutes of one core. Test images take no part. ``table`` prints the best of each, which `reproduction/fig08.py`
uses. Where several settings leave the same error, the first of the grid is taken. On CIFAR-10, odd against even,
settings that tie within one standard error are tried on all images (settings_on_all_images.csv).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from dendrocap.reproduction import fig08
from dendrocap.reproduction.shared import PAPER_GAMMAS, PAPER_RATES
from dendrocap.sweeps.process import run_cell
from dendrocap.sweeps.sweep import Cell
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
PENALTIES = TABLE.with_name("penalties_for_images.csv")
# On all training images, where the draw of 10,000 cannot tell: see `tied`.
ALL_IMAGES = TABLE.with_name("settings_on_all_images.csv")
# The rarer class of Fashion-MNIST has 4,265 images with a median above zero; of the digits there are 1,200 in all.
IMAGES = {"fashion-mnist": 8000, "digits": None}
SEED, EPOCHS, HELD_OUT = 1000, 100, 0.2
# The rate that is best on 10,000 of these images, 1, leaves some seeds with constant answers on all of them.
RETRIED = ("cifar10-odd-even", 8)
# With seed 1000 all branches are silent on all digits from the start, which no setting can mend.
OWN_SEEDS = {"digits": 1001}
PENALTY_GRID = (1.0, 10.0, 100.0, 1000.0, 10_000.0)


def outcome(job: str, dataset: str, all_images: bool = False, **parameters: object) -> float:
    """The error on held-out images; NaN if the neuron died."""
    images = None if all_images else IMAGES.get(dataset, 10_000)
    how = {"dataset": dataset, "held_out": HELD_OUT, **parameters, **({} if images is None else {"n_train": images})}
    found = run_cell(Cell(job, how, OWN_SEEDS.get(dataset, SEED)))
    if found.status != "done":
        print(f"  {how}: {found.reason}", flush=True)
        return math.nan
    error = found.metrics["test_error"]
    return float(error[-1] if isinstance(error, list) else error)


def neuron_error(
    dataset: str,
    n_branches: int,
    learning_rate: float,
    gamma_ce: float,
    epochs: int = EPOCHS,
    all_images: bool = False,
) -> Row:
    """Of a neuron after its last epoch; no branches is the linear one."""
    own = {"n_branches": n_branches} if n_branches else fig08.LINEAR
    how = {"learning_rate": learning_rate, "gamma_ce": gamma_ce, "max_epochs": epochs, "every": epochs}
    return {"error": f"{outcome('image_error', dataset, all_images, **own, **how):.6g}"}


def penalty_error(dataset: str, penalty: float) -> Row:
    """Of logistic regression."""
    return {"error": f"{outcome('image_logistic', dataset, penalty=penalty):.6g}"}


def settings() -> Iterator[tuple[str, int, float, float]]:
    """Every neuron of Fig. 8 with every setting of the paper's grid."""
    for dataset, (_, branches) in fig08.PANELS.items():
        for n_branches in (0, *branches):
            for rate, gamma in product(PAPER_RATES, PAPER_GAMMAS):
                yield dataset, n_branches, rate, gamma


def tied() -> list[tuple[str, int, float, float]]:
    """Settings of the retried neuron whose held-out error is within one standard error of the smallest."""
    rows = [row for row in stored(TABLE) if (row["dataset"], int(row["n_branches"])) == RETRIED]
    least = min(float(row["error"]) for row in rows)
    slack = math.sqrt(least * (1.0 - least) / (HELD_OUT * 10_000))
    return [
        (*RETRIED, float(row["learning_rate"]), float(row["gamma_ce"]))
        for row in rows
        if float(row["error"]) <= least + slack
    ]


def best() -> dict[tuple[str, int], tuple[float, float]]:
    """Learning rate and steepness with the smallest held-out error, by data set and number of branches."""
    found: dict[tuple[str, int], tuple[float, tuple[float, float]]] = {}
    retried = stored(ALL_IMAGES)
    for row in [row for row in stored(TABLE) if (row["dataset"], int(row["n_branches"])) != RETRIED] + retried:
        key, error = (row["dataset"], int(row["n_branches"])), float(row["error"])
        if error < found.get(key, (math.inf, None))[0]:
            found[key] = error, (float(row["learning_rate"]), float(row["gamma_ce"]))
    return {key: choice for key, (_, choice) in found.items()}


def best_penalties() -> dict[str, float]:
    """The penalty with the smallest held-out error, by data set."""
    found: dict[str, tuple[float, float]] = {}
    for row in stored(PENALTIES):
        error = float(row["error"])
        if error < found.get(row["dataset"], (math.inf, 0.0))[0]:
            found[row["dataset"]] = error, float(row["penalty"])
    return {dataset: penalty for dataset, (_, penalty) in found.items()}


def table() -> list[str]:
    """The best of each."""
    lines = [
        (dataset, f"dendritic, K = {n_branches}" if n_branches else "linear", f"{rate:g}, {gamma:g}")
        for (dataset, n_branches), (rate, gamma) in best().items()
    ]
    lines += [(dataset, "logistic regression", f"penalty {penalty:g}") for dataset, penalty in best_penalties().items()]
    return markdown(("images", "classifier", "rate, gamma_ce"), lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table"))
    if parser.parse_args().part == "compute":
        complete(TABLE, neuron_error, settings())
        complete(ALL_IMAGES, neuron_error, tied(), all_images=True)
        complete(PENALTIES, penalty_error, product(fig08.PANELS, PENALTY_GRID))
    else:
        print("\n".join(table()))


if __name__ == "__main__":
    main()
