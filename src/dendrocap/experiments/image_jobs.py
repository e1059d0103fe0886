"""Learning images as a job: flat parameters in, errors along the training out."""

from __future__ import annotations

from typing import Any

from dendrocap.experiments.generalise import DENDRITIC, LINEAR_THETA, RECIPE
from dendrocap.experiments.generalise import generalise as compare
from dendrocap.learning import Recipe
from dendrocap.model import NeuronSpec

__all__ = ["generalise"]


def generalise(
    dataset: str,
    seed: int,
    neuron: NeuronSpec = DENDRITIC,
    recipe: Recipe = RECIPE,
    *,
    n_branches: int,
    n_train: int | None = None,
    every: int = 1,
    linear_theta: float = LINEAR_THETA,
    linear_rate: float = 0.1,
    linear_gamma_ce: float = 10.0,
) -> dict[str, Any]:
    """Dendritic and linear neuron on the same images, as `dendrocap.experiments.generalise` compares them.

    Errors are lists with one entry per measurement, at ``epochs``.
    """
    dendritic, linear = compare(
        dataset,
        neuron,
        recipe,
        n_branches=n_branches,
        seeds=[seed],
        n_train=n_train,
        every=every,
        workers=1,
        linear_theta=linear_theta,
        linear_rate=linear_rate,
        linear_gamma_ce=linear_gamma_ce,
    )
    return {
        "epochs": dendritic.epochs,
        **{
            f"{name}_{error}": getattr(curve, error)
            for name, curve in (("dendritic", dendritic), ("linear", linear))
            for error in ("train_error", "test_error", "balanced_test_error")
        },
    }
