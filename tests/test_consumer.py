"""The consumer, driven by hand. These tests use the fixtures, so that they run on the model and on a server;
`test_pytest_plugin.py` runs them on a server too."""

import re

import pytest

from emqsim import Consumer, Crash, JobGone, Queue, StaleToken, Verdict
from emqsim.backoff import exponential
from emqsim.consumer import Outcome
from emqsim.testing import assert_empty, assert_job


@pytest.fixture
def enqueued(emq_clock, emq_queue):
    def enqueue(*payloads):
        job_ids = [emq_clock.mint() for _ in payloads]
        for job_id, payload in zip(job_ids, payloads, strict=True):
            emq_queue.enqueue(job_id, payload)
        return job_ids

    return enqueue


def fail(job, handle):
    raise ValueError(job.payload.decode())


def crash(job, handle):
    raise Crash


def test_a_beat_runs_the_handler_on_every_job_in_order(emq_queue, emq_consumer, enqueued):
    job_ids = enqueued("a", "b", "c")
    seen = []
    report = emq_consumer(lambda job, handle: seen.append(job.payload)).beat()
    assert seen == [b"a", b"b", b"c"]
    assert [each.job_id for each in report.completed] == job_ids
    assert report.beats == 1
    assert report.idle
    assert_empty(emq_queue)
    assert emq_queue.get_metrics("completed") == 3


def test_a_beat_reaps_and_promotes_before_it_claims(emq_clock, emq_queue, emq_consumer, enqueued):
    enqueued("leased")
    emq_queue.claim(lease_ms=500)
    emq_queue.enqueue_in(emq_clock.mint(), "parked", delay_ms=500)
    emq_clock.advance(ms=500)
    report = emq_consumer(lambda job, handle: None).beat()
    assert (report.reaped, report.promoted, len(report.completed)) == (1, 1, 2)


def test_a_beat_promotes_no_more_than_promote_batch(emq_clock, emq_queue, emq_consumer):
    for _ in range(3):
        emq_queue.enqueue_in(emq_clock.mint(), "x", delay_ms=0)
    report = emq_consumer(lambda job, handle: None, promote_batch=2).beat()
    assert (report.promoted, len(report.completed), report.idle) == (2, 2, False)


def test_an_exception_retries_with_its_text_until_the_job_is_dead(
    emq_clock, emq_queue, emq_consumer, enqueued
):
    start_ms = emq_clock.now_ms
    (job_id,) = enqueued("boom")
    report = emq_consumer(fail, retry_delay_ms=1_000, max_attempts=3).run_until_idle()
    assert [each.outcome for each in report.handled] == [Outcome.RETRIED, Outcome.RETRIED, Outcome.DEAD]
    assert [each.token for each in report.handled] == [1, 2, 3]
    assert all(isinstance(each.error, ValueError) and each.error.args == ("boom",) for each in report.handled)
    assert [each.ended_ms - start_ms for each in report.handled] == [0, 1_000, 2_000]
    assert report.idle
    assert_job(emq_queue, job_id, state="dead", attempts=3, last_error="boom")


def test_an_exception_without_text_gives_its_name(emq_queue, emq_consumer, enqueued):
    (job_id,) = enqueued("x")

    def nameless(job, handle):
        raise KeyError

    emq_consumer(nameless, max_attempts=1).beat()
    assert_job(emq_queue, job_id, last_error="KeyError")


def test_text_that_has_no_utf8_form_is_escaped(emq_queue, emq_consumer, enqueued):
    (job_id,) = enqueued("x")

    def odd(job, handle):
        raise ValueError("\ud800")

    emq_consumer(odd, max_attempts=1).beat()
    assert_job(emq_queue, job_id, last_error=b"\\ud800")


