"""On a server that is not ours: nothing is touched but queues made for the check, and no password is shown."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
from between import proxy, socket_path
from conftest import skip_without
from interrupting import STATUSES, long_check
from planted import PLANTED, changed

from emqsim.check import check
from emqsim.commands.main import main
from emqsim.scripts.bundle import bundled_scripts
from emqsim.server import embedded_server
from emqsim.server.address import make_client, without_password

SEED = 20_241_129
SECRET = "gEh31m"

NEVER = {"FLUSHDB", "FLUSHALL", "SCRIPT FLUSH", "SCRIPT KILL", "SHUTDOWN", "CONFIG", "KEYS"}
USED = {
    "EVALSHA",
    "SCRIPT LOAD",
    "SCAN",
    "DEL",
    "DBSIZE",
    "INFO",
    "PSUBSCRIBE",
    "PING",
    "PTTL",
    "CLIENT SETINFO",
}
"""Commands that a check that finds nothing sends; writes by somebody outside, which programs hold, aside."""
OUTSIDE = {"DEL", "ZREM", "SET", "HSET"}


valkey = pytest.mark.parametrize("server", ["valkey"], indirect=True)
"""For what would only be the same again on the second server."""


@pytest.fixture
def client(server):
    client = server.client()
    yield client
    client.flushall()
    client.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_bundled_scripts_conform_and_leave_nothing(server, client):
    report = check(server.url, examples=20, seed=SEED)
    assert report.conforms, report.divergence or report.failure
    assert report.programs == 20
    assert report.server.startswith(server.version)
    assert (report.left, report.notes) == ([], [])
    assert client.dbsize() == 0


def test_a_fault_is_found_and_nothing_is_left(server, client):
    report = check(server.url, scripts=changed(*PLANTED["complete forgets pending"]), seed=SEED)
    assert report.divergence.program.steps[-1].call == "complete"
    assert report.divergence.what == ["state"]
    assert client.dbsize() == 0


@pytest.mark.parametrize("ours", [True, False])
def test_a_key_that_expires_is_found(server, client, ours):
    fading = bundled_scripts()["update_data"].replace("return 1", "redis.call('EXPIRE', KEYS[1], 9) return 1")
    report = check(server if ours else server.url, scripts={"update_data": fading}, seed=SEED)
    assert report.divergence.program.steps[-1].call == "update_data"
    assert report.divergence.after_server["(keys that expire)"] == b"1"
    assert report.divergence.note == ""
    assert ours or client.dbsize() == 0


@valkey
def test_a_field_that_expires_is_found_on_a_server_of_ours(server):
    fading = bundled_scripts()["update_data"].replace(
        "return 1", "redis.call('HEXPIRE', KEYS[1], 9, 'FIELDS', 1, 'payload') return 1"
    )
    report = check(server, scripts={"update_data": fading}, seed=SEED)
    assert report.divergence.after_server["(keys that expire)"] == b"1"


@valkey
def test_a_key_that_no_picture_shows_is_found_by_the_scan(server, client):
    stray = bundled_scripts()["update_data"].replace(
        "return 1", "redis.call('SET', KEYS[1] .. ':x', 1) return 1"
    )
    report = check(server.url, scripts={"update_data": stray}, seed=SEED)
    assert any(key.endswith(":x") for key in report.divergence.after_server)
    assert client.dbsize() == 0


# Whose keys.


def fill(client):
    """10,000 keys of every type, some named as those of queues."""
    with client.pipeline(transaction=False) as pipe:
        for index in range(2000):
            pipe.set(f"text:{index}", index)
            pipe.hset(f"emq:{{orders}}:job:{index}", mapping={"state": "pending", "attempts": index})
            pipe.zadd(f"emq:{{emqsim}}:{index}:pending", {f"member{index}": index})
            pipe.rpush(f"list:{index}", index, index + 1)
            pipe.sadd(f"set:{index}", index)
        pipe.xadd("stream", {"a": "b"})
        pipe.zadd("emq:{emqsim-check}:pending", {"JOB00000000001": 0})
        pipe.execute()


def everything(client):
    """Each key with its value as the server would move it elsewhere, and when it would go."""
    names = sorted(client.scan_iter("*", count=5000))
    with client.pipeline(transaction=False) as pipe:
        for name in names:
            pipe.dump(name)
            pipe.pttl(name)
        return names, pipe.execute()


class Monitor:
    """What MONITOR shows, from now on."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._socket.sendall(b"MONITOR\r\n")
        self._lines = b""
        while b"+OK\r\n" not in self._lines:
            self._lines += self._socket.recv(1 << 20)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        while piece := self._socket.recv(1 << 20):
            self._lines += piece

    def commands(self, client):
        """The words of each command, and whether a script ran it; all that came before this call."""
        client.echo("the end")
        while b"the end" not in self._lines:
            assert self._thread.is_alive()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()
        for line in self._lines.decode("latin-1").split("\r\n"):
            found = re.match(r"\+[\d.]+ \[\d+ ([^\]]*)\] (.*)", line)
            if found and "the end" not in line:
                yield re.findall(r'"((?:[^"\\]|\\.)*)"', found[2]), found[1] == "lua"


