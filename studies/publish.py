"""Publishes a folder of full-size runs: for the documentation, and as part of the package.

Usage: python -m studies.publish [RUN] KEPT

Copies the tables, outcomes and pictures of the `paper` preset from RUN, made by ``dendrocap reproduce --preset paper
--out RUN``, into KEPT (docs/results/paper), and writes KEPT/report.md and the verdicts in ``full_size.json`` of the
package. Without RUN, the report and the verdicts are rewritten from the tables in KEPT.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
from pathlib import Path
from typing import Any

from jinja2 import Environment

from dendrocap.errors import InvalidParameter
from dendrocap.files import write_file
from dendrocap.reproduction import Reproduction, full_size_verdicts, stored
from dendrocap.reproduction.claims import FULL_SIZE_FILE, PAPER
from dendrocap.reproduction.report import content
from dendrocap.reproduction.runs import DONE, FULL_SIZE, HERE, selected

PAGES = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
PAGES.filters["cell"] = lambda text: text.replace("|", "\\|")
MARKDOWN = PAGES.from_string(
    """\
# {{ title }}

{{ introduction }}

{{ best }} `{{ command }}`.

| verdict | claims | meaning |
| --- | --- | --- |
{% for one in verdicts %}
| {{ one.verdict }} | {{ one.claims }} | {{ one.meaning }} |
{% endfor %}
{% for one in sections if one.origin == "paper" %}

## {{ one.name }}: {{ one.title }}

{% if one.done %}
![{{ one.title }}]({{ one.name }}.png)

{% endif %}
{% if one.problem %}
**{{ one.problem }}:** {{ one.outcome.reason }}

{% endif %}
{% if one.facts %}
{{ one.facts }}

{% endif %}
{% if one.done %}
Data: {% for name in one.outcome.tables %}[{{ name }}.csv]({{ name }}.csv){{ ", " if not loop.last }}{% endfor %}


{% endif %}
| claim | printed | measured | verdict | method and remarks |
| --- | --- | --- | --- | --- |
{% for row in one.claims %}
{% set claim = row.judged.claim %}
| {{ claim.statement|cell }} ({{ claim.source|cell }}) | {{ claim.expectation }} | {{ row.judged.value }} | {{ row.judged.in_words|cell }} | {{ row.remark|cell }} |
{% endfor %}
{% endfor %}
""",  # noqa: E501, a row of a table
)


def gathered(made: Reproduction) -> dict[str, Any]:
    """The verdicts on the paper's claims as plain data: how each figure was made, and the verdict on each claim."""
    papers = {figure.name for figure in selected() if figure.origin == PAPER}
    return {
        "figures": {
            one.name: {"settings": one.settings, "command": one.command, "version": one.version}
            for one in made.outcomes
            if one.name in papers
        },
        "claims": {
            judged.claim.id: {
                "figure": judged.claim.figure,
                "value": _plain(judged.measured.value if judged.measured else math.nan),
                "error": _plain(judged.measured.error if judged.measured else math.nan),
                "verdict": judged.verdict,
                "note": judged.note,
            }
            for judged in made.judged
        },
    }


def _plain(number: float) -> float | None:
    """A number for JSON, with the digits on which platforms agree."""
    return float(f"{number:.10g}") if math.isfinite(number) else None


def publish(kept: str | Path, run: str | Path | None = None, *, verdicts: Path = HERE / FULL_SIZE_FILE) -> Reproduction:
    """Copy the finished figures of a run of the `paper` preset, then write the report and the verdicts."""
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
    write_file(kept / "report.md", MARKDOWN.render(content(made)))
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", help="folder of a run of the paper preset")
    parser.add_argument("kept", help="folder of the published tables, which exists")
    folders = parser.parse_args()
    publish(folders.kept, folders.run)
