"""Random programs: a string of bytes, read as steps by actors around one queue.

Six bytes are a step: what is done, three bytes for its arguments, and two for the time that passes before.
A zero says "nothing" or "the first choice", so that a string with more zeros is a simpler program, and any
string is one. References are relative (the third job that is known, the token of its last claim, just before
the next deadline) and are resolved against the model while the program runs on it, so that a program from which
steps were taken still means something.

Who acts: producers, workers with right, late and invented tokens, sweepers, operators, and the world outside:
rows and entries that vanish, held locks, parked dedup keys, a clock that jumps and now and then steps back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from emqsim.check.recorder import Recorder, Sent
from emqsim.ids import encode
from emqsim.keys import SETS
from emqsim.results import Claimed

STEP_BYTES = 6

_FEW = [encode("JOB", (index * 5) % 12) for index in range(12)]
"""Ids that are admitted one by one, not in their order."""
_MANY = [encode("JOB", 1000 + index) for index in range(120)]
"""Ids that are admitted in bulk, so that limits of 100 are reached."""
_FOREIGN = encode("ORD", 7)
_NEVER = encode("JOB", 99)
"""An id that nobody admits."""

_TEXTS: tuple[bytes, ...] = (
    b"a",
    b"",
    b"\x00",
    b"\xff\xfe",
    "é€".encode(),
    b"x\r\n$1\r\n",
    b"7" * 1000,
    b'"\\/\x7f',
)


class Pools(NamedTuple):
    """The times that programs choose from, in ms; the first is the plain one."""

    leases: tuple[int, ...]
    delays: tuple[int, ...]
    moments: tuple[int, ...]
    """From now on."""
    waits: bool
    """Whether time passes where a program says so."""


_ANY_DELAYS = (-1, -10, -(2**40), -(2**63))
_ANY_MOMENTS = (0, -5, 2**60 + 1, 2**63 - 1, -(2**63))

VIRTUAL = Pools(
    leases=(10, 1, 1000, 30_000, 2, 11, 2**53, 2**63 - 1),
    delays=(10, 0, 1, 1000, 2, 11, 2**60 + 1, 2**63 - 1),
    moments=(10, 0, 1, -1, 1000),
    waits=True,
)
"""Where the clock goes as the program says."""

SERVER = Pools(leases=(2, 1, 3), delays=(2, 0, 1, 3), moments=(2, 0, 1, -1, 3), waits=False)
"""Where the clock is the server's own: short times, that pass while the steps run."""

_COUNTS = (1, 2, 3, 100, 101, 10_000, 2**53)
_LIMITS = (100, 1, 2, 3, 99, 101, 2**53)
_MAX_ATTEMPTS = (3, 1, 2, 0, 4, -1, 2**60)
_MAX_STALLED = (1, 2, 3, 0, -1, 2**60)
_KEEPS = (0, 1, 2, 3, 0, 12, 0, 2**53, 0, 0)
_LINES = (b"line", b"", b"\xff\n")
_DEDUPS = ("d1", "d2", "")
_CEILINGS = (1, 2, 0, -1, 3, 2**60)
_INVENTED = (0, -1, 2, 99, 2**63 - 1, -(2**63))

LONGEST_WAIT_MS = 10**9
"""A deadline further off than this is not waited for."""


def pick(choices: Sequence[Any], byte: int) -> Any:
    """One of a few; 0 is the first."""
    return choices[byte % len(choices)]


