"""Names for shell completion: jobs, image sets and figures. Each list is loaded on demand."""

from __future__ import annotations

__all__ = ["binary_set_names", "figure_names", "image_set_names", "job_names"]


def job_names() -> list[str]:
    """Built-in jobs of sweeps."""
    from dendrocap.experiments.jobs import BUILT_IN

    return list(BUILT_IN)


def image_set_names() -> list[str]:
    """Image sets that can be fetched and verified."""
    from dendrocap.datasets import CATALOGUE

    return list(CATALOGUE)


def binary_set_names() -> list[str]:
    """Binary classification tasks made from image sets."""
    from dendrocap.datasets import BINARY_SETS

    return list(BINARY_SETS)


def figure_names() -> list[str]:
    """Figures of the paper and their aliases."""
    from dendrocap.reproduction import FIGURES

    return [name for figure in FIGURES for name in (figure.name, figure.alias)]
