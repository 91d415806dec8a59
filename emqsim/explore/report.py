"""What an exploration has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emqsim.dialect import Dialect
from emqsim.explore.clients import Clients
from emqsim.explore.graph import Graph
from emqsim.explore.program import shown
from emqsim.explore.properties import Kind
from emqsim.trace import Program


@dataclass(frozen=True)
class Bounds:
    """What was explored."""

    jobs: int
    max_claims: int
    max_attempts: int
    dialect: Dialect
    clients: Clients
    faults: bool
    without: tuple[str, ...]
    need_lease: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The verdict on one property."""

    kind: Kind
    name: str
    says: str
    met: bool
    exhaustive: bool
    count: int
    program: Program | None


@dataclass(frozen=True)
class Exploration:
    bounds: Bounds
    states: int
    transitions: int
    calls: int
    depth: int
    claims_cut: bool
    stopped: str
    seconds: float
    outcomes: tuple[Outcome, ...]
    graph: Graph | None
