"""The process behind the page: answers, progress, dropped questions, deaths."""

import os
import time

import numpy as np
import pytest

import dendrocap as dc
from dendrocap.errors import NoSolution
from dendrocap.explorer import background
from dendrocap.explorer.background import Best, Desk, Status
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.views import along, along_question

CELL = dc.DendriticNeuron(dc.NeuronSpec(dc.Linear(), 0.5, 0.5), 100, 10)


def slow(question, tell):
    """Takes as many tenths of a second as there are branches, at most; dies or has no answer on demand."""
    if question.task.kappa == 1.0:
        os._exit(1)
    if question.task.kappa == 2.0:
        raise NoSolution("out of reach")
    for step in range(question.cell.n_branches):
        tell(step / question.cell.n_branches, f"step {step}")
        time.sleep(0.1)
    return question.cell.n_branches


def question(n_branches, kappa=0.0):
    return Best(dc.DendriticNeuron(CELL.spec, 100, n_branches), dc.TaskSpec(kappa=kappa))


@pytest.fixture(scope="module")
def desk():
    made = Desk(slow)
    made.wait(question(1))  # the process is there
    yield made
    made.close()


def test_the_real_desk_computes_best_estimates_and_curves():
    real = Desk()
    parameters = Parameters(n_inputs=60, n_branches=2)  # two branches are not split
    best = real.wait(Best(parameters.cell, parameters.task)).answer
    assert best.alpha_c == dc.capacity(parameters.cell, parameters.task).alpha_c
    assert best.accuracy == "best"
    curve = real.wait(along_question(parameters)).answer
    np.testing.assert_array_equal(curve, along(along_question(parameters)))
    real.close()


def test_progress_is_told_and_the_answer_kept(desk):
    assert desk.known(question(5)) == Status()
    first = desk.ask(question(5))
    assert not first.done
    seen = set()
    while not (status := desk.ask(question(5))).done:
        seen.add(status.share)
        time.sleep(0.02)
    assert len(seen) > 2
    assert status.answer == 5
    assert desk.known(question(5)).answer == 5


def test_questions_no_longer_asked_are_dropped(desk, monkeypatch):
    monkeypatch.setattr(background, "PATIENCE", 0.3)
    desk.ask(question(60))  # six seconds, if anybody waited
    time.sleep(0.6)
    assert desk.wait(question(2)).answer == 2
    assert desk.known(question(60)) == Status()


def test_a_problem_is_an_answer(desk):
    assert desk.wait(question(2, kappa=2.0)).problem == "out of reach"


def test_the_death_of_the_process_is_told_and_the_next_question_answered(desk):
    assert "died" in desk.wait(question(2, kappa=1.0)).problem
    assert desk.wait(question(3)).answer == 3


def test_old_answers_make_room(desk, monkeypatch):
    monkeypatch.setattr(background, "MOST_ANSWERS", 2)
    for number in (1, 2, 3):
        desk.wait(question(number, kappa=0.5))
    desk.wait(question(4, kappa=0.5))
    assert not desk.known(question(1, kappa=0.5)).done
    assert desk.known(question(4, kappa=0.5)).answer == 4


def test_closing_ends_the_process():
    made = Desk(slow)
    made.wait(question(1))
    made.ask(question(50))
    made.close()
    assert not made._thread.is_alive()
