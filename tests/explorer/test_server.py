"""``dendrocap explore`` as a process: where it listens, what it hands out, how it ends."""

import socket
import sys
import urllib.error
import urllib.request

import psutil
import pytest
from typer.testing import CliRunner

from dendrocap.cli import app
from dendrocap.errors import InvalidParameter
from dendrocap.explorer import server as serving_module
from dendrocap.explorer.server import listening_server, usable_port
from tests.explorer.serving import explorer


@pytest.fixture(scope="module")
def server():
    with explorer() as (process, address):
        yield process, address
    assert process.returncode == 0, "Ctrl-C is the way to end it"
    assert "Traceback" not in process.log, process.log


def get(server, path):
    try:
        with urllib.request.urlopen(server[1] + path, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read()


def test_it_listens_on_this_machine_only(server):
    process, _ = server
    listening = [line.laddr.ip for line in psutil.Process(process.pid).net_connections() if line.status == "LISTEN"]
    assert listening == ["127.0.0.1"]


def test_the_page_names_nothing_outside(server):
    status, _, content = get(server, "")
    assert status == 200
    text = content.decode()
    assert "//cdn" not in text
    assert "googleapis" not in text
    assert 'src="http' not in text
    assert 'name="viewport"' in text


def test_a_bad_link_still_opens_the_page(server):
    assert get(server, "?theta_d=banana&curve=%ff%00")[0] == 200


def test_exports_follow_from_the_link_and_have_the_best_estimate(server):
    neuron = "nonlinearity=linear&n_inputs=100&n_branches=10"  # exact, and thus quick
    for name, begins in (("neuron.png", b"\x89PNG"), ("neuron.csv", b"# dendrocap"), ("neuron.py", b"import numpy")):
        status, _, content = get(server, f"export/{name}?{neuron}")
        assert status == 200
        assert content.startswith(begins)
    assert b"# capacity = 1\n" in get(server, f"export/neuron.csv?{neuron}")[2]


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("export/neuron.png?theta_s=1.5", 400, "strictly between 0 and 1"),
        ("export/neuron.csv?theta_d=banana", 400, "theta_d = 'banana' is not allowed"),
        ("export/neuron.py?nonsense=1", 400, "nonsense is not a parameter"),
        ("export/passwords.txt", 404, "Not Found"),
    ],
)
def test_bad_requests_get_a_sentence(server, path, code, words):
    status, _, content = get(server, path)
    assert status == code
    assert words in content.decode()
    assert "Traceback" not in content.decode()


def test_a_port_that_is_taken_is_replaced_unless_it_was_asked_for():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert usable_port(port, "127.0.0.1", fixed=False) != port
        with pytest.raises(InvalidParameter, match=f"cannot listen on 127.0.0.1, port {port}"):
            usable_port(port, "127.0.0.1", fixed=True)
        outcome = CliRunner().invoke(app, ["explore", "--no-browser", "--port", str(port)])
        assert outcome.exit_code == 2
        assert "cannot listen" in outcome.stderr


def test_without_panel_the_command_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("dendrocap.explorer.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "panel", None)
    outcome = CliRunner().invoke(app, ["explore", "--no-browser"])
    assert outcome.exit_code == 1
    assert "pip install '.[explore]'" in outcome.stderr


def test_a_port_that_is_lost_between_look_and_use_is_looked_for_again(monkeypatch):
    tried = []

    def taken_at_first(address, port):
        tried.append(port)
        if len(tried) < 3:
            raise OSError(98, "Address already in use")
        return "a server"

    monkeypatch.setattr(serving_module, "make_server", taken_at_first)
    assert listening_server(0, "127.0.0.1", fixed=False) == ("a server", tried[2])

    def always_taken(address, port):
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(serving_module, "make_server", always_taken)
    with pytest.raises(InvalidParameter, match="every port found was taken"):
        listening_server(0, "127.0.0.1", fixed=False)
