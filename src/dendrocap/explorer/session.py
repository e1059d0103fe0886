"""What one browser tab asks, and what it is told: messages in, figures and messages out.

The page sends one message at a time and waits for the reply before it sends the next, so that a slider that moves
faster than the equations are solved never leaves a queue behind.
"""

from __future__ import annotations

import base64
import binascii
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.explorer.links import to_query
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.plots import CapacityPlot, DendritePlot, ErrorPlot, LearnedWeightPlot, WeightPlot
from dendrocap.explorer.presets import PRESETS, preset
from dendrocap.explorer.theme import DARK, LIGHT
from dendrocap.explorer.trainer import ENDED, IDLE, Trainer, WeightTheory, weight_theory
from dendrocap.explorer.uploads import LARGEST_FILE, read_curve
from dendrocap.explorer.views import key_numbers, view
from dendrocap.learning import weight_statistics
from dendrocap.validation import choice

__all__ = ["Session"]

LOG = logging.getLogger(__name__)
Message = dict[str, Any]
# Parameters of the run alone; the others change what the first tab shows.
# Where so many tabs move their sliders within so many seconds, curves are drafted first and refined at rest.
CROWD, MOMENT = 3, 2.0
OF_TRAINING = ("load", "train_inputs", "train_branches", "rate", "decay", "slope", "pace", "seed")


class Traffic:
    """Which sessions asked for curves a moment ago; one server answers them all in turn."""

    def __init__(self) -> None:
        self._last: dict[int, float] = {}

    def crowded(self, session: int) -> bool:
        """Take note of a session, and tell whether it is one of many."""
        now = time.monotonic()
        self._last = {one: at for one, at in self._last.items() if now - at < MOMENT} | {session: now}
        return len(self._last) >= CROWD


TRAFFIC = Traffic()


class Session:
    """The state behind one browser tab.

    Parameters
    ----------
    parameters : Parameters
        From the link.
    problems : sequence of str
        What was wrong with the link, to be shown on the page.
    """

    def __init__(self, parameters: Parameters, problems: list[str] | None = None) -> None:
        self.parameters = parameters
        self.problems = list(problems or ())
        self.dendrite, self.weights = DendritePlot(), WeightPlot()
        self.capacity = {axis: CapacityPlot(axis) for axis in ("theta_d", "theta_s")}
        self.error, self.learned = ErrorPlot(), LearnedWeightPlot()
        self.trainer = Trainer()
        self.trained = parameters  # what the run on the second tab was started with
        self._theory_of: tuple[Parameters, WeightTheory] | None = None

    @property
    def plots(self) -> dict[str, Any]:
        """All figures by the names that the page knows them by."""
        return {
            "dendrite": self.dendrite,
            "capacity_theta_d": self.capacity["theta_d"],
            "capacity_theta_s": self.capacity["theta_s"],
            "weights": self.weights,
            "error": self.error,
            "learned": self.learned,
        }

    def close(self) -> None:
        """End whatever runs for this tab."""
        self.trainer.close()

    def handle(self, message: Any) -> Message:
        """The reply to a message; whatever goes wrong becomes a sentence for the page."""
        reply: Message = {}
        try:
            if not isinstance(message, Mapping):
                raise InvalidParameter("the page sent something that is not a message")
            kind = choice("message", str(message.get("kind")), tuple(self._answers))
            reply = self._answers[kind](self, message)
        except DendrocapError as error:
            reply = {"problem": str(error)} | self._settings()
        except Exception:  # the page must never show a traceback, and the log must
            LOG.exception("a message from the page could not be answered")
            reply = {"problem": "something went wrong; the server's log says what"} | self._settings()
        return reply

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
            raise InvalidParameter("the page sent changes that are none")
        self.parameters = self.parameters.changed(changes)
        if set(changes) <= set(OF_TRAINING):
            return self._settings() | self._run_state()
        return self._shown(message, draft=TRAFFIC.crowded(id(self)))

    def _refine(self, message: Mapping[str, Any]) -> Message:
        return self._shown(message)

    def _preset(self, message: Mapping[str, Any]) -> Message:
        name = str(message.get("name"))
        self.parameters = self.parameters.changed(preset(name))
        return self._shown(message) | {"said": f"{PRESETS[name].label}: {PRESETS[name].source}"}

    def _upload(self, message: Mapping[str, Any]) -> Message:
        name, text = str(message.get("name", "")), message.get("content")
        if not isinstance(text, str) or len(text) > 2 * LARGEST_FILE:
            raise InvalidParameter(f"the file is too large: at most {LARGEST_FILE:,} bytes are allowed")
        try:
            content = base64.b64decode(text, validate=True)
        except binascii.Error:
            raise InvalidParameter("the file did not arrive as it should") from None
        points = read_curve(content, name, in_mv=bool(message.get("in_mv")))
        self.parameters = self.parameters.changed({"curve": points, "nonlinearity": "tabulated"})
        return self._shown(message) | {"said": f"{len(points)} points read from {name[:60]}"}

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

    def _settings(self) -> Message:
        """What the controls should stand at, and the link to it."""
        settings = asdict(self.parameters)
        settings["curve"] = len(self.parameters.curve)
        return {"settings": settings, "query": to_query(self.parameters)}

    def _shown(self, message: Mapping[str, Any], *, draft: bool = False) -> Message:
        """Draw the first tab, and the second if it is open, and give the numbers in large type."""
        shown = view(self.parameters, draft=draft)
        self.dendrite.show(shown)
        self.capacity[self.parameters.axis].show(shown)
        self.weights.show(shown)
        said = self._settings() | {"numbers": key_numbers(shown), "no_solution": shown.problem, "draft": draft}
        return said | (self._run_state() if message.get("tab") == "train" else {})

    def _run_state(self) -> Message:
        """Draw the second tab, and tell how the run stands."""
        progress = self.trainer.progress()
        of_run = self.parameters if progress.state == IDLE else self.trained
        mean = of_run.theta_d / of_run.f_in
        self.error.show(progress, of_run.g.name)
        self.learned.show(progress.weights, mean)
        said = {"state": progress.state, "epoch": f"{progress.epoch:,}", "text": progress.text, "stale": False}
        said |= {"errors": "–", "silent": "–"}
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
        p0 = "–" if known.at_capacity is None else f"{100.0 * known.at_capacity.silent_fraction:.1f} %"
        return {"theory": known.problem, "silent_theory": p0, "alpha_c": f"{known.alpha_c:.4f}"}

    _answers: ClassVar[dict[str, Callable[[Session, Mapping[str, Any]], Message]]] = {
        "hello": _hello,
        "theme": _theme,
        "change": _change,
        "refine": _refine,
        "preset": _preset,
        "upload": _upload,
        "train": _train,
        "progress": _progress,
    }
