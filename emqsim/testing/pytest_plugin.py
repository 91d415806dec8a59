"""The pytest plugin: fixtures that run on the model or on a real server, and failures that show the queue.

    emq_clock           a VirtualClock, the one clock of the test
    emq_queue           a queue on it, fresh for each test
    emq_queue_factory   makes more queues on the same clock: emq_queue_factory("orders")
    emq_consumer        makes a Consumer on emq_queue: emq_consumer(handler, lease_ms=5_000)

`pytest --emqsim-server=model` (the default), `embedded`, or a URL says where the queues are. On a server each
queue has a name of its own and its keys are deleted after the test. The marker `emqsim` sets the options of one
test, class or module:

    @pytest.mark.emqsim(only="model")         skip it on a server; only="server" skips it on the model
    @pytest.mark.emqsim(dialect="wire3")      of emq_queue, and of what emq_queue_factory makes
    @pytest.mark.emqsim(now_ms=0)             where emq_clock starts, Unix ms
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest

from emqsim import Consumer, Dialect, Queue, VirtualClock, guards
from emqsim.base import BaseQueue
from emqsim.errors import QueueError

if TYPE_CHECKING:
    from emqsim.consumer import Handler

MODEL, EMBEDDED = "model", "embedded"
SCHEMES = ("redis://", "rediss://", "valkey://", "valkeys://", "unix://")

TIMELINES = 5
"""How many jobs have their timelines shown when a test fails."""

Reporting = Generator[None, pytest.TestReport, pytest.TestReport]

_SERVER = pytest.StashKey[Any]()
"""In the config: a client of the server, once it was needed."""
_QUEUES = pytest.StashKey[dict[str, BaseQueue]]()
"""In a test: the queues that were made for it, by the names they were asked for."""


# Options and markers, checked before the first test runs.


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("emqsim").addoption(
        "--emqsim-server",
        default=MODEL,
        metavar="WHERE",
        help="where the queues of the emq_ fixtures are: model (the default), embedded, or a server's URL",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "emqsim(only='model' or 'server', dialect='wire4', now_ms=…): options of the emq_ fixtures",
    )
    where = config.getoption("--emqsim-server")
    if where not in (MODEL, EMBEDDED) and not where.startswith(SCHEMES):
        raise pytest.UsageError(
            f"--emqsim-server must be model, embedded or a URL ({', '.join(SCHEMES)}), not {where!r}"
        )


def _only(value: Any) -> None:
    guards.choice(value, "only", (MODEL, "server"))


def _dialect(value: Any) -> None:
    guards.choice(value, "dialect", tuple(Dialect))


def _now_ms(value: Any) -> None:
    VirtualClock(now_ms=value)


_OPTIONS: Mapping[str, Callable[[Any], None]] = {"only": _only, "dialect": _dialect, "now_ms": _now_ms}
"""The options of the marker, each with what checks it."""


def _options(item: pytest.Item) -> dict[str, Any]:
    """The options of a test; the closest marker wins."""
    options: dict[str, Any] = {}
    for marker in item.iter_markers("emqsim"):
        options = {**marker.kwargs, **options}
    return options


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    on_model = config.getoption("--emqsim-server") == MODEL
    for item in items:
        for marker in item.iter_markers("emqsim"):
            _check_marker(item, marker)
        only = _options(item).get("only")
        if only is not None and (only == MODEL) is not on_model:
            where = "the model" if only == MODEL else "a server"
            item.add_marker(pytest.mark.skip(reason=f"only for {where} (--emqsim-server)"))


def _check_marker(item: pytest.Item, marker: pytest.Mark) -> None:
    try:
        if marker.args:
            raise TypeError(f"options are given by name ({', '.join(_OPTIONS)}), not {marker.args!r}")
        for name, value in marker.kwargs.items():
            if name not in _OPTIONS:
                raise TypeError(f"unknown option {name}={value!r}; there are {', '.join(_OPTIONS)}")
            _OPTIONS[name](value)
    except (TypeError, ValueError) as wrong:
        raise pytest.UsageError(f"{item.nodeid}: mark emqsim: {wrong}") from None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Reach the server before the first test, if one needs it: where there is none, that is one line."""
    needed = any("emq_queue_factory" in getattr(item, "fixturenames", ()) for item in session.items)
    if needed and not session.config.getoption("collectonly"):
        _client(session.config)


def _client(config: pytest.Config) -> Any:
    """A client of the server, started or reached when first asked for; `None` for the model."""
    where = config.getoption("--emqsim-server")
    if where == MODEL:
        return None
    if _SERVER not in config.stash:
        config.stash[_SERVER] = _connect(config, where)
    return config.stash[_SERVER]


def _connect(config: pytest.Config, where: str) -> Any:
    """A client that has had an answer, closed at the end of the run with the server that was started for it."""
    from emqsim.server import MissingExtra, OutcomeUnknown, ServerError, ServerUnavailable, embedded_server
    from emqsim.server.address import make_client, without_password
    from emqsim.server.connection import Connection

    with ExitStack() as stack:
        try:
            embedded = where == EMBEDDED
            client = stack.enter_context(embedded_server()).client() if embedded else make_client(where)
            stack.callback(client.close)
            probe = Connection(client)
            stack.callback(probe.close)
            probe.call("PING")
        except (MissingExtra, ServerUnavailable, OutcomeUnknown, ServerError, ValueError) as failed:
            raise pytest.UsageError(f"--emqsim-server={without_password(where)}: {failed}") from None
        config.add_cleanup(stack.pop_all().close)
    return client


# Fixtures.


