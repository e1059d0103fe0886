"""One tab's conversation with the server, without a browser."""

import base64
import logging

import numpy as np
import pytest

import dendrocap as dc
from dendrocap.explorer import session as sessions
from dendrocap.explorer.parameters import Parameters, from_query
from dendrocap.explorer.plots import DARK, LIGHT
from dendrocap.explorer.session import Session
from dendrocap.explorer.views import NOTHING, Best, along_question, key_numbers, view
from tests.explorer.desks import InstantDesk, curve_of, pretended


@pytest.fixture
def session():
    made = Session(Parameters(), desk=InstantDesk(), reader=InstantDesk())
    made.handle({"kind": "hello"})
    yield made
    made.close()


def change(session, **changes):
    return session.handle({"kind": "change", "changes": changes})


def test_a_slider_moves_numbers_figures_and_link_together(session):
    reply = change(session, theta_d=0.05)
    quick = dc.capacity(session.parameters.cell, accuracy="fast")
    assert reply["numbers"]["capacity"] == quick.texts()["capacity"]
    assert reply["numbers"]["paper_capacity"] == "1.3"
    assert reply["answer"]["accuracy"] == "fast"
    assert session.capacity["theta_d"].point.data["alpha_c"] == [quick.alpha_c]
    assert from_query(reply["query"])[0].theta_d == 0.05
    assert reply["settings"]["theta_d"] == 0.05


def test_at_rest_the_best_estimate_and_the_full_curves_come(session):
    change(session, theta_d=0.05)
    assert session.capacity["theta_d"].broken_line.line_alpha < 1.0  # that of a moment ago, or none
    reply = session.handle({"kind": "rest"})
    best = pretended(session.parameters.cell)
    assert reply["answer"]["accuracy"] == "best"
    assert reply["numbers"]["capacity"] == best.texts()["capacity"]
    assert reply["pending"] is None
    assert "±" in reply["numbers"]["capacity"]
    point = session.capacity["theta_d"].point.data
    np.testing.assert_allclose([point["low"], point["high"]], [[0.96 * best.alpha_c], [1.04 * best.alpha_c]])
    curve = session.capacity["theta_d"]
    assert curve.broken_line.line_alpha == 1.0
    np.testing.assert_array_equal(curve.broken.data["alpha_c"], curve_of(session.parameters)[0])


def test_ladder_and_lights_travel_with_the_answer(session):
    reply = session.handle({"kind": "rest"})
    best = pretended(session.parameters.cell)
    assert [step["name"] for step in reply["answer"]["ladder"]] == list(best.estimates)
    assert [step["best"] for step in reply["answer"]["ladder"]] == [False, True]
    assert [(one["name"], one["light"]) for one in reply["answer"]["lights"]] == [
        (name.replace("theta", "θ"), flag.light) for name, flag in best.validity.items()
    ]
    lights = change(session, n_branches=9_999)["answer"]["lights"]
    assert {one["name"] for one in lights if one["light"] == "bad"} >= {"branch size", "active inputs per branch"}


def test_while_a_slider_moves_nothing_slow_is_asked_for(session):
    session.desk.asked.clear()
    change(session, gamma=11.0)
    assert session.desk.asked == []
    session.handle({"kind": "rest"})
    assert session.desk.asked == [
        along_question(session.parameters), Best(session.parameters.cell, session.parameters.task),
    ]  # fmt: skip


def test_two_neurons_and_their_difference(session):
    reply = session.handle({"kind": "compare", "neuron": "b"})
    assert reply["neurons"] == ["a", "b"]
    assert reply["neuron"] == "b"
    change(session, theta_d=1.0)
    reply = session.handle({"kind": "rest"})
    one, other = pretended(Parameters().cell), pretended(Parameters(theta_d=1.0).cell)
    assert reply["compared"]["a"]["capacity"] == one.texts()["capacity"]
    assert reply["compared"]["b"]["capacity"] == other.texts()["capacity"]
    gap, error = other.alpha_c - one.alpha_c, np.hypot(one.error, other.error)
    assert reply["compared"]["difference"]["capacity"] == f"+{gap:.2f} ± {error:.2f}"
    assert reply["compared"]["difference"]["silent"].startswith("-")
    assert "b.theta_d=1.0" in reply["link"]
    assert len(session.capacity["theta_d"].other.data["x"])  # the other one as a thin line
    assert session.handle({"kind": "compare", "neuron": "a"})["settings"]["theta_d"] == 0.5
    alone = session.handle({"kind": "compare", "neuron": "a", "alone": True})
    assert alone["neurons"] == ["a"]
    assert "compared" not in alone
    assert len(session.capacity["theta_d"].other.data["x"]) == 0


