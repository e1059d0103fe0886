"""Tutorials can be had as notebooks, with the same cells as the page."""

import re

import pytest

from tests.documentation.sources import DOCS, script

pytestmark = pytest.mark.site
TUTORIALS = [page for page in sorted((DOCS / "learn").glob("*.md")) if page.stem != "index"]


@pytest.fixture(scope="module")
def notebooks():
    return script("_ext/tutorial_notebooks.py")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_is_a_notebook_with_the_cells_of_the_page(page, notebooks):
    import nbformat

    made = notebooks.notebook(page)
    nbformat.validate(made)
    code = [cell.source for cell in made.cells if cell.cell_type == "code"]
    blocks = re.findall(
        r"^```\{code-cell\}[^\n]*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(code) == len(blocks) >= 5
    for cell, block in zip(code, blocks, strict=True):
        assert block.rstrip().endswith(cell.rstrip())  # the block may open with the words of its figure
    words = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "pip install" in words
    assert not re.search(r"\]\((?!https?:)|\{\w+\}`|^```\{", words, flags=re.MULTILINE)


def test_a_page_that_is_not_run_is_no_notebook(notebooks):
    assert notebooks.notebook(DOCS / "learn" / "index.md") is None


def test_links_into_the_site_become_words(notebooks):
    text = (
        "see [the guide](../theory/replicas.md#x), {doc}`gallery </auto_gallery/index>` and [this](https://example.org)"
    )
    assert notebooks.plain_links(text) == "see the guide, gallery and [this](https://example.org)"
