"""The whole machine: its state, its transition table, and what each transition does.

A job lives in four sorted sets and one hash row.

    pending    ids that wait, all of score 0, so in the order of their bytes: oldest first
    active     ids that are leased; the score *is* the deadline of the lease
    schedule   ids that are parked; the score is when they fall due
    dead       the morgue

The row of a job holds `state`, `attempts` and `payload`. `attempts` counts the claims and *is* the
fencing token: whoever settles a job names the count it was claimed with, and a lapsed holder is refused.
Nothing recovers a lapsed lease by itself; a client has to call reap or sweep_stalled.

Every transition is one function under one row of the table. The row says which script and native command
it mirrors, with which KEYS and ARGV, what it reads, which moves it makes (sets left and entered, state of
the row after) and what it refuses and answers; the function takes all of that from its row, and so do
the server side, `emqsim table` and the documentation. Guards run in the order written and come before
any change, so a refusal changes nothing.

Three words for things that are not as they should be, and that the machine can be led to all the same:
a *ghost* is an id in a set with no row; a *stub row* is a row without a payload, made by a transition
that acted on a ghost; and nothing but the transitions themselves keeps an id out of two sets.

Scores are doubles, and each number becomes one before a sum, as in the scripts: `float(now) + float(value)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from emqsim import replies
from emqsim.clock import VirtualClock
from emqsim.dialect import Dialect, Rules
from emqsim.errors import (
    ActiveJobs,
    AtCeiling,
    JobGone,
    JobLocked,
    NotDead,
    NotPaused,
    StaleToken,
    WrongKind,
)
from emqsim.keys import COUNTERS, SETS, Keys
from emqsim.operation import Move, Operation, Plain, Refusal, Transition
from emqsim.results import Claimed, Sweep, Verdict
from emqsim.zset import SortedSet

Row = dict[str, bytes]

REAP_LIMIT = 100
"""How many lapsed leases one reap gives back at most."""


class Machine:
    """The state of one queue: what its keys on a server would hold."""

    __slots__ = (
        "active",
        "clock",
        "counters",
        "events",
        "keys",
        "locks",
        "logs",
        "meta",
        "parked",
        "pending",
        "rows",
        "rules",
        "sets",
    )

    def __init__(self, keys: Keys, clock: VirtualClock, rules: Rules) -> None:
        self.keys = keys
        self.clock = clock
        self.rules = rules
        self.sets = {which: SortedSet() for which in SETS}
        self.pending, self.active = self.sets["pending"], self.sets["active"]
        self.rows: dict[str, Row] = {}
        self.logs: dict[str, list[bytes]] = {}
        self.locks: dict[str, bytes] = {}
        self.meta: dict[str, bytes] = {}
        self.counters: dict[str, int] = {}
        self.parked: dict[str, str] = {}
        self.events: list[tuple[str, bytes]] = []

    def now(self) -> float:
        """The server's clock in whole milliseconds, a double like every number in a script."""
        return float(self.clock.now_ms)

    def copy(self, clock: VirtualClock) -> Machine:
        """An independent machine in the same state, on another clock."""
        twin = Machine(self.keys, clock, self.rules)
        twin.sets = {which: members.copy() for which, members in self.sets.items()}
        twin.pending, twin.active = twin.sets["pending"], twin.sets["active"]
        twin.rows = {job_id: row.copy() for job_id, row in self.rows.items()}
        twin.logs = {job_id: lines.copy() for job_id, lines in self.logs.items()}
        twin.locks = self.locks.copy()
        twin.meta = self.meta.copy()
        twin.counters = self.counters.copy()
        twin.parked = self.parked.copy()
        twin.events = self.events.copy()
        return twin

    def keyspace(self) -> dict[str, Any]:
        """Every key that exists, with its value as the server holds it."""
        keys = self.keys
        found: dict[str, Any] = {keys.base + which: s.items() for which, s in self.sets.items() if s}
        for job_id, row in self.rows.items():
            found[keys.job_prefix + job_id] = dict(row)
        for job_id, lines in self.logs.items():
            found[keys.logs(job_id)] = list(lines)
        for job_id, mark in self.locks.items():
            found[keys.lock(job_id)] = mark
        if self.meta:
            found[keys.meta] = dict(self.meta)
        for which, count in self.counters.items():
            found[keys.metrics(which)] = {"count": b"%d" % count}
        for dedup_id, job_id in self.parked.items():
            found[keys.de(dedup_id)] = job_id.encode()
        return found


