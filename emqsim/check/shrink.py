"""A shorter program that still fails, from one that does.

Knowing where steps begin, this is far quicker here than shrinking the string byte by byte: it leaves out runs of
steps, long ones first, and then turns the bytes of each step that is left to simpler choices.
"""

from __future__ import annotations

from collections.abc import Callable

from emqsim.check.programs import STEP_BYTES, simpler


def shrink(program: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """A program that fails, from which no step can be left out and no byte made simpler."""
    before = b""
    while program != before:
        before = program
        program = _simpler(_fewer(program, fails), fails)
    return program


def _fewer(program: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """Leave out runs of steps: half of them, a quarter, and so on down to each alone."""
    run = max(1, (len(program) // STEP_BYTES) // 2)
    while True:
        end = len(program)
        while end > 1:
            start = max(1, end - run * STEP_BYTES)
            shorter = program[:start] + program[end:]
            if fails(shorter):
                program = shorter
            end = start
        if run == 1:
            return program
        run //= 2


def _simpler(program: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """Turn each byte behind the first to the simplest with which the program still fails."""
    for index in range(1, len(program)):
        for byte in simpler(program, index):
            other = program[:index] + bytes([byte]) + program[index + 1 :]
            if fails(other):
                program = other
                break
    return program
