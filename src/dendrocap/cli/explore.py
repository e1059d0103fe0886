"""``dendrocap explore``: an interactive page that shows the capacity of a neuron."""

from __future__ import annotations

from typing import Annotated

import typer

from dendrocap.cli.output import message
from dendrocap.errors import MissingExtra

__all__ = ["explore"]

DEFAULT_PORT = 5006


def explore(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port; by default 5006, or a free one if that is taken.")
    ] = None,
    address: Annotated[
        str, typer.Option(help="Address to listen on. Any other than 127.0.0.1 gives the network access.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open a local page to explore the theory and to watch a neuron learn. Stop it with Ctrl-C.

    The page neither fetches nor sends anything over the internet.

    Example: dendrocap explore --no-browser --port 5010
    """
    try:
        from dendrocap.explorer.server import listening_server, run
    except ImportError as error:
        raise MissingExtra(
            f"the explorer needs an extra: run pip install '.[explore]' in the clone ({error})"
        ) from error

    server, chosen = listening_server(port or DEFAULT_PORT, address, fixed=port is not None)
    shown = address if address not in ("0.0.0.0", "::") else "127.0.0.1"
    where = f"http://[{shown}]:{chosen}/" if ":" in shown else f"http://{shown}:{chosen}/"
    message(f"dendrocap explorer: {where} (stop with Ctrl-C)")
    run(server, where if browser else None)
