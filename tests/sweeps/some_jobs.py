"""Tasks for sweeps in tests: workers import them by name."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

# Processes that are to be disturbed in the middle of a sweep are made slow by this variable of their environment.
PAUSE = "DENDROCAP_TEST_PAUSE"


def draw(mean, rng, scale=1.0):
    """A little of everything that a metric can be; depends on all bits of the cell's randomness."""
    time.sleep(float(os.environ.get(PAUSE, "0")))
    numbers = rng.normal(mean, scale, 4)
    return {
        "sum": numbers.sum(),
        "numbers": numbers,
        "count": np.int64(numbers.size),
        "positive": bool(numbers[0] > 0),
        "word": f"{numbers[1]:.2f}",
        "limit": np.inf if mean > 1 else -0.0,
    }


def fails_at_two(number, rng):
    if number == 2:
        raise ValueError("two\nis too many")
    return rng.random()


def kills_at_two(number, rng, log=""):
    """Dies as if by the kernel's hand; the log counts the attempts."""
    if log:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{number}\n")
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return rng.random()


def kills_once(number, rng, marker):
    """The cell of number 2 takes its process down the first time, and behaves afterwards."""
    if number == 2 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return rng.random()


def succeeds_later(number, marker):
    if not Path(marker).exists():
        raise RuntimeError("not yet")
    return number


def where():
    """What a worker is."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {"pid": os.getpid(), **{name: os.environ.get(name, "") for name in names}}


def blas_threads():
    """What BLAS would use while a cell runs."""
    from threadpoolctl import threadpool_info

    return max(pool["num_threads"] for pool in threadpool_info())


def compiled(number):
    """Compilations that a cell had to wait for, though the cache was warm."""
    from dendrocap import Linear, NeuronSpec, critical_capacity
    from dendrocap.numerics._compiled import tail

    critical_capacity(NeuronSpec(Linear(), 0.5, 0.5))
    return {"misses": sum(tail.stats.cache_misses.values()), "hits": sum(tail.stats.cache_hits.values())}


def prints(number):
    print("a word on stdout, in the middle of the conversation")
    return number


def copies_itself(number):
    """The copy returns from the job too."""
    os.fork()
    return number


def reads_stdin(number):
    sys.stdin.read()
    return number


def leaves_a_child_and_dies(number):
    """What it starts inherits no pipe by itself, but a copy of the process does."""
    if os.fork() == 0:
        time.sleep(600)
    os.kill(os.getpid(), signal.SIGKILL)


def leaves(number):
    raise SystemExit(3)


def returns_nonsense(number):
    return {"object": object()}


def sleeps(log):
    Path(log).write_text(f"{os.getpid()}\n", encoding="utf-8")
    time.sleep(600)


def hangs_at_two(number, rng, log="", at=2):
    """The cell of number 2 never ends, and leaves no time to other threads of its process; the log has its process."""
    if number == at:
        if log:
            Path(log).write_text(f"{os.getpid()}\n", encoding="utf-8")
        while True:
            pass
    return rng.random()


def starts_a_child_and_hangs(log):
    """What it starts has to end with it."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(log).write_text(f"{child.pid}\n", encoding="utf-8")
    time.sleep(600)


def step(load, place, rng, width=0.0):
    """Solved up to a place, with noise if there is a width: what a search looks for."""
    return {"solved": bool(load < place + width * rng.normal()), "margin": place - load}


def typed(count: int, level: float = 0.5, names: str = "", flag: bool = False, levels: Sequence[float] = ()):
    """Tells the types that it is given."""
    return {"types": " ".join(type(value).__name__ for value in (count, level, names, flag, *levels)), "count": count}


def cannot_run(*batch):
    raise ModuleNotFoundError("No module named 'dendrocap'")
