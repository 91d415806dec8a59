"""Words for people: counts, and tables of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "program"), counted(2, "program")
    ('1 program', '2 programs')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


MOST = 20
"""How many of a list are shown; beyond that the first and the last."""


def cut(listed: Sequence[str]) -> list[str]:
    """All of a list, or the first and the last of a long one."""
    half = MOST // 2
    if len(listed) <= MOST:
        return list(listed)
    return [*listed[:half], f"… {len(listed) - MOST} more …", *listed[-half:]]
