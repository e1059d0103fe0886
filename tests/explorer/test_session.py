"""One tab's conversation with the server, without a browser."""

import base64
import logging

import numpy as np
import pytest

from dendrocap import NeuronSpec, Polsky, critical_capacity
from dendrocap.explorer import session as sessions
from dendrocap.explorer.links import from_query
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.session import Session
from dendrocap.explorer.theme import DARK, LIGHT
from dendrocap.explorer.views import key_numbers, view


@pytest.fixture
def session():
    made = Session(Parameters())
    made.handle({"kind": "hello"})
    yield made
    made.close()


def change(session, **changes):
    return session.handle({"kind": "change", "changes": changes})


def test_a_slider_moves_numbers_figures_and_link_together(session):
    reply = change(session, theta_d=0.05)
    expected = critical_capacity(NeuronSpec(Polsky(), 0.05, 0.5)).alpha_c
    assert reply["numbers"]["alpha_c"] == f"{expected:.4f}"
    assert session.capacity["theta_d"].point.data["alpha_c"] == [expected]
    assert from_query(reply["query"])[0].theta_d == 0.05
    assert reply["settings"]["theta_d"] == 0.05


def test_in_a_crowd_curves_are_drafted_and_refined_at_rest():
    crowd = [Session(Parameters()) for _ in range(3)]
    replies = [change(one, gamma=10.0 + number) for number, one in enumerate(crowd)]
    assert replies[2]["draft"]
    last = crowd[2]
    assert len(last.capacity["theta_d"].curve.data["x"]) == 30
    full = view(last.parameters)
    assert replies[2]["numbers"] == key_numbers(full)  # the numbers are never drafts
    assert not last.handle({"kind": "refine"})["draft"]
    np.testing.assert_array_equal(last.capacity["theta_d"].curve.data["alpha_c"], full.curve.alpha_c)


def test_one_among_few_is_no_crowd(monkeypatch):
    traffic = sessions.Traffic()
    assert not any(traffic.crowded(1) for _ in range(5))
    assert [traffic.crowded(one) for one in (2, 3)] == [False, True]
    now = sessions.time.monotonic()
    monkeypatch.setattr(sessions.time, "monotonic", lambda: now + 10.0)
    assert not traffic.crowded(1)


def test_the_page_hears_of_a_bad_link_once():
    session = Session(Parameters(), ["theta_d = 99 is not allowed"])
    assert "theta_d = 99" in session.handle({"kind": "hello"})["problem"]
    assert "problem" not in session.handle({"kind": "hello"})


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"kind": "change", "changes": {"theta_d": -1}}, "theta_d = -1 is not allowed"),
        ({"kind": "change", "changes": {"theta_d": "<b>"}}, "theta_d = '<b>' is not allowed"),
        ({"kind": "change", "changes": {"theta_d": None}}, "theta_d = None is not allowed"),
        ({"kind": "change", "changes": {"n_branches": 10000, "n_inputs": 10}}, "at most n_inputs = 10"),
        ({"kind": "change", "changes": {"nonlinearity": ["a"]}}, "nonlinearity = ['a'] is not allowed"),
        ({"kind": "change", "changes": {"nonlinearity": "tabulated"}}, "upload one first"),
        ({"kind": "change", "changes": {"curve": [[0, 1]]}}, "changes that are none"),
        ({"kind": "change", "changes": {"bogus": 1}}, "parameter = 'bogus' is not allowed"),
        ({"kind": "change"}, "changes that are none"),
        ({"kind": "preset", "name": "x"}, "preset = 'x' is not allowed"),
        ({"kind": "upload", "name": "a.csv", "content": "%%%"}, "did not arrive"),
        ({"kind": "upload", "name": "a.csv", "content": "A" * 300_000}, "too large"),
        ({"kind": "upload", "name": "a.csv", "content": 7}, "too large"),
        ({"kind": "train", "action": "explode"}, "action = 'explode' is not allowed"),
        ({"kind": "nonsense"}, "message = 'nonsense' is not allowed"),
        ("nonsense", "not a message"),
    ],
)
def test_bad_messages_become_sentences_and_change_nothing(session, message, words):
    reply = session.handle(message)
    assert words in reply["problem"]
    assert reply["settings"]["theta_d"] == 0.5
    assert session.parameters == Parameters()


def test_what_nobody_foresaw_is_logged_and_not_shown(session, monkeypatch, caplog):
    def broken(parameters, **options):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(sessions, "view", broken)
    with caplog.at_level(logging.ERROR):
        reply = change(session, theta_d=0.7)
    assert "secret" not in reply["problem"]
    assert "secret detail" in caplog.text


def test_presets_and_uploads(session):
    assert "931 EPSPs" in session.handle({"kind": "preset", "name": "song2005"})["said"]
    assert session.parameters.f_in == 0.05
    content = base64.b64encode(b"0,0\n0.5,0.2\n1,1\n").decode()
    reply = session.handle({"kind": "upload", "name": "mine.csv", "content": content})
    assert "3 points" in reply["said"]
    assert reply["settings"]["nonlinearity"] == "tabulated"
    assert from_query(reply["query"])[0].curve == ((0.0, 0.0), (0.5, 0.2), (1.0, 1.0))
    assert change(session, nonlinearity="relu", theta_s=0.5)["settings"]["curve"] == 3  # the curve is not forgotten


def test_where_there_is_no_solution_the_numbers_go_and_come_back(session):
    reply = change(session, theta_s=1.5)
    assert "strictly between" in reply["no_solution"]
    assert reply["numbers"]["alpha_c"] == "–"
    assert session.weights.atom.data["x"] == []
    assert change(session, theta_s=0.5)["numbers"]["alpha_c"] == "4.9513"


def test_the_theme_reaches_every_figure(session):
    session.handle({"kind": "theme", "dark": True})
    assert {plot.figure.xaxis[0].axis_label_text_color for plot in session.plots.values()} == {DARK.text}
    assert session.dendrite.line.line_color == DARK.curves["polsky"]
    session.handle({"kind": "theme", "dark": False})
    assert {plot.figure.xaxis[0].axis_label_text_color for plot in session.plots.values()} == {LIGHT.text}


def luminance(colour):
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255.0
    linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(theme):
    """WCAG's ratios: 4.5 for text; for lines on a dark page 3 (on white the palette is that of the figures)."""
    assert contrast(theme.text, theme.background) > 4.5
    assert contrast(theme.faint, theme.background) > 4.5
    if theme is DARK:
        for name, colour in theme.curves.items():
            assert contrast(colour, theme.background) > 3.0, name


def test_training_from_start_to_stop(session):
    change(session, train_inputs=99, train_branches=9, load=3.0, pace=1000)
    assert session.handle({"kind": "train", "action": "start"})["run"]["state"] == "running"
    assert session.handle({"kind": "train", "action": "pause"})["run"]["state"] == "paused"
    assert session.handle({"kind": "train", "action": "resume"})["run"]["state"] == "running"
    run = session.handle({"kind": "train", "action": "stop"})["run"]
    assert run["state"] == "ended"
    assert session.learned.learned.data["top"].sum() > 0.0
    assert not run["stale"]
    assert change(session, load=1.0)["run"]["stale"]
    session.handle({"kind": "train", "action": "start"})
    session.close()
    assert not session.trainer.alive
