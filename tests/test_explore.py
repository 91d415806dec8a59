"""The exploration of all states: what it finds, within which bounds, and that it finds all there is."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from side_by_side import on_both

from emqsim import Queue, QueueError, VirtualClock
from emqsim.explore import Exploration, Kind, always, eventually, explore, sometimes
from emqsim.explore.fixes import FIXES, fixed_rules
from emqsim.zset import SortedSet

INVARIANTS = ("in_two_sets", "ghost", "row_in_no_set", "state_disagrees", "stub_row")


@cache
def explored(clients: str, max_claims: int = 2, **more: object) -> Exploration:
    return explore(clients=clients, max_claims=max_claims, max_attempts=2, **more)  # type: ignore[arg-type]


def broken(found: Exploration) -> set[str]:
    return {outcome.name for outcome in found.outcomes if outcome.fails}


def calls(found: Exploration, name: str) -> list[str]:
    program = found[name].program
    assert program is not None
    return [step.call for step in program.steps]


@pytest.mark.parametrize("dialect", ["wire3", "wire4", "wire6"])
def test_faithful_clients_break_nothing(dialect: str) -> None:
    found = explore(dialect=dialect)
    assert found.exhaustive
    assert broken(found) == set()
    assert found.states == 212


@pytest.mark.parametrize("clients", ["late", "hostile"])
def test_other_clients_break_the_same_properties(clients: str) -> None:
    found = explored(clients, max_claims=1)
    assert found.exhaustive
    failed = {each.name for each in found.outcomes if each.fails and each.kind is not Kind.SOMETIMES}
    assert failed == {"in_two_sets", "ghost", "stub_row", "settled_twice", "attempts_fell"}


@pytest.mark.parametrize("clients", ["faithful", "late"])
def test_everything_that_has_to_happen_happens(clients: str) -> None:
    verdicts = {each.verdict for each in explored(clients).outcomes if each.kind is Kind.SOMETIMES}
    assert verdicts == {"happens"}


def test_a_mismatch_needs_a_client_that_is_late() -> None:
    def asked(clients: str) -> set[str]:
        return {each.name for each in explored(clients).outcomes if each.name.endswith("refuses: mismatch")}

    assert asked("faithful") == set()
    assert len(asked("late")) == 4


def test_faults_lose_jobs() -> None:
    found = explored("faithful", faults=True)
    assert broken(found) >= {"lost", "ends", "row_in_no_set"}
    assert found["remove_job refuses: locked"].verdict == "happens"
    assert calls(found, "lost") == ["enqueue", "drop_member"]


def test_the_report_names_bounds_and_programs() -> None:
    found = explored("late")
    text = str(found)
    assert "late clients, dialect wire4, at most 2 claims of a job" in text
    assert "exhaustive within these bounds" in text
    assert f"in {found['in_two_sets'].count:,} states" in text
    assert "retry('JOB00000000000', 1, 30000, 2, 'failed')  → scheduled" in text
    data = found.as_json()
    assert data["states"] == found.states
    (two_sets,) = [each for each in data["properties"] if each["name"] == "in_two_sets"]
    assert [line["call"] for line in two_sets["program"][1:]] == calls(found, "in_two_sets")


# Section by section: the known faults of the machine, each as the shortest program.


def both(first: str, second: str):  # type: ignore[no-untyped-def]
    """No id is in both sets."""

    def holds(queue: Queue) -> bool:
        one, other = ({job_id for job_id, _ in getattr(queue, which)} for which in (first, second))
        return not one & other

    return holds


def no_ghost(which: str):  # type: ignore[no-untyped-def]
    return lambda queue: all(job_id in queue.rows for job_id, _ in getattr(queue, which))


def served_with_payload(queue: Queue) -> bool:
    return all("payload" in queue.rows.get(job_id, {"payload": b""}) for job_id, _ in queue.active)


FAULTS = {
    "heartbeat after the reaper": (
        {"clients": "late", "without": ("enqueue_in", "sweep_stalled", "claim_batch", "extend_locks")},
        both("pending", "active"),
        ["enqueue", "claim", "reap", "extend_lock"],
    ),
    "its ghost": (
        {"clients": "late", "without": ("retry", "delay", "drain", "obliterate", "sweep_stalled")},
        no_ghost("pending"),
        ["enqueue", "claim", "reap", "extend_lock", "complete"],
    ),
    "its ghost served": (
        {"clients": "late", "dialect": "wire3", "without": ("retry", "delay", "drain", "sweep_stalled")},
        served_with_payload,
        ["enqueue", "claim", "reap", "extend_lock", "complete", "claim"],
    ),
    "settled twice": (
        {"clients": "hostile", "without": ("enqueue_in", "delay", "drain", "extend_lock", "extend_locks")},
        served_with_payload,
        ["enqueue", "retry", "complete", "promote", "claim"],
    ),
    "dead twice": (
        {"clients": "hostile", "max_attempts": 1, "without": ("claim_batch", "enqueue_in", "pause")},
        lambda queue: (
            both("dead", "scheduled")(queue) or any(row["state"] != b"dead" for row in queue.rows.values())
        ),
        ["enqueue", "claim", "delay", "retry"],
    ),
    "completed from the morgue": (
        {"clients": "hostile", "max_attempts": 1, "without": ("sweep_stalled", "pause", "delay")},
        no_ghost("dead"),
        ["enqueue", "claim", "retry", "complete"],
    ),
    "the row vanishes": (
        {"clients": "faithful", "faults": True, "without": ("enqueue_in", "update_data")},
        served_with_payload,
        ["enqueue", "claim", "drop_row", "reap", "claim"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_known_fault_is_found_as_the_shortest_program(name: str, valkey_server) -> None:  # type: ignore[no-untyped-def]
    """And the real scripts are led there by the same program."""
    options, holds, expected = FAULTS[name]
    found = explore(**{"max_claims": 2} | options, properties=[always(name, holds)])  # type: ignore[arg-type]
    assert calls(found, name) == expected
    on_both(found[name].program, valkey_server)


# Properties of one's own.


def test_own_properties_of_each_kind() -> None:
    found = explore(
        max_claims=2,
        properties=[
            always("never dead", lambda queue: not queue.dead, "nobody dies"),
            always("fine", lambda queue: queue.get_job("JOB00000000000") is None or queue.rows),
            sometimes("two leases", lambda queue: len(queue.active) == 2),
            sometimes("a lease", lambda queue: queue.active),
            eventually("empty", lambda queue: not queue.pending),
            eventually("no morgue", lambda queue: not queue.dead),
        ],
    )
    verdicts = {
        name: found[name].verdict for name in ("never dead", "fine", "two leases", "a lease", "empty")
    }
    assert verdicts == {
        "never dead": "broken",
        "fine": "holds",
        "two leases": "never",
        "a lease": "happens",
        "empty": "holds",
    }
    assert found["no morgue"].verdict == "broken"
    assert "nobody dies" in str(found)


def test_a_planted_fault_is_reported_within_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SortedSet, "pop_min", lambda members: members.first(1)[0])
    found = explore(time_limit=1)
    assert calls(found, "in_two_sets") == ["enqueue", "claim"]
    assert calls(found, "returns") == ["enqueue", "claim", "complete", "claim"]
    assert found["ends"].verdict == "broken"


def test_a_refusal_that_changes_something_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Queue.reprocess_job

    def hasty(queue: Queue, job_id: str) -> None:
        try:
            plain(queue, job_id)
        except QueueError:
            queue.pause()
            raise

    monkeypatch.setattr(Queue, "reprocess_job", hasty)
    assert calls(explore(max_claims=1), "refusal_changed") == ["reprocess_job"]


def test_a_move_that_is_never_made_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queue, "reap", lambda queue: 0)
    found = explore(max_claims=1)
    assert found["reap: reap"].verdict == "never"
    assert not found.holds


# Bounds.


def test_depth_time_and_ctrl_c_end_with_what_was_covered() -> None:
    by_depth = explore(depth=3)
    assert not by_depth.exhaustive
    assert by_depth.stopped == "depth 3"
    assert by_depth["in_two_sets"].verdict == "holds so far"
    assert by_depth["retry: dead"].verdict == "not yet"
    assert explore(time_limit=1e-9).stopped == "the time limit"

    def ctrl_c(queue: Queue) -> bool:
        if queue.dead:
            raise KeyboardInterrupt
        return True

    interrupted = explore(properties=[always("patience", ctrl_c)])
    assert interrupted.stopped == "Ctrl-C"
    assert interrupted.states > 1
    assert "NOT exhaustive, stopped by Ctrl-C" in str(interrupted)


def test_without_leaves_calls_out() -> None:
    found = explore(without=["pause", "schedule"])
    assert found.states < explore(without=["pause"]).states < explore().states
    assert not any("schedule" in each.name for each in found.outcomes if each.name.startswith("schedule"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"jobs": 0}, "jobs must be"),
        ({"max_claims": 0}, "max_claims must be"),
        ({"clients": "rude"}, "clients must be one of faithful, late, hostile, not 'rude'"),
        ({"without": ["clam"]}, "without must be one of enqueue"),
        ({"depth": -1}, "depth must be"),
        ({"time_limit": 0}, "time_limit must be above 0, not 0"),
        ({"dialect": "wire5"}, "dialect must be one of"),
        ({"faults": 1}, "faults must be a bool"),
        ({"properties": [len]}, "properties must be made with"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as refused:
        explore(**options)  # type: ignore[arg-type]
    assert words in str(refused.value)


# Completeness: the same states by a search that shares nothing with the one that is tested.


def naive(max_claims: int) -> set[tuple[str, ...]]:
    """The sets that can hold one job, with what is in its row, by copying whole queues: hostile calls with a
    lease of every length that matters, and the clock moved a little or a lot."""
    clock = VirtualClock()
    job = clock.mint()
    lengths = (10, 20)
    tokens = range(max_claims + 1)
    steps = [
        *[lambda q, n=n: q.enqueue_in(job, "x", n) for n in lengths],
        *[lambda q, n=n: q.claim(n) for n in lengths],
        *[lambda q, t=t: q.complete(job, t) for t in tokens],
        *[lambda q, t=t, n=n: q.retry(job, t, n, 1, "e") for t, n in product(tokens, lengths)],
        *[lambda q, t=t, n=n: q.delay(job, t, n) for t, n in product(tokens, lengths)],
        *[lambda q, t=t, n=n: q.extend_lock(job, t, n) for t, n in product(tokens, lengths)],
        lambda q: q.enqueue(job, "x"),
        lambda q: q.promote(10),
        lambda q: q.reap(),
        lambda q: q.reprocess_job(job),
        lambda q: q.remove_job(job),
        lambda q: q.update_data(job, "x"),
        lambda q: q.clock.advance(ms=10),
    ]
    start = Queue("q", clock=clock)
    seen, found, waiting = set(), set(), [start]
    while waiting:
        queue = waiting.pop()
        row = queue.rows.get(job)
        now = queue.clock.now_ms
        left = tuple(
            max(0, int(dict(members)[job]) - now) if members else None
            for members in (queue.active, queue.scheduled)
        )
        fields = None if row is None else (row.get("state"), row.get("attempts"), "payload" in row)
        key = (bool(queue.pending), *left, bool(queue.dead), fields)
        if key in seen:
            continue
        seen.add(key)
        where = [
            which
            for which, members in zip(
                ("pending", "active", "schedule", "dead"),
                (queue.pending, queue.active, queue.scheduled, queue.dead),
                strict=True,
            )
            if members
        ]
        kind = "ghost" if row is None else "row" if "payload" in row else "stub"
        if where:
            found.add((kind, *where))
        for step in steps:
            after = queue.copy()
            try:
                step(after)
            except QueueError:
                continue
            row = after.rows.get(job, {})
            if int(row.get("attempts", b"0")) <= max_claims:
                waiting.append(after)
    return found


def test_a_naive_search_finds_the_same_places() -> None:
    found = explore(
        clients="hostile",
        max_claims=1,
        max_attempts=1,
        without=["sweep_stalled", "pause", "drain", "obliterate"],
    )
    assert found.graph is not None
    places = set()
    for where in found.graph.places:
        kind, _, sets = where.partition(" in ") if " in " in where else ("row", "", where)
        if where not in ("not admitted", "gone"):
            places.add((kind, *sets.split(" + ")))
    assert places == naive(max_claims=1)


# Fixes.


@pytest.mark.parametrize("left_out", FIXES)
def test_each_fix_is_needed(left_out: str) -> None:
    names = [name for name in FIXES if name != left_out]
    found = explore(clients="late", max_claims=2, rules=fixed_rules(names=names), without=["pause", "drain"])
    assert broken(found) & set(INVARIANTS)
