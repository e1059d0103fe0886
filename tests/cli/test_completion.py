"""Names that the shell completes, with nothing typed and with a beginning."""

import os
import subprocess
import sys

import pytest


def completions(*words):
    """What bash would offer for the last word."""
    environment = {
        **os.environ,
        "_DENDROCAP_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("dendrocap", *words)),
        "COMP_CWORD": str(len(words)),
    }
    code = "import sys; from dendrocap.cli import app; sys.argv = ['dendrocap']; app(prog_name='dendrocap')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("sweep", "jobs", ""), {"capacity", "train", "algorithmic_capacity"}),
        (("sweep", "jobs", "tra"), {"train"}),
        (("reproduce", ""), {"fig3", "algorithmic-capacity"}),
        (("reproduce", "fig2"), {"fig2a", "fig2c"}),
        (("generalise", ""), {"mnist", "cifar10-odd-even"}),
        (("datasets", "verify", ""), {"mnist", "cifar10"}),
    ],
)
def test_names_are_completed(words, offered):
    found = set(completions(*words))
    assert offered <= found
    assert all(name.startswith(words[-1]) for name in found)
