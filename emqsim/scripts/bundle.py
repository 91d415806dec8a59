"""Which script a transition runs: the bundled one, or another in its place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from emqsim.dialect import Dialect
from emqsim.machine import TRANSITIONS
from emqsim.operation import Transition


@cache
def bundled_scripts() -> Mapping[str, str]:
    """The Lua sources in `emqsim/scripts/lua`, by script name."""
    folder = files("emqsim.scripts") / "lua"
    return {
        entry.name.removesuffix(".lua"): entry.read_text("utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".lua")
    }


def script_names() -> tuple[str, ...]:
    """Every name a script can have, in any dialect."""
    names = {row.script(dialect): None for row in TRANSITIONS.values() for dialect in Dialect}
    return tuple(names | dict.fromkeys(TRANSITIONS))


def choose(
    row: Transition, dialect: Dialect, given: Mapping[str, str] | None = None
) -> tuple[str, str, bool]:
    """The name and source of a transition's script, and whether it is one of `given`.

    A given script goes by the dialect's name (`claim2`), or else by the transition's own (`claim`).
    """
    for name in (row.script(dialect), row.name):
        if given and name in given:
            return name, given[name], True
    name = row.script(dialect)
    return name, bundled_scripts()[name], False


def check_names(given: Mapping[str, str]) -> None:
    """Raises `ValueError` for a script name that is none, `TypeError` for a source that is no text."""
    for name, source in given.items():
        if name not in script_names():
            raise ValueError(f"scripts: {name!r} is no script; there are {', '.join(script_names())}")
        if not isinstance(source, str):
            raise TypeError(f"scripts: {name!r} must be Lua source as str, not {source!r}")
