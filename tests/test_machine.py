"""The rules of the machine, one by one, through the calls of a queue."""

import json
from dataclasses import replace

import pytest

from emqsim import (
    ActiveJobs,
    Claimed,
    Dialect,
    InvalidJobId,
    JobGone,
    JobLocked,
    NotDead,
    NotPaused,
    Queue,
    StaleToken,
    Sweep,
    Verdict,
    Violation,
    VirtualClock,
    WrongKind,
)

T0 = 1_704_067_200_000
A, B, C = "JOB00000000001", "JOB00000000002", "JOB00000000003"
ORDER = "ORD00000000001"
DIALECTS = list(Dialect)


@pytest.fixture(params=DIALECTS)
def queue(request):
    return Queue("q", dialect=request.param)


@pytest.fixture
def leased(queue):
    """A queue in which A is leased for 10 ms with token 1."""
    queue.enqueue(A, b"a")
    queue.claim(10)
    return queue


def row(queue, job_id):
    """The row without what wire6 alone writes, which has a test of its own."""
    return {name: value for name, value in queue.get_job(job_id).items() if name != "lease_epoch"}


# Admission.


def test_enqueue(queue):
    assert queue.enqueue(A, "é") is Verdict.ENQUEUED
    assert queue.snapshot() == {
        "emq:{q}:pending": [(A, 0.0)],
        f"emq:{{q}}:job:{A}": {"state": b"pending", "attempts": b"0", "payload": "é".encode()},
    }


def test_a_duplicate_changes_nothing(queue):
    queue.enqueue(A, b"first")
    before = queue.snapshot()
    assert queue.enqueue(A, b"second") is Verdict.DUPLICATE
    assert queue.enqueue_in(A, b"second", 5) is Verdict.DUPLICATE
    assert queue.enqueue_at(A, b"second", 5) is Verdict.DUPLICATE
    assert queue.snapshot() == before


@pytest.mark.parametrize("call", ["enqueue", "enqueue_in", "enqueue_at"])
def test_another_kind_is_refused(queue, call):
    args = (ORDER, b"x") if call == "enqueue" else (ORDER, b"x", 1)
    with pytest.raises(WrongKind) as refused:
        getattr(queue, call)(*args)
    assert refused.value.wire == str(refused.value) == "EMQKIND job id must be JOB-namespaced"
    assert queue.snapshot() == {}


def test_enqueue_many(queue):
    outcomes = queue.enqueue_many([(A, b"1"), (ORDER, b"2"), (A, b"3"), [B, "4"]])
    assert outcomes[0] is Verdict.ENQUEUED
    assert isinstance(outcomes[1], WrongKind)
    assert outcomes[2:] == [Verdict.DUPLICATE, Verdict.ENQUEUED]
    assert queue.pending == [(A, 0.0), (B, 0.0)]


def test_one_ill_formed_id_refuses_all_of_enqueue_many(queue):
    with pytest.raises(InvalidJobId, match="nope"):
        queue.enqueue_many([(A, b"1"), ("nope", b"2")])
    assert queue.snapshot() == {}


@pytest.mark.parametrize(
    ("call", "value", "score"),
    [
        ("enqueue_in", 0, float(T0)),
        ("enqueue_in", 1500, T0 + 1500.0),
        ("enqueue_at", -5, -5.0),
        ("enqueue_at", 2**60 + 1, float(2**60)),
        ("enqueue_in", 2**63 - 1, float(T0) + float(2**63 - 1)),
    ],
)
def test_scores_are_doubles(queue, call, value, score):
    queue.clock.advance(us=999)
    assert getattr(queue, call)(A, b"", value) is Verdict.SCHEDULED
    assert queue.scheduled == [(A, score)]
    assert row(queue, A)["state"] == b"scheduled"


# The claim and its lease.


def test_claim_takes_the_oldest_id(queue):
    queue.enqueue_many([(B, b"b"), (C, b"c"), (A, b"a")])
    queue.clock.advance(us=1999)
    assert queue.claim(10) == Claimed(A, b"a", 1)
    assert queue.active == [(A, T0 + 11.0)]
    assert row(queue, A)["state"] == b"active"
    assert queue.pending == [(B, 0.0), (C, 0.0)]


def test_claim_of_an_empty_queue(queue):
    assert queue.claim(10) is None
    assert queue.claim_batch(5, 10) == []
    assert queue.snapshot() == {}


