"""Files as laboratories write them."""

import pytest

from dendrocap import InvalidParameter
from dendrocap.datasets import read_table
from dendrocap.errors import CorruptData


@pytest.fixture
def table(tmp_path):
    def written(text, encoding="utf-8"):
        path = tmp_path / "data.csv"
        path.write_bytes(text.encode(encoding))
        return read_table(path)

    return written


@pytest.mark.parametrize(
    "text",
    [
        "0.5\n1.25\n",
        "\ufeffepsp\n0.5\n1.25\n",
        "# recorded on a Monday\nepsp (mV)\n0.5\n\n1.25\n",
        "% comment\r\nepsp_mV\r\n0.5\r\n1.25\r\n",
        "epsp,unit\n0.5,mV\n1.25,mV\n",
        "epsp\nmV\n0.5\n1.25\n",
        "epsp [V]\n0.0005\n0.00125\n",
        "EPSP\nµV\n500\n1250\n",
        "cell;epsp;comment\na;0.5;fine\nb;1.25;noisy\n",
        "cell\tepsp\na\t0.5\nb\t1.25\n",
        "Experiment 12\nepsp\n0.5\n1.25\n",
        '"epsp"\n"0.5"\n"1.25"\n',
        "5e-1\n1.25e0\n",
        "cell;epsp\na;0,5\nb;1,25\n",
        "epsp\tcell\n0,5\ta\n1,25\tb\n",
        "epsp / mV\n0.5\n1.25\n",
        "EPSP (peak) (mV)\n0.5\n1.25\n",
        "epsp;sex\n0,5;M\n1,25;F\n",
        "epsp (mV);;\n0,5;;\n;;\n1,25;;\n",
        "epsp\n\N{MINUS SIGN}0.5\n1.25\n".replace("\N{MINUS SIGN}", "+"),
    ],
)
def test_one_column_of_amplitudes_is_found(table, text):
    assert table(text).column().values.tolist() == pytest.approx([0.5, 1.25], rel=1e-12)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_encodings_of_europe_and_of_windows_are_read(table, encoding):
    text = "Größe (µV)\n500\n1250\n"
    found = table(text, encoding).column()
    assert found.name == "Größe (µV)"
    assert found.values.tolist() == pytest.approx([0.5, 1.25])


def test_a_column_is_chosen_by_name_number_or_hint(table):
    found = table("recording,who,epsp_mV\n1,a,0.5\n3,b,1.25\n")
    assert found.column("RECORDING").values.tolist() == [1.0, 3.0]
    assert found.column("3").values.tolist() == [0.5, 1.25]  # counted as in the file, words included
    assert found.column(hints=("epsp", "ampl")).values.tolist() == [0.5, 1.25]
    with pytest.raises(InvalidParameter, match="1 recording, 3 epsp_mV"):
        found.column()
    with pytest.raises(InvalidParameter, match="no column 'post'"):
        found.column("post")
    with pytest.raises(InvalidParameter, match="two columns have the name 'x'"):
        table("x,x\n1,2\n").column("x")


def test_two_columns_make_a_curve(table):
    for text in ("x,y\n1,2\n3,4\n", "1 2\n3 4\n", "in (mV);out (mV)\n1;2\n3;4\n", "1,0 2,0\n3,0 4,0\n"):
        curve = table(text).curve()
        assert (curve.x.tolist(), curve.y.tolist(), curve.sem) == ([1.0, 3.0], [2.0, 4.0], None)
    wide = table("a,b,c\n1,2,3\n4,5,6\n")
    assert wide.curve("c", "a").x.tolist() == [3.0, 6.0]
    with pytest.raises(InvalidParameter, match="choose two columns"):
        wide.curve()
    with pytest.raises(InvalidParameter, match="give both --x and --y"):
        wide.curve("a")


def test_standard_errors_are_recognised_and_converted_like_their_column(table):
    curve = table("x (mV),y (uV),s.e.m.\n1,2000,100\n3,4000,200\n").curve()
    assert curve.sem.tolist() == pytest.approx([0.1, 0.2])
    curve = table("x (mV),y (mV),SEM (uV)\n1,2,100\n3,4,200\n").curve()
    assert curve.sem.tolist() == pytest.approx([0.1, 0.2])
    curve = table("x,y,SD,n\n1,2,0.4,4\n3,4,0.9,9\n").curve()
    assert curve.sem.tolist() == pytest.approx([0.2, 0.3])
    curve = table("x,y,SD\n1,2,0.4\n3,4,0.9\n").curve()
    assert curve.sem is None  # of how many trials is not known
    assert curve.sd.tolist() == [0.4, 0.9]
    both = table("x,x sem,y,y sem\n1,0.1,2,0.2\n3,0.1,4,0.3\n")
    assert both.curve().sem.tolist() == [0.2, 0.3]
    assert both.curve(sem="none").sem is None
    assert both.curve(sem="x sem").sem.tolist() == [0.1, 0.1]
    with pytest.raises(CorruptData, match="line 3: a standard error of 0"):
        table("x,y,sem\n1,2,0.1\n3,4,0\n").curve()


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("EPSC (pA)", "'pA' is not a voltage"),
        ("EPSC_nA", "'nA' is not a voltage"),
        ("EPSP (MV)", "'MV' is unknown; did you mean mV"),
        ("EPSP (furlong)", "'furlong' is unknown"),
        ("slope (mV/ms)", "'mV/ms' is unknown"),
        ("charge [pC]", "'pC' is not a voltage"),
        ("gain (a.u.)", "'a.u.' is not a voltage"),
        ("time ms", "'ms' is not a voltage"),
        ("EPSP (mV) (pA)", "'mVpA' is unknown"),
    ],
)
def test_units_that_are_no_voltages_are_refused(table, header, words):
    with pytest.raises(InvalidParameter, match=f"column .*{words}"):
        table(f"{header}\n0.5\n1.25\n").column()
    found = table(f"{header};EPSP (mV)\n0.5;1\n1.25;2\n")
    assert found.column("EPSP (mV)").values.tolist() == [1.0, 2.0]  # what is not asked for may have any unit