# The tables, filled below in the order of a job's life.

TRANSITIONS: dict[str, Transition] = {}
READS: dict[str, Plain] = {}
OUTSIDE: dict[str, Plain] = {}
"""Writes by somebody outside the machine: an operator, an eviction, a lock holder."""


def transition(
    *,
    keys: str,
    argv: str,
    reply: Mapping[Any, Any] | Callable[[Any], Any],
    methods: str = "",
    reads: tuple[str, ...] = (),
    moves: tuple[Move, ...] = (),
    refusals: tuple[Refusal, ...] = (),
    renamed: Mapping[Dialect, str] | None = None,
    native: str | None = None,
    native_keys: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Transition]:
    """A row of the transition table, above the function that acts on it."""

    def enter(apply: Callable[..., Any]) -> Transition:
        name = apply.__name__
        row = TRANSITIONS[name] = Transition(
            name=name,
            apply=apply,
            methods=tuple(methods.split()) or (name,),
            keys=tuple(keys.split()),
            argv=tuple(argv.split()),
            reads=reads,
            moves=moves,
            refusals=refusals,
            reply=reply,
            renamed=renamed or {},
            native=native,
            native_keys=native_keys,
        )
        return row

    return enter


def plain(
    table: dict[str, Plain], *commands: str, reply: Callable[[Any], Any]
) -> Callable[[Callable[..., Any]], Plain]:
    """An entry of `table` that a server is asked for with plain commands."""

    def enter(apply: Callable[..., Any]) -> Plain:
        name = apply.__name__
        entry = table[name] = Plain(
            name=name,
            apply=apply,
            commands=tuple(tuple(command.split()) for command in commands),
            reply=reply,
        )
        return entry

    return enter


# What several transitions share.

_WRONG_KIND = Refusal("wrong kind", WrongKind, wire="EMQKIND job id must be JOB-namespaced")


def _kind(row: Transition, job_id: str) -> None:
    """Only ids of the namespace JOB are admitted."""
    if not job_id.startswith("JOB"):
        raise row.refuse("wrong kind")


def _fence(m: Machine, row: Transition, job_id: str, token: int) -> Row:
    """The job's row, if `token` is its `attempts`, compared as text; and, where the rules want it, if the id
    is leased at all."""
    job = m.rows.get(job_id)
    if job is None or "attempts" not in job:
        raise row.refuse("gone")
    if job["attempts"] != b"%d" % token:
        raise row.refuse("mismatch")
    if row.name in m.rules.need_lease and job_id not in m.active:
        raise row.refuse("gone")
    return job


def _row(m: Machine, row: Transition, job_id: str) -> Row:
    """The job's row, whatever is in it."""
    job = m.rows.get(job_id)
    if job is None:
        raise row.refuse("gone")
    return job


def _admit(m: Machine, row: Transition, job_id: str, payload: bytes, score: float = 0.0) -> Verdict:
    """A new row and its place in a set, unless the id has a row already."""
    _kind(row, job_id)
    if job_id in m.rows:
        return Verdict.DUPLICATE
    move = row.moves[0]
    m.rows[job_id] = {"attempts": b"0", "payload": payload, "state": move.state}  # type: ignore[dict-item]
    m.sets[move.enters].add(job_id, score)  # type: ignore[index]
    admitted: Verdict = row.reply[1]  # type: ignore[index]
    return admitted


