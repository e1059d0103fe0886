"""From questions to commands and functions: all exist, and ``--help`` asks some of the questions of the page."""

import pydoc
import re
import shlex

import typer.main
from typer.testing import CliRunner

from dendrocap.cli import HELP, app
from tests.documentation.sources import DOCS

ROW = re.compile(
    r"^\| ([^|]+) \| `dendrocap ([^`]+)` \| `dendrocap\.([^`]+)` \| [^|]+ \| \[[^]]+\]\(([^)]+)\) \|$", re.MULTILINE
)
ROWS = ROW.findall((DOCS / "which_function.md").read_text(encoding="utf-8"))  # question, command, function, page


def walk(words):
    """The words that call a command, and its context with all parameters parsed; nothing is run."""
    command, words = typer.main.get_command(app), shlex.split(words)
    path = []
    while hasattr(command, "commands"):
        path.append(words[0])
        command, words = command.commands[words[0]], words[1:]
    return path, command.make_context(" ".join(path), words)


def test_the_command_parses_and_the_function_and_the_page_exist():
    for _, command, function, page in ROWS:
        assert walk(command)[1].params
        assert pydoc.locate(f"dendrocap.{function}") is not None, function
        assert (DOCS / page).is_file()


def test_help_begins_with_a_dozen_of_the_questions_in_80_columns():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    asked = [f"{question} {command}" for question, command, _, _ in ROWS]
    assert len(set(asked) & set(lines)) == HELP.count("?") - 1 == 12
