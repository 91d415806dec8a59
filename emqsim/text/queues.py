"""The state of a queue, and how two states differ, in words. Nothing in the machine depends on these words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emqsim.keys import SETS
from emqsim.results import INVARIANTS
from emqsim.text.times import ahead, due, moment
from emqsim.text.values import value
from emqsim.text.words import cut

if TYPE_CHECKING:
    from emqsim.base import BaseQueue

_HEADINGS = {"pending": "pending", "active": "active", "schedule": "scheduled", "dead": "dead"}


def queue(shown: BaseQueue) -> str:
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
        words.append(ahead("lease runs out", "lease ran out", ahead_ms))
    if which == "schedule":
        words.append(due(ahead_ms))
    return ", ".join(words)


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