def _leave(m: Machine, move: Move, job_id: str) -> None:
    """Take the id from the first set of the move that has it, or from all of them."""
    for which in move.leaves:
        if m.sets[which].remove(job_id) and not move.leaves_all:
            return


def _enter(m: Machine, move: Move, job_id: str, score: float = 0.0) -> None:
    """Put the id into the move's set and its state into the row, which a ghost gets by this."""
    row = m.rows.get(job_id)
    if row is None:
        row = m.rows[job_id] = {}
    row["state"] = move.state  # type: ignore[assignment]
    m.sets[move.enters].add(job_id, score)  # type: ignore[index]


def _bury(m: Machine, move: Move, job_id: str) -> None:
    """Into the morgue, and count it."""
    _enter(m, move, job_id)
    _count(m, "failed")


def _count(m: Machine, which: str) -> None:
    m.counters[which] = m.counters.get(which, 0) + 1


def _serve(m: Machine, move: Move, deadline: float) -> Claimed | None:
    """Lease the oldest pending job: the one place where a token is made."""
    pending, rows = m.pending, m.rows
    while pending:
        job_id = pending.pop_min()
        row = rows.get(job_id)
        if row is None:
            if m.rules.claim_skips_ghosts:
                continue
            row = rows[job_id] = {}
        token = int(row.get("attempts", b"0")) + 1
        row["attempts"] = b"%d" % token
        row["state"] = move.state  # type: ignore[assignment]
        m.active.add(job_id, deadline)
        return Claimed(job_id, row.get("payload"), token)
    return None


def _hand_over(m: Machine, move: Move, limit: int) -> int:
    """Move what is due by now, ghosts too: each gets a row that holds only `state`."""
    ids = m.sets[move.leaves[0]].pop_due(m.now(), limit)
    for job_id in ids:
        _enter(m, move, job_id)
    return len(ids)


def _at(m: Machine, mode: str, value: int) -> float:
    """When a job falls due: `value` ms from now for mode `in`, at `value` for mode `at`."""
    return m.now() + float(value) if mode == "in" else float(value)


def _forget(m: Machine, job_id: str) -> None:
    """Delete the row and the log lines."""
    m.rows.pop(job_id, None)
    m.logs.pop(job_id, None)


# Admission.


@transition(
    methods="enqueue enqueue_many",
    keys="row pending",
    argv="job_id payload",
    reads=("row",),
    moves=(Move("enqueue", (), "pending", b"pending", "admits a job"),),
    refusals=(_WRONG_KIND,),
    reply={1: Verdict.ENQUEUED, 0: Verdict.DUPLICATE},
)
def enqueue(m: Machine, job_id: str, payload: bytes) -> Verdict:
    """Admit a job, once: an id that has a row is a duplicate."""
    return _admit(m, enqueue, job_id, payload)


@transition(
    methods="enqueue_at enqueue_in",
    keys="row schedule",
    argv="job_id payload mode value",
    reads=("row",),
    moves=(Move("schedule", (), "schedule", b"scheduled", "admits a job for later"),),
    refusals=(_WRONG_KIND,),
    reply={1: Verdict.SCHEDULED, 0: Verdict.DUPLICATE},
)
def schedule(m: Machine, job_id: str, payload: bytes, mode: str, value: int) -> Verdict:
    """Admit a job that falls due later: `in` value ms, or `at` value."""
    return _admit(m, schedule, job_id, payload, _at(m, mode, value))


# The claim and its lease.


@transition(
    keys="pending active",
    argv="job_prefix lease_ms",
    reads=("meta paused", "pending", "row"),
    moves=(Move("claim", ("pending",), "active", b"active", "leases the oldest job to a worker"),),
    reply=replies.claimed,
    renamed={Dialect.WIRE4: "claim2", Dialect.WIRE6: "claim2"},
    native="EMQ.CLAIM",
    native_keys=("meta",),
)
def claim(m: Machine, lease_ms: int) -> Claimed | None:
    """Lease the oldest pending job until now + lease; the token is its count of claims."""
    if m.rules.claim_reads_pause and "paused" in m.meta:
        return None
    now = m.now()
    claimed = _serve(m, claim.moves[0], now + float(lease_ms))
    if claimed is not None and m.rules.claim_writes_epoch:
        m.rows[claimed.job_id]["lease_epoch"] = b"%d" % now
    return claimed


