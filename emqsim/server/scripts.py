"""The scripts: the bundled ones, others in their place, and the virtual clock in front of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha1
from importlib.resources import files

from emqsim.dialect import Dialect
from emqsim.machine import TRANSITIONS
from emqsim.operation import Transition

PRELUDE = (
    "local redis, server = (function(...) "
    "local n, shadows = #ARGV, {} "
    "local seconds, micros = ARGV[n - 1], ARGV[n] "
    "ARGV[n], ARGV[n - 1] = nil, nil "
    "local function held(call) return function(...) "
    "if select('#', ...) == 1 and type(...) == 'string' and string.upper(...) == 'TIME' "
    "then return {seconds, micros} end "
    "return call(...) end end "
    "for i = 1, select('#', ...) do local api = select(i, ...) if type(api) == 'table' then "
    "local shadow = {} for name, value in pairs(api) do shadow[name] = value end "
    "shadow.call, shadow.pcall = held(api.call), held(api.pcall) "
    "shadows[i] = setmetatable(shadow, {__index = api}) end end "
    "return unpack(shadows) end)(redis, select(2, pcall(function() return server.call and server end))) "
)
"""One line that goes in front of a script: TIME answers with the last two of ARGV, which it takes off.

It shadows `redis` and `server` with tables that pass everything else on. A script that reaches for
`_G.redis` gets around it.
"""


@cache
def bundled_scripts() -> Mapping[str, str]:
    """The Lua sources in `emqsim/lua`, by script name."""
    folder = files("emqsim") / "lua"
    return {
        entry.name.removesuffix(".lua"): entry.read_text("utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".lua")
    }


def script_names() -> tuple[str, ...]:
    """Every name a script can have, in any dialect."""
    names = {row.script(dialect): None for row in TRANSITIONS.values() for dialect in Dialect}
    return tuple(names | dict.fromkeys(TRANSITIONS))


@dataclass(frozen=True)
class Script:
    """The script of a transition as it is sent: with the virtual clock in front, or byte for byte."""

    name: str
    source: str
    clocked: bool
    given: bool = False
    """Whether it stands in the place of a bundled one."""

    @cached_property
    def text(self) -> str:
        """What the server gets: the prelude goes after a `#!` line if there is one, so that no line moves."""
        if not self.clocked:
            return self.source
        if self.source.startswith("#!"):
            shebang, newline, body = self.source.partition("\n")
            return shebang + newline + PRELUDE + body
        return PRELUDE + self.source

    @cached_property
    def sha(self) -> str:
        """The SHA-1 that EVALSHA takes."""
        return sha1(self.text.encode("utf-8", "surrogateescape")).hexdigest()


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
