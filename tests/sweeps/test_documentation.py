"""What docs/sweeps.md shows is what happens."""

import doctest
import re
import tomllib
from pathlib import Path

import pytest

from dendrocap.sweeps import Sweep
from dendrocap.sweeps.jobs import BUILT_IN, check

PAGE = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")


def blocks(language):
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    assert found
    return found


@pytest.mark.parametrize("text", blocks("toml"), ids=lambda text: re.search(r'job = "(\w+)"', text)[1])
def test_files_on_the_page_are_sweeps_that_could_run(text):
    check(Sweep.from_definition(tomllib.loads(text)))


def test_python_on_the_page_prints_what_it_claims(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(verbose=False)
    for number, block in enumerate(blocks("python")):
        test = doctest.DocTestParser().get_doctest(block, {}, f"block {number}", "docs/sweeps.md", 0)
        assert test.examples
        runner.run(test)
    assert runner.failures == 0


def test_every_built_in_job_is_on_the_page():
    assert set(BUILT_IN) <= set(re.findall(r"^\| `(\w+)`", PAGE, flags=re.MULTILINE))
