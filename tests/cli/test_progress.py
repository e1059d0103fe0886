"""How commands tell how far they are: a bar in a terminal, now and then a line elsewhere, never on stdout."""

import io
import itertools
import os
import pty
import subprocess
import sys
from time import perf_counter, sleep

import pytest

from dendrocap.cli import output
from dendrocap.cli.more import _Bar


@pytest.fixture
def lines(monkeypatch, capsys):
    """The next lines of a log that comes ten times a second, while every look at the clock takes a second."""
    seconds = itertools.count()
    monkeypatch.setattr(output.time, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(output, "FIRST_LINE", 0.1)
    monkeypatch.setattr(output, "HEARTBEAT", 0.1)

    def wait(count):
        seen, given_up = "", perf_counter() + 20.0
        while seen.count("\n") < count and perf_counter() < given_up:
            sleep(0.02)
            out, err = capsys.readouterr()
            assert out == ""
            seen += err
        return seen.splitlines()

    return wait


def test_short_work_says_nothing(capsys):
    with output.progress(3, "run") as tell:
        for _ in range(3):
            tell()
    assert capsys.readouterr() == ("", "")


def test_long_work_says_a_line_now_and_then_also_while_nothing_happens(lines):
    with output.progress(100, "epoch") as tell:
        tell(90)  # what was done before does not count for the time left
        tell(92, note="error 0.1")
        # two steps took one second, then two, then three
        assert lines(3)[:3] == [f"epoch 92/100, error 0.1, 0:00:{left} left" for left in ("04", "08", "12")]


def test_steps_are_counted_and_words_can_change(lines):
    with output.progress(None, "first") as tell:
        for _ in range(9):
            tell(total=20, label="then")
        assert lines(1)[0] == "then 9/20, 0:00:01 left"


def test_bytes_are_shown_in_megabytes(lines):
    with output.progress(None, "MB") as tell:
        bar = _Bar(tell)
        bar.total = 20_000_000
        for _ in range(3):
            bar.update(1_000_000)
        assert lines(1)[0].startswith("MB 3/20, ")
        bar.close()


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
