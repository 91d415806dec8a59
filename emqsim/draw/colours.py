"""The colours of all pictures, light and dark, by what they stand for.

The places differ for readers with any of the three kinds of colour blindness, and each is named beside its colour.
"""

from __future__ import annotations

from typing import NamedTuple


class Colour(NamedTuple):
    """One colour on a light page and on a dark one."""

    light: str
    dark: str


COLOURS = {
    "paper": Colour("#ffffff", "#0d1117"),
    "ink": Colour("#1f2328", "#e6edf3"),
    "muted": Colour("#57606a", "#9da7b3"),
    "rule": Colour("#d0d7de", "#3d444d"),
    "alarm": Colour("#b3360b", "#ff8a65"),
    "pending": Colour("#0072b2", "#56b4e9"),
    "pending-soft": Colour("#d9ecf7", "#11344c"),
    "active": Colour("#c77f00", "#e69f00"),
    "active-soft": Colour("#fdecc4", "#4d3800"),
    "schedule": Colour("#7d25d4", "#9a4dff"),
    "schedule-soft": Colour("#ebdffa", "#2f1a55"),
    "dead": Colour("#24292f", "#f0f3f6"),
    "dead-soft": Colour("#dcdfe3", "#343a42"),
    "gone": Colour("#6e7781", "#8b949e"),
    "gone-soft": Colour("#ffffff", "#0d1117"),
}
"""Each role by name. A place has a strong colour and a soft one."""


def dark_rules() -> str:
    """CSS that turns pictures inline in a page dark; without it they keep the light colours they carry."""
    return "\n".join(
        f".{attribute}-{role} {{ {attribute}: {colour.dark}; }}"
        for role, colour in COLOURS.items()
        for attribute in ("fill", "stroke")
    )


def variables(dark: bool) -> str:
    """The colours as CSS variables, for the text of a page."""
    return " ".join(f"--{role}: {colour[dark]};" for role, colour in COLOURS.items())
