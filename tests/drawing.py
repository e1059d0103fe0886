"""What a figure shows, read from its artists: tests of plots assert data, not the size of a file."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def drawn(monkeypatch):
    """Figures that commands have saved, by the names of their files."""
    from dendrocap import plot

    figures, save = {}, plot.save

    def remembered(figure, target, *how):
        save(figure, target, *how)
        assert Path(target).stat().st_size > 1000
        figures[Path(target).name] = figure

    monkeypatch.setattr(plot, "save", remembered)
    return figures


def points(line):
    """Where a line goes, one row per point."""
    return np.array(line.get_xydata(), dtype=float)


def lines_of(axes):
    """Points of every line with a label of its own."""
    return {line.get_label(): points(line) for line in axes.lines if not str(line.get_label()).startswith("_")}