@transition(
    methods="claim_batch",
    keys="pending active",
    argv="job_prefix lease_ms size",
    reads=("meta paused", "pending", "row"),
    moves=(Move("bclaim", ("pending",), "active", b"active", "leases the oldest jobs at once"),),
    reply=replies.claimed_list,
    renamed={Dialect.WIRE4: "bclaim2", Dialect.WIRE6: "bclaim2"},
)
def bclaim(m: Machine, lease_ms: int, size: int) -> list[Claimed]:
    """Lease up to min(size, depth) jobs with one deadline. Assumed, for want of a public text:
    where claim skips ghosts, so does this, and a dropped ghost does not count as served."""
    deadline = m.now() + float(lease_ms)
    batch: list[Claimed] = []
    for _ in range(min(size, len(m.pending))):
        claimed = _serve(m, bclaim.moves[0], deadline)
        if claimed is None:
            break
        batch.append(claimed)
    return batch


@transition(
    keys="active row",
    argv="job_id token lease_ms",
    reads=("row attempts",),
    moves=(Move("extend", (), "active", None, "moves the deadline of the lease"),),
    refusals=(
        Refusal("gone", JobGone, reply=-1),
        Refusal("mismatch", StaleToken, wire="EMQSTALE extend token mismatch"),
    ),
    reply={1: None},
    native="EMQ.EXTEND",
)
def extend_lock(m: Machine, job_id: str, token: int, lease_ms: int) -> None:
    """A heartbeat: the lease runs until now + lease. It does not look whether the id is in active:
    with a current token it *adds* it there, wherever else it is."""
    _fence(m, extend_lock, job_id, token)
    m.active.add(job_id, m.now() + float(lease_ms))


@transition(
    keys="active",
    argv="base lease_ms *held",
    reads=("row attempts",),
    moves=(Move("extend", (), "active", None, "moves the deadlines of many leases"),),
    reply=replies.members,
)
def extend_locks(m: Machine, held: list[tuple[str, int]], lease_ms: int) -> list[str]:
    """Heartbeats for many jobs with one deadline; answers the ids that could not be extended."""
    deadline = m.now() + float(lease_ms)
    anywhere = extend_locks.name not in m.rules.need_lease
    lost = []
    for job_id, token in held:
        current = m.rows.get(job_id, {}).get("attempts") == b"%d" % token
        if current and (anywhere or job_id in m.active):
            m.active.add(job_id, deadline)
        else:
            lost.append(job_id)
    return lost


# Settling a claim.


@transition(
    keys="active row",
    argv="job_id token base",
    reads=("row attempts", "active"),
    moves=(Move("complete", ("active", "pending"), None, None, "deletes the row of a job that is done"),),
    refusals=(
        Refusal("gone", JobGone, reply=0),
        Refusal("mismatch", StaleToken, wire="EMQSTALE complete token mismatch"),
    ),
    reply={1: None},
    native="EMQ.COMPLETE",
)
def complete(m: Machine, job_id: str, token: int) -> None:
    """Done: out of active, or where it is not there out of pending; the row goes. It leaves
    schedule, dead and the log lines alone, and pending too where the id was in active."""
    _fence(m, complete, job_id, token)
    _leave(m, complete.moves[0], job_id)
    del m.rows[job_id]
    _count(m, "completed")


