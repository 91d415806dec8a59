"""The README's numbers, from the raw results: `python -m tests.figures` writes them anew."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.__main__ import NAMES, benchmark, saved
from mutation import model, table

README = Path(__file__).parents[1] / "README.md"


def figures() -> Iterator[tuple[str, str]]:
    """Each mark in the README, and what stands behind it."""
    yield "mutants", "\n".join(table.short(table.saved()))
    yield "models", "\n".join(model.short(model.saved()))
    for name in NAMES:
        yield name, "\n".join(benchmark(name).short(saved(name)))


def main() -> None:
    """Write them."""
    text = README.read_text("utf-8")
    for mark, words in figures():
        around = rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)"
        text, found = re.subn(around, lambda at, words=words: f"{at[1]}{words}\n{at[2]}", text, flags=re.S)
        assert found == 1, mark
    README.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
