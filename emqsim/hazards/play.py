"""Play a hazard on a queue, the model or a server, and see how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from emqsim.base import BaseQueue
from emqsim.clock import VirtualClock
from emqsim.dialect import Dialect
from emqsim.hazards.catalogue import Act, Hazard
from emqsim.keys import SETS
from emqsim.machine import OUTSIDE
from emqsim.queue import Queue
from emqsim.results import Violation
from emqsim.trace import Answer, perform

QUEUE = "hazard"


class Outcome(StrEnum):
    """How a hazard ends on the machine."""

    REFUSED = "refused"
    """A call is refused, and with it the harm."""
    ABSORBED = "absorbed"
    """Every call is answered, and no harm is done."""
    HAPPENS = "happens"
    """The symptom shows, or a transition leaves an invariant broken."""


@dataclass(frozen=True)
class Moment:
    """A call as it was played, and the queue after it."""

    act: Act
    now_ms: int
    answer: Answer
    sets: dict[str, list[tuple[str, float]]]
    violations: list[Violation]


@dataclass(frozen=True)
class Playing:
    """A hazard as it was played."""

    hazard: Hazard
    dialect: Dialect
    moments: list[Moment]

    @property
    def broken(self) -> list[str]:
        """Names of the invariants that are broken after a transition. What an outside write breaks counts
        only if it is still broken after the machine's next step."""
        after = [moment.violations for moment in self.moments if moment.act.call not in OUTSIDE]
        return list(dict.fromkeys(violation.name for violations in after for violation in violations))

    @property
    def shows(self) -> bool:
        """Whether the answers show the symptom."""
        symptom = self.hazard.symptom
        return symptom is not None and symptom([(moment.act, moment.answer) for moment in self.moments])

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        if self.broken or self.shows:
            return Outcome.HAPPENS
        if any("refused" in moment.answer for moment in self.moments):
            return Outcome.REFUSED
        return Outcome.ABSORBED


def play(hazard: Hazard, queue: BaseQueue, clock: VirtualClock) -> Playing:
    """Play a hazard's program on an empty queue whose clock is `clock`."""
    moments = []
    for act in hazard.program:
        clock.advance(ms=act.after_ms)
        answer = perform(queue, act.call, act.args)
        snapshot = queue.snapshot()
        sets = {which: snapshot.get(queue.key(which), []) for which in SETS}
        moments.append(Moment(act, clock.now_ms, answer, sets, queue.violations()))
    return Playing(hazard, queue.dialect, moments)


def play_model(hazard: Hazard, dialect: Dialect) -> Playing:
    """Play a hazard on a new queue in memory."""
    queue = Queue(QUEUE, dialect=dialect)
    return play(hazard, queue, queue.clock)
