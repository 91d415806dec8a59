"""The graph of one job's life: the places it can be in, and the calls that move it between them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from emqsim.explore.clients import Known
from emqsim.explore.space import Job

START = "not admitted"


def place(job: Job, known: Known) -> str:
    """Where a job is, in words: the sets that hold it, and what is wrong with its row."""
    where = " + ".join(job.sets)
    if job.row is None:
        if where:
            return f"ghost in {where}"
        return "gone" if known.ended else "lost" if known.admitted else START
    if not job.row[3]:
        return f"stub in {where or 'no set'}"
    return where or "in no set"


class Graph:
    """Places, each with whether an invariant is broken there, and arrows (place, method, place).

    JSON has all of it. The drawings leave out what follows after an invariant is broken: no arrow leaves such a
    place, and where only those led is not drawn.
    """

    def __init__(self, places: Mapping[str, bool], arrows: set[tuple[str, str, str]]) -> None:
        self.places = dict(places)
        self.arrows = sorted(arrows)

    def drawn(self) -> dict[tuple[str, str], list[str]]:
        """The arrows of a drawing: from, to, and the methods that go there."""
        methods: dict[tuple[str, str], list[str]] = {}
        for here, method, there in self.arrows:
            if not self.places[here]:
                methods.setdefault((here, there), []).append(method)
        return methods

    def _drawn_places(self) -> list[str]:
        ends = {end for arrow in self.drawn() for end in arrow}
        return [where for where in self.places if where in ends or where == START]

    def as_json(self) -> dict[str, object]:
        """All places and arrows."""
        return {
            "places": [{"place": where, "broken": broken} for where, broken in self.places.items()],
            "arrows": [{"from": here, "call": call, "to": there} for here, call, there in self.arrows],
        }

    def dot(self) -> str:
        """For Graphviz."""
        lines = [
            "digraph job {",
            "  rankdir=LR;",
            '  node [shape=box, style="rounded,filled", fillcolor=white];',
        ]
        for where in self._drawn_places():
            lines.append(f'  "{where}"' + (' [fillcolor="#f8d0d0"];' if self.places[where] else ";"))
        for (here, there), methods in self.drawn().items():
            label = r"\n".join(methods)
            lines.append(f'  "{here}" -> "{there}" [label="{label}"];')
        return "\n".join([*lines, "}", ""])

    def mermaid(self) -> str:
        """For Mermaid, a flowchart."""
        names = {where: f"p{number}" for number, where in enumerate(self._drawn_places())}
        lines = ["flowchart LR"]
        lines += [f'  {name}("{where}")' for where, name in names.items()]
        for (here, there), methods in self.drawn().items():
            label = "<br>".join(methods)
            lines.append(f'  {names[here]} -->|"{label}"| {names[there]}')
        broken = [name for where, name in names.items() if self.places[where]]
        if broken:
            lines += ["  classDef broken fill:#f8d0d0", f"  class {','.join(broken)} broken"]
        return "\n".join([*lines, ""])

    def svg(self) -> str:
        """A drawing of its own, without a tool."""
        return "\n".join(_Drawing(self._drawn_places(), self.places, self.drawn()).lines())

    def json(self) -> str:
        """All of it, as JSON text."""
        return json.dumps(self.as_json(), indent=1) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the graph in the format of the file's suffix; raises `ValueError` for one that is none."""
        formats = {".dot": self.dot, ".mmd": self.mermaid, ".svg": self.svg, ".json": self.json}
        Path(path).write_text(formats[suffix(path)](), encoding="utf-8")


def suffix(path: str | Path) -> str:
    """The suffix of a graph's file; raises `ValueError` for one that is none."""
    found = Path(path).suffix
    if found not in (".dot", ".mmd", ".svg", ".json"):
        raise ValueError(f"graph must end in .dot, .mmd, .svg or .json, not {str(path)!r}")
    return found


_WIDE, _HIGH, _ACROSS, _DOWN, _LINE = 170, 34, 360, 170, 14
"""Pixels: a box, from box to box, a line of text."""

_SOUND = {
    START: (0, 1),
    "schedule": (1, 0),
    "pending": (1, 1),
    "active": (2, 1),
    "dead": (2, 2),
    "gone": (3, 1),
}
"""Column and row of the places in which nothing is broken."""


