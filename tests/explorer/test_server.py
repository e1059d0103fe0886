"""``dendrocap explore`` as a process: where it listens, what it hands out, how it ends."""

import http.client
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import psutil
import pytest
from bokeh.util.token import generate_jwt_token
from typer.testing import CliRunner

from dendrocap.cli import app
from dendrocap.errors import InvalidParameter
from dendrocap.explorer.server import MOST_EXPORTS, listening_server
from tests.explorer.serving import explorer


@pytest.fixture(scope="module")
def server():
    with explorer() as (process, link):
        yield process, link
        ends_in_time(process, link, signal.SIGINT)
    assert "Traceback" not in process.log, process.log


def ends_in_time(process, link, how, **headers):
    """A signal ends the process and its children while four exports are being made."""
    clients = [open_export(link, f"neuron.png?theta_d=0.{number}", **headers) for number in range(1, MOST_EXPORTS + 1)]
    time.sleep(1.0)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(how)
    began = time.monotonic()
    code, took = process.wait(30), time.monotonic() - began
    for client in clients:
        client.close()
    assert code == 0
    assert took < 3.0
    assert children
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets that Tornado leaves
def test_a_port_that_is_taken_is_replaced_unless_it_was_asked_for():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f":{port}/" not in listening_server(port, "127.0.0.1", fixed=False).link
        with pytest.raises(InvalidParameter, match=f"cannot listen on 127.0.0.1, port {port}"):
            listening_server(port, "127.0.0.1", fixed=True)
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


# Who is answered ------------------------------------------------------------------------------------------------------

WEBSOCKET = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": f"bokeh, {generate_jwt_token('a session')}",
}


def request(link, path, host=None, **headers):
    """The answer to a request with these headers: a browser sends the host and the origin that it was led to."""
    address, port = re.fullmatch(r"http://\[?(.+?)\]?:(\d+)/.*", link).groups()
    line = http.client.HTTPConnection(address, int(port), timeout=60)
    line.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": link.split("/")[2] if host is None else host, **headers}.items():
        line.putheader(name, value)
    line.endheaders()
    answer = line.getresponse()
    line.close()
    return answer


PATHS = {"/": {}, "/export/neuron.py": {}, "/ws": WEBSOCKET, "/static/js/bokeh.min.js": {}}


@pytest.mark.parametrize("path", PATHS)
def test_only_this_page_is_answered_under_its_own_names(server, path):
    link = server[1]
    port = link.rsplit(":", 1)[1].strip("/")
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
        assert request(link, path, host, Origin=f"http://{host}", **PATHS[path]).status != 403, host
    for host in (f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{int(port) % 65535 + 1}", f"127.0.0.1:{port}x", ""):
        assert request(link, path, host, **PATHS[path]).status == 403, host
        assert request(link, path, host, Origin=f"http://{host}", **PATHS[path]).status == 403, host
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port}.evil.example"):
        assert request(link, path, Origin=origin, **PATHS[path]).status == 403, origin


def test_another_address_warns_and_needs_the_token_of_the_link():
    with explorer("--address", "0.0.0.0") as (process, link):
        assert "can be reached by other machines" in process.said
        token = link.partition("?")[2]
        port = link.split(":")[2].split("/")[0]
        for path in PATHS:
            assert request(link, path, **PATHS[path]).status == 403
            assert request(link, f"{path}?token=wrong", **PATHS[path]).status == 403
            assert request(link, f"{path}?{token}", f"evil.example:{port}").status == 403
        opened = request(link, f"/?{token}&theta_d=0.3")
        assert (opened.status, opened.headers["Location"]) == (302, "/?theta_d=0.3")
        cookie = opened.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        for path in PATHS:
            assert request(link, path, Cookie=cookie.split(";")[0], **PATHS[path]).status in (101, 200, 400)
            assert request(link, path, f"evil.example:{port}", Cookie=cookie.split(";")[0]).status == 403
        ends_in_time(process, link, signal.SIGTERM, Cookie=cookie.split(";")[0])


# Work that nobody waits for -------------------------------------------------------------------------------------------


def open_export(link, name, **headers):
    """A client that asks for a file and reads nothing."""
    port = int(link.split(":")[2].split("/")[0])
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    lines = [f"{name}: {value}" for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items()]
    client.sendall("\r\n".join([f"GET /export/{name} HTTP/1.1", *lines, "", ""]).encode())
    return client


def test_exports_are_bounded_and_end_when_their_clients_leave(server):
    link = server[1]
    clients = [open_export(link, f"neuron.png?theta_d=0.{number}") for number in range(1, MOST_EXPORTS + 1)]
    time.sleep(0.3)
    assert request(link, "/export/neuron.png?theta_d=0.9").status == 503
    assert request(link, "/export/neuron.py").status == 200  # a script waits for nothing
    for client in clients:
        client.close()
    for number in range(12 - MOST_EXPORTS):
        open_export(link, f"neuron.png?theta_d=0.{number + 11}").close()
    time.sleep(0.5)
    began = time.monotonic()
    assert request(link, "/export/neuron.csv?nonlinearity=linear&n_inputs=100&n_branches=10").status == 200
    assert time.monotonic() - began < 30.0  # each of the twelve takes ten seconds


def ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not ipv6(), reason="no IPv6 here")
def test_an_address_of_ipv6_and_a_computation_on_the_loop_that_does_not_keep_the_page_from_ending():
    program = """
import time
from dendrocap.explorer import server
made = server.make_server("::1")
made.server.io_loop.call_later(2.0, lambda: (print("busy", flush=True), time.sleep(60)))
print(made.link, made.warning, flush=True)
server.run(made.server)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        link = process.stdout.readline().strip()
        assert re.fullmatch(r"http://\[::1\]:\d+/", link)  # on this machine, so without a token
        assert request(link, "/export/neuron.py").status == 200
        assert process.stdout.readline() == "busy\n"
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert time.monotonic() - began < 3.0
