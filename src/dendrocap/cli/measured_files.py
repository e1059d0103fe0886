"""Options of commands that read measurements, and the notes on what was read."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from dendrocap.cli.output import message

if TYPE_CHECKING:
    from dendrocap.datasets import Amplitudes, Curve, Table
    from dendrocap.fitting import NonlinearityFit

__all__ = ["AmplitudeOptions", "CurveOptions", "DataFile", "FileOptions"]

DataFile = Annotated[
    Path, typer.Argument(help="Text or .xlsx file with numeric columns; headers with units and # comments are allowed.")
]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How files are read."""

    panel: ClassVar[str] = "Files"

    missing: Annotated[str, typer.Option(help="Empty cells and NaN: refuse, or drop their rows.")] = "refuse"
    mv_per_pa: Annotated[
        float | None, typer.Option(help="Millivolts per pA, for columns of currents; negative for inward currents.")
    ] = None
    sheet: Annotated[str | None, typer.Option(help="Sheet of the Excel workbook.")] = None

    def table(self, path: Path) -> Table:
        """The columns of a file."""
        from dendrocap.datasets import read_table

        return read_table(path, self.sheet)


@dataclass(frozen=True, kw_only=True)
class AmplitudeOptions:
    """Which column holds amplitudes, and how zeros are treated."""

    panel: ClassVar[str] = "Files"

    column: Annotated[str | None, typer.Option(help="Column of amplitudes, by name or number.")] = None
    zeros: Annotated[
        str, typer.Option(help="Amplitudes of zero: refuse, drop, or failures (tested pairs without a connection).")
    ] = "refuse"

    def amplitudes(self, path: Path, files: FileOptions) -> Amplitudes:
        """The amplitudes of a file."""
        return files.table(path).amplitudes(
            self.column, missing=files.missing, zeros=self.zeros, mv_per_pa=files.mv_per_pa
        )

    def note(self, found: Amplitudes, path: Path) -> str:
        """A description of what was read."""
        notes = [f"{found.values.size} amplitudes from column {found.name!r} of {path.name}, {_unit(found.unit)}"]
        notes += [f"{found.n_missing} missing left out"] * bool(found.n_missing)
        counted = "counted as failures" if self.zeros == "failures" else "left out"
        notes += [f"{found.n_zeros} zeros {counted}"] * bool(found.n_zeros)
        return "; ".join(notes)

    def tested(self, given: int | None, found: Amplitudes) -> int | None:
        """Pairs tested: as given, or all rows if zeros are failures."""
        if given is None and self.zeros == "failures" and found.n_zeros:
            return found.values.size + found.n_zeros
        return given


@dataclass(frozen=True, kw_only=True)
class CurveOptions:
    """Which columns hold the curve, and how it is fitted."""

    panel: ClassVar[str] = "Curve"

    x: Annotated[str | None, typer.Option(help="Column of inputs, by name or number.")] = None
    y: Annotated[str | None, typer.Option(help="Column of outputs, by name or number.")] = None
    sem: Annotated[str | None, typer.Option(help="Column of standard errors, by name or number, or none.")] = None
    kind: Annotated[
        str, typer.Option(help="polsky; smooth for curves of another shape; tabulated to interpolate the points.")
    ] = "polsky"

    def measured(self, path: Path, files: FileOptions) -> Curve:
        """The points of a file."""
        return files.table(path).curve(self.x, self.y, self.sem, missing=files.missing, mv_per_pa=files.mv_per_pa)

    def note(self, found: Curve, path: Path) -> str:
        """A description of what was read."""
        x, y = found.names
        errors = "no errors"
        if found.sem is not None:
            errors = "with standard errors"
        elif found.sd is not None:
            errors = "standard deviations are not used without the number of trials: add a column n"
        notes = [f"{found.x.size} points, {y!r} against {x!r} of {path.name}, {_unit(found.unit)}, {errors}"]
        notes += [f"{found.n_missing} rows with missing values left out"] * bool(found.n_missing)
        return "; ".join(notes)

    def fitted(self, curve: Curve, scale: float | None = None) -> NonlinearityFit:
        """The fitted curve."""
        from dendrocap.fitting import fit_nonlinearity

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = fit_nonlinearity(curve.x, curve.y, self.kind, sem=curve.sem, scale=scale)
        for warning in caught:
            message(f"warning: {warning.message}")
        if self.kind != "polsky" and found.points_on_rise < 3:
            message(
                f"warning: only {found.points_on_rise} points lie on the rise of the curve, too few to determine its "
                "slope; capacities computed from it may be wrong by a third. Measure more points there"
            )
        return found


def _unit(stated: str) -> str:
    """A description of the unit that a file states, and its conversion."""
    if not stated:
        return "no unit stated: read as mV"
    return "in mV" if stated == "mV" else f"converted from {stated} to mV"
