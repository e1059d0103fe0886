"""What a user meets first: the import, the public names, the README, the metadata."""

import doctest
import importlib
import importlib.metadata
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dendrocap

ROOT = Path(__file__).parents[1]
HEAVY = ("numba", "matplotlib", "dask", "sklearn", "pandas", "xarray", "scipy", "typer", "rich")


def printed(code, *options):
    command = [sys.executable, *options, "-c", f"import sys, dendrocap as dc; {code}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_import_loads_nothing_heavy():
    assert printed(f"print([name for name in {HEAVY!r} if name in sys.modules])") == "[]"


@pytest.mark.parametrize(("name", "most"), [("capacity", 50), ("train", 25), ("Sweep", 30), ("critical_capacity", 35)])
def test_a_name_enters_few_modules(name, most):
    assert int(printed(f"dc.{name}; print(sum(one.startswith('dendrocap') for one in sys.modules))")) <= most


def test_a_function_keeps_its_name_when_the_module_of_that_name_is_imported():
    code = "import dendrocap.theory.saddle_point; print(dc.theory.saddle_point is dc.saddle_point)"
    assert printed(code) == "True"


def test_every_public_name_exists_and_is_documented():
    assert dendrocap.__all__ == sorted(dendrocap.__all__)
    assert len(dendrocap.__all__) <= 85  # functions and what they take; results live in their packages
    for name in dendrocap.__all__:
        thing = getattr(dendrocap, name)
        assert name.startswith("__") or (thing.__doc__ or "").strip(), name


@pytest.mark.parametrize("package", ["dendrocap", "dendrocap.theory", "dendrocap.fitting", "dendrocap.learning"])
def test_a_task_is_optional_everywhere(package):
    module = importlib.import_module(package)
    functions = [getattr(module, name) for name in module.__all__ if inspect.isfunction(getattr(module, name))]
    tasks = [inspect.signature(function).parameters.get("task") for function in functions]
    assert any(tasks)
    assert all(task.default is None for task in tasks if task is not None)


def test_subpackages_and_names_are_reached_as_attributes_in_a_fresh_process():
    code = "print(dc.theory.critical_capacity is dc.critical_capacity, dc.plot.__name__)"
    assert printed(code, "-OO").split() == ["True", "dendrocap.plot"]
    assert set(dir(dendrocap)) == set(dendrocap.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dendrocap.nothing


@pytest.mark.slow
def test_every_public_name_is_typed(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    names = [name for name in dendrocap.__all__ if name != "__version__"]
    file = tmp_path / "names.py"
    file.write_text("import dendrocap as dc\n" + "".join(f"reveal_type(dc.{name})\n" for name in names))
    options = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path), str(file)]
    said, complaints, _ = mypy.run(options)
    revealed = re.findall(r'names.py:(\d+): note: Revealed type is "(.*)"', said)
    assert len(revealed) == len(names), said + complaints
    assert [names[int(line) - 2] for line, kind in revealed if kind == "Any"] == []


def test_lower_bounds_are_the_versions_that_are_tested():
    """Every bound that a user meets is pinned in tests/oldest.txt, to the same version; tools of ours are not bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [lines for extra, lines in project["optional-dependencies"].items() if extra not in ("dev", "docs")]
    wanted = [*project["dependencies"], *(line for lines in extras for line in lines)]
    bounds = dict(line.split(">=") for line in wanted if ">=" in line)
    lines = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("#")[0].strip().split("==") for line in lines if "==" in line)
    for name, bound in bounds.items():
        assert name in pins, f"{name} has a lower bound that `make test-oldest` does not test"
        version, lowest = ([int(part) for part in text.split(".")] for text in (pins[name], bound))
        assert version[: len(lowest)] == lowest, name
        assert not any(version[len(lowest) :]), name


def test_metadata_name_the_paper_and_the_supported_pythons():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (paper,) = set(re.findall(r"arXiv:([\d.]+)", (ROOT / "CITATION.cff").read_text(encoding="utf-8")))
    assert project["urls"] == {"Paper": f"https://arxiv.org/abs/{paper}"}
    versions = re.findall(r"Python :: 3\.(\d+)", " ".join(project["classifiers"]))
    assert project["requires-python"] == f">=3.{min(map(int, versions))}"
    assert sys.version_info.minor in map(int, versions)


def test_benchmarks_and_studies_are_all_listed():
    """`make bench` finds every benchmark, and the README of studies names every study with its table."""
    from benchmarks.__main__ import names

    assert {"theory", "learning", "rsb", "sweeps", "estimator", "images", "explorer"} <= set(names())
    readme = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    helpers = {"__init__", "tables", "pages", "plots", "what_holds_pictures"}
    scripts = {path.stem for path in (ROOT / "studies").glob("*.py")} - helpers
    assert scripts == set(re.findall(r"`python -m studies\.(\w+)", readme)) - {"NAME"}
    assert {path.name for path in (ROOT / "studies").glob("*.csv")} <= set(re.findall(r"\w+\.csv", readme))


def test_readme_snippets_run_and_print_what_they_claim():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks, "the README shows no Python"
    runner = doctest.DocTestRunner(verbose=False)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"README block {number}", "README.md", 0)
        assert test.examples, "README snippets are written as doctests"
        runner.run(test, clear_globs=False)
        names = test.globs  # a later block goes on where an earlier one ended
    assert runner.failures == 0


def test_relative_links_in_the_documents_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not target.startswith("mailto:"):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
