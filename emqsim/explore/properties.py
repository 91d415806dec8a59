"""What is asked of every state: properties that hold always, sometimes, or eventually."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from emqsim.explore.clients import CALLED, FAULTS, METHODS, Clients
from emqsim.explore.space import Job
from emqsim.machine import TRANSITIONS
from emqsim.operation import Move, Refusal
from emqsim.queue import Queue
from emqsim.results import INVARIANTS


class Kind(StrEnum):
    """When a property has to hold."""

    ALWAYS = "always"
    """In every state."""
    SOMETIMES = "sometimes"
    """In one state at least."""
    EVENTUALLY = "eventually"
    """After every state, once all deadlines have passed and sweeps and a faithful worker have done their work."""


@dataclass(frozen=True)
class Property:
    """A property of one's own: `holds` is asked with the queue and must leave it as it is."""

    kind: Kind
    name: str
    holds: Callable[[Queue], object]
    says: str = ""


def always(name: str, holds: Callable[[Queue], object], says: str = "") -> Property:
    """A property that has to hold in every state."""
    return Property(Kind.ALWAYS, name, holds, says)


def sometimes(name: str, holds: Callable[[Queue], object], says: str = "") -> Property:
    """A property that has to hold in one state at least."""
    return Property(Kind.SOMETIMES, name, holds, says)


def eventually(name: str, holds: Callable[[Queue], object], says: str = "") -> Property:
    """A property that has to hold after every state, once all deadlines have passed, the lapsed leases were
    reaped, what was due was promoted, and a faithful worker claimed and completed all that waited."""
    return Property(Kind.EVENTUALLY, name, holds, says)


RETURNS = "returns"
HISTORY = {
    "settled_twice": "a token settles a claim once at most",
    "attempts_fell": "attempts never falls: each token of a job is above all earlier ones",
    "refusal_changed": "a refusal changes nothing",
    RETURNS: "every call returns",
}
"""What has to hold of each call, always, by the name of the violation."""

LOST = "lost"
ALWAYS = INVARIANTS | HISTORY | {LOST: "an admitted job is in a set, or was completed or removed"}
"""Every built-in property that has to hold always."""

ENDS = "ends"
EVENTUALLY = {ENDS: "every job can be brought to its end, completed or dead, by sweeps and faithful workers"}


def moves(without: frozenset[str]) -> dict[str, list[Move]]:
    """The moves that have to be made, by transition; a transition without any has to answer."""
    return {
        name: list(TRANSITIONS[name].moves)
        for method in CALLED
        if (name := METHODS[method]) not in without and method not in without
    }


def made_by(move: Move, before: Sequence[Job], after: Sequence[Job]) -> bool:
    """Whether some job has made the move, where the transition has changed something."""
    for was, now in zip(before, after, strict=True):
        left = not move.leaves or any(which in was.sets and which not in now.sets for which in move.leaves)
        came = move.enters in now.sets if move.enters else now.row is None
        if left and came:
            return True
    return False


def refusals(clients: Clients, faults: bool, without: frozenset[str]) -> dict[str, list[Refusal]]:
    """The refusals that have to happen, by transition.

    No client is refused for the kind of an id, since no foreign id is used; `mismatch` needs a client that uses
    a token too late, and `locked` somebody outside who holds a lock.
    """
    never = {"wrong kind"}
    if clients is Clients.FAITHFUL:
        never.add("mismatch")
    if not faults or FAULTS[-1] in without:
        never.add("locked")
    return {
        name: [refusal for refusal in TRANSITIONS[name].refusals if refusal.why not in never]
        for name in moves(without)
    }
