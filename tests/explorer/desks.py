"""A desk that answers at once, in this process: for tests of what is done with the answers."""

from dataclasses import replace

from dendrocap.answers import capacity
from dendrocap.errors import DendrocapError
from dendrocap.explorer.background import Status
from dendrocap.explorer.views import Best, along_question


class InstantDesk:
    """Curves and files as ever; best estimates are quick looks that claim an error, unless real ones are wanted."""

    def __init__(self, *, real=False):
        self.real = real
        self.answers = {}
        self.asked = []

    def ask(self, question):
        self.asked.append(question)
        if question not in self.answers:
            try:
                self.answers[question] = Status(answer=self.answer(question), share=1.0)
            except DendrocapError as error:
                self.answers[question] = Status(problem=str(error))
        return self.answers[question]

    def forget(self, question):
        del self.answers[question]

    def known(self, question):
        return self.answers.get(question, Status())

    def answer(self, question, tell=None):
        if self.real or not isinstance(question, Best):
            return question.answer(lambda share, words: None)
        return pretended(question.cell, question.task)


def pretended(cell, task=None):
    """What `InstantDesk` gives for a best estimate: a quick look with an error of 4 %."""
    quick = capacity(cell, task, accuracy="fast")
    return replace(quick, error=0.04 * quick.alpha_c, silent_error=0.02, accuracy="best", remark="")


def curve_of(parameters):
    """The curve with broken symmetry."""
    return InstantDesk().answer(along_question(parameters))
