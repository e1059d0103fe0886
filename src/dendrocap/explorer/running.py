"""Running the server until it is interrupted, and ending what it started."""

from __future__ import annotations

import asyncio
import logging
import signal
import webbrowser
from types import FrameType
from typing import Any

from tornado.websocket import WebSocketClosedError

__all__ = ["run"]


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
    if open_page is not None:
        loop.add_callback(webbrowser.open, open_page)
    try:
        loop.start()
    finally:
        for session in server.get_sessions():
            session.destroy()
        server.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def _quiet_about_closed_pages(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A page that is closed while an answer is on its way is no error; everything else is logged as usual."""
    if not isinstance(context.get("exception"), WebSocketClosedError):
        loop.default_exception_handler(context)