class GeneratorState:
    """The model while a program is made, and what its actors remember."""

    def __init__(self, queue: Recorder, pools: Pools = VIRTUAL) -> None:
        self.queue = queue
        self.pools = pools
        self.tokens: dict[str, list[int]] = {}
        self.served: Claimed | None = None
        """What was claimed last."""
        self.seen: dict[str, None] = {}

    def known(self) -> list[str]:
        """Ids that were named so far, in that order."""
        return list(self.seen)

    def remember(self, sent: Iterable[Sent]) -> None:
        """Note the ids and tokens of operations that have run."""
        for operation, args, (kind, value) in sent:
            named = dict(zip(operation.params, args, strict=True))
            if "job_id" in named:
                self.seen[named["job_id"]] = None
            for job_id, _ in named.get("held", ()):
                self.seen[job_id] = None
            if kind == "ok":
                for claimed in value if isinstance(value, list) else (value,):
                    if isinstance(claimed, Claimed):
                        self.tokens.setdefault(claimed.job_id, []).append(claimed.token)
                        self.served = claimed

    def job(self, byte: int, which: str = "") -> str:
        """A job to act on: mostly one in the set `which`, or in any set, else one that was seen, or not even that."""
        known = self.known()
        if byte >= 240 or not known:
            return str(pick((_NEVER, _FOREIGN, *_FEW), byte))
        if byte < 200:
            sets = self.queue.machine.sets
            there = [members for name, members in sets.items() if members and (byte >= 128 or name == which)]
            living = [job_id for members in there or sets.values() for job_id in members.first(6)]
            if living:
                return str(pick(living, byte))
        return str(pick(known[-6:], byte))

    def fresh(self, byte: int) -> str:
        """An id to admit: mostly one that is new, now and then one that is a ghost or has a row."""
        if byte >= 232:
            return str(pick((_FOREIGN, *self.known()), byte))
        if byte >= 200:
            machine = self.queue.machine
            ghosts = [job_id for job_id in self.seen if job_id not in machine.rows]
            there = [
                job_id for job_id in ghosts if any(job_id in members for members in machine.sets.values())
            ]
            if there:
                return str(pick(there, byte))
        start = byte % len(_FEW)
        for job_id in (*_FEW[start:], *_FEW[:start]):
            if job_id not in self.seen:
                return job_id
        return _FEW[start]

    def token(self, job_id: str, byte: int) -> int:
        """The right token mostly, else the last one handed out, an older one, or an invented one."""
        row = self.queue.machine.rows.get(job_id, {})
        current = int(row.get("attempts", b"1"))
        handed = self.tokens.get(job_id, [current])
        if byte < 160:
            return current
        if byte < 200:
            return handed[-1]
        if byte < 225:
            return int(pick(handed, byte))
        return int(pick((current + 1, current - 1, *_INVENTED), byte))

    def moment(self, byte: int) -> int:
        """A time to fall due at, around now, or far from it."""
        now = self.queue.clock.now_ms
        return int(pick((*(now + offset for offset in self.pools.moments), *_ANY_MOMENTS), byte))

    def deadlines(self) -> list[float]:
        """The scores of active and schedule, in order."""
        sets = self.queue.machine.sets
        return sorted(score for which in ("active", "schedule") for score, _ in sets[which])

    def wait(self, kind: int, amount: int) -> None:
        """Let time pass, or step back."""
        if kind < 128 or not self.pools.waits:
            return
        clock = self.queue.clock
        now_us = clock.now_us
        offset: Callable[[int], int] | int = pick(_WAITS, kind)
        if isinstance(offset, int):
            clock.set(now_us=max(now_us + offset, 0))
            return
        ahead = [due for due in self.deadlines() if 0 < due - clock.now_ms < LONGEST_WAIT_MS]
        if ahead:
            due_us = int(pick((ahead[0], ahead[-1], *ahead), amount)) * 1000
            clock.set(now_us=max(offset(due_us), 0))


_WAITS: tuple[Callable[[int], int] | int, ...] = (
    lambda due: due,
    lambda due: due + 1000,
    lambda due: due - 1000,
    lambda due: due - 1,
    lambda due: due + 999,
    1000,
    1,
    999,
    10_000,
    1_000_000,
    60_000_000,
    lambda due: due,
    -1000,
    -500_000,
)
"""Microseconds from now, or a time around a deadline."""


Call = tuple[str, tuple[Any, ...]]

Maker = Callable[[GeneratorState, int, int, int], Any]


class Action(NamedTuple):
    """What an actor may do: the call, how its arguments come from three bytes, and how often it is chosen in a mixed
    program, and in one about claims, sweeps, operators, bulk, logs, or a job that is served often. Where no call is
    named, calls with their arguments come from the bytes."""

    call: str | None
    make: Maker
    mixed: int
    claims: int = 0
    sweeps: int = 0
    operators: int = 0
    bulk: int = 0
    logs: int = 0
    served: int = 0

    def calls(self, known: GeneratorState, a: int, b: int, c: int) -> Iterator[Call]:
        """The calls it comes to, each made when the one before has run."""
        if self.call is None:
            yield from self.make(known, a, b, c)
        else:
            yield self.call, self.make(known, a, b, c)


def _settle(*pools: str | Sequence[Any]) -> Maker:
    """A call with a job, its token and a choice for each pool (all of one byte, the last one from its lowest
    values); leases and delays by name."""

    def make(known: GeneratorState, a: int, b: int, c: int) -> tuple[Any, ...]:
        job_id = known.job(a, "active")
        args, rest = [], c
        for each in reversed(pools):
            pool = _times(known.pools, each) if isinstance(each, str) else each
            rest, index = divmod(rest, len(pool))
            args.append(pool[index])
        return (job_id, known.token(job_id, b), *reversed(args))

    return make


