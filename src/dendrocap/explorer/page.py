"""The page of a session: its template, and the bridge for messages between browser and session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import panel as pn
from panel.custom import JSComponent

from dendrocap import __version__
from dendrocap.explorer.links import pair_from_arguments
from dendrocap.explorer.parameters import AXES, NONLINEARITIES, POPULATIONS, SLIDERS, SLOPES
from dendrocap.explorer.presets import PRESETS
from dendrocap.explorer.session import Session
from dendrocap.explorer.theme import DARK, LIGHT
from dendrocap.explorer.uploads import LARGEST_FILE

__all__ = ["page"]

FOLDER = Path(__file__).parent / "page"
BASAL = ("x_min", "gamma", "theta_d")
APICAL = ("x_min_2", "gamma_2", "theta_d_2", "fraction_2", "length_2")
SOMA = ("theta_s",)
TASK = ("f_in", "f_out", "kappa", "branch_correlation")
INHIBITION = ("inhibitory_share", "inhibitory_drive")
NOISE = ("flips",)
SIZE = ("n_inputs", "n_branches")
# Numbers in large type, with the paper's below, and small ones: label and help line.
NUMBERS = {
    "capacity": ("capacity α<sub>c</sub>", "Patterns per synapse that the neuron can store: the best estimate."),
    "patterns": ("patterns stored", "Number of patterns that all synapses store together: capacity times N."),
    "silent": ("silent synapses", "Share of synapses whose weight is exactly zero at capacity."),
    "theta_d_mv": ("θ<sub>d</sub>", "Dendritic threshold, measured at the soma."),
    "theta_s_mv": ("θ<sub>s</sub>", "Somatic threshold."),
    "W_bar_mv": ("mean EPSP", "Mean excitatory weight at capacity, including silent synapses, measured at the soma."),
    "bits_per_synapse": ("bits per synapse", "Information in the labels that the neuron stores."),
    "gain": ("over linear", "Capacity divided by that of the linear neuron, which is exact."),
}
# Beside the slider for noise; known at f_in = 1/2, for branches that are all alike and without inhibition.
ERRORS = {
    "typical_error_rs": (
        "wrong, typical solution",
        "Patterns wrong at load ½: of a solution drawn at random; replica symmetric, equal branches.",
    ),
    "margin_error_rs": (
        "wrong, largest margin",
        "The same for the solution with the largest margin; replica symmetric, equal branches.",
    ),
}
TRAINING = ("load", "train_inputs", "train_branches", "rate", "decay", "pace", "seed")


class Bridge(JSComponent):
    """Carries messages between the controls of the page and its session; it is not visible."""

    _esm = FOLDER / "page.js"

    def __init__(self, session: Session, **options: Any) -> None:
        super().__init__(width=0, height=0, margin=0, **options)
        self._session = session

    def _handle_msg(self, data: Any) -> None:
        # One patch for all figures, followed by the reply, so that numbers and figures change together.
        with pn.io.hold():
            reply = self._session.handle(data)
        serial = data.get("serial") if isinstance(data, Mapping) else None
        self._send_msg({**reply, "serial": serial})


def page(arguments: Mapping[str, Sequence[bytes]] | None = None) -> pn.Template:
    """A new session and its page; ``arguments`` are those of the link, by default of the current request."""
    if arguments is None:
        arguments = pn.state.session_args
    session = Session(*pair_from_arguments(arguments))
    if pn.state.curdoc is not None:
        pn.state.on_session_destroyed(lambda context: session.close())
    template = pn.Template(_template({name: plot.titles for name, plot in session.plots.items()}))
    for name, plot in session.plots.items():
        template.add_panel(name, pn.pane.Bokeh(plot.figure, sizing_mode="stretch_both", margin=0))
    template.add_panel("bridge", Bridge(session))
    return template


def _template(titles: Mapping[str, Mapping[str, str]]) -> jinja2.Template:
    """The page as a Panel template: our variables are filled in here, Panel's later.

    Only constants of the package are filled in; user input reaches the page as text, through the bridge.
    """
    html = (FOLDER / "page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        variable_start_string="<<", variable_end_string=">>", block_start_string="<%", block_end_string="%>",
        comment_start_string="<#", comment_end_string="#>", undefined=jinja2.StrictUndefined, autoescape=False,
    )  # fmt: skip
    filled = environment.from_string(html).render(
        style=(FOLDER / "page.css").read_text(encoding="utf-8"),
        version=__version__,
        sliders=SLIDERS,
        groups={
            "basal": BASAL,
            "apical": APICAL,
            "soma": SOMA,
            "task": TASK,
            "inhibition": INHIBITION,
            "noise": NOISE,
            "size": SIZE,
            "training": TRAINING,
        },
        in_mv=("theta_d", "theta_s"),
        numbers=NUMBERS,
        errors=ERRORS,
        titles=titles,
        populations=POPULATIONS,
        nonlinearities=NONLINEARITIES,
        axes=AXES,
        slopes=SLOPES,
        presets=PRESETS,
        largest_file=LARGEST_FILE,
        light=LIGHT,
        dark=DARK,
    )
    from panel.io.resources import _env

    template: jinja2.Template = _env.from_string(filled)
    return template
