"""Verdicts at the sizes of the paper come with the package, and a smaller run never contradicts them in silence."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dendrocap import reproduction
from dendrocap.errors import InvalidParameter
from dendrocap.reproduction import (
    Measured,
    full_size_verdicts,
    judge,
    paper_claims,
    read_tables,
    selected,
    stored,
    stored_results,
    write_report,
)
from dendrocap.reproduction.claims import FULL_SIZE_FILE, UNDECIDED
from dendrocap.reproduction.fig03 import LARGEST_LOADS, TOLERANCES
from dendrocap.reproduction.runs import read_table
from studies.publish import gathered, publish

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs" / "results" / "paper"
PACKAGED = Path(reproduction.__file__).parent / FULL_SIZE_FILE
OPEN_AT_SMALL_SIZE = [claim for claim in paper_claims() if claim.needs_full_size]


def test_the_packaged_verdicts_are_those_of_the_published_tables():
    kept = json.loads(PACKAGED.read_text(encoding="utf-8"))
    measured = json.loads(json.dumps(gathered(stored(KEPT, "paper"))))
    assert kept["figures"] == measured["figures"]
    assert kept["claims"].keys() == measured["claims"].keys() == {claim.id for claim in paper_claims()}
    for name, verdict in measured["claims"].items():
        for key in ("value", "error"):
            here, there = verdict.pop(key), kept["claims"][name].pop(key)
            assert here == there or here == pytest.approx(there, rel=1e-9), name
        assert kept["claims"][name] == verdict


def test_every_figure_is_published_at_full_size_with_ten_seeds_where_the_paper_has_ten():
    figures = json.loads(PACKAGED.read_text(encoding="utf-8"))["figures"]
    for name in ("fig3", "fig4", "fig7", "fig8"):
        assert "10 seeds" in figures[name]["settings"], name
        assert "--seeds" not in figures[name]["command"]
    for name in ("fig3_error", "fig3_capacity", "fig4_curves", "fig4_epochs", "fig7", "fig8"):
        assert set(read_table(KEPT / f"{name}.csv").seeds) == {10}, name
    assert {verdict.verdict for verdict in full_size_verdicts().values()} <= {
        "reproduced", "differs", "not decided", "cannot be reproduced as printed"
    }  # fmt: skip


def test_a_small_run_leaves_open_what_only_full_size_decides(made):
    verdicts = {judged.claim.id: judged for judged in made.judged}
    assert OPEN_AT_SMALL_SIZE
    for claim in OPEN_AT_SMALL_SIZE:
        assert verdicts[claim.id].verdict in (UNDECIDED, "not run"), claim.id
    claim = OPEN_AT_SMALL_SIZE[0]
    far = Measured(claim.printed + 100.0, note="far away")
    assert judge(claim, far, full_size=False).note.endswith("far away")
    assert judge(claim, far).verdict != UNDECIDED


def test_claims_about_grids_training_ends_and_images_need_full_size():
    """The rule of claims.toml, applied by figure: exact figures never need it, those of images and weights always."""
    needs = {claim.figure for claim in OPEN_AT_SMALL_SIZE}
    never = {figure.name for figure in selected() if figure.kind in ("model", "theory", "data")}
    assert not needs & never
    for figure in ("fig8", "weights"):
        assert all(claim.needs_full_size for claim in paper_claims() if claim.figure == figure)
    for claim in paper_claims():
        if claim.reading in ("with the best settings of each", "read as: no errors at all"):
            assert claim.needs_full_size or claim.id == "gap-widens"


def test_the_report_of_a_small_run_shows_both_and_names_contradictions(made):
    full = full_size_verdicts()["sgd-exceeds-linear"]
    page = write_report(made).read_text(encoding="utf-8")
    assert "<th>at full size</th>" in page
    assert f"{full.in_words}; {full.settings}" in page
    assert ("contradicts full size in" in page) == any(judged.contradicts_full_size for judged in made.judged)
    judged = next(one for one in made.judged if one.claim.id == "relu-coefficient")
    assert not judged.contradicts_full_size
    flipped = replace(made, judged=tuple(replace(j, verdict="reproduced") if j is judged else j for j in made.judged))
    page = write_report(flipped).read_text(encoding="utf-8")
    assert "relu-coefficient" in page[page.index("This run contradicts full size in: ") :]


def test_readings_are_named_by_verdicts():
    claims = {claim.id: claim for claim in paper_claims()}
    tolerant = judge(claims["sgd-at-large-thresholds-five-percent"], Measured(0.3, error=0.01))
    assert tolerant.in_words == "reproduced, read as: at most 5 % of errors"
    assert judge(claims["linear-capacity"], Measured(1.0)).in_words == "reproduced"


def test_publishing_writes_report_and_verdicts_again(tmp_path, made):
    verdicts = tmp_path / FULL_SIZE_FILE
    for path in KEPT.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "report.md").write_text("stale")
    publish(tmp_path, verdicts=verdicts)
    assert json.loads(verdicts.read_text(encoding="utf-8")) == json.loads(PACKAGED.read_text(encoding="utf-8"))
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == (KEPT / "report.md").read_text(encoding="utf-8")
    with pytest.raises(InvalidParameter, match="no figure of the paper preset"):
        publish(tmp_path, made.folder, verdicts=verdicts)  # a quick run is not published


def test_no_published_load_is_cut_short_by_the_end_of_its_range():
    tables = read_tables(KEPT, ("fig3_error", "fig3_capacity"))
    error = tables["fig3_error"]
    for (rule, theta_d), own in error.groupby(["rule", "theta_d"]):
        last = own[own.alpha == own.alpha.max()].iloc[0]
        assert last.alpha == LARGEST_LOADS[rule][theta_d]
        assert last.error > max(TOLERANCES), (rule, theta_d)


def test_the_same_tables_decide_more_if_they_are_said_to_be_of_full_size(tmp_path):
    for path in stored_results("paper").glob("fig4*"):
        written = path.read_text(encoding="utf-8") if path.suffix in (".csv", ".json") else ""
        (tmp_path / path.name).write_text(written.replace('"preset": "paper"', '"preset": "quick"'), encoding="utf-8")
    small = {one.claim.id: one.verdict for one in stored(tmp_path, "quick").judged if one.claim.figure == "fig4"}
    full = {one.claim.id: one.verdict for one in stored(stored_results("paper"), "paper").judged}
    needing = [claim.id for claim in OPEN_AT_SMALL_SIZE if claim.figure == "fig4"]
    assert needing
    assert all(small[name] == UNDECIDED != full[name] for name in needing)


def test_tables_are_published_only_into_a_folder_that_exists(tmp_path):
    before = PACKAGED.read_bytes()
    with pytest.raises(InvalidParameter, match="not a folder"):
        publish(tmp_path / "--help")
    assert PACKAGED.read_bytes() == before
