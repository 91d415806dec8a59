"""Queues, differences and timelines as people read them. Nothing in the machine depends on these words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from emqsim.keys import SETS
from emqsim.trace import plain
from emqsim.violations import INVARIANTS

if TYPE_CHECKING:
    from emqsim.history import Change, Event
    from emqsim.host import Host

MOST = 20
"""How many jobs of a set, or events of a job, are shown; beyond that the first and the last."""

_HEADINGS = {"pending": "pending", "active": "active", "schedule": "scheduled", "dead": "dead"}


def moment(now_ms: float) -> str:
    """A time in Unix ms, as a date and as the number."""
    try:
        day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now_ms)
    except (OverflowError, ValueError):
        return f"{now_ms:.0f} ms"
    return f"{day:%Y-%m-%d %H:%M:%S}.{day.microsecond // 1000:03d} UTC ({now_ms:.0f} ms)"


def value(octets: bytes | None, most: int = 60) -> str:
    """A payload or another field, as text where it is text, cut where it is long."""
    if octets is None:
        return "no payload"
    readable = plain(octets)
    shown = repr(readable if isinstance(readable, str) else octets)
    return shown if len(shown) <= most else f"{shown[:most]}… {len(octets)} bytes"


def queue(shown: Host) -> str:
    """The four sets with the rows of their members, rows in no set, the clock, and what is broken."""
    snapshot, rows = shown.snapshot(), shown.rows
    now_ms = shown._now_us() // 1000
    lines = [f"{shown!r}", f"  now        {moment(now_ms)}"]
    homes: set[str] = set()
    for which in SETS:
        members = snapshot.get(shown.key(which), [])
        homes.update(member for member, _ in members)
        described = [
            f"{member}  {_job(rows.get(member), which, score - now_ms)}" for member, score in members
        ]
        lines += _section(_HEADINGS[which], described)
    homeless = [f"{job_id}  {_job(row, '', 0)}" for job_id, row in rows.items() if job_id not in homes]
    if homeless:
        lines += _section("in no set", homeless)
    if shown.paused:
        lines.append("  paused     no claims until resume")
    for name, job_ids in shown.violations():
        lines.append(f"  broken     {INVARIANTS[name]}: not so for {', '.join(cut(job_ids))}")
    return "\n".join(lines)


def _section(heading: str, described: Sequence[str]) -> list[str]:
    if not described:
        return [f"  {heading:<9}  -"]
    first, *others = cut(described)
    return [f"  {heading:<9}  {first}", *(f"  {'':<9}  {line}" for line in others)]


def cut(listed: Sequence[str]) -> list[str]:
    """All of a list, or the first and the last of a long one."""
    half = MOST // 2
    if len(listed) <= MOST:
        return list(listed)
    return [*listed[:half], f"… {len(listed) - MOST} more …", *listed[-half:]]


def _job(row: Mapping[str, bytes] | None, which: str, ahead_ms: float) -> str:
    """What is known of a job in a set, whose score is `ahead_ms` from now."""
    words = []
    if row is None:
        words.append("no row: a ghost")
    else:
        words.append(value(row.get("payload")))
        words += [
            f"{name} {value(row[name])[1:-1]}" for name in ("state", "attempts", "stalled") if name in row
        ]
        words += [f"{name} {value(row[name])}" for name in ("last_error", "progress") if name in row]
    if which == "active":
        words.append(_ahead("lease runs out", "lease ran out", ahead_ms))
    if which == "schedule":
        words.append(due(ahead_ms))
    return ", ".join(words)


def due(ahead_ms: float) -> str:
    """When a scheduled job falls due, from now."""
    return _ahead("due", "was due", ahead_ms)


def _ahead(later: str, before: str, ms: float) -> str:
    if ms > 0:
        return f"{later} in {ms / 1000:.3f} s"
    return f"{before} {-ms / 1000:.3f} s ago" if ms < 0 else f"{before} just now"


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """What differs between two snapshots, a line each: `-` for what only the left has, `+` for the right."""
    lines = []
    for key in sorted({*left, *right}):
        one, other = _parts(left.get(key)), _parts(right.get(key))
        gone = [part for part in one if part not in other]
        come = [part for part in other if part not in one]
        if gone or come:
            lines.append(f"{key}:")
            lines += [f"  - {part}" for part in gone]
            lines += [f"  + {part}" for part in come]
        elif left.get(key) != right.get(key):
            lines += [f"{key}:", f"  - {left.get(key)!r}", f"  + {right.get(key)!r}"]
    return lines


def _parts(held: Any) -> list[str]:
    """The value of a key in parts that can be compared one by one."""
    if held is None:
        return []
    if isinstance(held, Mapping):
        return [f"{name} = {value(field)}" for name, field in held.items()]
    if isinstance(held, list):
        return [_part(each) for each in held]
    return [_part(held)]


def _part(each: Any) -> str:
    if isinstance(each, bytes):
        return value(each)
    if isinstance(each, Sequence) and len(each) == 2:
        return f"{each[0]} score {each[1]:.0f}" if isinstance(each[1], float) else repr(each)
    return repr(each)


def timeline(events: Sequence[Event]) -> str:
    """What happened to a job, a line each: time since the first, the call, its answer, the sets."""
    if not events:
        return "nothing happened to this job"
    first_ms = events[0].now_ms
    cells = [(_since(event.now_ms, first_ms), _call(event), _moved(event, first_ms)) for event in events]
    widths = [min(max(len(cell[at]) for cell in cells), 90) for at in (0, 1)]
    lines = [f"  {at:<{widths[0]}}  {call:<{widths[1]}}  {moved}".rstrip() for at, call, moved in cells]
    return "\n".join([f"{events[0].job_id} from {moment(first_ms)}", *cut(lines)])


def _since(ms: float, first_ms: int) -> str:
    return f"{(ms - first_ms) / 1000:+.3f} s"


def _call(event: Event) -> str:
    """The call with its arguments by name, and its answer."""
    from emqsim.history import OUTSIDER, arguments
    from emqsim.trace import Step

    if event.call == OUTSIDER:
        return "somebody outside"
    named = arguments(Step(event.now_us, event.call, event.args))
    told = [
        f"{name}={_argument(arg)}" for name, arg in named.items() if name not in ("job_id", "held", "pairs")
    ]
    return f"{' '.join([event.call, *told])}: {_answer(event)}"


def _argument(arg: Any) -> str:
    octets = arg.encode("utf-8", "backslashreplace") if isinstance(arg, str) else arg
    return value(octets, 30) if isinstance(octets, bytes) else repr(arg)


def _answer(event: Event) -> str:
    ((kind, answer),) = event.answer.items()
    if kind != "ok":
        return f"{kind}, {answer}"
    if event.call == "extend_locks":
        return "not extended" if event.job_id in answer else "ok"
    if event.call in ("claim", "claim_batch"):
        return f"token {event.token}" if event.token is not None else "another job" if answer else "none"
    if event.call == "sweep_stalled":
        return "dead" if event.job_id in answer[1] else "recovered"
    return "ok" if answer is None else str(answer)


def _moved(event: Event, first_ms: int) -> str:
    """The sets left and entered, and what the scores say about leases and due times."""
    left, entered = " and ".join(event.left), " and ".join(event.entered)
    words = []
    if left and entered:
        words.append(f"{left} -> {entered}")
    elif entered:
        words.append(f"into {entered}")
    elif left:
        words.append(f"out of {left}")
    if left and event.token is None and event.call in ("claim", "claim_batch"):
        words.append("dropped: it had no row")
    words += [said for change in event.changes for said in _score(change, event.now_ms, first_ms)]
    if event.call in ("complete", "drop_row") and "ok" in event.answer and event.held_by:
        words.append(f"the row is gone, the id still in {' and '.join(event.held_by)}")
    elif len(event.held_by) > 1 and event.changes:
        words.append(f"now in {' and '.join(event.held_by)} at once")
    return "; ".join(words)


_SCORES = {"active": ("lease until", "lease ran out at"), "schedule": ("due at", "was due at")}


def _score(change: Change, now_ms: int, first_ms: int) -> Iterable[str]:
    if change.which in _SCORES:
        ahead, behind = _SCORES[change.which]
        if change.before is not None and change.before <= now_ms:
            yield f"{behind} {_since(change.before, first_ms)}"
        if change.after is not None:
            yield f"{ahead} {_since(change.after, first_ms)}"