class _Drawing:
    """Boxes and curves between them: the life of a job above, what is broken below."""

    def __init__(
        self, places: list[str], broken: Mapping[str, bool], arrows: Mapping[tuple[str, str], list[str]]
    ) -> None:
        self.arrows = arrows
        self.broken = broken
        grid: dict[str, tuple[float, int]] = {where: _SOUND[where] for where in places if not broken[where]}
        below = [where for where in places if broken[where]]
        below.sort(key=lambda where: min(_SOUND[here][0] for here, there in arrows if there == where))
        deep = max(1, -(-len(below) // 4))
        for number, where in enumerate(below):
            column, row = divmod(number, deep)
            grid[where] = column + row % 2 / 2, 3 + row
        columns, rows = (max(ends) for ends in zip(*grid.values(), strict=True))
        self.size = round(_ACROSS * columns) + _WIDE + 80, _DOWN * rows + 120
        self.at = {
            where: (40 + _WIDE // 2 + round(_ACROSS * column), 60 + _DOWN * row)
            for where, (column, row) in grid.items()
        }

    def lines(self) -> Iterator[str]:
        """The drawing."""
        wide, high = self.size
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
            ' font-family="sans-serif" font-size="12">'
        )
        yield (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
            ' orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>'
        )
        yield '<rect width="100%" height="100%" fill="white"/>'
        labels = []
        for (here, there), methods in self.arrows.items():
            curve, label = self._curve(here, there, methods)
            yield curve
            labels.append(label)
        for where, (x, y) in self.at.items():
            fill = "#f8d0d0" if self.broken[where] else "#eef3fb"
            yield (
                f'<rect x="{x - _WIDE // 2}" y="{y - _HIGH // 2}" width="{_WIDE}" height="{_HIGH}" rx="8"'
                f' fill="{fill}" stroke="#333"/>'
            )
            yield f'<text x="{x}" y="{y + 4}" text-anchor="middle">{escape(where)}</text>'
        yield from labels
        yield "</svg>"

    def _curve(self, here: str, there: str, methods: list[str]) -> tuple[str, str]:
        """An arrow, bent to its left, and its label beside the middle of it."""
        (x1, y1), (x2, y2) = self.at[here], self.at[there]
        dx, dy = x2 - x1, y2 - y1
        length = (dx * dx + dy * dy) ** 0.5
        bend = 24 + (0.08 * length if abs(dx) > _ACROSS or abs(dy) > _DOWN else 0)
        middle_x, middle_y = (x1 + x2) / 2 + dy / length * bend * 2, (y1 + y2) / 2 - dx / length * bend * 2
        start, end = _edge(x1, y1, middle_x, middle_y), _edge(x2, y2, middle_x, middle_y)
        x, y = (start[0] + 2 * middle_x + end[0]) / 4, (start[1] + 2 * middle_y + end[1]) / 4
        curve = (
            f'<path d="M{start[0]:.0f},{start[1]:.0f} Q{middle_x:.0f},{middle_y:.0f} {end[0]:.0f},{end[1]:.0f}"'
            ' fill="none" stroke="#888" marker-end="url(#tip)"/>'
        )
        wide, top = 6.4 * max(map(len, methods)) + 4, y - _LINE * len(methods) / 2
        words = "".join(
            f'<text x="{x:.0f}" y="{top + _LINE * row - 3:.0f}" text-anchor="middle" font-size="11">'
            f"{escape(method)}</text>"
            for row, method in enumerate(methods, 1)
        )
        ground = (
            f'<rect x="{x - wide / 2:.0f}" y="{top:.0f}" width="{wide:.0f}" height="{_LINE * len(methods)}"'
            ' fill="white"/>'
        )
        return curve, ground + words


def _edge(x: float, y: float, towards_x: float, towards_y: float) -> tuple[float, float]:
    """Where a line from the middle of a box towards a point leaves the box."""
    dx, dy = towards_x - x, towards_y - y
    shrink = min(
        _WIDE / 2 / abs(dx) if dx else float("inf"),
        _HIGH / 2 / abs(dy) if dy else float("inf"),
        1.0,
    )
    return x + dx * shrink, y + dy * shrink
