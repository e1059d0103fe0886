"""The command line: ``dendrocap COMMAND``, one module per command.

All commands follow these conventions:

- data goes to stdout, progress and messages to stderr;
- ``--json`` prints one JSON array of objects, one per point, with the keys of the Python results and null for NaN;
- exit codes: 0 success, 1 no solution or a failed computation, 2 bad input or a damaged file (one line on stderr, no
  traceback), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dendrocap import __version__
from dendrocap.cli.lab import cell, fit, report
from dendrocap.cli.learning import algorithmic_capacity, generalise, perturb, robustness, solve, train
from dendrocap.cli.more import datasets, explore, reproduce
from dendrocap.cli.questions import LEARN, MEASURED, MORE, STATES, STORE, help_text
from dendrocap.cli.sweep import sweep
from dendrocap.cli.theory import (
    best_dendrite,
    capacity,
    learned_state,
    local_entropy,
    noise,
    nonlinearity,
    saddle_point,
    teacher_student,
)
from dendrocap.errors import CorruptData, DendrocapError, InvalidParameter

__all__ = ["app"]

# Since version 0.26 Typer bundles its own copy of Click; its public BadParameter leads to the right base class.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


class OneLineErrors(TyperGroup):
    """Turns every foreseeable failure into one line on stderr and the matching exit code."""

    def main(self, args: Sequence[str] | None = None, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        try:
            outcome = super().main(args, standalone_mode=False, **extra)
        except USAGE_ERROR as error:
            code, message = 2, error.format_message()  # type: ignore[attr-defined]
        except (CorruptData, InvalidParameter) as error:
            code, message = 2, str(error)
        except DendrocapError as error:
            code, message = 1, str(error)
        except OSError as error:
            code, message = 1, f"{error.filename or 'output'}: {error.strerror or error}"
        except (KeyboardInterrupt, typer.Abort):
            code, message = 130, "interrupted"
        else:
            if standalone_mode:
                sys.exit(outcome if isinstance(outcome, int) else 0)
            return outcome
        typer.echo(f"error: {' '.join(message.split())}", err=True)
        sys.exit(code)


app = typer.Typer(
    name="dendrocap",
    cls=OneLineErrors,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dendrocap {__version__}")
        raise typer.Exit


HELP = f"""What can a single neuron with non-linear dendrites compute? Ask:

\b
{help_text()}

Every command takes --help; most take --json for machine-readable output."""


@app.callback(help=HELP)
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """What can a single neuron with non-linear dendrites compute?"""


for heading, commands in {
    STORE: (capacity, saddle_point, best_dendrite, nonlinearity),
    STATES: (noise, learned_state, local_entropy, teacher_student),
    LEARN: (train, solve, algorithmic_capacity, robustness, perturb, generalise),
    MEASURED: (cell, report),
    MORE: (reproduce, explore),
}.items():
    for command in commands:
        app.command(rich_help_panel=heading)(command)
app.add_typer(fit, name="fit", rich_help_panel=MEASURED)
app.add_typer(sweep, rich_help_panel=MORE)
app.add_typer(datasets, name="datasets", rich_help_panel=MORE)
