"""Files that laboratories and accidents make: each is read rightly or refused in one helpful line."""

import contextlib
import random
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dendrocap import DendrocapError
from dendrocap.cli import app
from dendrocap.datasets.lab_files import parse_table

# Content, and words that must be in the refusal.
HOSTILE = {
    "empty": (b"", "no data"),
    "blank lines": (b"\n\n \n", "no data"),
    "comments only": (b"# a\n% b\n", "no data"),
    "header only": (b"epsp (mV)\n", "no numbers"),
    "current": (b"EPSC (pA)\n5\n7\n", "'pA' is not a voltage"),
    "current by name": (b"epsc_nA\n5\n7\n", "'nA' is not a voltage"),
    "charge": (b"charge (pC)\n5\n7\n", "not a voltage"),
    "megavolts": (b"EPSP (MV)\n5\n7\n", "did you mean mV"),
    "V or V": (b"EPSP V\n5\n7\n", "write V, mV or uV in brackets"),
    "slope": (b"slope (mV/ms)\n5\n7\n", "'mV/ms' is unknown"),
    "unknown unit": (b"EPSP (furlong)\n5\n7\n", "'furlong' is unknown"),
    "unit of another row": (b"epsp;unit\n5;mV\n7;pA\n", "states several units"),
    "unit in a cell": (b"epsp;cell\n0.5;a\n0.7 mV;b\n", "line 3: '0.7 mV'"),
    "percent": (b"EPSP (%)\n5\n7\n", "'%' is not a voltage"),
    "decimal comma, commas": (b"epsp\n0,45\n0,5\n", "decimal comma"),
    "both marks": (b"epsp;cell\n0,45;a\n0.5;b\n", "line 2: '0,45'"),
    "thousands": (b"epsp;cell\n1.234,5;a\n2,5;b\n", "has thousands separators"),
    "blank cell": (b"epsp;cell\n0.5;a\n;b\n0.7;c\n", "line 3: '' in column 'epsp'"),
    "nan": (b"epsp\n0.5\nnan\n0.7\n", "--missing drop"),
    "infinity": (b"epsp\n0.5\ninf\n0.7\n", "line 3: 'inf'"),
    "word": (b"epsp\n0.5\nlost\n0.7\n", "line 3: 'lost'"),
    "bound": (b"epsp\n0.5\n<0.1\n0.7\n", "'<0.1' is a bound"),
    "zero": (b"epsp\n0.5\n0\n0.7\n", "--zeros failures"),
    "negative": (b"epsp\n0.5\n-0.7\n0.9\n", "line 3: an amplitude of -0.7"),
    "footnote": (b"epsp,cell\n0.5,a\n0.7,b\nmeasured at 35 C in 2004 by somebody, in the dark, alone\n", "line 4"),
    "ragged": (b"epsp,cell\n0.5,a,b\n", "3 values instead of 2"),
    "same numbers": (b"epsp\n0.5\n0.5\n0.5\n", "at least two different"),
    "one number": (b"epsp\n0.5\n", "at least two different"),
    "two columns": (b"first,second\n1,2\n3,4\n", "choose a column"),
    "damaged Excel": (b"PK\x03\x04" + bytes(64), "Excel"),
    "binary": (bytes(range(256)), "not text"),
    "old Excel": (b"\xd0\xcf\x11\xe0" + bytes(64), "not text; save the table as CSV"),
    "UTF-16 without its mark": ("epsp\n0.5\n".encode("utf-16-le"), "not text"),
    "underscore": (b"epsp\n0.5\n1_000\n", "line 3: '1_000' is not a number"),
    "short row": (b"a,b,c\n1,2,3\n3\n", "line 3: 1 values instead of 3"),
    "quoted comma": (b'epsp,cell\n"0,45",a\n', "line 2: '0,45' has a decimal comma"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_answered_with_one_helpful_line(name, tmp_path):
    content, words = HOSTILE[name]
    path = tmp_path / "epsp.csv"
    path.write_bytes(content)
    outcome = CliRunner().invoke(app, ["fit", "weights", str(path), "--p0", "0.7", "--bootstrap", "0"])
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stdout == ""
    (line,) = outcome.stderr.splitlines()
    assert words in line
    assert line.startswith("error: ")
    if name not in ("same numbers", "one number"):
        assert path.name in line


UNITS = {"mV": 1.0, "V": 1e3, "uV": 1e-3, "µV": 1e-3, "pA": None, "ms": None, "MV": None, "nS": None, "": 1.0}
HEADERS = ("EPSP ({})", "epsp [{}]", "epsp_{}", "EPSP / {}", "peak EPSP ({})")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1")
SEPARATORS = (";", "\t", ",")


def cases(seed):
    """A table whose truth is known, as bytes, and the same after accidents."""
    rng = random.Random(seed)
    unit = rng.choice(list(UNITS))
    header = rng.choice(HEADERS).format(unit) if unit else "epsp"
    separator = rng.choice(SEPARATORS)
    values = [round(rng.uniform(0.01, 900.0), 3) for _ in range(rng.randrange(2, 8))]
    lines = [f"cell{separator}{header}"] + [f"c{n}{separator}{value!r}" for n, value in enumerate(values)]
    text = "\n".join(lines)
    if separator != "," and rng.random() < 0.5:
        text = text.replace(".", ",")
    content = text.encode(rng.choice(ENCODINGS))
    broken = bytearray(content)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(broken))
        accident = rng.randrange(3)
        if accident == 0:
            broken[at] = rng.randrange(256)
        elif accident == 1:
            del broken[at]
        else:
            broken[at:at] = rng.choice([b";", b",", b"\n", b"\t", b'"', b"#", b"\x00", b"nan", b"mV", b"(", b"-"])
        if not broken:
            break
    return unit, values, content, bytes(broken)


def check(seed):
    unit, values, content, broken = cases(seed)
    path = Path("epsp.csv")
    factor = UNITS[unit]
    if factor is None:  # another unit is never read
        with pytest.raises(DendrocapError, match=r"^epsp\.csv"):
            parse_table(content, path).column()
    else:  # and a good file with a voltage never refused
        found = parse_table(content, path).column()
        np.testing.assert_allclose(found.values, np.array(values) * factor, rtol=1e-9)
    for read in ("column", "amplitudes", "curve"):
        with contextlib.suppress(DendrocapError):
            getattr(parse_table(broken, path), read)()


def test_no_accident_ends_in_a_traceback_or_a_wrong_unit():
    for seed in range(1000):
        check(seed)


@pytest.mark.slow
def test_ten_thousand_accidents():
    for seed in range(1000, 11_000):
        check(seed)
