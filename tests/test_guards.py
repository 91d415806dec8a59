"""Bad arguments: a clear error that names the argument and the value, and nothing happens."""

import pytest

from emqsim import InvalidJobId, Queue, VirtualClock
from emqsim.server import ServerQueue

A = "JOB00000000001"
GOOD = {
    "enqueue": {"job_id": A, "payload": b""},
    "enqueue_at": {"job_id": A, "payload": b"", "run_at_ms": 1},
    "enqueue_in": {"job_id": A, "payload": b"", "delay_ms": 1},
    "enqueue_many": {"pairs": [(A, b"")]},
    "claim": {"lease_ms": 1},
    "claim_batch": {"size": 1, "lease_ms": 1},
    "complete": {"job_id": A, "token": 1},
    "retry": {"job_id": A, "token": 1, "delay_ms": 1, "max_attempts": 1, "error": ""},
    "delay": {"job_id": A, "token": 1, "delay_ms": 1},
    "delay_until": {"job_id": A, "token": 1, "run_at_ms": 1},
    "promote": {"batch": 1},
    "sweep_stalled": {"max_stalled": 1, "limit": 1},
    "extend_lock": {"job_id": A, "token": 1, "lease_ms": 1},
    "extend_locks": {"held": [(A, 1)], "lease_ms": 1},
    "reprocess_job": {"job_id": A},
    "browse": {"n": 1},
    "update_data": {"job_id": A, "payload": b""},
    "update_progress": {"job_id": A, "progress": b""},
    "add_log": {"job_id": A, "line": b"", "keep": 0},
    "get_job_logs": {"job_id": A},
    "remove_job": {"job_id": A, "dedup_id": "d"},
    "drain": {"include_schedule": False},
    "obliterate": {"force": False, "budget": 1},
    "get_job": {"job_id": A},
    "get_job_state": {"job_id": A},
    "get_metrics": {"which": "failed"},
    "get_deduplication_job_id": {"dedup_id": "d"},
    "drop_row": {"job_id": A},
    "drop_member": {"which": "dead", "job_id": A},
    "hold_lock": {"job_id": A},
    "lock_row": {"job_id": A},
    "park_dedup": {"job_id": A, "dedup_id": "d"},
    "configure": {"concurrency": 1, "rate_max": 1},
}
"""Every call with arguments, each of them good."""

INT64 = [2**63, -(2**63) - 1]
BAD_VALUES = {
    "job_id": ["", "JOB", "JOBzzzzzzzzzzz", "job00000000000"],
    "lease_ms": [0, -1, *INT64],
    "size": [0, -1, 2**53 + 1],
    "batch": [0, -1, 2**53 + 1],
    "n": [0, -1, 2**53 + 1],
    "limit": [0, -1, 2**53 + 1],
    "budget": [0, -1, 2**53 + 1],
    "keep": [-1, 2**53 + 1],
    "token": INT64,
    "run_at_ms": INT64,
    "delay_ms": INT64,
    "max_attempts": INT64,
    "max_stalled": INT64,
    "concurrency": INT64,
    "rate_max": INT64,
    "which": ["", "scheduled"],
    "payload": ["\ud800"],
    "dedup_id": ["\ud800"],
    "pairs": [[("nope", b"")], [(A, b""), (A, "\ud800")]],
    "held": [[("nope", 1)], [(A, 2**63)]],
}
BAD_TYPES = {
    "job_id": [None, 1, A.encode()],
    "pairs": [None, 5, "ab", [A], [(A,)], [(A, b"", 1)], [(A, 1)], [(A.encode(), b"")]],
    "held": [None, "ab", [(A, "1")], [(A, True)], [(1, 1)], [5]],
    **dict.fromkeys(["payload", "error", "progress", "line"], [None, 1, bytearray(b"x"), ["a"]]),
    **dict.fromkeys(["which", "dedup_id"], [1, b"dead"]),
    **dict.fromkeys(["include_schedule", "force"], [0, 1, "force", None]),
    **dict.fromkeys(["lease_ms", "size", "batch", "n", "limit", "budget", "keep"], [None, "1", 1.0, True]),
    **dict.fromkeys(
        ["token", "run_at_ms", "delay_ms", "max_attempts", "max_stalled"], [None, "1", 1.5, False]
    ),
    **dict.fromkeys(["concurrency", "rate_max"], ["1", 1.5, True]),
}
CASES = [
    pytest.param(call, argument, value, error, id=f"{call}-{argument}-{value!r:.40}")
    for values, error in ((BAD_VALUES, ValueError), (BAD_TYPES, TypeError))
    for call, good in GOOD.items()
    for argument in good
    for value in values.get(argument, [])
]


@pytest.fixture(scope="module")
def queues(valkey_server):
    """A queue on the model and the same on a server, with a job each."""
    clock = VirtualClock()
    both = Queue("guards", clock=clock), ServerQueue("guards", valkey_server.client(), clock=clock)
    for queue in both:
        queue.drop_row(A)
        queue.enqueue(A, b"payload")
    return both


@pytest.mark.parametrize(("call", "argument", "value", "error"), CASES)
def test_a_bad_argument(queues, call, argument, value, error):
    for queue in queues:
        before = queue.snapshot()
        with pytest.raises(error) as refused:
            getattr(queue, call)(**GOOD[call] | {argument: value})
        assert argument in str(refused.value) or isinstance(value, list)
        if not isinstance(value, list):
            assert repr(value) in str(refused.value)
        assert queue.snapshot() == before


def test_every_argument_is_tried():
    tried = {argument for good in GOOD.values() for argument in good}
    assert tried <= set(BAD_TYPES) | set(BAD_VALUES)


def test_enqueue_in_takes_no_negative_delay():
    with pytest.raises(ValueError, match=r"delay_ms .*-1"):
        Queue("q").enqueue_in(A, b"", -1)


def test_an_ill_formed_id_is_no_refusal_of_the_queue():
    with pytest.raises(InvalidJobId) as refused:
        Queue("q").complete("nope", 1)
    assert isinstance(refused.value, ValueError)
    assert not hasattr(refused.value, "wire")


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"name": 5}, TypeError, "name"),
        ({"name": "q", "clock": 5}, TypeError, "clock"),
        ({"name": "q", "dialect": "wire5"}, ValueError, "wire5"),
        ({"name": "q", "dialect": None}, TypeError, "dialect"),
    ],
)
def test_a_bad_queue(arguments, error, named):
    with pytest.raises(error, match=named):
        Queue(**arguments)
