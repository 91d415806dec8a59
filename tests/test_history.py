"""Histories and recordings: what happened to a job, and what happened in a block."""

import pytest
from hypothesis import given, settings

from emqsim import Claimed, JobGone, Queue, StaleToken, VirtualClock, trace
from emqsim.history import OUTSIDER, Enqueued, Settled
from emqsim.keys import SETS
from emqsim.server import ServerQueue
from emqsim.strategies import programs, queues
from emqsim.trace import perform


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def queue(clock):
    return Queue("q", clock=clock, history=True)


def told(events):
    return [(event.call, event.answer, event.left, event.entered, event.token) for event in events]


def test_a_history_has_time_call_answer_sets_and_token(queue, clock):
    start_ms = clock.now_ms
    job_id, other = clock.mint(), clock.mint()
    queue.enqueue(job_id, "x")
    queue.enqueue(other, "y")
    queue.claim(lease_ms=1_000)
    clock.advance(ms=1_500)
    queue.sweep_stalled(max_stalled=2)
    queue.claim(lease_ms=1_000)
    with pytest.raises(StaleToken):
        queue.complete(job_id, 1)
    queue.retry(job_id, 2, 500, 2, "boom")
    queue.reprocess_job(job_id)
    events = queue.history(job_id)
    assert told(events) == [
        ("enqueue", {"ok": "enqueued"}, (), ("pending",), None),
        ("claim", {"ok": [job_id, "x", 1]}, ("pending",), ("active",), 1),
        ("sweep_stalled", {"ok": [[job_id], []]}, ("active",), ("pending",), None),
        ("claim", {"ok": [job_id, "x", 2]}, ("pending",), ("active",), 2),
        ("complete", {"refused": "EMQSTALE complete token mismatch"}, (), (), 1),
        ("retry", {"ok": "dead"}, ("active",), ("dead",), 2),
        ("reprocess_job", {"ok": None}, ("dead",), ("pending",), None),
    ]
    assert [event.now_ms - start_ms for event in events] == [0, 0, 1_500, 1_500, 1_500, 1_500, 1_500]
    assert [event.call for event in queue.history(other)] == ["enqueue"]


def test_a_history_reads_as_a_timeline(queue, clock):
    job_id = clock.mint()
    queue.enqueue(job_id, "one pizza")
    queue.claim(30_000)
    clock.advance(ms=31_000)
    queue.reap()
    queue.extend_lock(job_id, 1, 1_000)
    queue.complete(job_id, 1)
    queue.claim(30_000)
    assert str(queue.history(job_id)).splitlines() == [
        f"{job_id} from 2024-01-01 00:00:00.000 UTC (1704067200000 ms)",
        "  +0.000 s   enqueue payload='one pizza': enqueued  into pending",
        "  +0.000 s   claim lease_ms=30000: token 1          pending -> active; lease until +30.000 s",
        "  +31.000 s  reap: 1                                active -> pending; lease ran out at +30.000 s",
        "  +31.000 s  extend_lock token=1 lease_ms=1000: ok  into active; lease until +32.000 s; "
        "now in pending and active at once",
        "  +31.000 s  complete token=1: ok                   out of active; the row is gone, the id still in pending",
        "  +31.000 s  claim lease_ms=30000: none             out of pending; dropped: it had no row",
    ]
    assert str(queue.history(clock.mint())) == "nothing happened to this job"


def test_each_job_of_a_batch_has_its_own_answer(queue, clock):
    first, second, foreign = clock.mint(), clock.mint(), clock.mint("ORD")
    queue.enqueue(second, "y")
    queue.enqueue_many(iter([(first, "x"), (second, "y"), (foreign, "z")]))
    queue.claim_batch(2, 1_000)
    assert queue.extend_locks(iter([(first, 1), (second, 9)]), 1_000) == [second]
    assert [event.answer for event in queue.history(first)] == [
        {"ok": "enqueued"},
        {"ok": [[first, "x", 1], [second, "y", 1]]},
        {"ok": [second]},
    ]
    assert queue.history(second)[1].answer == {"ok": "duplicate"}
    assert queue.history(foreign)[0].answer == {"refused": "EMQKIND job id must be JOB-namespaced"}
    assert [event.token for event in queue.history(second)] == [None, None, 1, 9]
    assert "extend_locks lease_ms=1000: not extended" in str(queue.history(second))


def test_a_bad_argument_is_no_event(queue, clock):
    job_id = clock.mint()
    with pytest.raises(TypeError):
        queue.enqueue(job_id, 5)
    with pytest.raises(TypeError):
        queue.enqueue(job_id)
    assert queue.history(job_id) == []


def test_arguments_by_name_stand_by_position(queue, clock):
    job_id = clock.mint()
    queue.enqueue(payload="x", job_id=job_id)
    queue.configure(rate_max=5)
    assert queue.history(job_id)[0].args == (job_id, "x")


def test_without_history_the_question_is_refused_and_calls_are_the_class_s_own(clock):
    queue = Queue("q", clock=clock)
    with pytest.raises(ValueError, match="no history is kept of queue 'q': make it with history=True"):
        queue.history(clock.mint())
    assert type(queue) is Queue
    with queue.recording():
        assert type(queue) is not Queue
        assert isinstance(queue, Queue)
    assert type(queue) is Queue


def test_a_copy_has_no_part_in_the_history(queue, clock):
    job_id = clock.mint()
    queue.copy().enqueue(job_id, "x")
    assert queue.history(job_id) == []


