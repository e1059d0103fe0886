"""The reference is complete: every public name is described, those at the top have examples."""

import doctest
import inspect
import re

from dendrocap.display import Displayed
from tests.documentation.sources import DOCS, PUBLIC_PACKAGES, public_things, script

THINGS = list(public_things())


def test_what_stands_at_the_top_has_an_example():
    """Results, records and whatever lives in a package need a sentence only; --doctest-modules runs the examples."""
    assert all((thing.__doc__ or "").strip() for _, _, thing in THINGS)
    top = [thing for where, _, thing in THINGS if where == "dendrocap"]
    asked = [thing for thing in top if inspect.isfunction(thing) or not issubclass(thing, (Exception, Displayed))]
    assert len(asked) > 50
    assert [thing for thing in asked if not doctest.DocTestParser().get_examples(thing.__doc__)] == []


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
