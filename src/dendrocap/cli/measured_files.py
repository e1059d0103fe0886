"""Options of commands that read measurements, and what they say about what they read."""

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
    Path, typer.Argument(help="Text or .xlsx with columns of numbers; headers with units and # comments are fine.")
]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How files are read."""

    panel: ClassVar[str] = "Files"

    missing: Annotated[str, typer.Option(help="Empty cells and NaN: refuse, or drop their rows.")] = "refuse"
    mv_per_pa: Annotated[
        float | None, typer.Option(help="Millivolts per pA, for columns of currents; negative for inward ones.")
    ] = None
    sheet: Annotated[str | None, typer.Option(help="Sheet of an Excel workbook.")] = None

    def table(self, path: Path) -> Table:
        """The columns of a file."""
        from dendrocap.datasets import read_table

        return read_table(path, self.sheet)


@dataclass(frozen=True, kw_only=True)
class AmplitudeOptions:
    """Which numbers are amplitudes."""

    panel: ClassVar[str] = "Files"

    column: Annotated[str | None, typer.Option(help="Column of the amplitudes, by name or number.")] = None
    zeros: Annotated[
        str, typer.Option(help="Amplitudes of zero: refuse, drop, or failures (pairs tested without a connection).")
    ] = "refuse"

    def amplitudes(self, path: Path, files: FileOptions) -> Amplitudes:
        """The amplitudes of a file."""
        return files.table(path).amplitudes(
            self.column, missing=files.missing, zeros=self.zeros, mv_per_pa=files.mv_per_pa
        )

    def note(self, found: Amplitudes, path: Path) -> str:
        """What was read, in words."""
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
    """Which numbers are a curve, and how it is fitted."""

    panel: ClassVar[str] = "Curve"

    x: Annotated[str | None, typer.Option(help="Column of the input, by name or number.")] = None
    y: Annotated[str | None, typer.Option(help="Column of the output, by name or number.")] = None
    sem: Annotated[str | None, typer.Option(help="Column of standard errors, by name or number; none to use none.")] = (
        None
    )
    kind: Annotated[
        str, typer.Option(help="polsky; smooth for curves of another shape; tabulated to take the points as they are.")
    ] = "polsky"

    def measured(self, path: Path, files: FileOptions) -> Curve:
        """The points of a file."""
        return files.table(path).curve(self.x, self.y, self.sem, missing=files.missing, mv_per_pa=files.mv_per_pa)

    def note(self, found: Curve, path: Path) -> str:
        """What was read, in words."""
        x, y = found.names
        errors = "no errors"
        if found.sem is not None:
            errors = "with standard errors"
        elif found.sd is not None:
            errors = "standard deviations of unknown numbers of trials are not used: add a column n"
        notes = [f"{found.x.size} points, {y!r} against {x!r} of {path.name}, {_unit(found.unit)}, {errors}"]
        notes += [f"{found.n_missing} rows with missing values left out"] * bool(found.n_missing)
        return "; ".join(notes)

    def fitted(self, curve: Curve, scale: float | None = None) -> NonlinearityFit:
        """The curve, fitted."""
        from dendrocap.fitting import fit_nonlinearity

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = fit_nonlinearity(curve.x, curve.y, self.kind, sem=curve.sem, scale=scale)
        for warning in caught:
            message(f"warning: {warning.message}")
        if self.kind != "polsky" and found.points_on_rise < 3:
            message(
                f"warning: {found.points_on_rise} points lie on the rise of the curve, too few to show its slope; "
                "capacities computed from it may be a third too large or too small. Measure more points there"
            )
        return found


def _unit(stated: str) -> str:
    """In words, what became of the unit that a file states."""
    if not stated:
        return "no unit stated: read as mV"
    return "in mV" if stated == "mV" else f"converted from {stated} to mV"
