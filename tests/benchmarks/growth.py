"""How the cost of a claim and the memory of a job grow, from a thousand to a million pending jobs."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from emqsim import Queue
from emqsim.scripts.bundle import bundled_scripts
from emqsim.server import embedded_server
from emqsim.server.connection import Connection
from emqsim.text.words import aligned

from .rounds import each_us, number, ratios, spread

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CLAIMS, ROUNDS = 1_000, 7
PAYLOAD_BYTES = 100


def payload(index: int) -> bytes:
    """A payload that is no other job's."""
    return b"%0*d" % (PAYLOAD_BYTES, index)


def filled(size: int) -> Queue:
    """A queue with so many pending jobs."""
    queue = Queue("bench")
    for index in range(size):
        queue.enqueue(queue.clock.mint(), payload(index))
    return queue


def claims(queue: Queue) -> float:
    """Microseconds a claim; the jobs are completed and others enqueued, so that the size stays."""
    claimed: list[Any] = []
    us = each_us([lambda: claimed.append(queue.claim(1000))] * CLAIMS)
    for job in claimed:
        queue.complete(job.job_id, job.token)
        queue.enqueue(queue.clock.mint(), job.payload)
    return us


def model_bytes(size: int) -> int:
    """How much this process grows by filling a queue, in bytes; to be called in a process of its own."""
    gc.collect()
    before = _resident()
    queue = filled(size)
    return (_resident() - before) * (queue is not None)


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def in_a_process(size: int) -> int:
    """`model_bytes` in a fresh process."""
    code = f"from {__name__} import model_bytes; print(model_bytes({size}))"
    return int(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    )


def valkey_bytes(size: int) -> tuple[str, int]:
    """The server, and how much its used_memory grows by the same jobs."""
    with embedded_server() as server:
        connection = Connection(server.client())
        keys = Queue("bench").keys
        clock = Queue("bench").clock
        sha = connection.call("SCRIPT", "LOAD", bundled_scripts()["enqueue"])
        before = _used(connection)
        for start in range(0, size, 1000):
            ids = [clock.mint() for _ in range(min(1000, size - start))]
            connection.exchange(
                [
                    (
                        "EVALSHA",
                        sha,
                        "2",
                        keys.job_prefix + job_id,
                        keys.pending,
                        job_id,
                        payload(start + index),
                    )
                    for index, job_id in enumerate(ids)
                ]
            )
        return server.version, _used(connection) - before


def _used(connection: Connection) -> int:
    return int(connection.info("memory")["used_memory"])


def run() -> dict[str, Any]:
    """Claims at each size, all sizes in each round, and the bytes of a job."""
    queues = {size: filled(size) for size in SIZES}
    gc.collect()
    gc.freeze()
    took: dict[str, list[float]] = {str(size): [] for size in SIZES}
    for _ in range(ROUNDS):
        for size, queue in queues.items():
            took[str(size)].append(claims(queue))
    del queues
    server, used = valkey_bytes(SIZES[-1])
    return {
        "rounds": ROUNDS,
        "claim_us": took,
        "jobs": SIZES[-1],
        "payload_bytes": PAYLOAD_BYTES,
        "model_bytes_a_job": in_a_process(SIZES[-1]) / SIZES[-1],
        "server": server,
        "server_bytes_a_job": used / SIZES[-1],
    }


def table(results: dict[str, Any]) -> Iterator[str]:
    """Claims by size, then memory."""
    took = results["claim_us"]
    rows = [("pending jobs", "claim, us", f"times as long as at {SIZES[0]:,}")]
    for size in SIZES:
        rows.append(
            (f"{size:,}", number(min(took[str(size)])), spread(ratios(took[str(size)], took[str(SIZES[0])])))
        )
    yield from aligned(rows)
    yield ""
    ours, theirs = results["model_bytes_a_job"], results["server_bytes_a_job"]
    yield (
        f"bytes a job at {results['jobs']:,} pending jobs of {results['payload_bytes']} bytes: "
        f"model {ours:.0f}, {results['server']} {theirs:.0f}"
    )


def short(results: dict[str, Any]) -> Iterator[str]:
    """A million beside a thousand, for the README."""
    took, few, many = results["claim_us"], SIZES[0], SIZES[-1]
    ours, theirs = results["model_bytes_a_job"], results["server_bytes_a_job"]
    yield (
        f"- A claim among {many:,} pending jobs takes {spread(ratios(took[str(many)], took[str(few)]))} times "
        f"as long as among {few:,}."
    )
    yield (
        f"- A pending job with a payload of {results['payload_bytes']} bytes takes {ours:.0f} bytes, on "
        f"{results['server']} {theirs:.0f}, where there are {results['jobs']:,}."
    )
