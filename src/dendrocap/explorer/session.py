"""The session of one browser tab: it receives messages, and returns figures and messages.

The page sends one message at a time and waits for the reply before it sends the next, so that a slider that moves
faster than the equations are solved never builds up a queue. While a slider moves, quick looks are shown; when it
rests, the page asks for the best estimate and the full curves repeatedly until they are computed.
"""

from __future__ import annotations

import base64
import binascii
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.explorer.background import Desk, Status
from dendrocap.explorer.files import LARGEST_FILE, Upload, Uploaded
from dendrocap.explorer.parameters import (
    AXES,
    OF_INHIBITION,
    PRESETS,
    Parameters,
    pair_query,
    preset,
    remember,
    to_query,
)
from dendrocap.explorer.plots import DARK, LIGHT, CapacityPlot, DendritePlot, ErrorPlot, LearnedWeightPlot, WeightPlot
from dendrocap.explorer.trainer import ENDED, IDLE, Trainer, WeightTheory, weight_theory
from dendrocap.explorer.views import (
    NOTHING,
    Best,
    View,
    along_question,
    branches_in_words,
    described,
    difference,
    key_numbers,
    pending,
    quick_look,
    view,
    written,
)
from dendrocap.learning import weight_statistics
from dendrocap.validation import choice, whole_number

LOG = logging.getLogger(__name__)
Message = dict[str, Any]
DESK = Desk()  # shared by all pages
READER = Desk(limit=20.0)  # reads and fits what they upload
# If this many tabs move their sliders within this many seconds, curves are only sketched until the sliders rest.
CROWD, MOMENT = 3, 2.0
OF_TRAINING = ("load", "train_inputs", "train_branches", "rate", "decay", "slope", "pace", "seed")
# Numbers of branches whose best estimates are compared. They are odd, because with an even number and theta_s = 1/2
# saturated branches can leave the soma exactly at its threshold.
BRANCHES = (5, 11, 21, 51, 101, 201)
SHORTEST = 10  # synapses per branch in that comparison
NO_BEST = (
    "For correlated inputs no best estimate is known at this size; the number shown is the quick look, for equal "
    "branches and one step of symmetry breaking."
)


class Traffic:
    """Counts the sessions that recently asked for curves; one server answers them all in turn."""

    def __init__(self) -> None:
        self._last: dict[int, float] = {}

    def crowded(self, session: int) -> bool:
        """Register a session; True if it is one of many."""
        now = time.monotonic()
        self._last = {one: at for one, at in self._last.items() if now - at < MOMENT} | {session: now}
        return len(self._last) >= CROWD


TRAFFIC = Traffic()


class Known(NamedTuple):
    """Answers for the neurons of a page: curves, best estimates, and those for several numbers of branches."""

    along: dict[str, Status]
    best: dict[str, Status]
    by_number: list[tuple[int, Status]]

    @property
    def statuses(self) -> list[Status]:
        """Progress of all answers."""
        return [*self.along.values(), *self.best.values(), *(status for _, status in self.by_number)]

    @property
    def answered(self) -> tuple[bool, ...]:
        """Which answers are known."""
        return tuple(status.done for status in self.statuses)


