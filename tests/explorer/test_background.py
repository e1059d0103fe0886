"""The process behind the page: answers, progress, dropped questions, deaths, limits."""

import os
import time
from typing import NamedTuple

import numpy as np
import pytest

import dendrocap as dc
from dendrocap.errors import NoSolution
from dendrocap.explorer import background
from dendrocap.explorer.background import Desk, Status, answered
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.views import Best, along_question
from tests.explorer.desks import InstantDesk


class Slow(NamedTuple):
    """Takes as many tenths of a second as it has steps; dies, is deaf or has no answer on demand."""

    steps: int
    way: str = ""

    def answer(self, tell):
        if self.way == "dies":
            os._exit(1)
        if self.way == "refuses":
            raise NoSolution("out of reach")
        for step in range(self.steps):
            if self.way != "deaf":
                tell(step / self.steps, f"step {step}")
            time.sleep(0.1)
        return self.steps


@pytest.fixture(scope="module")
def desk():
    made = Desk()
    made.wait(Slow(1))  # the process is there
    yield made
    made.close()


def test_the_real_desk_computes_best_estimates_and_curves(desk):
    parameters = Parameters(nonlinearity="linear", n_inputs=100, n_branches=10)  # exact, and thus quick
    best = desk.wait(Best(parameters.cell, parameters.task)).answer
    assert best.alpha_c == dc.capacity(parameters.cell, parameters.task).alpha_c
    assert best.accuracy == "best"
    question = along_question(parameters)
    question = question._replace(x=question.x[10:12])
    np.testing.assert_array_equal(desk.wait(question).answer, InstantDesk().answer(question))


def test_progress_is_told_and_the_answer_kept(desk):
    assert desk.known(Slow(5)) == Status()
    first = desk.ask(Slow(5))
    assert not first.done
    seen = set()
    while not (status := desk.ask(Slow(5))).done:
        seen.add(status.share)
        time.sleep(0.02)
    assert len(seen) > 2
    assert status.answer == 5
    assert desk.known(Slow(5)).answer == 5


def test_questions_no_longer_asked_are_dropped(desk, monkeypatch):
    monkeypatch.setattr(background, "PATIENCE", 0.3)
    desk.ask(Slow(60))  # six seconds, if anybody waited
    time.sleep(0.6)
    began = time.monotonic()
    assert desk.wait(Slow(2)).answer == 2
    assert time.monotonic() - began < 5.0
    assert desk.known(Slow(60)) == Status()


def test_a_problem_is_an_answer(desk):
    assert desk.wait(Slow(2, "refuses")).problem == "out of reach"


def test_old_answers_make_room(desk, monkeypatch):
    monkeypatch.setattr(background, "MOST_ANSWERS", 2)
    for steps in (0, 1, 2, 3):
        desk.wait(Slow(steps, "room"))
    assert not desk.known(Slow(0, "room")).done
    assert desk.known(Slow(3, "room")).answer == 3


def test_a_process_answers_a_question_once():
    calls = []

    class Counted(NamedTuple):
        def answer(self, tell):
            calls.append(self)
            return 1

    assert answered(Counted(), None) == answered(Counted(), None) == len(calls) == 1


@pytest.mark.parametrize("way", ["dies", "limit", "deaf", "closed"])
def test_whatever_the_process_does_the_next_question_is_answered(way, monkeypatch):
    monkeypatch.setattr(background, "GRACE", 0.3)
    made = Desk(limit=1.0 if way == "limit" else 60.0)
    made.wait(Slow(0))
    if way == "dies":
        assert "died" in made.wait(Slow(1, "dies")).problem
    elif way == "limit":
        assert made.wait(Slow(100, "deaf")).problem == "this took longer than 1 seconds and was given up"
    else:
        made.ask(Slow(100, "deaf"))
        time.sleep(0.1)
        made.forget(Slow(100, "deaf"))
    if way == "closed":
        process = made._process
        made.close()
        assert not process.is_alive()
    made._limit = 60.0
    assert made.wait(Slow(1)).answer == 1
    made.close()