@pytest.fixture
def emq_clock(request: pytest.FixtureRequest) -> VirtualClock:
    """The virtual clock of the test. It starts at 2024-01-01T00:00:00Z."""
    options = _options(request.node)
    return VirtualClock(now_ms=options["now_ms"]) if "now_ms" in options else VirtualClock()


@pytest.fixture
def emq_queue_factory(
    request: pytest.FixtureRequest, emq_clock: VirtualClock
) -> Iterator[Callable[..., BaseQueue]]:
    """Makes queues on the clock of the test: `emq_queue_factory(name="queue", *, dialect="wire4")`.

    Each has its history on. On a server the name has a prefix of its own, so that tests cannot meet.
    """
    options = _options(request.node)
    client = _client(request.config)
    queues = request.node.stash.setdefault(_QUEUES, {})
    prefix = f"emqsim-{secrets.token_hex(8)}-"

    def make(name: str = "queue", *, dialect: Dialect | str | None = None) -> BaseQueue:
        guards.text(name, "name")
        if name in queues:
            raise ValueError(f"name {name!r} is taken: this test has a queue of that name")
        settings: dict[str, Any] = {"clock": emq_clock, "history": True}
        settings["dialect"] = options.get("dialect", Dialect.WIRE4) if dialect is None else dialect
        if client is None:
            queues[name] = on_model = Queue(name, **settings)
            return on_model
        from emqsim.server import ServerQueue

        queues[name] = on_server = ServerQueue(prefix + name, client, **settings)
        stack.callback(on_server.close)
        stack.callback(on_server.erase)
        return on_server

    with ExitStack() as stack:
        yield make


@pytest.fixture
def emq_queue(emq_queue_factory: Callable[..., BaseQueue]) -> BaseQueue:
    """A queue on the clock of the test, fresh, with its history on."""
    return emq_queue_factory()


@pytest.fixture
def emq_consumer(emq_queue: BaseQueue) -> Callable[..., Consumer]:
    """Makes a `Consumer` on `emq_queue`: `emq_consumer(handler, lease_ms=30_000, …)`."""

    def make(handler: Handler, **options: Any) -> Consumer:
        return Consumer(emq_queue, handler, **options)

    return make


# What a failure shows.


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Of two queues, or two snapshots, only what differs."""
    if op != "==":
        return None
    if isinstance(left, Queue) and isinstance(right, Queue):
        ours = {"name": left.name, "dialect": left.dialect.value, "clock": left.clock.now_us}
        theirs = {"name": right.name, "dialect": right.dialect.value, "clock": right.clock.now_us}
        differs = [f"{what}: {ours[what]} != {theirs[what]}" for what in ours if ours[what] != theirs[what]]
        one, other = left.snapshot(), right.snapshot()
    elif _is_snapshot(left) and _is_snapshot(right):
        differs, one, other = [], left, right
    else:
        return None
    from emqsim.text import queues

    kind = "queues" if isinstance(left, Queue) else "snapshots"
    return [f"{kind} differ (- left, + right)", *differs, *queues.differences(one, other)]


def _is_snapshot(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and all(isinstance(key, str) and key.startswith("emq:{") for key in value)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Reporting:
    """Under a failed test, show its queues and the timelines of their jobs; a refusal is shown at
    the call that was refused, unless `--full-trace` wants more."""
    refused = call.excinfo is not None and isinstance(call.excinfo.value, QueueError)
    if call.excinfo is not None and refused and not item.config.getoption("fulltrace"):
        _end_at_the_call(call.excinfo)
    report = yield
    if report.failed and call.when == "call" and call.excinfo is not None:
        for queue in _queues(item, call.excinfo):
            report.sections.append((f"emqsim queue {queue.name}", _story(queue, str(report.longrepr))))
    return report


def _end_at_the_call(failure: pytest.ExceptionInfo[BaseException]) -> None:
    """Cut our own frames off the end of a traceback."""
    last, entry = failure.tb, failure.tb.tb_next
    while entry is not None:
        if not str(entry.tb_frame.f_globals.get("__name__")).startswith("emqsim."):
            last = entry
        entry = entry.tb_next
    last.tb_next = None


def _queues(item: pytest.Item, failure: pytest.ExceptionInfo[BaseException]) -> list[BaseQueue]:
    """The queues made for the test, those in its arguments, and those in the variables of its function."""
    found = [*item.stash.get(_QUEUES, {}).values(), *getattr(item, "funcargs", {}).values()]
    for entry in failure.traceback:
        if entry.path == item.path:
            found += entry.frame.f_locals.values()
    return list({id(queue): queue for queue in found if isinstance(queue, BaseQueue)}.values())


def _story(queue: BaseQueue, failure: str) -> str:
    """The queue, then what happened to the jobs that the failure names, or else to the last ones.
    The timelines that an assertion has told already are not repeated."""
    from emqsim.text import queues

    try:
        shown = queues.queue(queue)
    except Exception as failed:
        return f"{queue!r} cannot be read: {failed}"
    if queue._kept is None:
        return f"{shown}\nno timelines: the queue was not made with history=True"
    known = queue._kept.job_ids()
    told = [job_id for job_id in known if f"{job_id} from " in failure]
    chosen = [job_id for job_id in known if job_id in failure and job_id not in told]
    if not (told or chosen):
        chosen = known
    stories = [str(queue.history(job_id)) for job_id in chosen[-TIMELINES:]]
    left_out = [f"{len(chosen) - TIMELINES} more jobs have timelines"] if len(chosen) > TIMELINES else []
    return "\n\n".join([shown, *stories, *left_out])
