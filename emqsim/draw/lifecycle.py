"""The lifecycle map: the four sets and "gone", with the arrows of the transition table.

Where a set stands and which way an arrow goes round is laid by hand here; which arrows there are, and all words,
come from the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from emqsim.draw.svg import MONO, SANS, Picture, Point, Sheet
from emqsim.machine import moves
from emqsim.operation import Move, Transition
from emqsim.text.moves import GONE, move_words
from emqsim.text.words import aligned

JOB = "JOB0KHTOWnGLuC"
"""The job whose life the map shows."""

WIDTH, HEIGHT, CAPTION = 980, 492, 116

PLACES = {
    "dead": (430.0, 100.0),
    "pending": (230.0, 270.0),
    "active": (630.0, 270.0),
    "schedule": (430.0, 440.0),
    GONE: (880.0, 270.0),
}
"""The middle of each place."""

HALF = (75.0, 34.0)
"""Half the width and height of a place."""

MEANS = {
    "pending": "waits, oldest first",
    "active": "score: lease deadline",
    "schedule": "score: when it is due",
    "dead": "the morgue",
    GONE: "no set, no row",
}
"""A line under the name of each place."""


Arrow = tuple[str | None, str]
"""The set that is left, `None` for none, and the place that is entered."""


class Route(NamedTuple):
    """The way of an arrow, and where its names stand: the first base line, the anchor, and the step to the next."""

    points: tuple[Point, ...]
    label: Point
    anchor: str
    step: float


ROUTES = {
    (None, "pending"): Route(((20, 270), (155, 270)), (24, 262), "start", -16),
    (None, "schedule"): Route(((20, 455), (355, 455)), (24, 447), "start", -16),
    (None, "active"): Route(((600, 304), (600, 334), (630, 334), (630, 304)), (642, 330), "start", 16),
    ("pending", "active"): Route(((305, 256), (555, 256)), (430, 246), "middle", -16),
    ("active", "pending"): Route(((555, 286), (305, 286)), (430, 304), "middle", 16),
    ("active", "schedule"): Route(((580, 304), (580, 428), (505, 428)), (590, 372), "start", 16),
    ("schedule", "pending"): Route(((355, 428), (250, 428), (250, 304)), (260, 372), "start", 16),
    ("pending", "schedule"): Route(((210, 304), (210, 442), (355, 442)), (204, 414), "end", 16),
    ("active", "dead"): Route(((600, 236), (600, 112), (505, 112)), (592, 172), "end", 16),
    ("pending", "dead"): Route(((220, 236), (220, 88), (355, 88)), (214, 150), "end", 16),
    ("dead", "pending"): Route(((355, 112), (250, 112), (250, 236)), (260, 172), "start", 16),
    ("active", GONE): Route(((705, 270), (805, 270)), (755, 260), "middle", -16),
    ("pending", GONE): Route(((170, 236), (170, 30), (920, 30), (920, 236)), (184, 22), "start", -16),
    ("dead", GONE): Route(((505, 88), (850, 88), (850, 236)), (690, 80), "middle", -16),
    ("schedule", GONE): Route(((505, 452), (880, 452), (880, 304)), (690, 444), "middle", -16),
}
"""The way of each arrow."""

ALONG = {("pending", GONE), ("dead", GONE), ("schedule", GONE)}
"""Arrows whose names stand on one line."""


def lifecycle_map(name: str | None = None) -> Picture:
    """The map of a job's life; with the name of a move (`claim`, `retry`, `dead` …) that move is lit.

    A lit move shows the sets left and entered, the row state after, the script, the native command or "script only",
    and what it does. Raises `ValueError` for a name that is no move.
    """
    found = [(row, move) for row, move in moves() if name == move.name]
    if name is not None and not found:
        names = dict.fromkeys(move.name for _, move in moves())
        raise ValueError(f"name: {name!r} is no move; there are {', '.join(names)}")
    sheet = Sheet(
        WIDTH, HEIGHT + (CAPTION if found else 0), f"The lifecycle of a job{f': {name}' if name else ''}"
    )
    lit = [pair for _, move in found for pair in arrows(move)]
    otherwise = [pair for _, move in found for pair in arrows(move) if pair not in _argument_text(move)]
    _arrows(sheet, name, lit, otherwise)
    _places(sheet, lit, [source for source, _ in otherwise])
    if found:
        _caption(sheet, found)
    return sheet.picture(_text(found or list(moves())))


def arrows(move: Move) -> list[Arrow]:
    """The arrows of a move: the set left, or `None`, and the place entered."""
    sources: tuple[str | None, ...] = move.leaves or (None,)
    return [(source, move.enters or GONE) for source in sources]


def _argument_text(move: Move) -> list[Arrow]:
    """The arrows of a move on the plain map: an "else" is shown only where the move is lit."""
    return arrows(move) if move.leaves_all else arrows(move)[:1]


def _arrows(sheet: Sheet, name: str | None, lit: list[Arrow], otherwise: list[Arrow]) -> None:
    names: dict[Arrow, dict[str, None]] = {}
    for _, move in moves():
        for pair in arrows(move) if move.name == name else _argument_text(move):
            names.setdefault(pair, {})[move.name] = None
    for pair, labels in names.items():
        route = ROUTES[pair]
        on = pair in lit
        stroke = "muted" if name is None else "ink" if on else "rule"
        sheet.arrow(route.points, stroke=stroke, thick=3 if on else 1.5, dashed=pair in otherwise)
        _labels(sheet, pair, list(labels), name)


def _labels(sheet: Sheet, pair: Arrow, labels: list[str], name: str | None) -> None:
    (x, y), anchor, step = ROUTES[pair].label, ROUTES[pair].anchor, ROUTES[pair].step
    if name in labels:
        labels = [name]
    elif pair in ALONG:
        labels = [", ".join(labels)]
    for index, label in enumerate(labels if step > 0 else reversed(labels)):
        on = label == name
        fill = "ink" if name is None or on else "muted"
        sheet.text(x, y + index * step, label, size=13, font=MONO, anchor=anchor, fill=fill, bold=on)


def _places(sheet: Sheet, lit: list[Arrow], otherwise: list[str | None]) -> None:
    words = {source: "is left" for source, _ in lit}
    words |= dict.fromkeys(otherwise, "else is left")
    words |= {place: "is entered" for _, place in lit}
    for place, (x, y) in PLACES.items():
        on = place in words
        sheet.box(
            x - HALF[0],
            y - HALF[1],
            2 * HALF[0],
            2 * HALF[1],
            fill=f"{place}-soft",
            stroke=place,
            radius=10,
            thick=4 if on else 1.5,
            dashed=place == GONE and not on,
        )
        sheet.text(x, y - 8, place, size=16, bold=True, anchor="middle")
        sheet.text(x, y + 8, MEANS[place], size=11, anchor="middle", fill="muted")
        if on:
            sheet.text(x, y + 25, words[place], size=12, bold=True, anchor="middle")


def _caption(sheet: Sheet, found: list[tuple[Transition, Move]]) -> None:
    """What there is to say of a lit move, under the map."""
    sheet.path([(20, HEIGHT), (WIDTH - 20, HEIGHT)], stroke="rule")
    for heading, x, words in zip(_HEADINGS, (20, 250, 360, 560, 760), _said(found), strict=True):
        sheet.text(x, HEIGHT + 60, heading, size=12, fill="muted")
        for index, line in enumerate(words):
            sheet.text(x, HEIGHT + 80 + 18 * index, line, size=13, font=MONO)
    _, move = found[0]
    sheet.text(20, HEIGHT + 30, JOB, size=15, font=MONO, bold=True)
    sheet.text(190, HEIGHT + 30, f"{move.name}: {move.does}", size=15, font=SANS)


_HEADINGS = ("leaves", "enters", "script", "native command", "row state after")


def _said(found: list[tuple[Transition, Move]]) -> Iterator[list[str]]:
    """Under each heading, a line or two."""
    cells = [move_words(row, move) for row, move in found]
    for index, heading in enumerate(_HEADINGS, 1):
        column = [words[index] for words in cells]
        lines = list(dict.fromkeys(column))
        if heading == "leaves" and len(lines[0]) > 20:
            middle = lines[0].index(" and ", len(lines[0]) // 2 - 3)
            lines = [lines[0][:middle], lines[0][middle + 1 :]]
        yield lines


def _text(shown: list[tuple[Transition, Move]]) -> str:
    rows = [("move", *_HEADINGS, "what it does"), *(move_words(row, move) for row, move in shown)]
    return "\n".join(aligned(rows))
