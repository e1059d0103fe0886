"""The page shows no replica-symmetric capacity or silent fraction without its name."""

from pathlib import Path

import numpy as np
import pytest

import dendrocap as dc
import dendrocap.explorer
from dendrocap.explorer import files
from dendrocap.explorer.files import DRAWN, neuron_script
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.session import Session
from tests.explorer.desks import InstantDesk
from tests.test_named_estimates import NAMES, shown_numbers, symmetric, unnamed

PAGE = Path(dendrocap.explorer.__file__).parent / "page" / "page.html"


def texts(thing, name=""):
    """Every text and number of a reply, with the names of the fields that hold it."""
    if isinstance(thing, dict):
        own = f"{name} {thing['name']}" if isinstance(thing.get("name"), str) else name
        for key, value in thing.items():
            yield from texts(value, f"{own} {key}")
    elif isinstance(thing, list | tuple):
        for value in thing:
            yield from texts(value, name)
    elif isinstance(thing, str | float):
        yield f"{name}: {thing}"


@pytest.mark.parametrize("theta_d", [0.5, 1.0])
def test_replies_name_the_paper_s_numbers(theta_d):
    session = Session(Parameters(theta_d=theta_d), Parameters(theta_d=1.5 - theta_d), desk=InstantDesk())
    replies = [session.handle({"kind": kind}) for kind in ("hello", "rest")]
    replies.append(session.handle({"kind": "progress"}))
    found = [text for reply in replies for text in texts(reply)]
    assert any(shown_numbers(text) for text in found)  # they are there
    assert [text for text in found if unnamed(text)] == []


def test_replies_name_the_paper_s_numbers_with_inhibition():
    """The paper's way of counting gives 6.98 here, 81 % silent."""
    inhibited = Parameters(inhibitory_share=0.2)
    session = Session(inhibited, desk=InstantDesk())
    found = [text for kind in ("hello", "rest") for text in texts(session.handle({"kind": kind}))]
    paper = dc.critical_capacity(inhibited.neuron)
    forms = [
        f"{paper.alpha_c:.2f}",
        f"{paper.alpha_c:.3g}",
        f"{paper.alpha_c:.17g}",
        f"{100 * paper.silent_fraction:.0f} %",
    ]
    holding = [text for text in found if any(form in text for form in forms)]
    assert holding
    assert [text for text in holding if not NAMES.search(text)] == []


def test_the_page_names_what_it_fills_in():
    html = PAGE.read_text(encoding="utf-8")
    at = html.index('id="paper_<< name >>"')
    assert "replica symmetric" in html[at - 80 : at]


@pytest.mark.parametrize("axis", ["theta_d", "theta_s"])
def test_figures_name_the_lines_that_hold_the_paper_s_numbers(axis):
    session = Session(Parameters(axis=axis), desk=InstantDesk())
    session.handle({"kind": "hello"})
    session.handle({"kind": "rest"})
    met = 0
    for plot in (session.capacity[axis], session.weights):
        for renderer in plot.figure.renderers:
            columns = renderer.data_source.data
            values = [
                np.asarray(columns[name], dtype=float) for name in ("alpha_c", "top") if len(columns.get(name, ()))
            ]
            if any(np.isclose(one, number, rtol=2e-3).any() for one in values for number in symmetric()[:2]):
                labels = [
                    item.label["value"] for legend in plot.figure.legend for item in legend.items
                    if renderer in item.renderers
                ]  # fmt: skip
                hollow = renderer.data_source is getattr(plot, "paper_atom", None)  # beside the solid bar of the answer
                met += 1
                assert hollow or any(NAMES.search(label) for label in labels), labels
    assert met


def test_exports_name_them_too(monkeypatch):
    monkeypatch.setattr(files, "answered", InstantDesk().answer)
    texts = {name: DRAWN[name](Parameters(), None).decode() for name in ("neuron.csv", "neuron.svg")}
    for name, text in {**texts, "neuron.py": neuron_script(Parameters())}.items():
        lines = [
            line
            for line in text.splitlines()
            if not line.lstrip().startswith(("<path", "<use", "L ", "M ", "C ", "Q "))
        ]
        if name == "neuron.svg":
            lines = [line for line in lines if "<text" in line or "<!--" in line]
        assert [line for line in lines if unnamed(line)] == []
