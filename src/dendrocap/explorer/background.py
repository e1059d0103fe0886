"""Slow computations in another process, so that sliders never wait for them.

A best estimate takes about ten seconds. A page repeats its question while it shows the neuron; a question that nobody
repeats is dropped, even during its computation. A desk does its work when it is asked, in the one thread of the server:
it needs no thread of its own.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

MOST_ANSWERS = 512  # number of answers kept
PATIENCE = 5.0  # seconds after which a question that is not repeated is dropped
GRACE = 2.0  # seconds after which a process that does not notice a cancellation is ended
DIED = "the process that computes this died; change a parameter to try again"
Tell = Callable[[float, str], object]


class Question(Protocol):
    """What can be asked: a value that can be pickled and hashed, and computes its answer in the other process."""

    def answer(self, tell: Tell) -> object:
        """The answer; ``tell`` reports progress and notices a cancellation."""


@dataclass(frozen=True)
class Status:
    """Progress of an answer: it, or why there is none, or the share of work done and the current step."""

    answer: Any = None
    share: float = 0.0
    words: str = "waiting"
    problem: str = ""

    @property
    def done(self) -> bool:
        """Whether the answer or a problem is known."""
        return self.answer is not None or bool(self.problem)


class Desk:
    """Accepts questions whose answers take long, each at most ``limit`` seconds; one process answers them in turn."""

    def __init__(self, limit: float = math.inf) -> None:
        self._limit = limit
        self._status: OrderedDict[Question, Status] = OrderedDict()
        self._asked: dict[Question, float] = {}
        self._process: BaseProcess | None = None
        self._line: Connection | None = None
        self._busy: Question | None = None  # the question that the process answers, and since when
        self._since = self._cancelled = 0.0

    def ask(self, question: Question) -> Status:
        """Progress of the answer; ask again within seconds until it is done."""
        status = self._status.setdefault(question, Status())
        self._status.move_to_end(question)
        if not status.done:
            self._asked[question] = time.monotonic()
        self.go_on()
        return self._status[question]

    def known(self, question: Question) -> Status:
        """The answer if it is already known; asks nothing."""
        return self._status.get(question, Status())

    def wait(self, question: Question) -> Status:
        """The status with the answer, or with the reason why there is none."""
        while not (status := self.ask(question)).done:
            time.sleep(0.02)
        return status

    def forget(self, question: Question) -> None:
        """Drop a question and its answer."""
        self._asked.pop(question, None)
        self._status.pop(question, None)

    def close(self) -> None:
        """End the process and drop unanswered questions."""
        self._asked.clear()
        self._end()

    def go_on(self) -> None:
        """Hear what the process tells, drop what is no longer asked, and pass on the oldest question."""
        try:
            while self._line is not None and self._line.poll():
                self._hear(self._line.recv())
            self._drop()
            if self._busy is None and self._asked:
                self._busy, self._since, self._cancelled = next(iter(self._asked)), time.monotonic(), 0.0
                if self._process is None:
                    self._start()
                assert self._line is not None
                self._line.send(self._busy)
        except (EOFError, OSError):
            self._end(DIED)

    def _hear(self, status: Status | None) -> None:
        """An answer or progress; None after a cancellation."""
        if status is not None and self._busy in self._asked:
            self._status[self._busy] = status
            if status.done:
                del self._asked[self._busy]
        if status is None or status.done:
            self._busy = None

    def _drop(self) -> None:
        """Drop questions that are no longer asked, the oldest of too many answers, and work that nobody waits for."""
        now = time.monotonic()
        for question in [one for one, at in self._asked.items() if now - at > PATIENCE]:
            self.forget(question)
        while len(self._status) > MOST_ANSWERS:
            self._status.popitem(last=False)
        if self._busy is None:
            return
        if self._busy in self._asked:
            if now - self._since > self._limit:
                self._end(f"this took longer than {self._limit:g} seconds and was given up")
        elif not self._cancelled:
            assert self._line is not None
            self._line.send(None)
            self._cancelled = now
        elif now - self._cancelled > GRACE:
            self._end()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # the server has threads, which a fork would break
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), name="best estimates", daemon=True)
        self._process.start()
        theirs.close()

    def _end(self, problem: str = "") -> None:
        """End the process, with a problem for the question that it was answering."""
        if self._process is not None and self._line is not None:
            self._process.kill()
            self._process.join()
            self._line.close()
        if problem and self._busy in self._asked:
            self._status[self._busy] = Status(problem=problem)
            del self._asked[self._busy]
        self._process = self._line = self._busy = None


class _Cancelled(Exception):
    """The question is no longer asked."""


def _serve(line: Connection) -> None:
    """Answer questions until the connection closes."""
    from dendrocap.errors import DendrocapError

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server handles Ctrl-C and ends this process
    with suppress(OSError, AttributeError):
        os.nice(5)  # the events of the page have priority

    def tell(share: float, words: str) -> None:
        if line.poll():
            line.recv()
            raise _Cancelled
        line.send(Status(share=share, words=words))

    with suppress(EOFError, OSError):
        while True:
            question = line.recv()
            if question is None:  # a cancellation that arrived after the answer was sent
                continue
            try:
                line.send(Status(answer=answered(question, tell), share=1.0, words="done"))
            except _Cancelled:
                line.send(None)
            except DendrocapError as error:
                line.send(Status(problem=str(error)))


_ANSWERED: OrderedDict[Question, object] = OrderedDict()


def answered(question: Question, tell: Tell) -> Any:
    """The answer to a question, computed once in a process: a figure needs what the page asked for before."""
    if question not in _ANSWERED:
        _ANSWERED[question] = question.answer(tell)
        if len(_ANSWERED) > MOST_ANSWERS // 8:
            _ANSWERED.popitem(last=False)
    return _ANSWERED[question]
