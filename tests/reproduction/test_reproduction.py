"""Every figure from its name to its files; what is drawn and quoted is what is stored."""

import re
import threading
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dendrocap as dc
from dendrocap.errors import CorruptData, InvalidParameter
from dendrocap.reproduction import (
    PRESETS,
    fig04,
    paper_claims,
    report,
    reproduce,
    runs,
    selected,
    stored,
    write_report,
)
from dendrocap.reproduction.claims import PAPER
from dendrocap.reproduction.curves import PANELS
from dendrocap.reproduction.report import best_estimate
from dendrocap.reproduction.runs import REGISTERED, THEORY, _command, read_table, register, remarks, write_table
from dendrocap.sweeps import Progress, SerialExecutor, Store
from tests.reproduction.conftest import KEPT, SIMULATED, TINY


def outcome_of(made, name):
    return next(outcome for outcome in made.outcomes if outcome.name == name)


def swapped(monkeypatch, name, **changes):
    """The same figures, one of them changed."""
    monkeypatch.setitem(REGISTERED, name, replace(REGISTERED[name], **changes))


def test_every_figure_is_made_with_all_its_files(made):
    assert {outcome.status for outcome in made.outcomes} == {"done"}
    for outcome in made.outcomes:
        for suffix in ("png", "pdf", "svg"):
            assert made.path(f"{outcome.name}.{suffix}").stat().st_size > 5000
        assert all(len(read_table(made.path(f"{name}.csv"))) for name in outcome.tables)


def test_every_claim_has_its_measurement(made):
    measured = {figure.name: set(figure.measure(figure.read(made.folder))) for figure in selected()}
    for claim in paper_claims():
        if claim.figure != "fig8":
            assert claim.measure in measured[claim.figure], claim.id


