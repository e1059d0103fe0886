"""Code shared by the theory commands: their options, their grid of points, and its table and figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from dendrocap.cli.output import check_format, emit, message, plot_target, progress
from dendrocap.cli.ranges import values
from dendrocap.errors import InvalidParameter, NoSolution

__all__ = ["GridOptions", "PriorOptions", "fields_of", "recording", "run", "steps_of_breaking"]


@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """Non-linearities, and the values of each parameter as strings."""

    panel: ClassVar[str] = "Grid"
    parameters: ClassVar[tuple[str, ...]] = (
        "theta_d", "theta_s", "x_min", "gamma", "f_in", "f_out", "kappa", "branch_correlation",
    )  # fmt: skip

    nonlinearity: Annotated[
        str,
        typer.Option("--nonlinearity", "-g", help="One or more of polsky, relu, saturating-relu, linear: a,b,c."),
    ] = "polsky"
    theta_d: Annotated[str, typer.Option(help="Dendritic threshold.", metavar="VALUES")] = "0.5"
    theta_s: Annotated[str, typer.Option(help="Somatic threshold, inside the range of g.", metavar="VALUES")] = "0.5"
    x_min: Annotated[str, typer.Option(help="Polsky: where the sigmoid takes over, in [0, 1].", metavar="VALUES")] = (
        "0.33"
    )
    gamma: Annotated[str, typer.Option(help="Polsky: steepness, > 0.", metavar="VALUES")] = "15"
    f_in: Annotated[str, typer.Option("--f-in", help="Input coding level, in (0, 1).", metavar="VALUES")] = "0.5"
    f_out: Annotated[str, typer.Option("--f-out", help="Output coding level, in (0, 1).", metavar="VALUES")] = "0.5"
    kappa: Annotated[str, typer.Option(help="Margin, >= 0.", metavar="VALUES")] = "0"
    branch_correlation: Annotated[
        str,
        typer.Option(help="c0 >= 0: two inputs of one branch have the correlation c0 K / N.", metavar="VALUES"),
    ] = "0"
    inhibitory_share: Annotated[
        str | None,
        typer.Option(help="Share of a branch's synapses that are inhibitory and plastic, in [0, 1).", metavar="VALUES"),
    ] = None
    inhibitory_drive: Annotated[
        str | None,
        typer.Option(help="Mean inhibitory input, from 0 to theta_d.", metavar="VALUES"),
    ] = None
    inhibitory_f_in: Annotated[
        str | None,
        typer.Option(
            "--inhibitory-f-in", help="Coding level of inhibitory inputs; f_in if not given.", metavar="VALUES"
        ),
    ] = None
    log: Annotated[bool, typer.Option("--log", help="Space ranges evenly in the logarithm.")] = False

    @property
    def steps(self) -> tuple[int | str, ...]:
        """The steps of replica symmetry breaking asked for; empty if the command has no such option."""
        asked = getattr(self, "rsb", None)
        return () if asked is None else steps_of_breaking(asked)

    @property
    def more(self) -> dict[str, list[Any]]:
        """Values of the optional parameters that were given."""
        from dendrocap.model.flat import INHIBITION

        return {**self.given(INHIBITION), **({"rsb": list(self.steps)} if self.steps else {})}

    def given(self, names: Iterable[str]) -> dict[str, list[float]]:
        """Values of those parameters among ``names`` that were given."""
        texts = {name: getattr(self, name, None) for name in names}
        return {
            name: values("--" + name.replace("_", "-"), text, log=self.log)
            for name, text in texts.items()
            if text is not None
        }

    def given_one(self, names: Iterable[str]) -> dict[str, list[float]]:
        """The same of parameters of which a neuron or a task has one at most."""
        found = self.given(names)
        if len(found) > 1:
            options = " and ".join("--" + name.replace("_", "-") for name in found)
            raise InvalidParameter(f"{options} are not allowed together: give one of them")
        return found

    @property
    def inputs(self) -> list[str]:
        """Names of the input columns."""
        return [*self.parameters, *self.more]

    def cases(self) -> list[tuple[Any, dict[str, list[Any]]]]:
        """Each non-linearity with the values of its parameters."""
        from dendrocap.model import Polsky, named_nonlinearity

        numbers: dict[str, list[Any]] = {**self.given(self.parameters), **self.more}
        found = []
        for name in self.nonlinearity.split(","):
            g = named_nonlinearity(name.strip())
            shape_free = {key: numbers[key] for key in numbers if key not in ("x_min", "gamma")}
            found.append((g, numbers if isinstance(g, Polsky) else shape_free))
        return found


@dataclass(frozen=True, kw_only=True)
class PriorOptions(GridOptions):
    """A grid whose weights may have another prior."""

    w_max: Annotated[
        str | None,
        typer.Option(
            "--w-max",
            help="Largest weight, above theta_d / f_in; none if not given. Replica symmetric.",
            metavar="VALUES",
        ),
    ] = None
    ridge: Annotated[
        str | None,
        typer.Option(
            help="Strength >= 0 with which small weights are preferred, exp(-ridge W^2 / 2). Replica symmetric.",
            metavar="VALUES",
        ),
    ] = None

    @property
    def more(self) -> dict[str, list[Any]]:
        """Those of the prior too."""
        return {**super().more, **self.given_one(["w_max", "ridge"])}


def run(
    grid: GridOptions,
    points: Callable[..., Iterable[Any]],
    described: Callable[[Any], Mapping[str, Any]],
    shown: Callable[[Any], Mapping[str, Any]],
    *,
    as_json: bool,
    as_csv: bool,
    plot: Path | None,
    y: str | Mapping[str, str],
    y_label: str,
    notes: Callable[[], Iterable[str]] = lambda: (),
    long: bool = False,
) -> None:
    """Solve the ``points`` of a grid and print them.

    ``described`` maps a solution, or None, to the columns of JSON, CSV and figures; ``shown`` maps it to those of the
    table; ``notes`` are printed below the table. A figure shows the quantity ``y``, or several states side by side,
    given by their columns and names.
    """
    from dendrocap.model import NeuronSpec
    from dendrocap.theory.parameter_grids import check_values

    check_format(as_json=as_json, as_csv=as_csv)
    target = plot_target(plot) if plot else None
    cases = grid.cases()
    varied = _varied(cases)
    along = [name for name in varied if name != "rsb"]  # steps of breaking become lines, not an axis
    if target and not along:
        raise InvalidParameter("--plot needs a parameter with several values, such as --theta-d 0.1:1:10")
    for g, numbers in cases:  # a value that is never allowed is bad input, not a point without an answer
        # The allowed range of inhibition depends on its other parameters: test each with those that leave most room.
        roomy = {"theta_d": max, "inhibitory_share": max, "inhibitory_drive": min}
        beside = {name: pick(numbers[name]) for name, pick in roomy.items() if name in numbers}
        for name, listed in numbers.items():
            for number in listed:
                check_values(NeuronSpec(g, 0.5, 0.5), {**beside, name: number})
    rows: list[dict[str, Any]] = []
    table: list[dict[str, Any]] = []
    with progress(sum(math.prod(map(len, numbers.values())) for _, numbers in cases), "solving") as step:
        # A slow point reports its own progress.
        inner: dict[str, Any] = {"callback": lambda share, words: step(len(rows) + share, note=words)} if long else {}
        for g, numbers in cases:
            # Every threshold is a coordinate of the grid, which overrides the values given here.
            for point in points(NeuronSpec(g, 0.5, 0.5), **numbers, **inner):
                given = {name: point.case.get(name) for name in grid.inputs}
                rows.append(
                    {"nonlinearity": g.name} | given | dict(described(point.solution)) | {"reason": point.reason}
                )
                # The name of an estimate includes its steps of breaking.
                table.append({"g": g.name} | {name: given[name] for name in along} | dict(shown(point.solution)))
                step(len(rows))
    failed = [row for row in rows if row["reason"]]
    if len(failed) == len(rows):
        raise NoSolution(failed[0]["reason"])
    if as_json or as_csv:
        emit(rows, as_json=as_json, as_csv=as_csv)
    else:
        emit(table)
        for note in notes():
            typer.echo(note)
    if failed:
        message(f"{len(failed)} of {len(rows)} points have no solution; the first: {failed[0]['reason']}")
    if target:
        from dendrocap import plot as plots

        axis = max(along, key=lambda name: len(dict.fromkeys(row[name] for row in rows)))
        family = [name for name in along if name != axis]
        if isinstance(y, str):
            figure = plots.curves(rows, axis, y, y_label, log=grid.log, family=family)
        else:
            figure = plots.states(rows, axis, y, y_label, log=grid.log, family=family)
        plots.save(figure, target)
        message(f"figure: {target}")


def fields_of(names: Iterable[str]) -> Callable[[Any], dict[str, Any]]:
    """A function that maps a solution to some of its attributes; missing attributes are None."""
    listed = list(names)
    return lambda solution: {name: getattr(solution, name, None) for name in listed}


def recording(solved: list[Any], describe: Callable[[Any], Mapping[str, Any]]) -> Callable[[Any], Mapping[str, Any]]:
    """``describe``, which also appends every solution to ``solved``, for the notes below a table."""

    def described(solution: Any) -> Mapping[str, Any]:
        if solution is not None:
            solved.append(solution)
        return describe(solution)

    return described


def steps_of_breaking(text: str) -> tuple[int | str, ...]:
    """The values of --rsb: whole numbers, or "full"."""
    steps: list[int | str] = []
    for part in text.split(","):
        word = part.strip()
        if word != "full" and not word.isdecimal():
            raise InvalidParameter(f"--rsb {text} is not allowed: give whole numbers >= 0 or full, like 0,1,2,full")
        steps.append(word if word == "full" else int(word))
    return tuple(steps)


def _varied(cases: Sequence[tuple[Any, dict[str, list[Any]]]]) -> list[str]:
    names = dict.fromkeys(name for _, numbers in cases for name, found in numbers.items() if len(found) > 1)
    return list(names)
