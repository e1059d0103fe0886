"""Formulas of the pages that promise it are set by MathJax: none is left as plain text."""

import re

import pytest

from tests.documentation.sources import DOCS

PAGES = ("equations", "paper_notes", "rsb", "solvers", "theory_finite_load")
# Greek letters, roots, integrals, brackets of averages, hats and bars, and powers: what belongs into a formula.
SIGNS = re.compile("[\u0370-\u03ff√∫∂⟨⟩∞⋆½²³\u0302-\u0304\u00c2]|(?<![a-z])[A-Za-z]_[a-z0-9]")  # fmt: skip


def plain_text(markdown):
    """The lines that a reader sees as words: without code, formulas, headings, comments and targets of links."""
    text = re.sub(r"^(```|\$\$).*?^\1[^\n]*$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(#|    \S+ = |    from |    dendrocap |    critical)[^\n]*$", "", text, flags=re.MULTILINE)
    return re.sub(r"<!--.*?-->|`[^`]*`|\$[^$]*\$|\]\([^)]*\)", "", text)


@pytest.mark.parametrize("page", PAGES)
def test_no_formula_is_left_as_plain_text(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert text.count("$") > 100
    assert not [line for line in plain_text(text).splitlines() if SIGNS.search(line)]


@pytest.mark.parametrize(
    "line", ["the load \N{GREEK SMALL LETTER ALPHA}_c", "its overlap q_0", "| Q̂ |", "by √N times", "E⟨W⟩", "is ½"]
)
def test_a_formula_in_plain_text_would_be_found(line):
    assert SIGNS.search(plain_text(line))


@pytest.mark.parametrize(
    "line", [r"the load $\alpha_c$", "`gamma_ce`", "# Where θ_d is small", "rsb_learned", "K = 27"]
)
def test_what_is_no_formula_is_left_alone(line):
    assert not SIGNS.search(plain_text(line))


@pytest.mark.parametrize("page", PAGES)
def test_dollars_and_braces_are_balanced(page):
    text = re.sub(r"`[^`\n]*`", "", (DOCS / f"{page}.md").read_text(encoding="utf-8"))
    formulas = re.findall(r"\$\$(.*?)\$\$|\$([^$]+)\$", text, flags=re.DOTALL)
    for formula in map("".join, formulas):
        assert formula.count("{") == formula.count("}"), formula
        assert formula.count(r"\{") == formula.count(r"\}"), formula
        assert "\n\n" not in formula, formula


def test_every_item_of_the_paper_notes_is_in_its_list():
    """A number such as 13a ends a Markdown list; it is a paragraph of the item before it."""
    lines = (DOCS / "paper_notes.md").read_text(encoding="utf-8").splitlines()
    numbers = [int(found[1]) for line in lines if (found := re.match(r"(\d+)\. ", line))]
    assert numbers == list(range(1, len(numbers) + 1))
    assert not [line for line in lines if re.match(r"\d+[a-z]\. ", line)]
