"""Learning images as a task: flat parameters in, errors along the training out."""

from __future__ import annotations

from typing import Any

import numpy as np

from dendrocap.experiments.generalisation import generalise as compare

__all__ = ["generalise"]


def generalise(
    dataset: str,
    seed: np.random.SeedSequence,
    *,
    n_branches: int,
    max_epochs: int,
    n_train: int | None = None,
    every: int = 1,
    theta_d: float = 0.1,
    theta_s: float = 0.5,
    learning_rate: float = 0.03,
    gamma_ce: float = 10.0,
    linear_theta: float = 0.1,
    linear_rate: float = 0.1,
    linear_gamma_ce: float = 10.0,
) -> dict[str, Any]:
    """Dendritic and linear neuron on the same images, as `dendrocap.experiments.generalisation.generalise` does it.

    ``dataset`` is what is called the task there. Errors are lists with one entry per measurement, at ``epochs``.
    """
    dendritic, linear = compare(
        dataset,
        n_branches=n_branches,
        seeds=[int(seed.generate_state(1)[0])],
        max_epochs=max_epochs,
        n_train=n_train,
        every=every,
        workers=1,
        theta_d=theta_d,
        theta_s=theta_s,
        learning_rate=learning_rate,
        gamma_ce=gamma_ce,
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
