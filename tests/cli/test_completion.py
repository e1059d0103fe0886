"""Names that the shell completes, with nothing typed and with a beginning."""

import pytest
from typer.testing import CliRunner

from dendrocap.cli import app


def completions(*words):
    """What bash would offer for the last word."""
    typed = {"COMP_WORDS": " ".join(("dendrocap", *words)), "COMP_CWORD": str(len(words))}
    environment = {"_DENDROCAP_COMPLETE": "complete_bash", **typed}
    return CliRunner().invoke(app, [], prog_name="dendrocap", env=environment).stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("sweep", "jobs", ""), {"capacity", "train", "algorithmic_capacity"}),
        (("sweep", "jobs", "tra"), {"train"}),
        (("reproduce", ""), {"fig3", "algorithmic-capacity"}),
        (("reproduce", "fig2"), {"fig2a", "fig2c"}),
        (("generalise", ""), {"mnist", "cifar10-odd-even"}),
        (("datasets", ""), {"mnist", "cifar10"}),
    ],
)
def test_names_are_completed(words, offered):
    found = set(completions(*words))
    assert offered <= found
    assert all(name.startswith(words[-1]) for name in found)
