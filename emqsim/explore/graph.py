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
        lines = ["digraph job {", "  rankdir=LR;", '  node [shape=box, style="rounded,filled", fillcolor=white];']
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

    def write(self, path: str | Path) -> None:
        """Write the graph in the format of the file's suffix; raises `ValueError` for one that is none."""
        text = {
            ".dot": self.dot,
            ".mmd": self.mermaid,
            ".svg": self.svg,
            ".json": lambda: json.dumps(self.as_json(), indent=1) + "\n",
        }[suffix(path)]()
        Path(path).write_text(text, encoding="utf-8")


def suffix(path: str | Path) -> str:
    """The suffix of a graph's file; raises `ValueError` for one that is none."""
    found = Path(path).suffix
    if found not in (".dot", ".mmd", ".svg", ".json"):
        raise ValueError(f"graph must end in .dot, .mmd, .svg or .json, not {str(path)!r}")
    return found


_WIDE, _HIGH, _ACROSS, _DOWN, _LINE = 190, 34, 400, 150, 14
"""Pixels: a box, from box to box, a line of text."""


class _Drawing:
    """Boxes in columns, by how many calls away a place is, and curves between them."""

    def __init__(
        self, places: list[str], broken: Mapping[str, bool], arrows: Mapping[tuple[str, str], list[str]]
    ) -> None:
        self.arrows = arrows
        self.broken = broken
        away = {START: 0}
        for where in places:
            for here, there in arrows:
                if here == where and there not in away:
                    away[there] = away[where] + 1
        columns: dict[int, list[str]] = {}
        for where in sorted(places, key=lambda where: broken[where]):
            columns.setdefault(away[where], []).append(where)
        self.size = (
            _ACROSS * (len(columns) - 1) + _WIDE + 80,
            _DOWN * max(map(len, columns.values())) + 80,
        )
        self.at = {
            where: (40 + _WIDE // 2 + _ACROSS * column, 80 + _DOWN * row + (column % 2) * _DOWN // 3)
            for column, members in columns.items()
            for row, where in enumerate(members)
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
        bend = 28 + 0.10 * length * (abs(dx) > _ACROSS or dx == 0)
        middle_x, middle_y = (x1 + x2) / 2 + dy / length * bend * 2, (y1 + y2) / 2 - dx / length * bend * 2
        start, end = _edge(x1, y1, middle_x, middle_y), _edge(x2, y2, middle_x, middle_y)
        x, y = (start[0] + 2 * middle_x + end[0]) / 4, (start[1] + 2 * middle_y + end[1]) / 4
        curve = (
            f'<path d="M{start[0]:.0f},{start[1]:.0f} Q{middle_x:.0f},{middle_y:.0f} {end[0]:.0f},{end[1]:.0f}"'
            ' fill="none" stroke="#888" marker-end="url(#tip)"/>'
        )
        top = y - _LINE * (len(methods) - 1) / 2 + 4
        words = "".join(
            f'<tspan x="{x:.0f}" y="{top + _LINE * row:.0f}">{escape(method)}</tspan>'
            for row, method in enumerate(methods)
        )
        label = (
            '<text text-anchor="middle" font-size="11" fill="#234" stroke="white" stroke-width="4"'
            f' paint-order="stroke">{words}</text>'
        )
        return curve, label


def _edge(x: float, y: float, towards_x: float, towards_y: float) -> tuple[float, float]:
    """Where a line from the middle of a box towards a point leaves the box."""
    dx, dy = towards_x - x, towards_y - y
    shrink = min(
        _WIDE / 2 / abs(dx) if dx else float("inf"),
        _HIGH / 2 / abs(dy) if dy else float("inf"),
        1.0,
    )
    return x + dx * shrink, y + dy * shrink
