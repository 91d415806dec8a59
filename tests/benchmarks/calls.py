"""The model's calls beside the same scripts in fakeredis, on Valkey over a Unix socket, and beside bare containers.

Scripts run byte for byte, called by EVALSHA through a client, without the host around them: the pause flag that the
model reads before a claim is not read there. The bare containers do what a step cannot do without: a dict for rows,
and for each sorted set a dict of scores and a SortedList.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any, Protocol

from sortedcontainers import SortedList

from emqsim import Queue, VirtualClock
from emqsim.keys import Keys
from emqsim.scripts.bundle import bundled_scripts
from emqsim.server import MissingExtra, embedded_server
from emqsim.text.words import aligned

from .rounds import each_us, number, ratios, spread

JOBS, ROUNDS, REAPS = 1000, 7, 100
LEASE_MS, DELAY_MS, LAPSES_MS = 600_000, 1, 1
PAYLOAD = b"x" * 100

CALLS = ("enqueue", "claim", "complete", "retry", "reap", "reap of 100")


class Rival(Protocol):
    """Something that does the five calls."""

    def enqueue(self, job_id: str) -> Any: ...
    def claim(self, lease_ms: int) -> Any: ...
    def complete(self, job_id: str) -> Any: ...
    def retry(self, job_id: str) -> Any: ...
    def reap(self) -> Any: ...
    def lapse(self) -> None: ...


class Model:
    """`emqsim.Queue`, all its guards on."""

    def __init__(self) -> None:
        self._queue = Queue("bench")
        self.claim = self._queue.claim
        self.reap = self._queue.reap

    def enqueue(self, job_id: str) -> Any:
        return self._queue.enqueue(job_id, PAYLOAD)

    def complete(self, job_id: str) -> Any:
        return self._queue.complete(job_id, 1)

    def retry(self, job_id: str) -> Any:
        return self._queue.retry(job_id, 1, DELAY_MS, 3, b"boom")

    def lapse(self) -> None:
        self._queue.clock.advance(ms=LAPSES_MS + 1)


class Scripts:
    """The scripts through a client of redis-py's kind."""

    def __init__(self, client: Any) -> None:
        client.flushall()
        self._keys = Keys("bench")
        shas = {name: client.script_load(text) for name, text in bundled_scripts().items()}
        self._call = client.evalsha
        self._shas = shas

    def enqueue(self, job_id: str) -> Any:
        keys = self._keys
        return self._call(self._shas["enqueue"], 2, keys.job_prefix + job_id, keys.pending, job_id, PAYLOAD)

    def claim(self, lease_ms: int) -> Any:
        keys = self._keys
        return self._call(self._shas["claim2"], 2, keys.pending, keys.active, keys.job_prefix, lease_ms)

    def complete(self, job_id: str) -> Any:
        keys = self._keys
        return self._call(
            self._shas["complete"], 2, keys.active, keys.job_prefix + job_id, job_id, "1", keys.base
        )

    def retry(self, job_id: str) -> Any:
        keys = self._keys
        row = keys.job_prefix + job_id
        argv = (job_id, "1", DELAY_MS, 3, "boom", keys.base)
        return self._call(self._shas["retry"], 4, keys.active, keys.schedule, keys.dead, row, *argv)

    def reap(self) -> Any:
        return self._call(self._shas["reap"], 2, self._keys.active, self._keys.pending, self._keys.base)

    def lapse(self) -> None:
        time.sleep(LAPSES_MS / 1000 + 0.002)