def test_the_pause_flag_stops_claims(queue):
    queue.enqueue(A, b"")
    queue.pause()
    before = queue.snapshot()
    assert queue.paused
    assert queue.claim(10) is None
    assert queue.claim_batch(1, 10) == []
    assert queue.snapshot() == before
    queue.resume()
    assert not queue.paused
    assert queue.claim(10) == Claimed(A, b"", 1)


def test_arguments_are_checked_before_the_pause_flag(queue):
    queue.pause()
    with pytest.raises(ValueError, match="lease_ms"):
        queue.claim(0)


def test_claim_batch_has_one_deadline(queue):
    queue.enqueue_many([(A, b"a"), (B, b"b"), (C, b"c")])
    assert queue.claim_batch(2, 10) == [Claimed(A, b"a", 1), Claimed(B, b"b", 1)]
    assert queue.active == [(A, T0 + 10.0), (B, T0 + 10.0)]
    assert queue.claim_batch(2, 10) == [Claimed(C, b"c", 1)]


def test_each_claim_counts(leased):
    for token in (2, 3, 4):
        leased.clock.advance(ms=10)
        assert leased.reap() == 1
        assert leased.claim(10) == Claimed(A, b"a", token)


def test_a_ghost_in_pending():
    outcomes = {}
    for dialect in DIALECTS:
        queue = Queue("q", dialect=dialect)
        queue.enqueue_many([(A, b"a"), (B, b"b")])
        queue.drop_row(A)
        outcomes[dialect] = queue.claim(10), A in queue.rows
    assert outcomes == {
        "wire3": (Claimed(A, None, 1), True),
        "wire4": (Claimed(B, b"b", 1), False),
        "wire6": (Claimed(B, b"b", 1), False),
    }


def test_a_ghost_does_not_count_as_served_by_a_batch():
    outcomes = {}
    for dialect in DIALECTS:
        queue = Queue("q", dialect=dialect)
        queue.enqueue_many([(A, b"a"), (B, b"b"), (C, b"c")])
        queue.drop_row(A)
        outcomes[dialect] = [claimed.job_id for claimed in queue.claim_batch(2, 10)], queue.pending_size()
    assert outcomes == {"wire3": ([A, B], 1), "wire4": ([B, C], 0), "wire6": ([B, C], 0)}


def test_only_wire6_writes_the_epoch_and_only_for_a_single_claim():
    written = {}
    for dialect in DIALECTS:
        queue = Queue("q", dialect=dialect)
        queue.enqueue_many([(A, b"a"), (B, b"b")])
        queue.clock.advance(us=1999)
        queue.claim(10)
        queue.claim_batch(1, 10)
        written[dialect] = [queue.get_job(job_id).get("lease_epoch") for job_id in (A, B)]
    assert written == {"wire3": [None, None], "wire4": [None, None], "wire6": [b"%d" % (T0 + 1), None]}


def test_extend_lock(leased):
    leased.clock.advance(ms=5)
    assert leased.extend_lock(A, 1, 100) is None
    assert leased.active == [(A, T0 + 105.0)]
    assert row(leased, A)["state"] == b"active"


def test_extend_locks_answers_those_it_could_not_extend(leased):
    leased.enqueue(B, b"b")
    leased.clock.advance(ms=1)
    assert leased.extend_locks([(B, 7), (A, 1), (C, 1), (A, 2)], 20) == [B, C, A]
    assert leased.active == [(A, T0 + 21.0)]


# Settling a claim.


def test_complete(leased):
    leased.add_log(A, b"line")
    assert leased.complete(A, 1) is None
    assert leased.snapshot() == {
        f"emq:{{q}}:job:{A}:logs": [b"line"],
        "emq:{q}:metrics:completed": {"count": b"1"},
    }
    assert leased.get_metrics("completed") == 1


def test_complete_takes_the_id_from_pending_only_where_it_was_not_in_active(leased):
    leased.clock.advance(ms=10)
    leased.reap()
    leased.complete(A, 1)
    assert leased.pending == []


def test_retry_parks_the_job(leased):
    assert leased.retry(A, 1, 50, 3, "boom") is Verdict.SCHEDULED
    assert leased.scheduled == [(A, T0 + 50.0)]
    assert leased.active == []
    assert row(leased, A) == {"state": b"scheduled", "attempts": b"1", "payload": b"a", "last_error": b"boom"}


