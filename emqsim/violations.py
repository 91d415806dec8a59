"""The invariants of the state of a queue, and what breaks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqsim.keys import SETS, Keys
from emqsim.machine import TRANSITIONS
from emqsim.results import INVARIANTS, Violation

STATES = {
    move.enters: move.state
    for row in TRANSITIONS.values()
    for move in row.moves
    if move.enters is not None and move.state is not None
}
"""The row state that goes with each set, as the moves of the transition table have it."""


def violations(snapshot: Mapping[str, Any], keys: Keys) -> list[Violation]:
    """Every broken invariant in a snapshot of the queue's keyspace, with the ids, sorted."""
    homes: dict[str, list[str]] = {}
    for which in SETS:
        for member, _ in snapshot.get(keys.base + which, ()):
            homes.setdefault(member, []).append(which)
    rows = {
        key.removeprefix(keys.job_prefix): value
        for key, value in snapshot.items()
        if key.startswith(keys.job_prefix) and isinstance(value, dict)
    }
    broken: dict[str, list[str]] = {name: [] for name in INVARIANTS}
    for member, sets in homes.items():
        if len(sets) > 1:
            broken["in_two_sets"].append(member)
        if member not in rows:
            broken["ghost"].append(member)
        elif rows[member].get("state") not in [STATES[which] for which in sets]:
            broken["state_disagrees"].append(member)
    for job_id, row in rows.items():
        if job_id not in homes:
            broken["row_in_no_set"].append(job_id)
        if "payload" not in row:
            broken["stub_row"].append(job_id)
    return [Violation(name, tuple(sorted(ids))) for name, ids in broken.items() if ids]
