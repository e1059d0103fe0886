"""From questions to commands and functions: both exist, and the page and ``--help`` say the same."""

import shlex
from functools import reduce

import pytest
import typer.main
from typer.testing import CliRunner

import dendrocap
from dendrocap.cli import app
from dendrocap.cli.questions import PANELS, QUESTIONS, markdown_table
from tests.documentation.sources import DOCS, ROOT


def walk(words):
    """The words that call a command, and its context with all parameters parsed; nothing is run."""
    command, words = typer.main.get_command(app), shlex.split(words)
    path = []
    while hasattr(command, "commands"):
        path.append(words[0])
        command, words = command.commands[words[0]], words[1:]
    return path, command.make_context(" ".join(path), words)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.command)
def test_the_command_parses_and_the_function_exists(question):
    path, context = walk(question.command)
    assert path
    assert context.params
    assert reduce(getattr, question.function.split("."), dendrocap) is not None


def test_a_command_that_does_not_exist_would_be_noticed():
    with pytest.raises(KeyError):
        walk("capacities --theta-d 0.5")
    with pytest.raises(Exception, match="theta-e"):
        walk("capacity --theta-e 0.5")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.command)
def test_its_page_exists(question):
    assert (DOCS / question.page).is_file()


def test_the_page_has_the_table_of_the_package():
    assert markdown_table() in (DOCS / "which_function.md").read_text(encoding="utf-8")


def test_the_page_is_linked_first():
    assert "docs/which_function.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert index.index("which_function") < index.index("learn/index")


def test_help_leads_from_the_same_questions_in_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout
    lines = [line.strip() for line in shown.splitlines()]
    for question in QUESTIONS:
        (line,) = [line for line in lines if line.startswith(question.asks)]
        assert line.endswith(question.command)
    assert all(panel in shown for panel in PANELS)
