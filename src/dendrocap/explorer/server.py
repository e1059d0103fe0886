"""The local server: its pages, exports and address, and its run until it is interrupted."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import webbrowser
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import FrameType
from typing import Any

import panel as pn
from bokeh.settings import settings
from tornado.web import HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError

from dendrocap.errors import DendrocapError, InvalidParameter
from dendrocap.explorer.exports import EXPORTS
from dendrocap.explorer.links import from_arguments
from dendrocap.explorer.page import page
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.session import DESK
from dendrocap.explorer.views import along_question, view

__all__ = ["listening_server", "make_server", "run", "usable_port"]

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
