"""Neurons from reconstructions: branches by type, with their number, length and synapses."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from dendrocap.answers import Capacity, capacity
from dendrocap.display import Displayed, with_digits
from dendrocap.errors import CorruptData, InvalidParameter, MissingExtra
from dendrocap.model import Branches, DendriticNeuron, NeuronSpec, Nonlinearity, Polsky, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.validation import choice, real_number, refuse

__all__ = ["BranchGroup", "GroupShare", "ReconstructedNeuron", "cell_from_morphology", "group_shares"]


BASAL, TRUNK, OBLIQUE, TUFT = GROUPS = ("basal", "apical trunk", "apical oblique", "apical tuft")
FORMATS = (".swc", ".asc", ".h5")
# The apical trunk ends where the smaller of two daughters has at least this share of the dendrite beyond the fork.
MAIN_FORK = 0.25
COLOURS_OF_A_TERMINAL = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class BranchGroup(Displayed):
    """Branches of one type in a reconstruction."""

    _displayed = ("name", "n_branches", "length_um", "n_synapses", "theta_d", "f_in")

    name: str  # "basal", "apical trunk", "apical oblique" or "apical tuft"
    n_branches: int
    length_um: float  # of all branches
    n_synapses: int  # of all branches
    nonlinearity: Nonlinearity
    theta_d: float
    f_in: float | None  # None means that of the task


@dataclass(frozen=True)
class ReconstructedNeuron(DendriticNeuron):
    """A neuron with the branches of a reconstruction; `capacity` accepts it like any other."""

    groups: tuple[BranchGroup, ...] = ()  # its branches by type
    source: str = ""  # name of the file
    remarks: tuple[str, ...] = ()  # warnings of the file reader; nothing was repaired
    # For drawing: the group and the points of each section, in micrometres; the soma is a single point.
    outlines: tuple[tuple[str, Floats], ...] = field(default=(), repr=False, compare=False)

    @property
    def length_um(self) -> float:
        """Total length of its dendrites."""
        return math.fsum(group.length_um for group in self.groups)

    @property
    def summary(self) -> str:
        """Size of the cell in one line."""
        return (
            f"{self.source}: {self.n_branches} branches, {self.length_um / 1000.0:.3g} mm of dendrite, "
            f"{self.n_inputs:,} synapses"
        )

    def as_row(self, whole: Capacity, shares: Sequence[GroupShare]) -> dict[str, Any]:
        """All numbers of the cell and of its capacity as a flat mapping for JSON."""
        size = {"n_branches": self.n_branches, "length_um": self.length_um, "n_inputs": self.n_inputs}
        groups = [share.as_row() for share in shares]
        return {"source": self.source, **size, "remarks": list(self.remarks), "groups": groups, **whole.as_row()}

    def with_thresholds(self, theta_d: float, theta_s: float) -> ReconstructedNeuron:
        """The same cell with other thresholds; the dendritic one applies to all groups."""
        return self._of(tuple(replace(group, theta_d=theta_d) for group in self.groups), theta_s)

    def without(self, name: str) -> ReconstructedNeuron:
        """The same cell without a group of branches."""
        choice("name", name, [group.name for group in self.groups])
        left = tuple(group for group in self.groups if group.name != name)
        if not left:
            raise refuse("name", name, "one of several groups: a cell cannot lose its only group")
        return self._of(left, self.spec.theta_s)

    def _of(self, groups: tuple[BranchGroup, ...], theta_s: float) -> ReconstructedNeuron:
        """A cell with these groups of branches."""
        n_inputs, n_branches = (sum(getattr(one, name) for one in groups) for name in ("n_synapses", "n_branches"))
        spec = _spec(groups, theta_s)
        return replace(self, spec=spec, n_inputs=n_inputs, n_branches=n_branches, groups=groups)


@dataclass(frozen=True)
class GroupShare(Displayed):
    """Contribution of a group of branches to a cell."""

    group: BranchGroup
    silent_fraction: float  # of its synapses at capacity
    without: Capacity | None  # capacity of the cell without this group; None if it is the only group

    def as_row(self) -> dict[str, Any]:
        """Its numbers for JSON."""
        row = {name: getattr(self.group, name) for name in BranchGroup._displayed}
        without = None if self.without is None else self.without.n_patterns
        return {**row, "silent_fraction": self.silent_fraction, "n_patterns_without": without}

    def as_line(self, whole: Capacity) -> dict[str, str]:
        """Its line in a table of the groups of a cell."""
        group, left, adds = self.group, "", ""
        if self.without is not None:
            stored, kept = whole.n_patterns or 0, self.without.n_patterns or 0
            left, adds = with_digits(float(kept), 2), with_digits(float(stored - kept), 2)
        return {
            "branches": group.name,
            "number": str(group.n_branches),
            "um": f"{group.length_um:,.0f}",
            "synapses": f"{group.n_synapses:,}",
            "silent": f"{100.0 * self.silent_fraction:.0f} %",
            "without": left,
            "adds": adds,
        }


def cell_from_morphology(
    path: str | Path,
    *,
    synapses_per_um: float = 1.0,
    branches: str = "sections",
    nonlinearity: Nonlinearity | None = None,
    theta_d: float = 0.05,
    theta_s: float = 0.5,
    f_in: float | None = None,
    kinds: Mapping[str, Mapping[str, Any]] | None = None,
) -> ReconstructedNeuron:
    """A neuron from a reconstructed morphology: its dendrites become groups of branches, by type.

    Parameters
    ----------
    path : path
        SWC, Neurolucida ASC or H5, read by MorphIO (extra ``morphology``).
    synapses_per_um : float
        Excitatory synapses per micrometre of dendrite.
    branches : {"sections", "terminal"}
        What counts as a branch: every section between two forks, or only terminal sections.
    nonlinearity, theta_d, f_in
        Properties of all branches; by default Polsky() and the coding level of the task.
    theta_s : float
        Somatic threshold.
    kinds : mapping, optional
        Properties that differ by type: ``{"apical tuft": {"theta_d": 0.1, "synapses_per_um": 0.5}}``. Keys of the inner
        mappings are nonlinearity, theta_d, f_in and synapses_per_um.

    Returns
    -------
    ReconstructedNeuron
        A neuron that `capacity` accepts.

    Raises
    ------
    CorruptData
        If the file cannot be read or contains no dendrites. Nothing is repaired.

    Notes
    -----
    Types are those of the file, basal and apical. The apical trunk is followed from the soma along the larger daughter
    of each fork; dendrites that leave it are oblique. It ends where the smaller daughter has a quarter of the dendrite
    beyond the fork; everything beyond is tuft. All branches of a group are assumed to have the same length.

    Examples
    --------
    >>> from dendrocap import capacity
    >>> from dendrocap.datasets import example_cell
    >>> cell = cell_from_morphology(example_cell(), synapses_per_um=2.0, kinds={"basal": {"theta_d": 0.1}})
    >>> cell.n_branches, cell.n_inputs, cell.groups[0].theta_d
    (5, 1231, 0.1)
    >>> capacity(cell, accuracy="fast").n_patterns > 1000
    True
    """
    choice("branches", branches, ("sections", "terminal"))
    usual = {
        "nonlinearity": Polsky() if nonlinearity is None else nonlinearity,
        "theta_d": theta_d,
        "f_in": f_in,
        "synapses_per_um": synapses_per_um,
    }
    special = kinds or {}
    for name, own in special.items():
        choice("kind", name, GROUPS)
        for key in own:
            choice(f"kinds[{name!r}]", key, tuple(usual))
    source = Path(path)
    sections, soma, remarks = _read(source)
    outlines = (("soma", soma[None, :]), *((name, points) for name, points, _ in sections))
    groups = []
    for name in GROUPS:
        lengths = [
            _length(points) for kind, points, ends in sections if kind == name and (ends or branches != "terminal")
        ]
        if not lengths:
            continue
        own = {**usual, **special.get(name, {})}
        density = real_number("synapses_per_um", own.pop("synapses_per_um"), 0.0, low_open=True)
        length = math.fsum(lengths)
        n_synapses = round(density * length)
        if n_synapses < len(lengths):
            raise InvalidParameter(
                f"synapses_per_um = {density:g} is not allowed: the {len(lengths)} branches of the group {name!r}, "
                f"{length:.0f} um long, would have {n_synapses} synapses; each needs at least one"
            )
        groups.append(BranchGroup(name, len(lengths), length, n_synapses, **own))
    missing = set(special) - {group.name for group in groups}
    if missing:
        raise InvalidParameter(f"{source.name} has no branches of kind {', '.join(sorted(missing))}, named in kinds")
    n_inputs, n_branches = (sum(getattr(one, name) for one in groups) for name in ("n_synapses", "n_branches"))
    spec = _spec(tuple(groups), theta_s)
    return ReconstructedNeuron(spec, n_inputs, n_branches, 1, tuple(groups), source.name, remarks, outlines)


def group_shares(
    cell: ReconstructedNeuron,
    task: TaskSpec | None = None,
    *,
    accuracy: str = "fast",
    seed: int = 0,
    callback: Callable[[], object] | None = None,
) -> tuple[Capacity, list[GroupShare]]:
    """Capacity of a cell, and the contribution of each group: the capacity without it, and its silent synapses.

    ``callback`` is called after each capacity.

    Examples
    --------
    >>> from dendrocap.datasets import example_cell
    >>> cell = cell_from_morphology(example_cell(), synapses_per_um=2.0)
    >>> whole, shares = group_shares(cell)
    >>> [share.group.name for share in shares if share.without.n_patterns < whole.n_patterns]
    ['basal', 'apical trunk', 'apical tuft']
    """
    whole = capacity(cell, task, accuracy=accuracy, seed=seed)
    silent = [kind.silent_fraction for kind in whole.populations]
    if len(silent) != len(cell.groups):  # equal branches, possibly split into on and off branches
        silent = [whole.silent_fraction] * len(cell.groups)
    tell = callback or (lambda: None)
    tell()
    shares = []
    for group, fraction in zip(cell.groups, silent, strict=True):
        without = None
        if len(cell.groups) > 1:
            without = capacity(cell.without(group.name), task, accuracy=accuracy, seed=seed)
            tell()
        shares.append(GroupShare(group, fraction, without))
    return whole, shares


def _spec(groups: tuple[BranchGroup, ...], theta_s: float) -> NeuronSpec:
    """The populations of these groups; the branches of a single group may split into on and off."""
    first, K = groups[0], sum(group.n_branches for group in groups)
    if len(groups) == 1 and first.f_in is None:
        return NeuronSpec(first.nonlinearity, first.theta_d, theta_s)
    kinds = tuple(
        Branches(one.nonlinearity, one.theta_d, one.n_branches / K, one.n_synapses / one.n_branches, one.f_in)
        for one in groups
    )
    return NeuronSpec(theta_s=theta_s, populations=kinds)


def _read(path: Path) -> tuple[list[tuple[str, Floats, bool]], Floats, tuple[str, ...]]:
    """Dendritic sections of a file (group, points, whether terminal), the soma, and warnings of the reader."""
    if path.suffix.lower() not in FORMATS:
        raise refuse("path", str(path), f"a reconstruction file: {', '.join(FORMATS)}")
    if not path.is_file():
        raise CorruptData(f"there is no file {path}")
    try:
        import morphio
    except ImportError:
        raise MissingExtra("reconstructions need MorphIO: run pip install '.[morphology]' in the clone") from None
    collected = morphio.WarningHandlerCollector()
    try:
        morphology = morphio.Morphology(str(path), warning_handler=collected)
    except (morphio.MorphioError, RuntimeError, ValueError, OSError) as error:
        raise CorruptData(f"{path.name}: {_in_words(str(error))}") from None
    remarks = tuple(_plain(str(emission.warning.msg())) for emission in collected.get_all())
    apical = morphio.SectionType.apical_dendrite
    sections: list[tuple[str, Floats, bool]] = []
    for root in morphology.root_sections:
        if root.type == morphio.SectionType.basal_dendrite:
            sections += [_section(BASAL, one) for one in root.iter()]
        elif root.type == apical:
            sections += _apical(root)
    if not sections:
        kinds = ", ".join(sorted({one.type.name for one in morphology.sections})) or "nothing"
        raise CorruptData(
            f"{path.name} contains no dendrites, only {kinds}: in SWC, basal dendrites have type 3, apical ones type 4"
        )
    for _, points, _ in sections:
        if not np.all(np.isfinite(points)):
            raise CorruptData(f"{path.name}: a point of a dendrite is not finite; correct the file")
    if math.fsum(_length(points) for _, points, _ in sections) == 0.0:
        raise CorruptData(f"{path.name}: the dendrites have no length; correct the file")
    return sections, np.array(morphology.soma.center, dtype=np.float64), remarks


def _apical(root: Any) -> list[tuple[str, Floats, bool]]:
    """An apical tree, divided into trunk, obliques and tuft."""
    beyond = {one.id: 0.0 for one in root.iter()}
    for one in reversed(list(root.iter())):  # parents come before their daughters
        beyond[one.id] = _length(np.asarray(one.points)) + sum(beyond[child.id] for child in one.children)
    found = []
    here = root
    while True:
        found.append(_section(TRUNK, here))
        daughters = sorted(here.children, key=lambda child: beyond[child.id], reverse=True)
        if len(daughters) < 2:
            if not daughters:
                return found
            here = daughters[0]
            continue
        total = sum(beyond[child.id] for child in daughters)
        if beyond[daughters[1].id] >= MAIN_FORK * total:
            return found + [_section(TUFT, one) for child in daughters for one in child.iter()]
        found += [_section(OBLIQUE, one) for child in daughters[1:] for one in child.iter()]
        here = daughters[0]


def _section(group: str, section: Any) -> tuple[str, Floats, bool]:
    return group, np.array(section.points, dtype=np.float64), not section.children


def _length(points: Floats) -> float:
    return float(np.sum(np.linalg.norm(np.diff(points, axis=0), axis=1)))


def _plain(text: str) -> str:
    return " ".join(COLOURS_OF_A_TERMINAL.sub("", text).split())


def _in_words(text: str) -> str:
    """An error message of MorphIO, with a way out if there is one."""
    plain = _plain(text)
    line = re.search(r":(\d+):error", plain)
    where = f"line {line.group(1)}: " if line else ""
    if "soma bifurcation" in plain:
        return (
            f"{where}the soma consists of points that fork; it must be a point, three points or a contour; replace it "
            "by a single point of type 1 with the dendrites attached to it. Nothing was repaired"
        )
    reason = re.sub(r"\S*/\S+:\d+:(error|warning)", "", plain).strip() or "the file cannot be read"
    return f"{where}{shorten(reason, 160, placeholder='…')}; correct the file: nothing was repaired"
