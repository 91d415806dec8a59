"""The check finds what is wrong with a script, says it well, and is silent where nothing is."""

import json
import os
import pty
import subprocess
import sys

import pytest
from planted import PLANTED, SAME, changed

from emqsim import Dialect, Queue, trace
from emqsim.check import check
from emqsim.check.coverage import FAULTS
from emqsim.check.programs import ACTIONS
from emqsim.check.run import EXAMPLES
from emqsim.commands.main import main
from emqsim.scripts.bundle import bundled_scripts

SEED = 20_241_129


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("dialect", [Dialect.WIRE3, Dialect.WIRE4])
def test_the_bundled_scripts_conform(server, dialect):
    report = check(server, dialect=dialect, examples=250, seed=SEED)
    assert report.conforms, report.divergence
    assert (report.programs, report.seed, report.dialect) == (250, SEED, dialect)
    assert report.server == server.version
    assert report.yours == []


def test_half_a_default_run_reaches_everything(valkey_server):
    report = check(valkey_server, examples=EXAMPLES // 2, seed=SEED)
    assert report.conforms, report.divergence
    assert report.coverage.missed() == []
    assert set(report.coverage.faults) == set(FAULTS)


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_with_a_short_program(valkey_server, fault):
    report = check(valkey_server, scripts=changed(*PLANTED[fault]), dialect="wire4", seed=SEED)
    assert not report.conforms
    steps = report.divergence.program.steps
    assert len(steps) <= 8, steps
    assert report.divergence.step == len(steps) - 1
    assert report.yours == [PLANTED[fault][0]]


@pytest.mark.parametrize("change", SAME)
def test_what_no_call_can_tell_apart_conforms(valkey_server, change):
    assert check(
        valkey_server, scripts=changed(*SAME[change]), dialect="wire4", examples=200, seed=SEED
    ).conforms


@pytest.mark.parametrize("seed", range(20, 28))
def test_the_program_that_was_sent_ahead_leaves_no_mark(valkey_server, seed):
    report = check(
        valkey_server,
        scripts=changed(*PLANTED["retry uses > for max attempts"]),
        dialect="wire4",
        seed=seed,
    )
    assert report.divergence.what == ["answer", "state"]
    assert report.divergence.program.steps[-1].call == "retry"


def test_a_seed_makes_the_same_run(valkey_server):
    faulty = changed(*PLANTED["retry uses > for max attempts"])
    one, other = (check(valkey_server, scripts=faulty, seed=7) for _ in range(2))
    assert one.divergence.program == other.divergence.program
    assert (one.programs, one.steps) == (other.programs, other.steps)


def test_every_call_that_runs_a_script_is_made():
    from emqsim.machine import TRANSITIONS

    made = {action.call for action in ACTIONS if action.call}
    assert {method for row in TRANSITIONS.values() for method in row.methods} <= made


# Which scripts, which dialect.


def test_the_dialect_follows_the_claim(valkey_server):
    bundled = bundled_scripts()
    for given, dialect in (
        ({}, "wire4"),
        ({"claim": bundled["claim"]}, "wire3"),
        ({"claim2": bundled["claim2"]}, "wire4"),
        ({"claim": bundled["claim"], "claim2": bundled["claim2"]}, "wire4"),
    ):
        report = check(valkey_server, scripts=given, examples=20, seed=SEED)
        assert (report.dialect, report.conforms) == (dialect, True)


def test_the_claim_of_wire3_is_no_claim_of_wire4(valkey_server):
    report = check(valkey_server, scripts={"claim": bundled_scripts()["claim"]}, dialect="wire4", seed=SEED)
    assert not report.conforms
    assert report.divergence.program.steps[-1].call == "claim"
    assert report.yours == ["claim"]


def test_names_that_are_no_script_are_left_out(valkey_server):
    report = check(
        valkey_server, scripts={"nonsense": "return 1", "retry": bundled_scripts()["retry"]}, examples=5
    )
    assert (report.ignored, report.yours, report.conforms) == (["nonsense"], ["retry"], True)
    assert "retry" not in report.bundled
    assert "reap" in report.bundled


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"examples": 0}, ValueError, "examples .*0"),
        ({"steps": 0}, ValueError, "steps .*0"),
        ({"steps": 10_001}, ValueError, "steps"),
        ({"seed": -1}, ValueError, "seed .*-1"),
        ({"seed": "x"}, TypeError, "seed .*'x'"),
        ({"time_limit": 0}, ValueError, "time_limit .*0"),
        ({"dialect": "wire6"}, ValueError, "wire6"),
        ({"dialect": "wire5"}, ValueError, "wire5"),
        ({"server": 5}, ValueError, "server .*5"),
        ({"scripts": {"retry": "local x ="}}, ValueError, "retry does not compile.*user_script:1"),
        ({"scripts": {"retry": "\n\nlocal x = ]"}}, ValueError, "retry does not compile.*user_script:3"),
    ],
)
def test_bad_arguments(valkey_server, arguments, error, named):
    with pytest.raises(error, match=named):
        check(**{"server": valkey_server} | arguments)


def test_a_time_limit(valkey_server):
    report = check(valkey_server, examples=10_000_000, time_limit=0.2)
    assert report.out_of_time
    assert report.conforms
    assert report.programs < 10_000


# What is saved.


def test_a_divergence_is_saved_and_tried_first(valkey_server, folder):
    faulty = changed(*PLANTED["complete forgets pending"])
    first = check(valkey_server, scripts=faulty, seed=SEED, folder=".emqsim")
    ((program,), cut) = trace.read(first.trace_path)
    assert cut is None
    assert program == first.divergence.program or program.steps[0].line == 2
    again = check(valkey_server, scripts=faulty, seed=1, folder=".emqsim")
    assert (again.saved, again.programs, again.conforms) == (1, 0, False)
    mended = check(valkey_server, examples=3, seed=1, folder=".emqsim")
    assert (mended.saved, mended.programs, mended.conforms) == (1, 3, True)