def test_a_backoff_policy_spaces_the_attempts(emq_clock, emq_consumer, enqueued):
    start_ms = emq_clock.now_ms
    enqueued("x")
    report = emq_consumer(fail, max_attempts=5, backoff=exponential(1_000, 5_000)).run_until_idle()
    assert [each.ended_ms - start_ms for each in report.handled] == [0, 1_000, 3_000, 7_000, 12_000]


def test_any_function_of_the_attempt_is_a_policy(emq_clock, emq_consumer, enqueued):
    start_ms = emq_clock.now_ms
    enqueued("x")
    report = emq_consumer(fail, max_attempts=3, backoff=lambda attempt: attempt * 7).run_until_idle()
    assert [each.ended_ms - start_ms for each in report.handled] == [0, 7, 21]


def test_a_policy_that_gives_no_int_is_named(emq_consumer, enqueued):
    enqueued("x")
    with pytest.raises(TypeError, match=r"backoff\(1\) must be an int, not 0\.5"):
        emq_consumer(fail, backoff=lambda attempt: 0.5).beat()


def test_a_lease_that_lapses_unnoticed_still_completes(emq_clock, emq_queue, emq_consumer, enqueued):
    enqueued("x")
    report = emq_consumer(lambda job, handle: emq_clock.advance(ms=31_000)).beat()
    assert len(report.completed) == 1
    assert_empty(emq_queue)


@pytest.mark.parametrize("failing", [False, True])
def test_a_lease_that_is_taken_over_is_lost(emq_clock, emq_queue, emq_consumer, enqueued, failing):
    enqueued("x")

    def slow(job, handle):
        emq_clock.advance(ms=31_000)
        emq_queue.reap()
        assert emq_queue.claim(lease_ms=60_000).token == 2
        if failing:
            raise OSError("too late")

    report = emq_consumer(slow).beat()
    (lost,) = report.lost
    assert isinstance(lost.refused, StaleToken)
    assert (lost.error is not None) == failing
    assert len(emq_queue.active) == 1


def test_a_row_that_vanishes_is_lost(emq_queue, emq_consumer, enqueued):
    (job_id,) = enqueued("x")
    report = emq_consumer(lambda job, handle: emq_queue.drop_row(job_id)).beat()
    assert isinstance(report.lost[0].refused, JobGone)


def test_extend_keeps_the_lease(emq_clock, emq_queue, emq_consumer, enqueued):
    enqueued("x")

    def careful(job, handle):
        for _ in range(3):
            emq_clock.advance(ms=20_000)
            assert emq_queue.reap() == 0
            handle.extend(30_000)

    assert emq_consumer(careful).beat().completed


def test_extend_tells_that_the_lease_is_lost(emq_clock, emq_queue, emq_consumer, enqueued):
    enqueued("x")

    def late(job, handle):
        emq_clock.advance(ms=31_000)
        emq_queue.reap()
        emq_queue.claim(lease_ms=30_000)
        handle.extend(30_000)

    (lost,) = emq_consumer(late).beat().lost
    assert isinstance(lost.error, StaleToken)


def test_delay_parks_the_job_and_nothing_is_settled(emq_clock, emq_queue, emq_consumer, enqueued):
    (job_id,) = enqueued("x")

    def later(job, handle):
        if job.token == 1:
            handle.delay(5_000)
            raise ValueError("after the delay")

    consumer = emq_consumer(later)
    (delayed,) = consumer.beat().delayed
    assert str(delayed.error) == "after the delay"
    assert emq_queue.scheduled == [(job_id, emq_clock.now_ms + 5_000)]
    assert "last_error" not in emq_queue.get_job(job_id)
    assert [each.token for each in consumer.run_until_idle().completed] == [2]


def test_log_appends_a_line(emq_queue, emq_consumer, enqueued):
    (job_id,) = enqueued("x")

    def chatty(job, handle):
        assert [handle.log("one"), handle.log(b"two")] == [1, 2]
        assert emq_queue.get_job_logs(job_id) == [b"one", b"two"]

    assert emq_consumer(chatty).beat().completed