@transition(
    keys="active schedule dead row",
    argv="job_id token delay_ms max_attempts error base",
    reads=("row attempts", "active"),
    moves=(
        Move("retry", ("active", "pending"), "schedule", b"scheduled", "parks a failed job for another try"),
        Move("dead", ("active", "pending"), "dead", b"dead", "buries a job that failed too often"),
    ),
    refusals=(
        Refusal("gone", StaleToken, wire="EMQSTALE job gone"),
        Refusal("mismatch", StaleToken, wire="EMQSTALE retry token mismatch"),
    ),
    reply={b"scheduled": Verdict.SCHEDULED, b"dead": Verdict.DEAD},
    native="EMQ.RETRY",
)
def retry(m: Machine, job_id: str, token: int, delay_ms: int, max_attempts: int, error: bytes) -> Verdict:
    """Failed: parked until now + delay, or buried when attempts has reached max_attempts."""
    row = _fence(m, retry, job_id, token)
    again, buried = retry.moves
    _leave(m, again, job_id)
    row["last_error"] = error
    if float(int(row["attempts"])) >= float(max_attempts):
        _bury(m, buried, job_id)
        return Verdict.DEAD
    _enter(m, again, job_id, m.now() + float(delay_ms))
    return Verdict.SCHEDULED


@transition(
    methods="delay delay_until",
    keys="row active schedule",
    argv="job_id token mode value",
    reads=("row attempts",),
    moves=(Move("delay", ("active",), "schedule", b"scheduled", "parks a job without counting a failure"),),
    refusals=(
        _WRONG_KIND,
        Refusal("gone", JobGone, wire="EMQSTALE job gone"),
        Refusal("mismatch", StaleToken, wire="EMQSTALE delay token mismatch"),
    ),
    reply={1: None},
)
def delay(m: Machine, job_id: str, token: int, mode: str, value: int) -> None:
    """Run it again later, without an error and without a look at max_attempts. It leaves pending alone."""
    _kind(delay, job_id)
    _fence(m, delay, job_id, token)
    _leave(m, delay.moves[0], job_id)
    _enter(m, delay.moves[0], job_id, _at(m, mode, value))


# What a client has to do now and then, or nobody does.


@transition(
    keys="schedule pending",
    argv="base batch",
    reads=("schedule",),
    moves=(Move("promote", ("schedule",), "pending", b"pending", "hands over a job that fell due"),),
    reply=replies.count,
)
def promote(m: Machine, batch: int) -> int:
    """Hand over up to `batch` scheduled jobs that are due, in the order in which they fell due."""
    return _hand_over(m, promote.moves[0], batch)


@transition(
    keys="active pending",
    argv="base",
    reads=("active",),
    moves=(Move("reap", ("active",), "pending", b"pending", "gives back a job whose lease lapsed"),),
    reply=replies.count,
)
def reap(m: Machine) -> int:
    """Give back up to 100 jobs whose leases lapsed. Attempts stay: the old token still fits."""
    return _hand_over(m, reap.moves[0], REAP_LIMIT)


@transition(
    keys="active pending dead",
    argv="base max_stalled limit",
    reads=("active", "row stalled"),
    moves=(
        Move("recover", ("active",), "pending", b"pending", "gives back a stalled job and counts the stall"),
        Move("bury", ("active",), "dead", b"dead", "buries a job that stalled too often"),
    ),
    reply=replies.sweep,
    native="EMQ.STALLED",
)
def sweep_stalled(m: Machine, max_stalled: int, limit: int) -> Sweep:
    """As reap, but each job counts its stalls and is buried when it has max_stalled of them."""
    recover, bury = sweep_stalled.moves
    swept = Sweep([], [])
    for job_id in m.active.pop_due(m.now(), limit):
        row = m.rows.setdefault(job_id, {})
        stalled = int(row.get("stalled", b"0")) + 1
        row["stalled"] = b"%d" % stalled
        if float(stalled) >= float(max_stalled):
            row["last_error"] = b"stalled"
            _bury(m, bury, job_id)
            swept.dead.append(job_id)
        else:
            _enter(m, recover, job_id)
            swept.recovered.append(job_id)
    return swept


# Operators.


