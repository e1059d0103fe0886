"""The explorer in a real browser: from a slider's event to the answer, memory of the server, ten tabs at once.

Before that, a newcomer's way from the open page to the capacity of an own cell, here the 931 EPSPs of Song et al.

Usage: python -m benchmarks.explorer_browser [--moves 500]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from playwright.sync_api import sync_playwright

from dendrocap.datasets import song2005
from tests.browser import OPTIONS, chromium
from tests.explorer.serving import explorer

# Moves a slider, waits for the answer and the next picture, and so on; the answer to all is their times in ms.
MOVES = """async ([name, low, high, moves]) => {
    const range = document.getElementById(`${name}-range`), times = []
    for (let move = 0; move < moves; move++) {
        const before = Number(document.body.dataset.serial), start = performance.now()
        range.value = Number(range.min) + (range.max - range.min) * (low + (high - low) * Math.random())
        range.dispatchEvent(new Event('input'))
        while (Number(document.body.dataset.serial) === before) await new Promise((go) => setTimeout(go, 2))
        await new Promise(requestAnimationFrame)
        times.push(performance.now() - start)
    }
    return times
}"""
START = "document.body.dataset.serial !== undefined"


def opened(context: Any, address: str) -> Any:
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(START)
    return page


def newcomer(context: Any, address: str) -> None:
    """Open the page, unfold the upload, type the pairs tested, choose the file, wait, read: six actions."""
    song = song2005()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "epsp.csv")
        file.write_text("epsp (mV)\n" + "\n".join(f"{one:.6g}" for one in song.amplitudes_mv))
        start = time.perf_counter()
        page = opened(context, address)
        page.click("text=Upload EPSP amplitudes")
        page.fill("#n-tested", str(song.n_tested))
        page.set_input_files("#epsp-file", file)
        page.wait_for_selector("#said >> text=EPSPs fitted")
        fitted = time.perf_counter() - start
        page.wait_for_function("document.body.dataset.accuracy === 'best'", timeout=120_000)
        answered = time.perf_counter() - start
        print(f"a newcomer's EPSPs: fitted after {fitted:.1f} s, {page.inner_text('#capacity')} after {answered:.1f} s")
        page.close()


def line(name: str, times: list[float]) -> None:
    print(f"{name:<46}{np.median(times):>9.0f} ms{np.percentile(times, 95):>9.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--moves", type=int, default=500)
    moves = parser.parse_args().moves
    if chromium() is None:
        print("not measured: no Chromium is installed (Debian: apt-get install chromium)")
        return
    with sync_playwright() as driver, explorer() as (process, address):
        browser = driver.chromium.launch(executable_path=chromium(), args=OPTIONS)
        context = browser.new_context()
        newcomer(context, address)
        page, server = opened(context, address), psutil.Process(process.pid)
        print(f"{'in the browser, event to answer':<46}{'median':>12}{'95 %':>12}")
        line("theta_d along its own axis", page.evaluate(MOVES, ["theta_d", 0.3, 0.8, 40]))
        line("gamma, a new curve each time", page.evaluate(MOVES, ["gamma", 0.2, 0.8, 200]))
        first = server.memory_info().rss / 1e6
        page.evaluate(MOVES, ["gamma", 0.2, 0.8, moves])
        second = server.memory_info().rss / 1e6
        print(f"memory of the server: {first:.0f} MB, after {moves} moves {second - first:+.1f} MB")
        pages = [page, *(opened(context, address) for _ in range(9))]
        for other in pages[1:]:  # each starts moving on its own and goes on while the first is timed
            other.evaluate(f"void ({MOVES})(['theta_s', 0.1, 0.4, 1000])")
        line("gamma, nine other tabs moving theta_s", page.evaluate(MOVES, ["gamma", 0.2, 0.8, 20]))
        browser.close()


if __name__ == "__main__":
    main()
