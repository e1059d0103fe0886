"""``dendrocap reproduce``, as a reader of the paper would use it."""

import json
import webbrowser
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from dendrocap.cli import app
from dendrocap.reproduction import runs, selected
from tests.reproduction.conftest import kept_best_estimate  # noqa: F401, a fixture

runner = CliRunner()


@pytest.fixture(autouse=True)
def one_format(monkeypatch):
    """Figures as PNG files only, which the report shows; the others take longer."""
    monkeypatch.setattr(runs, "FORMATS", ("png",))


def run(*arguments):
    return runner.invoke(app, ["reproduce", *(str(argument) for argument in arguments)])


def test_the_list_tells_what_both_presets_take():
    listed = json.loads(run("--list", "--json").stdout)
    assert [row["figure"] for row in listed] == [figure.name for figure in selected()]
    speed = next(row for row in listed if row["figure"] == "fig4")
    assert speed["paper runs"] == 300
    assert "N = 999, K = 27, 10 seeds" in speed["paper settings"]
    assert all(row["quick minutes"] > 0 for row in listed)
    assert sum(row["quick minutes"] for row in listed) < 10


def test_a_figure_its_report_and_the_claims(tmp_path):
    result = run("1", "--out", tmp_path, "--json")
    assert result.exit_code == 0
    claims = json.loads(result.stdout)
    assert {row["figure"]: row["status"] for row in claims}["fig1"] == "done"
    verdicts = {row["id"]: row["verdict"] for row in claims}
    assert [row["verdict"] for row in claims if row["figure"] == "fig1"].count("reproduced") == 1
    assert verdicts["mnist"] == "not run"
    assert f"report: {tmp_path / 'report.html'}" in result.stderr
    assert "fig1 done" in result.stderr
    table = run("1", "--out", tmp_path).stdout
    assert "fig1" in table
    assert "1 reproduced, 1 differs" in table


def test_bad_names_are_one_line_and_exit_code_two(tmp_path):
    for arguments, words in ((["fig77"], "fig77"), (["--preset", "huge"], "huge"), (["--dask", "nowhere"], "nowhere")):
        result = run(*arguments, "--out", tmp_path)
        assert result.exit_code == 2
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert run("1", "--out", "/proc/new").exit_code == 2


def test_a_failed_figure_is_exit_code_one_and_a_stop_130(tmp_path, monkeypatch):
    def broken(self, figure, tables, origin):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runs._Workshop, "_write", broken)
    result = run("1", "--out", tmp_path)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr

    def stopped(self, figure, tables, origin):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs._Workshop, "_write", stopped)
    result = run("1", "2d", "--out", tmp_path)
    assert result.exit_code == 130
    assert f"resume with: dendrocap reproduce 1 2d --out {tmp_path}" in result.stderr


def test_a_figure_that_cannot_be_measured_is_exit_code_one(tmp_path, monkeypatch):
    def broken(tables):
        raise KeyError("no such column")

    (figure,) = selected(["fig1"])
    monkeypatch.setitem(runs.REGISTERED, "fig1", replace(figure, measure=broken))
    result = run("1", "--out", tmp_path)
    assert result.exit_code == 1
    assert "fig1 failed: its tables cannot be measured: 'no such column'" in result.stderr


@pytest.mark.parametrize(("flag", "opened"), [("--open", 1), ("--no-open", 0), (None, 0)])
def test_the_report_opens_when_a_display_is_attached(tmp_path, monkeypatch, flag, opened):
    shown = []
    monkeypatch.setattr(webbrowser, "open", shown.append)
    run("1", "--out", tmp_path, *([flag] if flag else []))
    assert len(shown) == opened
    assert all(address.startswith("file://") for address in shown)
