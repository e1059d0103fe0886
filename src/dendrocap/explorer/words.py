"""Texts of the page: estimates and lights of an answer, pending computations, and figures for screen readers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dendrocap.explorer.background import Status
from dendrocap.explorer.parameters import AXES
from dendrocap.explorer.views import View, mean_excitation
from dendrocap.theory import Capacity

__all__ = ["branches_in_words", "described", "pending", "written"]

Message = dict[str, Any]


def written(answer: Capacity | None) -> Message | None:
    """Estimates, lights and remarks of an answer."""
    if answer is None:
        return None
    last = list(answer.estimates)[-1]
    return {
        "accuracy": answer.accuracy,
        "in_words": answer.in_words,
        "remark": answer.remark,
        "ladder": [
            {"name": name, "value": value, "assumes": answer.assumes[name], "best": name == last}
            for name, value in answer.estimates.items()
        ],
        "error": None if np.isnan(answer.error) else answer.error,
        "lights": [
            {"name": _greek(name), "light": flag.light, "words": _greek(flag.words)}
            for name, flag in answer.validity.items()
        ],
    }


def _greek(words: str) -> str:
    return words.replace("theta_s", "θ_s")


def pending(statuses: list[Status]) -> Message | None:
    """The computations that the page waits for; None when all are done."""
    waiting = [status for status in statuses if not status.done]
    if not waiting:
        return None
    share = sum(1.0 if status.done else status.share for status in statuses) / len(statuses)
    return {"share": share, "words": next((one.words for one in waiting if one.share), waiting[0].words)}


def branches_in_words(by_number: list[tuple[int, Status]], n_inputs: int) -> str:
    """The best number of branches among those computed."""
    known = [(k, status.answer) for k, status in by_number if status.answer is not None]
    if not by_number:
        return ""
    if len(known) < 2:
        return f"Best estimates for {', '.join(str(k) for k, _ in by_number)} branches are being computed."
    best_k, best = max(known, key=lambda pair: pair[1].alpha_c)
    enough, least = next((k, found) for k, found in known if found.alpha_c + found.error >= best.alpha_c - best.error)
    text = f"Of {', '.join(str(k) for k, _ in known)} branches, {best_k} store most: {best.answer}."
    if enough != best_k:
        text += f" {enough} are not distinguishably worse: {least.texts()['capacity']}."
    return f"{text} All with N = {n_inputs:,} synapses."


def described(shown: View) -> dict[str, str]:
    """Descriptions of the figures for screen readers."""
    curve, answer, axis = shown.curve, shown.answer, AXES[shown.parameters.axis]
    if answer is None:
        return {"dendrite": "no solution", "capacity": "no solution", "weights": "no solution"}
    texts, mean_mv = answer.texts(), shown.parameters.units.weight_mv(mean_excitation(answer))
    ends = ""
    known = np.isfinite(curve.broken)
    if known.any():
        x, y = curve.broken_x[known], curve.broken[known]
        ends = f" With broken symmetry it changes from {y[0]:.2g} at {x[0]:.2g} to {y[-1]:.2g} at {x[-1]:.2g}."
    outputs = ", ".join(f"{kind.fraction:.0%} of branches at a mean output of {kind.mean_output:.2g}" for kind in
                        answer.populations)  # fmt: skip
    return {
        "dendrite": f"Output of a branch against its input, and the inputs at capacity: {outputs}.",
        "capacity": f"Capacity against {axis}: here {texts['capacity']}.{ends} {answer.paper}.",
        "weights": f"Weights at capacity: {texts['silent']} silent, mean EPSP {mean_mv:.2g} mV. {answer.paper}.",
    }
