"""What a user meets first: the import, the public names, the README, the metadata."""

import doctest
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dendrocap

ROOT = Path(__file__).parents[1]
HEAVY = ("numba", "matplotlib", "dask", "sklearn", "pandas", "xarray", "scipy", "typer", "rich")


def test_import_loads_nothing_heavy():
    code = f"import sys, dendrocap; print([name for name in {HEAVY!r} if name in sys.modules])"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout.strip() == "[]"


def test_every_public_name_exists_and_is_documented():
    assert dendrocap.__all__ == sorted(dendrocap.__all__)
    for name in dendrocap.__all__:
        thing = getattr(dendrocap, name)
        assert name.startswith("__") or (thing.__doc__ or "").strip(), name


def test_version_is_the_installed_one():
    assert importlib.metadata.version("dendrocap") == dendrocap.__version__


def test_unknown_names_are_refused_as_usual():
    with pytest.raises(AttributeError, match="no attribute 'Perceptron'"):
        dendrocap.Perceptron  # noqa: B018


def test_readme_snippets_run_and_print_what_they_claim():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks, "the README shows no Python"
    runner = doctest.DocTestRunner(verbose=False)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"README block {number}", "README.md", 0)
        assert test.examples, "README snippets are written as doctests"
        runner.run(test, clear_globs=False)
        names = test.globs  # a later block goes on where an earlier one ended
    assert runner.failures == 0


def test_relative_links_in_the_documents_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not target.startswith("mailto:"):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