def test_a_corrupt_saved_trace_does_not_stop_the_check(valkey_server, folder):
    (folder / ".emqsim").mkdir()
    (folder / ".emqsim" / "x.jsonl").write_text("nonsense\n")
    assert check(valkey_server, examples=3, folder=".emqsim").conforms


# The command.


def run(capsys, *arguments):
    status = main(["check", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_command_conforms(capsys, folder):
    status, out, _ = run(capsys, "--examples", "30", "--seed", "3")
    assert status == 0
    assert out.splitlines()[-1].startswith("CONFORMS: 30 programs, ")
    assert out.splitlines()[-1].endswith("bundled scripts, seed 3")
    assert not (folder / ".emqsim").exists()


def test_the_command_diverges(capsys, folder):
    (folder / "lua").mkdir()
    for name, source in changed(*PLANTED["retry uses > for max attempts"]).items():
        (folder / "lua" / f"{name}.lua").write_text(source)
    status, out, _ = run(capsys, "--scripts", "lua", "--seed", "3")
    assert status == 1
    assert "script retry (yours)" in out
    assert "ARGV[4]  '" in out
    assert "run it again: emqsim check --scripts lua --seed 3" in out
    assert out.splitlines()[-1].startswith("DIVERGES: ")
    (saved,) = (folder / ".emqsim").iterdir()
    assert f"saved as .emqsim/{saved.name}" in out
    assert main(["replay", str(saved), "--server", "embedded", "--scripts", "lua"]) == 1
    assert main(["replay", str(saved), "--server", "embedded"]) == 0


def test_the_command_as_json(capsys, folder):
    (folder / "complete.lua").write_text("return 1")
    status, out, _ = run(capsys, "--scripts", "complete.lua", "--seed", "3", "--json")
    report = json.loads(out)
    assert status == 1
    assert report["conforms"] is False
    assert report["scripts"]["yours"] == ["complete"]
    assert report["divergence"]["program"][0]["emqsim"] == "trace"
    assert report["divergence"]["calls"][0]["transition"] == "complete"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scripts", "missing.lua"], "missing.lua: no such file"),
        (["--scripts", "empty"], "empty: no .lua file"),
        (["--scripts", "text.txt"], "text.txt: no .lua file"),
        (["--scripts", "retry.lua"], "retry does not compile"),
        (["--examples", "0"], "examples"),
        (["--time-limit", "-1"], "time_limit"),
        (["--time-limit", "nan"], "time_limit"),
    ],
)
def test_the_command_could_not_run(capsys, folder, arguments, said):
    (folder / "empty").mkdir()
    (folder / "text.txt").write_text("return 1")
    (folder / "retry.lua").write_text("return (")
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("emqsim: ")
    assert err.count("\n") == 1
    assert said in err


def test_a_run_that_conforms_leaves_nothing_behind(folder):
    command = [sys.executable, "-m", "emqsim", "check", "--examples", "5"]
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert list(folder.iterdir()) == []


def test_progress_on_a_terminal_and_nowhere_else(folder):
    command = [sys.executable, "-m", "emqsim", "check", "--examples", "40"]
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as terminal:
        done = subprocess.run(command, stderr=theirs, stdout=subprocess.PIPE, check=True)
        os.close(theirs)
        assert b"20 programs" in terminal.read(4096)
    assert b"\r" not in done.stdout
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""


def test_the_model_is_the_one_that_is_taught():
    """The recorder under the check changes nothing of what the model does."""
    from emqsim.check.recorder import Recorder

    plain, recorded = Queue("q"), Recorder("q", Dialect.WIRE4)
    for queue in (plain, recorded):
        queue.enqueue("JOB00000000001", b"")
        queue.claim(10)
    assert plain.snapshot() == recorded.snapshot()


@pytest.mark.parametrize(
    "sent",
    [
        "error('EMQSTALE complete token mismatch', 0)",
        "error({err = 'EMQSTALE complete token mismatch'})",
        "return redis.error_reply('ERR EMQSTALE complete token mismatch')",
        "return redis.error_reply('EXECABORT EMQSTALE complete token mismatch')",
        "return redis.error_reply('EMQSTALE complete token mismatch script: on @x:1')",
        "return redis.error_reply('EMQSTALE Complete token mismatch')",
    ],
)
def test_a_refusal_is_compared_as_it_is_sent(server, sent):
    script = bundled_scripts()["complete"]
    wrong = script.replace("return redis.error_reply('EMQSTALE complete token mismatch')", sent)
    assert wrong != script
    report = check(server, scripts={"complete": wrong}, seed=SEED)
    assert report.divergence.model == {"refused": "EMQSTALE complete token mismatch"}
    assert report.divergence.server != report.divergence.model


@pytest.mark.parametrize(
    ("script", "fence"),
    [
        ("complete", "tonumber(attempts) < 10 and attempts ~= ARGV[2]"),
        ("retry", "tonumber(attempts) < 10 and attempts ~= ARGV[2]"),
        ("extend_lock", "string.sub(attempts, 1, 1) ~= string.sub(ARGV[2], 1, 1)"),
    ],
)
def test_a_fence_that_weakens_with_many_claims_is_found(valkey_server, script, fence):
    text = bundled_scripts()[script]
    wrong = text.replace("attempts ~= ARGV[2]", fence)
    assert wrong != text
    report = check(valkey_server, scripts={script: wrong}, seed=SEED)
    assert report.divergence.program.steps[-1].call in (script, "complete")
