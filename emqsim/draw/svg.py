"""A sheet to draw on, and the finished picture.

Shapes are elements of the standard library's ElementTree, which does the escaping. Every colour is named by its role:
the light one is written into the element, and a class with the role's name lets a page turn it dark.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from emqsim.draw.colours import COLOURS

SANS = "Helvetica, Arial, 'Liberation Sans', sans-serif"
MONO = "Menlo, Consolas, 'DejaVu Sans Mono', monospace"

Point = tuple[float, float]

_WIDEST = {SANS: 0.6, MONO: 0.61}
"""The width of an average character in the widest of the fonts, as a part of the size."""


@dataclass(frozen=True)
class Picture:
    """An SVG and the text that says the same. A notebook shows the SVG, a terminal the text."""

    svg: str
    text: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.text}

    def __str__(self) -> str:
        return self.text

    def save(self, path: str | Path) -> None:
        """Write the SVG as a file."""
        Path(path).write_text(self.svg + "\n", encoding="utf-8")


def width_of(words: str, size: float, font: str = SANS) -> float:
    """How wide a text is at most, in the widest of its fonts."""
    return len(words) * size * _WIDEST[font]


def fitting(words: str, width: float, size: float, font: str = SANS) -> str:
    """The text, cut with an ellipsis where it is wider than `width`."""
    most = int(width / (size * _WIDEST[font]))
    return words if len(words) <= most else words[: max(most - 1, 0)] + "…"


def wrapped(words: str, width: float, size: float, font: str = SANS) -> list[str]:
    """The text in lines no wider than `width`."""
    return textwrap.wrap(words, int(width / (size * _WIDEST[font]))) or [""]


class Sheet:
    """A drawing of a given size; (0, 0) is the upper left corner."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self._root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "width": _number(width),
                "height": _number(height),
                "viewBox": f"0 0 {_number(width)} {_number(height)}",
                "role": "img",
            },
        )
        ElementTree.SubElement(self._root, "title").text = _printable(title)
        self.box(0, 0, width, height, fill="paper", radius=6)

    def _add(
        self, tag: str, *, fill: str | None, stroke: str | None, **attributes: str
    ) -> ElementTree.Element:
        roles = {"fill": fill, "stroke": stroke}
        named = {attribute: COLOURS[role].light for attribute, role in roles.items() if role is not None}
        classes = " ".join(f"{attribute}-{role}" for attribute, role in roles.items() if role is not None)
        element = ElementTree.SubElement(self._root, tag, {"fill": "none"} | named | {"class": classes})
        for name, value in attributes.items():
            element.set(name.replace("_", "-"), value)
        return element

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str | None = None,
        stroke: str | None = None,
        radius: float = 0,
        thick: float = 1,
        dashed: bool = False,
    ) -> None:
        """A rectangle."""
        element = self._add(
            "rect",
            fill=fill,
            stroke=stroke,
            x=_number(x),
            y=_number(y),
            width=_number(width),
            height=_number(height),
        )
        if radius:
            element.set("rx", _number(radius))
        _stroke(element, stroke, thick, dashed)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 12,
        fill: str = "ink",
        font: str = SANS,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """One line of text on the base line y; `anchor` says which end of it is at x: start, middle or end."""
        element = self._add(
            "text",
            fill=fill,
            stroke=None,
            x=_number(x),
            y=_number(y),
            font_family=font,
            font_size=_number(size),
        )
        if anchor != "start":
            element.set("text-anchor", anchor)
        if bold:
            element.set("font-weight", "bold")
        element.text = _printable(words)

    def path(
        self,
        points: Sequence[Point],
        *,
        stroke: str,
        thick: float = 1,
        dashed: bool = False,
        corner: float = 0,
    ) -> None:
        """A line through points, with rounded corners."""
        element = self._add("path", fill=None, stroke=stroke, d=_rounded(points, corner))
        _stroke(element, stroke, thick, dashed)

    def arrow(
        self, points: Sequence[Point], *, stroke: str, thick: float = 1.5, dashed: bool = False
    ) -> None:
        """A line through points that ends in an arrow head."""
        *_, (x0, y0), (x1, y1) = points
        length = math.hypot(x1 - x0, y1 - y0)
        ex, ey = (x1 - x0) / length, (y1 - y0) / length
        head = 6 + 2 * thick
        base = (x1 - head * ex, y1 - head * ey)
        self.path([*points[:-1], base], stroke=stroke, thick=thick, dashed=dashed, corner=14)
        half = head * 0.45
        corners = (
            (x1, y1),
            (base[0] - half * ey, base[1] + half * ex),
            (base[0] + half * ey, base[1] - half * ex),
        )
        self._add("polygon", fill=stroke, stroke=None, points=" ".join(map(_point, corners)))

    def cross(self, x: float, y: float, size: float, *, stroke: str) -> None:
        """Two short lines that cross."""
        half = size / 2
        for sign in (1, -1):
            self.path([(x - half, y - half * sign), (x + half, y + half * sign)], stroke=stroke, thick=2)

    def picture(self, text: str) -> Picture:
        """The finished picture, with the text that says the same."""
        ElementTree.indent(self._root, "")
        return Picture(ElementTree.tostring(self._root, encoding="unicode"), text)


def _stroke(element: ElementTree.Element, stroke: str | None, thick: float, dashed: bool) -> None:
    if stroke is not None and thick != 1:
        element.set("stroke-width", _number(thick))
    if dashed:
        element.set("stroke-dasharray", "5 4")


def _rounded(points: Sequence[Point], radius: float) -> str:
    """The path through points; each inner corner is cut by a curve."""
    start, *inner, end = points
    steps = [f"M{_point(start)}"]
    before = start
    for corner, after in zip(inner, points[2:], strict=True):
        steps.append(f"L{_point(_towards(corner, before, radius))}")
        steps.append(f"Q{_point(corner)} {_point(_towards(corner, after, radius))}")
        before = corner
    return " ".join([*steps, f"L{_point(end)}"])


def _towards(corner: Point, other: Point, distance: float) -> Point:
    length = math.hypot(other[0] - corner[0], other[1] - corner[1])
    part = min(distance, length / 2) / length
    return (corner[0] + part * (other[0] - corner[0]), corner[1] + part * (other[1] - corner[1]))


def _point(point: Iterable[float]) -> str:
    return ",".join(map(_number, point))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _printable(words: str) -> str:
    """Text without the characters that XML does not have."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in words)
