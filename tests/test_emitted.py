"""A divergence as a test of its own: it fails as long as the script is wrong, and needs nothing of ours."""

import re
import subprocess
import sys

import pytest
from planted import PLANTED, changed

from emqsim.check import check
from emqsim.commands.main import main
from emqsim.scripts.bundle import bundled_scripts

SEED = 20_241_129

FAULTS = {
    "retry uses > for max attempts": "answer",
    "a script adds 1 ms": "state",
    "a script publishes one event more": "events",
    "complete does not compare the token": "answer",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_fails_with_the_fault_and_passes_without(valkey_server, folder):
    for index, (fault, differs) in enumerate(FAULTS.items()):
        name, right, wrong = PLANTED[fault]
        path = folder / f"test_wrong_{index}.py"
        report = check(valkey_server, scripts=changed(name, right, wrong), seed=SEED, emit_test=path)
        assert report.test_path == str(path)
        assert differs in report.divergence.what
        text = path.read_text()
        assert wrong in text
        assert not re.search(r"^(import|from) emqsim", text, re.MULTILINE)
        (folder / f"test_right_{index}.py").write_text(text.replace(wrong, right))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:emqsim"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1].startswith("4 failed, 4 passed"), done.stdout
    failed = re.findall(r"^FAILED (test_wrong_\d)\.py::", done.stdout, re.MULTILINE)
    assert failed == [f"test_wrong_{index}" for index in range(len(FAULTS))]
    assert len(re.findall(r"^E +(AssertionError: )?assert ", done.stdout, re.MULTILINE)) == len(FAULTS)


def test_it_reads_as_a_report(folder, capsys):
    (folder / "claim.lua").write_text(bundled_scripts()["claim"])
    arguments = [
        "check",
        "--scripts",
        "claim.lua",
        "--dialect",
        "wire4",
        "--seed",
        "3",
        "--emit-test",
        "test_it.py",
    ]
    assert main(arguments) == 1
    assert "written as a test: pytest test_it.py" in capsys.readouterr().out
    text = (folder / "test_it.py").read_text()
    assert "claim(10): the server's answer and state differ from the model's" in text.split('"""')[1]
    assert bundled_scripts()["claim"] in text
    assert re.search(
        r"# 3  \+0 ms  claim\(10\)\n +server.now_us = \d+\n +assert server.script\('claim', .* == \[\]", text
    )


def test_a_divergence_on_the_servers_own_time(valkey_server, folder):
    faulty = changed(*PLANTED["a script adds 1 ms"])
    report = check(valkey_server, scripts=faulty, clock="server", seed=SEED, emit_test="test_it.py")
    assert report.test_path == "test_it.py"
    again = check(valkey_server, scripts=faulty, seed=SEED, emit_test="test_it.py")
    assert again.test_path == "test_it.py"
    assert "return {seconds, micros}" in (folder / "test_it.py").read_text()


def test_a_divergence_that_only_the_servers_own_time_shows(valkey_server, folder):
    same = "redis.call('TIME')[2] == _G.redis.call('TIME')[2]"
    faulty = {
        "queue_pause": bundled_scripts()["queue_pause"].replace("return 1", f"return {same} and 2 or 1")
    }
    report = check(valkey_server, scripts=faulty, clock="server", seed=SEED, emit_test="test_it.py")
    assert not report.conforms
    assert report.test_path is None
    assert any("only on the server's own time" in note for note in report.notes)
    assert not (folder / "test_it.py").exists()


def test_where_it_cannot_be_written(valkey_server, folder):
    (folder / "mine.py").write_text("def test_mine(): pass")
    for path in ("no/such/folder.py", ".", "mine.py"):
        with pytest.raises(ValueError, match="emit_test"):
            check(valkey_server, examples=1, emit_test=path)


def test_nothing_is_written_where_all_conforms(valkey_server, folder):
    assert check(valkey_server, examples=3, emit_test="test_it.py").test_path is None
    assert list(folder.iterdir()) == []
