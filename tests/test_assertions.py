"""The assertions of `emqsim.testing`: what they take, and what they say instead."""

import re

import pytest

from emqsim import Queue, VirtualClock
from emqsim.testing import assert_empty, assert_enqueued, assert_job, refute_enqueued


@pytest.fixture
def queue():
    return Queue("q", history=True)


@pytest.fixture
def pending(queue):
    job_id = queue.clock.mint()
    queue.enqueue(job_id, "now")
    return job_id


@pytest.fixture
def scheduled(queue, pending):
    job_id = queue.clock.mint()
    queue.enqueue_in(job_id, "later", delay_ms=1_500)
    return job_id


def refused(assertion, *args, **wanted):
    with pytest.raises(AssertionError) as caught:
        assertion(*args, **wanted)
    return str(caught.value)


def test_assert_enqueued_finds_by_value_and_by_predicate(queue, pending, scheduled):
    due_ms = queue.clock.now_ms + 1_500
    assert assert_enqueued(queue) == pending
    assert assert_enqueued(queue, payload="now") == pending
    assert assert_enqueued(queue, payload=b"later", due_ms=due_ms) == scheduled
    assert assert_enqueued(queue, payload=lambda payload: payload.startswith(b"l")) == scheduled
    assert assert_enqueued(queue, due_ms=lambda due: due > queue.clock.now_ms) == scheduled
    assert assert_enqueued(queue, due_ms=None) == pending
    assert assert_enqueued(queue, job_id=scheduled) == scheduled


def test_assert_enqueued_says_what_waits_instead(queue, pending, scheduled):
    assert refused(assert_enqueued, queue, payload="now", due_ms=5).splitlines() == [
        f"no job waits with payload 'now' and due_ms 5 in {queue!r}; waiting:",
        f"  {pending}  'now'",
        f"  {scheduled}  'later', due_ms {queue.clock.now_ms + 1_500}, due in 1.500 s",
    ]


def test_assert_enqueued_says_that_nothing_waits(queue):
    assert refused(assert_enqueued, queue) == f"no job waits with any payload in {queue!r}; none is waiting"


def test_a_leased_or_a_dead_job_does_not_wait(queue, pending):
    claimed = queue.claim(10)
    refute_enqueued(queue)
    queue.retry(pending, claimed.token, 0, 1, "boom")
    refute_enqueued(queue)


def test_refute_enqueued_says_which_jobs_wait(queue, pending, scheduled):
    refute_enqueued(queue, payload="other")
    refute_enqueued(queue, payload="now", due_ms=lambda due: True)
    assert refused(refute_enqueued, queue, payload=len).splitlines() == [
        f"jobs wait with payload that passes len in {queue!r}; waiting:",
        f"  {pending}  'now'",
        f"  {scheduled}  'later', due_ms {queue.clock.now_ms + 1_500}, due in 1.500 s",
    ]


def test_assert_job_says_what_there_was_and_what_happened(queue, pending):
    assert_job(queue, pending, state="pending", attempts=0, payload="now", last_error=None)
    queue.claim(10)
    message = refused(assert_job, queue, pending, state="pending", attempts=0, payload="now")
    assert message.splitlines()[0] == (
        f"{pending} in {queue!r}: state is 'active', not 'pending'; attempts is 1, not 0"
    )
    assert message.endswith(str(queue.history(pending)))


def test_assert_job_of_a_job_that_is_gone(queue, pending):
    claimed = queue.claim(10)
    queue.complete(pending, claimed.token)
    assert_job(queue, pending, state="absent")
    assert "attempts is None, not 1" in refused(assert_job, queue, pending, attempts=1)


def test_assert_empty_shows_the_queue(queue, pending):
    message = refused(assert_empty, queue)
    assert f"pending    {pending}  'now', state pending, attempts 0" in message
    claimed = queue.claim(10)
    queue.complete(pending, claimed.token)
    assert_empty(queue)


def test_a_row_in_no_set_is_not_empty(queue, pending):
    queue.drop_member("pending", pending)
    assert f"in no set  {pending}  'now'" in refused(assert_empty, queue)


def test_without_history_the_messages_have_no_timeline():
    queue = Queue("q", clock=VirtualClock())
    queue.enqueue(job_id := queue.clock.mint(), "x")
    assert refused(assert_job, queue, job_id, attempts=1).count("\n") == 0


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda q, j: assert_enqueued(5), "queue must be a Queue or a ServerQueue, not 5"),
        (lambda q, j: assert_enqueued(q, payload=5), "payload must be a str, bytes or a predicate, not 5"),
        (lambda q, j: refute_enqueued(q, due_ms="5"), "due_ms must be an int, not '5'"),
        (lambda q, j: assert_enqueued(q, job_id="x"), "job_id is not a well-formed id: 'x'"),
        (lambda q, j: assert_job(q, j), "assert_job needs one of state, attempts, payload, last_error"),
        (lambda q, j: assert_job(q, "x", attempts=1), "job_id is not a well-formed id: 'x'"),
        (
            lambda q, j: assert_job(q, j, state="completed"),
            "state must be 'absent' for a completed job, whose row is gone, not 'completed'",
        ),
        (
            lambda q, j: assert_job(q, j, state="done"),
            "state must be one of pending, active, scheduled, dead",
        ),
        (lambda q, j: assert_job(q, j, attempts="1"), "attempts must be an int, not '1'"),
        (lambda q, j: assert_empty(None), "queue must be a Queue or a ServerQueue, not None"),
    ],
)
def test_a_bad_argument_is_named(queue, pending, call, told):
    with pytest.raises((TypeError, ValueError), match=re.escape(told)):
        call(queue, pending)
