"""The local server: its pages, exports and address, and its run until it is interrupted."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import jinja2
import panel as pn
from bokeh.settings import settings
from panel.custom import JSComponent
from tornado.web import HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError

from dendrocap import __version__
from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.explorer.files import EXPORTS, LARGEST_FILE
from dendrocap.explorer.parameters import (
    AXES,
    NONLINEARITIES,
    POPULATIONS,
    PRESETS,
    SLIDERS,
    SLOPES,
    Parameters,
    from_arguments,
    pair_from_arguments,
)
from dendrocap.explorer.plots import DARK, LIGHT
from dendrocap.explorer.session import DESK, Session
from dendrocap.explorer.views import along_question, view

# The page of a session: its template, and the bridge for messages between browser and session.

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


# Most of these threads wait for a best estimate from the other process.
SLOW = ThreadPoolExecutor(max_workers=4, thread_name_prefix="slow")

ATTEMPTS = 5

LARGEST_MESSAGE = 1_000_000  # bytes; an upload of the largest allowed size takes a seventh of it


class FromLink(RequestHandler):
    """Base of handlers whose answer depends only on the parameters of a link."""

    async def answer(self, make: Callable[[Parameters], Any]) -> Any:
        """The result of ``make`` for the link of this request; a bad link or no solution gives code 400."""
        parameters, problems = from_arguments(self.request.query_arguments)
        try:
            if problems:
                raise InvalidParameter("; ".join(problems))
            return await asyncio.get_running_loop().run_in_executor(SLOW, make, parameters)
        except DendrocapError as error:
            raise HTTPError(400, reason="no answer", log_message=str(error)) from error

    def write_error(self, status_code: int, **details: Any) -> None:
        """Answer with one line of text instead of a traceback."""
        _, error, _ = details.get("exc_info", (None, None, None))
        text = getattr(error, "log_message", None) if status_code < 500 else None
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish((text or self._reason) + "\n")


class ExportHandler(FromLink):
    """Exported files, such as /export/neuron.png?theta_d=0.5."""

    async def get(self, name: str) -> None:
        """Send the file with this name."""
        if name not in EXPORTS:
            raise HTTPError(404)
        content = await self.answer(lambda parameters: EXPORTS[name].make(parameters, DESK))
        self.set_header("Content-Type", EXPORTS[name].content_type)
        self.set_header("Cache-Control", "no-store")
        self.finish(content)


def usable_port(port: int, address: str, *, fixed: bool) -> int:
    """The port, or a free one if it is taken and not ``fixed``.

    Raises
    ------
    InvalidParameter
        If the address cannot be listened on, or a fixed port is taken.
    """
    for candidate in (port,) if fixed else (port, 0):
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, candidate))
            except OSError as error:
                reason = error.strerror or str(error)
                continue
            return int(probe.getsockname()[1])
    raise InvalidParameter(f"cannot listen on {address}, port {port}: {reason}")


def listening_server(port: int, address: str, *, fixed: bool) -> tuple[Any, int]:
    """A server and its port: the given one, or a free one if it is taken and not ``fixed``.

    Another program may take a port between the check and its use; then another port is tried.
    """
    _load_compiled_code()  # takes seconds, during which a port found before could be taken
    for _ in range(ATTEMPTS):
        chosen = usable_port(port, address, fixed=fixed)
        with suppress(OSError):
            return make_server(address, chosen), chosen
    raise InvalidParameter(f"cannot listen on {address}, port {port}: every port found was taken by another program")


def make_server(address: str = "127.0.0.1", port: int = 0) -> Any:
    """A server that is ready to start; scripts and styles come only from the installed packages."""
    settings.resources = "server"
    origins = ["*"] if address in ("0.0.0.0", "::") else [f"{address}:{port}", f"localhost:{port}"]
    return pn.io.server.get_server(
        {"/": page},
        port=port,
        address=address,
        websocket_origin=origins,
        title={"/": "dendrocap explorer"},
        start=False,
        show=False,
        verbose=False,
        extra_patterns=[(r"/export/([a-z.]+)", ExportHandler)],
        websocket_max_message_size=LARGEST_MESSAGE,
        check_unused_sessions_milliseconds=2000,
        unused_session_lifetime_milliseconds=10_000,
    )


def _load_compiled_code() -> None:
    """Load compiled code with a first solution: if it must be compiled, this takes seconds."""
    view(Parameters())


def run(server: Any, open_page: str | None = None) -> None:
    """Serve until Ctrl-C or a request to terminate; then end all sessions with their training runs.

    Parameters
    ----------
    server : Server
        From `make_server`.
    open_page : str, optional
        Address to open in a browser.
    """
    loop = server.io_loop
    loop.asyncio_loop.set_exception_handler(_quiet_about_closed_pages)
    logging.getLogger("bokeh").setLevel(logging.ERROR)

    def end(number: int, frame: FrameType | None) -> None:
        loop.add_callback_from_signal(loop.stop)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    server.start()
    # The other process loads its compiled code while the browser opens.
    DESK.ask(along_question(Parameters()))
    if open_page is not None:
        loop.add_callback(webbrowser.open, open_page)
    try:
        loop.start()
    finally:
        for session in server.get_sessions():
            session.destroy()
        server.stop()
        DESK.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def _quiet_about_closed_pages(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignore pages that were closed before their answer was sent; everything else is logged as usual."""
    if not isinstance(context.get("exception"), WebSocketClosedError):
        loop.default_exception_handler(context)