@pytest.mark.parametrize(
    ("max_attempts", "verdict"), [(2, "scheduled"), (1, "dead"), (0, "dead"), (-1, "dead")]
)
def test_retry_buries_when_attempts_has_reached_the_most(leased, max_attempts, verdict):
    assert leased.retry(A, 1, -10, max_attempts, b"\xff") == verdict
    if verdict == "dead":
        assert leased.dead == [(A, 0.0)]
        assert leased.get_metrics("failed") == 1
        assert (row(leased, A)["state"], row(leased, A)["last_error"]) == (b"dead", b"\xff")
    else:
        assert leased.scheduled == [(A, T0 - 10.0)]


def test_delay(leased):
    leased.clock.advance(ms=1)
    assert leased.delay(A, 1, -3) is None
    assert leased.scheduled == [(A, T0 - 2.0)]
    assert row(leased, A) == {"state": b"scheduled", "attempts": b"1", "payload": b"a"}


def test_delay_until_leaves_pending_alone(leased):
    leased.clock.advance(ms=10)
    leased.reap()
    leased.delay_until(A, 1, 7)
    assert leased.scheduled == [(A, 7.0)]
    assert leased.pending == [(A, 0.0)]


MISMATCH = {
    "complete": (A, 2),
    "retry": (A, 2, 1, 1, "x"),
    "delay": (A, 2, 1),
    "delay_until": (A, 2, 1),
    "extend_lock": (A, 2, 1),
}


@pytest.mark.parametrize("call", MISMATCH)
def test_a_stale_token_is_refused_and_changes_nothing(leased, call):
    before = leased.snapshot()
    with pytest.raises(StaleToken) as refused:
        getattr(leased, call)(*MISMATCH[call])
    script = call.removesuffix("_until").removesuffix("_lock")
    assert refused.value.wire == f"EMQSTALE {script} token mismatch"
    assert leased.snapshot() == before


@pytest.mark.parametrize(
    ("call", "error", "wire"),
    [
        ("complete", JobGone, None),
        ("retry", StaleToken, "EMQSTALE job gone"),
        ("delay", JobGone, "EMQSTALE job gone"),
        ("delay_until", JobGone, "EMQSTALE job gone"),
        ("extend_lock", JobGone, None),
    ],
)
@pytest.mark.parametrize("stub", [False, True])
def test_a_row_that_is_gone_or_has_no_attempts(queue, call, error, wire, stub):
    queue.enqueue_in(A, b"", 0)
    queue.drop_row(A)
    if stub:
        queue.promote(1)
        assert row(queue, A) == {"state": b"pending"}
    before = queue.snapshot()
    with pytest.raises(error) as refused:
        getattr(queue, call)(*MISMATCH[call])
    assert refused.value.wire == wire
    assert queue.snapshot() == before


def test_delay_of_another_kind(queue):
    with pytest.raises(WrongKind):
        queue.delay(ORDER, 1, 1)


# What a client has to do now and then.


def test_promote_hands_over_what_is_due_in_the_order_it_fell_due(queue):
    queue.enqueue_in(A, b"", 20)
    queue.enqueue_in(B, b"", 10)
    queue.enqueue_in(C, b"", 10)
    queue.clock.advance(us=9999)
    assert queue.promote(10) == 0
    queue.clock.advance(us=1)
    assert queue.promote(1) == 1
    assert queue.pending == [(B, 0.0)]
    assert row(queue, B)["state"] == b"pending"
    queue.clock.advance(ms=100)
    assert queue.promote(10) == 2
    assert queue.scheduled == []


def test_reap_gives_back_what_lapsed_and_keeps_attempts(leased):
    assert leased.reap() == 0
    leased.clock.advance(ms=10)
    assert leased.reap() == 1
    assert leased.pending == [(A, 0.0)]
    assert row(leased, A) == {"state": b"pending", "attempts": b"1", "payload": b"a"}


def test_reap_takes_a_hundred_at_most(queue):
    queue.enqueue_many([(queue.clock.mint(), b"") for _ in range(150)])
    queue.claim_batch(150, 10)
    queue.clock.advance(ms=10)
    assert [queue.reap(), queue.reap(), queue.reap()] == [100, 50, 0]


