"""Queues from snapshots: any state of the machine's keys goes in, anything else is refused by name."""

import re

import pytest
from hypothesis import given

from emqsim import Queue, VirtualClock
from emqsim.ids import encode
from emqsim.strategies import programs, queues
from emqsim.trace import perform

A, B = encode("JOB", 1), encode("JOB", 2)
ROW = {"state": b"pending", "attempts": b"0", "payload": b"x"}


@given(queues(faults=True), programs())
def test_a_queue_from_a_snapshot_is_equal_and_goes_on_alike(queue, program):
    snapshot = queue.snapshot()
    twin = Queue.from_snapshot(snapshot, clock=queue.clock.copy(), name=queue.name)
    assert twin == queue
    for step in program.steps:
        for each in (queue, twin):
            each.clock.set(now_us=step.now_us)
        assert perform(queue, step.call, step.args) == perform(twin, step.call, step.args)
    assert twin == queue


def test_every_kind_of_key_is_taken():
    snapshot = {
        "emq:{q}:pending": [(A, 0.0), (B, 0.0)],
        "emq:{q}:active": [(B, 5.0), (A, 7.5)],
        "emq:{q}:schedule": [(A, float("inf"))],
        "emq:{q}:dead": [("ORD00000000001", 0.0)],
        f"emq:{{q}}:job:{A}": {**ROW, "stalled": b"-3", "anything": b"\xff"},
        f"emq:{{q}}:job:{B}": {"state": b"active"},
        f"emq:{{q}}:job:{A}:logs": [b"one", b"two"],
        f"emq:{{q}}:job:{B}:lock": b"somebody",
        "emq:{q}:meta": {"paused": b"1", "concurrency": b"2", "version": b"3"},
        "emq:{q}:metrics:completed": {"count": b"12"},
        "emq:{q}:de:a:b": A.encode(),
        "emq:{q}:de:": B.encode(),
    }
    queue = Queue.from_snapshot(snapshot, dialect="wire3")
    assert queue.name == "q"
    assert queue.snapshot() == snapshot
    assert queue.paused
    assert queue.get_metrics("completed") == 12
    assert queue.get_deduplication_job_id("a:b") == A


def test_members_are_sorted_and_the_input_is_not_kept():
    members, row = [(B, 0), (A, 0)], dict(ROW)
    queue = Queue.from_snapshot({"emq:{q}:pending": members, f"emq:{{q}}:job:{A}": row})
    members.clear()
    row.clear()
    assert queue.pending == [(A, 0.0), (B, 0.0)]
    assert queue.rows[A] == ROW


def test_text_and_lists_as_json_has_them_are_taken():
    queue = Queue.from_snapshot({"emq:{q}:active": [[A, 5]], f"emq:{{q}}:job:{A}": {"payload": "é"}})
    assert queue.active == [(A, 5.0)]
    assert queue.rows[A] == {"payload": "é".encode()}


def test_an_empty_snapshot_needs_a_name():
    with pytest.raises(ValueError, match="name must be given for a snapshot without keys"):
        Queue.from_snapshot({})
    assert Queue.from_snapshot({}, name="q") == Queue("q")


def test_history_starts_after_the_snapshot():
    queue = Queue.from_snapshot({"emq:{q}:pending": [(A, 0.0)]}, clock=VirtualClock(), history=True)
    assert queue.history(A) == []
    queue.claim(10)
    assert [event.left for event in queue.history(A)] == [("pending",)]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("pending", [(A, 0.0)], "not a key of a queue"),
        ("emq:{q}:ring", b"x", "no key that the machine has"),
        ("emq:{q}:events", b"x", "no key that the machine has"),
        ("emq:{q}:metrics:lost", {"count": b"1"}, "no key that the machine has"),
        ("emq:{q}:pending", [], "must be a list that is not empty, not []"),
        ("emq:{q}:pending", ("stream",), "must be a list that is not empty, not ('stream',)"),
        ("emq:{q}:pending", [A], f"a member is a pair of id and score, not '{A}'"),
        ("emq:{q}:pending", [(A, 1.0)], f"the score of '{A}' must be 0 in pending, not 1.0"),
        ("emq:{q}:active", [(A, float("nan"))], f"the score of '{A}' must be a number, not nan"),
        ("emq:{q}:active", [(A, True)], f"the score of '{A}' must be a number, not True"),
        ("emq:{q}:active", [(A, 10**400)], "too large"),
        ("emq:{q}:active", [(A, 1.0), (A, 2.0)], f"'{A}' stands twice"),
        ("emq:{q}:active", [("somebody", 1.0)], "not a well-formed id: 'somebody'"),
        ("emq:{q}:job:somebody", ROW, "job_id is not a well-formed id: 'somebody'"),
        (f"emq:{{q}}:job:{A}", {}, "must be a mapping of fields that is not empty, not {}"),
        (f"emq:{{q}}:job:{A}", b"x", "must be a mapping of fields"),
        (f"emq:{{q}}:job:{A}", {"payload": 5}, "the value must be a str or bytes, not 5"),
        (f"emq:{{q}}:job:{A}", {"attempts": b"01"}, "attempts must be a decimal integer, not b'01'"),
        (f"emq:{{q}}:job:{A}", {"attempts": b"1.5"}, "attempts must be a decimal integer"),
        (f"emq:{{q}}:job:{A}", {"attempts": b"%d" % 2**60}, "attempts must be within"),
        (f"emq:{{q}}:job:{A}", {"stalled": b"many"}, "stalled must be a decimal integer, not b'many'"),
        (f"emq:{{q}}:job:{A}:logs", {"a": b"b"}, "must be a list that is not empty"),
        (f"emq:{{q}}:job:{A}:lock", [b"1"], "the value must be a str or bytes"),
        (f"emq:{{q}}:job:{A}:other", b"1", "no key that the machine has"),
        ("emq:{q}:meta", {"concurrency": b"lots"}, "concurrency must be a decimal integer, not b'lots'"),
        ("emq:{q}:metrics:failed", {"total": b"1"}, "a counter has the field count alone, not total"),
        ("emq:{q}:de:order", b"somebody", "not a well-formed id: 'somebody'"),
    ],
)
def test_anything_else_is_refused_with_the_key_and_the_reason(key, value, reason):
    with pytest.raises(ValueError, match=re.escape(f"snapshot: {key!r}: ") + ".*" + re.escape(reason)):
        Queue.from_snapshot({key: value})


def test_a_key_of_another_queue_is_refused():
    with pytest.raises(ValueError, match=re.escape("snapshot: 'emq:{r}:meta': not a key of this queue")):
        Queue.from_snapshot({"emq:{q}:meta": {"paused": b"1"}, "emq:{r}:meta": {"paused": b"1"}})


def test_what_is_no_mapping_is_a_type_error():
    with pytest.raises(TypeError, match="snapshot must be a mapping"):
        Queue.from_snapshot([("emq:{q}:pending", [])])
