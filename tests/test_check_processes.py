"""A check that several processes share."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from interrupting import long_check, was_interrupted
from planted import PLANTED, changed

from emqsim.check import check

SEED = 20_241_129
SHARED = ("--processes", "2")


def test_processes_run_the_same_programs(valkey_server):
    alone = check(valkey_server, examples=150, seed=SEED)
    shared = check(examples=150, seed=SEED, processes=2)
    assert shared.conforms, shared.divergence
    assert (shared.programs, shared.steps) == (alone.programs, alone.steps) == (150, alone.steps)
    assert shared.coverage.outcomes == alone.coverage.outcomes
    assert (shared.server, shared.seed) == (valkey_server.version, SEED)


def test_the_first_difference_ends_it(tmp_path):
    report = check(
        scripts=changed(*PLANTED["retry uses > for max attempts"]),
        examples=100_000,
        seed=SEED,
        processes=2,
        folder=tmp_path,
    )
    assert report.divergence.program.steps[-1].call == "retry"
    assert report.programs < 1000
    (saved,) = tmp_path.iterdir()
    assert report.trace_path == str(saved)


def test_on_a_server_that_is_not_ours(valkey_server):
    client = valkey_server.client()
    client.flushall()
    report = check(valkey_server.url, examples=68, seed=SEED, processes=2)
    assert report.conforms, report.failure
    assert (report.programs, report.left, report.notes) == (68, [], [])
    assert client.dbsize() == 0


@pytest.mark.parametrize("processes", [0, -1, 257])
def test_how_many(processes):
    with pytest.raises(ValueError, match=f"processes .*{processes}"):
        check(processes=processes)


def test_not_on_one_server_that_is_ours(valkey_server):
    with pytest.raises(ValueError, match=r"processes must be 1 .*2"):
        check(valkey_server, processes=2)


@pytest.mark.parametrize("servers", [0, 1, 2])
def test_ctrl_c_ends_all_of_them(tmp_path, servers):
    """As a terminal sends it, to all of them, while so many servers have started."""
    with long_check(tmp_path, *SHARED) as (process, places):
        while len(list(places.glob("emqsim-*/s"))) < servers or not list(places.glob("emqsim-*")):
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    was_interrupted(process, out, err)
    assert list(places.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
def test_a_process_that_is_killed_is_told_in_a_line(tmp_path):
    with long_check(tmp_path, *SHARED) as (process, places):
        while len(list(places.glob("emqsim-*/s"))) < 2:
            assert process.poll() is None
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        worker = next(pid for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text())
        os.kill(int(worker), signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("emqsim: a process of the check ended before its time")
    assert len(err.splitlines()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
def test_workers_end_with_the_process_that_started_them(tmp_path):
    with long_check(tmp_path, *SHARED) as (process, places):
        while len(list(places.glob("emqsim-*/s"))) < 2:
            assert process.poll() is None
        process.kill()
        process.wait()
        late = time.monotonic() + 30
        while list(places.glob("emqsim-*/s")) or in_session(process.pid):
            assert time.monotonic() < late


def in_session(leader):
    """The processes of a session that have not ended."""
    stats = [path.read_text().rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat")]
    return [stat for stat in stats if int(stat[3]) == leader and stat[0] != "Z"]
