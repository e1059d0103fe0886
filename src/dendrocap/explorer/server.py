"""The local server: its pages, exports and address, and its run until it is interrupted."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import math
import multiprocessing
import os
import re
import secrets
import signal
import threading
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import jinja2
import panel as pn
from bokeh.settings import settings
from panel.custom import JSComponent
from tornado.httputil import HTTPServerRequest
from tornado.ioloop import PeriodicCallback
from tornado.routing import Matcher, Rule
from tornado.web import HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError

from dendrocap import __version__
from dendrocap.errors import InvalidParameter
from dendrocap.explorer.files import CONTENT_TYPES, DRAWN, LARGEST_FILE, SCRIPTS, Drawn
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
    usual,
)
from dendrocap.explorer.plots import DARK, LIGHT
from dendrocap.explorer.session import DESK, READER, Session
from dendrocap.explorer.views import along_question, view
from dendrocap.validation import Fact

# The page of a session: its template, and the bridge for messages between browser and session.

FOLDER = Path(__file__).parent / "page"

# The sliders of each part of the page.
GROUPS = {
    "basal": ("x_min", "gamma", "theta_d"),
    "apical": ("x_min_2", "gamma_2", "theta_d_2", "fraction_2", "length_2"),
    "soma": ("theta_s",),
    "task": ("f_in", "f_out", "kappa", "branch_correlation"),
    "inhibition": ("inhibitory_share", "inhibitory_drive"),
    "noise": ("flips",),
    "size": ("n_inputs", "n_branches"),
    "training": ("load", "train_inputs", "train_branches", "rate", "decay", "pace", "seed"),
}

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


def _slider(name: str, known: Fact) -> dict[str, Any]:
    """What the page shows of a parameter; a step is a factor minus one on a logarithmic scale."""
    low, high = usual(known)
    fine = 1.0 if known.whole else 10.0 ** math.floor(math.log10((high - low) / 100.0))
    return {
        "symbol": in_html(known.symbol.partition(" =")[0]),
        "meaning": known.label + (", apical" if name.endswith("_2") else ""),
        "low": low,
        "high": high,
        "step": 0.02 if known.log else fine,
        "log": known.log,
        "whole": known.whole,
        "help": f"{known.help}." if known.help else "",
    }


GREEK = {"theta": "θ", "gamma": "γ", "kappa": "κ", "rho": "ρ", "alpha": "α", "zeta": "ζ"}


def in_html(symbol: str) -> str:
    r"""A symbol of LaTeX with at most one index in HTML.

    Examples
    --------
    >>> in_html(r"f_{\mathrm{in}}"), in_html(r"d\zeta")
    ('f<sub>in</sub>', 'dζ')
    """

    def letter(found: re.Match[str]) -> str:
        return GREEK.get(found[1], "" if found[1] == "mathrm" else found[1])

    base, _, index = re.sub(r"\\([a-z]+)", letter, symbol).replace("{", "").replace("}", "").partition("_")
    return f"{base}<sub>{index}</sub>" if index else base


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
        sliders={name: _slider(name, known) for name, known in SLIDERS.items()},
        groups=GROUPS,
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


LARGEST_MESSAGE = 1_000_000  # bytes; an upload of the largest allowed size takes a seventh of it
MOST_EXPORTS = 4  # drawn or waiting at a time
GLANCE = 0.2  # seconds between looks for the answer to an export
LAST_MOMENT = 1.0  # seconds after which what still runs is ended
LOCAL = ("127.0.0.1", "localhost", "::1")
ANY = ("0.0.0.0", "::")


class ExportHandler(RequestHandler):
    """Exported files, such as /export/neuron.png?theta_d=0.5, each drawn while its client waits for it."""

    waiting: ClassVar[int] = 0
    _left = False

    async def get(self, name: str) -> None:
        """Send the file with this name; a bad link or no solution gives code 400 and a sentence."""
        if name not in SCRIPTS and name not in DRAWN:
            raise HTTPError(404)
        parameters, problems = from_arguments(self.request.query_arguments)
        if problems:
            raise HTTPError(400, "; ".join(problems))
        content = SCRIPTS[name](parameters).encode() if name in SCRIPTS else await self._drawn(Drawn(name, parameters))
        self.set_header("Content-Type", CONTENT_TYPES[Path(name).suffix])
        self.set_header("Cache-Control", "no-store")
        self.finish(content)

    async def _drawn(self, question: Drawn) -> bytes:
        if ExportHandler.waiting >= MOST_EXPORTS:
            raise HTTPError(503, f"{MOST_EXPORTS} files are being made: try again when one is done")
        ExportHandler.waiting += 1
        try:
            while not (status := DESK.ask(question)).done:
                await asyncio.sleep(GLANCE)
                if self._left:
                    raise HTTPError(499, "the client has left")
        finally:
            ExportHandler.waiting -= 1
            DESK.forget(question)
        if status.problem:
            raise HTTPError(400, status.problem)
        content: bytes = status.answer
        return content

    def on_connection_close(self) -> None:
        """Nobody waits for the file any more."""
        self._left = True

    def write_error(self, status_code: int, **details: Any) -> None:
        """Answer with one line of text instead of a traceback."""
        _, error, _ = details.get("exc_info", (None, None, None))
        text = getattr(error, "log_message", None)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish((text or self._reason).replace("%%", "%") + "\n")


class Foreign(Matcher):
    """Matches requests that are not for this page.

    Those are requests under another name, as after DNS rebinding, requests of other pages and, where a token is
    needed, requests that do not bring it.
    """

    def __init__(self, address: str, port: int, token: str = "") -> None:
        self.address, self.port, self.token = address, port, token

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        """An empty mapping for such a request, otherwise None."""
        cookie = request.cookies.get(self.cookie)
        known = not self.token or (cookie is not None and hmac.compare_digest(cookie.value, self.token))
        return None if self.of_here(request) and known else {}

    def of_here(self, request: HTTPServerRequest) -> bool:
        """Whether host and origin, if there is one, are this page's."""
        origin = request.headers.get("Origin", "http://" + request.headers.get("Host", ""))
        return all(self._is_own(one) for one in ("http://" + request.headers.get("Host", ""), origin))

    def _is_own(self, where: str) -> bool:
        try:
            parts = urlsplit(where)
            host, port = parts.hostname or "", parts.port or 80
            if self.address in ANY and host != "localhost":
                ipaddress.ip_address(host)  # no name, which can be made to lead here
        except ValueError:
            return False
        named = host in (*LOCAL, self.address) or self.address in ANY
        return parts.scheme == "http" and port == self.port and named

    @property
    def cookie(self) -> str:
        """The name under which a browser keeps the token."""
        return f"dendrocap-{self.port}"


