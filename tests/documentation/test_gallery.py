"""Gallery scripts run on their own, wherever they are downloaded to."""

import runpy
import shutil
import tomllib

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from dendrocap.reproduction import runs, selected, stored_results
from tests.documentation.sources import DOCS, ROOT

SCRIPTS = sorted((DOCS / "gallery").rglob("plot_*.py"))


@pytest.mark.slow  # the build of the site runs them all, too
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_downloaded_script_draws_its_figure(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(shutil.copy(path, tmp_path)))
    plt.close("all")
    assert isinstance(names["figure"], Figure)
    assert names["figure"].axes


def test_stored_tables_of_figures_and_studies_are_in_the_package():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    for of, (installed, in_clone) in runs.RESULTS.items():
        folder = in_clone.relative_to(ROOT).as_posix()
        assert installed == ROOT / "src" / wheel["sources"][folder]  # what is put there is looked for there
        packed = {path for glob in wheel["include"] for path in ROOT.glob(glob) if path.is_relative_to(in_clone)}
        assert stored_results(of) == in_clone
        assert packed >= set(in_clone.glob("*.csv")) != set()
    papers = [figure for figure in selected() if figure.origin == "paper"]
    assert {f"{figure.name}.json" for figure in papers} <= {path.name for path in stored_results("paper").iterdir()}


def test_a_package_without_tables_says_where_it_looked(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "RESULTS", {"paper": (tmp_path / "one", tmp_path / "two")})
    with pytest.raises(ValueError, match=r"one nor .*two exists; install the package"):
        stored_results("paper")
    with pytest.raises(ValueError, match=r"of = 'studies' is not allowed: it must be one of 'paper'"):
        stored_results("studies")
