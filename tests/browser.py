"""A real browser for tests: Debian's Chromium (or any other found on the path), driven by Playwright.

The fixture ``open_page`` opens pages and fails the test at its end if the page logged an error, if anything it asked
for was missing, or if it asked any machine but this one. Tests that use it carry the mark ``browser``.
"""

import os
import shutil
from urllib.parse import urlsplit

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HERE = ("127.0.0.1", "localhost")


def chromium():
    """Where the browser is, or None."""
    named = os.environ.get("DENDROCAP_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser():
    path = chromium()
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser):
    """A function that opens an address, ``open_page(address, width=1280, height=720, **context_options)``."""
    contexts, complaints = [], []

    def opened(address, width=1280, height=720, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        context.set_default_timeout(20_000)
        # Of the context, so that further pages opened in it are watched too.
        context.on("console", lambda line: complaints.append(f"console: {line.text}") if line.type == "error" else None)
        context.on("weberror", lambda error: complaints.append(f"error: {error.error}"))
        context.on("request", lambda request: complaints.extend(outside(request.url)))
        context.on("requestfailed", lambda request: complaints.extend(lost(request)))
        context.on("response", lambda response: complaints.extend(missing(response)))
        page = context.new_page()
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints, complaints


def outside(url):
    """A complaint about a request that left this machine."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in HERE:
        yield f"asked for {url}"


def lost(request):
    """A complaint about a request without an answer; one that a reload or a download cut short is none."""
    if request.failure != "net::ERR_ABORTED":
        yield f"failed: {request.url} {request.failure}"


def missing(response):
    """A complaint about something that was not there."""
    if response.status >= 400:
        yield f"{response.status}: {response.url}"
