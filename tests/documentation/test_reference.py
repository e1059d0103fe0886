"""The reference is complete: every public name is described; all but errors and plain records have examples."""

import dataclasses
import doctest
import re

import pytest

from tests.documentation.sources import DOCS, PUBLIC_PACKAGES, public_things, script

THINGS = list(public_things())


def needs_no_example(thing):
    """Whether this is an error, or a record: a dataclass or named tuple without public methods or properties."""
    if not isinstance(thing, type):
        return False
    if issubclass(thing, Exception):
        return True
    if dataclasses.is_dataclass(thing):
        known = {field.name for field in dataclasses.fields(thing)}
    else:
        known = {*getattr(thing, "_fields", ()), *dir(tuple)}
    is_record = dataclasses.is_dataclass(thing) or hasattr(thing, "_fields")
    return is_record and all(name.startswith("_") or name in known for name in dir(thing))


def test_only_errors_and_plain_records_need_no_example():
    by_name = {name: thing for _, name, thing in THINGS}
    assert needs_no_example(by_name["MissingData"])
    assert needs_no_example(by_name["EpochRecord"])
    for name in ("NeuronSpec", "capacity", "Tabulated", "CapacitySolution"):
        assert not needs_no_example(by_name[name]), name


@pytest.mark.parametrize(("where", "name", "thing"), THINGS, ids=[f"{where}.{name}" for where, name, _ in THINGS])
def test_every_public_name_has_an_example(where, name, thing):
    lines = (thing.__doc__ or "").splitlines()
    headings = [at for at, line in enumerate(lines) if line.strip() == "Examples"]
    if not headings and needs_no_example(thing):
        assert lines
        return
    assert len(headings) == 1, f"{where}.{name} has no section Examples"
    # --doctest-modules runs them; here we make sure that there is something to run
    assert doctest.DocTestParser().get_examples("\n".join(lines[headings[0] :]) + "\n")


def test_every_public_name_is_in_the_reference():
    listed = set()
    for page in (DOCS / "reference").glob("*.rst"):
        module = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.match(r"   ([A-Za-z_]\w*)$", line):
                listed.add(f"{module}.{match[1]}")
    missing = [f"{where}.{name}" for where, name, _ in THINGS if f"{where}.{name}" not in listed]
    assert not missing
    # and nothing is listed that does not exist
    known = {f"{where}.{name}" for where, name, _ in THINGS}
    unknown = {name for name in listed if name.rpartition(".")[0] in PUBLIC_PACKAGES} - known
    assert not unknown


def test_command_line_reference_explains_every_command_and_option():
    reference = script("_ext/command_line.py")
    found = dict(reference.commands(reference.load("dendrocap.cli:app"), ("dendrocap",)))
    assert ("dendrocap", "fit", "weights") in found
    for path, command in found.items():
        assert reference.plain(command.help), f"{' '.join(path)} does not say what it does"
        usage, rows = reference.described(path, command)
        assert usage.startswith(" ".join(path))
        for spelling, meaning, _ in rows:
            assert meaning, f"{' '.join(path)} {spelling} is not explained"


def test_command_line_reference_reads_spelling_and_default_from_the_commands():
    reference = script("_ext/command_line.py")
    found = dict(reference.commands(reference.load("dendrocap.cli:app"), ("dendrocap",)))
    _, rows = reference.described(("dendrocap", "capacity"), found["dendrocap", "capacity"])
    by_spelling = {spelling: (meaning, default) for spelling, meaning, default in rows}
    assert by_spelling["--theta-s VALUES"] == ("Somatic threshold, inside the range of g.", "0.5")
    _, rows = reference.described(("dendrocap", "sweep", "run"), found["dendrocap", "sweep", "run"])
    assert any(default == "required" for _, _, default in rows)


def test_markup_is_taken_out_of_help_texts():
    reference = script("_ext/command_line.py")
    assert reference.plain("A [bold]word[/bold] and\na line.\n\nIn [0, 1].") == "A word and a line.\n\nIn [0, 1]."
