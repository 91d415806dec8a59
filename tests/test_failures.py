"""Everything that goes wrong around a check is told for what it is, soon, and leaves nothing behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from between import CLAIMED_AND_COMPLETED, JOB, proxy, save, socket_path
from interrupting import long_check, was_interrupted
from planted import PLANTED, changed

from emqsim import VirtualClock, trace
from emqsim.check import check
from emqsim.commands.main import main
from emqsim.scripts.bundle import bundled_scripts
from emqsim.server import ServerQueue, embedded_server

SEED = 20_241_129

LOOP = "while true do end "
WROTE_AND_LOOPS = {
    "complete": bundled_scripts()["complete"].replace("redis.call('DEL'", LOOP + "redis.call('DEL'")
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def own(request):
    """A server that a test may ruin."""
    with embedded_server(
        binary=request.getfixturevalue(getattr(request, "param", "valkey_server")).binary
    ) as server:
        yield server


both = pytest.mark.parametrize("own", ["valkey_server", "redis_server"], indirect=True)


@pytest.fixture
def client(own):
    client = own.client()
    yield client
    client.close()


# A script that never ends.


@pytest.mark.parametrize(
    "scripts",
    [
        WROTE_AND_LOOPS,
        {"complete": "while true do pcall(function() while true do end end) end"},
        {"complete": "return string.find(string.rep('a', 40), string.rep('a?', 40) .. string.rep('a', 40))"},
    ],
    ids=["after a write", "and catches errors", "in a pattern"],
)
def test_a_script_that_never_ends(own, scripts):
    began = time.monotonic()
    report = check(own, scripts=scripts, seed=SEED)
    assert time.monotonic() - began < 15
    assert not report.conforms
    assert report.failure is None
    assert report.divergence.hung
    assert report.divergence.program.steps[-1].call == "complete"
    assert "does not end" in report.divergence.server["error"]
    assert check(own, examples=3).conforms


def test_a_script_that_never_ends_is_shown(capsys, folder):
    (folder / "claim2.lua").write_text(LOOP)
    assert main(["check", "--scripts", "claim2.lua", "--seed", "3"]) == 1
    out, _ = capsys.readouterr()
    assert "server  error: no answer within 1 s: the script does not end; the server was killed" in out
    assert "script claim2 (yours)" in out
    assert out.splitlines()[-1].startswith("DIVERGES: ")


@pytest.mark.parametrize("busy_ms", [100, 60_000])
def test_a_script_that_never_ends_on_a_server_of_others(own, client, folder, busy_ms):
    """Nothing is killed there; the keys that stay are listed."""
    client.config_set("busy-reply-threshold", busy_ms)
    save(folder, *CLAIMED_AND_COMPLETED)
    began = time.monotonic()
    report = check(own.url, scripts=WROTE_AND_LOOPS, seed=SEED, timeout=0.5, folder=folder)
    assert time.monotonic() - began < 10
    program = report.divergence.program if busy_ms == 100 else report.program
    assert [step.call for step in program.steps] == ["enqueue", "claim", "complete"]
    if busy_ms == 100:
        assert report.divergence.hung
        assert "keeps the server busy" in report.divergence.server["error"]
    else:
        assert "no answer" in report.failure
    rows = [key for key in report.left if key.endswith(f":job:{JOB}")]
    assert rows
    assert all(key.startswith("emq:{emqsim-") for key in report.left)


# The server dies, restarts, is slow, hangs up.


def test_the_server_dies(own):
    report = check(
        own, examples=100, seed=SEED, progress=lambda programs, steps: programs == 3 and own.stop()
    )
    assert (report.programs, report.conforms, report.divergence) == (3, False, None)
    assert "no connection" in report.failure


def test_the_server_of_others_dies_in_the_middle_of_a_program(own, folder, capsys):
    def kill(number, request):
        if number == 60:
            own.stop()

    with proxy(socket_path(own), kill) as url:
        assert main(["check", "--server", url, "--seed", "3", "--timeout", "1"]) == 2
    out, err = capsys.readouterr()
    assert "the program so far" in out
    assert "keys that may stay on the server" in out
    assert out.splitlines()[-1].startswith("FAILED: ")
    assert "Traceback" not in out + err


def test_the_server_restarts_with_an_empty_script_cache(own):
    """A program that was under way begins anew, in another queue."""
    started = []

    def restart(number, request):
        if number == 60:
            path = socket_path(own)
            own.stop()
            os.mkdir(os.path.dirname(path))
            command = [
                own.binary,
                "--port",
                "0",
                "--unixsocket",
                path,
                "--save",
                "",
                "--dir",
                os.path.dirname(path),
            ]
            started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
            late = time.monotonic() + 10
            with socket.socket(socket.AF_UNIX) as probe:
                while probe.connect_ex(path):
                    assert time.monotonic() < late

    try:
        with proxy(socket_path(own), restart) as url:
            report = check(url, examples=20, seed=SEED)
        assert started
        assert report.conforms, report.failure or report.divergence
        assert report.programs == 20
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_the_script_cache_is_emptied_between_programs(server):
    client = server.client()
    for where in (server.url, server):
        report = check(where, examples=6, seed=SEED, progress=lambda programs, steps: client.script_flush())
        assert report.conforms, report.divergence
    client.close()


def test_the_script_cache_is_emptied_in_the_middle_of_a_program(server):
    client = server.client()
    with proxy(
        socket_path(server), lambda number, request: number % 200 == 0 and client.script_flush()
    ) as url:
        report = check(url, examples=6, seed=SEED)
    assert report.conforms, report.divergence or report.failure
    client.close()


def test_connections_that_are_closed_while_idle(server):
    client = server.client()

    def close(programs, steps):
        for kind in ("normal", "pubsub"):
            client.client_kill_filter(_type=kind, skipme=True)

    for where in (server.url, server):
        report = check(where, examples=6, seed=SEED, progress=close)
        assert report.conforms, report.failure
        assert report.programs == 6
    client.close()


def test_a_slow_server(server):
    pause = threading.Event()
    with proxy(socket_path(server), lambda number, request: pause.wait(0.01)) as url:
        report = check(url, examples=3, seed=SEED)
    assert report.conforms, report.failure


def test_a_server_that_stops_answering(own):
    silent = threading.Event()

    def stop(number, request):
        if number > 60:
            silent.wait(60)

    with proxy(socket_path(own), stop) as url:
        began = time.monotonic()
        report = check(url, examples=20, seed=SEED, timeout=0.3)
        assert time.monotonic() - began < 10
        silent.set()
    assert "no answer" in report.failure
    assert report.program.steps
    assert report.left


# The server refuses.


def test_an_unknown_user(own, capsys, folder):
    url = own.url.replace("unix://", "unix://bob:s3cret@")
    assert main(["check", "--server", url]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "invalid username-password pair" in err
    assert "s3cret" not in err


@pytest.mark.parametrize("denied", ["-@all", "-evalsha", "-scan", "-psubscribe"])
def test_a_user_who_may_not_do_what_the_check_does(own, client, capsys, folder, denied):
    client.execute_command("ACL", "SETUSER", "eve", "on", ">pw", "~*", "&*", "+@all", denied)
    url = own.url.replace("unix://", "unix://eve:pw@")
    assert main(["check", "--server", url, "--examples", "5"]) == 2
    out, err = capsys.readouterr()
    assert "permission" in out + err
    assert "Traceback" not in out + err
    assert client.dbsize() == 0


@both
def test_an_acl_that_stops_a_script_half_way(own, client, folder, capsys):
    """Lua has no rollback: the entry is out of active, the row is still there."""
    client.execute_command("ACL", "SETUSER", "eve", "on", ">pw", "~*", "&*", "+@all", "-zadd")
    save(folder / ".emqsim", *CLAIMED_AND_COMPLETED)
    client.execute_command("ACL", "SETUSER", "eve", "+zadd", "-hincrby")
    save(folder / ".emqsim", ("enqueue", JOB, "a"), ("claim", 10))
    url = own.url.replace("unix://", "unix://eve:pw@")
    report = check(url, folder=".emqsim")
    found = report.divergence
    assert "does not let this user" in report.failure
    assert "error" in found.server
    assert not found.changed_nothing
    (pending,) = [key for key in found.before if key.endswith(":pending")]
    assert pending not in found.after_server
    assert main(["check", "--server", url]) == 2
    out, _ = capsys.readouterr()
    assert "Lua has no rollback, so what it had written until then stays" in out
    assert "this says something about the server and not about the scripts" in out
    assert client.dbsize() == 0


@both
def test_a_wrong_typed_key_in_the_way(own, client, folder):
    """Somebody else makes a text where the counter should be, just before complete."""
    save(folder, *CLAIMED_AND_COMPLETED)
    sha = ServerQueue("q", client, clock=VirtualClock()).scripts["complete"].sha.encode()

    def meddle(number, request):
        if sha in request and b"EVALSHA" in request:
            base = b"emq:" + request.split(b"emq:")[1].split(b":")[0]
            client.set(base + b":metrics:completed", "x")

    with proxy(socket_path(own), meddle) as url:
        report = check(url, folder=folder)
    found = report.divergence
    assert report.failure is None
    assert found.program.steps[-1].call == "complete"
    assert "WRONGTYPE" in found.server["error"]
    assert not any(key.endswith((":active", f":job:{JOB}")) for key in found.after_server)
    assert client.dbsize() == 0


@both
def test_a_full_server_refuses_the_first_write(own, client, folder, capsys):
    client.config_set("maxmemory", 1)
    report = check(own.url, seed=SEED)
    assert "the server is full" in report.failure
    assert report.divergence.server["error"].startswith("OOM ")
    assert report.divergence.changed_nothing
    assert main(["check", "--server", own.url]) == 2
    assert "the script ended in an error before it changed anything" in capsys.readouterr().out


# The script is not consistent.


def test_a_difference_that_does_not_show_again_is_none_that_conforms(valkey_server):
    """This script does what it should as soon as somebody has asked for the type of a key."""
    asked = "string.find(redis.call('INFO', 'commandstats'), 'cmdstat_type:', 1, true)"
    fickle = bundled_scripts()["update_data"].replace("return 1", f"return {asked} and 1 or 2")
    with embedded_server() as fresh:
        report = check(fresh, scripts={"update_data": fickle}, seed=SEED)
    assert not report.conforms
    assert report.divergence.program.steps[-1].call == "update_data"
    assert "seen once" in report.divergence.note
    assert (report.divergence.model, report.divergence.server) == (
        {"ok": None},
        {"error": "unexpected reply 2"},
    )


# The disk, and the user.


def test_a_folder_that_cannot_be_written(folder, capsys):
    (folder / ".emqsim").write_text("in the way")
    (folder / "retry.lua").write_text(changed(*PLANTED["retry uses > for max attempts"])["retry"])
    assert main(["check", "--scripts", "retry.lua", "--seed", "3"]) == 1
    out, _ = capsys.readouterr()
    assert "the program could not be saved: " in out
    assert "script retry (yours)" in out


def test_a_saved_trace_that_cannot_be_read(folder, capsys):
    (folder / ".emqsim" / "a.jsonl").mkdir(parents=True)
    (folder / ".emqsim" / "b.jsonl").write_text(
        '{"emqsim": "trace", "version": 1, "queue": "q", "dialect": "wire4"}\n'
        '{"now_us": 0, "call": "claim", "args": [-1]}\n'
    )
    assert main(["check", "--examples", "3"]) == 0
    assert capsys.readouterr().out.count("left out, no program that can be run: ") == 2


@pytest.mark.parametrize("moment", ["the server starts", "programs run"])
def test_ctrl_c(tmp_path, moment):
    """No traceback, no process and no file stays."""
    late = time.monotonic() + 20
    with long_check(tmp_path) as (running, places):
        while not _is_at(places, moment):
            assert time.monotonic() < late
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
    was_interrupted(running, out, err)
    while list(places.iterdir()):
        assert time.monotonic() < late
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_being_asked_to_end_is_as_ctrl_c(tmp_path):
    with long_check(tmp_path) as (running, places):
        while not _is_at(places, "programs run"):
            assert running.poll() is None
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=20)
    assert (running.returncode, out, err) == (143, "", "interrupted\n")
    assert list(places.iterdir()) == []


def _is_at(places, moment):
    folders = [
        folder for folder in places.iterdir() if moment == "the server starts" or (folder / "s").exists()
    ]
    if moment == "the server starts" or not folders:
        return bool(folders)
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(folders[0] / "s")):
            return False
        probe.sendall(b"DBSIZE\r\n")
        return probe.recv(100) not in (b"", b":0\r\n")


def test_two_runs_at_once_in_one_folder(folder):
    (folder / "retry.lua").write_text(changed(*PLANTED["retry uses > for max attempts"])["retry"])
    command = [sys.executable, "-m", "emqsim", "check", "--scripts", "retry.lua", "--seed", "3", "--json"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert (run.returncode, err) == (1, b"")
        assert json.loads(out)["divergence"]["trace"]
    for path in (folder / ".emqsim").iterdir():
        assert path.suffix == ".jsonl"
        assert trace.read(path)[1] is None
