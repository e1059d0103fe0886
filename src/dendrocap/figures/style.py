"""The common style of all figures: palette, labels, line code, sizes, and how figures are created and saved."""

from __future__ import annotations

import io
import logging
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from dendrocap.files import write_file
from dendrocap.model import Custom, Nonlinearity
from dendrocap.model.flat import FACTS, KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dendrocap.answers import Flag

__all__ = [
    "AXIS_LABELS",
    "COLUMN_WIDTH",
    "FONT_SIZE",
    "LABELS",
    "MANY_STEPS",
    "ONE_STEP",
    "PALETTE",
    "PAPER_LABEL",
    "SYMMETRIC",
    "UNSTABLE",
    "behind",
    "drawing",
    "drawing_axes",
    "footnote",
    "house_style",
    "member_name",
    "plain_ticks",
    "save",
    "validity_footer",
]

# Colours by Okabe and Ito and by Tol, distinguishable with any colour vision; one per non-linearity, the same in all
# figures. Additional colours must pass tests/figures/test_palette.py.
_NONLINEARITIES: list[type[Nonlinearity]] = [*KINDS, Custom]
PALETTE = {kind.name: kind.colour for kind in _NONLINEARITIES}
LABELS = {kind.name: kind.label for kind in _NONLINEARITIES}

AXIS_LABELS = {name: known.axis_label for name, known in FACTS.items()} | {
    "alpha_c": r"critical capacity $\alpha_c = P_c / N$",
    "silent_fraction": r"silent fraction $p_0$ at capacity",
    "branch_output": r"branch output $g(x)$",
    "epsp_mv": "EPSP amplitude (mV)",
    "density_mv": "density (1 / mV)",
    "error": "training error",
    "error_percent": "training error (%)",
    "flip_probability": r"flip probability $\rho$",
    "noise_amplitude": r"amplitude of synaptic noise $\sigma$",
}
SYMBOLS = {name: label[label.index("$") :] for name, label in AXIS_LABELS.items() if "$" in label}

# The line code of the theory: solid is replica symmetric, dashed has broken symmetry, dash-dot marks where replica
# symmetry becomes unstable; learned results have markers. More steps of breaking have shorter dashes.
SYMMETRIC: dict[str, Any] = {"ls": "-", "label": "replica symmetric"}
ONE_STEP: dict[str, Any] = {"ls": "--", "label": "broken symmetry k = 1"}
MANY_STEPS: dict[str, Any] = {"ls": (0.0, (2.0, 1.0)), "label": "broken symmetry full"}
UNSTABLE: dict[str, Any] = {"ls": "-.", "label": "replica symmetry becomes unstable"}
PAPER_LABEL = "replica symmetric (the paper's estimate)"

# Marks of the validity lights: colours distinguishable with any colour vision, and different shapes.
LIGHT_MARKS = {"good": ("o", "#009E73"), "caution": ("^", "#E69F00"), "bad": ("X", "#D55E00")}
FONT_SIZE = 8.0  # points, for all text: legible at the width of one column
LETTER = 0.063  # inches, the mean width of a letter of this size
COLUMN_WIDTH = 3.4  # inches, one column of a two-column page


