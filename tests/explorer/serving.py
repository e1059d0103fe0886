"""The server as a user starts it: a process of its own, ended by Ctrl-C."""

import re
import signal
import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def explorer(*options):
    """The process of ``dendrocap explore`` and the address that it prints."""
    command = [sys.executable, "-m", "dendrocap", "explore", "--no-browser", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            process.said = ""
            while not (found := re.search(r"http://\S+", process.said)):
                line = process.stderr.readline()
                assert line, f"the server did not start: {process.said}"
                process.said += line
            yield process, found.group()
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.log = process.stderr.read()
            process.wait(30)