def test_sweep_stalled_counts_and_buries(leased):
    leased.clock.advance(ms=10)
    assert leased.sweep_stalled(max_stalled=2) == Sweep([A], [])
    assert row(leased, A)["stalled"] == b"1"
    leased.claim(10)
    leased.clock.advance(ms=10)
    assert leased.sweep_stalled(max_stalled=2) == Sweep([], [A])
    assert row(leased, A) == {
        "state": b"dead",
        "attempts": b"2",
        "payload": b"a",
        "stalled": b"2",
        "last_error": b"stalled",
    }
    assert leased.dead == [(A, 0.0)]
    assert leased.get_metrics("failed") == 1


def test_sweep_stalled_has_a_limit(queue):
    queue.enqueue_many([(C, b""), (B, b""), (A, b"")])
    queue.claim_batch(3, 10)
    queue.clock.advance(ms=10)
    assert queue.sweep_stalled(limit=2) == Sweep([], [A, B])
    assert queue.sweep_stalled() == Sweep([], [C])
    assert queue.sweep_stalled() == Sweep([], [])


@pytest.mark.parametrize(
    ("call", "args", "stub"),
    [
        ("reap", (), {"state": b"pending"}),
        ("sweep_stalled", (2,), {"state": b"pending", "stalled": b"1"}),
        ("sweep_stalled", (1,), {"state": b"dead", "stalled": b"1", "last_error": b"stalled"}),
    ],
)
def test_a_ghost_in_active_becomes_a_stub_row(leased, call, args, stub):
    leased.drop_row(A)
    leased.clock.advance(ms=10)
    getattr(leased, call)(*args)
    assert row(leased, A) == stub


# Operators.


def test_reprocess_keeps_attempts_and_drops_the_error(leased):
    leased.retry(A, 1, 1, 1, "boom")
    assert leased.reprocess_job(A) is None
    assert leased.pending == [(A, 0.0)]
    assert row(leased, A) == {"state": b"pending", "attempts": b"1", "payload": b"a"}


def test_reprocess_refuses(leased):
    before = leased.snapshot()
    with pytest.raises(NotDead) as refused:
        leased.reprocess_job(A)
    assert refused.value.wire == "EMQSTATE not dead"
    with pytest.raises(JobGone):
        leased.reprocess_job(B)
    assert leased.snapshot() == before


def test_drain(leased):
    leased.enqueue(B, b"")
    leased.add_log(B, b"line")
    leased.hold_lock(B)
    leased.enqueue_in(C, b"", 5)
    assert leased.drain() == 1
    assert leased.get_counts("pending", "active", "schedule") == {"pending": 0, "active": 1, "schedule": 1}
    assert leased.key("logs", B) not in leased.snapshot()
    assert leased.snapshot()[leased.key("lock", B)] == b"1"
    assert leased.drain(include_schedule=True) == 1
    assert leased.scheduled == []
    assert set(leased.rows) == {A}


def test_a_field_in_the_row_is_a_lock_too(leased):
    leased.lock_row(A)
    assert leased.rows[A]["lock"] == b"1"
    with pytest.raises(JobLocked):
        leased.remove_job(A)
    leased.lock_row(B)
    assert leased.snapshot()[leased.key("job", B)] == {"lock": b"1"}
    assert [(found.name, found.job_ids) for found in leased.violations()] == [
        ("row_in_no_set", (B,)),
        ("stub_row", (B,)),
    ]


def test_obliterate_refuses(leased):
    with pytest.raises(NotPaused) as refused:
        leased.obliterate()
    assert refused.value.wire == "EMQSTATE not paused"
    leased.pause()
    before = leased.snapshot()
    with pytest.raises(ActiveJobs) as refused:
        leased.obliterate()
    assert refused.value.wire == "EMQSTATE active jobs present"
    assert leased.snapshot() == before


def test_obliterate_spends_its_budget_set_by_set(leased):
    leased.enqueue_many([(B, b""), (C, b"")])
    leased.add_log(B, b"line")
    leased.hold_lock(B)
    leased.park_dedup(A, "once")
    leased.pause()
    assert leased.obliterate(force=True, budget=2) is False
    assert leased.snapshot() == {
        "emq:{q}:pending": [(C, 0.0)],
        f"emq:{{q}}:job:{C}": {"state": b"pending", "attempts": b"0", "payload": b""},
        "emq:{q}:meta": {"paused": b"1"},
        "emq:{q}:de:once": A.encode(),
    }
    assert leased.obliterate(budget=1) is False
    assert leased.obliterate() is True
    assert leased.snapshot() == {"emq:{q}:de:once": A.encode()}


