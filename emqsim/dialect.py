"""The three dialects of the protocol and the rules in which they differ."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Dialect(StrEnum):
    """Which scripts or commands a queue speaks."""

    WIRE3 = "wire3"
    """The public Lua scripts, protocol `echomq:3.0.0`."""
    WIRE4 = "wire4"
    """The Lua scripts as the course describes them; claim is called `claim2`."""
    WIRE6 = "wire6"
    """The native `EMQ.*` commands of the server module, scripts where there is none."""


@dataclass(frozen=True)
class Rules:
    """The rules that are not the same everywhere; all other rules hold in every dialect."""

    claim_skips_ghosts: bool
    """A popped id without a row is dropped and the next one is popped, instead of making a stub row."""
    claim_reads_pause: bool
    """The pause flag is read inside the claim, instead of by the host in a step before it."""
    claim_writes_epoch: bool
    """A claim writes `lease_epoch`. Assumed: the time of the claim in ms, as decimal text."""
    need_lease: frozenset[str] = frozenset()
    """Transitions (of `extend_lock extend_locks complete retry delay`) that ask for the id in active beside
    the token, and answer `gone` without it. None in any dialect: see `emqsim.explore.fixes`."""


RULES = {
    Dialect.WIRE3: Rules(claim_skips_ghosts=False, claim_reads_pause=False, claim_writes_epoch=False),
    Dialect.WIRE4: Rules(claim_skips_ghosts=True, claim_reads_pause=False, claim_writes_epoch=False),
    Dialect.WIRE6: Rules(claim_skips_ghosts=True, claim_reads_pause=True, claim_writes_epoch=True),
}
