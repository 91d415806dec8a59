"""The command line as a whole."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from emqsim.commands.main import COMMANDS, main


def test_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"emqsim {version('emqsim')}\n"


def test_help_names_every_command_and_imports_none():
    script = (
        "import sys; from emqsim.commands.main import COMMANDS, main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "found = {module for module, _ in COMMANDS.values()} | {'hypothesis', 'valkey', 'redis'}\n"
        "assert not found & set(sys.modules), found & set(sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    for name in COMMANDS:
        assert f"    {name} " in ran.stdout