@transition(
    methods="reprocess_job",
    keys="row dead pending",
    argv="job_id",
    reads=("row", "dead"),
    moves=(Move("reprocess", ("dead",), "pending", b"pending", "brings a job back from the morgue"),),
    refusals=(
        Refusal("gone", JobGone, reply=-1),
        Refusal("not dead", NotDead, wire="EMQSTATE not dead"),
    ),
    reply={1: None},
    native="EMQ.REPROCESS",
)
def reprocess(m: Machine, job_id: str) -> None:
    """Another life for a dead job. The error goes, attempts stays."""
    row = _row(m, reprocess, job_id)
    if job_id not in m.sets["dead"]:
        raise reprocess.refuse("not dead")
    _leave(m, reprocess.moves[0], job_id)
    row.pop("last_error", None)
    _enter(m, reprocess.moves[0], job_id)


@transition(methods="pause", keys="meta", argv="", reply={1: None})
def queue_pause(m: Machine) -> None:
    """No more claims. Nothing moves, and what is leased goes on."""
    m.meta["paused"] = b"1"


@transition(methods="resume", keys="meta", argv="", reply={1: None})
def queue_resume(m: Machine) -> None:
    """Claims again."""
    m.meta.pop("paused", None)


@transition(
    keys="base pending *with_schedule",
    argv="",
    reads=("pending", "schedule"),
    moves=(
        Move("drain", ("pending", "schedule"), None, None, "deletes the jobs that wait", leaves_all=True),
    ),
    reply=replies.count,
)
def drain(m: Machine, with_schedule: tuple[str, ...]) -> int:
    """Delete every pending job, and the scheduled ones where asked: rows, log lines and the sets."""
    drained = 0
    for which in ("pending", *with_schedule):
        members = m.sets[which]
        for _, job_id in members:
            _forget(m, job_id)
        drained += len(members)
        members.clear()
    return drained


@transition(
    keys="meta base",
    argv="force budget",
    reads=("meta paused", *SETS),
    moves=(
        Move(
            "obliterate",
            ("active", "pending", "schedule", "dead"),
            None,
            None,
            "deletes the whole queue",
            leaves_all=True,
        ),
    ),
    refusals=(
        Refusal("not paused", NotPaused, wire="EMQSTATE not paused"),
        Refusal("active jobs", ActiveJobs, wire="EMQSTATE active jobs present"),
    ),
    reply={0: True, 1: False},
)
def obliterate(m: Machine, force: str, budget: int) -> bool:
    """Delete up to `budget` jobs of a paused queue, set by set, then what else the queue has.
    False: the budget was spent and something may be left, call again. Dedup keys stay."""
    if "paused" not in m.meta:
        raise obliterate.refuse("not paused")
    if m.active and not force:
        raise obliterate.refuse("active jobs")
    for which in obliterate.moves[0].leaves:
        members = m.sets[which]
        ids = members.first(budget)
        for job_id in ids:
            _forget(m, job_id)
            m.locks.pop(job_id, None)
            members.remove(job_id)
        budget -= len(ids)
        if budget <= 0:
            return False
    m.counters.clear()
    m.meta.clear()
    return True


@transition(
    keys="row",
    argv="payload",
    reads=("row",),
    refusals=(Refusal("gone", JobGone, reply=-1),),
    reply={1: None},
)
def update_data(m: Machine, job_id: str, payload: bytes) -> None:
    """Another payload, wherever the job is."""
    _row(m, update_data, job_id)["payload"] = payload


@transition(
    keys="row",
    argv="progress job_id base",
    reads=("row",),
    refusals=(Refusal("gone", JobGone, reply=-1),),
    reply={1: None},
)
def update_progress(m: Machine, job_id: str, progress: bytes) -> None:
    """Note progress in the row and publish it."""
    _row(m, update_progress, job_id)["progress"] = progress
    message = b'{"event":"progress","job":"%s","progress":"%s"}'
    m.events.append((m.keys.events, message % (job_id.encode(), _json_text(progress))))