def test_ten_thousand_keys_of_others_stay_as_they_are(server, client):
    fill(client)
    before = everything(client)
    assert len(before[0]) > 10_000
    monitor = Monitor(socket_path(server))
    report = check(server.url, examples=8, seed=SEED, allow_non_empty=True)
    commands = list(monitor.commands(client))
    assert report.conforms, report.divergence or report.failure
    assert everything(client) == before

    sent = set()
    for words, by_script in commands:
        name = words[0].upper()
        name = f"{name} {words[1].upper()}" if name in ("SCRIPT", "CLIENT") else name
        assert name not in NEVER
        if not by_script:
            sent.add(name)
        if name not in ("SCRIPT LOAD", "CLIENT SETINFO"):
            for word in words:
                assert not re.match(r"(text|list|set):\d|stream$", word)
                assert not re.match(r"emq:\{(?!emqsim-[0-9a-f]{12}-)", word), words
    assert sent <= USED | OUTSIDE
    names = {
        found for words, _ in commands for word in words for found in re.findall(r"\{(emqsim-[^}*]*)\}", word)
    }
    assert len(names) >= 7


def test_a_database_that_is_not_empty_is_refused(server, client, capsys):
    client.set("theirs", "1")
    assert main(["check", "--server", server.url, "--examples", "5"]) == 2
    assert "holds 1 key:" in capsys.readouterr().err
    assert main(["check", "--server", server.url, "--examples", "5", "--allow-non-empty"]) == 0
    assert client.keys("*") == [b"theirs"]


@valkey
def test_a_name_that_a_script_hard_codes_is_warned_of_and_told(server, client, capsys, folder):
    source = bundled_scripts()["queue_pause"] + "\n"
    (folder / "queue_pause.lua").write_text(
        source.replace("return 1", "redis.call('SET', 'stray', 1) return 1")
    )
    main(["check", "--server", server.url, "--scripts", "queue_pause.lua", "--examples", "20", "--seed", "3"])
    out, err = capsys.readouterr()
    assert "one that hard-codes the name of a key can write elsewhere" in err
    assert "the database was empty and now holds stray" in out
    assert client.keys("*") == [b"stray"]


@valkey
def test_ctrl_c_deletes_the_keys(server, client, folder):
    late = time.monotonic() + 20
    with long_check(folder, "--server", server.url) as (running, _):
        while not client.dbsize():
            assert time.monotonic() < late
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
    assert running.returncode in STATUSES
    assert out == ""
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err
    assert client.dbsize() == 0


@valkey
def test_replay_on_a_server_of_others(server, client, folder):
    scripts = changed(*PLANTED["retry uses > for max attempts"])
    (folder / "retry.lua").write_text(scripts["retry"])
    report = check(server.url, scripts=scripts, seed=3, folder=".emqsim")
    arguments = ["replay", report.trace_path, "--server", server.url]
    assert main(arguments) == 0
    assert main([*arguments, "--scripts", "retry.lua"]) == 1
    assert client.dbsize() == 0


# URLs, and what is never shown.


