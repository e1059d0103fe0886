"""The command line: ``dendrocap COMMAND``.

All commands follow these conventions:

- data goes to stdout, progress and messages to stderr;
- ``--json`` prints one JSON array of objects, one per point, with the keys of the Python results and null for NaN;
- exit codes: 0 success, 1 no solution or a failed computation, 2 bad input or a damaged file (one line on stderr, no
  traceback), 130 interrupted.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dendrocap import __version__
from dendrocap.errors import CorruptData, DendrocapError, InvalidParameter

__all__ = ["app"]

HELP = """What can a single neuron with non-linear dendrites compute? Ask:

\b
How many patterns can it store?      capacity --theta-d 0.5 -N 999 -K 27
Can I trust this number?             capacity -N 999 -K 27 --estimates
What is the paper's number?          capacity --rsb 0
What do solutions look like?         saddle-point --alpha 0.5
How robust can it be at best?        noise --alpha 0.5
Does learning reach the limit?       algorithmic-capacity --patience 200
Can these patterns be stored?        solve --alpha 1.5 -N 333 -K 9
What do my EPSPs say?                fit weights epsp.csv --tested 8050
What can my cell store?              cell cell.swc
Is a figure of the paper right?      reproduce fig3
How do I run thousands of these?     sweep run sweep.toml
Can I just play with it?             explore

Every command takes --help; most take --json for machine-readable output."""

# Headings under which ``--help`` lists the commands.
STORE, STATES, LEARN, MEASURED, MORE = (
    "What can it store?",
    "What are its states good for?",
    "What does learning reach?",
    "What do my recordings say?",
    "The paper, many runs, and a page to play with",
)

# Each command with its heading and the module of this package that has a function of this name.
FIT = {"nonlinearity": ("lab", None), "weights": ("lab", None)}
SWEEP = dict.fromkeys(("run", "status", "export", "merge", "salvage", "jobs"), ("sweep", None))
COMMANDS = {
    **dict.fromkeys(("capacity", "saddle-point", "best-dendrite"), ("theory", STORE)),
    **dict.fromkeys(("noise", "learned-state", "local-entropy", "teacher-student"), ("theory", STATES)),
    **dict.fromkeys(("train", "solve", "algorithmic-capacity", "perturb", "generalise"), ("learning", LEARN)),
    **dict.fromkeys(("fit", "cell"), ("lab", MEASURED)),
    **dict.fromkeys(("reproduce", "sweep", "explore", "datasets"), ("more", MORE)),
}
GROUPS = {
    "fit": (FIT, "Fit measured dendritic curves and synaptic strengths."),
    "sweep": (SWEEP, "Thousands of runs on one machine or a cluster, resumable at any time."),
}
SETTINGS = {"help_option_names": ["-h", "--help"]}
# Since version 0.26 Typer bundles its own copy of Click; its public BadParameter leads to the right base class.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


_typed: list[str] = []


def same_again() -> str:
    """The command line that was typed, to be typed once more."""
    return shlex.join(["dendrocap", *_typed])


class Loaded(Mapping[str, Any]):
    """Commands by name; a module is imported when one of its commands is looked up."""

    def __init__(self, listed: Mapping[str, tuple[str, str | None]]) -> None:
        self._listed = listed
        self._made: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            module, heading = self._listed[name]
            if name in GROUPS:
                below, words = GROUPS[name]
                self._made[name] = TyperGroup(
                    name=name,
                    commands=Loaded(below),  # type: ignore[arg-type]
                    help=words,
                    rich_help_panel=heading,
                    no_args_is_help=True,
                    rich_markup_mode="rich",
                    context_settings=SETTINGS,
                )
            else:
                from dendrocap.cli.options import spread

                command = getattr(import_module(f"dendrocap.cli.{module}"), name.replace("-", "_"))
                one = typer.Typer(add_completion=False, rich_markup_mode="rich", context_settings=SETTINGS)
                one.command(name, rich_help_panel=heading)(spread(command))
                self._made[name] = typer.main.get_command(one)
        return self._made[name]


class Root(TyperGroup):
    """Turns every foreseeable failure into one line on stderr and the matching exit code."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": Loaded(COMMANDS)})

    def main(self, args: Sequence[str] | None = None, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        _typed[:] = sys.argv[1:] if args is None else args
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
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings=SETTINGS,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dendrocap {__version__}")
        raise typer.Exit


@app.callback(help=HELP)
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """What can a single neuron with non-linear dendrites compute?"""
