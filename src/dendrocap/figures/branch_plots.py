"""Plots of the branches of a trained classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import drawing, drawing_axes
from dendrocap.validation import whole_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["branch_weights", "receptive_fields"]


def receptive_fields(fields: Any, *, title: str = "", columns: int = 8, figure: Figure | None = None) -> Figure:
    """The receptive field of every branch as an image, all on the same scale.

    Parameters
    ----------
    fields : array, shape (n_branches, height, width)
        Weight of every pixel minus that of its complement, such as ``classifier.receptive_fields((28, 28))[0]``.
    title : str
        Title of the figure.
    columns : int
        Number of images per row.
    figure : Figure, optional
        Figure to draw into; by default a new one.

    Examples
    --------
    >>> import numpy as np
    >>> from dendrocap import plot
    >>> len(plot.receptive_fields(np.ones((3, 4, 4))).axes)  # three images and their scale
    4
    """
    pictures = np.asarray(fields, dtype=np.float64)
    columns = min(whole_number("columns", columns, 1), len(pictures))
    rows = -(-len(pictures) // columns)
    # Clipped, because a few strong pixels would make all others pale.
    top = float(np.quantile(np.abs(pictures), 0.995)) or float(np.abs(pictures).max()) or 1.0
    with drawing(columns / 4.0, 0.3 + 1.05 * rows, figure) as figure:
        panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
        for at, axes in enumerate(panels):
            axes.set(xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set_visible(False)
            if at >= len(pictures):
                axes.remove()
                continue
            image = axes.imshow(pictures[at], cmap="PuOr_r", vmin=-top, vmax=top, interpolation="nearest")
            axes.set_title(f"branch {at}", pad=2.0)
        bar = figure.colorbar(image, ax=panels[: len(pictures)].tolist(), shrink=0.8, extend="both")
        bar.set_label("weight: above − not above")
        if title:
            figure.suptitle(title, fontsize=9)
    return figure


def branch_weights(
    synapses: pd.DataFrame, *, title: str = "", n_features: int = 15, figure: Figure | None = None
) -> Figure:
    """Weight of the strongest features on each branch: for being above the threshold minus for not being above it.

    Parameters
    ----------
    synapses : DataFrame
        Synapses of one neuron, from ``classifier.synapses_``: ``branch``, ``feature``, ``complement``, ``weight``.
    title : str
        Title of the table.
    n_features : int
        Number of features.
    figure : Figure, optional
        Figure to draw into; by default a new one.

    Examples
    --------
    >>> import pandas as pd
    >>> from dendrocap import plot
    >>> table = {"branch": [0, 1], "feature": ["age", "dose"], "complement": [False, True], "weight": [0.2, 0.5]}
    >>> [label.get_text() for label in plot.branch_weights(pd.DataFrame(table)).axes[0].get_yticklabels()]
    ['dose', 'age']
    """
    n_features = whole_number("n_features", n_features, 1)
    total = synapses.groupby("feature")["weight"].sum().sort_values(ascending=False, kind="stable")
    shown = total.index[:n_features]
    signed = synapses.assign(signed=np.where(synapses["complement"], -1.0, 1.0) * synapses["weight"])
    n_branches = int(synapses["branch"].max()) + 1
    table = signed.pivot_table(index="feature", columns="branch", values="signed", aggfunc="sum", fill_value=0.0)
    table = table.reindex(index=shown, columns=range(n_branches), fill_value=0.0)
    top = float(np.abs(table.to_numpy()).max()) or 1.0
    given = None if figure is None else figure.subplots()
    with drawing_axes(1.0 + 0.04 * n_branches, 0.9 + 0.17 * len(shown), given) as (figure, axes):
        image = axes.imshow(
            table.to_numpy(), cmap="PuOr_r", vmin=-top, vmax=top, aspect="auto", interpolation="nearest"
        )
        axes.set_yticks(range(len(shown)), [str(name) for name in shown])
        axes.set(xlabel="branch", title=title)
        figure.colorbar(image, ax=axes).set_label("weight: above − not above")
    return figure
