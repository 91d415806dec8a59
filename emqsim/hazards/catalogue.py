"""The catalogue of hazards: each a name, a sentence, a public reference and a program.

Nothing here says how a hazard ends: `emqsim.hazards.play` finds that out on the machine itself.

In the reports a worker can be cut off in the middle of a claim, an enqueue or a sweep. Here each of these is one
script, and so one atomic step: where a report has a half, the program has the whole and whatever came between in
the report comes right after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from emqsim.ids import encode
from emqsim.results import Verdict
from emqsim.trace import Answer

A, B = encode("JOB", 0), encode("JOB", 1)
"""The jobs of the programs; A is the older one."""

LEASE_MS, DUE_MS = 100, 250
MAX_ATTEMPTS = 3
MANY = [encode("JOB", 1000 + index) for index in range(250)]


class Act(NamedTuple):
    """A call by one of the actors, and how many ms pass before it."""

    who: str
    call: str
    args: tuple[Any, ...] = ()
    after_ms: int = 0


Answered = Sequence[tuple[Act, Answer]]
Symptom = Callable[[Answered], bool]


@dataclass(frozen=True)
class Hazard:
    """A bug of some job queue. `symptom` tells from the answers whether it shows, beside broken invariants;
    its docstring says in words what is looked for."""

    name: str
    says: str
    reported: str
    """Where: repositories of a public host with the numbers of their issues, or of what kind it is."""
    program: tuple[Act, ...]
    here: str
    """Why it ends here as it does."""
    symptom: Symptom | None = None


# What is looked for in the answers.


def _served(answered: Answered) -> list[Any]:
    """The jobs that claims were answered with: [id, payload, token]."""
    return [answer["ok"] for act, answer in answered if act.call == "claim" and answer.get("ok")]


def delivered_twice(answered: Answered) -> bool:
    """a job is handed to a second worker"""
    ids = [job_id for job_id, _, _ in _served(answered)]
    return len(ids) > len(set(ids))


def completed_twice(answered: Answered) -> bool:
    """a job is completed twice"""
    done = [act.args[0] for act, answer in answered if act.call == "complete" and "ok" in answer]
    return len(done) > len(set(done))


def without_payload(answered: Answered) -> bool:
    """a job is handed out without its payload"""
    return any(payload is None for _, payload, _ in _served(answered))


def past_max_attempts(answered: Answered) -> bool:
    """a job is handed out more often than max attempts"""
    return any(token > MAX_ATTEMPTS for _, _, token in _served(answered))


def never_served(answered: Answered) -> bool:
    """the job that was admitted is not there for the last claim"""
    return not [answer for act, answer in answered if act.call == "claim"][-1].get("ok")


def lapsed_and_left(answered: Answered) -> bool:
    """fewer jobs are given back than leases lapsed"""
    leased = sum(len(answer["ok"]) for act, answer in answered if act.call == "claim_batch")
    given_back = sum(answer["ok"] for act, answer in answered if act.call == "reap")
    return bool(given_back < leased)


def moved_twice(answered: Answered) -> bool:
    """two sweepers or pollers take the same job"""
    moved = [answer["ok"] for act, answer in answered if act.call in ("reap", "promote")]
    return bool(sum(moved) > 1)


def buried_at_first_failure(answered: Answered) -> bool:
    """the first failure after reprocess buries the job"""
    return bool(answered[-1][1] == {"ok": Verdict.DEAD.value})


# The acts that many programs share.


def _enqueue(job_id: str = A) -> Act:
    return Act("producer", "enqueue", (job_id, "work"))


def _claim(worker: int, after_ms: int = 0, lease_ms: int = LEASE_MS) -> Act:
    return Act(f"worker {worker}", "claim", (lease_ms,), after_ms)


def _complete(worker: int, token: int, job_id: str = A) -> Act:
    return Act(f"worker {worker}", "complete", (job_id, token))


def _fail(worker: int, token: int, after_ms: int = 0, max_attempts: int = MAX_ATTEMPTS) -> Act:
    return Act(f"worker {worker}", "retry", (A, token, LEASE_MS, max_attempts, "boom"), after_ms)


def _extend(worker: int, token: int, job_id: str = A) -> Act:
    return Act(f"worker {worker}", "extend_lock", (job_id, token, LEASE_MS))


def _reap(after_ms: int = 0, who: str = "sweeper") -> Act:
    return Act(who, "reap", (), after_ms)


def _promote(after_ms: int = 0, who: str = "poller") -> Act:
    return Act(who, "promote", (100,), after_ms)


def _bury() -> tuple[Act, ...]:
    return _enqueue(), _claim(1), _fail(1, 1, max_attempts=1)


_REPROCESS = Act("operator", "reprocess_job", (A,))

_CATALOGUE = (
    Hazard(
        "eta-beyond-visibility",
        "a job held in memory until its time outlives the visibility timeout and runs twice",
        "celery/kombu#337",
        (
            Act("producer", "enqueue_in", (A, "work", DUE_MS)),
            _claim(1),
            _reap(LEASE_MS),
            _claim(2),
            _promote(DUE_MS - LEASE_MS),
            _claim(2),
        ),
        "a job that is not due waits in schedule, where no claim reaches it and no lease runs",
        delivered_twice,
    ),
    Hazard(
        "copies-pile-up",
        "one more delivery of the same job for each timeout",
        "celery/celery#2481, celery/celery#3270, celery/celery#4400",
        (
            _enqueue(),
            _claim(1),
            _reap(LEASE_MS),
            _claim(2),
            _reap(LEASE_MS),
            _claim(3),
            _complete(1, 1),
            _complete(2, 2),
            _complete(3, 3),
        ),
        "each lapsed lease is one more delivery; only the last holder's token settles the job",
        delivered_twice,
    ),
    Hazard(
        "sweep-cannot-keep-up",
        "more leases lapse in an interval than one sweep takes, and the backlog grows",
        "celery/kombu#164",
        (
            Act("producer", "enqueue_many", ([(job_id, "") for job_id in MANY],)),
            Act("worker 1", "claim_batch", (len(MANY), LEASE_MS)),
            _reap(LEASE_MS),
        ),
        "one reap gives back 100; a sweeper has to call it until it answers less",
        lapsed_and_left,
    ),
    Hazard(
        "pop-and-lock-apart",
        "a sweeper takes a job that was popped but not yet locked",
        "OptimalBits/bull#257",
        (_enqueue(), _claim(1), _reap(), _complete(1, 1), _claim(2)),
        "a claim pops and leases in one atomic step, so that a sweep finds the lease",
        delivered_twice,
    ),
    Hazard(
        "ghost-without-data",
        "a job that was deleted is put back and delivered empty",
        "OptimalBits/bull#850",
        (
            _enqueue(A),
            _enqueue(B),
            _claim(1),
            _claim(1),
            _complete(1, 1, B)._replace(after_ms=LEASE_MS),
            _reap(),
            _complete(1, 1, A),
            _claim(2),
        ),
        "late completions, one before the sweep and one after it: each finds the id and takes it along",
        without_payload,
    ),
    Hazard(
        "both-complete",
        "the lapsed holder and the new holder both complete",
        "OptimalBits/bull#308",
        (_enqueue(), _claim(1), _reap(LEASE_MS), _claim(2), _complete(1, 1), _complete(2, 2)),
        "the second claim made a new token, and the lapsed holder has the old one",
        completed_twice,
    ),
    Hazard(
        "settled-twice",
        "a worker moves its job on by itself, then its loop completes it as well",
        "taskforcesh/bullmq#2639, taskforcesh/bullmq#1896, taskforcesh/bullmq#1602",
        (_enqueue(), _claim(1), _fail(1, 1), _complete(1, 1), _promote(LEASE_MS), _claim(2)),
        "retry leaves the token good, and complete does not look into schedule: the row goes, the id stays",
        without_payload,
    ),
    Hazard(
        "swept-after-leaving",
        "a sweep acts on a job that left active in the meantime",
        "taskforcesh/bullmq#2512",
        (_enqueue(), _claim(1), _fail(1, 1, LEASE_MS), _reap()),
        "a sweep reads active and moves what it read in one atomic step",
    ),
    Hazard(
        "two-recoverers",
        "two sweepers read the same lapsed leases and both act",
        "hibiken/asynq#717",
        (_enqueue(), _claim(1), _reap(LEASE_MS, "sweeper a"), _reap(0, "sweeper b"), _claim(2)),
        "reading and moving are one atomic step, and the second sweeper finds nothing",
        moved_twice,
    ),
    Hazard(
        "lapsed-and-row-gone",
        "a sweep stops at an id whose row is missing",
        "hibiken/asynq#709",
        (
            _enqueue(A),
            _enqueue(B),
            _claim(1),
            _claim(1),
            Act("eviction", "drop_row", (A,)),
            _reap(LEASE_MS),
            _claim(2),
            _claim(2),
        ),
        "the sweep goes on, but makes a stub row for the id, which is then handed out without a payload",
        without_payload,
    ),
    Hazard(
        "lease-entry-lost",
        "a job marked active that no lease stands for is never recovered",
        "hibiken/asynq#1144",
        (_enqueue(), _claim(1), Act("outsider", "drop_member", ("active", A)), _reap(LEASE_MS), _claim(2)),
        "sweeps look into active alone, and nothing looks at rows that are in no set",
        never_served,
    ),
    Hazard(
        "heartbeat-after-sweep",
        "a late heartbeat makes a lease again for a job that was given back",
        "rq/rq#1550",
        (
            _enqueue(A),
            _enqueue(B),
            _claim(1),
            _claim(1),
            _reap(LEASE_MS),
            _extend(1, 1, A),
            _extend(1, 1, B),
            _complete(1, 1, B),
            _claim(2),
            _claim(2),
        ),
        "extend_lock adds the id to active, where a ZADD XX would not; the token is good until the next claim",
        delivered_twice,
    ),
    Hazard(
        "popped-not-registered",
        "a worker dies between taking a job and recording that it did",
        "rq/rq#2061, rq/rq#1553",
        (_enqueue(), _claim(1), _reap(LEASE_MS), _claim(2)),
        "a claim takes and records in one atomic step; the lease of a dead worker lapses like any other",
        never_served,
    ),
    Hazard(
        "enqueued-by-half",
        "the row exists, the set entry does not, and the same id is refused for ever",
        "frappe/press#3847",
        (_enqueue(), _enqueue(), _claim(1)),
        "row and entry are written in one atomic step; a producer that tries again finds a job that waits",
        never_served,
    ),
    Hazard(
        "swept-before-started",
        "a job is swept between dequeue and the mark that it started",
        "tobymao/saq#277, tobymao/saq#124",
        (_enqueue(), _claim(1), _reap(LEASE_MS - 1), _complete(1, 1), _claim(2)),
        "there is no second mark: the lease runs from the claim on, and a sweep looks at nothing else",
        delivered_twice,
    ),
    Hazard(
        "poison-recovered-for-ever",
        "a job that kills its worker is recovered without end",
        "sidekiq/sidekiq#4633",
        (_enqueue(), *(act for worker in range(1, 5) for act in (_claim(worker), _reap(LEASE_MS)))),
        "reap never looks at attempts, and only retry knows max attempts; sweep_stalled counts and buries",
        past_max_attempts,
    ),
    Hazard(
        "shutdown-requeue-and-retry",
        "at shutdown the job is put back and also put into the retry set",
        "sidekiq/sidekiq#4115",
        (
            _enqueue(),
            _claim(1),
            _reap(LEASE_MS, "worker 1"),
            _fail(1, 1),
            _claim(2),
            _promote(LEASE_MS),
            _claim(2),
            _claim(3),
        ),
        "retry takes the id from pending where it is not in active",
    ),
    Hazard(
        "promoted-twice",
        "two pollers promote the same due job",
        "sidekiq/sidekiq#1495, Bogdanp/dramatiq#431",
        (
            Act("producer", "enqueue_in", (A, "work", DUE_MS)),
            _promote(DUE_MS, "poller a"),
            _promote(0, "poller b"),
            _claim(1),
            _claim(2),
        ),
        "reading and moving are one atomic step, and the second poller finds nothing",
        moved_twice,
    ),
    Hazard(
        "runs-past-its-reservation",
        "the late acknowledgement fails, and the work was done twice",
        "contribsys/faktory#237",
        (_enqueue(), _claim(1), _reap(LEASE_MS), _claim(2), _complete(1, 1), _complete(2, 2)),
        "the token keeps the queue right, not the work: what both workers did outside was done twice",
        delivered_twice,
    ),
    Hazard(
        "released-twice",
        "a counter is moved by both runs of a duplicate",
        "agronholm/apscheduler#1121",
        (
            _enqueue(),
            _claim(1),
            _reap(LEASE_MS),
            _claim(2),
            _complete(1, 1),
            _complete(2, 2),
            Act("operator", "get_metrics", ("completed",)),
        ),
        "the counter is behind the token's guard, in the same atomic step",
        completed_twice,
    ),
    Hazard(
        "delayed-after-loss",
        "a worker that lost its lease delays the job, which is then in two places",
        "the kind of rq/rq#1550, by a delay",
        (
            _enqueue(),
            _claim(1),
            _reap(LEASE_MS),
            Act("worker 1", "delay", (A, 1, LEASE_MS)),
            _claim(2),
            _promote(LEASE_MS),
            _claim(3),
        ),
        "delay takes the id from active alone and leaves it in pending",
        delivered_twice,
    ),
    Hazard(
        "dead-then-completed",
        "the last failure and a completion come from the same claim",
        "the kind of taskforcesh/bullmq#2639, by a burial",
        (*_bury(), _complete(1, 1), _REPROCESS),
        "complete does not look into dead: the row goes, the id stays, and reprocess answers gone",
    ),
    Hazard(
        "dead-then-extended",
        "a heartbeat that outlives the failure brings a dead job back",
        "the kind of rq/rq#1550, by a burial",
        (*_bury(), _extend(1, 1), _reap(LEASE_MS), _claim(2)),
        "extend_lock adds the id to active, and a sweep gives it back from there",
        delivered_twice,
    ),
    Hazard(
        "reprocessed-with-old-count",
        "a job brought back from the morgue dies at its first failure",
        "a policy, not a report",
        (*_bury(), _REPROCESS, _claim(2), _fail(2, 2, max_attempts=1)),
        "reprocess leaves attempts as it is, since attempts is the fencing token",
        buried_at_first_failure,
    ),
)

HAZARDS = {hazard.name: hazard for hazard in _CATALOGUE}
"""Every hazard by its name."""
