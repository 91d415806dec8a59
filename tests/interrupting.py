"""What a command leaves that was ended by Ctrl-C."""

import signal

STATUSES = (130, -signal.SIGINT)
"""To a shell both are 130. Python ends itself with the signal where it came while a text was executed, as
`dataclasses` and Hypothesis do it."""


def was_interrupted(process, out, err):
    """Assert that it said so in one word, and nothing else."""
    assert process.returncode in STATUSES
    assert (out, err) == ("", "interrupted\n")