def test_how_many_branches_are_best(session):
    change(session, n_inputs=1000, n_branches=27)
    reply = session.handle({"kind": "count"})
    assert reply["settings"]["axis"] == "n_branches"
    asked = [one.cell.n_branches for one in session.desk.asked if isinstance(one, Best)]
    assert {5, 11, 21, 51} < set(asked)
    assert 101 not in asked[-4:]  # ten synapses per branch at least
    assert "Of 5, 11, 21, 51 branches, 51 store most" in reply["branches"]
    assert "not distinguishably worse" in reply["branches"]
    assert session.capacity["n_branches"].best.data["x"] == [5, 11, 21, 51]
    assert change(session, gamma=10.0)["branches"] == ""  # of another neuron


def test_inhibition_says_what_it_leaves_out(session):
    reply = session.handle({"kind": "change", "changes": {"inhibitory_share": 0.2}})
    assert "infinitely many long, equal branches" in reply["said"]
    assert reply["numbers"]["patterns"] == NOTHING
    reply = session.handle({"kind": "rest"})
    assert all("infinitely many" in step["assumes"] for step in reply["answer"]["ladder"])
    assert session.weights.figure.x_range.start < -0.1 * session.weights.figure.x_range.end  # weights below zero
    reply = session.handle({"kind": "count"})
    assert "infinitely many" in reply["problem"]
    reply = session.handle({"kind": "train", "action": "start"})
    assert "inhibition cannot be trained here" in reply["problem"]
    reply = session.handle({"kind": "change", "changes": {"inhibitory_share": 0.0}})
    assert reply["said"] == ""
    assert reply["numbers"]["patterns"] != NOTHING


def test_two_kinds_of_branches(session):
    reply = change(session, populations="2", theta_d_2=0.1, nonlinearity_2="relu")
    assert len(session.dendrite.second.data["x"])
    assert "relu" not in reply["no_solution"]
    spec = session.parameters.neuron
    assert [one.theta_d for one in spec.populations] == [0.5, 0.1]
    assert "cannot be trained" in session.handle({"kind": "train", "action": "start"})["problem"]


def test_in_a_crowd_curves_are_sketched_and_completed_at_rest():
    crowd = [Session(Parameters(), desk=InstantDesk()) for _ in range(3)]
    for number, one in enumerate(crowd):
        reply = change(one, gamma=10.0 + number)
    last = crowd[2]
    assert len(last.capacity["theta_d"].paper.data["x"]) == 12
    assert reply["numbers"] == key_numbers(view(last.parameters))  # the numbers are never sketches
    last.handle({"kind": "rest"})
    np.testing.assert_array_equal(last.capacity["theta_d"].paper.data["alpha_c"], view(last.parameters).curve.paper)


def test_one_among_few_is_no_crowd(monkeypatch):
    traffic = sessions.Traffic()
    assert not any(traffic.crowded(1) for _ in range(5))
    assert [traffic.crowded(one) for one in (2, 3)] == [False, True]
    now = sessions.time.monotonic()
    monkeypatch.setattr(sessions.time, "monotonic", lambda: now + 10.0)
    assert not traffic.crowded(1)


