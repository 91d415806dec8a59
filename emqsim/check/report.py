"""What a check did and found."""

from __future__ import annotations

from dataclasses import dataclass, field

from emqsim import trace
from emqsim.check.coverage import Coverage
from emqsim.check.divergence import Divergence
from emqsim.dialect import Dialect


@dataclass
class Report:
    """What a check did and found."""

    dialect: Dialect
    seed: int
    server: str = ""
    yours: list[str] = field(default_factory=list)
    """Names of the given scripts that were checked."""
    bundled: list[str] = field(default_factory=list)
    """Names of the bundled scripts that stood in for those not given."""
    ignored: list[str] = field(default_factory=list)
    """Names given that are no script of the dialect."""
    programs: int = 0
    steps: int = 0
    saved: int = 0
    """Programs saved by an earlier run that were tried first."""
    seconds: float = 0.0
    out_of_time: bool = False
    coverage: Coverage = field(default_factory=Coverage)
    divergence: Divergence | None = None
    trace_path: str | None = None
    test_path: str | None = None
    clock: str = "virtual"
    undecided: int = 0
    """Steps on the server's own time that could not be judged, since their time was not known well enough."""
    failure: str | None = None
    """Why the check could not be done, if so: it is the server's doing, or the network's."""
    program: trace.Program | None = None
    """What had run of the program in which the check failed."""
    left: list[str] = field(default_factory=list)
    """Keys that may stay on a server that is not ours, since they could not be deleted."""
    notes: list[str] = field(default_factory=list)
    """What else is to be told."""

    @property
    def conforms(self) -> bool:
        """Whether the server did what the model does, in every step."""
        return self.divergence is None and self.failure is None
