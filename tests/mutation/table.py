"""Every mutant searched for on some processes, and the table of what became of them."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from emqsim.check.run import EXAMPLES, STEPS
from emqsim.server import embedded_server
from emqsim.text.words import aligned

from .operators import Mutant, mutants
from .search import SEED, Result, Search
from .survivors import reason

RESULTS = Path(__file__).with_name("results.jsonl")

_life = ExitStack()
_search: Search | None = None
"""Of a process of the pool, with a server that ends when the process does."""


def _start() -> None:
    global _search
    _search = Search(_life.enter_context(embedded_server()))


def _one(mutant: Mutant) -> Result:
    assert _search is not None
    return _search(mutant)


def search_all(chosen: Sequence[Mutant], processes: int) -> Iterator[Result]:
    """The result of each mutant, in no order."""
    with get_context("spawn").Pool(processes, _start) as pool:
        for done, result in enumerate(pool.imap_unordered(_one, chosen, chunksize=4), 1):
            if done % 50 == 0:
                print(f"{done} of {len(chosen)}", file=sys.stderr, flush=True)
            yield result


def table(results: Iterable[Result]) -> Iterator[str]:
    """A line a script, and one for all."""
    by_script: dict[str, list[Result]] = {}
    for result in results:
        if result.outcome != "broken":
            by_script.setdefault(result.script, []).append(result)
    everything = [result for each in by_script.values() for result in each]
    rows = [
        (
            "script",
            "mutants",
            "told apart",
            "caught",
            "steps, median",
            "worst",
            "shortest, median",
            "survivors",
        )
    ]
    for name, those in (*sorted(by_script.items()), ("all", everything)):
        caught = [result for result in those if result.outcome == "caught"]
        survived = [result for result in those if result.outcome == "survived"]
        same = sum(reason(result.mutant) is not None for result in survived)
        shrunk = [result.shortest for result in caught if result.shortest]
        rows.append(
            (
                name,
                str(len(those)),
                str(len(those) - same),
                str(len(caught)),
                f"{median(result.steps for result in caught):.0f}",
                str(max(result.steps for result in caught)),
                f"{median(shrunk):.0f}",
                str(len(survived) - same),
            )
        )
    yield from aligned(rows)


def short(results: Iterable[Result]) -> Iterator[str]:
    """All scripts in one line, and the three whose mutants live longest, for the README."""
    head, *rows, everything = (re.split("  +", line.strip()) for line in table(results))
    longest = sorted(rows, key=lambda row: int(row[head.index("worst")]), reverse=True)[:3]
    yield f"| {' | '.join(head)} |"
    yield f"|---{'|--:' * (len(head) - 1)}|"
    for name, *cells in (everything, *longest):
        yield f"| {'all scripts' if name == 'all' else f'`{name}`'} | {' | '.join(cells)} |"


def main() -> int:
    """Make the table; 0 if just those mutants were caught that can be told apart."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=main.__doc__)
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help="only mutants of these scripts")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="default 2")
    parser.add_argument("--save", action="store_true", help=f"put the raw results into {RESULTS.name}")
    parser.add_argument("--show", action="store_true", help="only print what was saved")
    options = parser.parse_args()
    started = time.monotonic()
    if options.show:
        results = saved()
    else:
        results = sorted(
            search_all(mutants(*options.scripts), options.processes), key=lambda result: result.mutant
        )
    survived = [result.mutant for result in results if result.outcome == "survived"]
    unexplained = [name for name in survived if reason(name) is None]
    for line in table(results):
        print(line)
    print()
    took = "as saved" if options.show else f"{time.monotonic() - started:.0f} s"
    print(f"at most {EXAMPLES} programs of {STEPS} steps, seed {SEED}; {took}")
    print(f"{sum(result.outcome == 'broken' for result in results)} more do not compile")
    print(f"{len(survived) - len(unexplained)} do the same as the script they are made of:")
    for text, count in Counter(filter(None, map(reason, survived))).items():
        print(f"  {count:3}  {text}")
    caught = [each.mutant for each in results if each.outcome == "caught" and reason(each.mutant)]
    for name in unexplained:
        print(f"SURVIVED  {name}")
    for name in caught:
        print(f"CAUGHT, though it is said to do the same  {name}")
    if options.save:
        others = [result for result in saved() if result.script not in {each.script for each in results}]
        lines = [json.dumps(asdict(result)) for result in sorted([*others, *results], key=lambda r: r.mutant)]
        RESULTS.write_text("\n".join(lines) + "\n")
    return 1 if unexplained or caught else 0


def saved() -> list[Result]:
    """The results that were saved."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [Result(**json.loads(line)) for line in lines]