class Session:
    """The state behind one browser tab: neurons A and, if two are compared, B, and the problems of their link."""

    def __init__(
        self,
        first: Parameters,
        second: Parameters | None = None,
        problems: list[str] | None = None,
        desk: Desk = DESK,
        reader: Desk = READER,
    ) -> None:
        self.neurons: dict[str, Parameters] = {"a": first} | ({} if second is None else {"b": second})
        self.active = "a"
        self.amplitudes_mv: dict[str, NDArray[np.float64]] = {}
        self.counting = False  # whether best estimates for several numbers of branches were requested
        self.problems = list(problems or ())
        self.desk, self.reader = desk, reader
        self._uploading: Upload | None = None
        self.dendrite, self.weights = DendritePlot(), WeightPlot()
        self.capacity = {axis: CapacityPlot(axis) for axis in AXES}
        self.error, self.learned = ErrorPlot(), LearnedWeightPlot()
        self.trainer = Trainer()
        self.trained = first  # the parameters of the run on the second tab
        self._theory_of: tuple[Parameters, WeightTheory] | None = None
        self._drawn: object = None  # the neurons and answers that the figures show

    @property
    def parameters(self) -> Parameters:
        """Parameters of the neuron that the sliders control."""
        return self.neurons[self.active]

    @parameters.setter
    def parameters(self, changed: Parameters) -> None:
        self.neurons[self.active] = changed

    @property
    def other(self) -> str | None:
        """The name of the neuron that this one is compared with."""
        return next((name for name in self.neurons if name != self.active), None)

    @property
    def plots(self) -> dict[str, Any]:
        """All figures by their names on the page."""
        return {
            "dendrite": self.dendrite,
            **{f"capacity_{axis}": plot for axis, plot in self.capacity.items()},
            "weights": self.weights,
            "error": self.error,
            "learned": self.learned,
        }

    def close(self) -> None:
        """End all computations of this tab."""
        self.trainer.close()

    def handle(self, message: Any) -> Message:
        """The reply to a message; every error becomes a sentence for the page."""
        reply: Message = {}
        try:
            if not isinstance(message, Mapping):
                raise InvalidParameter("malformed message from the page")
            kind = choice("message", str(message.get("kind")), tuple(self._answers))
            reply = self._answers[kind](self, message)
        except DendrocapError as error:
            reply = {"problem": str(error)} | self._settings()
        except Exception:  # shown as a sentence on the page, with the traceback in the log
            LOG.exception("a message from the page could not be answered")
            reply = {"problem": "an unexpected error occurred; see the log of the server"} | self._settings()
        return reply

    # Messages ---------------------------------------------------------------------------------------------------------

    def _hello(self, message: Mapping[str, Any]) -> Message:
        self._set_theme(message)
        problems, self.problems = self.problems, []
        return self._shown(message) | ({"problem": "; ".join(problems)} if problems else {})

    def _theme(self, message: Mapping[str, Any]) -> Message:
        self._set_theme(message)
        return self._shown(message)

    def _set_theme(self, message: Mapping[str, Any]) -> None:
        theme = DARK if message.get("dark") else LIGHT
        for plot in self.plots.values():
            plot.set_theme(theme)

    def _change(self, message: Mapping[str, Any]) -> Message:
        changes = message.get("changes")
        if not isinstance(changes, Mapping) or "curve" in changes:
            raise InvalidParameter("malformed change message")
        self.parameters = self.parameters.changed(changes)
        if set(changes) <= set(OF_TRAINING):
            return self._settings() | self._run_state()
        if not set(changes) <= {"n_branches", "axis"}:
            self.counting = False
        return self._shown(message, detail="sketch" if TRAFFIC.crowded(id(self)) else "draft")

    def _rest(self, message: Mapping[str, Any]) -> Message:
        known = self._known(self.desk.ask)
        if self._drawn == (dict(self.neurons), self.active, known.answered):  # nothing has changed
            return {"pending": pending(known.statuses)}
        return self._shown(message, known=known)

    def _compare(self, message: Mapping[str, Any]) -> Message:
        """Show one neuron or two, and choose the one that the sliders control."""
        wanted = choice("neuron", str(message.get("neuron")), ("a", "b"))
        if message.get("alone"):
            self.neurons, self.active = {"a": self.parameters}, "a"
        else:
            self.neurons.setdefault(wanted, self.parameters)
            self.active = wanted
        return self._shown(message)

    def _count(self, message: Mapping[str, Any]) -> Message:
        """Request best estimates for several numbers of branches."""
        if self.parameters.inhibited:
            raise InvalidParameter(OF_INHIBITION)
        self.parameters = self.parameters.changed({"axis": "n_branches"})
        self.counting = True
        return self._shown(message, known=self._known(self.desk.ask))

    def _preset(self, message: Mapping[str, Any]) -> Message:
        name = str(message.get("name"))
        self.parameters = self.parameters.changed(preset(name))
        self.counting = False
        return self._shown(message) | {"said": f"{PRESETS[name].label}: {PRESETS[name].source}"}

    def _upload(self, message: Mapping[str, Any]) -> Message:
        """Have a file read and fitted, by another process; the page repeats the message without the file."""
        if "content" in message:
            self._uploading = self._upload_of(message)
        if self._uploading is None:
            raise InvalidParameter("there is no file to read")
        status = self.reader.ask(self._uploading)
        if not status.done:
            return {"reading": True}
        self.reader.forget(self._uploading)
        self._uploading = None
        if status.problem:
            raise InvalidParameter(status.problem)
        found: Uploaded = status.answer
        if found.fitted is not None:
            remember(found.changes, found.fitted)
        self.parameters = self.parameters.changed(found.changes)
        if found.amplitudes_mv is not None:
            self.amplitudes_mv[self.active] = found.amplitudes_mv
        return self._shown(message) | {"said": found.said}

    def _upload_of(self, message: Mapping[str, Any]) -> Upload:
        name, text, tested = str(message.get("name", "")), message["content"], message.get("n_tested")
        if not isinstance(text, str) or len(text) > 2 * LARGEST_FILE:
            raise InvalidParameter(f"the file is too large: at most {LARGEST_FILE:,} bytes are allowed")
        try:
            content = base64.b64decode(text, validate=True)
        except binascii.Error:
            raise InvalidParameter("the file did not arrive completely: choose it again") from None
        holds = choice("holds", str(message.get("holds")), ("curve", "amplitudes"))
        n_tested = None if tested is None else whole_number("tested", tested, 1)
        return Upload(holds, content, name, n_tested, self.parameters)

    def _train(self, message: Mapping[str, Any]) -> Message:
        what = choice("action", str(message.get("action")), ("start", "pause", "resume", "stop"))
        if what == "start":
            self.trainer.start(self.parameters)
            self.trained = self.parameters
        else:
            getattr(self.trainer, what)()
        return self._run_state()

    def _progress(self, message: Mapping[str, Any]) -> Message:
        return self._run_state()

    # Replies ----------------------------------------------------------------------------------------------------------

    def _settings(self) -> Message:
        """The state of the controls, and the links to the page and to its exports."""
        parameters = self.parameters
        settings = asdict(parameters)
        settings["curve"] = len(parameters.curve)
        units = parameters.units
        return {
            "settings": settings,
            "reach": {"theta_s": parameters.reach},
            "millivolts": {"theta_d": units.mv_per_theta_d, "theta_s": units.mv_per_theta_s},
            "neuron": self.active,
            "neurons": sorted(self.neurons),
            "query": to_query(parameters),
            "link": pair_query(self.neurons["a"], self.neurons.get("b")),
        }

    def _shown(self, message: Mapping[str, Any], *, detail: str = "full", known: Known | None = None) -> Message:
        """Draw the first tab, and the second if it is open, and return their texts."""
        at_rest = known is not None
        known = known or self._known(self.desk.known)
        self._drawn = (dict(self.neurons), self.active, known.answered) if at_rest else None
        views = {
            name: view(parameters, detail=detail, best=known.best[name].answer, broken=known.along[name].answer)
            for name, parameters in self.neurons.items()
        }
        shown = views[self.active]
        other = views[self.other] if self.other else None
        parameters = shown.parameters
        self.dendrite.show(shown, other)
        self.capacity[parameters.axis].show(
            shown, other, [(k, status.answer) for k, status in known.by_number if status.answer is not None]
        )
        self.weights.show(shown, other, self.amplitudes_mv.get(self.active))
        said = self._settings() | {
            "numbers": key_numbers(shown),
            "no_solution": shown.problem,
            "answer": written(shown.answer),
            "pending": pending(known.statuses) if at_rest else None,
            "branches": branches_in_words(known.by_number, parameters.n_inputs),
            "described": described(shown),
        }
        if not at_rest:  # the message about the last change stays
            said["said"] = parameters.warning
        elif shown.answer is not None and known.best[self.active].problem:
            said["said"] = NO_BEST if parameters.branch_correlation else known.best[self.active].problem
        if other is not None:
            said["compared"] = self._compared(views)
        return said | (self._run_state() if message.get("tab") == "train" else {})

    def _known(self, ask: Callable[[Any], Status]) -> Known:
        """Known or requested answers for the neurons; curves first, because they take less time."""
        along = {name: ask(along_question(parameters)) for name, parameters in self.neurons.items()}
        best = {}
        for name, parameters in self.neurons.items():
            _, problem = quick_look(parameters)  # with a problem there is nothing to wait for
            best[name] = Status(problem=problem) if problem else ask(Best(parameters.cell, parameters.task))
        of = self.parameters
        numbers = [k for k in BRANCHES if self.counting and of.n_inputs >= SHORTEST * k]
        by_number = [(k, ask(Best(of.changed({"n_branches": k}).cell, of.task))) for k in numbers]
        return Known(along, best, by_number)

    def _compared(self, views: Mapping[str, View]) -> Message:
        rows = {name: key_numbers(shown) for name, shown in views.items()}
        one, other = views["a"].answer, views["b"].answer
        if one is None or other is None:
            rows["difference"] = {}
        else:
            rows["difference"] = difference(one, other)
        names = ("capacity", "patterns", "silent")
        return {name: {key: numbers.get(key, NOTHING) for key in names} for name, numbers in rows.items()}

    def _run_state(self) -> Message:
        """Draw the second tab, and return the state of the run."""
        progress = self.trainer.progress()
        of_run = self.parameters if progress.state == IDLE else self.trained
        mean = of_run.theta_d / of_run.f_in
        self.error.show(progress, of_run.g.name)
        self.learned.show(progress.weights, mean)
        said = {"state": progress.state, "epoch": f"{progress.epoch:,}", "text": progress.text, "stale": False}
        said |= {"errors": NOTHING, "silent": NOTHING}
        if progress.state != IDLE:
            said["errors"] = f"{progress.errors:,} of {progress.n_patterns:,} (best {progress.best_errors:,})"
            said["silent"] = f"{100.0 * weight_statistics(progress.weights).near_zeros:.1f} %"
            said["stale"] = progress.state == ENDED and self.parameters != self.trained
        return {"run": said | self._theory(of_run, mean)}

    def _theory(self, parameters: Parameters, mean: float) -> Message:
        if self._theory_of is None or self._theory_of[0] != parameters:
            self._theory_of = (parameters, weight_theory(parameters))
            self.learned.show_theory(self._theory_of[1], mean)
        known = self._theory_of[1]
        if known.answer is None:
            return {"theory": known.problem, "silent_theory": NOTHING, "capacity": NOTHING, "paper": ""}
        texts = known.answer.texts()
        return {
            "theory": known.problem,
            "silent_theory": texts["silent"],
            "capacity": texts["capacity"],
            "paper": known.answer.paper,
        }

    _answers: ClassVar[dict[str, Callable[[Session, Mapping[str, Any]], Message]]] = {
        "hello": _hello,
        "theme": _theme,
        "change": _change,
        "rest": _rest,
        "compare": _compare,
        "count": _count,
        "preset": _preset,
        "upload": _upload,
        "train": _train,
        "progress": _progress,
    }
