"""Slow computations in a separate process, so that sliders never wait for them.

A best estimate takes about ten seconds. A page repeats its question while it shows the neuron; a question that no page
repeats is dropped, even during its computation. One process answers all pages in turn.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import NamedTuple

from dendrocap.answers import capacity
from dendrocap.errors import DendrocapError
from dendrocap.explorer.views import Along, Status, along
from dendrocap.model import DendriticNeuron, NeuronSpec, TaskSpec

__all__ = ["Best", "Desk", "Question", "Status", "answer_to"]

MOST_ANSWERS = 512  # number of answers kept
PATIENCE = 5.0  # seconds after which a question that is not repeated is dropped
GLANCE = 0.2  # seconds between checks whether it was
CANCEL = "cancel"


class Best(NamedTuple):
    """A question: the best estimate of the capacity of this neuron."""

    cell: DendriticNeuron | NeuronSpec
    task: TaskSpec


Question = Best | Along
Tell = Callable[[float, str], object]


class Desk:
    """Accepts questions whose answers take long.

    Parameters
    ----------
    compute : callable
        Answers a question; called in the other process with the question and a progress callback.

    Examples
    --------
    >>> from dendrocap import Linear, NeuronSpec
    >>> desk = Desk()
    >>> question = Best(DendriticNeuron(NeuronSpec(Linear(), 0.5, 0.5), 100, 10), TaskSpec())
    >>> print(desk.wait(question).answer.answer)
    1 pattern per synapse
    >>> desk.close()
    """

    def __init__(self, compute: Callable[[Question, Tell], object] | None = None) -> None:
        self._compute = compute or answer_to
        self._lock = threading.Condition()
        self._status: OrderedDict[Question, Status] = OrderedDict()
        self._asked: dict[Question, float] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, question: Question) -> Status:
        """Progress of the answer; ask again within seconds until it is done."""
        with self._lock:
            status = self._status.setdefault(question, Status())
            self._status.move_to_end(question)
            if not status.done:
                self._asked[question] = time.monotonic()
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._work, name="best estimates", daemon=True)
                    self._thread.start()
                self._lock.notify_all()
            return status

    def known(self, question: Question) -> Status:
        """The answer if it is already known; asks nothing."""
        with self._lock:
            return self._status.get(question, Status())

    def wait(self, question: Question) -> Status:
        """The status with the answer, or with the reason why there is none."""
        while not (status := self.ask(question)).done:
            with self._lock:
                self._lock.wait(GLANCE)
        return status

    def close(self) -> None:
        """End the process and drop unanswered questions."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        if self._thread is not None:
            self._thread.join(10.0)

    def _work(self) -> None:
        """Answer questions one after the other, in a process that is started for the first one and kept."""
        worker: _Worker | None = None
        while (question := self._next()) is not None:
            if worker is None or not worker.alive:
                worker = _Worker(self._compute)
            try:
                self._answer(worker, question)
            except (EOFError, OSError):  # the process died
                self._set(
                    question,
                    Status(problem="the process that computes best estimates died; move a slider to try again"),
                )
                worker.end()
        if worker is not None:
            worker.end()

    def _next(self) -> Question | None:
        """The oldest question that is still being asked; None at the end."""
        with self._lock:
            while not self._closed:
                self._forget()
                if self._asked:
                    return next(iter(self._asked))
                self._lock.wait()
            return None

    def _forget(self) -> None:
        """Drop questions that are no longer asked, and the oldest of too many answers."""
        now = time.monotonic()
        for question in [one for one, at in self._asked.items() if now - at > PATIENCE]:
            del self._asked[question]
            self._status.pop(question, None)
        while len(self._status) > MOST_ANSWERS:
            self._status.popitem(last=False)

    def _answer(self, worker: _Worker, question: Question) -> None:
        worker.connection.send(question)
        cancelled = False
        while True:
            if worker.connection.poll(GLANCE):
                status: Status | None = worker.connection.recv()
                if status is None:  # the process has noticed the cancellation
                    return
                self._set(question, status)
                if status.done:
                    return
            elif not worker.alive:
                raise EOFError
            with self._lock:
                self._forget()
                wanted = question in self._asked and not self._closed
            if not wanted and not cancelled:
                worker.connection.send(CANCEL)
                cancelled = True
            if self._closed:
                return

    def _set(self, question: Question, status: Status) -> None:
        with self._lock:
            if question in self._asked:
                self._status[question] = status
                if status.done:
                    del self._asked[question]
            self._lock.notify_all()


class _Worker:
    """The process and the connection to it."""

    def __init__(self, compute: Callable[[Question, Tell], object]) -> None:
        context = multiprocessing.get_context("spawn")  # the server has threads, which a fork would break
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, compute), name="best estimates", daemon=True)
        self._process.start()
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def end(self) -> None:
        self.connection.close()
        self._process.terminate()
        self._process.join(5.0)


class _Cancelled(Exception):
    """The question is no longer asked."""


def _serve(connection: Connection, compute: Callable[[Question, Tell], object]) -> None:
    """Answer questions until the connection closes."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server handles Ctrl-C and ends this process
    with suppress(OSError, AttributeError):
        os.nice(5)  # the events of the page have priority

    def tell(share: float, words: str) -> None:
        if connection.poll():
            connection.recv()
            raise _Cancelled
        connection.send(Status(share=share, words=words))

    with suppress(EOFError, OSError):
        while True:
            question = connection.recv()
            if isinstance(question, str):  # a cancellation that arrived after the answer was sent
                continue
            try:
                connection.send(Status(answer=compute(question, tell), share=1.0, words="done"))
            except _Cancelled:
                connection.send(None)
            except DendrocapError as error:
                connection.send(replace(Status(), problem=str(error)))


def answer_to(question: Question, tell: Tell) -> object:
    """The computation of the desk: a best estimate, or a curve with broken symmetry."""
    if isinstance(question, Along):
        return along(question, tell)
    return capacity(question.cell, question.task, callback=tell)