@transition(
    keys="row logs",
    argv="line keep",
    reads=("row",),
    refusals=(Refusal("gone", JobGone, reply=-1),),
    reply=replies.length,
)
def add_log(m: Machine, job_id: str, line: bytes, keep: int) -> int:
    """Append a log line and keep the last `keep` lines, all of them for 0; answers how many there are."""
    _row(m, add_log, job_id)
    lines = m.logs.setdefault(job_id, [])
    lines.append(line)
    if keep:
        del lines[:-keep]
    return len(lines)


@transition(
    keys="row pending active schedule dead de",
    argv="job_id dedup_id",
    reads=("row", "lock", "de"),
    moves=(Move("remove", SETS, None, None, "deletes one job, wherever it is", leaves_all=True),),
    refusals=(
        Refusal("gone", JobGone, reply=-1),
        Refusal("locked", JobLocked, wire="EMQLOCK job is locked"),
    ),
    reply={1: None},
)
def remove_job(m: Machine, job_id: str, dedup_id: str) -> None:
    """Delete a job from all four sets with its row and log lines, unless somebody outside holds its lock;
    its dedup key goes too, if it is the one that is parked there."""
    row = _row(m, remove_job, job_id)
    if job_id in m.locks or "lock" in row:
        raise remove_job.refuse("locked")
    _leave(m, remove_job.moves[0], job_id)
    if dedup_id and m.parked.get(dedup_id) == job_id:
        del m.parked[dedup_id]
    _forget(m, job_id)


@transition(
    keys="meta active",
    argv="",
    reads=("meta concurrency", "active"),
    refusals=(Refusal("ceiling", AtCeiling, wire="EMQRATE at concurrency ceiling"),),
    reply={0: False},
)
def is_maxed(m: Machine) -> bool:
    """Whether as many jobs are leased as the queue allows at once. The script answers with an error
    where they are; the call answers True."""
    ceiling = float(m.meta.get("concurrency", b"0"))
    if ceiling > 0 and len(m.active) >= ceiling:
        raise is_maxed.refuse("ceiling")
    return False


# Reads.


@plain(READS, "ZRANGE pending + - BYLEX REV LIMIT 0 n", reply=replies.members)
def browse(m: Machine, n: int) -> list[str]:
    """The newest pending ids first."""
    return m.pending.newest(n)


@plain(READS, "ZRANGE set 0 -1 WITHSCORES", reply=replies.scored)
def read_set(m: Machine, which: str) -> list[tuple[str, float]]:
    """One of the four sets with its scores."""
    return m.sets[which].items()


@plain(READS, "ZCARD pending", reply=replies.count)
def pending_size(m: Machine) -> int:
    """How many jobs wait."""
    return len(m.pending)


def _counts(raw: list[Any]) -> dict[str, int]:
    """a number for each set and each counter"""
    return dict(zip((*SETS, *COUNTERS), (int(each or 0) for each in raw), strict=True))


@plain(
    READS,
    *(f"ZCARD {which}" for which in SETS),
    *(f"HGET {which} count" for which in COUNTERS),
    reply=_counts,
)
def get_counts(m: Machine) -> dict[str, int]:
    """How many jobs each set holds, and both counters."""
    return _counts([*map(len, m.sets.values()), *(m.counters.get(which) for which in COUNTERS)])


def _job(raw: Any) -> Row | None:
    """the row, or nothing"""
    return replies.hash_fields(raw) or None


@plain(READS, "HGETALL row", reply=_job)
def get_job(m: Machine, job_id: str) -> Row | None:
    """The row as it is."""
    row = m.rows.get(job_id)
    return None if row is None else dict(row)


_STATE_WORDS = ("pending", "active", "scheduled", "dead")


def _job_state(raw: list[Any]) -> str:
    """where the job is"""
    *scores, state = raw
    for word, score in zip(_STATE_WORDS, scores, strict=True):
        if score is not None:
            return word
    if state is None:
        return "absent"
    return "awaiting_children" if state == b"awaiting_children" else "unknown"


