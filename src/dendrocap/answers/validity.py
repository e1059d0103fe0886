"""Validity of a capacity: one flag for each assumption of the theory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dendrocap.model import NeuronSpec

LIGHTS = GOOD, CAUTION, BAD = "good", "caution", "bad"  # from the best to the worst


@dataclass(frozen=True)
class Flag:
    """One assumption of an estimate, and whether it holds.

    Attributes
    ----------
    light : {"good", "caution", "bad"}
        Whether the assumption holds, is doubtful, or fails.
    words : str
        The assumption and the actual situation.
    """

    light: str
    words: str

    def __str__(self) -> str:
        return f"{self.light}: {self.words}"


def worst_flags(points: Sequence[Mapping[str, Flag]]) -> dict[str, tuple[Flag, int]]:
    """The worst flag of several answers for each assumption, and how many of them have this light.

    Examples
    --------
    >>> short, long = Flag("bad", "3 synapses per branch"), Flag("good", "100 synapses per branch")
    >>> worst_flags([{"branch size": long}, {"branch size": short}, {"branch size": long}])
    {'branch size': (Flag(light='bad', words='3 synapses per branch'), 1)}
    """
    found = {}
    for name in dict.fromkeys(name for point in points for name in point):
        flags = [point[name] for point in points if name in point]
        worst = max(flags, key=lambda flag: LIGHTS.index(flag.light))
        found[name] = (worst, sum(flag.light == worst.light for flag in flags))
    return found


def branch_size_flag(n: float, inhibited: bool = False) -> Flag:
    """Are branches long enough for a mean-field theory of their synapses?"""
    if math.isinf(n):
        way_out = "with inhibition theory has no others" if inhibited else "give n_inputs and n_branches"
        return Flag(CAUTION, f"branches of infinite length: real ones are short, {way_out}")
    light = GOOD if n >= 30 else CAUTION if n >= 10 else BAD
    return Flag(light, f"{n:.4g} synapses per branch; corrections of order 1/n are not included")


def active_inputs_flag(n: float, f_in: float, skewness: float) -> Flag:
    """Is the summed input of a branch Gaussian?"""
    if math.isinf(n):
        return Flag(GOOD, "infinitely many active inputs per branch")
    active = n * f_in
    light = BAD if active < 3 or skewness > 0.8 else CAUTION if active < 10 or skewness > 0.3 else GOOD
    return Flag(
        light, f"{active:.3g} active inputs per branch, skewness {skewness:.2g}; Gaussian from 10 and up to 0.3"
    )


def n_branches_flag(n_branches: int | None, computed: bool, quick: bool = False) -> Flag:
    """Is the number of branches accounted for?"""
    if n_branches is None:
        return Flag(CAUTION, "infinitely many branches: the capacity of saturating branches grows with their number")
    if quick and not computed:
        return Flag(CAUTION, f"{n_branches} branches, taken as infinitely many by this quick look")
    if not computed:
        return Flag(CAUTION, f"{n_branches} branches, taken as infinitely many: no finite-K correction here")
    light = GOOD if n_branches >= 10 else CAUTION if n_branches >= 4 else BAD
    return Flag(light, f"{n_branches} branches; the non-Gaussian soma is included to first order")


def theta_s_flag(neuron: NeuronSpec) -> Flag:
    """Is theta_s well inside the range of g?"""
    worst, words = math.inf, ""
    kinds = [(kind.nonlinearity, neuron.theta_s) for kind in neuron.populations]
    for g, theta in kinds or [((neuron.levels or (neuron,))[-1].nonlinearity, neuron.theta_s)]:
        low, high = g.range
        inside = min(theta - low, high - theta) / (high - low) if math.isfinite(low + high) else theta - low
        if inside < worst:
            worst, words = inside, f"theta_s = {theta:g} in the range ({low:g}, {high:g}) of g"
    return Flag(GOOD if worst > 0.01 else CAUTION if worst > 0.0 else BAD, words)


def replica_symmetry_flag(symmetric: float | None, broken: float) -> Flag:
    """How far is the paper's replica-symmetric value from the broken one?"""
    if symmetric is None:
        return Flag(BAD, "replica symmetry has no solution here; the estimate has broken symmetry")
    gap = symmetric / broken - 1.0
    if gap >= 0.1:
        return Flag(BAD, f"the replica-symmetric capacity is {1.0 + gap:.1f} times the one with broken symmetry")
    light = GOOD if gap < 0.01 else CAUTION
    per_cent = float(f"{100.0 * gap:.1g}")  # one digit, but 10 rather than 1e+01
    return Flag(light, f"the replica-symmetric capacity is {per_cent:g} % above the one with broken symmetry")


def branch_symmetry_flag(stable: bool | None, optimised: bool, kappa_c: float | None, prescribed: bool) -> Flag:
    """Do like branches stay alike?"""
    if prescribed:
        return Flag(CAUTION, "mean outputs are held as prescribed: unequal splits within a population may exceed this")
    if stable is None:
        return Flag(CAUTION, "equal branches are assumed; whether others store more was not looked at")
    if stable:
        return Flag(GOOD, "equal branches are the best")
    if optimised:
        return Flag(GOOD, "equal branches are not the best; the best split into on and off branches is used")
    margin = f" below a margin of {kappa_c:.3g}" if kappa_c else ""
    return Flag(
        BAD,
        f"equal branches are not the best{margin}: branches that are mostly on or mostly off exceed this value, by "
        "more the more branches there are",
    )