def test_updates(queue):
    queue.enqueue(A, b"a")
    assert queue.update_data(A, "new") is None
    assert queue.update_progress(A, b'50 "%"\n\xff') is None
    assert row(queue, A)["payload"] == b"new"
    ((channel, message),) = queue.events
    assert channel == "emq:{q}:events"
    assert json.loads(message.decode("utf-8", "surrogateescape")) == {
        "event": "progress",
        "job": A,
        "progress": b'50 "%"\n\xff'.decode("utf-8", "surrogateescape"),
    }


def test_logs(queue):
    queue.enqueue(A, b"")
    assert [queue.add_log(A, line) for line in ("1", "2", "3")] == [1, 2, 3]
    assert queue.add_log(A, b"4", keep=2) == 2
    assert queue.get_job_logs(A) == [b"3", b"4"]
    assert queue.add_log(A, b"5", keep=9) == 3
    queue.enqueue(B, b"")
    assert queue.get_job_logs(B) == []


@pytest.mark.parametrize(
    ("call", "args"),
    [
        ("update_data", (b"",)),
        ("update_progress", (b"",)),
        ("add_log", (b"",)),
        ("get_job_logs", ()),
        ("remove_job", ()),
    ],
)
def test_what_needs_a_row(queue, call, args):
    with pytest.raises(JobGone) as refused:
        getattr(queue, call)(A, *args)
    assert refused.value.wire is None
    assert queue.snapshot() == {}
    assert queue.events == []


def test_remove_job(leased):
    leased.extend_lock(A, 1, 5)
    leased.add_log(A, b"line")
    leased.park_dedup(A, "mine")
    leased.park_dedup(B, "other")
    leased.remove_job(A, "other")
    assert leased.snapshot() == {"emq:{q}:de:mine": A.encode(), "emq:{q}:de:other": B.encode()}
    leased.enqueue(A, b"")
    leased.remove_job(A, dedup_id="mine")
    assert leased.get_deduplication_job_id("mine") is None
    assert leased.get_deduplication_job_id("other") == B


def test_a_locked_job_is_not_removed(queue):
    queue.enqueue(A, b"")
    queue.hold_lock(A)
    before = queue.snapshot()
    with pytest.raises(JobLocked) as refused:
        queue.remove_job(A)
    assert refused.value.wire == "EMQLOCK job is locked"
    assert queue.snapshot() == before


# Reads.


def test_browse_and_counts(leased):
    leased.enqueue_many([(C, b""), (B, b"")])
    assert leased.browse(1) == [C]
    assert leased.browse(5) == [C, B]
    assert leased.pending_size() == 2
    assert leased.get_counts("pending", "active", "schedule", "dead", "completed", "failed") == {
        "pending": 2,
        "active": 1,
        "schedule": 0,
        "dead": 0,
        "completed": 0,
        "failed": 0,
    }
    assert leased.get_counts() == {}
    with pytest.raises(ValueError, match="scheduled"):
        leased.get_counts("scheduled")
    with pytest.raises(ValueError, match="lost"):
        leased.get_metrics("lost")


def test_get_job_state(queue):
    assert queue.get_job_state(A) == "absent"
    queue.enqueue_in(A, b"", 0)
    assert queue.get_job_state(A) == "scheduled"
    queue.promote(1)
    assert queue.get_job_state(A) == "pending"
    queue.claim(10)
    assert queue.get_job_state(A) == "active"
    queue.retry(A, 1, 0, 1, "")
    assert queue.get_job_state(A) == "dead"
    queue.drop_member("dead", A)
    assert queue.get_job_state(A) == "unknown"
    assert queue.get_job(B) is None


@pytest.mark.parametrize(
    ("concurrency", "maxed"), [(None, False), (2, False), (1, True), (0, False), (-1, False)]
)
def test_is_maxed(leased, concurrency, maxed):
    leased.configure(concurrency=concurrency, rate_max=5)
    assert leased.is_maxed() is maxed
    assert leased.snapshot()["emq:{q}:meta"]["max"] == b"5"


# The faults that a faithful model has.


