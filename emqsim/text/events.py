"""What happened to a job, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from emqsim.text.times import moment, since
from emqsim.text.values import value
from emqsim.text.words import cut

if TYPE_CHECKING:
    from emqsim.history import Change, Event


def timeline(events: Sequence[Event]) -> str:
    """What happened to a job, a line each: time since the first, the call, its answer, the sets."""
    if not events:
        return "nothing happened to this job"
    first_ms = events[0].now_ms
    cells = [(since(event.now_ms, first_ms), _call(event), _moved(event, first_ms)) for event in events]
    widths = [min(max(len(cell[at]) for cell in cells), 90) for at in (0, 1)]
    lines = [f"  {at:<{widths[0]}}  {call:<{widths[1]}}  {moved}".rstrip() for at, call, moved in cells]
    return "\n".join([f"{events[0].job_id} from {moment(first_ms)}", *cut(lines)])


def _call(event: Event) -> str:
    """The call with its arguments by name, and its answer."""
    if event.named is None:
        return "somebody outside"
    told = [
        f"{name}={_argument(arg)}"
        for name, arg in event.named.items()
        if name not in ("job_id", "held", "pairs")
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
            yield f"{behind} {since(change.before, first_ms)}"
        if change.after is not None:
            yield f"{ahead} {since(change.after, first_ms)}"
