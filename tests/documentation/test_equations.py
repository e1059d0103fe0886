"""Formulas and code cite each other: the table of equations, docstrings, comments and the theory guide agree."""

import ast
import doctest
import inspect
import io
import re
import tokenize

import pytest

from tests.documentation.sources import DOCS, ROOT, script

table = script("_ext/equation_table.py")
ROWS = table.read_rows()
TAGS = {tag for row in ROWS for tag in row.tags}
# A tag in running text; an index or a type in code has a letter or a bracket before it.
CITED = re.compile(r"(?:^|(?<=[\s(,;:]))\[([a-z]+(?:-[A-Za-z0-9]+)*)\]")
# Words in brackets that are no tags: extras of the package, and mypy's error codes.
OTHER_BRACKETS = {"dask", "tables"}


def prose(path):
    """Docstrings, without their examples, and comments."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            for line in (ast.get_docstring(node) or "").splitlines():
                if not line.lstrip().startswith((">>>", "...")):
                    yield line
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and "type: ignore" not in token.string:
            yield token.string


def test_no_tag_has_two_rows():
    assert len(TAGS) == sum(len(row.tags) for row in ROWS)
    assert len(ROWS) > 50


def test_tags_cited_in_the_code_are_in_the_table():
    unknown = {}
    cited = set()
    for path in sorted((ROOT / "src").rglob("*.py")):
        for line in prose(path):
            for tag in CITED.findall(line):
                cited.add(tag)
                if tag not in TAGS | OTHER_BRACKETS:
                    unknown.setdefault(tag, []).append(path.name)
    assert not unknown
    assert len(cited & TAGS) > 30  # the pattern still finds what it looks for


def test_code_named_in_the_table_exists_and_is_explained():
    assert all(row.names for row in ROWS)
    assert [name for row in ROWS for name in row.names if not inspect.getdoc(table.find_code(name)[1])] == []


def test_formulas_of_the_guide_are_numbered_under_their_tags():
    """Every label of a displayed formula is a tag, so that the site can name the code under it; each is used once."""
    met = []
    for page in sorted((DOCS / "theory").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^\$\$\n.*?^\$\$([^\n]*)$", text, flags=re.DOTALL | re.MULTILINE)
        for end in blocks:
            label = re.fullmatch(r" \(([\w-]+)\)", end)
            assert label, f"{page.name} has a displayed formula without a label"
            met.append(label[1])
    assert len(met) > 40
    assert len(set(met)) == len(met)
    assert not set(met) - TAGS


@pytest.mark.parametrize("page", sorted((DOCS / "theory").glob("*.md")), ids=lambda page: page.stem)
def test_examples_of_the_guide_print_what_they_claim(page):
    runner, names = doctest.DocTestRunner(verbose=False), {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        test = doctest.DocTestParser().get_doctest(block, names, page.name, page.name, 0)
        runner.run(test, clear_globs=False)
        names = test.globs
    assert runner.failures == 0