def test_heartbeat_after_the_reaper():
    for dialect in DIALECTS:
        queue = Queue("q", dialect=dialect)
        queue.enqueue(A, b"a")
        queue.claim(10)
        queue.clock.advance(ms=10)
        queue.reap()
        queue.extend_lock(A, 1, 10)
        assert queue.violations() == [Violation("in_two_sets", (A,))]
        queue.complete(A, 1)
        assert queue.violations() == [Violation("ghost", (A,))]
        assert queue.claim(10) == (Claimed(A, None, 1) if dialect == "wire3" else None)


def test_settled_twice(leased):
    leased.retry(A, 1, 0, 3, "boom")
    leased.complete(A, 1)
    assert leased.violations() == [Violation("ghost", (A,))]
    leased.promote(10)
    assert leased.violations() == [Violation("stub_row", (A,))]
    assert leased.claim(10) == Claimed(A, None, 1)


def test_dead_twice(leased):
    leased.retry(A, 1, 50, 3, "boom")
    assert leased.retry(A, 1, 50, 1, "boom") is Verdict.DEAD
    assert [leased.scheduled, leased.dead] == [[(A, T0 + 50.0)], [(A, 0.0)]]
    assert leased.violations() == [Violation("in_two_sets", (A,))]


def test_completed_from_the_morgue(leased):
    leased.retry(A, 1, 0, 1, "boom")
    leased.complete(A, 1)
    assert leased.dead == [(A, 0.0)]
    with pytest.raises(JobGone):
        leased.reprocess_job(A)


def test_every_violation_has_a_name(queue):
    queue.enqueue_many([(A, b""), (B, b"")])
    assert queue.violations() == []
    queue.drop_row(A)
    assert queue.violations() == [Violation("ghost", (A,))]
    queue.drop_member("pending", B)
    assert queue.violations() == [Violation("ghost", (A,)), Violation("row_in_no_set", (B,))]
    queue.drain()
    queue.drop_row(B)
    queue.enqueue(C, b"")
    queue.claim(10)
    queue.clock.advance(ms=10)
    queue.reap()
    queue.extend_lock(C, 1, 10)
    queue.drop_member("pending", C)
    assert queue.violations() == [Violation("state_disagrees", (C,))]


# Queues as values.


def test_equality_and_copies(leased):
    twin = leased.copy()
    assert twin == leased
    twin.clock.advance(ms=1)
    assert twin != leased
    leased.clock.advance(ms=1)
    twin.add_log(A, b"line")
    assert twin != leased
    assert leased != Queue("q", dialect=leased.dialect)
    assert leased != "q"
    with pytest.raises(TypeError):
        hash(leased)


def test_two_queues_on_one_clock():
    clock = VirtualClock()
    one, other = Queue("one", clock=clock), Queue("other", clock=clock)
    one.enqueue(A, b"")
    one.claim(10)
    clock.advance(ms=10)
    assert (one.reap(), other.reap()) == (1, 0)
    assert other.snapshot() == {}


def test_rows_are_read_only(leased):
    assert leased.rows == {A: leased.get_job(A)}
    with pytest.raises(TypeError):
        leased.rows[B] = {}
    with pytest.raises(TypeError):
        leased.rows[A]["state"] = b"dead"


def test_what_is_read_is_not_what_is_held(leased):
    leased.get_job(A)["state"] = b"dead"
    leased.snapshot()[leased.key("job", A)]["state"] = b"dead"
    leased.active.clear()
    assert (row(leased, A)["state"], len(leased.active)) == (b"active", 1)


def full_queue():
    """Something under every key that a queue can have."""
    queue = Queue("q")
    ids = [queue.clock.mint() for _ in range(6)]
    for job_id in ids[:5]:
        queue.enqueue(job_id, b"")
    queue.enqueue_in(ids[5], b"", 1000)
    for _ in range(3):
        queue.claim(10)
    queue.complete(ids[0], 1)
    queue.retry(ids[1], 1, 0, 1, b"boom")
    queue.update_progress(ids[2], b"half")
    queue.add_log(ids[2], b"line")
    queue.hold_lock(ids[3])
    queue.park_dedup(ids[3], "d1")
    queue.configure(concurrency=5)
    return queue, ids


