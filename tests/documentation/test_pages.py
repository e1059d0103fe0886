"""Pages that help to find one's way say what is the case: installation, citation, limits, navigation."""

import re
import tomllib

import dendrocap
from dendrocap.answers import validity
from tests.documentation.sources import DOCS, ROOT


def text(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_extra_is_on_the_page_that_lists_them():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"^\| `(\w+)` \|", text("install.md"), flags=re.MULTILINE)) == set(extras)


def test_the_citation_says_what_citation_cff_says():
    cff, bibtex = (ROOT / "CITATION.cff").read_text(encoding="utf-8"), text("cite.md")
    for family, given in re.findall(r"family-names: (\w+), given-names: ([^}]+?) }", cff):
        assert f"{family}, {given}" in bibtex
    (title,) = re.findall(r"^  title: (.+)$", cff, flags=re.MULTILINE)
    (identifier,) = re.findall(r"notes: (arXiv:\S+)", cff)
    (year,) = re.findall(r"year: (\d+)", cff)
    assert all(f"{{{words}}}" in bibtex for words in (title, identifier, year, dendrocap.__version__))
    assert f"dendrocap {dendrocap.__version__}" in bibtex


def test_the_lights_change_where_the_page_says():
    """The numbers of the table of lights, each tried on both sides of its border."""
    page = text("limits.md")
    for words in (
        "30 synapses or more",
        "10 or more, and skewness",
        "up to 0.3",
        "up to 0.8",
        "within 1 %",
        "within 10 %",
    ):
        assert words in page
    sizes = [validity.branch_size_flag(n).light for n in (30, 29.9, 10, 9.9)]
    assert sizes == ["good", "caution", "caution", "bad"]
    active = [validity.active_inputs_flag(n, 0.5, 0.0).light for n in (20, 19, 6, 5)]
    assert active == ["good", "caution", "caution", "bad"]
    skewed = [validity.active_inputs_flag(100, 0.5, s).light for s in (0.3, 0.31, 0.8, 0.81)]
    assert skewed == ["good", "caution", "caution", "bad"]
    branches = [validity.n_branches_flag(k, computed=True).light for k in (10, 9, 4, 3)]
    assert branches == ["good", "caution", "caution", "bad"]
    assert validity.n_branches_flag(100, computed=False).light == "caution"
    symmetry = [validity.replica_symmetry_flag(1.0 + gap, 1.0).light for gap in (0.009, 0.011, 0.09, 0.11)]
    assert symmetry == ["good", "caution", "caution", "bad"]
    specs = [dendrocap.NeuronSpec(dendrocap.SaturatingReLU(), 0.5, theta_s) for theta_s in (0.02, 0.005, 1.2)]
    assert [validity.theta_s_flag(spec).light for spec in specs] == ["good", "caution", "bad"]
    names = dendrocap.capacity(dendrocap.NeuronSpec(dendrocap.ReLU(), 0.5, 0.5), accuracy="fast").validity
    assert all(re.search(rf"^\| {name} \|", page, flags=re.MULTILINE) for name in names)
    assert len(names) == 6


def test_glossary_names_exist():
    names = re.findall(r"\{(?:func|class)\}`~dendrocap\.(\w+)`", text("glossary.md") + text("limits.md"))
    assert len(names) > 15
    assert all(hasattr(dendrocap, name) for name in names)