@plain(READS, *(f"ZSCORE {which} job_id" for which in SETS), "HGET row state", reply=_job_state)
def get_job_state(m: Machine, job_id: str) -> str:
    """The first set that holds the id; where none does, what the row's `state` field tells."""
    scores = [members.score(job_id) for members in m.sets.values()]
    return _job_state([*scores, m.rows.get(job_id, {}).get("state")])


def _counter(raw: bytes | None) -> int:
    """a number"""
    return int(raw or 0)


@plain(READS, "HGET metrics count", reply=_counter)
def get_metrics(m: Machine, which: str) -> int:
    """How many jobs were completed, or failed for good."""
    return m.counters.get(which, 0)


def _present(raw: int) -> bool:
    """1 or 0"""
    return raw == 1


@plain(READS, "HEXISTS meta paused", reply=_present)
def is_paused(m: Machine) -> bool:
    """The pause flag."""
    return "paused" in m.meta


@plain(READS, "GET de", reply=replies.optional_member)
def get_deduplication_job_id(m: Machine, dedup_id: str) -> str | None:
    """The job id parked under a dedup id."""
    return m.parked.get(dedup_id)


def _logs(raw: list[Any]) -> list[bytes]:
    """a list of bytes"""
    there, lines = raw
    if not there:
        raise JobGone
    return replies.octets_list(lines)


@plain(READS, "EXISTS row", "LRANGE logs 0 -1", reply=_logs)
def get_job_logs(m: Machine, job_id: str) -> list[bytes]:
    """The log lines of a job that has a row."""
    return _logs([job_id in m.rows, list(m.logs.get(job_id, ()))])


# Writes by somebody outside.


@plain(OUTSIDE, "DEL row", reply=replies.ignored)
def drop_row(m: Machine, job_id: str) -> None:
    """The row vanishes, the sets stay: an eviction, an operator's DEL."""
    m.rows.pop(job_id, None)


@plain(OUTSIDE, "ZREM set job_id", reply=replies.ignored)
def drop_member(m: Machine, which: str, job_id: str) -> None:
    """The set entry vanishes, the row stays."""
    m.sets[which].remove(job_id)


@plain(OUTSIDE, "SET lock 1", reply=replies.ignored)
def hold_lock(m: Machine, job_id: str) -> None:
    """Somebody outside marks the job as locked; no transition does."""
    m.locks[job_id] = b"1"


@plain(OUTSIDE, "HSET row mark 1", reply=replies.ignored)
def lock_row(m: Machine, job_id: str, mark: str) -> None:
    """Somebody outside marks the job as locked in its row, which a job without one gets by this."""
    m.rows.setdefault(job_id, {})[mark] = b"1"


@plain(OUTSIDE, "SET de job_id", reply=replies.ignored)
def park_dedup(m: Machine, job_id: str, dedup_id: str) -> None:
    """A producer parks a job id under its idempotency key."""
    m.parked[dedup_id] = job_id


@plain(OUTSIDE, "HSET meta field value", reply=replies.ignored)
def configure(m: Machine, field: str, value: int) -> None:
    """Somebody sets a limit in meta."""
    m.meta[field] = b"%d" % value


OPERATIONS: dict[str, Operation] = {**TRANSITIONS, **READS, **OUTSIDE}


def moves() -> Iterator[tuple[Transition, Move]]:
    """Every move of the transition table, with its transition."""
    return ((row, move) for row in TRANSITIONS.values() for move in row.moves)


_ESCAPES = {ord('"'): b'\\"', ord("\\"): b"\\\\"} | {n: b"\\u%04x" % n for n in range(32)}
_ESCAPED = re.compile(rb'[\x00-\x1f"\\]')


def _json_text(octets: bytes) -> bytes:
    """The inside of a JSON string; bytes that are not UTF-8 stay as they are, as cjson leaves them."""
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0][0]], octets)