@given(queues(faults=True))
def test_a_history_adds_up_to_where_the_jobs_are(queue):
    for job_id in queue._kept.job_ids():
        held = set()
        for event in queue.history(job_id):
            assert held.isdisjoint(event.entered)
            assert held.issuperset(event.left)
            held = (held - set(event.left)) | set(event.entered)
            assert held == set(event.held_by)
        assert held == {which for which in SETS if job_id in dict(queue.snapshot().get(queue.key(which), []))}


@given(programs())
@settings(max_examples=40, deadline=None)
def test_a_history_changes_no_answer_and_is_the_same_on_a_server(valkey_server, program):
    silent = Queue("q")
    heard = Queue("q", history=True)
    on_server = ServerQueue("q", valkey_server.client(), clock=VirtualClock(), history=True)
    try:
        for step in program.steps:
            answers = []
            for queue in (silent, heard, on_server):
                queue.clock.set(now_us=step.now_us)
                answers.append(perform(queue, step.call, step.args))
            assert answers[0] == answers[1] == answers[2]
        assert silent == heard
        assert on_server._kept.job_ids() == heard._kept.job_ids()
        for job_id in heard._kept.job_ids():
            assert on_server.history(job_id) == heard.history(job_id)
            assert str(on_server.history(job_id)) == str(heard.history(job_id))
    finally:
        on_server.erase()
        on_server.close()


def test_on_a_server_others_show_up_as_outside(valkey_server, clock):
    queue = ServerQueue("o", valkey_server.client(), clock=clock, history=True)
    somebody = ServerQueue("o", valkey_server.client(), clock=clock)
    job_id = clock.mint()
    queue.enqueue(job_id, "x")
    somebody.claim(lease_ms=1_000)
    queue.promote(1)
    assert told(queue.history(job_id))[1:] == [(OUTSIDER, {"ok": None}, ("pending",), ("active",), None)]
    assert "somebody outside" in str(queue.history(job_id))
    for each in (queue, somebody):
        each.erase()
        each.close()


def test_a_recording_tells_what_was_enqueued_claimed_and_settled(clock):
    queue = Queue("q", clock=clock)
    ids = [clock.mint() for _ in range(6)]
    queue.enqueue(ids[0], "before")
    with queue.recording() as seen:
        queue.enqueue(ids[0], "duplicate")
        queue.enqueue_many([(ids[1], "b"), (ids[1], "again"), (ids[2], b"\xff")])
        queue.enqueue_in(ids[3], "d", 500)
        queue.enqueue_at(ids[4], "e", 7)
        claims = queue.claim_batch(3, 1_000)
        queue.complete(ids[0], 1)
        with pytest.raises(JobGone):
            queue.complete(ids[0], 1)
        queue.retry(ids[1], 1, 10, 3, "boom")
        queue.delay(ids[2], 1, 10)
    queue.enqueue(ids[5], "after")
    assert seen.enqueued == [
        Enqueued(ids[1], b"b", None),
        Enqueued(ids[2], b"\xff", None),
        Enqueued(ids[3], b"d", clock.now_ms + 500),
        Enqueued(ids[4], b"e", 7),
    ]
    assert seen.claimed == claims == [Claimed(ids[0], b"before", 1), *claims[1:]]
    assert seen.settled == [
        Settled(ids[0], 1, "completed"),
        Settled(ids[1], 1, "scheduled"),
        Settled(ids[2], 1, "delayed"),
    ]


@given(programs())
def test_a_saved_recording_is_a_trace_that_gives_the_same_answers(tmp_path_factory, program):
    queue = Queue("q")
    with queue.recording() as seen:
        for step in program.steps:
            queue.clock.set(now_us=step.now_us)
            perform(queue, step.call, step.args)
    path = tmp_path_factory.getbasetemp() / "seen.jsonl"
    seen.save(path)
    (read,), cut = trace.read(path)
    again = Queue(read.queue, dialect=read.dialect)
    assert cut is None
    assert read.note == ""
    for step in read.steps:
        again.clock.set(now_us=step.now_us)
        assert perform(again, step.call, step.args) == step.answer
    assert len(read.steps) == len(program.steps)
    assert again.snapshot() == queue.snapshot()


def test_a_recording_of_a_queue_that_was_not_empty_says_so(clock, tmp_path):
    queue = Queue("q", clock=clock)
    queue.enqueue(clock.mint(), "x")
    with queue.recording() as seen:
        queue.claim(1_000)
    seen.save(tmp_path / "seen.jsonl")
    ((program,), _) = trace.read(tmp_path / "seen.jsonl")
    assert program.note == "recorded on a queue that was not empty when it began"


def test_recordings_nest(clock):
    queue = Queue("q", clock=clock)
    with queue.recording() as outer:
        queue.enqueue(clock.mint(), "x")
        with queue.recording() as inner:
            queue.enqueue(clock.mint(), "y")
        queue.enqueue(clock.mint(), "z")
    assert (len(outer.enqueued), len(inner.enqueued)) == (3, 1)


def test_a_recording_notes_what_a_server_never_answers_on_the_model(valkey_server, clock):
    client = valkey_server.client()
    queue = ServerQueue("w", client, clock=clock)
    client.set(queue.key("pending"), "not a sorted set")
    with pytest.raises(Exception, match="WRONGTYPE"):
        queue.pending_size()
    client.delete(queue.key("pending"))
    with queue.recording() as seen:
        client.set(queue.key("pending"), "not a sorted set")
        with pytest.raises(Exception, match="WRONGTYPE"):
            queue.claim(1_000)
    assert "WRONGTYPE" in seen.steps[0].answer["error"]
    queue.erase()
    queue.close()
    client.close()
