"""The reference of the command line, made from the Typer application itself.

``{command-line} dendrocap.cli:app`` describes every command: how it is called, what it does, its arguments and options
with their defaults.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

Command = Any  # Typer carries its own copy of Click, whose classes are not public


def commands(command: Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Command]]:
    """A command and all below it, each with the words that call it."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


def plain(text: str | None) -> str:
    """Help text without Rich's markup and without hard line ends inside paragraphs."""
    text = re.sub(r"\[/?(?:bold|dim|italic|cyan|green|yellow|red|b|i)[^\]]*\]", "", text or "")
    paragraphs = re.split(r"\n\s*\n", text.replace("\b", "").replace("\f", "").strip())
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def described(path: tuple[str, ...], command: Command) -> tuple[str, list[tuple[str, str, str]]]:
    """How a command is called, and its arguments and options: spelling, meaning, default.

    Both as ``--help`` would print them: the one description of a parameter that all versions of Typer offer.
    """
    context = command.make_context(" ".join(path), [], resilient_parsing=True)
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or "--help" in parameter.opts:
            continue
        spelling, text = record
        notes = re.search(r"\s*\[((?:default: |required)[^\]]*)\]$", text)
        meaning = text[: notes.start()] if notes else text
        default = notes[1].removeprefix("default: ").strip("()") if notes else ""
        rows.append((re.sub(r"\s*\[required\]", "", spelling), plain(meaning), default))
    return command.get_usage(context).removeprefix("Usage: "), rows


def load(where: str) -> Command:
    """The Click command behind ``module:app``."""
    import typer.main

    module, _, name = where.partition(":")
    return typer.main.get_command(getattr(importlib.import_module(module), name))


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class CommandLine(SphinxDirective):
        """A section for every command."""

        required_arguments = 1

        def run(self) -> list[nodes.Node]:
            root = load(self.arguments[0])
            return [self._section(path, command) for path, command in commands(root, (root.name,))]

        def _section(self, path: tuple[str, ...], command: Command) -> nodes.Node:
            title = " ".join(path)
            section = nodes.section("", nodes.title(title, title), ids=[nodes.make_id(title)], names=[title])
            self.state.document.note_explicit_target(section)
            usage, rows = described(path, command)
            section += nodes.literal_block(usage, usage, language="text")
            for part in re.split(r"\n\s*\n", command.help or ""):
                if part.startswith("\b"):  # lines that must not be reflowed
                    lines = part.removeprefix("\b").strip("\n")
                    section += nodes.literal_block(lines, lines, language="text")
                    continue
                paragraph = plain(part)
                example = paragraph.removeprefix("Example: ")
                if example != paragraph:
                    section += nodes.literal_block(f"$ {example}", f"$ {example}", language="console")
                else:
                    section += nodes.paragraph(paragraph, paragraph)
            if rows:
                section += self._table(rows)
            return section

        def _table(self, rows: list[tuple[str, str, str]]) -> nodes.Node:
            head = ("argument or option", "meaning", "default")
            group = nodes.tgroup(cols=3)
            group += [nodes.colspec(colwidth=width) for width in (30, 55, 15)]
            group += nodes.thead("", nodes.row("", *(nodes.entry("", nodes.paragraph(t, t)) for t in head)))
            body = nodes.tbody()
            for name, meaning, default in rows:
                first = nodes.paragraph("", "", nodes.literal(name, name))
                last = nodes.paragraph("", "", *([nodes.literal(default, default)] if default else []))
                cells = (first, nodes.paragraph(meaning, meaning), last)
                body += nodes.row("", *(nodes.entry("", cell) for cell in cells))
            group += body
            return nodes.table("", group)

    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
