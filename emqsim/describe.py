"""`emqsim table`: the transition table, or one transition with all that a porter needs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from emqsim import replies
from emqsim.cli import CONFORMS
from emqsim.dialect import Dialect
from emqsim.machine import TRANSITIONS
from emqsim.operation import Move, Transition
from emqsim.server.scripts import bundled_scripts
from emqsim.words import aligned

GONE = "gone"

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


def scripts_of(row: Transition) -> dict[str, list[str]]:
    """The names of a transition's scripts, each with the dialects that use it."""
    names: dict[str, list[str]] = {}
    for dialect in Dialect:
        if not (row.native and dialect is Dialect.WIRE6):
            names.setdefault(row.script(dialect), []).append(str(dialect))
    return names


def move_text(move: Move) -> tuple[str, str]:
    """The sets a move leaves and the set it enters, as words."""
    return (" and " if move.leaves_all else ", else ").join(move.leaves) or "-", move.enters or GONE


def table_text() -> Iterator[str]:
    """Every transition in one line a move."""
    rows = [("transition", "script", "native", "move", "leaves", "enters", "row state", "refuses")]
    for row in TRANSITIONS.values():
        first = (row.name, ", ".join(scripts_of(row)), row.native or "-")
        refusals = ", ".join(refusal.why for refusal in row.refusals) or "-"
        moves = [(move.name, *move_text(move), _state(move)) for move in row.moves] or [("-", "-", "-", "-")]
        for index, move in enumerate(moves):
            rows.append((*(first if index == 0 else ("", "", "")), *move, refusals if index == 0 else ""))
    yield from aligned(rows)
    yield ""
    yield "One transition with its KEYS, ARGV, replies, refusals and script: emqsim table NAME"


def _state(move: Move) -> str:
    if move.state is not None:
        return move.state.decode()
    return "-" if move.enters else GONE


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
        pairs.append((f"move {move.name}", f"{leaves} -> {enters}, row state {_state(move)}: {move.does}"))
    pairs += [(f"KEYS[{index}]", words(word)) for index, word in enumerate(row.keys, 1)]
    if row.native_keys:
        pairs.append(("native KEYS", ", ".join(map(words, (*row.keys, *row.native_keys)))))
    pairs += [(f"ARGV[{index}]", words(word)) for index, word in enumerate(row.argv, 1)]
    pairs.append(("replies", replies.describe(row.reply)))
    for refusal in row.refusals:
        answer = f"error {refusal.wire!r}" if refusal.wire else f"reply {refusal.reply}"
        pairs.append((f"refuses, {refusal.why}", f"{answer} ({refusal.error.__name__})"))
    yield from (f"  {line}" for line in aligned(pairs))
    for name in scripts_of(row):
        yield ""
        yield f"-- {name}.lua"
        yield from bundled_scripts()[name].rstrip("\n").split("\n")


WORDS = {
    "base": "emq:{q}:",
    "job_prefix": "emq:{q}:job:",
    "row": "emq:{q}:job:<id>",
    "logs": "emq:{q}:job:<id>:logs",
    "de": "emq:{q}:de:<dedup id>",
    "*with_schedule": "emq:{q}:schedule, where it is asked for",
    "*held": "id, token, id, token …",
    "keep": "how many lines to keep, empty for all",
    "mode": "in or at",
    "value": "ms from now (in), or Unix ms (at)",
    "force": "force, or empty",
    "job_id": "id",
    "dedup_id": "dedup id, may be empty",
    "lease_ms": "lease in ms",
    "delay_ms": "delay in ms",
}


def words(word: str) -> str:
    """A word of KEYS or ARGV as people read it."""
    if word in ("pending", "active", "schedule", "dead", "meta"):
        return f"emq:{{q}}:{word}"
    return WORDS.get(word, word.replace("_", " "))


def moves() -> Iterator[tuple[Transition, Move]]:
    """Every move of the transition table, with its transition."""
    return ((row, move) for row in TRANSITIONS.values() for move in row.moves)


def move_words(row: Transition, move: Move) -> tuple[str, ...]:
    """A move in words: its name, the sets it leaves and enters, its scripts, the native command, the row state
    after, what it does."""
    scripts = ", ".join(scripts_of(row))
    return (move.name, *move_text(move), scripts, row.native or "script only", _state(move), move.does)


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
