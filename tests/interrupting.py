"""A long check that is ended in the middle, and what it leaves."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

STATUSES = (130, -signal.SIGINT)
"""To a shell both are 130. Python ends itself with the signal where it came while a text was executed, as
`dataclasses` and Hypothesis do it."""


def was_interrupted(process, out, err):
    """Assert that it said so in one word, and nothing else."""
    assert process.returncode in STATUSES
    assert (out, err) == ("", "interrupted\n")


@contextmanager
def long_check(folder, *options):
    """A check without an end, in a session of its own, and the folder that it has for temporary files."""
    places = folder / "t"
    places.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "emqsim", "check", "--examples", "1000000", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(places)},
        start_new_session=True,
    )
    try:
        yield process, places
    finally:
        process.kill()
        process.communicate()