def test_a_crash_settles_nothing_and_ends_the_beat(emq_clock, emq_queue, emq_consumer, enqueued):
    first, second = enqueued("a", "b")
    report = emq_consumer(crash, lease_ms=5_000).beat()
    assert [each.job_id for each in report.crashed] == [first]
    assert not report.idle
    assert emq_queue.active == [(first, emq_clock.now_ms + 5_000)]
    assert emq_queue.pending == [(second, 0.0)]


def test_a_crash_is_not_caught_by_the_code_under_test(emq_consumer, enqueued):
    enqueued("x")

    def careless(job, handle):
        try:
            raise Crash
        except Exception:
            pytest.fail("survived")

    assert emq_consumer(careless).beat().crashed


def test_after_a_crash_the_job_comes_back_when_its_lease_runs_out(emq_clock, emq_consumer, enqueued):
    start_ms = emq_clock.now_ms
    enqueued("x")

    def crash_once(job, handle):
        if job.token == 1:
            raise Crash

    report = emq_consumer(crash_once, lease_ms=5_000).run_until_idle()
    assert [(each.outcome, each.ended_ms - start_ms) for each in report.handled] == [
        (Outcome.CRASHED, 0),
        (Outcome.COMPLETED, 5_000),
    ]
    assert report.reaped == 1


def test_jobs_that_wait_behind_a_crash_are_next_at_the_next_beat(emq_clock, emq_consumer, enqueued):
    start_ms = emq_clock.now_ms
    enqueued("poison", "good")

    def handler(job, handle):
        if job.payload == b"poison" and job.token == 1:
            raise Crash

    report = emq_consumer(handler, beat_ms=250).run_until_idle()
    assert [each.ended_ms - start_ms for each in report.handled] == [0, 250, 30_000]


def test_a_poison_job_that_crashes_for_ever_is_stopped_by_max_beats(emq_consumer, enqueued):
    enqueued("x")
    report = emq_consumer(crash).run_until_idle(max_beats=7)
    assert (report.beats, len(report.crashed), report.idle) == (7, 7, False)


def test_run_until_idle_goes_straight_to_what_is_due_and_not_past_until(emq_clock, emq_queue, emq_consumer):
    start_ms = emq_clock.now_ms
    for delay_ms in (1_500, 3_600_000):
        emq_queue.enqueue_in(emq_clock.mint(), str(delay_ms), delay_ms)
    consumer = emq_consumer(lambda job, handle: None)
    report = consumer.run_until_idle(until_ms=start_ms + 3_599_999)
    assert (report.beats, len(report.completed), report.idle) == (2, 1, False)
    assert emq_clock.now_ms == start_ms + 1_500
    report = consumer.run_until_idle(until_ms=start_ms + 3_600_000)
    assert (report.beats, len(report.completed), report.idle) == (2, 1, True)
    assert emq_clock.now_ms == start_ms + 3_600_000


def test_more_lapsed_leases_than_one_beat_reaps_take_more_beats(emq_clock, emq_queue, emq_consumer):
    emq_queue.enqueue_many([(emq_clock.mint(), "x") for _ in range(150)])
    emq_queue.claim_batch(150, lease_ms=10)
    emq_clock.advance(ms=10)
    report = emq_consumer(lambda job, handle: None).run_until_idle()
    assert (report.beats, report.reaped, len(report.completed)) == (2, 150, 150)


def test_jobs_in_a_paused_queue_are_nothing_to_do(emq_queue, emq_consumer, enqueued):
    enqueued("x")
    emq_queue.pause()
    report = emq_consumer(fail).run_until_idle()
    assert (report.beats, report.handled, report.idle) == (1, [], True)


def test_a_job_without_a_payload_reaches_the_handler(emq_clock, emq_queue, emq_consumer, enqueued):
    (job_id,) = enqueued("x")
    claimed = emq_queue.claim(lease_ms=1_000)
    assert emq_queue.retry(job_id, claimed.token, 0, 3, "again") is Verdict.SCHEDULED
    emq_queue.complete(job_id, claimed.token)  # settled twice: a ghost in schedule
    seen = []
    emq_consumer(lambda job, handle: seen.append(job.payload)).beat()
    assert seen == [None]


