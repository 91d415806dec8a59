"""What an exploration has found, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from emqsim.dialect import Dialect
from emqsim.explore.clients import LEFT_OUT, MAX_STALLED, Clients
from emqsim.explore.graph import Graph
from emqsim.explore.program import shown
from emqsim.explore.properties import HISTORY, Kind
from emqsim.trace import Program, lines

VERDICTS = {
    Kind.ALWAYS: ("broken", "holds so far", "holds"),
    Kind.SOMETIMES: ("never", "not yet", "happens"),
    Kind.EVENTUALLY: ("broken", "holds so far", "holds"),
}


@dataclass(frozen=True)
class Bounds:
    """What was explored, and within which bounds."""

    jobs: int
    max_claims: int
    max_attempts: int
    dialect: Dialect
    clients: Clients
    faults: bool
    without: tuple[str, ...]
    need_lease: tuple[str, ...]

    def __str__(self) -> str:
        parts = [
            f"{self.jobs} job{'s' * (self.jobs != 1)}",
            f"{self.clients} clients",
            f"dialect {self.dialect}",
            f"at most {self.max_claims} claims of a job",
            f"max_attempts {self.max_attempts}",
            f"max_stalled {MAX_STALLED}",
        ]
        parts += ["faults"] if self.faults else []
        parts += [f"without {', '.join(self.without)}"] if self.without else []
        parts += [f"a lease needed for {', '.join(self.need_lease)}"] if self.need_lease else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Outcome:
    """The verdict on one property."""

    kind: Kind
    name: str
    says: str
    verdict: str
    """`holds` or `broken`; of a sometimes-property `happens` or `never`; `holds so far` and `not yet` where the
    search did not come to its end."""
    count: int
    """In how many states it is broken, of a property of calls by how many transitions; of a sometimes-property of
    one's own, in how many states it holds, where those that differ in what clients know are one."""
    program: Program | None
    """The shortest program that breaks it, with its answers."""

    @property
    def fails(self) -> bool:
        """Whether it is broken, or never happens."""
        return self.verdict in ("broken", "never")


@dataclass(frozen=True)
class Exploration:
    """What an exploration has found. As text, a report for people."""

    bounds: Bounds
    states: int
    transitions: int
    """Steps from a state that changed the queue: calls, and the passing of the next deadline."""
    calls: int
    """How many calls were made on the model: each once in each state of the machine, whatever clients know."""
    depth: int
    """How many steps the farthest state is away."""
    claims_cut: bool
    """Whether a claim beyond `max_claims` was possible, and not followed."""
    stopped: str
    """What ended the search before all states were visited; empty where it is exhaustive."""
    seconds: float
    peak_mb: float | None
    """The largest memory the process has used so far, where the system tells."""
    outcomes: tuple[Outcome, ...]
    graph: Graph | None
    """The places of the job and the ways between them, where there is one job."""

    @property
    def exhaustive(self) -> bool:
        """Whether every state within the bounds was visited, and every call made in it."""
        return not self.stopped

    @property
    def holds(self) -> bool:
        """Whether nothing is broken, and everything happens that has to happen sometimes."""
        return not any(outcome.fails for outcome in self.outcomes)

    @property
    def programs(self) -> list[Program]:
        """The shortest programs of all broken properties, each with the property as its note."""
        return [outcome.program for outcome in self.outcomes if outcome.program is not None]

    def __getitem__(self, name: str) -> Outcome:
        """The outcome of a property by its name."""
        for outcome in self.outcomes:
            if outcome.name == name:
                return outcome
        raise KeyError(name)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"explored {self.bounds}"
        yield (
            f"{self.states:,} states, {self.transitions:,} transitions, depth {self.depth}: "
            + (
                "exhaustive within these bounds"
                if self.exhaustive
                else f"NOT exhaustive, stopped by {self.stopped}"
            )
            + ("; claims beyond the bound were not followed" if self.claims_cut else "")
        )
        yield (
            f"{self.seconds:.1f} s, {self.transitions / self.seconds:,.0f} transitions/s, "
            f"{self.calls:,} calls of the model"
            + (f", peak memory {self.peak_mb:,.0f} MB" if self.peak_mb is not None else "")
        )
        yield (
            "left out of a state: counters, logs, progress, last_error, lease_epoch, the bytes of a payload, stalls"
            f" beyond {MAX_STALLED - 1}; never called: {', '.join(LEFT_OUT)} and reads"
        )
        for kind in (Kind.ALWAYS, Kind.EVENTUALLY):
            yield ""
            for outcome in self.outcomes:
                if outcome.kind is kind:
                    yield from _told(outcome)
        yield ""
        yield from self._sometimes()

    def _sometimes(self) -> Iterator[str]:
        asked = [outcome for outcome in self.outcomes if outcome.kind is Kind.SOMETIMES]
        happen = [outcome for outcome in asked if outcome.verdict == "happens"]
        yield f"sometimes: {len(happen)} of {len(asked)} happen (every move and refusal of the calls made)"
        for outcome in asked:
            if outcome not in happen:
                yield f"  {outcome.verdict:12}  {outcome.name}"

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON has it; programs are traces, a list of lines."""
        return {
            "bounds": asdict(self.bounds),
            "states": self.states,
            "transitions": self.transitions,
            "calls": self.calls,
            "depth": self.depth,
            "exhaustive": self.exhaustive,
            "stopped": self.stopped,
            "claims_cut": self.claims_cut,
            "seconds": round(self.seconds, 3),
            "peak_mb": self.peak_mb,
            "holds": self.holds,
            "properties": [
                {
                    "kind": outcome.kind,
                    "name": outcome.name,
                    "says": outcome.says,
                    "verdict": outcome.verdict,
                    "count": outcome.count,
                    "program": None
                    if outcome.program is None
                    else [*map(json.loads, lines(outcome.program))],
                }
                for outcome in self.outcomes
            ],
        }


def _told(outcome: Outcome) -> Iterator[str]:
    yield f"{outcome.kind}: {outcome.verdict:12}  {outcome.name}" + (
        f": {outcome.says}" if outcome.says else ""
    )
    if outcome.program is not None:
        where = "transitions" if outcome.name in HISTORY else "states"
        yield f"  in {outcome.count:,} {where}; the shortest program:"
        yield from (f"    {line}" for line in shown(outcome.program))