def test_the_page_hears_of_a_bad_link_once():
    session = Session(Parameters(), problems=["theta_d = 99 is not allowed"], desk=InstantDesk())
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
        ({"kind": "change", "changes": {"curve": [[0, 1]]}}, "malformed change"),
        ({"kind": "change", "changes": {"bogus": 1}}, "parameter = 'bogus' is not allowed"),
        ({"kind": "change"}, "malformed change"),
        ({"kind": "compare", "neuron": "c"}, "neuron = 'c' is not allowed"),
        ({"kind": "upload", "name": "a.csv", "content": "", "holds": "x"}, "holds = 'x' is not allowed"),
        ({"kind": "preset", "name": "x"}, "preset = 'x' is not allowed"),
        ({"kind": "upload", "name": "a.csv", "content": "%%%"}, "did not arrive completely"),
        (
            {"kind": "upload", "name": "a.csv", "content": "MQoyCjM=", "holds": "amplitudes", "n_tested": 0},
            "tested = 0 ",
        ),
        ({"kind": "upload", "name": "a.csv", "content": "A" * 300_000}, "too large"),
        ({"kind": "upload", "name": "a.csv", "content": 7}, "too large"),
        ({"kind": "upload", "holds": "curve"}, "no file"),
        ({"kind": "train", "action": "explode"}, "action = 'explode' is not allowed"),
        ({"kind": "nonsense"}, "message = 'nonsense' is not allowed"),
        ("nonsense", "malformed message"),
    ],
)
def test_bad_messages_become_sentences_and_change_nothing(session, message, words):
    reply = session.handle(message)
    assert words in reply["problem"]
    assert reply["settings"]["theta_d"] == 0.5
    assert session.parameters == Parameters()


def test_unexpected_errors_are_logged_and_not_shown(session, monkeypatch, caplog):
    def broken(parameters, **options):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(sessions, "view", broken)
    with caplog.at_level(logging.ERROR):
        reply = change(session, theta_d=0.7)
    assert "secret" not in reply["problem"]
    assert "secret detail" in caplog.text


def upload(session, content, **more):
    text = base64.b64encode(content.encode()).decode()
    return session.handle({"kind": "upload", "name": "mine.csv", "content": text, **more})


def test_presets_and_uploads(session):
    assert "931 EPSPs" in session.handle({"kind": "preset", "name": "song2005"})["said"]
    assert session.parameters.f_in == 0.05
    reply = upload(session, "0,0\n0.5,0.2\n1,1\n", holds="curve")
    assert "3 points" in reply["said"]
    assert reply["settings"]["nonlinearity"] == "tabulated"
    assert from_query(reply["query"])[0].curve == ((0.0, 0.0), (0.5, 0.2), (1.0, 1.0))
    assert change(session, nonlinearity="relu", theta_s=0.5)["settings"]["curve"] == 3  # the curve is not forgotten


def test_a_measured_curve_has_its_unit_its_errors_and_a_fit(session):
    x = np.linspace(0.0, 16.0, 25)
    noise = 0.2 * np.random.default_rng(1).standard_normal(25)
    y = 12.0 * dc.Polsky(0.33, 15.0)(x / 12.0) + noise
    rows = "\n".join(f"{a:.4f},{b:.4f},0.2" for a, b in zip(x, y, strict=True))
    reply = upload(session, f"expected (mV),recorded (mV),SEM (mV)\n{rows}\n", holds="curve")
    assert "in mV, with standard errors" in reply["said"]
    assert reply["settings"]["nonlinearity"] == "smooth"
    measured = session.dendrite.measured.data
    assert len(measured["x"]) == 25
    np.testing.assert_allclose(measured["high"] - measured["low"], 0.4 / session.parameters.units.scale_mv)
    change(session, nonlinearity="fitted")
    g = session.parameters.g
    assert abs(g.x_min - 0.33) < 0.05
    assert abs(session.parameters.units.scale_mv - 12.0) < 0.3
    assert session.dendrite.measured.data["y"].max() < 1.1
    assert "like noise" in change(session, nonlinearity="tabulated")["said"]
    assert change(session, nonlinearity="polsky")["said"] == ""
    assert len(session.dendrite.measured.data["x"]) == 0


