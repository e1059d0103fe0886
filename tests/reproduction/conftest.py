"""A preset so small that everything runs in seconds, and a folder in which everything was run once."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dendrocap.reproduction import PRESETS, fig07, report, reproduce, selected, stored_results
from dendrocap.reproduction.runs import read_table
from dendrocap.sweeps import SerialExecutor

TINY = replace(
    PRESETS["quick"],
    name="tiny",
    n_inputs=111,
    n_branches=3,
    seeds=2,
    thresholds=(0.05, 0.2, 1.0),
    surrogate_thresholds=(1.0,),
    loads=(0.2, 0.6, 1.2),
    patience=20,
    capacity_epochs=200,
    speed_rates=(0.01, 0.1),
    speed_epochs=1500,
    noise_epochs=100,
    noise_gammas=(10.0,),
    noise_samples=2,
    weight_epochs=1000,
    image_epochs=4,
    bootstrap=10,
)
KEPT = stored_results("paper")
SIMULATED = [figure.name for figure in selected() if figure.kind == "patterns"]


@pytest.fixture(autouse=True)
def kept_best_estimate(monkeypatch):
    """The best estimate of the published report, which takes seconds; a slow test computes it."""
    words = re.search(r"= 1/2, is (.*)\. It is", KEPT.joinpath("report.md").read_text(encoding="utf-8"))[1]
    monkeypatch.setattr(report, "best_estimate", lambda: SimpleNamespace(in_words=words))


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """All figures, as on a machine without image files, once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        nowhere = str(tmp_path_factory.mktemp("nowhere"))
        patch.setenv("DENDROCAP_DATA", nowhere)
        patch.setenv("DENDROCAP_CACHE", nowhere)
        patch.setattr(fig07, "_theory", lambda size: read_table(KEPT / "fig7_theory.csv"))  # another test computes it
        return reproduce(preset=TINY, out=tmp_path_factory.mktemp("reproduced"), executor=SerialExecutor())
