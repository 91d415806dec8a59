"""The programs of a run, drawn by Hypothesis.

Hypothesis takes long to make an example, whatever is in it, and draws at most about 8 KiB in one. So it is not asked
for programs but for pieces of bytes, of which a round of programs is cut.
"""

from __future__ import annotations

from collections.abc import Iterator

from emqsim.check.programs import length
from emqsim.errors import MissingExtra

ROUND = 64
"""Programs that are drawn at once, and that belong to one process."""

PIECE_BYTES = 8_000


def programs(seed: int, examples: int, steps: int, part: int = 0, parts: int = 1) -> Iterator[bytes]:
    """The programs of a run, of so many steps each; of several parts, one. Raises `MissingExtra`."""
    size = length(steps)
    for number in range(part, -(-examples // ROUND), parts):
        count = min(ROUND, examples - number * ROUND)
        drawn = _drawn(seed << 32 | number, count * size)
        for start in range(0, count * size, size):
            yield drawn[start : start + size]


def _drawn(seed: int, size: int) -> bytes:
    """So many bytes."""
    try:
        import hypothesis
        from hypothesis import strategies
    except ImportError:
        raise MissingExtra("hypothesis", "check") from None
    pieces: list[bytes] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=1 - (-size // PIECE_BYTES),
        database=None,
        deadline=None,
        phases=(hypothesis.Phase.generate,),
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(strategies.binary(min_size=PIECE_BYTES, max_size=PIECE_BYTES))
    def draw(piece: bytes) -> None:
        pieces.append(piece)

    draw()
    _simplest, *others = pieces
    return b"".join(others)[:size]
