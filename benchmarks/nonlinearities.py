"""How should a user's own g enter compiled loops: as a table of cubics, or as a jitted function?

Each row times the same loop over the same inputs in this process, interleaved, and reports the 10th percentile.
"First call" is what a fresh process pays before its first result, compiled code being on disk already where the
disk cache can hold it. Usage: python -m benchmarks.nonlinearities
"""

import subprocess
import sys
import time

import numpy as np
from numba import njit

from dendrocap import Custom, Polsky
from dendrocap.model import _compiled

FIRST_CALL = """
import time, numpy as np
from dendrocap import Custom, Polsky
from dendrocap.model import _compiled
from benchmarks.nonlinearities import apply, jitted_polsky
g, x = Polsky(), np.linspace(-1, 2, 100)
kernel = Custom(g, g.derivative, g.breakpoints).kernel()
start = time.perf_counter()
{call}
print(time.perf_counter() - start)
"""


@njit
def jitted_polsky(x):
    if x < 0.33:
        return max(x, 0.0)
    return 0.33 + 0.67 * np.tanh(7.5 * (x - 0.33))


@njit
def apply(function, x):
    result = np.empty_like(x)
    for i in range(x.size):
        result[i] = function(x[i])
    return result


def first_call(call: str) -> float:
    command = [sys.executable, "-c", FIRST_CALL.format(call=call)]
    times = [
        float(subprocess.run(command, capture_output=True, text=True, check=True, env=None).stdout) for _ in range(3)
    ]
    return min(times)


def main() -> None:
    g = Polsky()
    x = np.random.default_rng(0).normal(0.3, 0.4, 20_000)
    table = Custom(g, g.derivative, g.breakpoints).kernel()
    ways = {
        "exact, by code": (lambda: _compiled.values(*g.kernel(), x), "_compiled.values(*g.kernel(), x)"),
        "table of cubics": (lambda: _compiled.values(*table, x), "_compiled.values(*kernel, x)"),
        "jitted function": (lambda: apply(jitted_polsky, x), "apply(jitted_polsky, x)"),
        "NumPy": (lambda: g(x), "g(x)"),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(60):
        for name, (run, _call) in ways.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    print(f"{'g as':<18}{'ns per value':>14}{'first call, s':>16}{'largest error':>16}")
    for name, (run, call) in ways.items():
        per_value = np.percentile(times[name], 10) / x.size * 1e9
        error = np.abs(run() - g(x)).max()
        print(f"{name:<18}{per_value:>14.1f}{first_call(call):>16.3f}{error:>16.1e}")


if __name__ == "__main__":
    main()
