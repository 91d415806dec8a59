"""What can come of a program beside nothing: a difference, all there is to see of it, or no end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emqsim.check.model_run import ModelRun
from emqsim.scripts.prelude import Script
from emqsim.trace import Answer, Program

ENVIRONMENT = {
    "OOM ": "the server is full (maxmemory)",
    "NOPERM ": "the server does not let this user do it (ACL)",
    "ACL failure in script": "the server does not let this user do it (ACL)",
    "The user executing the script can't": "the server does not let this user do it (ACL)",
    "NOAUTH ": "the server wants a password",
    "READONLY ": "the server is a replica, which takes no writes",
    "MISCONF ": "the server takes no writes since it cannot save",
    "NOREPLICAS ": "the server takes no writes since it has too few replicas",
    "LOADING ": "the server is still loading its data",
    "BUSY ": "another script keeps the server busy",
    "CLUSTERDOWN ": "the cluster is down",
    "MOVED ": "the server is one of a cluster, and not the one that holds the queue",
}
"""How error answers begin that say something about the server and not about a script, and what they say."""


def environment(error: str) -> str | None:
    """What an error answer says about the server, if it does."""
    return next((words for start, words in ENVIRONMENT.items() if error.startswith(start)), None)


@dataclass
class Difference:
    """The first difference between a program on the model and on a server, as it was seen in passing."""

    step: int
    what: list[str]
    model: Answer
    server: Answer
    hung: bool = False
    """Whether the script of the step did not end."""
    divergence: Divergence | None = None
    """All there is to see, where that was looked at right away."""


@dataclass
class Trial:
    """A program that ran on both, up to its first difference if there is one."""

    model_run: ModelRun
    difference: Difference | None = None
    steps: int = 0
    """How many there were in the whole program."""


@dataclass
class Divergence:
    """The first step at which a server does something else than the model."""

    program: Program
    step: int
    what: list[str]
    """What differs: `answer`, `state`, `events`."""
    model: Answer
    server: Answer
    before: dict[str, Any]
    after_model: dict[str, Any]
    after_server: dict[str, Any] | None
    """`None` where the server could not be looked at."""
    events_model: list[Any]
    events_server: list[Any]
    calls: list[tuple[str, Script | None, list[Any], list[Any]]]
    """The operations of the step: name, script, KEYS and ARGV."""
    note: str = ""
    """What else there is to say."""
    hung: bool = False

    def __str__(self) -> str:
        from emqsim.check.text import divergence_text

        return "\n".join(divergence_text(self))

    @property
    def environment(self) -> str | None:
        """What the answer says about the server and not about the script, if it does."""
        return environment(self.server.get("error", ""))

    @property
    def raised(self) -> bool:
        """Whether the server answered with an error, instead of something that the machine never answers."""
        return not self.server.get("error", "unexpected reply").startswith("unexpected reply")

    @property
    def changed_nothing(self) -> bool:
        """Whether the step left the server as it was."""
        return self.after_server == self.before


class Stopped(Exception):
    """A program could not be run to its end, and whose fault that is cannot be told; the program so far."""

    def __init__(self, why: str, program: Program) -> None:
        super().__init__(why)
        self.program = program
