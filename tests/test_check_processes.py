"""A check that several processes share."""

import os
import signal
import subprocess
import sys

import pytest
from planted import PLANTED, changed

from emqsim.check import check

SEED = 20_241_129


def test_processes_run_the_same_programs(valkey_server):
    alone = check(valkey_server, examples=41, seed=SEED)
    shared = check(examples=41, seed=SEED, processes=2)
    assert shared.conforms, shared.divergence
    assert (shared.programs, shared.steps) == (alone.programs, alone.steps) == (41, alone.steps)
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
    report = check(valkey_server.url, examples=6, seed=SEED, processes=2)
    assert report.conforms, report.failure
    assert (report.programs, report.left, report.notes) == (6, [], [])
    assert client.dbsize() == 0


@pytest.mark.parametrize("processes", [0, -1, 257])
def test_how_many(processes):
    with pytest.raises(ValueError, match=f"processes .*{processes}"):
        check(processes=processes)


def test_not_on_one_server_that_is_ours(valkey_server):
    with pytest.raises(ValueError, match=r"processes must be 1 .*2"):
        check(valkey_server, processes=2)


def test_ctrl_c_ends_all_of_them(tmp_path):
    command = [sys.executable, "-m", "emqsim", "check", "--processes", "2", "--examples", "1000000"]
    running = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    try:
        while len(list(tmp_path.glob("emqsim-*/s"))) < 2:
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 130
    finally:
        running.kill()
        running.stderr.close()
    assert list(tmp_path.glob("emqsim-*")) == []
