"""Names that the shell completes: jobs, image sets and figures. Each list is loaded when it is asked for."""

from __future__ import annotations

__all__ = ["binary_set_names", "figure_names", "image_set_names", "job_names"]


def job_names() -> list[str]:
    """Built-in jobs of sweeps."""
    from dendrocap.experiments.jobs import BUILT_IN

    return list(BUILT_IN)


def image_set_names() -> list[str]:
    """Image sets as they are fetched and verified."""
    from dendrocap.datasets import CATALOGUE

    return list(CATALOGUE)


def binary_set_names() -> list[str]:
    """Image sets as a neuron learns them."""
    from dendrocap.datasets import BINARY_SETS

    return list(BINARY_SETS)


def figure_names() -> list[str]:
    """Figures of the paper, and their other names."""
    from dendrocap.reproduction import FIGURES

    return [name for figure in FIGURES for name in (figure.name, figure.alias)]