@pytest.fixture(scope="module")
def guarded():
    """A server on TCP, with TLS where Debian's redis-server and openssl are there, with a user of a password."""
    binary = shutil.which("redis-server")
    if binary is None:
        skip_without("redis", "redis-server is not on PATH")
    with socket.socket() as probe, socket.socket() as other:
        probe.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, tls_port = probe.getsockname()[1], other.getsockname()[1]
    with embedded_server(binary=binary, options=("--port", str(port))) as server:
        admin = server.client()
        admin.execute_command(
            "ACL", "SETUSER", "alice", "on", f">{SECRET}", "~*", "&*", "+@all", "-@dangerous"
        )
        server.port, server.tls_port, server.certificate = port, tls_port, None
        if shutil.which("openssl"):
            folder = os.path.dirname(socket_path(server))
            pem = os.path.join(folder, "pem")
            command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
            command += [
                "-nodes",
                "-keyout",
                pem,
                "-out",
                pem + ".crt",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
            ]
            subprocess.run(
                [*command, "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True
            )
            for name, value in {
                "tls-cert-file": pem + ".crt",
                "tls-key-file": pem,
                "tls-auth-clients": "no",
                "tls-port": tls_port,
            }.items():
                admin.config_set(name, value)
            server.certificate = pem + ".crt"
        admin.close()
        yield server


@pytest.mark.parametrize("scheme", ["redis", "valkey"])
def test_user_and_password_on_tcp(guarded, scheme):
    report = check(f"{scheme}://alice:{SECRET}@127.0.0.1:{guarded.port}/3", examples=5, seed=SEED)
    assert report.conforms, report.failure
    assert SECRET not in report.server


@pytest.mark.parametrize("scheme", ["rediss", "valkeys"])
def test_tls(guarded, scheme, capsys):
    if guarded.certificate is None:
        pytest.skip("openssl is not on PATH")
    url = f"{scheme}://alice:{SECRET}@localhost:{guarded.tls_port}"
    assert check(f"{url}?ssl_ca_certs={guarded.certificate}", examples=5, seed=SEED).conforms
    assert check(f"{url}?ssl_cert_reqs=none", examples=5, seed=SEED).conforms
    assert main(["check", "--server", url]) == 2
    assert "certificate" in capsys.readouterr().err


def test_the_password_may_stand_in_the_environment(guarded, monkeypatch, folder):
    arguments = ["check", "--server", f"redis://alice@127.0.0.1:{guarded.port}", "--examples", "5"]
    monkeypatch.setenv("EMQSIM_PASSWORD", "wrong")
    assert main(arguments) == 2
    monkeypatch.setenv("EMQSIM_PASSWORD", SECRET)
    assert main(arguments) == 0


def test_a_password_is_nowhere(guarded, folder, capsys):
    """Neither in what is printed nor in what is written, whatever goes wrong."""
    good, bad = changed(*PLANTED["retry uses > for max attempts"])["retry"], "return ("
    (folder / "retry.lua").write_text(good)
    (folder / "reap.lua").write_text(bad)
    at = f"127.0.0.1:{guarded.port}"
    url = f"redis://alice:{SECRET}@{at}"
    for arguments, status in (
        (["check", "--server", url, "--scripts", "retry.lua", "--seed", "3", "--emit-test", "test_it.py"], 1),
        (["check", "--server", url, "--scripts", "retry.lua", "--seed", "3", "--json"], 1),
        (["check", "--server", url, "--scripts", "reap.lua"], 2),
        (["check", "--server", f"redis://alice:{SECRET}x@{at}"], 2),
        (["check", "--server", f"redis://bob:{SECRET}@{at}"], 2),
        (["check", "--server", f"redis://alice:{SECRET}@127.0.0.1:1"], 2),
        (["check", "--server", f"redis://alice:{SECRET}@nowhere.invalid"], 2),
        (["check", "--server", f"http://alice:{SECRET}@{at}"], 2),
        (["check", "--server", f"redis://alice:{SECRET}/@{at}"], 2),
        (["check", "--server", f"redis://alice:#{SECRET}@{at}"], 2),
        (["check", "--server", f"redis://alice:@{SECRET}:{SECRET}"], 2),
        (["check", "--server", f"redis://{at}/?password={SECRET}"], 2),
        (["check", "--server", f"redis://alice:{SECRET}@{at}/x"], 2),
    ):
        assert main(arguments) == status, arguments
        out, err = capsys.readouterr()
        if status == 2:
            assert err.splitlines()[-1].startswith("emqsim: "), err
        assert SECRET not in out + err, arguments
    with pytest.raises(SystemExit):
        main(["check", "--sever", url])
    assert SECRET not in capsys.readouterr().err
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert folder / "test_it.py" in written
    assert not [path for path in written if SECRET in path.read_text()]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:6379", "begins with one of"),
        ("ftp://localhost", "begins with one of"),
        ("redis://", "names no host"),
        ("redis://h:0", "no port"),
        ("redis://h:99999", "no port"),
        ("redis://h/one", "database must be a number, not 'one'"),
        ("redis://h?socket_timeout=1", "not socket_timeout"),
        ("redis://h?ssl_ca_certs=x", "needs rediss://"),
    ],
)
def test_urls_that_are_none(url, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        make_client(url)


def test_a_url_is_a_client_of_its_settings():
    kwargs = make_client("valkey://u:p%40ss@h:7/2", socket_timeout=3).connection_pool.connection_kwargs
    assert [kwargs[name] for name in ("host", "port", "db", "username", "password")] == [
        "h",
        7,
        2,
        "u",
        "p@ss",
    ]
    assert make_client("unix:///tmp/s?db=4").connection_pool.connection_kwargs["db"] == 4


def test_a_text_without_its_passwords():
    assert without_password("at redis://u:a@b@h:1/0 and unix:///s") == "at redis://u:***@h:1/0 and unix:///s"


@valkey
def test_every_value_of_the_report_is_plain_json(server, client, capsys, folder):
    assert main(["check", "--server", server.url, "--examples", "3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["failure"], report["left"], report["notes"], report["undecided"]) == (None, [], [], 0)


@valkey
def test_a_proxy_changes_nothing(server, client):
    """What the tests of failures stand on."""
    with proxy(socket_path(server)) as url:
        assert check(url, examples=5, seed=SEED).conforms