@pytest.mark.parametrize("name", [*(f"fig2{panel}" for panel in "abcd"), "fig5", *PANELS.values()])
def test_theory_panels_are_what_the_theory_says(made, name):
    table = read_table(made.path(f"{name}.csv"))
    fixed = {"x_min": 0.33, "gamma": 15.0, "theta_d": 0.5, "theta_s": 0.5}
    for row in table.iloc[:: max(1, len(table) // 17)].to_dict("records"):
        at = {key: row.get(key, value) for key, value in fixed.items()}
        shape = {"x_min": at["x_min"], "gamma": at["gamma"]} if row["nonlinearity"] == "polsky" else {}
        g = dc.model.named_nonlinearity(row["nonlinearity"], **shape)
        solution = dc.critical_capacity(dc.NeuronSpec(g, at["theta_d"], at["theta_s"]))
        assert row["alpha_c"] == pytest.approx(solution.alpha_c, rel=1e-12)
        assert row["silent_fraction"] == pytest.approx(solution.silent_fraction, rel=1e-12)


def test_broken_curves_and_stability_are_what_the_theory_says(made):
    line = read_table(made.path("fig3_theory.csv")).iloc[10]
    neuron = dc.NeuronSpec(dc.Polsky(), line.theta_d, 0.5)
    assert line.alpha_rs == pytest.approx(dc.critical_capacity(neuron).alpha_c, rel=1e-12)
    assert line.alpha_1rsb == pytest.approx(dc.critical_capacity(neuron, rsb=1).alpha_c, rel=1e-8)
    assert line.alpha_at == pytest.approx(dc.stability_limit(neuron, dc.TaskSpec()).alpha, rel=1e-9)


def test_exact_claims_end_as_derived(made):
    """Those that no simulation enters, whatever the preset."""
    verdicts = {judged.claim.id: judged.verdict for judged in made.judged}
    assert verdicts["linear-capacity"] == "reproduced"
    assert verdicts["saturating-slope"] == "reproduced"
    assert verdicts["relu-coefficient"] == "differs"
    assert verdicts["reduced-equation"] == "differs"
    assert verdicts["x-min-lowers-capacity"] == "differs"
    assert verdicts["sparsity-survives-breaking"] == "differs"
    assert verdicts["song-theta-s-without-factor"] == "reproduced"
    assert verdicts["song-theta-s-conversion"] == "differs"
    assert verdicts["song-p0-reachable"] == "cannot be reproduced as printed"


def test_the_largest_load_solved_is_counted_from_the_runs(made):
    runs, reached = (read_table(made.path(f"fig3_{name}.csv")) for name in ("error", "capacity"))
    for line in reached.itertuples():
        own = runs[(runs.rule == line.rule) & (runs.theta_d == line.theta_d)].sort_values("alpha")
        solved_by_all = own.solved == own.seeds
        by_all = own.alpha[solved_by_all.cumprod().astype(bool)].max() if solved_by_all.iloc[0] else 0.0
        if line.tolerance == 0.0:
            assert by_all <= line.largest_load <= own.alpha.max()
        assert line.seeds == TINY.seeds


def test_images_that_need_files_are_named_where_they_are_missing(made):
    outcome = outcome_of(made, "fig8")
    for words in ("MNIST handwritten digits", "CIFAR-10", "DENDROCAP_DATA", "datasets mnist or"):
        assert words in outcome.reason
    assert set(read_table(made.path("fig8.csv")).dataset) == {"digits"}
    assert {(judged.verdict, judged.note) for judged in made.claims_of("fig8")} == {("not run", outcome.reason)}


def test_the_report_holds_the_numbers_of_the_tables_and_needs_nothing_else(made):
    page = write_report(made).read_text(encoding="utf-8")
    slopes = read_table(made.path("fig9_slopes.csv")).set_index("nonlinearity")
    cells = re.findall(r"<td data-label=.(?:printed|measured). class=number>(.*?)</td>", page)
    shown = [tuple(map(unescape, pair)) for pair in zip(cells[::2], cells[1::2], strict=True)]
    assert ("3.518", f"{slopes.exact['saturating_relu']:.6g}") in shown
    assert ("< 1", f"{read_table(made.path('fig1.csv')).slope.max():.6g}") in shown
    assert sorted(shown) == sorted((judged.claim.expectation, judged.value) for judged in (*made.judged, *made.ours))
    assert page.count("<img") == sum(outcome.status == "done" for outcome in made.outcomes)
    assert {judged.claim.statement for judged in made.judged} <= set(re.split("<.*?>", unescape(page)))
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert sources
    assert all(source.startswith(("data:", "#")) for source in sources)


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_figures_say_how_large_they_are(made, name):
    assert outcome_of(made, name).settings.startswith("N = 111, K = 3, 2 seeds")
    assert "N = 111, K = 3, 2 seeds" in made.path(f"{name}.svg").read_text(encoding="utf-8")


def test_what_is_finished_is_not_run_again_and_its_store_is_opened_once(made, monkeypatch):
    ran = []

    def count(self, cells, stop, **options):
        ran.extend(cells)
        yield from ()

    monkeypatch.setattr(SerialExecutor, "run", count)
    opened = []
    monkeypatch.setattr(Store, "__init__", counted(Store.__init__, opened))
    again = reproduce(["fig4"], preset=TINY, out=made.folder, executor=SerialExecutor())
    assert not ran
    assert len(opened) == 1
    assert outcome_of(again, "fig4").status == "done"
    assert outcome_of(again, "fig2a").status == "done"  # of the earlier call


def counted(function, calls):
    def call(*arguments, **options):
        calls.append(arguments)
        return function(*arguments, **options)

    return call


def test_one_failure_does_not_stop_the_others(tmp_path, monkeypatch):
    def broken(size, records):
        raise ZeroDivisionError("no luck")

    swapped(monkeypatch, "fig2b", tables=broken)
    made = reproduce(["2b", "2c"], out=tmp_path)
    assert outcome_of(made, "fig2b").status == "failed"
    assert outcome_of(made, "fig2b").reason == "ZeroDivisionError: no luck"
    assert outcome_of(made, "fig2c").status == "done"
    assert "ZeroDivisionError: no luck" in write_report(made).read_text(encoding="utf-8")


def test_failed_runs_are_told_and_left_out(tmp_path, monkeypatch):
    def bad_sweeps(size):
        good = fig04.sweeps(size)
        return [*good[:1], replace(good[1], parameters={**good[1].parameters, "n_inputs": -1})]

    swapped(monkeypatch, "fig4", sweeps=bad_sweeps)
    made = reproduce(["fig4"], preset=TINY, out=tmp_path, executor=SerialExecutor())
    assert outcome_of(made, "fig4").status == "failed"
    assert "n_inputs = -1" in outcome_of(made, "fig4").reason


def test_a_stop_keeps_what_is_finished_and_the_same_call_goes_on(tmp_path):
    seen = []

    class StopAfterThree(SerialExecutor):
        def run(self, cells, stop: threading.Event, **options):
            for outcome in super().run(cells, stop, **options):
                seen.append(outcome)
                if len(seen) == 3:
                    stop.set()
                yield outcome

    first = reproduce(["fig4", "fig2c"], preset=TINY, out=tmp_path, executor=StopAfterThree())
    assert first.interrupted
    # In the order of the paper: fig2c was made before, fig4 was stopped.
    assert [outcome_of(first, name).status for name in ("fig2c", "fig4")] == ["done", "interrupted"]
    assert "stopped by the user" in write_report(first).read_text(encoding="utf-8")
    with Store(tmp_path / "results.db") as store:
        assert sum(store.counts(sweep).done for sweep in store.sweeps()) == 3
    told = []
    second = reproduce(
        ["fig4"],
        preset=TINY,
        out=tmp_path,
        executor=SerialExecutor(),
        callback=lambda name, now: told.append((name, now)),
    )
    assert {name for name, _ in told} == {"fig4"}
    assert all(isinstance(now, Progress) for _, now in told[:-1])
    assert told[-1][1] == outcome_of(second, "fig4")
    assert not second.interrupted
    assert outcome_of(second, "fig4").status == "done"


def test_fewer_seeds_are_told_and_more_can_follow(tmp_path):
    one = reproduce(["fig4"], preset=TINY, out=tmp_path, seeds=1, executor=SerialExecutor())
    assert "1 seeds" in outcome_of(one, "fig4").settings
    assert "seeds=1, " in outcome_of(one, "fig4").command
    assert {judged.verdict for judged in one.claims_of("fig4")} == {"not decided"}  # one seed has no error bar
    assert ">nan" not in write_report(one).read_text(encoding="utf-8")
    two = reproduce(["fig4"], preset=TINY, out=tmp_path, seeds=2, executor=SerialExecutor())
    assert set(read_table(two.path("fig4_epochs.csv")).seeds) == {2}


def test_presets_do_not_mix(made):
    other = stored(made.folder, "paper")
    assert {outcome.status for outcome in other.outcomes} == {"not run"}


def test_a_damaged_outcome_is_an_error_not_a_wrong_report(tmp_path):
    (tmp_path / "fig1.json").write_text("{}")
    with pytest.raises(CorruptData, match=r"fig1\.json"):
        stored(tmp_path, "quick")


def test_a_damaged_table_is_told_in_the_report(tmp_path):
    made = reproduce(["fig2c"], out=tmp_path)
    made.path("fig2c.csv").write_bytes(b"")
    again = stored(tmp_path, "quick")
    assert {judged.verdict for judged in again.claims_of("fig2c")} == {"not run"}
    assert "fig2c.csv" in again.claims_of("fig2c")[0].note


def test_figures_are_found_by_name_number_and_word():
    assert [figure.name for figure in selected(["Fig. 2"])] == ["fig2a", "fig2b", "fig2c", "fig2d"]
    assert [figure.name for figure in selected(["10", "1"])] == ["fig1", "fig10"]
    assert selected([]) == selected() != ()
    with pytest.raises(InvalidParameter, match="fig11"):
        selected(["fig11"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preset": "huge"}, "preset = 'huge'"),
        ({"preset": replace(TINY, name="quick")}, "other than 'quick'"),
        ({"seeds": 0}, "seeds = 0"),
        ({"out": "file"}, "cannot be created"),
    ],
    ids=str,
)
def test_bad_input_is_refused_before_anything_is_done(tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    with pytest.raises(InvalidParameter, match=words):
        reproduce(["1"], **{"out": "a", **options})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("figure", selected(), ids=lambda figure: figure.name)
def test_sizes_of_ones_own_have_a_name_thresholds_and_a_way_to_make_them_again(figure):
    size = replace(PRESETS["quick"], name="mine", thresholds=(0.05, 0.2), surrogate_thresholds=(0.2,))
    for sweep in figure.sweeps(size):  # 0.2 takes what was chosen for 0.1 or 0.3
        assert len(sweep)
    names = {"reproduce": lambda figures, preset: (figures, preset), "replace": replace, "PRESETS": PRESETS}
    assert eval(_command(figure.name, size), names) == ([figure.name], size)
    assert _command("fig4", PRESETS["paper"].with_seeds(1)) == "dendrocap reproduce fig4 --preset paper --seeds 1"


def test_a_preset_with_a_name_of_its_own_makes_figures(tmp_path):
    made = reproduce(["fig2c"], preset=replace(PRESETS["quick"], name="mine"), out=tmp_path)
    assert [outcome.name for outcome in made.outcomes if (outcome.preset, outcome.status) == ("mine", "done")] == [
        "fig2c"
    ]


def test_a_figure_and_a_claim_of_ours_are_made_and_never_counted_among_the_paper_s(tmp_path, monkeypatch):
    mine = replace(REGISTERED["fig1"], name="mine", alias="my-own", origin="ours")
    claim = replace(paper_claims()[0], id="mine", figure="mine", origin="ours")
    monkeypatch.setattr(runs, "REGISTERED", dict(REGISTERED))
    monkeypatch.setattr(runs, "all_claims", lambda: (*paper_claims(), claim))
    before = len(stored(KEPT, "paper").judged)
    assert register(mine) == selected(["my-own"])[0]
    assert "paper" not in [figure.origin for figure in selected()[selected().index(mine) :]]
    made = reproduce(["mine"], out=tmp_path)
    assert [judged.verdict for judged in made.ours] == ["reproduced"]
    assert len(made.judged) == before
    page = write_report(made).read_text(encoding="utf-8")
    assert "mine: The neuron" in page
    counts = re.findall(r'<td data-label="claims" class=number>(\d+)</td>', page)
    assert sum(map(int, counts)) == len(paper_claims())  # in the summary


def test_tables_keep_all_digits(tmp_path):
    import pandas as pd

    table = pd.DataFrame({"x": np.array([0.1, 1 / 3, 1e-300, np.pi]), "name": ["a", "b", "c", "d"]})
    write_table(tmp_path / "t.csv", table, ["how it was made"])
    assert (tmp_path / "t.csv").read_text().startswith("# how it was made\nx,name\n")
    assert read_table(tmp_path / "t.csv").equals(table)


def test_presets_are_the_sizes_of_the_paper():
    paper = PRESETS["paper"]
    assert (paper.n_inputs, paper.n_branches, paper.seeds) == (999, 27, 10)
    assert PRESETS["quick"].n_inputs / PRESETS["quick"].n_branches == paper.n_inputs / paper.n_branches


def test_the_stored_results_of_the_paper_preset_still_say_what_their_report_says():
    kept, text = stored(KEPT, "paper"), (KEPT / "report.md").read_text(encoding="utf-8")
    assert {outcome_of(kept, name).status for name in ("fig4", "fig7")} == {"done"}
    for judged in kept.judged:
        assert f"| {judged.claim.expectation} | {judged.value} | {judged.in_words} |" in text, judged.claim.id
    for table in KEPT.glob("fig[3478]*.csv"):
        origin = table.read_text(encoding="utf-8").splitlines()[1:5]
        assert origin[0].startswith("# dendrocap ")
        assert "--preset paper" in origin[1]
        assert origin[3] == "# seeds 0 to 9"


@pytest.mark.parametrize("name", [one.name for one in selected() if (one.kind, one.origin) == (THEORY, PAPER)])
def test_figures_of_the_theory_say_which_estimates_they_show(made, name):
    svg = made.path(f"{name}.svg").read_text(encoding="utf-8")
    for words in ("replica symmetric (the paper", "broken symmetry k = 1", "Infinitely many long, equal branches"):
        assert words in svg
    broken = [table for table in outcome_of(made, name).tables if table.endswith("_rsb")]
    assert broken
    for table in broken:
        assert set(read_table(made.path(f"{table}.csv")).rsb) == {1}


def test_the_report_begins_with_the_best_estimate_of_a_real_neuron(made):
    text = unescape(write_report(made).read_text(encoding="utf-8"))
    assert text.index(report.best_estimate().in_words) < text.index("fig1: ")
    assert "dendrocap capacity --theta-d 0.5 --theta-s 0.5 -N 999 -K 27" in text


@pytest.mark.slow
def test_the_best_estimate_is_that_of_the_published_report():
    answer = best_estimate()
    assert answer.neuron.n_inputs == PRESETS["paper"].n_inputs
    assert answer.error > 0.0
    assert answer.in_words == report.best_estimate().in_words  # of the published report


def test_failed_runs_and_runs_of_several_versions_are_said():
    def record(status="done", version="0.1.0"):
        return SimpleNamespace(status=status, version=version, reason="out of memory")

    assert remarks([record(), record()]) == ""
    assert remarks([record(), record("failed")]) == "1 of 2 runs failed and are left out: out of memory"
    assert (
        remarks([record(version="0.2.0"), record()])
        == "stored runs of different versions are combined: dendrocap 0.1.0, 0.2.0"
    )
