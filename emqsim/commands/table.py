"""`emqsim table`: the transition table, or one transition with all that a porter needs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from emqsim.commands.status import CONFORMS
from emqsim.machine import TRANSITIONS, moves
from emqsim.operation import Transition
from emqsim.scripts.bundle import bundled_scripts
from emqsim.text.moves import move_text, move_words, reply_text, scripts_of, state_text, words
from emqsim.text.words import aligned

LIFECYCLE = ("claim", "complete", "retry", "dead", "reap")
"""The moves of the course's map, in its order."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a transition or one of its scripts")
    parser.add_argument(
        "--lifecycle", action="store_true", help="the life of one job, as a table in Markdown"
    )
    parser.add_argument(
        "--export", metavar="DIR", help="write the bundled scripts there, a .lua file each, to start from"
    )


def main(options: argparse.Namespace) -> int:
    """Print the table, one transition, or the lifecycle; or write scripts to a folder."""
    if options.lifecycle:
        print(lifecycle_markdown(), end="")
        return CONFORMS
    if options.export is not None:
        names = [*bundled_scripts()] if options.name is None else [*scripts_of(find(options.name))]
        print(f"{len(export(options.export, names))} scripts written to {options.export}")
        return CONFORMS
    for line in table_text() if options.name is None else transition_text(find(options.name)):
        print(line)
    return CONFORMS


def export(folder: str | Path, names: Iterable[str]) -> list[Path]:
    """Write bundled scripts as `NAME.lua`; a folder that has one of the files already is a `ValueError`."""
    paths = [Path(folder, f"{name}.lua") for name in names]
    there = [path.name for path in paths if path.exists()]
    if there:
        raise ValueError(f"--export: {folder} has {', '.join(there)} already; nothing was written")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path in paths:
        path.write_text(bundled_scripts()[path.stem], encoding="utf-8", newline="")
    return paths


def find(name: str) -> Transition:
    """A transition by its name, one of its scripts, its native command or a method; `ValueError` for none."""
    for row in TRANSITIONS.values():
        if name in (row.name, row.native, *row.methods, *scripts_of(row)):
            return row
    raise ValueError(f"NAME: {name!r} is no transition; there are {', '.join(TRANSITIONS)}")


def table_text() -> Iterator[str]:
    """Every transition in one line a move."""
    rows = [("transition", "script", "native", "move", "leaves", "enters", "row state", "refuses")]
    for row in TRANSITIONS.values():
        first = (row.name, ", ".join(scripts_of(row)), row.native or "-")
        refusals = ", ".join(refusal.why for refusal in row.refusals) or "-"
        moves = [(move.name, *move_text(move), state_text(move)) for move in row.moves] or [
            ("-", "-", "-", "-")
        ]
        for index, move in enumerate(moves):
            rows.append((*(first if index == 0 else ("", "", "")), *move, refusals if index == 0 else ""))
    yield from aligned(rows)
    yield ""
    yield "One transition with its KEYS, ARGV, replies, refusals and script: emqsim table NAME"


def transition_text(row: Transition) -> Iterator[str]:
    """One transition: what it is called with, answers and refuses, and its scripts."""
    yield row.name
    yield from (f"  {line.strip()}" for line in row.doc.strip().splitlines())
    yield ""
    pairs = [
        ("calls", ", ".join(row.methods)),
        *((f"script {name}", ", ".join(dialects)) for name, dialects in scripts_of(row).items()),
        ("native", f"{row.native} (wire6)" if row.native else "none; wire6 runs the script"),
        ("reads", ", ".join(row.reads) or "nothing"),
    ]
    for move in row.moves:
        leaves, enters = move_text(move)
        pairs.append(
            (f"move {move.name}", f"{leaves} -> {enters}, row state {state_text(move)}: {move.does}")
        )
    pairs += [(f"KEYS[{index}]", words(word)) for index, word in enumerate(row.keys, 1)]
    if row.native_keys:
        pairs.append(("native KEYS", ", ".join(map(words, (*row.keys, *row.native_keys)))))
    pairs += [(f"ARGV[{index}]", words(word)) for index, word in enumerate(row.argv, 1)]
    pairs.append(("replies", reply_text(row.reply)))
    for refusal in row.refusals:
        answer = f"error {refusal.wire!r}" if refusal.wire else f"reply {refusal.reply}"
        pairs.append((f"refuses, {refusal.why}", f"{answer} ({refusal.error.__name__})"))
    yield from (f"  {line}" for line in aligned(pairs))
    for name in scripts_of(row):
        yield ""
        yield f"-- {name}.lua"
        yield from bundled_scripts()[name].rstrip("\n").split("\n")


def lifecycle_rows() -> list[Sequence[str]]:
    """The lifecycle of one job, row by row, from the transition table."""
    found = {move.name: (row, move) for row, move in moves()}
    rows: list[Sequence[str]] = []
    for name in LIFECYCLE:
        row, move = found[name]
        # The map has the first set only: the other is where a late heartbeat has left the job.
        rows.append(move_words(row, move._replace(leaves=move.leaves[:1])))
    return rows


def lifecycle_markdown() -> str:
    """The lifecycle of a job as the README has it, a table in Markdown."""
    head = ("move", "leaves", "enters", "script", "native command", "row state after", "what it does")
    rows = [head, ["---"] * len(head), *lifecycle_rows()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