def member_name(family: Sequence[str], member: Sequence[Any]) -> str:
    """The name of a member of a family of lines, from the values of its parameters."""
    return ", ".join(f"{SYMBOLS[key]} = {value:g}" for key, value in zip(family, member, strict=True))


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib settings in force while a figure is drawn."""
    import matplotlib as mpl

    settings: dict[Any, Any] = {
        "font.size": FONT_SIZE,
        "axes.labelsize": FONT_SIZE,
        "axes.titlesize": FONT_SIZE,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "legend.fontsize": FONT_SIZE,
        "lines.linewidth": 1.5,
        "pdf.fonttype": 42,  # text remains text in PDF and SVG
        "svg.fonttype": "none",
        "figure.labelsize": FONT_SIZE,
        "figure.titlesize": FONT_SIZE,
        "legend.title_fontsize": FONT_SIZE,
        "svg.hashsalt": "dendrocap",  # the same figure gives the same file
    }
    with mpl.rc_context(settings):
        yield


@contextmanager
def drawing(columns: float, height: float, given: Figure | None = None) -> Iterator[Figure]:
    """The given figure, or a new one of this width in columns and height in inches, drawn in the common style."""
    from matplotlib.figure import Figure

    with house_style():
        yield Figure(figsize=(columns * COLUMN_WIDTH, height), layout="constrained") if given is None else given


@contextmanager
def drawing_axes(columns: float, height: float, given: Axes | None = None) -> Iterator[tuple[Figure, Any]]:
    """As `drawing`, with one pair of axes: a figure and its axes."""
    with drawing(columns, height, None if given is None else cast("Figure", given.figure)) as figure:
        yield figure, figure.subplots() if given is None else given


def behind(axes: Axes, x: Any, densities: Sequence[tuple[str, Any, Mapping[str, Any]]], room: float = 1.6) -> None:
    """Draw densities, each with its name and look, behind curves, on their own axes and with a common legend."""
    drive = axes.twinx()
    for label, density, look in densities:
        drive.fill_between(x, density, lw=0.0, label=label, **look)
    if densities:
        drive.set_ylim(0.0, room * max(float(density.max()) for _, density, _ in densities))
    drive.set_yticks([])
    drive.spines["left"].set_visible(False)
    axes.set_zorder(drive.get_zorder() + 1)
    axes.patch.set_visible(False)
    handles, names = axes.get_legend_handles_labels()
    more, others = drive.get_legend_handles_labels()
    axes.legend([*handles, *more], [*names, *others], loc="upper left")


def plain_ticks(axis: Any) -> None:
    """Label a logarithmic axis with 1, 2, 5, 10, ... instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def footnote(figure: Figure, text: str) -> None:
    """Add small text below a figure that is not drawn yet: its assumptions, or the size of its simulations."""
    lines = textwrap.wrap(text, int(figure.get_figwidth() / LETTER) - 2)
    figure.supxlabel("\n".join(lines), fontsize=FONT_SIZE, x=0.01, ha="left", color="0.35")


def validity_footer(figure: Figure, validities: Sequence[Mapping[str, Flag]]) -> None:
    """Add validity lights below a figure: those of one answer, or the worst of several, with mark and word.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from dendrocap.answers import Flag
    >>> figure = Figure(layout="constrained")
    >>> validity_footer(figure, [{"branch size": Flag("bad", "3 synapses per branch")}])
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['branch size: bad']
    """
    from matplotlib.lines import Line2D

    from dendrocap.answers.validity import worst_flags

    marks = []
    for name, (flag, count) in worst_flags(validities).items():
        shape, colour = LIGHT_MARKS[flag.light]
        where = f" at {count} of {len(validities)} points" if count < len(validities) else ""
        label = f"{name}: {flag.light}{where}".replace("theta_s", r"$\theta_s$")
        marks.append(Line2D([], [], marker=shape, color=colour, ls="none", ms=5.0, label=label))
    sizes = [0.22 + LETTER * len(str(mark.get_label())) for mark in marks]

    def width(columns: int) -> float:  # legends are filled column by column
        rows = math.ceil(len(sizes) / columns)
        return sum(max(sizes[at : at + rows]) for at in range(0, len(sizes), rows))

    columns = next((n for n in range(len(marks), 1, -1) if width(n) <= figure.get_figwidth()), 1)
    legend = figure.legend(handles=marks, loc="outside lower left", ncols=columns, handletextpad=0.1, columnspacing=1.2)
    legend.set_gid("validity")


def save(figure: Figure, target: Path | IO[bytes], suffix: str | None = None) -> None:
    """Write a figure at 150 dpi, in the format given by the suffix of the file or, for a stream, by ``suffix``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dendrocap import ReLU, plot
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot.save(plot.nonlinearity(ReLU()), Path(folder, "relu.svg"))
    ...     Path(folder, "relu.svg").stat().st_size > 1000
    True
    """
    # Fonts embedded in a PDF file have dates that trigger a warning of their own library.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    content = io.BytesIO()
    with house_style():
        figure.savefig(content, dpi=150, format=suffix or Path(str(target)).suffix[1:])
    if isinstance(target, Path):
        write_file(target, content.getvalue())
    else:
        target.write(content.getvalue())