def test_a_report_reads_as_text(emq_consumer, enqueued):
    (job_id,) = enqueued("boom")
    report = emq_consumer(fail, max_attempts=1).run_until_idle()
    assert str(report) == f"1 beats: 1 dead; idle\n  {job_id} token 1 dead (ValueError('boom'))"


async def asynchronous(job, handle):
    """Never awaited: refused."""


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"queue": "orders"}, "queue must be a Queue or a ServerQueue, not 'orders'"),
        ({"handler": None}, "handler must be a function of a job and its handle, not None"),
        ({"handler": asynchronous}, "handler must be synchronous"),
        ({"lease_ms": 0}, "lease_ms must be within 1..2^63-1, not 0"),
        ({"lease_ms": "30"}, "lease_ms must be an int, not '30'"),
        ({"beat_ms": 0}, "beat_ms must be within 1..2^63-1, not 0"),
        ({"retry_delay_ms": -1}, "retry_delay_ms must be within 0..2^63-1, not -1"),
        ({"max_attempts": 0}, "max_attempts must be within 1..2^63-1, not 0"),
        ({"promote_batch": 0}, "promote_batch must be within 1..2^53, not 0"),
        ({"backoff": 5}, "backoff must be a function of the attempt, not 5"),
    ],
)
def test_a_bad_setting_is_named(settings, told):
    with pytest.raises((TypeError, ValueError), match=re.escape(told)):
        Consumer(**{"queue": Queue("q"), "handler": fail, **settings})


def test_bad_limits_are_named_before_anything_runs(emq_clock, emq_queue, emq_consumer, enqueued):
    enqueued("x")
    consumer = emq_consumer(fail)
    with pytest.raises(ValueError, match="until_ms must be within"):
        consumer.run_until_idle(until_ms=emq_clock.now_ms - 1)
    with pytest.raises(ValueError, match="max_beats must be within"):
        consumer.run_until_idle(max_beats=0)
    assert emq_queue.pending_size() == 1


def test_other_exits_go_through_and_leave_the_job_leased(emq_queue, emq_consumer, enqueued):
    enqueued("x")

    def interrupted(job, handle):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        emq_consumer(interrupted).beat()
    assert len(emq_queue.active) == 1


def test_advance_to_next_moves_to_the_next_thing_due_and_no_further(emq_clock, emq_queue, emq_queue_factory):
    other = emq_queue_factory("other")
    assert emq_clock.advance_to_next(emq_queue, other) == 0
    emq_queue.enqueue(emq_clock.mint(), "x")
    emq_queue.claim(lease_ms=30_000)
    other.enqueue_in(emq_clock.mint(), "y", delay_ms=100)
    assert emq_clock.next_due_ms(emq_queue) == emq_clock.now_ms + 30_000
    assert emq_clock.advance_to_next(emq_queue, other) == 100
    assert emq_clock.advance_to_next(emq_queue, other) == 29_900
    assert emq_clock.advance_to_next(emq_queue, other) == 0
    assert (len(emq_queue.active), len(other.scheduled)) == (1, 1)


def test_advance_to_next_lands_where_a_reap_finds_it(emq_clock, emq_queue):
    emq_clock.advance(us=999)
    emq_queue.enqueue(emq_clock.mint(), "x")
    emq_queue.claim(lease_ms=10)
    emq_clock.advance_to_next(emq_queue)
    assert emq_clock.now_us % 1000 == 0
    assert emq_queue.reap() == 1


def test_a_queue_on_another_clock_is_refused(emq_clock):
    with pytest.raises(ValueError, match="queue is not on this clock: <Queue 'q'"):
        emq_clock.advance_to_next(Queue("q"))
