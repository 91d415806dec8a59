"""What a run of programs has reached: each outcome of each transition, and the faults of the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from emqsim import replies
from emqsim.errors import QueueError
from emqsim.machine import TRANSITIONS, Machine
from emqsim.operation import Operation, Transition
from emqsim.results import Claimed

ACTED, NOTHING = "acted", "nothing to do"

FAULTS = {
    "heartbeat after the reaper": "extend_lock puts an id into active that is in another set",
    "ghost claimed": "claim meets an id in pending that has no row",
    "settled twice": "complete deletes the row of an id that is parked in schedule",
    "ghost promoted": "promote makes a stub row for an id in schedule that has no row",
    "stub row claimed": "claim serves a row without a payload",
    "dead twice": "retry buries an id that stays in schedule",
    "completed from the morgue": "complete deletes the row of an id that stays in dead",
    "ghost swept": "reap or sweep_stalled gives back an id that has no row",
    "row vanished": "somebody deletes the row of an id that is in a set",
}
"""States that the machine is known to be led into; a run of the check has to reach them all."""

Note = Callable[[Any], None]


class Coverage:
    """Counts of outcomes by transition, and of faults."""

    def __init__(self) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.faults: Counter[str] = Counter()

    def watch(self, m: Machine, operation: Operation, args: tuple[Any, ...]) -> Note:
        """Look at the state before an operation; what is returned is told its value, or its refusal."""
        before = (
            _LOOKS[operation.name](m, dict(zip(operation.params, args, strict=True)))
            if (operation.name in _LOOKS)
            else ()
        )

        def note(outcome: Any) -> None:
            if isinstance(operation, Transition):
                self.outcomes[operation.name, outcome_of(operation, outcome)] += 1
            if before and not isinstance(outcome, QueueError):
                self.faults.update(fault for fault, holds in before if holds(outcome))

        return note

    def merge(self, outcomes: Mapping[tuple[str, str], int], faults: Mapping[str, int]) -> None:
        """Add the counts of another run."""
        self.outcomes.update(outcomes)
        self.faults.update(faults)

    def table(self) -> Iterator[tuple[str, list[tuple[str, int]]]]:
        """Each transition with how often it ended in each way it can."""
        for row in TRANSITIONS.values():
            yield row.name, [(name, self.outcomes[row.name, name]) for name in possible(row)]

    def missed(self) -> list[str]:
        """What was not reached, in words."""
        outcomes = [f"{name}: {outcome}" for name, row in self.table() for outcome, count in row if not count]
        return outcomes + [f"fault: {name}" for name in FAULTS if not self.faults[name]]


def possible(row: Transition) -> list[str]:
    """Every way in which a transition can end: its answers, then its refusals."""
    if isinstance(row.reply, Mapping):
        answers = [ACTED if meaning is None else str(meaning) for meaning in row.reply.values()]
    else:
        answers = [ACTED] if row.reply is replies.length else [ACTED, NOTHING]
    return [*answers, *(f"refused: {refusal.why}" for refusal in row.refusals)]


def outcome_of(row: Transition, outcome: Any) -> str:
    """The name of the way in which a transition ended."""
    if isinstance(outcome, QueueError):
        whys = [r.why for r in row.refusals if (r.error, r.wire) == (type(outcome), outcome.wire)]
        return f"refused: {whys[0]}"
    if isinstance(row.reply, Mapping):
        return ACTED if outcome is None else str(outcome)
    worked = any(outcome) if type(outcome).__name__ == "Sweep" else bool(outcome)
    return ACTED if worked else NOTHING


Look = list[tuple[str, Callable[[Any], bool]]]


def _always(_: Any) -> bool:
    return True


def _extend(m: Machine, args: Mapping[str, Any]) -> Look:
    elsewhere = any(args["job_id"] in m.sets[which] for which in ("pending", "schedule", "dead"))
    return [("heartbeat after the reaper", _always)] if elsewhere else []


def _claim(m: Machine, args: Mapping[str, Any]) -> Look:
    oldest = m.pending.first(1)
    if oldest and oldest[0] not in m.rows:
        return [("ghost claimed", _always)]
    if oldest and "payload" not in m.rows[oldest[0]]:
        return [
            ("stub row claimed", lambda claimed: isinstance(claimed, Claimed) and claimed.payload is None)
        ]
    return []


def _complete(m: Machine, args: Mapping[str, Any]) -> Look:
    found: Look = []
    if args["job_id"] in m.sets["schedule"]:
        found.append(("settled twice", _always))
    if args["job_id"] in m.sets["dead"]:
        found.append(("completed from the morgue", _always))
    return found


def _retry(m: Machine, args: Mapping[str, Any]) -> Look:
    return [("dead twice", lambda verdict: verdict == "dead")] if args["job_id"] in m.sets["schedule"] else []


def _promote(m: Machine, args: Mapping[str, Any]) -> Look:
    ghosts = any(job_id not in m.rows for job_id in m.sets["schedule"].due(m.now(), args["batch"]))
    return [("ghost promoted", _always)] if ghosts else []


def _sweep(m: Machine, args: Mapping[str, Any]) -> Look:
    ghosts = any(job_id not in m.rows for job_id in m.active.due(m.now(), args.get("limit", 100)))
    return [("ghost swept", _always)] if ghosts else []


def _drop(m: Machine, args: Mapping[str, Any]) -> Look:
    job_id = args["job_id"]
    in_a_set = any(job_id in members for members in m.sets.values())
    return [("row vanished", _always)] if job_id in m.rows and in_a_set else []


_LOOKS: Mapping[str, Callable[[Machine, Mapping[str, Any]], Look]] = {
    "extend_lock": _extend,
    "claim": _claim,
    "complete": _complete,
    "retry": _retry,
    "promote": _promote,
    "reap": _sweep,
    "sweep_stalled": _sweep,
    "drop_row": _drop,
}