def _times(pools: Pools, name: str) -> Sequence[int]:
    return pools.leases if name == "leases" else pools.delays + _ANY_DELAYS


def _held(known: GeneratorState, a: int, b: int, c: int) -> tuple[Any, ...]:
    jobs = [known.job((a + index * 37) % 256, "active") for index in range(b % 5)]
    return [
        (job_id, known.token(job_id, (b * (index + 3)) % 256)) for index, job_id in enumerate(jobs)
    ], pick(known.pools.leases, c)


def _pairs(known: GeneratorState, a: int, b: int, c: int) -> tuple[Any, ...]:
    ids = [known.fresh((a + index * 29) % 256) for index in range(1 + b % 4)]
    return ([(job_id, pick(_TEXTS, c + index)) for index, job_id in enumerate(ids)],)


def _bulk(known: GeneratorState, a: int, b: int, c: int) -> tuple[Any, ...]:
    return ([(job_id, b"") for job_id in _MANY[: pick((101, 120, 100, 102, 3), a)]],)


def _again_and_again(known: GeneratorState, a: int, b: int, c: int) -> Iterator[Call]:
    """The oldest job is served and fails, until its token is a high one; then somebody comes with an older one."""
    lease_ms, delay_ms = known.pools.leases[0], known.pools.delays[0]
    yield "enqueue", (known.fresh(0), b"a")
    for _ in range(pick((1, 9, 10, 11, 10, 11), a)):
        known.served = None
        yield "claim", (lease_ms,)
        if known.served is None:
            return
        yield "retry", (known.served.job_id, known.served.token, -1, 2**60, b"")
        yield "promote", (100,)
    assert known.served is not None
    job_id = known.served.job_id
    tokens = known.tokens[job_id]
    token = pick((tokens[0], tokens[-2:][0], tokens[len(tokens) // 2]), c)
    yield pick(
        (
            ("complete", (job_id, token)),
            ("retry", (job_id, token, delay_ms, 3, b"boom")),
            ("delay", (job_id, token, delay_ms)),
            ("extend_lock", (job_id, token, lease_ms)),
            ("extend_locks", ([(job_id, token)], lease_ms)),
        ),
        b,
    )


def _delay_until(known: GeneratorState, a: int, b: int, c: int) -> tuple[Any, ...]:
    job_id = known.job(a, "active")
    return job_id, known.token(job_id, b), known.moment(c)


ACTIONS = (
    Action("enqueue", lambda s, a, b, c: (s.fresh(a), pick(_TEXTS, b)), 12, 12, 12, 8, 0, 6, 12),
    Action(
        "enqueue_in", lambda s, a, b, c: (s.fresh(a), pick(_TEXTS, b), pick(s.pools.delays, c)), 5, 2, 6, 6
    ),
    Action("enqueue_at", lambda s, a, b, c: (s.fresh(a), pick(_TEXTS, b), s.moment(c)), 5, 1, 4, 2),
    Action("enqueue_many", _pairs, 2, 2, 2, 2),
    Action("enqueue_many", _bulk, 0, 0, 0, 0, 40),
    Action("claim", lambda s, a, b, c: (pick(s.pools.leases, a),), 16, 20, 16, 8, 2, 0, 16),
    Action("claim_batch", lambda s, a, b, c: (pick(_COUNTS, a), pick(s.pools.leases, b)), 4, 4, 4, 2),
    Action(
        "claim_batch",
        lambda s, a, b, c: (pick((120, 101, 100, 99, 1000), a), pick(s.pools.leases, b)),
        0,
        0,
        0,
        0,
        30,
    ),
    Action(None, _again_and_again, 0, served=40),
    Action("complete", _settle(), 11, 14, 5, 3, 2, 0, 16),
    Action(
        "retry",
        _settle("delays", _MAX_ATTEMPTS, (b"boom", b"", b"\xff", b"e" * 1000)),
        11,
        14,
        5,
        9,
        2,
        0,
        12,
    ),
    Action("delay", _settle("delays"), 4, 4, 3, 1, 1, 0, 8),
    Action("delay_until", _delay_until, 3, 3, 2, 1),
    Action("promote", lambda s, a, b, c: (pick(_LIMITS, a),), 8, 5, 16, 2, 8, 0, 6),
    Action("reap", lambda s, a, b, c: (), 7, 4, 12, 2, 30, 0, 6),
    Action("sweep_stalled", lambda s, a, b, c: (pick(_MAX_STALLED, a), pick(_LIMITS, b)), 7, 3, 14, 4, 30),
    Action("extend_lock", _settle("leases"), 7, 7, 5, 1, 1, 0, 12),
    Action("extend_locks", _held, 3, 3, 2, 1, 1, 0, 8),
    Action("reprocess_job", lambda s, a, b, c: (s.job(a, "dead"),), 6, 2, 3, 9, 1),
    Action("pause", lambda s, a, b, c: (), 2, 0, 0, 7, 12),
    Action("resume", lambda s, a, b, c: (), 3, 1, 0, 3, 1),
    Action("drain", lambda s, a, b, c: (bool(a & 1),), 2, 0, 0, 4, 4),
    Action(
        "obliterate", lambda s, a, b, c: (bool(a & 1), pick((1000, 1, 2, 3, 100, 2**53), b)), 3, 0, 0, 10, 16
    ),
    Action("update_data", lambda s, a, b, c: (s.job(a), pick(_TEXTS, b)), 3, 1, 0, 4),
    Action("update_progress", lambda s, a, b, c: (s.job(a), pick(_TEXTS, b)), 3, 1, 0, 4),
    Action("add_log", lambda s, a, b, c: (s.job(a), pick(_LINES, b), pick(_KEEPS, c)), 5, 1, 0, 9, 0, 120),
    Action("remove_job", lambda s, a, b, c: (s.job(a), pick((None, *_DEDUPS), b)), 5, 1, 0, 9, 1),
    Action("is_maxed", lambda s, a, b, c: (), 3, 1, 0, 4, 4),
    Action(
        "configure",
        lambda s, a, b, c: pick(((1,), (2,), (None, 5), (0,), (-1,), (2**60, 1), (3,)), a),
        2,
        0,
        0,
        4,
    ),
    Action("drop_row", lambda s, a, b, c: (s.job(a),), 5, 3, 6, 5, 2),
    Action("drop_member", lambda s, a, b, c: (pick(SETS, b), s.job(a, pick(SETS, b))), 4, 3, 4, 5),
    Action("hold_lock", lambda s, a, b, c: (s.job(a),), 2, 0, 0, 6),
    Action("lock_row", lambda s, a, b, c: (s.job(a),), 1, 0, 0, 3),
    Action("park_dedup", lambda s, a, b, c: (s.job(a), pick(_DEDUPS, b)), 3, 0, 0, 7),
)

PROFILES = ("mixed", "claims", "sweeps", "operators") * 10 + ("bulk", "logs", "served", "served")
"""What programs are about; few in bulk, since they are slow."""

BULK_STEPS = 16
"""The most steps of a program in bulk, for the same reason."""


def _wheel(profile: str) -> tuple[Action | None, ...]:
    """For each value of a byte the action it stands for; the wheel of a profile holds each as often as weighed."""
    weighed = [(action, getattr(action, profile)) for action in ACTIONS if getattr(action, profile)]
    total = sum(weight for _, weight in weighed)
    wheel: list[Action | None] = [None]
    for action, weight in weighed:
        wheel += [action] * max(1, weight * 255 // total)
    return tuple(wheel + [weighed[0][0]] * (256 - len(wheel)))


_WHEELS = {profile: _wheel(profile) for profile in dict.fromkeys(PROFILES)}


def simpler(program: bytes, index: int) -> Iterator[int]:
    """Bytes to try for the one at an index: an action that stands before it, or a simpler choice of arguments."""
    if (index - 1) % STEP_BYTES == 0:
        wheel = _WHEELS[pick(PROFILES, program[0])]
        firsts = dict(reversed([(id(action), byte) for byte, action in enumerate(wheel) if action]))
        choices: Iterable[int] = sorted(firsts.values())
    else:
        choices = (*range(21), 128, 160, 200, 225)
    return (byte for byte in choices if byte < program[index])


def length(steps: int) -> int:
    """How many bytes a program of so many steps takes."""
    return 1 + steps * STEP_BYTES


def steps(program: bytes) -> int:
    """How many steps a program has at most."""
    return len(program) // STEP_BYTES


def actions(program: bytes) -> Iterator[tuple[Action, bytes]]:
    """The steps that a string of bytes stands for, each with the bytes for its arguments and time."""
    profile = pick(PROFILES, program[0]) if program else PROFILES[0]
    end = min(len(program), length(BULK_STEPS)) if profile == "bulk" else len(program)
    for start in range(1, end - STEP_BYTES + 1, STEP_BYTES):
        action = _WHEELS[profile][program[start]]
        if action is not None:
            yield action, program[start + 1 : start + STEP_BYTES]
