"""Pages to play with: each one file, with everything in it, for any browser, light and dark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from emqsim.clock import VirtualClock
from emqsim.draw.colours import dark_rules, variables
from emqsim.draw.lifecycle import lifecycle_map
from emqsim.draw.play import play
from emqsim.draw.sets import four_sets, since
from emqsim.machine import moves
from emqsim.queue import Queue
from emqsim.results import INVARIANTS
from emqsim.text import values
from emqsim.text.calls import argument_text
from emqsim.trace import Answer, Program

MOST_STEPS = 2000
"""How many steps a page holds at most, since it holds a picture for each."""

MOST_ROWS = 30
"""How many rows are listed at a step."""


def map_page() -> str:
    """The lifecycle map with a button and a key for each move, as an HTML page."""
    named = {move.name: move.does for _, move in moves()}
    keys = _keys(list(named))
    buttons = "\n".join(
        f'<button data-move="{name}" data-key="{keys[name]}" title="{escape(does)}">'
        f"{name} <kbd>{keys[name]}</kbd></button>"
        for name, does in named.items()
    )
    frames = "\n".join(
        f'<figure data-move="{name}"{" hidden" if name else ""}>{lifecycle_map(name or None).svg}</figure>'
        for name in ("", *named)
    )
    return _page("map", buttons=buttons, frames=frames)


def _keys(names: list[str]) -> dict[str, str]:
    """A letter for each name: the first of its own that is free, else the first of the alphabet that is."""
    taken: dict[str, str] = {}
    for name in names:
        letters = (letter for letter in f"{name}abcdefghijklmnopqrstuvwxyz" if letter not in taken.values())
        taken[name] = next(letters)
    return taken


def stepper_page(program: Program) -> str:
    """A program step by step, as an HTML page: the call, the sets and the rows after it.

    Raises `ValueError` for a program without steps or with more than 2,000, and as `play` does.
    """
    if not 0 < len(program.steps) <= MOST_STEPS:
        raise ValueError(f"program: a page holds 1 to {MOST_STEPS} steps, not {len(program.steps)}")
    pictures: dict[str, int] = {}
    steps = list(_steps(program, pictures))
    data = {"steps": steps, "pictures": list(pictures)}
    return _page(
        "stepper",
        title=escape(program.queue),
        note=escape(program.note),
        last=str(len(steps) - 1),
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    )


def _steps(program: Program, pictures: dict[str, int]) -> Iterator[dict[str, Any]]:
    start_us = program.steps[0].now_us
    empty = Queue(program.queue, clock=VirtualClock(now_us=start_us), dialect=program.dialect)
    yield {"call": "before the first call", "when": "", "answer": "", **_state(empty, (), pictures)}
    for written, (step, news, queue) in zip(program.steps, play(program), strict=True):
        assert step.answer is not None
        moved = [event.job_id for event in news if event.changes]
        found = {
            "call": str(step),
            "when": since(step.now_us - start_us),
            "answer": _answer(step.answer),
            **_state(queue, moved, pictures),
        }
        if "ok" not in step.answer:
            found["refused"] = True
        if written.answer not in (None, step.answer):
            found["otherwise"] = _answer(written.answer or {})
        yield found


def _state(queue: Queue, moved: Any, pictures: dict[str, int]) -> dict[str, Any]:
    """The picture, the rows and what is broken. A picture that comes again is held once."""
    rows = [_row(job_id, row) for job_id, row in queue.rows.items()]
    hidden = len(rows) - MOST_ROWS
    return {
        "picture": pictures.setdefault(four_sets(queue, lit=moved).svg, len(pictures)),
        "rows": rows[:MOST_ROWS] + ([[f"… {hidden} more", "", "", "", ""]] if hidden > 0 else []),
        "broken": [
            f"{INVARIANTS[name]}: not so for {', '.join(ids[:5])}" for name, ids in queue.violations()
        ],
    }


def _row(job_id: str, row: Mapping[str, bytes]) -> list[str]:
    first = ("state", "attempts", "payload")
    others = [f"{name} {values.value(held)}" for name, held in row.items() if name not in first]
    return [job_id, *(values.value(row[name]) if name in row else "" for name in first), ", ".join(others)]


def _answer(answer: Answer) -> str:
    ((kind, value),) = answer.items()
    if kind != "ok":
        return f"{kind}: {value}"
    return "ok" if value is None else argument_text(value)


def _page(name: str, **parts: str) -> str:
    """A page from its template, with the style of them all."""
    here = files(__name__)
    style = Template((here / "page.css").read_text("utf-8")).substitute(
        light=variables(dark=False), dark=variables(dark=True), dark_rules=dark_rules()
    )
    return Template((here / f"{name}.html").read_text("utf-8")).substitute(style=style, **parts)
