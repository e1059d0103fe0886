"""Uploaded curves: what laboratories write is read, everything else is refused with a reason."""

import base64
import io
import pickle
import time
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dendrocap.errors import CorruptData
from dendrocap.explorer import parameters
from dendrocap.explorer.background import Desk
from dendrocap.explorer.files import LARGEST_FILE, read_amplitudes, read_curve
from dendrocap.explorer.parameters import MOST_POINTS, Parameters
from dendrocap.explorer.session import Session
from tests.explorer.desks import InstantDesk


def test_a_curve_of_the_laboratory_in_millivolts():
    text = "# cell 7\nexpected (mV);recorded (mV);SEM (mV)\n0;0;0.2\n5;4.5;0.3\n10;14;0.4\n15;15;0.5\n"
    uploaded = read_curve(text.encode(), "curve.csv")
    assert uploaded.changes["curve"] == ((0.0, 0.0, 0.2), (5.0, 4.5, 0.3), (10.0, 14.0, 0.4), (15.0, 15.0, 0.5))
    assert "in mV, with standard errors" in uploaded.said
    parameters = Parameters().changed(uploaded.changes)
    assert parameters.units.scale_mv == 15.0  # its largest value is what the model calls 1
    np.testing.assert_allclose(parameters.g([1.0 / 3.0, 1.0]), [0.3, 1.0])


def test_the_header_decides_the_unit():
    in_mv = read_curve(b"expected (mV),recorded (uV)\n0,0\n15,15000\n", "curve.csv")
    assert in_mv.changes["curve"] == ((0.0, 0.0), (15.0, 15.0))
    assert in_mv.changes["curve_unit"] == "mV"
    with pytest.raises(CorruptData, match="'pA' is not a voltage"):
        read_curve(b"in (pA),out (pA)\n0,0\n15,15\n", "curve.csv")


def test_standard_deviations_are_no_standard_errors():
    uploaded = read_curve(b"x (mV),y (mV),SD (mV)\n0,0,1\n5,3,1\n15,15,1\n", "curve.csv")
    assert {len(point) for point in uploaded.changes["curve"]} == {2}
    assert "standard deviations without a column n" in uploaded.said


def test_amplitudes_and_what_is_not():
    assert read_amplitudes(b"cell;epsp (mV)\na;0,8\nb;1,2\n", "epsp.csv").tolist() == [0.8, 1.2]
    with pytest.raises(CorruptData, match=r"epsp\.csv.*pA"):
        read_amplitudes(b"EPSC (pA)\n10\n20\n", "epsp.csv")
    with pytest.raises(CorruptData, match="choose a column"):
        read_amplitudes(b"a,b\n1,2\n3,4\n", "epsp.csv")


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "contains no data"),
        (b"x,y\n", "contains no numbers"),
        (b"0,0\n1,one\n", "'one' is not a number"),
        (b"0,0\n1,nan\n", "'nan' in column '2' is not a number"),
        (b"0,0\n1,inf\n", "'inf' is not a finite number"),
        (b"0,0\n2,1\n1,2\n", "strictly increasing"),
        (b"0,0\n0,1\n", "strictly increasing"),
        (b"0,0\n1,0\n", "flat or never positive"),
        (b"1\n2\n3\n", "choose two columns with --x and --y; there are 1 columns"),
        (b"1,2,3\n2,3,4\n", "choose two columns with --x and --y; there are 3 columns"),
        (b"1,2\n", "1 points; 2 to 64 are allowed"),
        (b"0,0\n1,1e300\n", "numbers up to 1000"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "the file is not text"),
        (b"\xff\xfe0,0", "the file is not text"),
        (b'"0,0\n1,1\n', "values instead of"),
        (b"0,0\n" * LARGEST_FILE, "bytes; at most 100,000 are allowed"),
        ("\n".join(f"{i},{i}" for i in range(MOST_POINTS + 1)).encode(), "65 points; 2 to 64 are allowed"),
        (pickle.dumps(Trap()), "curve.csv"),
    ],
)
def test_bad_files_are_refused_with_a_reason(content, words):
    with pytest.raises(CorruptData, match=r"curve\.csv") as caught:
        read_curve(content, "../../curve.csv")
    assert words in str(caught.value)
    assert "../" not in str(caught.value)


@given(st.binary(max_size=60) | st.text(alphabet="0123456789.,;-+eE \n\t#nainfxy\"'", max_size=60).map(str.encode))
def test_no_file_breaks_the_page(content):
    try:
        uploaded = read_curve(content, "f")
    except CorruptData:
        return
    assert Parameters().changed(uploaded.changes).curve == uploaded.changes["curve"]


def test_a_small_file_that_unpacks_to_a_large_one_is_refused_before_it_is_read():
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/worksheets/sheet1.xml", b" " * 20_000_000)
    assert len(book.getvalue()) < LARGEST_FILE
    with pytest.raises(CorruptData, match="holds more than 10,000,000 bytes"):
        read_curve(book.getvalue(), "book.xlsx")
    with pytest.raises(CorruptData, match=r"book\.xlsx is damaged"):
        read_curve(book.getvalue().replace(b"PK\x01\x02", b"PK\x09\x09"), "book.xlsx")


def test_files_are_read_and_fitted_in_another_process(monkeypatch):
    x = np.linspace(0.0, 1.0, 20)
    content = "\n".join(f"{a:.3f},{b:.4f}" for a, b in zip(x, x**2, strict=True)).encode()
    reader = Desk(limit=60.0)
    session = Session(Parameters(), desk=InstantDesk(), reader=reader)
    fitted, kinds = parameters._fitted, []
    monkeypatch.setattr(parameters, "_fitted", lambda *given: kinds.append(given[2]) or fitted(*given))
    message = {"kind": "upload", "holds": "curve", "name": "curve.csv"}
    reply = session.handle({**message, "content": base64.b64encode(content).decode()})
    assert reply == {"reading": True}
    while reply == {"reading": True}:
        time.sleep(0.05)
        reply = session.handle({"kind": "upload"})
    assert "20 points" in reply["said"]
    assert session.parameters.nonlinearity == "smooth"
    assert set(kinds) == {"tabulated"}  # here its points were looked at only
    reader.close()
