"""Units in the headers of laboratory files, and their conversion to millivolts.

A unit that is not a voltage is recognised, so that the error can name it. A current needs a conversion factor from the
user, because the input resistance is not in the file.
"""

from __future__ import annotations

import re

from dendrocap.errors import InvalidParameter

__all__ = ["is_electrical", "is_unit", "mv_per_unit", "stated_unit"]

# Millivolts per unit and picoamperes per unit. The micro sign has two code points besides the letter u.
VOLTAGES = {"V": 1e3, "mV": 1.0, "uV": 1e-3, "nV": 1e-6, "volt": 1e3, "millivolt": 1.0, "microvolt": 1e-3}
CURRENTS = {"fA": 1e-3, "pA": 1.0, "nA": 1e3, "uA": 1e6, "picoampere": 1.0, "nanoampere": 1e3}
OTHERS = frozenset((
    "s", "sec", "ms", "us", "min", "h", "Hz", "kHz", "m", "mm", "um", "nm", "A", "mA", "Ohm", "kOhm", "MOhm", "GOhm",
    "Ω", "kΩ", "MΩ", "GΩ", "S", "mS", "uS", "nS", "pS", "F", "uF", "nF", "pF", "C", "pC", "fC", "M", "mM", "uM", "nM",
    "mol", "K", "°C", "W", "J", "%", "a.u.", "au", "arb.", "arb", "norm.", "norm", "normalised", "normalized", "dB",
    "fold",
))  # fmt: skip
# Words in brackets that describe the quantity of a column, not its unit.
REMARKS = frozenset((
    "mean", "average", "avg", "median", "peak", "max", "min", "sem", "se", "sd", "std", "n", "control", "ctrl", "soma",
    "somatic", "dendrite", "dendritic", "local", "basal", "apical", "expected", "measured", "observed", "recorded",
    "linear", "sum", "arithmetic", "input", "output", "x", "y", "g",
))  # fmt: skip
BRACKETS = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
LAST_WORD = re.compile(r"((?:[\s_,/]|\bin\s)+)([^\s_,/()\[\]{}]+)\s*$")


def stated_unit(header: str) -> str:
    """The unit that a header states, as in ``EPSP (mV)``, ``epsp_uV`` or ``EPSP / mV``; empty if it states none.

    Text in brackets is a unit, even an unknown one, unless it is a word such as ``mean``. Without brackets, only a
    known unit of at least two letters counts, and V after ``_`` or ``/``: ``cell_m`` is a name, and in ``EPSP V`` the V
    may denote a layer, so that header is refused later.

    Examples
    --------
    >>> [stated_unit(header) for header in ("EPSP (µV)", "epsp_mV", "EPSC [pA]", "EPSP (mean)", "slope (mV/ms)")]
    ['uV', 'mV', 'pA', '', 'mV/ms']
    """
    inside = [_spelled(part) for part in BRACKETS.findall(header)]
    units = [part for part in inside if part and part.lower().strip(".") not in REMARKS]
    if units:
        known = [unit for unit in dict.fromkeys(units) if is_unit(unit)]
        return known[0] if len(known) == 1 else " ".join(units)
    last = LAST_WORD.search(BRACKETS.sub("", header))
    if last is None:
        return ""
    unit = _spelled(last.group(2))
    if unit == "V":  # volts, or layer five
        return unit if last.group(1).strip(" ") in ("_", "/") else "V?"
    if unit.lower() in ("mv", "uv", "nv"):  # also in capitals, so that the error can name it
        return unit
    return unit if len(unit) > 1 and is_unit(unit) and unit.lower() not in REMARKS else ""


def is_unit(text: str) -> bool:
    """Whether a text is a known unit of any kind, with or without brackets."""
    return is_electrical(text) or _spelled(text.strip("()[]{} ")) in OTHERS


def is_electrical(text: str) -> bool:
    """Whether a text is a unit of voltage or current."""
    unit = _spelled(text.strip("()[]{} "))
    return unit in VOLTAGES or unit in CURRENTS


def mv_per_unit(unit: str, mv_per_pa: float | None = None) -> float:
    """Millivolts per unit; an empty unit means millivolts.

    Parameters
    ----------
    unit : str
        As returned by `stated_unit`.
    mv_per_pa : float, optional
        Millivolts per picoampere, for currents; negative if inward currents are recorded as negative.

    Raises
    ------
    InvalidParameter
        If the unit is unknown, is not a voltage, or is a current without a conversion factor.

    Examples
    --------
    >>> mv_per_unit("uV"), mv_per_unit(""), mv_per_unit("nA", mv_per_pa=0.05)
    (0.001, 1.0, 50.0)
    """
    unit = _spelled(unit.strip("()[]{} "))
    if not unit:
        return 1.0
    if unit in VOLTAGES:
        return VOLTAGES[unit]
    if unit in CURRENTS:
        if mv_per_pa is None:
            raise InvalidParameter(
                f"the unit {unit!r} is a current, not a voltage: give the millivolts per pA with --mv-per-pa"
            )
        return CURRENTS[unit] * mv_per_pa
    if unit in OTHERS:
        raise InvalidParameter(f"the unit {unit!r} is not a voltage; choose another column, or convert it to mV")
    if unit == "V?":
        raise InvalidParameter("the final V may be a unit or a layer; write the unit in brackets, as in EPSP (V)")
    near = next((known for known in VOLTAGES if known.lower() == unit.lower()), "")
    hint = f"did you mean {near}?" if near else "use V, mV or uV, or a current in pA or nA with --mv-per-pa"
    raise InvalidParameter(f"the unit {unit!r} is unknown; {hint}")


def _spelled(text: str) -> str:
    """A unit in the spelling of the tables: u for micro, singular, names in lower case."""
    unit = text.strip().replace("µ", "u").replace("μ", "u").replace("Ω", "Ω").replace(" ", "")
    name = unit.lower().rstrip("s")
    if len(name) > 2 and (name in VOLTAGES or name in CURRENTS):
        return name
    # A final lower-case v or a is a typing error; a capital M does not mean milli.
    if len(unit) == 2 and unit[0] in "munpf" and unit[1] in "va" and unit != "ma":
        return unit[0] + unit[1].upper()
    return "V" if unit == "v" else unit