CHANGES = {
    "claim": lambda queue, ids: queue.claim(10),
    "enqueue": lambda queue, ids: queue.enqueue(queue.clock.mint(), b""),
    "extend_lock": lambda queue, ids: queue.extend_lock(ids[2], 1, 99),
    "promote": lambda queue, ids: (queue.clock.advance(ms=1000), queue.promote(1)),
    "reap": lambda queue, ids: (queue.clock.advance(ms=10), queue.reap()),
    "reprocess_job": lambda queue, ids: queue.reprocess_job(ids[1]),
    "complete": lambda queue, ids: queue.complete(ids[2], 1),
    "retry": lambda queue, ids: queue.retry(ids[2], 1, 0, 1, b""),
    "update_data": lambda queue, ids: queue.update_data(ids[3], b"new"),
    "update_progress": lambda queue, ids: queue.update_progress(ids[2], b"done"),
    "add_log": lambda queue, ids: queue.add_log(ids[2], b"another"),
    "hold_lock": lambda queue, ids: queue.hold_lock(ids[4]),
    "park_dedup": lambda queue, ids: queue.park_dedup(ids[4], "d2"),
    "pause": lambda queue, ids: queue.pause(),
    "drop_row": lambda queue, ids: queue.drop_row(ids[3]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_happens_to_a_copy_does_not_happen_to_the_other(name):
    queue, ids = full_queue()
    before, events = queue.snapshot(), queue.events
    twin = queue.copy()
    assert (twin, twin.events) == (queue, events)
    CHANGES[name](twin, ids)
    assert (twin.snapshot(), twin.events) != (before, events)
    assert (queue.snapshot(), queue.events) == (before, events)
    CHANGES[name](queue, ids)
    assert (twin, twin.events) == (queue, queue.events)


# Rules that no dialect has.

HELD = {
    "complete": lambda queue, job_id: queue.complete(job_id, 1),
    "retry": lambda queue, job_id: queue.retry(job_id, 1, 0, 3, b""),
    "delay": lambda queue, job_id: queue.delay(job_id, 1, 0),
    "extend_lock": lambda queue, job_id: queue.extend_lock(job_id, 1, 10),
    "extend_locks": lambda queue, job_id: queue.extend_locks([(job_id, 1)], 10),
}


@pytest.mark.parametrize("needs", [*HELD, None])
@pytest.mark.parametrize("name", HELD)
def test_a_transition_may_need_the_lease(name, needs):
    rules = replace(Queue("q").rules, need_lease=frozenset({needs} - {None}))
    queue = Queue("q", rules=rules)
    queue.enqueue(A, b"")
    queue.claim(10)
    held = queue.copy()
    assert HELD[name](held, A) in (None, "scheduled", [])
    queue.clock.advance(ms=10)
    queue.reap()
    before = queue.snapshot()
    if name != needs:
        assert HELD[name](queue, A) in (None, "scheduled", [])
        assert queue.snapshot() != before
        return
    if name == "extend_locks":
        assert HELD[name](queue, A) == [A]
    else:
        with pytest.raises(StaleToken if name == "retry" else JobGone):
            HELD[name](queue, A)
    assert queue.snapshot() == before


@pytest.mark.parametrize("dialect", ["wire4", "wire6"])
def test_a_dropped_ghost_does_not_count_as_served(dialect):
    queue = Queue("q", dialect=dialect)
    for job_id in (A, B, C):
        queue.enqueue(job_id, b"")
    queue.drop_row(C)
    assert queue.claim_batch(3, 10) == [Claimed(A, b"", 1), Claimed(B, b"", 1)]
    assert queue.pending == []


def test_a_dedup_key_without_a_name_is_nobodys():
    queue = Queue("q")
    queue.enqueue(A, b"")
    queue.park_dedup(A, "")
    queue.remove_job(A)
    assert queue.get_deduplication_job_id("") == A


def test_nothing_was_counted_yet():
    queue = Queue("q")
    assert (queue.get_metrics("completed"), queue.get_metrics("failed")) == (0, 0)


@pytest.mark.parametrize(
    ("row", "state"),
    [
        ({"state": b"awaiting_children", "attempts": b"0", "payload": b"x"}, "awaiting_children"),
        ({"state": b"elsewhere", "attempts": b"0", "payload": b"awaiting_children"}, "unknown"),
        ({"attempts": b"0", "payload": b"awaiting_children"}, "absent"),
    ],
)
def test_the_state_of_a_job_in_no_set_is_what_its_row_says(row, state):
    queue = Queue.from_snapshot({f"emq:{{q}}:job:{A}": row})
    assert queue.get_job_state(A) == state