class Door(RequestHandler):
    """Lets a browser in that opens a link with the token, which then stays with it, and refuses all else."""

    def initialize(self, foreign: Foreign) -> None:
        """The requests that come here."""
        self._foreign = foreign

    def prepare(self) -> None:
        """Answer every method alike."""
        given = self.get_query_argument("token", "")
        if not (given and self._foreign.of_here(self.request) and hmac.compare_digest(given, self._foreign.token)):
            self.set_status(403)
            self.finish("This address is not served here; open the link that the terminal shows.\n")
            return
        self.set_cookie(self._foreign.cookie, given, httponly=True, samesite="Strict")
        others = [(name, value) for name, value in parse_qsl(self.request.query) if name != "token"]
        self.redirect(f"{self.request.path}?{urlencode(others)}".rstrip("?"))


class Served(NamedTuple):
    """A server that is ready to start, the link to its page, and what its user should know."""

    server: Any
    link: str
    warning: str = ""


def listening_server(port: int, address: str, *, fixed: bool) -> Served:
    """A server on the given port, or on a free one if it is taken and not ``fixed``."""
    view(Parameters())  # loads compiled code, for seconds during which a page would wait
    for candidate in (port,) if fixed else (port, 0):
        try:
            return make_server(address, candidate)
        except OSError as error:
            reason = error.strerror or str(error)
    raise InvalidParameter(f"cannot listen on {address}, port {port}: {reason}")


def make_server(address: str = "127.0.0.1", port: int = 0) -> Served:
    """A server on this address; scripts and styles come only from the installed packages."""
    settings.resources = "server"
    for name in ("bokeh", "tornado"):
        logging.getLogger(name).setLevel(logging.ERROR)
    server = pn.io.server.get_server(
        {"/": page},
        port=port,
        address=address,
        websocket_origin=["*"],  # `Foreign` looks at the origin of every request
        title={"/": "dendrocap explorer"},
        start=False,
        show=False,
        verbose=False,
        extra_patterns=[(r"/export/([a-z.]+)", ExportHandler)],
        websocket_max_message_size=LARGEST_MESSAGE,
        check_unused_sessions_milliseconds=2000,
        unused_session_lifetime_milliseconds=10_000,
    )
    foreign = Foreign(address, server.port, "" if address in LOCAL else secrets.token_urlsafe(16))
    server._tornado.default_router.rules.insert(0, Rule(foreign, Door, {"foreign": foreign}))
    shown = "127.0.0.1" if address in ANY else f"[{address}]" if ":" in address else address
    link = f"http://{shown}:{server.port}/"
    if not foreign.token:
        return Served(server, link)
    warning = f"{address} can be reached by other machines: whoever has the link below can use this page"
    if address in ANY:
        warning += ", elsewhere with the address of this machine instead of 127.0.0.1"
    return Served(server, f"{link}?token={foreign.token}", warning)


def run(server: Any, open_page: str | None = None) -> None:
    """Serve, and open a page, until Ctrl-C or a request to terminate; then end all sessions and computations."""
    loop = server.io_loop
    loop.asyncio_loop.set_exception_handler(_quiet_about_closed_pages)

    def end(number: int, frame: FrameType | None) -> None:
        loop.add_callback_from_signal(loop.stop)
        late = threading.Timer(LAST_MOMENT, _end_at_once)  # what the loop computes may take long
        late.daemon = True
        late.start()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    server.start()
    for desk in (DESK, READER):
        PeriodicCallback(desk.go_on, 1000).start()
    # The other process loads its compiled code while the browser opens.
    DESK.ask(along_question(Parameters()))
    if open_page is not None:
        loop.add_callback(webbrowser.open, open_page)
    try:
        loop.start()
    finally:
        DESK.close()
        READER.close()
        for session in server.get_sessions():
            session.destroy()
        server.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_at_once() -> None:
    for process in multiprocessing.active_children():
        process.kill()
    os._exit(0)


def _quiet_about_closed_pages(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignore pages that were closed before their answer was sent; everything else is logged as usual."""
    if not isinstance(context.get("exception"), WebSocketClosedError):
        loop.default_exception_handler(context)