def test_epsps_set_the_thresholds_and_are_drawn(session):
    session.handle({"kind": "preset", "name": "song2005"})
    data = dc.datasets.song2005()
    content = "epsp (mV)\n" + "\n".join(f"{one:.6g}" for one in data.amplitudes_mv)
    reply = upload(session, content, holds="amplitudes", n_tested=data.n_tested)
    assert "931 EPSPs fitted (the paper's replica-symmetric weights)" in reply["said"]
    assert "[" in reply["said"]
    fit = dc.fit_weights(
        data.amplitudes_mv, data.n_tested, p0="tested", nonlinearity=session.parameters.g, n_bootstrap=0,
        task=session.parameters.task, units=session.parameters.units,
    )  # fmt: skip
    assert reply["settings"]["theta_d"] == pytest.approx(fit.dendrites.theta_d, rel=1e-4)
    assert not fit.dendrites.reachable  # 88 % of the tested pairs are not connected
    assert "is unchanged" in reply["said"]
    assert reply["numbers"]["capacity"] != "–"
    assert len(session.weights.measured.data["top"]) == 40
    assert "column" in upload(session, "a,b\n1,2\n3,4\n", holds="amplitudes")["problem"]
    refused = upload(session, "EPSC (pA)\n10\n20\n", holds="amplitudes")["problem"]
    assert "pA" in refused


def test_epsps_of_a_neuron_at_capacity_give_its_thresholds_back(session):
    change(session, f_in=0.05, f_out=0.05, x_min=0.2, gamma=20.0)
    parameters = session.parameters.changed({"theta_d": 0.05, "theta_s": 0.1})
    weights = dc.critical_capacity(parameters.neuron, parameters.task).weights
    p0 = weights.silent_fraction
    tested = round(4000 / (1.0 - p0))
    amplitudes = parameters.units.weight_mv(weights.ppf(p0 + (1.0 - p0) * (np.arange(4000) + 0.5) / 4000))
    content = "epsp (uV)\n" + "\n".join(f"{1e3 * one:.6g}" for one in amplitudes)
    reply = upload(session, content, holds="amplitudes", n_tested=tested)
    assert reply["settings"]["theta_d"] == pytest.approx(0.05, rel=1e-3)
    assert "θ_s = " in reply["said"]
    found = dc.critical_capacity(session.parameters.neuron, session.parameters.task)
    assert found.silent_fraction == pytest.approx(p0, abs=2e-4)


def test_where_there_is_no_solution_the_numbers_go_and_come_back(session):
    reply = change(session, theta_s=1.5)
    assert "strictly between" in reply["no_solution"]
    assert reply["numbers"]["capacity"] == "–"
    assert session.weights.atom.data["x"] == []
    assert session.handle({"kind": "rest"})["pending"] is None
    assert change(session, theta_s=0.5)["numbers"]["paper_capacity"] == "4.95"


def test_the_reach_of_the_branches_limits_the_somatic_threshold(session):
    assert change(session, gamma=14.0)["reach"]["theta_s"] == (0.001, 1.0)
    assert change(session, nonlinearity="relu")["reach"]["theta_s"] == (0.001, 2.0)
    assert change(session, populations="2")["reach"]["theta_s"] == (0.001, 1.0)  # apical branches saturate


def test_figures_are_described_for_those_who_do_not_see_them(session):
    said = session.handle({"kind": "rest"})["described"]
    assert "Capacity against the dendritic threshold: here" in said["capacity"]
    assert "replica-symmetric estimate: 4.95" in said["capacity"]
    assert "silent" in said["weights"]


def test_the_theme_reaches_every_figure(session):
    session.handle({"kind": "theme", "dark": True})
    assert {plot.figure.xaxis[0].major_label_text_color for plot in session.plots.values()} == {DARK.text}
    assert session.dendrite.line.line_color == DARK.curves["polsky"]
    session.handle({"kind": "theme", "dark": False})
    assert {plot.figure.xaxis[0].major_label_text_color for plot in session.plots.values()} == {LIGHT.text}


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


def test_where_there_is_no_best_estimate_the_page_says_that_the_quick_look_is_all():
    correlated = Parameters(branch_correlation=2.0, n_inputs=999, n_branches=27)
    session = Session(correlated, desk=InstantDesk(real=True))
    session.handle({"kind": "hello"})
    reply = session.handle({"kind": "rest"})
    session.close()
    assert reply["said"] == sessions.NO_BEST
    assert reply["numbers"]["capacity"].startswith("about")
    assert reply["answer"]["accuracy"] == "fast"
