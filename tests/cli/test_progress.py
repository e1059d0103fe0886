"""How commands tell how far they are: a bar in a terminal, now and then a line elsewhere, never on stdout."""

import io
import itertools
import os
import pty
import subprocess
import sys

import pytest

from dendrocap.cli import output
from dendrocap.cli.more import _Bar


@pytest.fixture
def clock(monkeypatch):
    """Every look at the clock takes a second."""
    seconds = itertools.count()
    monkeypatch.setattr(output.time, "monotonic", lambda: float(next(seconds)))


def test_short_work_says_nothing(capsys):
    with output.progress(3, "run") as tell:
        for _ in range(3):
            tell()
    assert capsys.readouterr() == ("", "")


def test_long_work_says_a_line_now_and_then(clock, capsys):
    with output.progress(1000, "epoch") as tell:
        for epoch in range(1, 1001):
            tell(epoch, note="error 0.1")
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    # the clock moves by two at each call: lines after 6, 12, 24, 48 seconds, and then about every minute
    assert lines[:3] == [
        "epoch 3/1000, error 0.1, 0:33:14 left",
        "epoch 6/1000, error 0.1, 0:33:08 left",
        "epoch 12/1000, error 0.1, 0:32:56 left",
    ]
    assert 30 < len(lines) < 40


def test_steps_are_counted_and_words_can_change(clock, capsys):
    with output.progress(None, "first") as tell:
        for _ in range(9):
            tell(total=20, label="then")
    assert capsys.readouterr().err.splitlines()[0] == "then 3/20, 0:00:34 left"


def test_what_was_done_before_does_not_count_for_the_time_left(clock, capsys):
    with output.progress(100, "cell") as tell:
        for done in (90, 91, 92):
            tell(done)
    assert capsys.readouterr().err == "cell 92/100, 0:00:16 left\n"


def test_bytes_are_shown_in_megabytes(clock, capsys):
    with output.progress(None, "MB") as tell:
        bar = _Bar(tell)
        bar.total = 20_000_000
        for _ in range(4):
            bar.update(1_000_000)
        bar.close()
    assert capsys.readouterr().err.startswith("MB 3/20, ")


SCRIPT = """
import time
from dendrocap.cli.output import progress
with progress(30, "run") as tell:
    for _ in range(30):
        tell(note="fine")
        time.sleep(0.1)
print("data")
"""


def test_a_terminal_gets_a_bar_on_stderr():
    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=end, env=environment)
    os.close(end)
    seen = io.BytesIO()
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen.write(piece)
    os.close(terminal)
    assert process.communicate()[0] == b"data\n"
    text = seen.getvalue().decode()
    assert "━" in text
    assert "/30, fine, 0:00:0" in text
