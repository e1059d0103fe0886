"""Files as laboratories write them."""

import pytest

from dendrocap import CorruptData, InvalidParameter
from dendrocap.datasets import read_table


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
        "epsp,unit\n0.5,mV\n1250,uV\n",
        "epsp\nmV\n0.5\n1.25\n",
        "epsp [V]\n0.0005\n0.00125\n",
        "EPSP\nµV\n500\n1250\n",
        "cell;epsp;comment\na;0.5;fine\nb;1.25;noisy\n",
        "cell\tepsp\na\t0.5\nb\t1.25\n",
        "Experiment 12\nepsp\n0.5\n1.25\n",
        '"epsp"\n"0.5"\n"1.25"\n',
        "5e-1\n1.25e0\n",
    ],
)
def test_one_column_of_amplitudes_is_found(table, text):
    assert table(text).column(None).tolist() == pytest.approx([0.5, 1.25], rel=1e-12)


def test_a_column_is_chosen_by_name_number_or_hint(table):
    found = table("recording,pre,epsp_mV\n1,2,0.5\n3,4,1.25\n")
    assert found.column("PRE").tolist() == [2.0, 4.0]
    assert found.column("1").tolist() == [1.0, 3.0]
    assert found.column(None, hints=("epsp", "ampl")).tolist() == [0.5, 1.25]
    with pytest.raises(InvalidParameter, match="recording, pre, epsp_mV"):
        found.column(None)
    with pytest.raises(InvalidParameter, match="no column 'post'"):
        found.column("post")


def test_two_columns_make_a_curve(table):
    for text in ("x,y\n1,2\n3,4\n", "1 2\n3 4\n", "in (mV);out (mV)\n1;2\n3;4\n"):
        x, y = table(text).pair()
        assert (x.tolist(), y.tolist()) == ([1.0, 3.0], [2.0, 4.0])
    wide = table("a,b,c\n1,2,3\n4,5,6\n")
    assert wide.pair("c", "a")[0].tolist() == [3.0, 6.0]
    with pytest.raises(InvalidParameter, match="which two columns"):
        wide.pair()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no data"),
        ("# nothing\n\n", "no data"),
        ("epsp\nmV\n", "no numbers"),
        ("epsp\n0,45\n0,5\n", "decimal comma"),
        ("cell;epsp\na;0,45\nb;0,5\n", "line 2: '0,45' has a decimal comma"),
        ("epsp\tcell\n0,45\ta\n", "decimal comma"),
        ('epsp,cell\n"0,45",a\n', "decimal comma"),
        ("epsp\n0.5\nnan\n", "line 3: 'nan' is not a finite number"),
        ("epsp\n0.5\ninf\n", "'inf' is not a finite number"),
        ("epsp\n0.5\nlost\n", "line 3: 'lost' is not a number"),
        ("a,b\n1,2\n3\n", "line 3: 1 values where 2 were expected"),
        ("epsp,cell\n0.5,a\n,b\n", "line 3: '' is not a number"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_line(table, text, words):
    with pytest.raises(CorruptData, match=words):
        table(text).column(None)


def test_headerless_decimal_commas_look_like_two_columns_and_are_pointed_out(table):
    with pytest.raises(InvalidParameter, match="decimal commas"):
        table("0,45\n0,5\n").column(None)
    with pytest.raises(InvalidParameter, match="decimal commas"):
        table("0,1;0,45\n0,2;0,5\n".replace(";", ",")).pair()


def test_other_encodings_are_refused(table):
    with pytest.raises(CorruptData, match="UTF-8"):
        table("Größe\n0.5\n", encoding="latin-1")
