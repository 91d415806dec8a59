"""A script as it is sent: byte for byte, or with the virtual clock in front."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha1

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