class Bare:
    """What the containers alone cost: no guards, no tokens, no clock, no texts."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, bytes]] = {}
        self._sets = {name: ({}, SortedList()) for name in ("pending", "active", "schedule")}

    def _add(self, name: str, job_id: str, score: float) -> None:
        scores, order = self._sets[name]
        scores[job_id] = score
        order.add((score, job_id))

    def _remove(self, name: str, job_id: str) -> None:
        scores, order = self._sets[name]
        order.remove((scores.pop(job_id), job_id))

    def enqueue(self, job_id: str) -> Any:
        self._rows[job_id] = {"state": b"pending", "attempts": b"0", "payload": PAYLOAD}
        self._add("pending", job_id, 0.0)

    def claim(self, lease_ms: int) -> Any:
        scores, order = self._sets["pending"]
        _, job_id = order.pop(0)
        del scores[job_id]
        row = self._rows[job_id]
        row["attempts"] = b"1"
        row["state"] = b"active"
        self._add("active", job_id, 1.0)
        return job_id, row["payload"], 1

    def complete(self, job_id: str) -> Any:
        self._remove("active" if job_id in self._sets["active"][0] else "pending", job_id)
        del self._rows[job_id]

    def retry(self, job_id: str) -> Any:
        self._remove("active", job_id)
        row = self._rows[job_id]
        row["last_error"] = b"boom"
        row["state"] = b"scheduled"
        self._add("schedule", job_id, 1.0)

    def reap(self) -> Any:
        scores, order = self._sets["active"]
        due = list(order.islice(0, 100))
        del order[: len(due)]
        for _, job_id in due:
            del scores[job_id]
            self._rows[job_id]["state"] = b"pending"
            self._add("pending", job_id, 0.0)

    def lapse(self) -> None:
        pass


def measure(make: Callable[[], Rival], job_ids: list[str]) -> dict[str, float]:
    """Microseconds a call, each kind on its own, with as many jobs there as calls are made."""
    rival = make()
    took = {"enqueue": each_us([partial(rival.enqueue, job_id) for job_id in job_ids])}
    took["claim"] = each_us([partial(rival.claim, LEASE_MS)] * len(job_ids))
    half = len(job_ids) // 2
    took["complete"] = each_us([partial(rival.complete, job_id) for job_id in job_ids[:half]])
    took["retry"] = each_us([partial(rival.retry, job_id) for job_id in job_ids[half:]])
    rival = make()
    for job_id in job_ids:
        rival.enqueue(job_id)
    for _ in job_ids:
        rival.claim(LAPSES_MS)
    rival.lapse()
    took["reap of 100"] = each_us([rival.reap] * (len(job_ids) // 100))
    rival = make()
    reaps = []
    for job_id in job_ids[:REAPS]:
        rival.enqueue(job_id)
        rival.claim(LAPSES_MS)
        rival.lapse()
        reaps.append(each_us([rival.reap]))
        rival.complete(job_id)
    took["reap"] = median(reaps)
    return took


def run() -> dict[str, Any]:
    """The times of all rounds, by rival and call."""
    try:
        import fakeredis
    except ImportError:
        raise MissingExtra("fakeredis", "bench") from None
    clock = VirtualClock()
    job_ids = [clock.mint() for _ in range(JOBS)]
    results: dict[str, dict[str, list[float]]] = {}
    with embedded_server() as server:
        client = server.client()
        rivals: dict[str, Callable[[], Rival]] = {
            "model": Model,
            "bare": Bare,
            "valkey": lambda: Scripts(client),
            "fakeredis": lambda: Scripts(fakeredis.FakeRedis()),
        }
        for _ in range(ROUNDS):
            for name, make in rivals.items():
                for call, us in measure(make, job_ids).items():
                    results.setdefault(name, {}).setdefault(call, []).append(us)
        return {
            "jobs": JOBS,
            "rounds": ROUNDS,
            "versions": {"fakeredis": fakeredis.__version__, "server": server.version},
            "us_a_call": results,
        }


def table(results: dict[str, Any]) -> Iterator[str]:
    """Times of the model, and how many times as long the others take."""
    took = results["us_a_call"]
    rows = [("call", "model, us", "fakeredis[lua] / model", "Valkey / model", "model / bare")]
    for call in CALLS:
        model = took["model"][call]
        rows.append(
            (
                call,
                number(min(model)),
                spread(ratios(took["fakeredis"][call], model)),
                spread(ratios(took["valkey"][call], model)),
                spread(ratios(model, took["bare"][call])),
            )
        )
    yield from aligned(rows)


def short(results: dict[str, Any]) -> Iterator[str]:
    """The ratios, for the README."""
    took = results["us_a_call"]
    yield "| call | fakeredis[lua] / model | Valkey / model | model / bare containers |"
    yield "|---|--:|--:|--:|"
    for call in CALLS:
        model, bare = took["model"][call], took["bare"][call]
        others = [spread(ratios(took[name][call], model)) for name in ("fakeredis", "valkey")]
        yield f"| {call} | {' | '.join(others)} | {spread(ratios(model, bare))} |"
