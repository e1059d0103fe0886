"""Publishes a folder of full-size runs: for the documentation, and as part of the package.

Usage: python -m dendrocap.reproduction.publish [RUN] KEPT

Copies the tables, outcomes and pictures of the `paper` preset from RUN, made by ``dendrocap reproduce --preset paper
--out RUN``, into KEPT (docs/results/paper), and writes KEPT/report.md and the verdicts in ``full_size.json`` beside
this module. Without RUN, the report and the verdicts are rewritten from the tables in KEPT.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from dendrocap.errors import InvalidParameter
from dendrocap.files import write_file
from dendrocap.reproduction.claims import FILE, full_size_verdicts, gathered
from dendrocap.reproduction.figure_runner import DONE, Reproduction, stored
from dendrocap.reproduction.report_page import markdown_report
from dendrocap.reproduction.runs import FULL_SIZE

__all__ = ["publish"]

HERE = Path(__file__).parent


def publish(kept: str | Path, run: str | Path | None = None, *, verdicts: Path = HERE / FILE) -> Reproduction:
    """Copy the finished figures of a run, then write the report and the verdicts.

    Parameters
    ----------
    kept : path
        Folder with the published tables, docs/results/paper.
    run : path, optional
        Folder of a run of the `paper` preset.
    verdicts : path
        File of the verdicts.
    """
    kept = Path(kept)
    if not kept.is_dir():
        raise InvalidParameter(f"{kept} is not a folder: the tables are published into one that exists")
    if run is not None:
        made = stored(run, FULL_SIZE)
        finished = [outcome for outcome in made.outcomes if outcome.status == DONE]
        if not finished:
            raise InvalidParameter(f"{run} contains no figure of the {FULL_SIZE} preset")
        for outcome in finished:
            for name in (f"{outcome.name}.json", f"{outcome.name}.png", *(f"{table}.csv" for table in outcome.tables)):
                shutil.copyfile(made.path(name), kept / name)
    made = stored(kept, FULL_SIZE)
    write_file(verdicts, json.dumps(gathered(made), indent=1, ensure_ascii=False) + "\n")
    full_size_verdicts.cache_clear()
    write_file(kept / "report.md", markdown_report(made))
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", help="folder of a run of the paper preset")
    parser.add_argument("kept", help="folder of the published tables, which exists")
    folders = parser.parse_args()
    publish(folders.kept, folders.run)
