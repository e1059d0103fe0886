"""Run by the kernels that execute the tutorials, before the first cell.

Commands in cells that begin with %%bash print as they do into a file: no colours, no progress bars, all at once. (The
magic of the same name in IPython hands on pieces of a hundred bytes, which may end inside a character, and the kernel
asks every program for colours.)
"""

import os
import subprocess

from IPython import get_ipython

for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR"):
    os.environ.pop(name, None)
os.environ.update(NO_COLOR="1", TERM="dumb", COLUMNS="132")


def bash(line: str, cell: str) -> None:
    """Run the cell in a shell and print what it wrote; a command that fails ends the build."""
    outcome = subprocess.run(["bash", "-euo", "pipefail", "-c", cell], capture_output=True, text=True, check=False)
    print(outcome.stdout, end="")
    if outcome.returncode:
        raise RuntimeError(f"the command ended with {outcome.returncode}: {outcome.stderr}")


get_ipython().register_magic_function(bash, "cell")
