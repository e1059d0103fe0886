"""``dendrocap nonlinearity``: a dendritic transfer function as a table or a figure."""

from __future__ import annotations

from typing import Annotated

import typer

from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, plot_target

__all__ = ["nonlinearity"]


def nonlinearity(
    name: Annotated[str, typer.Argument(help="polsky, relu, saturating-relu, step or linear.")],
    x_min: Annotated[
        float | None, typer.Option(help="Polsky: where the sigmoid starts, in [0, 1]; default 0.33.")
    ] = None,
    gamma: Annotated[float | None, typer.Option(help="Polsky: steepness of the sigmoid, > 0; default 15.")] = None,
    start: Annotated[float, typer.Option("--from", help="Smallest x.")] = -0.5,
    stop: Annotated[float, typer.Option("--to", help="Largest x.")] = 1.5,
    points: Annotated[int, typer.Option(help="Number of values of x, at least 2.")] = 21,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Tabulate g(x) and its slope g'(x), and draw them with --plot.

    Example: dendrocap nonlinearity polsky --x-min 0.33 --gamma 15 --plot g.png
    """
    import numpy as np

    from dendrocap.model.flat import nonlinearity_from_flat
    from dendrocap.validation import real_number, whole_number

    given = {"nonlinearity": name, "x_min": x_min, "gamma": gamma}
    g = nonlinearity_from_flat({key: value for key, value in given.items() if value is not None})
    start = real_number("--from", start)
    stop = real_number("--to", stop, start, low_open=True)
    x = np.linspace(start, stop, whole_number("--points", points, 2, 1_000_000))
    target = plot_target(plot)
    rows = [
        {"nonlinearity": g.name, "x": at, "value": value, "derivative": slope}
        for at, value, slope in zip(x, g(x), g.derivative(x), strict=True)
    ]
    emit(rows, as_json=as_json, title=repr(g))
    draw(target, lambda plots: plots.nonlinearity(g, start, stop))
