"""The README shows what the commands show."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from figures import figures
from planted import PLANTED, changed

from emqsim import Queue, trace
from emqsim.commands.main import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def between(mark):
    return README.split(f"<!-- {mark} -->\n")[1].split(f"<!-- /{mark} -->")[0]


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_the_session():
    session = "\n".join(block for block in blocks("python") if ">>>" in block)
    test = doctest.DocTestParser().get_doctest(session, {}, "README", None, None)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


def test_the_other_python_blocks(tmp_path, monkeypatch, capsys):
    (tmp_path / "lua").mkdir()
    shutil.copy(ROOT / "emqsim" / "scripts" / "lua" / "retry.lua", tmp_path / "lua")
    monkeypatch.chdir(tmp_path)
    for block in blocks("python"):
        if ">>>" not in block and "def test_" not in block:
            exec(compile(block.replace("seed=1", "seed=1, examples=20"), "README", "exec"), {})


@pytest.mark.parametrize(("mark", "words"), list(figures()), ids=lambda each: each.split(" ")[0])
def test_the_figures_are_the_raw_results(mark, words):
    assert between(mark) == words + "\n"


def test_the_divergence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lua").mkdir()
    (tmp_path / "lua" / "retry.lua").write_text(changed(*PLANTED["retry uses > for max attempts"])["retry"])
    command, *shown = (
        between("divergence").strip().removeprefix("```text\n").removesuffix("\n```").splitlines()
    )
    assert command.startswith("$ emqsim ")
    assert main(command.removeprefix("$ emqsim ").split()) == 1
    printed = [
        re.sub(r"in [\d.]+ s", "in … s", line.rstrip()) for line in capsys.readouterr().out.splitlines()
    ]
    for line in shown:
        if line != "…":
            assert re.sub(r"in [\d.]+ s", "in … s", line.rstrip()) in printed


def test_every_command_and_option_that_is_named_exists():
    help_texts = {}
    for command in set(re.findall(r"`?emqsim (check|draw|explore|hazards|replay|table)\b", README)):
        done = subprocess.run(
            [sys.executable, "-m", "emqsim", command, "--help"], capture_output=True, text=True
        )
        assert done.returncode == 0
        help_texts[command] = done.stdout
    for option in set(re.findall(r"`(--[a-z-]+)", README)):
        assert any(option in text for text in help_texts.values()), option


@pytest.mark.parametrize("name", re.findall(r"`(emqsim/[\w/.]+)`", README))
def test_every_file_that_is_named_exists(name):
    assert (ROOT / name).exists()


def test_every_call_of_a_queue_is_listed():
    table = README.split("| what for |")[1].split("\n\n")[0]
    listed = set(re.findall(r"`(\w+)`", table)) - {"Queue", "ServerQueue"}
    assert all(hasattr(Queue, name) for name in listed)
    assert set(trace.CALLS) <= listed