def test_a_line_or_a_column_of_other_units_is_refused_too(table):
    for text, words in (
        ("epsc;cell\npA;\n5;a\n", "'pA' is not a voltage"),
        ("epsc;unit\n5;pA\n6;pA\n", "'pA' is not a voltage"),
        ("epsp;unit\n5;mV\n7;pA\n", "column 'unit' states several units"),
        ("epsp;what\n5;mV\n7;uV\n", "column 'what' states several units"),
        ("epsp;unit\n5;furlong\n", "'furlong' is unknown"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            table(text).column()
    with pytest.raises(CorruptData, match=r"line 2: .*below the names.*are not known units"):
        table("epsp;cell\nfurlong;b\n5;a\n").column()


def test_a_curve_needs_units_on_both_axes_or_on_none(table):
    with pytest.raises(InvalidParameter, match="column 'out' has no unit"):
        table("in (uV),out\n1,2\n3,4\n").curve()
    assert table("in,out\n1,2\n3,4\n").curve().unit == ""
    assert table("in (mV),out (V)\n1,2\n3,4\n").curve().unit == "V"


def test_missing_values_are_refused_or_dropped_and_counted(table):
    found = table("epsp;cell\n0,5;a\n;b\nNaN;c\n1,25;d\n")
    with pytest.raises(CorruptData, match=r"line 3: '' in column 'epsp' .*2 of 4 are missing.*--missing drop"):
        found.column()
    dropped = found.column(missing="drop")
    assert (dropped.values.tolist(), dropped.n_missing) == ([0.5, 1.25], 2)
    curve = table("x,y\n1,2\n3,\n,4\n5,6\n").curve(missing="drop")
    assert (curve.x.tolist(), curve.y.tolist(), curve.n_missing) == ([1.0, 5.0], [2.0, 6.0], 2)
    with pytest.raises(InvalidParameter, match="--missing = 'guess'"):
        found.column(missing="guess")


def test_zeros_are_refused_counted_as_failures_or_dropped(table):
    found = table("epsp\n0.5\n0\n1.25\n0.0\n")
    with pytest.raises(CorruptData, match=r"line 3: an amplitude of 0 .*2 of 4.*--zeros failures"):
        found.amplitudes()
    for policy in ("failures", "drop"):
        kept = found.amplitudes(zeros=policy)
        assert (kept.values.tolist(), kept.n_zeros) == ([0.5, 1.25], 2)
    with pytest.raises(InvalidParameter, match="--zeros = 'ignore'"):
        found.amplitudes(zeros="ignore")


def test_negative_amplitudes_are_refused_with_the_line(table):
    with pytest.raises(CorruptData, match=r"line 3: an amplitude of -0.5 .*must be positive"):
        table("epsp\n0.5\n-0.5\n").amplitudes()
    with pytest.raises(CorruptData, match="no positive amplitude"):
        table("epsp\n0\n0\n").amplitudes(zeros="drop")


def test_headerless_decimal_commas_look_like_two_columns_and_are_pointed_out(table):
    with pytest.raises(InvalidParameter, match="decimal commas"):
        table("0,45\n0,5\n").column()
    with pytest.raises(InvalidParameter, match="decimal commas"):
        table("0,1,0,45\n0,2,0,5\n").curve()


@pytest.fixture
def workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra excel")

    def written(**sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        path = tmp_path / "data.xlsx"
        book.save(path)
        return path

    return written


def test_sheets_of_excel_are_read(workbook):
    rows = [["Slice 4"], ["expected (mV)", "recorded (mV)", "SEM"], [1, 1.5, 0.1], [2, 2.5, 0.2]]
    rows[0] += [None, None]
    path = workbook(notes=[], data=rows)
    curve = read_table(path).curve()
    assert (curve.x.tolist(), curve.y.tolist(), curve.sem.tolist()) == ([1.0, 2.0], [1.5, 2.5], [0.1, 0.2])
    path = workbook(one=rows, two=rows)
    with pytest.raises(InvalidParameter, match=r"there are several sheets.*one, two.*--sheet"):
        read_table(path)
    assert read_table(path, "two").curve().x.size == 2
    with pytest.raises(InvalidParameter, match="no sheet 'three'; the sheets are one, two"):
        read_table(path, "three")


def test_damaged_workbooks_are_refused(workbook, tmp_path):
    path = workbook(data=[["epsp (mV)"], [1.0], [2.0]])
    content = path.read_bytes()
    for damaged in (content[:200], content[: len(content) // 2], b"PK\x03\x04" + bytes(50)):
        path.write_bytes(damaged)
        with pytest.raises(CorruptData, match="not a readable Excel workbook"):
            read_table(path)
